/* Fat binaries: PTX among the code for several GPUs that nvcc puts into a program. */
#ifndef PROGRAM_FATBIN_H
#define PROGRAM_FATBIN_H

#include <stddef.h>
#include <stdint.h>

enum fatbin_error {
    FATBIN_OK,
    FATBIN_EMPTY,      /* it holds nothing at all */
    FATBIN_DAMAGED,    /* it is no fat binary, or its parts do not fit into it */
    FATBIN_NO_PTX,     /* machine code alone, or PTX for newer GPUs alone */
    FATBIN_COMPRESSED, /* in a way that cannot be undone here */
    FATBIN_MEMORY
};

struct fatbin_ptx {
    char *text; /* NUL-terminated, to be freed with free() */
    size_t nbytes;
    uint32_t arch; /* 75 of compute_75 */
};

/* The PTX for the newest GPU that is not newer than `arch`.  Nothing beyond nbytes is read, whatever they say. */
enum fatbin_error fatbin_find_ptx(const void *bytes, size_t nbytes, uint32_t arch, struct fatbin_ptx *ptx);

/* What to do about it, in words: static. */
const char *fatbin_error_text(enum fatbin_error error);

#endif
