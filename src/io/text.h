/* Numbers and tables as text: a parser that takes its bytes from a source, in pieces of any size. */
#ifndef WF_IO_TEXT_H
#define WF_IO_TEXT_H

#include "core/types.h"
#include "io/source.h"

/* No field is longer: what a reader holds of its input stays bounded. */
#define WF_TEXT_FIELD_NBYTES_MAX 65536

/* Where the parser stands in a file. */
struct wf_text {
    wf_type type;
    const char *column_name; /* the options', or NULL */
    int64_t column;          /* the field of each line that is read, from 1; 0: all of them */
    int64_t line;            /* the line's number, from 1 */
    int64_t line_offset;     /* the offset of its first byte in the source */
    int64_t field_count;     /* its fields so far */
    bool is_after_field;     /* the last thing seen in it was a field, which a delimiter may follow */
    bool is_after_delimiter; /* the last thing was a delimiter */
    bool is_header;          /* its fields are names */
    bool has_delimiter;      /* only delimiters part fields, not blanks */
    uint8_t char_class[256]; /* as text.c has them */
};

/* Starts at the first byte of source, and passes over the lines to skip.  Of options: column_name (which must
 * outlive text), column, skip_lines, has_header and delimiter. */
wf_error wf_text_open(wf_handle *handle, struct wf_text *text, struct wf_source *source, wf_type type,
                      const wf_reader_options *options);

/* The next elements, at most limit; *count is 0 only at the end of the source. */
wf_error wf_text_next(wf_handle *handle, struct wf_text *text, struct wf_source *source, int64_t limit,
                      void *elements, int64_t *count);

/* The element that token stands for, rounded once where type is a float type.  WF_ERROR_FORMAT: it is no
 * number (no integer); WF_ERROR_RANGE: it does not fit in the type.  Writes *element, of any alignment, on
 * WF_OK only. A pure function: neither the locale nor the floating-point environment has a say. */
wf_error wf_text_parse_number(const char *token, size_t length, wf_type type, void *element);

/* The same for the number that begins at p, if it is a plain one: decimal, of 19 digits at most, and some
 * bytes before end.  Returns where it ends; NULL, and maybe something in *element, if it is not. */
const char *wf_text_parse_plain(const char *p, const char *end, wf_type type, void *element);

#endif
