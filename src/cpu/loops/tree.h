/* The product's tree (core/product.h), of whatever type the elements are: compiled once for each tier. */
#ifndef WF_CPU_LOOPS_TREE_H
#define WF_CPU_LOOPS_TREE_H

#include "core/product.h"

#define TREE_LEVEL 7 /* blocks of 2^7 elements become one node at a time */

struct factors {
    double *hi, *lo;
    int32_t *exponent; /* of at most 2^TREE_LEVEL elements: far from overflowing */
};

#define TREE_NAME_(tier) wf_multiply_neighbours_##tier
#define TREE_NAME(tier) TREE_NAME_(tier)
#define multiply_neighbours TREE_NAME(TIER)

/* Makes the next level of a tree: to[i] = from[2 * i] * from[2 * i + 1], for i < count; they do not overlap. */
void multiply_neighbours(struct factors to, struct factors from, int count);

#endif
