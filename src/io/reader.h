/* The inside of a wf_reader: files, one after the other, each by the functions of its format. */
#ifndef WF_IO_READER_H
#define WF_IO_READER_H

#include "io/source.h"
#include "io/text.h"

/* One format.  Both functions work on reader->source, which open finds at its first byte. */
struct wf_reader_format {
    /* Sets *type to that of the file's elements. */
    wf_error (*open)(wf_handle *handle, wf_reader *reader, wf_type *type);
    /* As wf_reader_next, but to the end of the file. */
    wf_error (*next)(wf_handle *handle, wf_reader *reader, int64_t limit, wf_array *block);
};

extern const struct wf_reader_format wf_reader_npy, wf_reader_raw, wf_reader_text;

struct wf_reader {
    char **paths;
    size_t path_count;
    size_t path_index;         /* of the file that is open, or comes next */
    wf_reader_options options; /* column_name is the reader's own */
    wf_type type;
    struct wf_source source;
    const struct wf_reader_format *format; /* of the open file; NULL: none is open */
    wf_error error;                        /* of the call that failed: nothing can follow it */
    int64_t nbytes_done;                   /* of the files before the open one */
    int64_t nbytes_total;                  /* of all files; -1: not known */
    /* .npy */
    int64_t count_left;
    bool is_swapped;
    /* text */
    struct wf_text text;
    void *elements; /* WF_READER_TEXT_COUNT of the widest type */
};

#define WF_READER_TEXT_COUNT 32768

/* Makes block a view of the elements of reader->type in the source's window, at most limit of them, and takes
 * them from it.  None: fewer bytes than an element has are left. */
wf_error wf_reader_take(wf_handle *handle, wf_reader *reader, int64_t limit, wf_array *block);

/* At most length bytes as they may stand in a message: shortened, without control characters. */
struct wf_quoted {
    char text[64];
};
struct wf_quoted wf_quote(const void *bytes, size_t length);

/* ---- .npy headers -------------------------------------------------------------------------------- */

/* The longest that is believed. */
#define WF_NPY_HEADER_NBYTES_MAX 65536

struct wf_npy_header {
    wf_type type;
    bool is_swapped; /* the bytes of an element are in the other order than this machine's */
    bool is_fortran_order;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    int64_t count;        /* elements; the size of the whole file fits in int64_t */
    size_t header_nbytes; /* the data begin here */
};

/* Parses the first nbytes bytes of a file, which name stands for in messages; WF_NPY_HEADER_NBYTES_MAX of
 * them are enough.  wanted_type: WF_BF16 admits the descr V2, which says no more than "two bytes".  A pure
 * function but for the message. */
wf_error wf_npy_parse(wf_handle *handle, const char *name, const void *bytes, size_t nbytes,
                      wf_type wanted_type, struct wf_npy_header *header);

#endif
