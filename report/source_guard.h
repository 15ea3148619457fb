/* Guards of two dimensions, as the text of a kernel has them: whether they leave out what is outside in one of the two. */
#ifndef REPORT_SOURCE_GUARD_H
#define REPORT_SOURCE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who went beyond the end of an array, and at which line. */
struct guard_access {
    uint32_t line;
    const uint32_t *block, *thread, *block_extent; /* indices, and how large each block is */
};

/* Says what is wrong with the guard, and what the indices are there; false: nothing that the text shows. */
bool guard_find_fault(const char *source, const struct guard_access *access, char *text, size_t nbytes);

#endif
