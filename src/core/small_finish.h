/* Means and variances whose exact sums fit in 128 bits, without the long numbers of finish.c. */
#ifndef WF_CORE_SMALL_FINISH_H
#define WF_CORE_SMALL_FINISH_H

#include "core/number.h"

/* The exact sums of count elements, none of them an infinity or a NaN. */
struct wf_small_sums {
    wf_i128 sum, squares; /* times 2^exponent */
    int32_t sum_exponent, squares_exponent;
    bool is_minus_zero; /* the sum, where it is 0 */
    int64_t count;
};

/* The mean, the variance, its root, or the root of the squares' sum (op: WF_MEAN, WF_VAR, WF_STD, WF_NORM2); false if there
 * is none, or if 128 bits are too few. */
bool wf_small_finish(wf_op op, const struct wf_small_sums *sums, int64_t ddof, struct wf_number *number);

#endif
