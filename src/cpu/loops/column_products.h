/* Products of columns of floats: lanes are columns, each of which is a tree (core/product.h) of its own, whose first leaf is
 * in the first row.  What has no factor is 1 there, and noted. */
#ifndef WF_CPU_LOOPS_COLUMN_PRODUCTS_H
#define WF_CPU_LOOPS_COLUMN_PRODUCTS_H

#include "cpu/loops/few_sums.h"
#include "cpu/loops/nodes.h"
#include "cpu/loops/strip.h"
#include "cpu/products.h"

/* That many rows at a time become one node of each column. */
enum { PRODUCT_ROWS_LEVEL = 3, PRODUCT_ROWS = 1 << PRODUCT_ROWS_LEVEL };

/* What columns were. */
struct factors_seen {
    vi64 exponents;               /* the sum of those of the leaves */
    vi64 signs;                   /* the top bit: whether an odd number is negative */
    vi64 zeros, infinities, nans; /* all ones: there were some */
};

struct column_products {
    struct nodes node[WF_TREE_ROWS_LEVEL - PRODUCT_ROWS_LEVEL + 1]; /* of 2^k blocks of rows, where the number of blocks has a bit k */
    struct factors_seen seen;
};

/* Subnormals of f64, which no wider type makes normal, as the integers that their fractions are. */
INLINE vi64 scale_subnormal_factors(struct factors_seen *seen, vi64 magnitude) {
    const int64_t hidden_bit = INT64_C(1) << 52, exponent_52 = (INT64_C(1023) + 52) << 52;
    const vi64 is_subnormal = magnitude < hidden_bit;
    seen->exponents += is_subnormal & (int64_t)LOW_EXPONENT;
    return (vi64)select_f64(is_subnormal, (vf64)(magnitude | exponent_52) - 0x1p52, (vf64)magnitude);
}

/* LANES elements as factors from 1 to 2. */
INLINE vf64 load_factors(struct factors_seen *seen, const unsigned char *x) {
    const int64_t infinity = INT64_C(2047) << 52;
    const vi64 bits = (vi64)widen(x);
    vi64 magnitude = bits & INT64_MAX;
    const vi64 is_nan = magnitude > infinity, is_infinite = magnitude == infinity, is_zero = magnitude == 0;
    seen->signs ^= bits & ~is_nan;
    seen->zeros |= is_zero;
    seen->infinities |= is_infinite;
    seen->nans |= is_nan;
    magnitude = (vi64)select_f64(is_nan | is_infinite | is_zero, (vf64)((vi64){0} + ONE), (vf64)magnitude);
    if (IS_F64) magnitude = scale_subnormal_factors(seen, magnitude);
    return split_leaves(magnitude, &seen->exponents);
}

INLINE void join_neighbours(struct nodes *node, int count) {
    UNROLLED
    for (int i = 0; i < count; i++) node[i] = multiply_nodes(node[2 * i], node[2 * i + 1]);
}

_Static_assert(PRODUCT_ROWS_LEVEL <= 3, "a level more is joined");

/* The node of 2^level factors: a constant level. */
INLINE struct nodes multiply_factor_vectors(const vf64 *factor, int level) {
    struct nodes node[PRODUCT_ROWS / 2];
    if (level == 0) return (struct nodes){factor[0], {0}};
    UNROLLED
    for (int r = 0; r < 1 << level; r += 2) node[r / 2] = multiply_leaf_vectors(factor[r], factor[r + 1]);
    if (level > 1) join_neighbours(node, 1 << level >> 2);
    if (level > 2) join_neighbours(node, 1 << level >> 3);
    return node[0];
}

