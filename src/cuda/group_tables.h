/* Sums and extremes by key, by tables on a GPU: see kernels/tables.cu. */
#ifndef WF_CUDA_GROUP_TABLES_H
#define WF_CUDA_GROUP_TABLES_H

#include "core/accumulator.h"
#include "cuda/cuda.h"
#include "cuda/group_arguments.h"

struct wf_cuda_table_task {
    const struct wf_group_arguments *groups; /* the values, a vector of aligned elements, and the results */
    const struct wf_accumulator *empty;
    wf_type result_type;
    const wf_array *keys; /* a vector in the GPU's memory, as long as the values */
    int64_t table_count;  /* groups */
    bool skips_bad_keys;
    int sums_nbytes;      /* shared memory that a warp of kernels/groups.cu has for its sums */
    struct wf_cuda_table_plan plan;
    wf_cuda_pointer scratch;
    wf_cuda_pointer offsets;  /* where wf_cuda_tables_open has found segments, or 0 */
    wf_cuda_pointer unsorted; /* u32: is 0 then if these are right */
    wf_cuda_pointer left;     /* u32: is 0 then if they are not needed, as all results are there; or no address */
};

/* Whether there are tables for such a reduction of a vector, and elements enough to be worth them and their memory. */
bool wf_cuda_tables_fit(const struct wf_accumulator *empty, int64_t count, int64_t groups);

struct wf_cuda_table_plan wf_cuda_tables_plan(const struct wf_accumulator *empty, wf_type result_type, int key_nbytes,
                                              int64_t count, int64_t groups, const struct wf_gpu *gpu);

/* Whether tables hold whatever there is, so that nothing is ever sorted. */
bool wf_cuda_tables_suffice(const struct wf_accumulator *empty, const struct wf_cuda_table_plan *plan);

/* Scratch memory. */
size_t wf_cuda_tables_nbytes(const struct wf_accumulator *empty, int64_t count, int64_t groups,
                             const struct wf_cuda_table_plan *plan);

/* Clears the scratch memory, and launches what finds offsets (u32) of segments if the plan tries these. */
wf_error wf_cuda_tables_open(wf_handle *handle, struct wf_cuda_table_task *task);

/* Launches all that leads to the results, and to the status where tables suffice.  *condition: the address of a u32 that is not 0
 * then if tables did not hold the data, so that keys have to be sorted.  Bad keys are noted as wf_cuda_sort_keys does. */
wf_error wf_cuda_tables_reduce(wf_handle *handle, const struct wf_cuda_table_task *task, wf_cuda_pointer *condition);

#endif
