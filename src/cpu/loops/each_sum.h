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
    struct target into = target_of(block, sum);
    struct kind kind = kind_of(sum);
    struct range range[TERMS_MAX] = {{0, 0}};
    struct window window;
    if (sum & PRODUCTS && (block->magnitudes[0].max == 0 || block->magnitudes[1].max == 0)) return;
    bool are_exact = ranges_of(sum, block->range, range);
    if (are_exact && make_window(&window, range, kind) &&
        !(is_wide(&window) && bins_take_both(block, sum))) { /* else a wide window for each */
        struct extracted extracted;
        extract_through(&extracted, block, &window, sum);
        for (int t = 0; t < kind.terms; t++) add_extracted(into.exact, &window, &extracted, t);
    } else if (sum != WF_PART_ABS ||
               !bins_take_both(block, sum)) { /* else the bins of values have taken it */
        kind.add_wide(into, source_of(block, sum == WF_PART_DOT));
    }
}

static void add_sums(struct block *block) {
    unsigned parts = block->into->parts;
    if (parts & WF_PART_SUM) add_sum(block, WF_PART_SUM);
    if (parts & WF_PART_ABS) add_sum(block, WF_PART_ABS);
    if (parts & WF_PART_SQUARES) add_sum(block, WF_PART_SQUARES);
    if (parts & WF_PART_DOT) add_sum(block, WF_PART_DOT);
}

#endif
