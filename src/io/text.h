/* A parser for numbers and tables in text, which takes bytes from a source in chunks of any size. */
#ifndef WF_IO_TEXT_H
#define WF_IO_TEXT_H

#include <string.h>

#include "core/nearest.h"
#include "core/types.h"
#include "io/source.h"

/* The longest field accepted, which bounds the memory of a reader. */
#define WF_TEXT_FIELD_NBYTES_MAX 65536

/* Whether a name in a header has what delimits other tables, so that more than one name may be in it. */
static inline bool wf_name_has_delimiter(const char *name, size_t length) {
    return memchr(name, '\t', length) || memchr(name, ';', length) || memchr(name, '|', length);
}

#define WF_ASK_DELIMITER "; is the delimiter another one (--delimiter)?"

/* The column names of a header, for a message, and the one most similar to the requested name. */
struct wf_text_names {
    char shown[360]; /* "'x', 'y'" */
    size_t length;
    int64_t left_out; /* the number of names that did not fit */
    struct wf_nearest nearest;
    bool have_delimiter; /* wf_name_has_delimiter, of one of them */
};

/* The state of the parser in a file. */
struct wf_text {
    wf_type type;
    const char *column_name; /* from the options, or NULL */
    int64_t column;          /* the field to read in each line, from 1; 0: all */
    int64_t first_line;      /* the number of the first line that is neither blank nor a comment */
    int64_t width;           /* its number of fields; 0: not known yet */
    int64_t line;            /* the number of the current line, from 1 */
    int64_t line_offset;     /* the offset of its first byte in the source */
    int64_t field_count;     /* the fields found in it so far */
    int64_t break_count;     /* the line breaks inside these, which are quoted */
    bool is_after_field;     /* a field was just read; a delimiter may follow */
    bool is_after_delimiter; /* a delimiter was just read; a field must follow */
    bool is_comment;         /* the window ended inside a comment of this line */
    bool is_header;          /* the fields of this line are column names */
    bool has_header;         /* the fields of the first line are column names */
    bool has_delimiter;      /* a delimiter separates fields, not blanks */
    bool is_table;           /* every line must have as many fields as the first */
    bool is_grouped;         /* the first line may be one number, such as 1,000 */
    bool skips_missing;      /* fields that represent a missing value are skipped */
    uint8_t char_class[256]; /* enum wf_char_class of each byte */
    struct wf_text_names names;
};

/* Refuses a text whose lines end in carriage returns alone, which would be read as one line.  For texts with a header: there
 * all of the text would be taken for the header. */
wf_error wf_text_check_line_ends(wf_handle *handle, const struct wf_text *text, const struct wf_source *source);

/* Starts at the first byte of source, skips lines, and inspects the first line, which determines the
 * delimiter unless the options name one.  Uses column_name (which must outlive text), column, skip_lines,
 * has_header, missing and delimiter of the options. */
wf_error wf_text_open(wf_handle *handle, struct wf_text *text, struct wf_source *source, wf_type type,
                      const wf_reader_options *options);

/* Reads the next elements, at most limit; *count is 0 only at the end of the source. */
wf_error wf_text_next(wf_handle *handle, struct wf_text *text, struct wf_source *source, int64_t limit,
                      void *elements, int64_t *count);

/* Converts token to an element, rounded once if type is a float type.  WF_ERROR_FORMAT: it is not a number
 * (for integer types, not an integer).  WF_ERROR_RANGE: it does not fit the type.  Writes *element, of any
 * alignment, only on WF_OK.  A pure function, independent of the locale and the floating-point
 * environment. */
wf_error wf_text_parse_number(const char *token, size_t length, wf_type type, void *element);

/* The fast path of wf_text_parse_number for a plain decimal number of at most 19 digits at p.  Returns its end,
 * or NULL if it is not plain or too near end; *element may then have been written. */
const char *wf_text_parse_plain(const char *p, const char *end, wf_type type, void *element);

/* The same for an f64 of up to eight bytes without an exponent, of which the length is known, in a third of the time.  Floating-
 * point arithmetic has to be IEEE here (core/environment.h). */
bool wf_text_parse_short(const char *p, size_t length, const char *end, double *element);

#endif
