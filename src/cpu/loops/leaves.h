/* The leaves of a product's tree (core/product.h), of floats: as doubles, for tree.c. */
#ifndef WF_CPU_LOOPS_LEAVES_H
#define WF_CPU_LOOPS_LEAVES_H

#include "cpu/loops/nodes.h"
#include "cpu/loops/special.h"

/* The level of the largest blocks that are made leaves of at a time: as many as all lanes take, if there is room.
 * They lie in the room for a copy of the second operand, which products have not; if there is little, it is half as large as the
 * first. */
static int leaves_level(const struct wf_scratch *scratch) {
    size_t room = scratch->copy_nbytes / 2 / sizeof(double), wanted = (size_t)LANES << LANE_LEVEL;
    return LEAF_LEVEL + 31 - __builtin_clz((unsigned)(room < wanted ? room : wanted));
}

#define ONE_BITS ((sword)((uword)BIAS << FRACTION_BITS))

/* What elements were, in lanes. */
struct leaves {
    vsword signs;                      /* the top bit: whether an odd number is negative */
    vsword zeros, infinities;          /* all ones: there were some */
    struct lane_counts nans, subnormals; /* the latter of f64 alone */
};

/* Magnitudes, with 1 in place of what has no factor. */
INLINE vsword clean_leaves(struct leaves *seen, vsword bits) {
    vsword magnitude = bits & (sword)MAGNITUDE;
    vsword nan = magnitude > (sword)INFINITY_BITS, infinite = magnitude == (sword)INFINITY_BITS;
    vsword zero = magnitude == 0;
    seen->signs ^= bits & ~nan;
    seen->zeros |= zero;
    seen->infinities |= infinite;
    count_lanes(&seen->nans, nan);
    return select_where(nan | infinite | zero, (vsword){0} + ONE_BITS, magnitude);
}

/* Subnormals of f64, which no wider type makes normal, as the integers that their fractions are. */
INLINE vsword scale_subnormals(struct leaves *seen, vsword magnitude) {
    const sword exponent_52 = (sword)((uword)(BIAS + FRACTION_BITS) << FRACTION_BITS);
    vsword subnormal = magnitude < (sword)HIDDEN_BIT;
    count_lanes(&seen->subnormals, subnormal);
    return select_where(subnormal, (vsword)((vf64)(magnitude | exponent_52) - 0x1p52), magnitude);
}

/* Products of neighbours of two vectors of elements: those of the one and of the other in turn. */
INLINE vf64 products_of_neighbours(const unsigned char *x) {
    vf64 a = widen(x), b = widen(x + LANES * sizeof(uword));
    return left_lanes(a, b, 1) * right_lanes(a, b, 1);
}

/* The lanes of four vectors by turns, of each in its order: those of the first, then of the second, and so on. */
#define QUARTER_LANE(lane, distance) (LANES < 8 ? (lane) : (lane) % 2 * (LANES / 2) + (lane) / 2)

INLINE vf64 quarters_first(vf64 a) {
    return SHUFFLED(a, a, EACH_LANE(QUARTER_LANE, 1));
}

/* The magnitudes of LANES leaves. */
INLINE vi64 leaves_of(const unsigned char *x) {
    if (LEAF_LEVEL == 0) return (vi64)widen(x) & INT64_MAX;
    vf64 a = products_of_neighbours(x);
    if (LEAF_LEVEL == 1) return (vi64)even_lanes_first(a) & INT64_MAX;
    enum { DISTANCE = LANES > 2 ? 2 : 1 };
    vf64 b = products_of_neighbours(x + 2 * LANES * sizeof(uword));
    return (vi64)quarters_first(left_lanes(a, b, DISTANCE) * right_lanes(a, b, DISTANCE)) & INT64_MAX;
}

/* Stores the leaves of a vector of elements. */
INLINE void store_widened(double *leaf, const unsigned char *x) {
    UNROLLED
    for (size_t i = 0; i < STEP >> LEAF_LEVEL; i += LANES) {
        vi64 magnitude = leaves_of(x + (i << LEAF_LEVEL) * sizeof(uword));
        memcpy(leaf + i, &magnitude, sizeof magnitude);
    }
}

INLINE void store_leaves(struct leaves *seen, double *leaf, vsword bits) {
    unsigned char element[VECTOR_NBYTES];
    bits = clean_leaves(seen, bits);
    if (ELEMENT == ELEMENT_F64) bits = scale_subnormals(seen, bits);
    memcpy(element, &bits, sizeof bits);
    store_widened(leaf, element);
}

/* Makes leaves of whole vectors of elements if all of them are finite, no subnormals and not 0; returns whether they
 * are. */
static bool make_plain_leaves(struct leaves *seen, double *leaf, const unsigned char *x, size_t count) {
    const sword span = (sword)(INFINITY_BITS - HIDDEN_BIT);
    vsword signs = {0}, others = {0}, bits;
    for (size_t i = 0; i < count; i += STEP) {
        memcpy(&bits, x + i * sizeof(uword), sizeof bits);
        /* Unsigned, it would be less than span: with the top bit flipped, it is in the order of signed integers. */
        vsword above_least = (vsword)((vuword)(bits & (sword)MAGNITUDE) - (uword)(HIDDEN_BIT ^ TOP_BIT));
        others |= above_least >= (sword)((uword)span ^ TOP_BIT);
        signs ^= bits;
        store_widened(leaf + (i >> LEAF_LEVEL), x + i * sizeof(uword));
    }
    seen->signs = signs;
    return !any_lane(others);
}

static struct leaves make_leaves(double *leaf, const unsigned char *x, size_t count) {
    struct leaves seen = {.signs = {0}};
    vsword bits;
    size_t i = 0;
    if (count % STEP == 0 && make_plain_leaves(&seen, leaf, x, count)) return seen;
    seen.signs = (vsword){0};
    for (; i + STEP <= count; i += STEP) {
        memcpy(&bits, x + i * sizeof(uword), sizeof bits);
        store_leaves(&seen, leaf + (i >> LEAF_LEVEL), bits);
    }
    if (i == count) return seen;
    bits = (vsword){0} + ONE_BITS;
    memcpy(&bits, x + i * sizeof(uword), (count - i) * sizeof(uword));
    store_leaves(&seen, leaf + (i >> LEAF_LEVEL), bits);
    return seen;
}

static void note_leaves(struct wf_open_partial *into, const struct leaves *seen, const unsigned char *x,
                        size_t count) {
    sword signs = 0;
    for (size_t lane = 0; lane < STEP; lane++) signs ^= seen->signs[lane];
    if (signs < 0) into->partial->product_flags ^= WF_PRODUCT_NEGATIVE;
    if (any_lane(seen->zeros)) into->partial->product_flags |= WF_PRODUCT_ZERO;
    if (any_lane(seen->infinities)) into->partial->product_flags |= WF_PRODUCT_INFINITY;
    note_nans(into, count_of(&seen->nans), x, NULL, count, into->tree->end);
}

/* A block shorter than a vector of elements fills it. */
APART struct wf_factor tree_node(struct wf_open_partial *into, struct wf_scratch *scratch, const unsigned char *x,
                                 int level) {
    double *leaf = (double *)(void *)scratch->copy[1];
    struct leaves seen = make_leaves(leaf, x, (size_t)1 << level);
    struct wf_factor node = multiply_leaves(leaf, level > LEAF_LEVEL ? level - LEAF_LEVEL : 0);
    note_leaves(into, &seen, x, (size_t)1 << level);
    node.exponent += LOW_EXPONENT * count_of(&seen.subnormals);
    return node;
}

#endif