/* The node of 2^level rows, of which the last may be missing: a constant level. */
INLINE struct nodes multiply_rows(struct factors_seen *seen, struct strip strip, size_t rows, int level) {
    vf64 factor[PRODUCT_ROWS];
    UNROLLED
    for (int r = 0; r < 1 << level; r++) {
        factor[r] = (size_t)r < rows ? load_factors(seen, strip.x) : (vf64){0} + 1;
        strip.x += strip.stride_bytes;
    }
    seen->exponents -= 1023 * (int64_t)(rows < 1u << level ? rows : 1u << level);
    return multiply_factor_vectors(factor, level);
}

APART struct nodes multiply_any_rows(struct factors_seen *seen, struct strip strip, size_t rows) {
    return multiply_rows(seen, strip, rows, PRODUCT_ROWS_LEVEL);
}

/* Elements that are neither 0, infinite or NaN, nor subnormal f64, as magnitudes; *others: not all bits 0, unless all are. */
INLINE vf64 load_plain(struct factors_seen *seen, vi64 *others, const unsigned char *x) {
    const int64_t least = INT64_C(1) << 52, span = (INT64_C(2047) << 52) - least;
    const vi64 bits = (vi64)widen(x), magnitude = bits & INT64_MAX;
    /* Unsigned, it would be less than span: with the top bit flipped, it is in the order of signed integers. */
    *others |= (vi64)((vi64)((vu64)magnitude - (uint64_t)(least ^ INT64_MIN)) >= (span ^ INT64_MIN));
    seen->signs ^= bits;
    return (vf64)magnitude;
}

/* Products that are f64. */
INLINE void join_leaves(vf64 *leaf, int count) {
    UNROLLED
    for (int i = 0; i < count; i++) leaf[i] = leaf[2 * i] * leaf[2 * i + 1];
}

/* The same as multiply_rows, where all elements are plain; else *are_plain is false, and what is returned of no use. */
INLINE struct nodes multiply_plain_rows(struct factors_seen *seen, bool *are_plain, struct strip strip, size_t rows, int level) {
    enum { LEAVES_MAX = PRODUCT_ROWS };
    const int joined = level < LEAF_LEVEL ? level : LEAF_LEVEL;
    vf64 leaf[LEAVES_MAX];
    vi64 others = {0};
    UNROLLED
    for (int r = 0; r < 1 << level; r++) {
        leaf[r] = (size_t)r < rows ? load_plain(seen, &others, strip.x) : (vf64){0} + 1;
        strip.x += strip.stride_bytes;
    }
    if (joined > 0) join_leaves(leaf, 1 << level >> 1);
    if (joined > 1) join_leaves(leaf, 1 << level >> 2);
    UNROLLED
    for (int r = 0; r < 1 << (level - joined); r++) leaf[r] = split_leaves((vi64)leaf[r], &seen->exponents);
    seen->exponents -= 1023 * (INT64_C(1) << (level - joined));
    *are_plain = lane_bits((vsword)others) == 0;
    return multiply_factor_vectors(leaf, level - joined);
}

/* The node of the next rows, at most PRODUCT_ROWS. */
INLINE struct nodes multiply_some_rows(struct factors_seen *seen, struct strip strip, size_t rows) {
    struct factors_seen found = *seen;
    struct nodes node;
    bool are_plain;
    if (rows > 4)
        node = multiply_plain_rows(&found, &are_plain, strip, rows, PRODUCT_ROWS_LEVEL);
    else if (rows > 2)
        node = multiply_plain_rows(&found, &are_plain, strip, rows, 2);
    else if (rows > 1)
        node = multiply_plain_rows(&found, &are_plain, strip, rows, 1);
    else
        node = multiply_plain_rows(&found, &are_plain, strip, rows, 0);
    if (!are_plain) return multiply_any_rows(seen, strip, rows);
    *seen = found;
    return node;
}

/* Brings hi back to between 1 and 2, as it would otherwise leave the range of f64 where nodes of 2^LANE_LEVEL rows are
 * joined. */
