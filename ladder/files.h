/* The ladder's files, embedded: kernels, what they include, the wrong ones, and the committed PTX.  The table is
 * made by packaging/embed.cmake. */
#ifndef LADDER_FILES_H
#define LADDER_FILES_H

#include <stddef.h>

struct ladder_file {
    const char *path; /* within ladder/: "06_sequential.cu", "wrong/...", "ptx/..." */
    const char *text; /* NUL-terminated */
    size_t nbytes;    /* without the NUL */
};

/* Sorted by path, as strcmp does. */
extern const struct ladder_file ladder_files[];
extern const size_t ladder_file_count;

#endif
