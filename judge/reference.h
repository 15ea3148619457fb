/* What the output must be: exact values, and how far from them a computation in floats can be. */
#ifndef JUDGE_REFERENCE_H
#define JUDGE_REFERENCE_H

#include "buffers.h"

/* |computed - values[i]| <= gamma(k) * scales[i] + underflows * eta, gamma(k) = k u / (1 - k u), where no chain of rounded
 * operations that leads to the output is longer than k, and eta is the least float (docs/judge.md). */
struct expected {
    long double *values, *scales;
    uint64_t count;
    uint64_t roundings; /* the most that k can be */
    uint64_t underflows; /* products, quotients and exponentials that may be too small for a float; sums never are */
    bool is_additive; /* what was counted along the chains may take the place of `roundings` if it is less */
    bool is_polynomial; /* of integers so small that nothing is rounded the result is exact, whatever the
                           order */
};

/* SIMT_ERROR_ARGUMENT or _MEMORY: the message says why.  expected_clear in any case. */
simt_error expected_make(struct expected *expected, const struct judge_task *task, const struct scope *scope,
                         const struct buffers *buffers, simt_message *message);
void expected_clear(struct expected *expected);

/* Whether every element of the inputs is a whole number. */
bool inputs_are_whole(const struct judge_task *task, const struct buffers *buffers);
/* Whether none is an infinity or a NaN. */
bool inputs_are_finite(const struct judge_task *task, const struct buffers *buffers);

/* The output, of these bytes, reduced by the engine as the task says, or its element i. */
simt_error output_value(const struct judge_task *task, const void *bytes, uint64_t count, uint64_t i,
                        long double *value, simt_message *message);

#endif
