/* Exponent bins: they take values whose exponents no window covers (the large superaccumulator of R. Neal,
 * "Fast exact summation using small and large superaccumulators", 2015, section 4).
 *
 * There is one 64-bit bin for each sign and exponent field of a float type, to which significands are added
 * as integers. Types with few exponents have several sets of bins, so that neighbouring elements do not wait
 * for each other. */
#ifndef WF_CPU_BINS_H
#define WF_CPU_BINS_H

#include "core/exact.h"

#define WF_BINS_COUNT 4096

/* The number of elements that are decoded, and then added, at a time: few enough for them and the bins to
 * stay in the first-level cache, and for bins of f64 that are less than 2^63 not to overflow. */
#define WF_BINS_ROUND 256

/* The float type whose elements are in the bins; of their products, a type with an exponent of one bit more.
 */
struct wf_bins_format {
    int exponent_bits; /* 0: none, and the bins are not initialised */
    int low_exponent;  /* every element is a multiple of 2^low_exponent */
};

struct wf_bins {
    struct wf_bins_format format;
    uint64_t taken; /* the number of elements added since the bins were last empty */
    uint64_t bin[WF_BINS_COUNT];
};

/* The bins of one set: one for each sign and exponent field. */
static inline size_t wf_bins_per_set(struct wf_bins_format format) {
    return (size_t)2 << format.exponent_bits;
}

/* The sets of bins that elements are added to in turn: one for f64, four for all narrower types. */
static inline size_t wf_bins_sets(struct wf_bins_format format) {
    enum { SETS_MAX = 4 };
    return SETS_MAX * wf_bins_per_set(format) <= WF_BINS_COUNT ? SETS_MAX : 1;
}

/* Prepares unused bins for values of a format. */
void wf_bins_use(struct wf_bins *bins, struct wf_bins_format format);

/* Whether none of so many bins holds anything. */
static inline bool wf_bins_are_empty(const struct wf_bins *bins, int count) {
    int used = 0;
    for (int i = 0; i < count; i++) used |= bins[i].format.exponent_bits;
    return !used;
}

/* Moves all bins into the exact sum and, if that is not NULL, into the sum of magnitudes; leaves them unused.
 */
void wf_bins_flush(struct wf_bins *bins, const struct wf_exact *into, const struct wf_exact *magnitudes);

/* The same for products of f64, of 106 bits: a bin of 128 bits for each sign and sum of two exponent fields,
 * of which that of subnormals counts as 1. */
enum { WF_WIDE_BINS_SIGN = 1 << 12, WF_WIDE_BINS_COUNT = 2 * WF_WIDE_BINS_SIGN };

struct wf_wide_bins {
    bool in_use;   /* false: the bins are not initialised */
    int64_t taken; /* the number of products added since the bins were last empty */
    wf_u128 bin[WF_WIDE_BINS_COUNT];
};

/* Makes ready for so many products. */
void wf_wide_bins_use(struct wf_wide_bins *bins, size_t count, const struct wf_exact *into);

void wf_wide_bins_flush(struct wf_wide_bins *bins, const struct wf_exact *into);

#endif
