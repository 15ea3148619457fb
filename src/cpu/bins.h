/* Exponent bins: what takes values whose exponents no window covers (the large superaccumulator of R. Neal, "Fast
 * exact summation using small and large superaccumulators", 2015, section 4).
 *
 * One 64-bit bin for each sign and exponent field of a float type, to which significands are added as integers.
 * Types with few exponents have several sets of bins, so that neighbours do not wait for each other's. */
#ifndef WF_CPU_BINS_H
#define WF_CPU_BINS_H

#include "core/exact.h"

#define WF_BINS_COUNT 4096

/* So many elements are decoded, and then added, at a time: few enough for the first-level cache to hold them
 * beside the bins, and for bins of f64 that are below 2^63 not to overflow. */
#define WF_BINS_ROUND 256

struct wf_bins {
    wf_type type;   /* of what is in the bins; WF_TYPE_DEFAULT: nothing is, and they are not initialised */
    uint64_t taken; /* how many elements they have taken */
    uint64_t bin[WF_BINS_COUNT];
};

/* Makes bins ready for values of a type, flushing what is there of another. */
void wf_bins_use(struct wf_bins *bins, wf_type type, struct wf_exact *into);

/* Moves all bins into the exact sum and leaves them empty. */
void wf_bins_flush(struct wf_bins *bins, struct wf_exact *into);

#endif
