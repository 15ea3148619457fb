/* The internals of the text parser: finding fields. */
#ifndef WF_IO_TEXT_FIELDS_H
#define WF_IO_TEXT_FIELDS_H

#include "io/reader.h"

enum wf_char_class {
    WF_CHAR_BLANK = 1,
    WF_CHAR_DELIMITER = 2,
    WF_CHAR_ENDS_FIELD = 4 /* delimiters and newlines; blanks too, if they separate fields */
};

struct wf_field {
    const char *bytes; /* without surrounding quotes */
    size_t length;
    bool is_quoted;
};

enum wf_find {
    WF_FIND_FIELD,
    WF_FIND_LINE_END,
    WF_FIND_END,
    WF_FIND_CUT, /* the window ends inside the field */
    /* Errors in the field that begins here. */
    WF_FIND_TOO_LONG,
    WF_FIND_UNCLOSED,
    WF_FIND_UNSEPARATED
};

static inline unsigned wf_char_class_of(const struct wf_text *text, char c) {
    return text->char_class[(unsigned char)c];
}

/* Finds the next field, or what comes instead.  Takes a field from the window, but not the end of a line, nor
 * a field with an error. */
enum wf_find wf_text_find(struct wf_text *text, struct wf_source *source, struct wf_field *field);

/* Scans the quoted field at p; *next is the byte after the closing quote.  It may have line breaks inside. */
enum wf_find wf_text_scan_quoted(const struct wf_text *text, const char *p, const char *end, bool is_at_end,
                                 struct wf_field *field, const char **next);

/* The end of the last line that ends outside of quoted fields, of the lines from begin to end, which is after a line break;
 * NULL: there is none.  Fields that are longer than a field can be are left to the parser. */
const char *wf_text_last_line_end(const struct wf_text *text, const char *begin, const char *end, bool is_line_begin);

/* 0: blanks separate fields. */
static inline char wf_text_delimiter(const struct wf_text *text) {
    for (int c = 0; c < 256; c++)
        if (text->char_class[c] & WF_CHAR_DELIMITER) return (char)c;
    return 0;
}

int64_t wf_count_newlines(const unsigned char *bytes, size_t nbytes);

/* Counts the line breaks inside a field. */
static inline int64_t wf_text_count_breaks(const struct wf_field *field) {
    int64_t count = 0;
    for (size_t i = 0; field->is_quoted && i < field->length; i++) count += field->bytes[i] == '\n';
    return count;
}

/* Reads elements by the fast path, as far as it applies.  Returns their number. */
int64_t wf_text_read_fast(struct wf_text *text, struct wf_source *source, int64_t limit, void *elements);

/* Moves line_count lines on, to the line that begins at offset.  (A line that has a quoted field with line breaks counts
 * as all that it consists of.) */
static inline void wf_text_start_line(struct wf_text *text, int64_t line_count, int64_t offset) {
    text->line += line_count;
    text->line_offset = offset;
    text->field_count = text->break_count = 0;
    text->is_after_field = text->is_after_delimiter = text->is_comment = false;
}

/* Fails with a message that begins with FILE:LINE:COLUMN of the byte at `at`. */
wf_error wf_text_fail(wf_handle *handle, const struct wf_text *text, const struct wf_source *source,
                      const void *at, wf_error error, const char *format, ...)
    __attribute__((format(printf, 6, 7), cold));

/* The same for what wf_text_find has found wrong at the window's first byte, and for a field that is no number. */
wf_error wf_text_fail_find(wf_handle *handle, const struct wf_text *text, const struct wf_source *source,
                           enum wf_find found);
wf_error wf_text_fail_number(wf_handle *handle, const struct wf_text *text, const struct wf_source *source,
                             const struct wf_field *field, wf_error error);

/* Whether the field represents a missing value. */
bool wf_text_is_missing(const struct wf_field *field);

/* Takes the end of a line, whose fields have been found: their number must be that of the first line's. */
wf_error wf_text_end_line(wf_handle *handle, struct wf_text *text, struct wf_source *source);

/* Reads a field of the header; and ends the header, by which time the column must have been found. */
wf_error wf_text_read_name(wf_handle *handle, struct wf_text *text, const struct wf_source *source,
                           const struct wf_field *field);
wf_error wf_text_end_header(wf_handle *handle, struct wf_text *text, const struct wf_source *source);

#endif
