/* The product.  Signs, zeros and infinities are counted; magnitudes are multiplied, of integers in one
 * saturating word, of floats (and of integers whose product is asked for as a float) in a tree.
 *
 * The tree is the binary tree of aligned power-of-two blocks of the element index, so that its bits depend on
 * nothing but the elements and their indices.  A node is a double-double with an exponent of its own (the
 * product of two as in Dekker, "A floating-point technique for extending the available precision", 1971,
 * with the error of the leading product by FMA).  This is the one definition, for every device. */
#ifndef WF_CORE_PRODUCT_H
#define WF_CORE_PRODUCT_H

#include "core/number.h"

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
#define WF_PRODUCT_NODES_MAX 128

struct wf_product {
    bool negative;      /* whether an odd number of elements is negative, -0 included */
    bool has_zero;
    bool has_infinity;
    bool overflow;      /* the magnitude outgrew its word */
    uint64_t magnitude; /* of integers: of all elements but zeros */
    /* The tree: the nodes of the largest aligned blocks that make up indices start <= i < end, in order.  A
     * node's level is the logarithm of its block's length. */
    int64_t start, end;
    int32_t node_count;
    int32_t level[WF_PRODUCT_NODES_MAX];
    struct wf_factor node[WF_PRODUCT_NODES_MAX];
};

/* The empty product, whose tree begins at index start. */
void wf_product_clear(struct wf_product *product, int64_t start);

/* Appends the block of 2^level elements at product->end, which must be a multiple of its length. */
void wf_product_append(struct wf_product *product, int level, struct wf_factor factor);

/* Multiplies the magnitude by that of an integer other than 0. */
void wf_product_scale(struct wf_product *product, uint64_t magnitude);

/* into *= from.  False, and nothing done, where both trees hold elements and are not neighbours. */
bool wf_product_join(struct wf_product *into, const struct wf_product *from);

struct wf_number wf_product_of_tree(const struct wf_product *product);

/* Levels of the largest aligned blocks that make up start <= i < end, in order; returns how many. */
int wf_product_levels(int64_t start, int64_t end, int32_t level[WF_PRODUCT_NODES_MAX]);

#endif
