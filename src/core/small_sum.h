/* The sum of a few floats, which needs no accumulator. */
#ifndef WF_CORE_SMALL_SUM_H
#define WF_CORE_SMALL_SUM_H

#include "core/number.h"

/* Finds the exact sum of up to 32 contiguous floats in host memory by integer arithmetic alone.  Returns
 * false, and no sum, for any other array, and if an element is infinite, NaN or subnormal, all are 0, or
 * their exponents are too far apart (about 70 binades for f64, 100 for f32). */
bool wf_small_sum(const wf_array *array, struct wf_number *sum);

#endif
