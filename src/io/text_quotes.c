/* Where lines end, although quoted fields may have line breaks: outside of these. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include <string.h>

#include "io/text_fields.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* ---- any text ---- */

/* Whether the quote at p, which is in no quoted field, opens one: it is the first of a field. */
static bool opens_field(const struct wf_text *text, const char *begin, const char *p) {
    const char *before = p;
    while (before > begin && wf_char_class_of(text, before[-1]) & WF_CHAR_BLANK) before--;
    if (before < p && !text->has_delimiter) return true;
    return before == begin || wf_char_class_of(text, before[-1]) & WF_CHAR_ENDS_FIELD;
}

/* Behind the quoted field at p, or NULL, where it has no end. */
static const char *pass_quoted(const char *p, const char *end) {
    while ((p = memchr(p + 1, '"', (size_t)(end - p - 1))))
        if (++p == end || *p != '"') break;
    return p;
}

/* Quote by quote. */
static const char *find_exactly(const struct wf_text *text, const char *begin, const char *end, bool is_line_begin) {
    const char *line = is_line_begin ? begin : NULL, *p = begin, *quote;
    while ((quote = memchr(p, '"', (size_t)(end - p)))) {
        const char *newline = memrchr(p, '\n', (size_t)(quote - p));
        if (newline) line = newline + 1;
        if (line && *line == '#') {
            p = (const char *)memchr(quote, '\n', (size_t)(end - quote)) + 1;
            line = p;
        } else if (!opens_field(text, begin, quote)) {
            p = quote + 1;
        } else if (!(p = pass_quoted(quote, end))) {
            if (end - quote > WF_TEXT_FIELD_NBYTES_MAX) return end;
            return line && line > begin ? line : NULL;
        }
    }
    return end;
}

/* ---- usual texts, 64 bytes at a time ---- */

/* Bit i: byte i is c. */
static inline uint64_t mask_of(const char *p, char c) {
    uint64_t mask = 0;
#if defined(__x86_64__)
    for (int i = 0; i < 64; i += 16) {
        const __m128i is_same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(p + i)), _mm_set1_epi8(c));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(is_same) << i;
    }
#else
    for (int i = 0; i < 64; i++) mask |= (uint64_t)(p[i] == c) << i;
#endif
    return mask;
}

/* Bit i: the number of bits up to i is odd. */
static inline uint64_t prefix_parity(uint64_t bits) {
    for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
    return bits;
}

struct scan {
    char delimiter;
    uint64_t inside; /* all bits: the next byte is in a quoted field */
    uint64_t opens, breaks; /* bit 0: a field can open with the next byte; it begins a line */
    const char *last; /* after the last line break outside of quoted fields, or NULL */
};

/* Takes 64 bytes in which every second quote opens a field, directly after a delimiter or line break, or is the second of
 * a doubled one.  false: there are other quotes, or comments, which may have some. */
static inline bool scan_block(struct scan *scan, const char *bytes, const char *place) {
    const uint64_t quotes = mask_of(bytes, '"'), breaks = mask_of(bytes, '\n');
    const uint64_t inside = prefix_parity(quotes) ^ scan->inside, outer = breaks & ~inside;
    const uint64_t ends = outer | quotes | mask_of(bytes, scan->delimiter);
    const bool is_usual = !(quotes & inside & ~(ends << 1 | scan->opens)) &&
                          !(mask_of(bytes, '#') & ~inside & (outer << 1 | scan->breaks));
    if (outer) scan->last = place + 64 - __builtin_clzll(outer);
    scan->opens = ends >> 63;
    scan->breaks = outer >> 63;
    scan->inside = -(inside >> 63);
    return is_usual;
}

/* false: the text is not usual. */
static bool find_fast(const struct wf_text *text, const char *begin, const char *end, const char **last) {
    struct scan scan = {.delimiter = wf_text_delimiter(text), .opens = 1, .breaks = 1};
    const char *p = begin;
    char rest[64] = "";
    for (; end - p >= 64; p += 64)
        if (!scan_block(&scan, p, p)) return false;
    memcpy(rest, p, (size_t)(end - p));
    if (!scan_block(&scan, rest, p)) return false;
    *last = scan.last;
    return scan.last && end - scan.last < WF_TEXT_FIELD_NBYTES_MAX;
}

const char *wf_text_last_line_end(const struct wf_text *text, const char *begin, const char *end, bool is_line_begin) {
    const char *last;
    if (!memchr(begin, '"', (size_t)(end - begin))) return end;
    if (is_line_begin && text->has_delimiter && find_fast(text, begin, end, &last)) return last;
    return find_exactly(text, begin, end, is_line_begin);
}
