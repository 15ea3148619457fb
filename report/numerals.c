#include "numerals.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { DIGITS_MIN = 5, GROUP = 3 };

/* Whether the digits are a word of their own that counts something. */
static bool is_number(const char *text, const char *begin, const char *end) {
    const size_t before = (size_t)(begin - text);
    const bool begins = !before || begin[-1] == ' ' || begin[-1] == '(';
    const bool ends = !*end || (strchr(" ,;)%", *end) != NULL) || ((*end == '.' || *end == ':') && !isdigit((unsigned char)end[1]));
    const bool is_line = (before >= 5 && !strncmp(begin - 5, "line ", 5)) || (before >= 6 && !strncmp(begin - 6, "lines ", 6));
    return begins && ends && !is_line && *begin != '0';
}

/* Puts commas between the digits; returns where they end then. */
static char *put_commas(char *text, size_t nbytes, char *begin, size_t digits) {
    const size_t commas = (digits - 1) / GROUP, rest = strlen(begin + digits) + 1;
    if ((size_t)(begin - text) + digits + commas + rest > nbytes) return begin + digits;
    char *to = begin + digits + commas, *from = begin + digits;
    memmove(to, from, rest);
    for (size_t moved = 0; moved < digits; moved++) {
        if (moved && moved % GROUP == 0) *--to = ',';
        *--to = *--from;
    }
    return begin + digits + commas;
}

void numerals_group(char *text, size_t nbytes) {
    bool is_code = false;
    for (char *at = text; *at;) {
        is_code ^= *at == '`';
        const size_t digits = strspn(at, "0123456789");
        if (digits >= DIGITS_MIN && !is_code && is_number(text, at, at + digits)) at = put_commas(text, nbytes, at, digits);
        else at += digits ? digits : 1;
    }
}

const char *numeral(char text[NUMERAL_NBYTES], uint64_t value) {
    snprintf(text, NUMERAL_NBYTES, "%" PRIu64, value);
    numerals_group(text, NUMERAL_NBYTES);
    return text;
}
