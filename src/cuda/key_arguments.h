/* The argument of the kernel that sorts keys: one struct, in C and in CUDA C. */
#ifndef WF_CUDA_KEY_ARGUMENTS_H
#define WF_CUDA_KEY_ARGUMENTS_H

enum wf_key_stage {
    WF_KEYS_CLEAR,   /* counts, where all blocks count together */
    WF_KEYS_COUNT,   /* the keys of each group */
    WF_KEYS_SUMS,    /* the counts of each block's share of them */
    WF_KEYS_SCAN,    /* where each share begins; one block */
    WF_KEYS_OFFSETS, /* where each group begins */
    WF_KEYS_PLACE    /* the positions, group by group */
};

enum {
    WF_KEY_BLOCK = 256,
    WF_KEY_COUNTS = 2048,      /* a block's share of the counts */
    WF_KEY_TABLE_GROUPS = 4096 /* so few groups are counted by each block for itself, in shared memory */
};

/* Addresses are of device memory. */
struct wf_key_arguments {
    unsigned long long keys;
    long long stride_bytes, count, groups;
    long long tables;             /* blocks that count for themselves, each a piece of the keys; 1: all count together */
    unsigned long long counts;    /* u64 for each group's tables: how many, then where the next is placed; and one more */
    unsigned long long offsets;   /* i64 for each group, and one more */
    unsigned long long sums;      /* u64 for each share of the counts */
    unsigned long long positions; /* u32 or u64 for each key */
    unsigned long long bad;       /* u64: the first position whose key is of no group */
    unsigned long long condition; /* as that of struct wf_group_arguments */
    int stage, skips_bad_keys, positions_are_wide;
};

#endif
