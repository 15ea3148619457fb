/* The layout of a reduction by groups: where the elements of each group lie in memory, and in which order the
 * results come.  A pure function of the arrays and the groups, the same for every device. */
#ifndef WF_CORE_LAYOUT_H
#define WF_CORE_LAYOUT_H

#include "core/error.h"
#include "core/view.h"

struct wf_layout {
    wf_grouping by;
    int operands; /* 1, or 2 for pairs */
    /* The results, in C order. */
    int ndim;
    int64_t shape[WF_NDIM_MAX];
    int64_t count;
    int axis; /* the dimension of the results that counts segments or keys; -1: none */
    /* From a result's elements to those of its neighbour along each dimension, for each operand; 0 along axis. */
    int64_t stride_bytes[2][WF_NDIM_MAX];
    /* The dimensions that are reduced, of which there may be none.  Segments and keys select positions of the one
     * dimension that they have. */
    int reduced_ndim;
    int64_t reduced_shape[WF_NDIM_MAX];
    int64_t reduced_stride_bytes[2][WF_NDIM_MAX];
    int64_t reduced_count;
};

/* Lays out a, paired with b unless b is NULL; both have been checked (wf_array_check).  groups may be NULL.  Checks
 * everything but the values of the labels. */
wf_error wf_layout_make(wf_handle *handle, struct wf_layout *layout, const wf_array *a, const wf_array *b,
                        const wf_groups *groups);

/* Views the elements of one group, of which there is one at least, as those of the arrays that were laid out; of
 * segments and keys, the whole axis, whose stride is the view's first even if it has no dimension. */
void wf_layout_view(const struct wf_layout *layout, struct wf_view *view, const wf_array *a, const wf_array *b,
                    bool is_indexed);

/* The positions of the grouped axis: those that an accumulator counts on by. */
int64_t wf_layout_positions(const struct wf_layout *layout, const wf_array *a, const wf_groups *groups);

#endif
