/* How a reduction is laid out on a GPU: a pure function of what is reduced and of the GPU's properties. */
#ifndef WF_CUDA_PLAN_H
#define WF_CUDA_PLAN_H

#include "core/accumulator.h"
#include "cuda/gpu.h"

/* The inputs of the plan, besides the GPU. */
struct wf_cuda_task {
    wf_type type;
    unsigned parts;  /* enum wf_part */
    bool is_indexed; /* the index of an extremum is needed */
    int alignment;     /* bytes: all addresses are multiples of it; 16, 8, 4, 2 or 1 */
    int64_t nbytes;  /* of one array's vectors of 16 bytes, those at its ends that exist in part included */
    bool loses;      /* sums may lack what is wide: kernels/losses.cuh */
};

/* The kernel is compiled for all but the grid. */
struct wf_cuda_plan {
    bool is_small; /* every vector is in a register at once */
    int block;     /* threads */
    int vectors;   /* of 16 bytes, that a thread loads at a time from each array */
    int stages;    /* chunks that the copy engine brings ahead; 0: threads load for themselves */
    int resident;  /* blocks on a multiprocessor */
    int grid;      /* blocks */
    int sums_nbytes;   /* shared memory that each warp has for its sums */
    int shared_nbytes; /* dynamic shared memory of a block */
};

struct wf_cuda_plan wf_cuda_plan_make(const struct wf_cuda_task *task, const struct wf_gpu *gpu);

/* In words: "256 threads x 8 vectors of 16 bytes, 528 blocks". */
void wf_cuda_plan_describe(const struct wf_cuda_plan *plan, char *text, size_t capacity);

#endif
