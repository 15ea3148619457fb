/* The fast path for text: fields that are plain numbers or skipped.  Anything else (the first line, comments,
 * missing values, unusual numbers, errors, fields cut by the window) stops these loops before the field, or
 * the line, and is left to wf_text_find. */
#include <string.h>

#include "io/text_fields.h"

static inline bool is_blank(const struct wf_text *text, char c) {
    return wf_char_class_of(text, c) & WF_CHAR_BLANK;
}

static inline const char *skip_blanks(const struct wf_text *text, const char *p, const char *end) {
    while (p < end && is_blank(text, *p)) p++;
    return p;
}

/* The end of the field at p if it is a plain number; otherwise NULL. */
static inline const char *read_number(const struct wf_text *text, const char *p, const char *end,
                                      void *element) {
    const char *next = wf_text_parse_plain(p, end, text->type, element);
    if (!next) return NULL;
    if (text->has_delimiter) next = skip_blanks(text, next, end);
    return next < end && wf_char_class_of(text, *next) & WF_CHAR_ENDS_FIELD ? next : NULL;
}

static int64_t offset_of(const struct wf_source *source, const char *p) {
    return wf_source_offset(source) + (p - (const char *)wf_source_window(source));
}

/* ---- every field --------------------------------------------------------------------------------- */

/* Numbers separated by blanks. */
static int64_t read_blank_separated(struct wf_text *text, struct wf_source *source, int64_t limit,
                                    unsigned char *element) {
    size_t nbytes = wf_type_nbytes(text->type);
    const char *p = (const char *)wf_source_window(source), *end = (const char *)source->buffer + source->end;
    const char *line = NULL; /* the start of the last line begun in this loop */
    int64_t count = 0, line_count = 0, field_count = text->field_count;
    for (; count < limit; count++, field_count++) {
        for (; p < end && wf_char_class_of(text, *p); p++) { /* only blanks and newlines have a class here */
            if (*p != '\n') continue;
            if (text->is_table && field_count > 0 && field_count != text->width) break;
            line = p + 1;
            line_count++;
            field_count = 0;
        }
        const char *next = read_number(text, p, end, element);
        if (!next) break;
        p = next;
        element += nbytes;
    }
    if (line) wf_text_start_line(text, line_count, offset_of(source, line));
    text->field_count = field_count;
    text->is_after_field = field_count > 0;
    source->begin = (size_t)(p - (const char *)source->buffer);
    return count;
}

/* Numbers separated by delimiters. */
static int64_t read_delimited(struct wf_text *text, struct wf_source *source, int64_t limit,
                              unsigned char *element) {
    size_t nbytes = wf_type_nbytes(text->type);
    const char *p = (const char *)wf_source_window(source), *end = (const char *)source->buffer + source->end;
    const char *line = NULL;
    int64_t count = 0, line_count = 0;
    if (text->is_after_field) {
        p = skip_blanks(text, p, end);
        if (p == end || !(wf_char_class_of(text, *p++) & WF_CHAR_DELIMITER)) return 0;
        text->is_after_field = false;
        text->is_after_delimiter = true;
    }
    int64_t field_count = text->field_count;
    for (; count < limit; count++) {
        const char *next = read_number(text, skip_blanks(text, p, end), end, element);
        if (!next || (*next == '\n' && field_count + 1 != text->width)) break;
        p = next + 1;
        element += nbytes;
        field_count++;
        if (*next != '\n') continue;
        line = p;
        line_count++;
        field_count = 0;
    }
    if (line) wf_text_start_line(text, line_count, offset_of(source, line));
    text->is_after_delimiter = field_count > 0;
    text->field_count = field_count;
    source->begin = (size_t)(p - (const char *)source->buffer);
    return count;
}

/* ---- one column ---------------------------------------------------------------------------------- */

/* The end of the field at p, which is a delimiter (a blank where they part fields) or a newline, or NULL. */
static inline const char *skip_field(const struct wf_text *text, const char *p, const char *end) {
    struct wf_field field;
    const char *q = p;
    if (p < end && *p == '"') {
        if (wf_text_scan_quoted(text, p, end, false, &field, &q) != WF_FIND_FIELD) return NULL;
        if (memchr(field.bytes, '\n', field.length)) return NULL;
        q = skip_blanks(text, q, end);
        /* Blanks separate fields here, so after them the next field begins. */
        if (!text->has_delimiter && q < end && *q != '\n') return q - 1;
        return q < end && wf_char_class_of(text, *q) & WF_CHAR_ENDS_FIELD ? q : NULL;
    }
    while (q < end && !(wf_char_class_of(text, *q) & WF_CHAR_ENDS_FIELD)) q++;
    return q == end || q - p > WF_TEXT_FIELD_NBYTES_MAX ? NULL : q;
}

/* Like read_number, but the number may be quoted. */
static inline const char *read_quotable(const struct wf_text *text, const char *p, const char *end,
                                        void *element) {
    if (p == end || *p != '"') return read_number(text, p, end, element);
    p = wf_text_parse_plain(p + 1, end, text->type, element);
    if (!p || p == end || *p++ != '"') return NULL;
    if (text->has_delimiter) p = skip_blanks(text, p, end);
    return p < end && wf_char_class_of(text, *p) & WF_CHAR_ENDS_FIELD ? p : NULL;
}

/* Reads the column of the line at p.  Returns the start of the next line, or NULL if the fast path does not
 * apply. */
static const char *read_line(const struct wf_text *text, const char *p, const char *end, void *element) {
    if (p < end && *p == '#') return NULL;
    for (int64_t field = 1;; field++) {
        p = skip_blanks(text, p, end);
        bool is_line_end = p < end && *p == '\n' && !text->has_delimiter;
        if (is_line_end) return field == text->width + 1 ? p + 1 : NULL;
        p = field == text->column ? read_quotable(text, p, end, element) : skip_field(text, p, end);
        if (!p || field > text->width) return NULL;
        if (*p == '\n') return field == text->width ? p + 1 : NULL;
        p++;
    }
}

static int64_t read_column(struct wf_text *text, struct wf_source *source, int64_t limit,
                           unsigned char *element) {
    size_t nbytes = wf_type_nbytes(text->type);
    const char *p = (const char *)wf_source_window(source), *end = (const char *)source->buffer + source->end;
    int64_t count = 0;
    /* The field count is checked as well as the offset: an empty first field takes no byte. */
    if (wf_source_offset(source) != text->line_offset || text->field_count > 0) return 0;
    for (const char *next; count < limit && (next = read_line(text, p, end, element)); count++) {
        p = next;
        element += nbytes;
    }
    wf_text_start_line(text, count, offset_of(source, p));
    source->begin = (size_t)(p - (const char *)source->buffer);
    return count;
}

int64_t wf_text_read_fast(struct wf_text *text, struct wf_source *source, int64_t limit, void *elements) {
    if (text->is_header || text->is_comment || (text->is_table && !text->width)) return 0;
    return (text->column          ? read_column
            : text->has_delimiter ? read_delimited
                                  : read_blank_separated)(text, source, limit, elements);
}
