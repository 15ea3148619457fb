/* Exponent bins: they take values whose exponents no window covers (the large superaccumulator of R. Neal,
 * "Fast exact summation using small and large superaccumulators", 2015, section 4, but with several exponents to a bin).
 *
 * A bin is an integer, to which the significands of some exponents in a row are added, each shifted to its place.  So
 * there are few bins: they stay in the first-level cache, and clearing and flushing them costs as much as a few hundred
 * elements.  There are several sets of them, used in turn, so that neighbouring elements do not wait for each other.
 * Where there are many values, shifting them would cost more than flushing many bins: then each exponent has its own. */
#ifndef WF_CPU_BINS_H
#define WF_CPU_BINS_H

#include "core/exact.h"

/* The number of elements that are decoded, and then added, at a time: few enough for them and the bins to
 * stay in the first-level cache. */
#define WF_BINS_ROUND 112

/* The words of all sets together. */
#define WF_BINS_WORDS 4096

struct wf_bins_format {
    int step_log2; /* a bin takes 2^step_log2 exponents */
    int words;     /* of 64 bits, in a bin; 0: there are no bins, and they are not initialised */
    int count;     /* of the bins of one sign in a set */
    int signs;     /* 1: nothing negative is added */
    int sets;
    int taken_max; /* the number of elements that are sure to leave room in every bin, and in sums over the sets; but
                    * bins of fields of f64 are looked at now and then */
};

/* One bin for each sign and exponent field of a type, in one word; in as many sets as fit. */
static inline struct wf_bins_format wf_bins_of_fields(int exponent_bits) {
    const int count = 1 << exponent_bits;
    return (struct wf_bins_format){0, 1, count, 2, 8 * count <= WF_BINS_WORDS ? 4 : 1, 1 << 30};
}

/* Likewise one for each sign and exponent field of a narrow type, but of a value and its square: a word for either, the square's
 * of fewer than 2^16 elements. */
static inline struct wf_bins_format wf_bins_of_powers(int exponent_bits) {
    return (struct wf_bins_format){0, 2, 1 << exponent_bits, 2, 2, (1 << 16) - 1};
}

/* Bin k of the positive numbers holds a multiple of 2^(k << step_log2) of the exact sum's units; those of the negative
 * numbers follow. */
struct wf_bins {
    struct wf_bins_format format;
    int64_t taken; /* the number of elements added since the bins were last empty */
    int64_t unseen; /* of these, those since the bins were last looked at */
    bool are_many; /* enough values have been added for others to go to bins of single exponents */
    _Alignas(16) uint64_t word[WF_BINS_WORDS];
};

/* Prepares unused bins; those in use are of this format. */
void wf_bins_use(struct wf_bins *bins, struct wf_bins_format format);

/* Whether `count` bins are all empty. */
static inline bool wf_bins_are_empty(const struct wf_bins *bins, int count) {
    int used = 0;
    for (int i = 0; i < count; i++) used |= bins[i].format.words;
    return !used;
}

/* Moves bins of values and squares into their sums, those of values, magnitudes or both unless NULL; leaves them unused. */
void wf_bins_flush_powers(struct wf_bins *bins, const struct wf_exact *values, const struct wf_exact *magnitudes,
                           const struct wf_exact *squares);

/* Moves bins of fields in one set into the exact sum and, if that is not NULL, into the sum of magnitudes; leaves them in
 * use, and empty.  Only those that hold anything cost. */
void wf_bins_empty_fields(struct wf_bins *bins, const struct wf_exact *into, const struct wf_exact *magnitudes);

/* Moves all bins into the exact sum and, if that is not NULL, into the sum of magnitudes; leaves them unused. */
void wf_bins_flush(struct wf_bins *bins, const struct wf_exact *into, const struct wf_exact *magnitudes);

#endif
