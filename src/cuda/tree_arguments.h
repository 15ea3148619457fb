/* What the kernel of products' trees (core/product.h) is told, besides where the groups lie: in C and in CUDA C. */
#ifndef WF_CUDA_TREE_ARGUMENTS_H
#define WF_CUDA_TREE_ARGUMENTS_H

#include "core/partial_words.h"
#include "core/product.h"

enum {
    WF_TREE_BLOCK = 256,       /* threads */
    WF_TREE_LEAVES_LOG2 = 3,   /* elements that a lane multiplies at a time */
    WF_TREE_BATCHES_LOG2 = 5,  /* times, at most, one after the other */
    WF_TREE_LEVELS_MAX = 11    /* of the tree, that a stage goes up */
};

/* A node, and what it has below it other than factors. */
struct wf_tree_node {
    struct wf_factor factor;
    unsigned long long flags;                /* enum wf_product_flag */
    unsigned long long nan_count, first_nan; /* as in struct wf_partial */
};

/* A stage makes of each group's elements, or of the nodes that the stage before has left, as many nodes as there are
 * blocks of 2^levels indices that they lie in. */
struct wf_tree_stage {
    unsigned long long from; /* struct wf_tree_node: groups one after the other; no address: elements */
    unsigned long long to;   /* the same; no address: each group has one node, which becomes its result */
    long long first, count;  /* of a group: the index of the first, and how many there are */
    long long nodes;         /* that a group has after this stage */
    long long index;         /* that counts from the first element on, for first_nan */
    int lanes_log2;          /* of the lanes of a warp that make a node, 0 to 5 */
    int batches_log2;        /* of a lane's, 0 to WF_TREE_BATCHES_LOG2; its levels, then: */
    int levels;              /* both and WF_TREE_LEAVES_LOG2 */
    int is_across;           /* neighbouring threads have neighbouring groups, not neighbouring elements */
    int leaves_status;       /* nothing is done but that */
};

#endif
