/* Sums of floats by key, of any range, which may lack something: loops/float_tables.c, compiled for each tier and type. */
#ifndef WF_CPU_BOUNDED_H
#define WF_CPU_BOUNDED_H

#include "core/types.h"
#include "cpu/block.h"

#include <math.h>

/* A slot has four f64 for values, magnitudes or products, or for squares, or both, values first: the sum, what its additions
 * have lost, and, of what is rounded as it is, what these additions have lost and a bound of what all three lack; of means and
 * squares a bound of what both lack (of squares, only of what was too small to be added) and how many elements there were. */
enum { WF_BOUNDED_WORDS = 4 };

struct wf_bounded_slots {
    double *word;              /* [copies][slots][words] */
    int64_t last;              /* slot, to which NaNs go that are left out */
    size_t copies, copy_words; /* one, or four, which neighbouring elements go to by turns */
    bool joins_equal;          /* where four keys are equal, their elements are added up first */
};

/* What is asked for. */
struct wf_bounded {
    unsigned parts; /* WF_PART_SUM, ABS, DOT, SQUARES, or SUM and SQUARES */
    wf_nan nan;
    bool is_mean, is_root;
    int shift; /* f64, or the products of pairs, are multiplied by 2^-shift first */
    double ddof;
};

static inline size_t wf_bounded_words(unsigned parts) {
    return parts == (WF_PART_SUM | WF_PART_SQUARES) ? 2 * WF_BOUNDED_WORDS : WF_BOUNDED_WORDS;
}

/* Makes slots those of no elements: a sum of -0, which keeps the sign of what is added, and lost -0, which nothing that is added
 * leaves. */
static inline void wf_bounded_clear(double *word, size_t words) {
    for (size_t i = 0; i < words; i++) word[i] = i % WF_BOUNDED_WORDS < 2 ? -0.0 : 0;
}

static inline bool wf_bounded_is_empty(const double *slot) {
    return slot[1] == 0 && signbit(slot[1]);
}

/* Adds at most WF_UNITS_MAX elements, or pairs, to the slots of their keys; of these WF_KEYS_AHEAD more can be read. */
typedef void wf_add_bounded_function(const struct wf_bounded_slots *slots, const struct wf_bounded *asked, const void *x,
                                     const void *y, const int64_t *key, size_t count);

/* Adds slots to as many others. */
typedef void wf_join_bounded_function(const struct wf_bounded *asked, double *into, const double *from, size_t words);

/* The results of slots that follow one another, in the elements' type; has_failed: of each, whether its sums do not decide
 * it, or whether it may have no value. */
typedef void wf_round_bounded_function(const struct wf_bounded *asked, const double *word, size_t slots, void *results,
                                       bool *has_failed);

#endif
