/* How a reduction by groups is laid out on a GPU: a pure function of its shape and of the GPU. */
#ifndef WF_CUDA_GROUP_PLAN_H
#define WF_CUDA_GROUP_PLAN_H

#include "core/types.h"
#include "cuda/gpu.h"

struct wf_cuda_group_task {
    int64_t groups;     /* results */
    int64_t elements;   /* of each group; of segments and keys, on average */
    bool are_labelled;  /* segments and keys, whose lengths differ */
    bool is_tree;       /* a product that is one */
    int64_t apart;      /* bytes from one element of a group to the next */
    int64_t across;     /* bytes from a group's element to that of the next group */
    int64_t neighbours; /* how many groups lie `across` from each other, and have as many elements */
    int64_t nbytes;     /* of an element */
    int64_t slot_nbytes; /* memory in which pieces of a group are merged */
    int shared_nbytes;  /* of a warp */
};

/* Where elements by key are gathered. */
struct wf_cuda_table_plan {
    int copies; /* of the table that a block has in shared memory; 0: there is one, in global memory */
    int kept;   /* groups that a block keeps in shared memory nevertheless, a power of two */
    int buckets, bucket_log2; /* ranges of 2^bucket_log2 keys to which elements are brought first, if keys are in any order; or 0 */
    int tile;   /* elements that a block sorts by bucket at a time */
    bool is_sampled; /* grids are laid by a sample, and by all elements if that does not do */
    bool tries_segments; /* if keys are sorted, that is what they are taken for */
    bool tries_runs;     /* the same, whose results are made while their beginnings are looked for: see kernels/table_runs.cuh */
    bool tries_strays;   /* the same of keys that mostly rise, or fall: see kernels/table_strays.cuh */
    int passes; /* over the elements, each for a range of keys whose words stay in the L2 cache */
};

struct wf_cuda_group_plan {
    int lanes_log2; /* of the lanes that share a group */
    bool is_across; /* neighbouring lanes have neighbouring groups, not neighbouring elements */
    int64_t piece;  /* elements: longer groups are shared by several teams of lanes */
    int64_t pieces; /* that each group is cut into; of labelled groups only long ones are */
    int64_t tiles;  /* as many results as a warp has teams of lanes */
    int64_t grid;   /* warps, each a block */
    bool in_registers; /* lanes have several groups of a few elements at once: see kernels/group_short.cuh */
    bool in_chunks;    /* each lane has one group, several elements of it at a time: see kernels/group_chunks.cuh */
    bool in_rows;      /* teams try rows in registers first: see kernels/group_rows.cuh */
    bool in_columns;   /* and columns: see kernels/group_columns.cuh */
    /* Elements by key are added to tables first; what is above says how they are reduced if tables do not hold them. */
    bool has_tables;
    bool tables_suffice; /* they hold whatever there is */
    struct wf_cuda_table_plan tables;
    /* Products that are trees: all of the above but is_across does not matter. */
    int tree_levels;    /* that the first launch goes up; 0: there are no trees */
    int64_t tree_nodes; /* that it leaves */
};

struct wf_cuda_group_plan wf_cuda_group_plan_make(const struct wf_cuda_group_task *task, const struct wf_gpu *gpu);

/* Makes it the plan of a task that differs in its number of groups, and has no more of them. */
void wf_cuda_group_plan_fit(struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task, const struct wf_gpu *gpu);

/* Whether results of a few elements each can be found in registers. */
bool wf_cuda_group_fits_registers(wf_op op, wf_type type, wf_type result_type);

/* Warps that the GPU has at a time, each with so much shared memory. */
int64_t wf_cuda_group_warps(int shared_nbytes, const struct wf_gpu *gpu);

/* In words. */
void wf_cuda_group_plan_describe(const struct wf_cuda_group_plan *plan, char *text, size_t capacity);

#endif
