/* A few elements that lie side by side in host memory, whose reductions need no accumulator. */
#ifndef WF_CORE_FEW_H
#define WF_CORE_FEW_H

#include "core/small_finish.h"

#define WF_FEW 32

/* Their bits, moved up to the top of 64, where all floats have the sign and then the exponent field, and integers of all
 * types are ordered alike.  A bool is 0 or 1. */
struct wf_few {
    wf_type type;
    int count;
    uint64_t bits[WF_FEW];
};

/* False for any array but a contiguous one of 1 to 32 elements. */
bool wf_few_load(struct wf_few *few, const wf_array *array);

/* The exact sum; false if an element is infinite or NaN, or their exponents are too far apart (about 70 binades for f64,
 * 100 for f32). */
bool wf_few_sum(const struct wf_few *few, struct wf_small_sums *sums);

/* The same with the sum of their squares; false, too, if the elements do not fit in 61 bits in units of the last place of
 * the smallest exponent. */
bool wf_few_squares(const struct wf_few *few, struct wf_small_sums *sums);

struct wf_number wf_small_sum_number(const struct wf_small_sums *sums);

#endif
