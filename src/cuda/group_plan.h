/* How a reduction by groups is laid out on a GPU: a pure function of its shape and of the GPU. */
#ifndef WF_CUDA_GROUP_PLAN_H
#define WF_CUDA_GROUP_PLAN_H

#include "core/accumulator.h"
#include "cuda/group_arguments.h"
#include "cuda/gpu.h"

struct wf_cuda_group_task {
    const struct wf_accumulator *empty; /* the reduction */
    wf_type result_type;
    unsigned parts;     /* enum wf_part: those that are gathered */
    bool keeps_slots;   /* every group's slot is what is wanted, not its result */
    bool is_pair;       /* there are two operands */
    int64_t groups;     /* results; of an accumulator's slice, its own */
    int64_t elements;   /* of each group; of segments and keys, on average */
    int64_t labels, positions; /* of segments and keys: how many groups there are, and places on the axis */
    bool are_labelled;  /* segments and keys, whose lengths differ */
    bool are_keys;
    int key_nbytes;      /* of each */
    bool are_positions_sorted; /* elements are found through the sorted positions of keys */
    bool is_vector;     /* there is no dimension but that of labels */
    bool is_matrix;     /* groups differ along one dimension, and have their elements along another */
    bool is_folded;     /* a group has elements along several dimensions */
    bool is_aligned;    /* every element is, to its size */
    bool is_contiguous; /* a group's elements lie side by side, of each operand */
    bool starts_at_vectors;     /* every group is whole vectors of 16 bytes */
    bool are_alike_in_vectors;  /* the operands' elements have the same places in vectors */
    bool are_rows_adjacent; /* groups are the columns of a matrix, whose rows follow each other and begin with a word of 4 bytes */
    bool are_words_of_neighbours; /* neighbours lie side by side, and rows of them are whole words of 4 bytes */
    bool are_vectors_of_neighbours; /* the same, of whole vectors */
    int64_t apart;      /* bytes from one element of a group to the next */
    int64_t across;     /* bytes from a group's element to that of the next group */
    int64_t neighbours; /* how many groups lie `across` from each other, and have as many elements */
};

/* How lanes find a group's elements: WALK of kernels/groups.cu. */
enum wf_cuda_group_walk { WF_WALK_STRAIGHT, WF_WALK_INDEXED, WF_WALK_FOLDED, WF_WALK_CONTIGUOUS };

/* What is held in registers, before groups are reduced as longer ones are: IS_SHORT of kernels/groups.cu. */
enum wf_cuda_group_short {
    WF_NONE_SHORT,
    WF_SHORT_GROUPS,      /* lanes have several groups of a few elements at once: see kernels/group_short.cuh */
    WF_SHORT_SEGMENTS,    /* the same, if most segments of a vector are as short */
    WF_SHORT_ROWS,        /* the same, of neighbours with labels */
    WF_SHORT_CHUNKS = 5,  /* each lane has one group, several elements of it at a time: see kernels/group_chunks.cuh */
    WF_SHORT_TEAMS,       /* teams try rows in registers first: see kernels/group_rows.cuh */
    WF_SHORT_COLUMNS,     /* and columns, several of each lane: see kernels/group_columns.cuh */
    WF_SHORT_TALL,        /* and those that all warps share: see kernels/group_tall.cuh */
    WF_SHORT_SEGMENT_TEAMS, /* teams try segments of a vector: as rows */
    WF_SHORT_LONG_ROWS     /* and few long rows, which all warps share: as tall columns */
};

/* Where elements by key are gathered. */
struct wf_cuda_table_plan {
    int copies; /* of the table that a block has in shared memory; 0: there is one, in global memory */
    int kept;   /* groups that a block keeps in shared memory nevertheless, a power of two */
    int buckets, bucket_log2; /* ranges of 2^bucket_log2 keys to which elements are brought first, if keys are in any order; or 0 */
    int tile;   /* elements that a block sorts by bucket at a time */
    bool rereads; /* elements are read once for each bucket instead */
    bool is_sampled; /* grids are laid by a sample, and by all elements if that does not do */
    bool tries_segments; /* if keys are sorted, that is what they are taken for */
    bool tries_runs;     /* the same, whose results are made while their beginnings are looked for: see kernels/table_runs.cuh */
    bool tries_strays;   /* the same of keys that mostly rise, or fall: see kernels/table_strays.cuh */
    int passes; /* over the elements, each for a range of keys whose words stay in the L2 cache */
    int whole_room;   /* words of all exponents that a block has in shared memory, if grids do not hold all elements; or 0 */
    bool is_spread;   /* of so many groups that it may have no room for all of them, so that elements go to words in global memory */
    bool tries_again; /* before that, or before keys are sorted: by grids that all elements have laid, if a sample has misled */
};

/* How warps share columns, or rows: WF_SHORT_TALL, WF_SHORT_LONG_ROWS. */
struct wf_cuda_tall_plan {
    int64_t rows_joined; /* rows that are taken for one */
    int64_t tiles;       /* warps that have such a row; of rows, how many there are */
    int64_t share;       /* rows, or elements, of a warp ... */
    int64_t shares;      /* ... and how many warps share all of them; 0: none do */
    bool adds_again;     /* columns that are open then, scaled */
};

struct wf_cuda_group_plan {
    int lanes_log2; /* of the lanes that share a group */
    bool is_across; /* neighbouring lanes have neighbouring groups, not neighbouring elements */
    int64_t piece;  /* elements: longer groups are shared by several teams of lanes */
    int64_t longest; /* elements of a labelled group that is not cut into pieces, at most */
    int64_t pieces; /* that each group is cut into; of labelled groups only long ones are */
    int64_t tiles;  /* as many results as a block has teams of lanes */
    int warps;      /* of a block: of columns that are shared, as many as share them; else 1 */
    int64_t grid;   /* blocks */
    int64_t listed_grid; /* the same of the pieces that are listed */
    enum wf_cuda_group_short held;
    struct wf_cuda_tall_plan tall;
    enum wf_group_ahead ahead; /* of groups in chunks */
    enum wf_cuda_group_walk walk;
    int sums_nbytes, ring_nbytes; /* shared memory of a warp */
    bool may_be_rows; /* segments, of which the GPU finds out first whether they are of one length */
    int resident;   /* warps of a multiprocessor that the kernel is compiled for */
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

/* The plan of the same elements by key, if their keys turn out to be sorted: these are segments, then. */
struct wf_cuda_group_plan wf_cuda_group_plan_segments(const struct wf_cuda_group_plan *plan, const struct wf_cuda_group_task *task,
                                                      const struct wf_gpu *gpu);

/* What is known once the kernel is loaded: how many of its blocks a multiprocessor has at a time; 0: not known. */
void wf_cuda_group_plan_fill(struct wf_cuda_group_plan *plan, int resident, const struct wf_gpu *gpu);

/* Whether results of a few elements each can be found in registers. */
bool wf_cuda_group_fits_registers(wf_op op, wf_type type, wf_type result_type);

/* In words. */
void wf_cuda_group_plan_describe(const struct wf_cuda_group_plan *plan, char *text, size_t capacity);

#endif
