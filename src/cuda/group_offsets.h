/* Whether segments are of one length, which the GPU alone finds out. */
#ifndef WF_CUDA_GROUP_OFFSETS_H
#define WF_CUDA_GROUP_OFFSETS_H

#include "cuda/cuda.h"
#include "cuda/group_arguments.h"

/* Leaves 0 at are_equal, an u32 that is something else, unless all offsets are those of segments of so many elements, from the first
 * one on.  In stream order: nothing is waited for. */
wf_error wf_cuda_look_at_offsets(wf_handle *handle, const struct wf_group_arguments *segments, int64_t elements, wf_cuda_pointer are_equal);

#endif
