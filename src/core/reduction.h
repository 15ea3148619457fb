/* What callers ask for: the checks of reductions and their operands, and how one begins. */
#ifndef WF_CORE_REDUCTION_H
#define WF_CORE_REDUCTION_H

#include "core/accumulator.h"

/* Whether the reduction is one, apart from its op. */
wf_error wf_reduction_check(wf_handle *handle, const wf_reduction *reduction);

/* Checks the reduction and makes acc one of no elements of the type.  tree: as wf_accumulator_init takes it. */
wf_error wf_reduction_begin(wf_handle *handle, struct wf_accumulator *acc, const wf_reduction *reduction, wf_type type,
                            struct wf_tree *tree);

/* Checks that acc takes the arrays, and sets *count to their number of elements.  b: NULL if the op takes
 * one. */
wf_error wf_check_operands(wf_handle *handle, const struct wf_accumulator *acc, const wf_array *a, const wf_array *b,
                           int64_t *count);

/* Whether that many more elements can be counted. */
wf_error wf_check_total_count(wf_handle *handle, const struct wf_accumulator *acc, int64_t count);

#endif
