/* A tier: the loops (src/cpu/loops/) compiled for one instruction set.  CMakeLists.txt lists the tiers and
 * their compiler flags; what differs between their instructions is in loops/vector_TIER.h. */
#ifndef WF_CPU_TIER_H
#define WF_CPU_TIER_H

#include "core/strided.h"
#include "core/types.h"
#include "cpu/block.h"
#include "cpu/bounded.h"
#include "cpu/dots.h"
#include "cpu/left_out.h"
#include "cpu/minmax.h"
#include "cpu/round_slots.h"

#define WF_EXACT_ROWS_MAX 1024 /* of sums and means of floats, by find_few_rows, if the tier tells_exact */

struct wf_tier {
    const char *name;
    wf_block_function *add_block[WF_TYPE_COUNT];
    wf_run_function *add_run[WF_TYPE_COUNT]; /* NULL: the type has none */
    wf_columns_function *add_columns[WF_TYPE_COUNT];
    /* NULL: the type has none */
    wf_clean_columns_function *clean_columns[WF_TYPE_COUNT];
    wf_leave_out_nans_function *leave_out_nans[WF_TYPE_COUNT];
    wf_copy_rows_function *copy_rows[WF_TYPE_COUNT];
    wf_fill_segments_function *fill_segments[WF_TYPE_COUNT];
    wf_results_function *find_results[WF_TYPE_COUNT];
    wf_totals_function *find_totals[WF_TYPE_COUNT];
    wf_panel_minmax_function *find_panel_minmax[WF_TYPE_COUNT];
    wf_row_minmax_function *find_row_minmax[WF_TYPE_COUNT];
    wf_few_rows_function *find_few_rows[WF_TYPE_COUNT];
    wf_column_bounds_function *bound_columns[WF_TYPE_COUNT]; /* NULL: the type has none */
    wf_row_results_function *find_row_results[WF_TYPE_COUNT];
    wf_row_totals_function *find_row_totals[WF_TYPE_COUNT];
    wf_row_quotients_function *find_row_quotients[WF_TYPE_COUNT]; /* NULL: the type has none */
    wf_exact_rows_function *find_exact_rows[WF_TYPE_COUNT];       /* likewise; of use where the tier tells_exact */
    wf_row_dots_function *find_row_dots[WF_TYPE_COUNT];
    wf_column_dots_function *find_column_dots[WF_TYPE_COUNT]; /* NULL: the type has none */
    /* NULL: the type has none */
    wf_sum_panel_function *sum_panel[WF_TYPE_COUNT];
    wf_panel_results_function *find_panel_results[WF_TYPE_COUNT];
    wf_panel_totals_function *find_panel_totals[WF_TYPE_COUNT];
    wf_split_function *split[WF_TYPE_COUNT];
    wf_split_products_function *split_products[WF_TYPE_COUNT];
    wf_slots_function *add_to_slots[WF_TYPE_COUNT]; /* NULL: the type has none */
    wf_add_bounded_function *add_bounded[WF_TYPE_COUNT];
    wf_join_bounded_function *join_bounded[WF_TYPE_COUNT];
    wf_round_bounded_function *round_bounded[WF_TYPE_COUNT];
    wf_copy_strided_function *copy_strided;
    wf_round_slots_function *round_slots;
    wf_round_squares_function *round_squares;
    bool tells_exact; /* that sums of floats have not rounded, which costs nothing */
};

/* The tiers that the build may have: scalar is always there. */
extern const struct wf_tier wf_tier_scalar, wf_tier_avx2, wf_tier_avx512, wf_tier_neon;

/* The tier of this name, or, if name is NULL, the fastest one that this processor supports.  Returns NULL if
 * there is no such tier or the processor does not support it. */
const struct wf_tier *wf_tier_choose(const char *name);

#endif
