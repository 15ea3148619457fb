/* Keys in a GPU's memory: which positions each of them has. */
#ifndef WF_CUDA_GROUP_KEYS_H
#define WF_CUDA_GROUP_KEYS_H

#include "cuda/cuda.h"
#include "cuda/group_arguments.h"

/* Scratch memory for sorting that many keys of that many groups: 16 bytes a group, 4 a key (8 from 2^32 keys on); up to 16 MiB
 * more where groups are few. */
size_t wf_cuda_keys_nbytes(int64_t count, int64_t groups);

/* Sorts the positions of the keys, a vector in the GPU's memory, in scratch memory: sets offsets and positions.  Bad keys are
 * noted in r->bad, unless they are skipped. */
wf_error wf_cuda_sort_keys(wf_handle *handle, const wf_array *keys, int64_t groups, bool skips_bad_keys,
                           wf_cuda_pointer scratch, struct wf_group_arguments *r);

#endif
