/* A file, pipe or other stream as a window of bytes that moves forward: bounded reads, never a mapping. */
#ifndef WF_IO_SOURCE_H
#define WF_IO_SOURCE_H

#include <stdbool.h>
#include <sys/types.h>
#include "core/error.h"

/* What is read at a time: large beside the cost of a call, and still in the cache when it is used. */
#define WF_SOURCE_NBYTES ((size_t)1 << 18)

struct wf_source {
    const char *name; /* for messages */
    unsigned char *buffer;
    size_t begin, end;    /* the window: the bytes of buffer that were read and not taken yet */
    int64_t nbytes_read;  /* or claimed */
    int64_t nbytes_total; /* what a regular file has from where reading began; -1: not known */
    int64_t origin;       /* of a regular file: the position where reading began */
    bool is_behind;       /* the descriptor's position is, after a claim */
    bool is_at_end;       /* nothing follows the window */
    bool owns_descriptor;
    int descriptor;
    /* As read(2). */
    ssize_t (*read)(struct wf_source *source, void *bytes, size_t nbytes);
};

/* Allocates the buffer, which serves one file after the other. */
wf_error wf_source_create(wf_handle *handle, struct wf_source *source);
void wf_source_destroy(struct wf_source *source);

/* The path for messages: "standard input" for "-", and of a very long one the end.  Lives as long as path. */
const char *wf_source_name(const char *path);

/* What there is to read, in bytes; -1 where that is not known before.  path: "-" is standard input. */
int64_t wf_source_measure(const char *path);

wf_error wf_source_open(wf_handle *handle, struct wf_source *source, const char *path);
void wf_source_close(struct wf_source *source);

/* Reads until the window has nbytes, at most WF_SOURCE_NBYTES, or the source ends.  The window may move
 * inside the buffer. */
wf_error wf_source_fill(wf_handle *handle, struct wf_source *source, size_t nbytes);

/* Moves the next nbytes, or what there is before the end, to bytes. */
wf_error wf_source_take(wf_handle *handle, struct wf_source *source, void *bytes, size_t nbytes,
                        size_t *taken);

/* What is left of a regular file's nbytes_total; 0 where that is not known. */
int64_t wf_source_claimable(const struct wf_source *source);

/* Passes over the next nbytes, which must be claimable, and returns their offset for wf_source_read_at. */
int64_t wf_source_claim(struct wf_source *source, size_t nbytes);

/* Reads what was claimed; *found is less where the file has become shorter.  Several threads may do so at
 * once, and while others fill, take and claim. */
wf_error wf_source_read_at(wf_handle *handle, const struct wf_source *source, void *bytes, size_t nbytes,
                           int64_t offset, size_t *found);

/* Fewer and larger turns for both ends of a pipe; where the system allows no more, it stays as it is. */
void wf_pipe_widen(int descriptor);

static inline size_t wf_source_available(const struct wf_source *source) {
    return source->end - source->begin;
}

static inline unsigned char *wf_source_window(const struct wf_source *source) {
    return source->buffer + source->begin;
}

/* The offset of the window's first byte from where reading began. */
static inline int64_t wf_source_offset(const struct wf_source *source) {
    return source->nbytes_read - (int64_t)wf_source_available(source);
}

#endif
