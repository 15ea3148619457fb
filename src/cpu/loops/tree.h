/* The product's tree (core/product.h), of whatever type the elements are: compiled once for each tier. */
#ifndef WF_CPU_LOOPS_TREE_H
#define WF_CPU_LOOPS_TREE_H

#include "core/product.h"

#define TREE_NAME_(verb, tier) wf_##verb##_##tier
#define TREE_NAME(verb, tier) TREE_NAME_(verb, tier)
#define multiply_neighbours TREE_NAME(multiply_neighbours, TIER)
#define multiply_leaves TREE_NAME(multiply_leaves, TIER)

/* ---- leaves that need a double-double: integers */

#define FACTORS_LEVEL 7 /* blocks of 2^7 elements become one node at a time */

struct factors {
    double *hi, *lo;
    int32_t *exponent; /* of at most 2^FACTORS_LEVEL elements: far from overflowing */
};

/* Makes the next level of a tree: to[i] = from[2 * i] * from[2 * i + 1], for i < count; they do not overlap. */
void multiply_neighbours(struct factors to, struct factors from, int count);

/* ---- leaves that a double holds: floats */

/* Each lane of the tier's vectors multiplies a subtree of up to 2^LANE_LEVEL leaves of its own. */
#define LANE_LEVEL 7

/* The node of 2^level leaves, which are positive, finite and no subnormal doubles; at most one lane's for each
 * lane. Where that is fewer than lanes * lanes, that many are written to: leaf must have room. */
struct wf_factor multiply_leaves(double *leaf, int level);

#endif
