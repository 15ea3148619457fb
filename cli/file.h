/* Files that the command reads as text, and those that it writes: whole, or as they were. */
#ifndef CLI_FILE_H
#define CLI_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct file_piece {
    const void *data;
    size_t nbytes;
};

/* The file's text, NUL-terminated, or up to and with a NUL if it has one (which *nbytes counts); the caller's,
 * to be freed.  NULL, with errno set: it cannot be read. */
char *file_read(const char *path, size_t *nbytes);

/* Writes the pieces, one after another.  false, with errno set: what the path held is still there. */
bool file_write(const char *path, const struct file_piece *pieces, size_t count);

#endif
