/* A file, pipe or other stream, seen through a window of bytes that moves forward.  Reads are bounded; files
 * are never mapped, since a mapped file that shrinks kills the process. */
#ifndef WF_IO_SOURCE_H
#define WF_IO_SOURCE_H

#include <stdbool.h>
#include <sys/types.h>
#include "core/error.h"

/* The size of a read: large enough to hide the cost of the call, small enough to stay in the cache until
 * used. */
#define WF_SOURCE_NBYTES ((size_t)1 << 18)

struct wf_source {
    const char *name; /* for messages */
    unsigned char *buffer;
    size_t begin, end;    /* the window: bytes of buffer that are read but not taken */
    int64_t nbytes_read;  /* includes claimed bytes */
    int64_t nbytes_total; /* the size of a regular file from origin on; -1: unknown */
    int64_t origin;       /* the position in a regular file where reading began */
    bool needs_seek;      /* a claim has left the descriptor's position after nbytes_read */
    bool is_restricted;   /* the descriptor's file continues after nbytes_total */
    bool is_at_end;       /* no bytes follow the window */
    bool owns_descriptor;
    int descriptor;
    /* As read(2). */
    ssize_t (*read)(struct wf_source *source, void *bytes, size_t nbytes);
    void *decoder; /* of compressed bytes (io/decode.h), or NULL */
    void (*close_decoder)(void *decoder);
    char damage[128]; /* why reading failed, where the compressed bytes are at fault; otherwise "" */
};

/* Allocates the buffer, which is reused for every file. */
wf_error wf_source_create(wf_handle *handle, struct wf_source *source);
void wf_source_destroy(struct wf_source *source);

/* The name for messages: "standard input" for "-", and the end of a very long path.  Valid as long as
 * path. */
const char *wf_source_name(const char *path);

/* The number of bytes to read; -1 if it is not known in advance.  The path "-" is standard input. */
int64_t wf_source_measure(const char *path);

wf_error wf_source_open(wf_handle *handle, struct wf_source *source, const char *path);
void wf_source_close(struct wf_source *source);

/* Whether the path is that of a regular file, or of a member of one, which can be opened again and again. */
bool wf_source_is_repeatable(const char *path);

/* Has a regular file, whatever was read of it, be only nbytes of it from offset on. */
void wf_source_restrict(struct wf_source *source, int64_t offset, int64_t nbytes);

/* Reads until the window has nbytes (at most WF_SOURCE_NBYTES) or the source ends.  The window may move
 * inside the buffer. */
wf_error wf_source_fill(wf_handle *handle, struct wf_source *source, size_t nbytes);

/* Moves the next nbytes, or all up to the end, to bytes. */
wf_error wf_source_take(wf_handle *handle, struct wf_source *source, void *bytes, size_t nbytes,
                        size_t *taken);

/* The bytes of a regular file that can still be claimed; 0 if its size is unknown. */
int64_t wf_source_claimable(const struct wf_source *source);

/* Skips the next nbytes, which must be claimable, and returns their offset for wf_source_read_at. */
int64_t wf_source_claim(struct wf_source *source, size_t nbytes);

/* Reads claimed bytes; *found is less than nbytes if the file has shrunk.  Several threads may do this at
 * once, and while others fill, take and claim. */
wf_error wf_source_read_at(wf_handle *handle, const struct wf_source *source, void *bytes, size_t nbytes,
                           int64_t offset, size_t *found);

/* Enlarges a pipe's buffer, so that its two ends switch less often.  Failure is ignored: the pipe still
 * works. */
void wf_pipe_widen(int descriptor);

static inline size_t wf_source_available(const struct wf_source *source) {
    return source->end - source->begin;
}

static inline unsigned char *wf_source_window(const struct wf_source *source) {
    return source->buffer + source->begin;
}

/* The offset of the window's first byte, counted from where reading began. */
static inline int64_t wf_source_offset(const struct wf_source *source) {
    return source->nbytes_read - (int64_t)wf_source_available(source);
}

/* The length of the archive's path in "folder/file.npz:member"; 0: it is no such path. */
size_t wf_source_archive_length(const char *path);

#endif
