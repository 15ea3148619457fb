/* Reductions by groups on a GPU. */
#ifndef WF_CUDA_GROUPS_H
#define WF_CUDA_GROUPS_H

#include "core/grouped.h"
#include "cuda/cuda.h"

/* Reduces arrays in the GPU's memory, or in the host's; the output and the labels may be in either. */
wf_error wf_cuda_reduce_groups(wf_handle *handle, const struct wf_grouped *grouped);

/* The same through host memory, by the CPU: of what the GPU does not do, and for the message of what failed. */
wf_error wf_cuda_reduce_groups_on_host(wf_handle *handle, const struct wf_grouped *grouped);

#endif