INLINE struct nodes scale_node(struct factors_seen *seen, struct nodes node) {
    const vi64 field = (vi64)((vu64)node.hi >> 52);
    const vf64 scale = (vf64)((vu64)(2046 - field) << 52);
    seen->exponents += field - 1023;
    return (struct nodes){node.hi * scale, node.lo * scale};
}

/* Joins the node of the next rows, which begin with row `first`, to those before. */
INLINE void join_node(struct column_products *products, struct nodes node, size_t first) {
    size_t block = first / PRODUCT_ROWS;
    int k = 0;
    for (; block & 1; block /= 2) {
        node = multiply_nodes(products->node[k++], node);
        if (k + PRODUCT_ROWS_LEVEL >= LANE_LEVEL) node = scale_node(&products->seen, node);
    }
    products->node[k] = node;
}

/* The node of all rows, with those joined first that are less. */
INLINE struct nodes join_all_nodes(const struct column_products *products, size_t rows) {
    size_t blocks = (rows + PRODUCT_ROWS - 1) / PRODUCT_ROWS;
    int k = __builtin_ctzl(blocks);
    struct nodes node = products->node[k];
    for (blocks = blocks >> k >> 1, k++; blocks; blocks /= 2, k++)
        if (blocks & 1) node = multiply_nodes(products->node[k], node);
    return node;
}

/* (hi + lo) * 2^exponent, with hi from 1 to 2, rounded to an element that stays f64.  *lost: lanes, all ones, in which it is a
 * subnormal f64, or 0 that might be one. */
INLINE vf64 round_node(vi64 *lost, struct nodes node, vi64 exponent) {
    const vf64 infinite = (vf64){0} + HUGE_VAL;
    if (IS_F64) {
        const vi64 is_large = exponent > 1023, is_small = exponent < -1022, is_zero = exponent < -1080;
        const vf64 normal = (vf64)((vu64)node.hi + ((vu64)exponent << 52));
        *lost = is_small & ~is_zero;
        return select_f64(is_large, infinite, (vf64)((vi64)normal & ~is_small));
    }
    const int64_t most = 1000; /* which decides */
    const vi64 is_above = exponent > most, is_below = exponent < -most;
    exponent = (exponent & ~is_above & ~is_below) | (is_above & most) | (is_below & -most);
    const vf64 x = round_to_odd(node.hi, node.lo) * (vf64)((vu64)(exponent + 1023) << 52);
    *lost = (vi64){0};
    const vf64 found = round_to_element(x);
    return select_f64((vi64)(found - found == 0), found, infinite);
}

/* What is infinite or NaN as store_elements takes it: of f16 there is no f64 that it would make these of. */
INLINE vf64 special_as_stored(bool is_nan) {
    const vf64 above = two_to(IS_F64 ? 0 : BIAS + 1);
    if (EXPONENT_BITS < 8) return is_nan ? 1.5 * above : above;
    return (vf64){0} + (is_nan ? (double)NAN : HUGE_VAL);
}

/* The products of LANES columns.  *lost: lanes, not all bits 0, whose product has not been found. */
INLINE vf64 column_products(vi64 *lost, const struct column_products *products, size_t rows,
                            const struct wf_quotient *asked) {
    struct factors_seen seen[1] = {products->seen};
    const struct nodes node = scale_node(seen, join_all_nodes(products, rows));
    const vi64 exponent = seen->exponents, is_decided = seen->zeros | seen->infinities;
    const vi64 nans = asked->omits_nan ? (vi64){0} : seen->nans, is_nan = nans | (seen->zeros & seen->infinities);
    vf64 found = round_node(lost, node, exponent);
    found = select_f64(seen->infinities | ((vi64)(found == HUGE_VAL) & ~seen->zeros), special_as_stored(false), found);
    found = (vf64)(((vi64)found & ~seen->zeros) | (seen->signs & INT64_MIN));
    *lost = (*lost & ~is_decided & ~is_nan) | (asked->gives_nan ? (vi64){0} : nans);
    return select_f64(is_nan, special_as_stored(true), found);
}

#endif
