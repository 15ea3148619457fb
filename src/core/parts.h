/* The parts of a reduction: what a partial can hold of its elements.  Kept apart from the list of ops, so that the
 * loops are not recompiled for a new op. */
#ifndef WF_CORE_PARTS_H
#define WF_CORE_PARTS_H

#include "core/portable.h"

/* What an accumulator can compute of its elements; each part is a monoid. */
enum wf_part {
    WF_PART_SUM = 1 << 0,      /* sum of x */
    WF_PART_ABS = 1 << 1,      /* sum of |x| */
    WF_PART_SQUARES = 1 << 2,  /* sum of x*x, in `product_sum` */
    WF_PART_DOT = 1 << 3,      /* sum of x*y over pairs, in `product_sum` */
    WF_PART_MIN = 1 << 4,      /* smallest value and its first index */
    WF_PART_MAX = 1 << 5,      /* largest value and its first index */
    WF_PART_NONZERO = 1 << 6,  /* how many are nonzero */
    WF_PART_BITS = 1 << 7,     /* and, or, xor of the bits */
    WF_PART_PRODUCT = 1 << 8   /* the product: of integers as one, else as a tree (src/core/product.h) */
};

#define WF_PARTS_SUMS (WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES | WF_PART_DOT)
#define WF_PARTS_STATS                                                                                         \
    (WF_PART_SUM | WF_PART_ABS | WF_PART_SQUARES | WF_PART_MIN | WF_PART_MAX | WF_PART_NONZERO)

/* Flags for terms that digits cannot represent: each x or, in dot, each x*y. */
enum wf_special {
    WF_SPECIAL_POSITIVE_INFINITY = 1,
    WF_SPECIAL_NEGATIVE_INFINITY = 2,
    WF_SPECIAL_INVALID = 4,          /* infinity times 0 */
    WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO = 8 /* some term is neither -0 nor NaN: the sum of nothing else is -0 */
};

#endif
