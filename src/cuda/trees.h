/* Products whose trees (core/product.h) a GPU multiplies: of floats, and of integers that are asked for as floats. */
#ifndef WF_CUDA_TREES_H
#define WF_CUDA_TREES_H

#include "core/accumulator.h"
#include "cuda/cuda.h"
#include "cuda/group_arguments.h"
#include "cuda/tree_arguments.h"

/* The first stage of groups of `count` elements, the first with that index.  is_across: as in struct wf_group_arguments. */
struct wf_tree_stage wf_cuda_trees_begin(int64_t first_index, int64_t count, bool is_across);

/* A stage of one group that goes up WF_TREE_LEVELS_MAX levels: count, a multiple of 2^WF_TREE_LEVELS_MAX, from such a multiple on. */
struct wf_tree_stage wf_cuda_trees_whole(int64_t first, int64_t count);

/* Scratch memory for the nodes of the groups: bytes. */
size_t wf_cuda_trees_nbytes(const struct wf_group_arguments *groups);

/* Launches one stage.  function: from wf_cuda_trees_kernel. */
wf_error wf_cuda_trees_launch(wf_handle *handle, wf_cuda_function function, const struct wf_group_arguments *groups,
                              const struct wf_tree_stage *stage);

/* The kernel for elements and results of these types. */
wf_error wf_cuda_trees_kernel(wf_handle *handle, wf_type type, wf_type result_type, wf_cuda_function *function);

/* Launches all stages, which leave the results of the groups, and the status if it is wanted.  scratch: as
 * many bytes as wf_cuda_trees_nbytes says. */
wf_error wf_cuda_trees_reduce(wf_handle *handle, const struct wf_accumulator *empty, wf_type result_type,
                              const struct wf_group_arguments *groups, wf_cuda_pointer scratch);

#endif
