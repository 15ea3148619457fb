/* A reduction by groups that has been checked, as devices take it. */
#ifndef WF_CORE_GROUPED_H
#define WF_CORE_GROUPED_H

#include "core/accumulator.h"
#include "core/layout.h"

struct wf_grouped {
    const struct wf_accumulator *empty; /* the reduction, with nothing added */
    const wf_array *a, *b;              /* b: NULL except for pairs */
    const struct wf_layout *layout;
    const wf_groups *groups; /* the values of its labels have not been checked */
    bool skips_bad_keys;
    const wf_output *output;
    struct wf_shaped *into; /* the accumulator that groups are added to; NULL: results go to the output */
    wf_type result_type;
    bool has_fill; /* otherwise a group without a value is WF_ERROR_EMPTY */
    wf_value fill; /* of result_type */
};

/* The value of groups that have none: the reduction's fill, otherwise NaN; WF_ERROR_EMPTY if type has neither. */
wf_error wf_fill_value(wf_handle *handle, const wf_reduction *reduction, wf_type type, wf_value *value);

/* wf_reduce by groups; all elements are one where an output in device memory takes them as such.  The reduction, and that
 * the arrays and the output are there, has been checked. */
wf_error wf_reduce_groups(wf_handle *handle, const wf_reduction *reduction, const wf_array *a, const wf_array *b,
                          const wf_groups *groups, const wf_output *output);

#endif
