/* The internals of wf_reader: files read in order, each by the functions of its format. */
#ifndef WF_IO_READER_H
#define WF_IO_READER_H

#include "io/source.h"
#include "io/text.h"

#define WF_CHUNK_NBYTES WF_SOURCE_NBYTES
#define WF_CHUNK_TEXT_NBYTES (WF_SOURCE_NBYTES / 2)
/* Every number takes at least one byte, and a separator follows all but the last. */
#define WF_CHUNK_TEXT_COUNT (WF_CHUNK_TEXT_NBYTES / 2 + 1)

/* A chunk of a file: elements on their way from the file to an accumulator. */
struct wf_chunk {
    const void *data; /* count elements: in bytes; for text, in elements */
    int64_t count;
    bool is_end;           /* nothing was left to take */
    unsigned char *bytes;  /* of the file, unconverted; capacity WF_CHUNK_NBYTES */
    void *elements;        /* capacity: WF_CHUNK_TEXT_COUNT elements of the widest type */
    size_t nbytes;         /* the number of bytes */
    int64_t offset;        /* where the bytes begin in the file */
    int64_t newline_count; /* text: those in the bytes */
    bool is_claimed;       /* the bytes are reserved, but not read yet */
    struct wf_text parser; /* its state before the bytes */
};

wf_error wf_chunk_create(wf_handle *handle, struct wf_chunk *chunk);
void wf_chunk_destroy(struct wf_chunk *chunk);

/* A file format.  All functions work on reader->source, which is at the first byte of the file when open is
 * called. */
struct wf_reader_format {
    /* Sets *type to the type of the file's elements. */
    wf_error (*open)(wf_handle *handle, wf_reader *reader, wf_type *type);
    /* Takes the next chunk of the file.  Does as little work as possible, since threads must take turns. */
    wf_error (*take)(wf_handle *handle, wf_reader *reader, struct wf_chunk *chunk);
    /* Converts what was taken into elements, even if taking it ended in an error.  Several threads may do
     * this at once, each with its own chunk.  After an error the chunk holds the elements before it. */
    wf_error (*finish)(wf_handle *handle, const wf_reader *reader, struct wf_chunk *chunk);
    /* Whether take already knows the number of elements. */
    bool counts_on_taking;
    /* The least number of bytes for which another thread is worthwhile. */
    int64_t thread_nbytes;
};

extern const struct wf_reader_format wf_reader_npy, wf_reader_raw, wf_reader_text;

/* The longest header that is accepted. */
#define WF_NPY_HEADER_NBYTES_MAX 65536

struct wf_npy_header {
    wf_type type;
    bool is_swapped; /* the byte order differs from this machine's */
    bool is_fortran_order;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    int64_t count;        /* the number of elements; the size of the whole file fits in int64_t */
    size_t header_nbytes; /* the offset of the data */
};

struct wf_reader {
    char **paths;
    size_t path_count;
    size_t path_index;         /* the file that is open, or opened next */
    wf_reader_options options; /* column_name is the reader's own */
    wf_type type;
    struct wf_source source;
    const struct wf_reader_format *format; /* the format of the open file; NULL: no file is open */
    wf_error error;                        /* the error of a failed call, which ends the reader */
    int64_t nbytes_done;                   /* the bytes of the files before the open one */
    int64_t nbytes_total;                  /* the bytes of all files; -1: unknown */
    struct wf_chunk chunk;                 /* what wf_reader_next returns, block by block */
    int64_t position;                      /* the offset of the next block in it, in elements */
    int64_t count_left;                    /* .npy, or selected: elements not yet taken */
    bool is_selected;                      /* by wf_reader_select */
    bool is_swapped;                       /* .npy, raw: the byte order differs from this machine's */
    struct wf_npy_header npy;              /* .npy */
    bool wants_c_order;         /* .npy: deliver the elements in C order, whatever the order of storage */
    struct wf_npy_panel *panel; /* the buffers for transposing a .npy array, or NULL */
    struct wf_text text;        /* text: the parser's state after what was taken */
};

/* Opens the next file if none is open; reader->format stays NULL if there are no more. */
wf_error wf_reader_ensure_file(wf_handle *handle, wf_reader *reader);
void wf_reader_close_file(wf_reader *reader);

/* Opens the first file again, from its beginning.  Not for standard input, nor after wf_reader_select. */
wf_error wf_reader_rewind(wf_handle *handle, wf_reader *reader);

/* Takes chunks until reader->chunk has elements or the last file ends. */
wf_error wf_reader_ensure_elements(wf_handle *handle, wf_reader *reader);

/* The number of elements left in reader->chunk. */
static inline int64_t wf_reader_available(const wf_reader *reader) {
    return reader->chunk.count - reader->position;
}

/* Removes and returns at most limit elements of reader->chunk. */
wf_array wf_reader_take_block(wf_reader *reader, int64_t limit);

/* thread_nbytes of formats whose elements are stored as they are in memory. */
#define WF_ELEMENTS_THREAD_NBYTES (INT64_C(1) << 20)

/* Whether this machine is little-endian. */
bool wf_is_little_endian(void);

/* Takes a chunk of at most limit elements stored as they are in memory.  If the file ends inside an element,
 * chunk->nbytes includes its first bytes. */
wf_error wf_elements_take(wf_handle *handle, wf_reader *reader, int64_t limit, struct wf_chunk *chunk);
wf_error wf_elements_finish(wf_handle *handle, const wf_reader *reader, struct wf_chunk *chunk);

/* Reads nbytes that the file had when it was opened.  *found is less than nbytes only after an error. */
wf_error wf_elements_read(wf_handle *handle, const wf_reader *reader, void *bytes, size_t nbytes,
                          int64_t offset, size_t *found);

/* Takes whole lines of at most nbytes together.  The first line of a table, and any line longer than nbytes,
 * is parsed immediately instead. */
wf_error wf_lines_take(wf_handle *handle, struct wf_text *text, struct wf_source *source, size_t nbytes,
                       struct wf_chunk *chunk);
/* Takes those whole lines, of at most nbytes together, that the window has; false: there is none. */
bool wf_lines_take_whole(struct wf_text *text, struct wf_source *source, size_t nbytes, struct wf_chunk *chunk);
wf_error wf_lines_finish(wf_handle *handle, const char *name, struct wf_chunk *chunk);

/* ---- .npy ----------------------------------------------------------------------------------------- */

/* Parses the header in the first nbytes of a file; WF_NPY_HEADER_NBYTES_MAX bytes are enough.  name is the
 * file's name in messages.  wanted_type WF_BF16 admits the descr V2, which only means "two bytes".  A pure
 * function except for the message. */
wf_error wf_npy_parse(wf_handle *handle, const char *name, const void *bytes, size_t nbytes,
                      wf_type wanted_type, struct wf_npy_header *header);

/* Whether the order of storage differs from C order. */
bool wf_npy_is_transposed(const struct wf_npy_header *header);

/* Chooses whether later elements are delivered in C order or in the order of storage.  Fails if elements of
 * the open file have been taken in the other order. */
wf_error wf_reader_set_order(wf_handle *handle, wf_reader *reader, bool wants_c_order);

/* Takes a chunk of a transposed array, in C order. */
wf_error wf_npy_take_transposed(wf_handle *handle, wf_reader *reader, struct wf_chunk *chunk);
void wf_npy_panel_destroy(struct wf_npy_panel *panel);

#endif
