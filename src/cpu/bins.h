/* Exponent bins: what takes f64 values whose exponents no window covers (the large superaccumulator of
 * R. Neal, "Fast exact summation using small and large superaccumulators", 2015, section 4).
 *
 * One 64-bit bin for each sign and exponent field, to which significands are added as integers.  A bin holds
 * less than 2^63 when a round of WF_BINS_ROUND additions begins, so that it cannot overflow within. */
#ifndef WF_CPU_BINS_H
#define WF_CPU_BINS_H

#include "core/exact.h"

#define WF_BINS_COUNT 4096
#define WF_BINS_ROUND 1024

struct wf_bins {
    bool used; /* otherwise bin is not initialised */
    uint64_t bin[WF_BINS_COUNT];
};

/* Moves all bins into the exact sum and leaves them unused. */
void wf_bins_flush(struct wf_bins *bins, struct wf_exact *into);

#endif
