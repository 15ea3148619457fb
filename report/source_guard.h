/* Guards as the text of a kernel has them: whether they leave out what is outside, of two dimensions in both. */
#ifndef REPORT_SOURCE_GUARD_H
#define REPORT_SOURCE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who went beyond the end of an array, and at which line. */
struct guard_access {
    uint32_t line;
    const uint32_t *block, *thread, *block_extent; /* indices, and how large each block is */
    const char *argument;                          /* the array's name; NULL: it is not known */
    bool is_just_behind;                           /* its last element */
};

/* Whether a message of the simulator tells of an access just behind the last element. */
bool guard_is_just_behind(const char *message);

/* Says what is wrong with the guard, of two dimensions what the indices are, or which guard it takes; false: the text does not tell. */
bool guard_find_fault(const char *source, const struct guard_access *access, char *text, size_t nbytes);

#endif
