/* Nodes of the product's tree (core/product.h) in the lanes of vectors.
 *
 * The bits are those of wf_factor_multiply, which brings each product's hi back to between 1 and 2.  Here that is
 * left to the end: powers of 2 pass through all of its operations unchanged, since nothing leaves the range of f64
 * within 2^LANE_LEVEL factors less than 2. So a lane's exponent is one sum over its leaves. */
#ifndef WF_CPU_LOOPS_NODES_H
#define WF_CPU_LOOPS_NODES_H

#include "cpu/loops/tree.h"
#include "cpu/loops/vector.h"

/* The logarithm of how many elements are a leaf: the product of two f32, or of four of 16 bits, is an f64, so that nothing
 * of it is lost, and the nodes above them are leaves, too. */
enum { LEAF_LEVEL = PRECISION > 26 ? 0 : PRECISION > 13 ? 1 : 2 };

/* A node in each lane, (hi + lo) times what the exponents say. */
struct nodes {
    vf64 hi, lo;
};

/* Multiplies leaves, whose lo is 0. */
INLINE struct nodes multiply_leaf_vectors(vf64 a, vf64 b) {
    vf64 p = a * b;
    return (struct nodes){p, product_error(a, b, p)};
}

INLINE struct nodes multiply_nodes(struct nodes a, struct nodes b) {
    vf64 p = a.hi * b.hi;
    vf64 cross = a.hi * b.lo + a.lo * b.hi;
    vf64 error = product_error(a.hi, b.hi, p) + cross;
    vf64 hi = p + error;
    return (struct nodes){hi, error - (hi - p)};
}

#define FRACTION ((INT64_C(1) << 52) - 1)
#define ONE (INT64_C(1023) << 52)

/* Positive normal f64 as factors from 1 to 2; adds their biased exponents. */
INLINE vf64 split_leaves(vi64 bits, vi64 *exponents) {
    *exponents += (vi64)((vu64)bits >> 52);
    return (vf64)((bits & FRACTION) | ONE);
}

#endif
