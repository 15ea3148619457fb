/* A tier's table of loops: compiled for each tier. */
#define TYPE F64 /* what the vectors hold */
#include "cpu/tier.h"
#include "cpu/loops/vector.h"

#define TIER_STRUCT_(tier) wf_tier_##tier
#define TIER_STRUCT(tier) TIER_STRUCT_(tier)
#define TIER_NAME_(tier) #tier
#define TIER_NAME(tier) TIER_NAME_(tier)

#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    wf_block_function WF_LOOPS_NAME(add_block, NAME, TIER);                                                  \
    wf_run_function WF_LOOPS_NAME(add_run, NAME, TIER);                                                      \
    wf_columns_function WF_LOOPS_NAME(add_columns, NAME, TIER);                                              \
    wf_clean_columns_function WF_LOOPS_NAME(clean_columns, NAME, TIER);                                      \
    wf_leave_out_nans_function WF_LOOPS_NAME(leave_out_nans, NAME, TIER);                                    \
    wf_copy_rows_function WF_LOOPS_NAME(copy_rows, NAME, TIER);                                              \
    wf_fill_segments_function WF_LOOPS_NAME(fill_segments, NAME, TIER);                                      \
    wf_results_function WF_LOOPS_NAME(find_results, NAME, TIER);                                             \
    wf_totals_function WF_LOOPS_NAME(find_totals, NAME, TIER);                                               \
    wf_panel_minmax_function WF_LOOPS_NAME(find_panel_minmax, NAME, TIER);                                   \
    wf_row_minmax_function WF_LOOPS_NAME(find_row_minmax, NAME, TIER);                                       \
    wf_column_bounds_function WF_LOOPS_NAME(bound_columns, NAME, TIER);                                      \
    wf_row_results_function WF_LOOPS_NAME(find_row_results, NAME, TIER);                                     \
    wf_row_totals_function WF_LOOPS_NAME(find_row_totals, NAME, TIER);                                       \
    wf_row_quotients_function WF_LOOPS_NAME(find_row_quotients, NAME, TIER);                                 \
    wf_exact_rows_function WF_LOOPS_NAME(find_exact_rows, NAME, TIER);                                       \
    wf_row_dots_function WF_LOOPS_NAME(find_row_dots, NAME, TIER);                                           \
    wf_column_dots_function WF_LOOPS_NAME(find_column_dots, NAME, TIER);                                     \
    wf_sum_panel_function WF_LOOPS_NAME(sum_panel, NAME, TIER);                                              \
    wf_panel_results_function WF_LOOPS_NAME(find_panel_results, NAME, TIER);                                 \
    wf_panel_totals_function WF_LOOPS_NAME(find_panel_totals, NAME, TIER);                                   \
    wf_few_rows_function WF_LOOPS_NAME(find_few_rows, NAME, TIER);                                           \
    wf_split_function WF_LOOPS_NAME(split, NAME, TIER);                                                      \
    wf_split_products_function WF_LOOPS_NAME(split_products, NAME, TIER);                                    \
    wf_slots_function WF_LOOPS_NAME(add_to_slots, NAME, TIER);                                               \
    wf_add_bounded_function WF_LOOPS_NAME(add_bounded, NAME, TIER);                                          \
    wf_join_bounded_function WF_LOOPS_NAME(join_bounded, NAME, TIER);                                        \
    wf_round_bounded_function WF_LOOPS_NAME(round_bounded, NAME, TIER);
WF_TYPES(X)
#undef X

#define COPY_STRIDED_(tier) wf_copy_strided_##tier
#define COPY_STRIDED(tier) COPY_STRIDED_(tier)
wf_copy_strided_function COPY_STRIDED(TIER);

#define ROUND_SLOTS_(tier) wf_round_slots_##tier
#define ROUND_SLOTS(tier) ROUND_SLOTS_(tier)
wf_round_slots_function ROUND_SLOTS(TIER);

#define ROUND_SQUARES_(tier) wf_round_squares_##tier
#define ROUND_SQUARES(tier) ROUND_SQUARES_(tier)
wf_round_squares_function ROUND_SQUARES(TIER);

#define EACH(loop, NAME) .loop[WF_##NAME] = WF_LOOPS_NAME(loop, NAME, TIER),
/* What only floats have. */
#define OF_FLOAT(loop, NAME) EACH(loop, NAME)
#define OF_SIGNED(loop, NAME)
#define OF_UNSIGNED(loop, NAME)
/* What only integers have. */
#define INTEGER_FLOAT(loop, NAME)
#define INTEGER_SIGNED(loop, NAME) EACH(loop, NAME)
#define INTEGER_UNSIGNED(loop, NAME) EACH(loop, NAME)

const struct wf_tier TIER_STRUCT(TIER) = {
    .name = TIER_NAME(TIER),
    .copy_strided = COPY_STRIDED(TIER),
    .round_slots = ROUND_SLOTS(TIER),
    .round_squares = ROUND_SQUARES(TIER),
    .tells_exact = NOTES_ROUNDING,
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    EACH(add_block, NAME)                                                                                    \
    EACH(add_columns, NAME)                                                                                  \
    OF_##kind(clean_columns, NAME)                                                                           \
    OF_##kind(leave_out_nans, NAME)                                                                          \
    OF_##kind(copy_rows, NAME)                                                                               \
    EACH(fill_segments, NAME)                                                                                \
    EACH(find_results, NAME)                                                                                 \
    EACH(find_totals, NAME)                                                                                  \
    EACH(find_panel_minmax, NAME)                                                                            \
    EACH(find_row_minmax, NAME)                                                                              \
    EACH(split, NAME)                                                                                        \
    EACH(split_products, NAME)                                                                               \
    OF_##kind(bound_columns, NAME)                                                                           \
    OF_##kind(add_run, NAME)                                                                                 \
    EACH(find_row_results, NAME)                                                                             \
    EACH(find_row_totals, NAME)                                                                              \
    OF_##kind(find_row_quotients, NAME)                                                                      \
    OF_##kind(find_exact_rows, NAME)                                                                         \
    EACH(find_row_dots, NAME)                                                                                \
    INTEGER_##kind(find_column_dots, NAME)                                                                   \
    OF_##kind(sum_panel, NAME)                                                                               \
    OF_##kind(find_panel_results, NAME)                                                                      \
    OF_##kind(find_panel_totals, NAME)                                                                       \
    EACH(find_few_rows, NAME)                                                                                \
    OF_##kind(add_to_slots, NAME)                                                                            \
    OF_##kind(add_bounded, NAME)                                                                             \
    OF_##kind(join_bounded, NAME)                                                                            \
    OF_##kind(round_bounded, NAME)
    WF_TYPES(X)
#undef X
};
