/* Which of the ways of kernels/groups.cu a reduction by groups goes: parts of group_plan.h's function, by a plan that says which lanes
 * have which groups. */
#ifndef WF_CUDA_GROUP_WAYS_H
#define WF_CUDA_GROUP_WAYS_H

#include "cuda/group_plan.h"

enum { WF_GROUP_VECTOR_NBYTES = 16 };

/* Shared memory of a warp: its bins (kernels/group_sums.cuh), and its elements on their way (kernels/group_walk.cuh). */
int wf_cuda_group_sums_nbytes(const struct wf_cuda_group_task *task);
int wf_cuda_group_ring_nbytes(const struct wf_cuda_group_task *task);

/* Whether teams try rows, or columns, in registers. */
bool wf_cuda_group_has_rows(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task);
bool wf_cuda_group_has_segments(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task); /* tried like rows */
bool wf_cuda_group_has_pieces_of_rows(const struct wf_cuda_group_task *task); /* where rows are few */
bool wf_cuda_group_may_leave_rows_open(const struct wf_cuda_group_task *task); /* whose results are then found by their warps alone */
bool wf_cuda_group_has_columns(const struct wf_cuda_group_task *task, bool are_few);

/* Whether warps that share columns, or rows, try them in registers. */
bool wf_cuda_group_has_tall_columns(const struct wf_cuda_group_task *task);
bool wf_cuda_group_has_long_rows(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task);
/* Whether those that are open then are added up once more, scaled. */
bool wf_cuda_group_adds_tall_again(const struct wf_cuda_group_task *task);

/* Of groups in chunks, what can be copied ahead; and whether rows, or columns, are faster that way than by teams, if there are enough. */
enum wf_group_ahead wf_cuda_group_find_ahead(const struct wf_cuda_group_task *task);
bool wf_cuda_group_has_rows_ahead(const struct wf_cuda_group_task *task);
bool wf_cuda_group_has_columns_ahead(const struct wf_cuda_group_task *task);

/* Whether it is worth looking if segments are of one length, and as rows then. */
bool wf_cuda_group_may_be_rows(const struct wf_cuda_group_task *task, const struct wf_gpu *gpu);

/* What is held in registers other than these. */
enum wf_cuda_group_short wf_cuda_group_find_held(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task);

/* The shared memory of groups along an axis that are held in registers. */
void wf_cuda_group_share_bins(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task);

enum wf_cuda_group_walk wf_cuda_group_find_walk(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task);

/* Warps of a multiprocessor: as many as shared memory has room for, if registers are not too few for what a lane keeps. */
int wf_cuda_group_find_resident(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, int room);

#endif
