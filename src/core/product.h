/* The product of magnitudes as a tree: of floats, and of integers whose product is asked for as a float.  Signs,
 * zeros and infinities are the partial's (core/partial.h), next to which the tree is kept: it grows with the
 * range of indices and merges with its neighbours only.
 *
 * It is the binary tree of aligned power-of-two blocks of the element index, so that its bits depend on
 * nothing but the elements and their indices.  A node is a double-double with an exponent of its own (the
 * product of two as in Dekker, "A floating-point technique for extending the available precision", 1971,
 * with the error of the leading product by FMA).  This is the one definition, for every device. */
#ifndef WF_CORE_PRODUCT_H
#define WF_CORE_PRODUCT_H

#include "core/portable.h"

#ifndef __CUDACC_RTC__
#include <math.h>
#endif

/* (hi + lo) * 2^exponent, with 1 <= hi < 2 and hi = hi + lo rounded to nearest.  {1, 0, 0} is the identity:
 * multiplying by it changes nothing, so elements that are left out, and indices outside of the range, count
 * as identities. */
struct wf_factor {
    double hi, lo;
    int64_t exponent;
};

static const struct wf_factor wf_factor_one = {1, 0, 0};

static inline struct wf_factor wf_factor_multiply(struct wf_factor a, struct wf_factor b) {
    double p = a.hi * b.hi;
    double cross = a.hi * b.lo + a.lo * b.hi;
    double error = fma(a.hi, b.hi, -p) + cross;
    double hi = p + error;
    double lo = error - (hi - p);
    int shift = (hi >= 2) - (hi < 1);
    double scale = shift > 0 ? 0.5 : shift < 0 ? 2 : 1;
    struct wf_factor product = {hi * scale, lo * scale, a.exponent + b.exponent + shift};
    return product;
}

/* The number that a factor stands for, with that sign. */
struct wf_number;
struct wf_number wf_factor_number(struct wf_factor factor, bool negative);

/* The factor that stands for an integer other than 0. */
static inline struct wf_factor wf_factor_of_u64(uint64_t magnitude) {
    double hi = (double)magnitude;
    double lo = hi < 0x1p64 ? (double)(int64_t)(magnitude - (uint64_t)hi) : -(double)(0 - magnitude);
    uint64_t bits;
    memcpy(&bits, &hi, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    uint64_t scale_bits = (uint64_t)(1023 - exponent) << 52;
    double scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    struct wf_factor factor = {hi * scale, lo * scale, exponent};
    return factor;
}

/* A range of indices has at most 63 aligned blocks of rising size and 63 of falling size. */
#define WF_TREE_NODES_MAX 128

/* The nodes of the largest aligned blocks that make up indices start <= i < end, in order.  A node's level is
 * the logarithm of its block's length. */
struct wf_tree {
    int64_t start, end;
    int32_t node_count;
    int8_t level[WF_TREE_NODES_MAX];
    struct wf_factor node[WF_TREE_NODES_MAX];
};

/* The tree of no elements, which begins at index start. */
void wf_tree_clear(struct wf_tree *tree, int64_t start);

/* Appends the block of 2^level elements at tree->end, which must be a multiple of its length. */
void wf_tree_append(struct wf_tree *tree, int level, struct wf_factor factor);

/* into *= from.  False, and nothing done, where both hold elements and are not neighbours. */
bool wf_tree_join(struct wf_tree *into, const struct wf_tree *from);

/* The product of all, with that sign. */
struct wf_number wf_tree_number(const struct wf_tree *tree, bool negative);

/* Levels of the largest aligned blocks that make up start <= i < end, in order; returns how many. */
int wf_tree_levels(int64_t start, int64_t end, int8_t level[WF_TREE_NODES_MAX]);

#endif
