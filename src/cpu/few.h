/* The sum of a few floats, which needs no accumulator. */
#ifndef WF_CPU_FEW_H
#define WF_CPU_FEW_H

#include "core/number.h"

/* The exact sum of up to 32 floats that lie side by side in host memory, by integer arithmetic alone.  False, and no
 * sum, for any other array, and where one of them is infinite, NaN or subnormal, all are 0, or they lie too far apart:
 * some 70 binades for f64, 100 for f32. */
bool wf_few_sum(const wf_array *array, struct wf_number *sum);

#endif
