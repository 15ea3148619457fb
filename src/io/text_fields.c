/* Finds fields one by one, quoted or not, whatever they contain. */
#include "io/text_fields.h"

#include <string.h>

/* Where scanning a field at p stops: after one byte more than a field may have, or at the end of the
 * window. */
static const char *field_limit(const char *p, const char *end) {
    return end - p > WF_TEXT_FIELD_NBYTES_MAX ? p + WF_TEXT_FIELD_NBYTES_MAX : end;
}

static enum wf_find scan_unquoted(const struct wf_text *text, const char *p, const char *end, bool is_at_end,
                                  struct wf_field *field, const char **next) {
    const char *stop = field_limit(p, end), *q = p;
    while (q < stop && !(wf_char_class_of(text, *q) & WF_CHAR_ENDS_FIELD)) q++;
    if (q == end && !is_at_end) return WF_FIND_CUT;
    if (q < end && !(wf_char_class_of(text, *q) & WF_CHAR_ENDS_FIELD)) return WF_FIND_TOO_LONG;
    *next = q;
    while (q > p && wf_char_class_of(text, q[-1]) & WF_CHAR_BLANK) q--;
    *field = (struct wf_field){p, (size_t)(q - p), false};
    return WF_FIND_FIELD;
}

/* A quote inside a quoted field is doubled, and line breaks are part of it, as in RFC 4180. */
enum wf_find wf_text_scan_quoted(const struct wf_text *text, const char *p, const char *end, bool is_at_end,
                                 struct wf_field *field, const char **next) {
    const char *stop = field_limit(p, end), *q = p + 1;
    for (;; q += 2) {
        while (q < stop && *q != '"') q++;
        if (q >= stop) return stop < end || is_at_end ? WF_FIND_UNCLOSED : WF_FIND_CUT;
        if (q + 1 == end && !is_at_end) return WF_FIND_CUT;
        if (q + 1 == end || q[1] != '"') break;
    }
    *next = q + 1;
    if (*next < end && !(wf_char_class_of(text, **next) & (WF_CHAR_BLANK | WF_CHAR_ENDS_FIELD)))
        return WF_FIND_UNSEPARATED;
    *field = (struct wf_field){p + 1, (size_t)(q - p - 1), true};
    return WF_FIND_FIELD;
}

/* A comment takes a whole line. */
static bool is_in_comment(struct wf_text *text, const struct wf_source *source) {
    if (text->is_comment) return true;
    text->is_comment = wf_source_available(source) > 0 && *wf_source_window(source) == '#' &&
                       wf_source_offset(source) == text->line_offset;
    return text->is_comment;
}

static enum wf_find skip_comment(struct wf_source *source) {
    const unsigned char *newline = memchr(wf_source_window(source), '\n', wf_source_available(source));
    source->begin = newline ? (size_t)(newline - source->buffer) : source->end;
    return newline ? WF_FIND_LINE_END : source->is_at_end ? WF_FIND_END : WF_FIND_CUT;
}

enum wf_find wf_text_find(struct wf_text *text, struct wf_source *source, struct wf_field *field) {
    if (is_in_comment(text, source)) return skip_comment(source);
    const char *base = (const char *)source->buffer, *p = base + source->begin, *end = base + source->end;
    const char *next;
    for (;; p++) {
        while (p < end && wf_char_class_of(text, *p) & WF_CHAR_BLANK) p++;
        if (p == end || !(wf_char_class_of(text, *p) & WF_CHAR_DELIMITER) || !text->is_after_field) break;
        text->is_after_field = false;
        text->is_after_delimiter = true;
    }
    source->begin = (size_t)(p - base);
    if (p == end && !source->is_at_end) return WF_FIND_CUT;

    bool is_line_end = p == end || *p == '\n';
    if (is_line_end && !text->is_after_delimiter)
        return p == end && text->field_count == 0 ? WF_FIND_END : WF_FIND_LINE_END;
    if (is_line_end || wf_char_class_of(text, *p) & WF_CHAR_DELIMITER) {
        *field = (struct wf_field){p, 0, false};
        next = p;
    } else {
        if (text->has_delimiter && text->is_after_field) return WF_FIND_UNSEPARATED;
        enum wf_find found =
            (*p == '"' ? wf_text_scan_quoted : scan_unquoted)(text, p, end, source->is_at_end, field, &next);
        if (found != WF_FIND_FIELD) return found;
    }
    source->begin = (size_t)(next - base);
    text->break_count += wf_text_count_breaks(field);
    text->is_after_field = true;
    text->is_after_delimiter = false;
    text->field_count++;
    return WF_FIND_FIELD;
}
