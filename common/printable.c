#include "printable.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- characters ---------------------------------------------------------------------------------- */

struct character {
    uint32_t code;
    size_t nbytes; /* 0: these bytes are not UTF-8 */
};

/* Whether the code is neither overlong, nor a surrogate, nor beyond the last code point. */
static bool is_canonical(uint32_t code, size_t nbytes) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    return code >= least[nbytes] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

static struct character decode(const unsigned char *text, size_t nbytes) {
    static const struct character none = {0, 0};
    unsigned char first = text[0];
    if (first < 0x80) return (struct character){first, 1};
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc0 || first >= 0xf8 || length > nbytes) return none;
    uint32_t code = first & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return none;
        code = code << 6 | (text[i] & 0x3f);
    }
    return is_canonical(code, length) ? (struct character){code, length} : none;
}

/* Controls, turns of the direction of writing, other line breaks, and what shows nothing.  The joiners U+200C
 * and U+200D are letters of some scripts. */
static const struct {
    uint32_t first, last;
} unprintable[] = {
    {0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},       {0x61c, 0x61c},
    {0x180e, 0x180e},   {0x200b, 0x200b},   {0x200e, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0xfeff, 0xfeff},   {0xfff0, 0xfffb},   {0xfffe, 0xffff},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff},
};

static bool is_printable(uint32_t code) {
    for (size_t i = 0; i < sizeof unprintable / sizeof unprintable[0]; i++)
        if (code >= unprintable[i].first && code <= unprintable[i].last) return false;
    return true;
}

/* ---- texts --------------------------------------------------------------------------------------- */

static bool is_kept(const struct character *character, enum wf_lines lines) {
    if (character->nbytes == 0) return false;
    if (lines == WF_LINES_KEPT && (character->code == '\n' || character->code == '\t')) return true;
    return is_printable(character->code);
}

enum { ESCAPE_NBYTES = 16 };

static size_t escape(char text[ESCAPE_NBYTES], const struct character *character, unsigned char byte) {
    uint32_t code = character->nbytes ? character->code : byte;
    const char *format = code == '\n'                            ? "\\n"
                         : code == '\r'                          ? "\\r"
                         : code == '\t'                          ? "\\t"
                         : character->nbytes == 0 || code < 0x80 ? "\\x%02x"
                         : code < 0x10000                        ? "\\u%04x"
                                                                 : "\\U%08x";
    return (size_t)snprintf(text, ESCAPE_NBYTES, format, (unsigned)code);
}

size_t wf_character_nbytes(const char *text, size_t nbytes) {
    return decode((const unsigned char *)text, nbytes).nbytes;
}

size_t wf_printable(const char *text, size_t nbytes, enum wf_lines lines, char *out, size_t capacity) {
    size_t needed = 0, length = 0;
    for (size_t at = 0; at < nbytes;) {
        const unsigned char *from = (const unsigned char *)text + at;
        struct character character = decode(from, nbytes - at);
        char escaped[ESCAPE_NBYTES];
        bool is_whole = is_kept(&character, lines);
        size_t piece = is_whole ? character.nbytes : escape(escaped, &character, *from);
        if (length == needed && needed + piece < capacity) {
            memcpy(out + length, is_whole ? (const char *)from : escaped, piece);
            length += piece;
        }
        needed += piece;
        at += character.nbytes ? character.nbytes : 1;
    }
    if (capacity > 0) out[length] = '\0';
    return needed;
}

char *wf_printable_copy(const char *text, enum wf_lines lines) {
    size_t nbytes = strlen(text);
    size_t capacity = wf_printable(text, nbytes, lines, NULL, 0) + 1;
    char *copy = malloc(capacity);
    if (copy) wf_printable(text, nbytes, lines, copy, capacity);
    return copy;
}

void wf_printable_here(char *text, size_t capacity, enum wf_lines lines) {
    size_t nbytes = strlen(text);
    if (wf_printable(text, nbytes, lines, NULL, 0) == nbytes) return;
    char *copy = wf_printable_copy(text, lines);
    if (copy)
        snprintf(text, capacity, "%s", copy);
    else
        for (size_t i = 0; i < nbytes; i++) /* no memory for names: what is no plain text is not shown */
            if (text[i] < ' ' || text[i] > '~') text[i] = '?';
    free(copy);
}
