/* The argument of the kernel that reduces by groups: one struct, in C and in CUDA C. */
#ifndef WF_CUDA_GROUP_ARGUMENTS_H
#define WF_CUDA_GROUP_ARGUMENTS_H

#include "core/partial_words.h"

/* A dimension of the results, or one that is reduced. */
struct wf_group_dimension {
    long long length;
    long long stride[2];     /* bytes, of each operand's elements */
    /* From one result to the next: bytes, and the difference of their numbers, which count in C order. */
    long long result_stride, number_stride;
};

/* A part of a group that is longer than others: what a team of lanes takes of it. */
struct wf_group_piece {
    long long result;     /* the place of the group's result in the order of the dimensions below; or of the first of a row */
    long long begin, end; /* which of its elements */
    long long slot;       /* where the group's pieces are merged; -1: there is no other piece */
};

struct wf_group_slot {
    struct wf_partial partial;
    unsigned long long lock; /* 1 while a lane merges extrema with their indices */
    /* The place of the group's result, as in a piece, or, where slots are what is wanted, its number in C order; and the number
     * of its elements. */
    long long result, count;
};

/* What a launch does. */
enum wf_group_stage {
    WF_GROUPS_REDUCE, /* every result; groups that are shared by several teams are left in slots */
    WF_GROUPS_LISTED, /* the pieces that a launch before has listed */
    WF_GROUPS_CLEAR,  /* clears the slots of all results */
    WF_GROUPS_FINISH, /* the results of the slots in use */
    WF_GROUPS_STATUS, /* leaves the wf_error of all launches before */
    WF_GROUPS_ADD_COLUMNS,   /* each warp's elements of tall columns (kernels/group_tall.cuh); ... */
    WF_GROUPS_JOIN_COLUMNS,  /* ... what the warps have found of each column, by several warps; ... */
    WF_GROUPS_SETTLE_COLUMNS /* ... and by one, with its result if that is known then */
};

enum {
    WF_GROUP_DIMENSIONS = 68,
    WF_GROUP_TALL_WARPS = 16,    /* of a multiprocessor, that share tall columns */
    WF_GROUP_COLUMN_NBYTES = 64, /* what is known of some of a column's elements, at most */
    WF_GROUP_COLUMNS_JOINED = 256, /* of those, what a warp joins */
    WF_GROUP_EXCHANGED_WORDS = 36, /* that each warp of a block has for those of its lanes: at other banks than the other warps' */
    WF_GROUP_AHEAD_NBYTES = 4096, /* of a warp's groups in chunks, on their way to shared memory */
    WF_GROUP_RING_BATCHES = 4, /* of each lane, on their way to shared memory */
    WF_GROUP_LANES_OF_VALUES = 16,  /* that have bins at a time, of f64 in short groups and those in chunks, ... */
    WF_GROUP_LANES_OF_PRODUCTS = 8, /* ... and where there are products */
    WF_GROUP_LISTED_ELEMENTS = 256 /* of each lane: a team mostly lists groups of more, so that others do not wait for it */
};

/* Of sums of floats in chunks, along an axis of a matrix, what is copied to shared memory ahead (kernels/group_chunks_ahead.cuh). */
enum wf_group_ahead {
    WF_GROUP_NONE_AHEAD,
    WF_GROUP_ROWS_AHEAD,   /* every one is whole vectors of 16 bytes */
    WF_GROUP_COLUMNS_AHEAD /* neighbours lie side by side, and rows of them are whole vectors */
};

/* Addresses are of device memory, 0 where there is nothing. */
struct wf_group_arguments {
    unsigned long long x, y; /* of the first result's first element */
    unsigned long long lowest, highest; /* of x: of the first byte of all elements, and behind the last one */
    unsigned long long results;
    unsigned long long offsets;      /* of segments, or of keys that have been sorted: i32 or i64 */
    unsigned long long positions;    /* u32 or u64: the positions that offsets count, if not those of the axis */
    unsigned long long failed;       /* u64: the least of the numbers of results that failed, * 256 + wf_error */
    unsigned long long status;       /* int: the wf_error */
    unsigned long long condition;    /* u32: while it is 0, nothing is reduced; no address: there is no condition */
    unsigned long long unless;       /* u32: while it is not 0, nothing is reduced, either; or no address */
    unsigned long long bad;          /* u64: the first offset that is wrong */
    unsigned long long list, listed; /* struct wf_group_piece, and u64: how many there are, less one */
    unsigned long long slots, used;  /* struct wf_group_slot, and u64: how many are in use, less one */
    long long list_count, slot_count; /* that there is memory for */
    unsigned long long fill;         /* the bits of the value of groups that have none */
    long long count;                 /* results */
    long long reduced_count;         /* elements of a group; of labelled ones, positions of the axis */
    long long piece;                 /* elements of a group that a team takes of those that are listed, or shared */
    long long longest;               /* elements of a group that is not listed, at most */
    long long pieces;                /* how many teams share each group */
    long long tiles;                 /* warps' shares of the results */
    /* Of tall columns: what warps have found of them, then what joined ones have; u32: how many are open, then int of each: which. */
    unsigned long long sums, open;
    long long rows_joined;           /* that are taken for one row with as many times the columns, which fill whole warps */
    long long shares, share;         /* into which such rows are cut; rows of one */
    long long offset_stride;         /* bytes */
    long long first_index, ddof;
    double divisor, inverse_divisor; /* n*(n - ddof) for groups of reduced_count elements, by which variances are divided; 1 / that */
    int stage, nan, has_fill;
    int starts_at_vectors; /* the elements of every group lie side by side, in whole vectors of 16 bytes */
    int ahead;         /* enum wf_group_ahead */
    int is_second;     /* of tall columns: those that are open are added up again, scaled */
    int lanes_log2;    /* how many lanes of a warp are a team, which has one group at a time */
    int is_across;     /* neighbouring lanes have neighbouring groups, not neighbouring elements */
    int counts_groups; /* the dimension that counts segments or keys; -1: none */
    int offsets_are_wide, positions_are_wide; /* 64 bits, not 32 */
    int ndim, reduced_ndim;
    struct wf_group_dimension dimension[WF_GROUP_DIMENSIONS]; /* the results', then the reduced ones */
};

#endif
