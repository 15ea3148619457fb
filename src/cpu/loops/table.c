/* A tier's table of loops: compiled for each tier. */
#include "cpu/tier.h"

#define TIER_STRUCT_(tier) wf_tier_##tier
#define TIER_STRUCT(tier) TIER_STRUCT_(tier)
#define TIER_NAME_(tier) #tier
#define TIER_NAME(tier) TIER_NAME_(tier)

#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    wf_block_function WF_LOOPS_NAME(add_block, NAME, TIER);                                                  \
    wf_run_function WF_LOOPS_NAME(add_run, NAME, TIER);                                                      \
    wf_columns_function WF_LOOPS_NAME(add_columns, NAME, TIER);                                              \
    wf_results_function WF_LOOPS_NAME(find_results, NAME, TIER);                                             \
    wf_totals_function WF_LOOPS_NAME(find_totals, NAME, TIER);                                               \
    wf_panel_minmax_function WF_LOOPS_NAME(find_panel_minmax, NAME, TIER);                                   \
    wf_row_minmax_function WF_LOOPS_NAME(find_row_minmax, NAME, TIER);                                       \
    wf_row_results_function WF_LOOPS_NAME(find_row_results, NAME, TIER);                                     \
    wf_row_totals_function WF_LOOPS_NAME(find_row_totals, NAME, TIER);                                       \
    wf_sum_panel_function WF_LOOPS_NAME(sum_panel, NAME, TIER);                                              \
    wf_panel_results_function WF_LOOPS_NAME(find_panel_results, NAME, TIER);                                 \
    wf_panel_totals_function WF_LOOPS_NAME(find_panel_totals, NAME, TIER);                                   \
    wf_few_rows_function WF_LOOPS_NAME(find_few_rows, NAME, TIER);                                           \
    wf_split_function WF_LOOPS_NAME(split, NAME, TIER);                                                      \
    wf_slots_function WF_LOOPS_NAME(add_to_slots, NAME, TIER);
WF_TYPES(X)
#undef X

/* Only floats have these. */
#define OF_FLOAT(verb, NAME) [WF_##NAME] = WF_LOOPS_NAME(verb, NAME, TIER),
#define OF_SIGNED(verb, NAME)
#define OF_UNSIGNED(verb, NAME)

const struct wf_tier TIER_STRUCT(TIER) = {
    .name = TIER_NAME(TIER),
    .add_block =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(add_block, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .add_columns =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(add_columns, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .find_results =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(find_results, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .find_totals =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(find_totals, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .find_panel_minmax =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(find_panel_minmax, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .find_row_minmax =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(find_row_minmax, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .split =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(split, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .add_run =
        {
#define X(NAME, name, type, kind, precision, exponent_bits) OF_##kind(add_run, NAME)
            WF_TYPES(X)
#undef X
        },
    .find_row_results =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(find_row_results, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .find_row_totals =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(find_row_totals, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .sum_panel =
        {
#define X(NAME, name, type, kind, precision, exponent_bits) OF_##kind(sum_panel, NAME)
            WF_TYPES(X)
#undef X
        },
    .find_panel_results =
        {
#define X(NAME, name, type, kind, precision, exponent_bits) OF_##kind(find_panel_results, NAME)
            WF_TYPES(X)
#undef X
        },
    .find_panel_totals =
        {
#define X(NAME, name, type, kind, precision, exponent_bits) OF_##kind(find_panel_totals, NAME)
            WF_TYPES(X)
#undef X
        },
    .find_few_rows =
        {
#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    [WF_##NAME] = WF_LOOPS_NAME(find_few_rows, NAME, TIER),
            WF_TYPES(X)
#undef X
        },
    .add_to_slots =
        {
#define X(NAME, name, type, kind, precision, exponent_bits) OF_##kind(add_to_slots, NAME)
            WF_TYPES(X)
#undef X
        },
};
