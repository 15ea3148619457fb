/* The reductions of a few elements, which need no accumulator. */
#ifndef WF_CORE_SMALL_SUM_H
#define WF_CORE_SMALL_SUM_H

#include "core/number.h"

/* Finds the exact sum of up to 32 contiguous floats in host memory by integer arithmetic alone.  Returns
 * false, and no sum, for any other array, and if an element is infinite or NaN, or their exponents are too far
 * apart (about 70 binades for f64, 100 for f32). */
bool wf_small_sum(const wf_array *array, struct wf_number *sum);

/* The value of a reduction of up to 32 contiguous elements in host memory: false, and no value, where it must be found
 * another way, as of NaNs, or where there is none. */
bool wf_small_value(const wf_reduction *reduction, const wf_array *array, wf_value *value);

#endif
