/* The inside of a wf_reader: files, one after the other, each by the functions of its format. */
#ifndef WF_IO_READER_H
#define WF_IO_READER_H

#include "io/source.h"
#include "io/text.h"

#define WF_PIECE_NBYTES WF_SOURCE_NBYTES
#define WF_PIECE_TEXT_NBYTES (WF_SOURCE_NBYTES / 2)
/* A number has a byte, and all but the last a separator. */
#define WF_PIECE_TEXT_COUNT (WF_PIECE_TEXT_NBYTES / 2 + 1)

/* Some elements on their way from a file to an accumulator. */
struct wf_piece {
    const void *data; /* count elements: in bytes, or, of text, in elements */
    int64_t count;
    bool is_end;           /* there was nothing left to take */
    unsigned char *bytes;  /* as they are in the file; room for WF_PIECE_NBYTES */
    void *elements;        /* room for WF_PIECE_TEXT_COUNT of the widest type */
    size_t nbytes;         /* of bytes */
    int64_t offset;        /* of bytes in the file */
    bool is_claimed;       /* bytes are still to be read */
    struct wf_text parser; /* as it stands before bytes */
};

wf_error wf_piece_create(wf_handle *handle, struct wf_piece *piece);
void wf_piece_destroy(struct wf_piece *piece);

/* One format.  All functions work on reader->source, which open finds at its first byte. */
struct wf_reader_format {
    /* Sets *type to that of the file's elements. */
    wf_error (*open)(wf_handle *handle, wf_reader *reader, wf_type *type);
    /* Takes the next piece of the file, as little work as may be: only one thread at a time can. */
    wf_error (*take)(wf_handle *handle, wf_reader *reader, struct wf_piece *piece);
    /* Makes what was taken into elements, also where an error followed them.  Several threads may do so at
     * once, each with a piece of its own.  An error leaves in the piece the elements before it. */
    wf_error (*finish)(wf_handle *handle, const wf_reader *reader, struct wf_piece *piece);
    /* Whether take knows how many elements there will be. */
    bool counts_on_taking;
    /* For fewer bytes another thread does not pay. */
    int64_t thread_nbytes;
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
    struct wf_piece piece;                 /* what wf_reader_next gives, block by block */
    int64_t position;                      /* of the next block in it */
    int64_t count_left;                    /* .npy: elements that were not taken yet */
    bool is_swapped;                       /* .npy: the bytes of each element are; raw: false */
    struct wf_text text;                   /* text: the parser as it stands after what was taken */
};

/* Opens the next file if none is open; reader->format stays NULL where there are no more. */
wf_error wf_reader_need_file(wf_handle *handle, wf_reader *reader);
void wf_reader_close_file(wf_reader *reader);

/* Takes pieces until something is in reader->piece, or the last file ends. */
wf_error wf_reader_need_elements(wf_handle *handle, wf_reader *reader);

/* What is left of reader->piece. */
static inline int64_t wf_reader_available(const wf_reader *reader) {
    return reader->piece.count - reader->position;
}

/* At most limit elements of what is left of reader->piece. */
wf_array wf_reader_take_block(wf_reader *reader, int64_t limit);

/* The thread_nbytes of formats whose elements stand in the file as they are in memory. */
#define WF_ELEMENTS_THREAD_NBYTES (INT64_C(1) << 20)

/* Takes a piece of at most limit such elements.  piece->nbytes: what there was, and so more than its elements
 * have where the file ends inside one. */
wf_error wf_elements_take(wf_handle *handle, wf_reader *reader, int64_t limit, struct wf_piece *piece);
wf_error wf_elements_finish(wf_handle *handle, const wf_reader *reader, struct wf_piece *piece);

/* Takes whole lines, of nbytes at most; a header, or a line that is longer, is parsed at once. */
wf_error wf_lines_take(wf_handle *handle, struct wf_text *text, struct wf_source *source, size_t nbytes,
                       struct wf_piece *piece);
wf_error wf_lines_finish(wf_handle *handle, const char *name, struct wf_piece *piece);

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
