/* Reductions by groups on a GPU. */
#ifndef WF_CUDA_GROUPS_H
#define WF_CUDA_GROUPS_H

#include "core/grouped.h"
#include "cuda/cuda.h"
#include "cuda/group_arguments.h"

/* Reduces arrays in the GPU's memory, or in the host's; the output and the labels may be in either. */
wf_error wf_cuda_reduce_groups(wf_handle *handle, const struct wf_grouped *grouped);

/* The same through host memory, by the CPU: of what the GPU does not do, and for the message of what failed. */
wf_error wf_cuda_reduce_groups_on_host(wf_handle *handle, const struct wf_grouped *grouped);

/* Adds them to an accumulator with a shape. */
wf_error wf_cuda_add_groups(wf_handle *handle, const struct wf_grouped *grouped);

/* Writes results, packed in C order, to an output in the GPU's memory, and its status; results NULL: the status alone. */
wf_error wf_cuda_send_results(wf_handle *handle, const wf_output *output, const void *results, wf_error status);

/* What is done with the slots of a slice of the results, which are in the stream's order: a slot's result is a number in
 * C order, counted from result `first`. */
struct wf_cuda_slots_user {
    wf_error (*take)(wf_handle *handle, void *data, const struct wf_group_arguments *slice, int64_t first);
    void *data;
    int64_t slots_max; /* as far as slices can be cut */
    bool waits; /* before take is called all is done, and labels have been found right; otherwise slice->bad will tell */
};

/* Reduces an array in the GPU's memory by groups, each to a slot, with these parts of what the reduction needs.
 * WF_ERROR_RANGE without a message: labels are wrong. */
wf_error wf_cuda_reduce_to_slots(wf_handle *handle, const struct wf_grouped *grouped, unsigned parts,
                                 const struct wf_cuda_slots_user *user);

#endif
