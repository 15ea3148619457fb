/* What a wrong result is instead of the right one, where its number tells. */
#ifndef JUDGE_HINTS_H
#define JUDGE_HINTS_H

#include "reference.h"

struct wrong_value {
    const struct judge_task *task;
    const struct scope *scope; /* with the block and the grid of the last launch */
    const struct buffers *buffers;
    const struct expected *expected;
    const unsigned char *result; /* the output's bytes */
    uint64_t element;            /* of the output, or 0 of all of them together */
    long double value, exact;
    bool is_whole; /* whole numbers all of them */
};

/* "; that is ...: do this"; unchanged if nothing is sure. */
void hint_at_cause(const struct wrong_value *wrong, char *text, size_t nbytes);

/* The first element of that value, or the first NaN; the buffer's count: there is none. */
uint64_t hint_find_element(wf_type type, const struct buffer *buffer, long double value);

#endif
