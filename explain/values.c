/* The elements that are explained. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

/* ---- one element --------------------------------------------------------------------------------- */

static bool is_float(wf_type type) {
    return type == WF_F32 || type == WF_F64;
}

static bool is_signed(wf_type type) {
    return type == WF_I32 || type == WF_I64;
}

/* The numbers' bits, if the type has them. */
static bool parse_float(const char *text, char **end, wf_type type, uint64_t *bits) {
    if (type == WF_F32) {
        float value = strtof(text, end);
        memcpy(bits, &value, sizeof value);
    } else {
        double value = strtod(text, end);
        memcpy(bits, &value, sizeof value);
    }
    return true;
}

static bool parse_signed(const char *text, char **end, wf_type type, uint64_t *bits) {
    errno = 0;
    long long value = strtoll(text, end, 10);
    *bits = (uint64_t)value;
    return !errno && (type == WF_I64 || (value >= INT32_MIN && value <= INT32_MAX));
}

static bool parse_unsigned(const char *text, char **end, wf_type type, uint64_t *bits) {
    errno = 0;
    unsigned long long value = strtoull(text, end, 10);
    *bits = value;
    return !errno && !strchr(text, '-') && (type == WF_U64 || value <= UINT32_MAX);
}

bool explain_parse_element(const char *text, wf_type type, uint64_t *bits) {
    char *end;
    bool fits = is_float(type)    ? parse_float(text, &end, type, bits)
                : is_signed(type) ? parse_signed(text, &end, type, bits)
                                  : parse_unsigned(text, &end, type, bits);
    return fits && end != text && !*end;
}

/* ---- arrays of them ------------------------------------------------------------------------------ */

/* Writes the elements and returns how many; SIZE_MAX, with the word that is none in `word`, if one is not. */
static size_t parse_list(const char *text, wf_type type, unsigned char *values, char *word, size_t capacity) {
    size_t count = 0, nbytes = wf_type_nbytes(type);
    for (;;) {
        size_t length = strcspn(text, ",");
        uint64_t bits = 0;
        while (length && isspace((unsigned char)*text)) text++, length--;
        size_t kept = length;
        while (kept && isspace((unsigned char)text[kept - 1])) kept--;
        snprintf(word, capacity, "%.*s", (int)kept, text);
        if (kept >= capacity || !explain_parse_element(word, type, &bits)) return SIZE_MAX;
        memcpy(values + nbytes * count++, &bits, nbytes);
        if (!text[length]) return count;
        text += length + 1;
    }
}

simt_error explain_parse_values(const char *text, wf_type type, void **values, uint64_t *count,
                                simt_message *message) {
    char word[64];
    size_t commas = 0;
    for (const char *at = text; *at; at++) commas += *at == ',';
    *values = malloc((commas + 1) * sizeof(uint64_t));
    if (!*values) return explain_fail_memory(message);
    size_t parsed = parse_list(text, type, *values, word, sizeof word);
    *count = parsed;
    if (parsed != SIZE_MAX) return SIMT_OK;
    free(*values);
    *values = NULL;
    return explain_fail(message, SIMT_ERROR_ARGUMENT, "'%s' is not a valid %s; separate numbers by commas", word,
                        wf_type_name(type));
}

/* Small numbers: easy to add up in the head, and their product fits.  Of 8 and of 16 of them, no two partial sums of a
 * step are equal, whether neighbours or halves are added. */
static int choose_element(wf_op op, uint64_t i) {
    static const unsigned char numbers[] = {3, 1, 7, 0, 4, 1, 6, 3, 2, 1, 6, 0, 6, 2, 6, 5};
    static const unsigned char factors[] = {2, 1, 3, 1, 1, 2, 1, 3};
    if (op != WF_PROD) return i < 16 ? numbers[i] : (int)((uint32_t)(i * i) * UINT32_C(2654435761) >> 29); /* hashed: digits below 8 */
    return i < 16 ? factors[i % 8] : 1;
}

void *explain_choose_values(wf_type type, wf_op op, uint64_t count) {
    size_t nbytes = wf_type_nbytes(type);
    unsigned char *values = malloc(count * nbytes + 1);
    if (!values) return NULL;
    for (uint64_t i = 0; i < count; i++) {
        char digit[2] = {(char)('0' + choose_element(op, i)), '\0'};
        uint64_t bits = 0;
        explain_parse_element(digit, type, &bits);
        memcpy(values + i * nbytes, &bits, nbytes);
    }
    return values;
}
