/* The sums that a table's slots hold, rounded: loops/round_slots.c, compiled for each tier. */
#ifndef WF_CPU_ROUND_SLOTS_H
#define WF_CPU_ROUND_SLOTS_H

#include "cpu/block.h"

/* Of slots that follow one another, of one word for each level of the grid, of means at most two and one that counts
 * elements: as f64, or as f32, rounded once; a sum of zeros is +0, and a mean of no elements anything.  False, and nothing
 * of use written, if what some level adds up to is no f64, or what is divided is too small, large, or long. */
typedef bool wf_round_slots_function(const struct wf_grid *grid, const int64_t *word, size_t slots, bool are_means,
                                     bool to_f64, void *results);

/* What is asked for of slots that hold sums of squares on the second grid: 2-norms; or, if they count, with sums on the first,
 * variances or their roots. */
struct wf_slot_squares {
    const struct wf_grid *grid; /* two */
    bool counts, is_root, to_f64;
    int64_t ddof; /* at least 0, and less than 2^26 */
};

/* The results as f64, or as f32, rounded once; has_failed: where they are not known, as where there is no value. */
typedef void wf_round_squares_function(const struct wf_slot_squares *asked, const int64_t *word, size_t slots, void *results,
                                       bool *has_failed);

#endif
