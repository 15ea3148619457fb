/* The sums of a block that could not be added in one pass, one by one. */
#ifndef WF_CPU_LOOPS_EACH_SUM_H
#define WF_CPU_LOOPS_EACH_SUM_H

#include "cpu/loops/sums.h"

/* Whether bins of values are there for the sum of this block's magnitudes, too. */
static bool bins_take_both(const struct block *block, unsigned sum) {
    const unsigned both = WF_PART_SUM | WF_PART_ABS;
    return sum & both && (block->into->parts & both) == both &&
           are_for_bins(block->source, target_of(block, WF_PART_SUM));
}

/* Adds one of the sums of a block that has been scanned and is finite. */
INLINE void add_sum(struct block *block, unsigned sum) {
    struct window window;
    if (sum & PRODUCTS && (block->magnitudes[0].max == 0 || block->magnitudes[1].max == 0)) return;
    bool has_window = find_window(&window, sum, block->range);
    if (has_window && is_scaled(&window))
        add_scaled(block, &window, sum);
    else if (has_window && !(is_wide(&window) && bins_take_both(block, sum))) /* else a wide window for each */
        add_surely(block, &window, sum);
    else if (sum != WF_PART_ABS || !bins_take_both(block, sum)) /* else the bins of values have taken it */
        kind_of(sum).add_wide(target_of(block, sum), source_of(block, sum == WF_PART_DOT));
}

/* Whether squares, together with values, go to bins of both: where squares have no window that takes less. */
static bool are_for_powers(const struct block *block) {
    unsigned parts = block->into->parts;
    struct target target = target_of_powers(block);
    struct window window;
    if (!has_powers(parts & SUMS) || !target.bins) return false;
    if (block->source.count < MANY_FOR_POWERS && !target.bins->format.words) return false;
    return !find_window(&window, WF_PART_SQUARES, block->range) || is_wide(&window);
}

static void add_sums(struct block *block) {
    unsigned parts = block->into->parts;
    if (are_for_powers(block)) {
        add_powers(target_of_powers(block), source_of(block, false));
        return;
    }
    if (parts & WF_PART_SUM) add_sum(block, WF_PART_SUM);
    if (parts & WF_PART_ABS) add_sum(block, WF_PART_ABS);
    if (parts & WF_PART_SQUARES) add_sum(block, WF_PART_SQUARES);
    if (parts & WF_PART_DOT) add_sum(block, WF_PART_DOT);
}

#endif
