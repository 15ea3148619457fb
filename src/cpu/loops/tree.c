#define TYPE F64 /* what the vectors hold */
#include "cpu/loops/nodes.h"
#include "cpu/loops/tree.h"

void multiply_neighbours(struct factors to, struct factors from, int count) {
    double *restrict to_hi = to.hi, *restrict to_lo = to.lo;
    int32_t *restrict to_exponent = to.exponent;
    for (int i = 0; i < count; i++) {
        struct wf_factor a = {from.hi[2 * i], from.lo[2 * i], from.exponent[2 * i]};
        struct wf_factor b = {from.hi[2 * i + 1], from.lo[2 * i + 1], from.exponent[2 * i + 1]};
        struct wf_factor product = wf_factor_multiply(a, b);
        to_hi[i] = product.hi;
        to_lo[i] = product.lo;
        to_exponent[i] = (int32_t)product.exponent;
    }
}

/* ---- leaves that a double holds ---- */

/* Leaves as factors from 1 to 2; adds their biased exponents. */
INLINE vf64 load_leaves(const double *leaf, vi64 *exponents) {
    vu64 bits;
    memcpy(&bits, leaf, sizeof bits);
    return split_leaves((vi64)bits, exponents);
}

static struct wf_factor factor_of_leaf(double leaf) {
    int64_t bits;
    memcpy(&bits, &leaf, sizeof bits);
    struct wf_factor factor = {0, 0, (bits >> 52) - 1023};
    bits = (bits & FRACTION) | ONE;
    memcpy(&factor.hi, &bits, sizeof bits);
    return factor;
}

/* Joins neighbours that are that many lanes apart: of two vectors at a time, their nodes in turn. */
INLINE void join_rows(struct nodes *row, int count, int distance) {
    UNROLLED
    for (int i = 0; i < count / 2; i++) {
        struct nodes a = row[2 * i], b = row[2 * i + 1];
        struct nodes left = {left_lanes(a.hi, b.hi, distance), left_lanes(a.lo, b.lo, distance)};
        struct nodes right = {right_lanes(a.hi, b.hi, distance), right_lanes(a.lo, b.lo, distance)};
        row[i] = multiply_nodes(left, right);
    }
}

/* The nodes of LANES leaves in a row for each lane, whose leaves begin `stride` after those of the lane before: a
 * transposition, with a level of the tree after each of its steps. */
INLINE struct nodes multiply_tile(const double *leaf, size_t stride, vi64 *exponents) {
    struct nodes row[LANES / 2];
    UNROLLED
    for (int i = 0; i < LANES / 2; i++) {
        vf64 a = load_leaves(leaf + (size_t)(2 * i) * stride, exponents);
        vf64 b = load_leaves(leaf + (size_t)(2 * i + 1) * stride, exponents);
        row[i] = multiply_leaf_vectors(left_lanes(a, b, 1), right_lanes(a, b, 1));
    }
    if (LANES > 2) join_rows(row, LANES / 2, 2);
    if (LANES > 4) join_rows(row, LANES / 4, 4);
    return row[0];
}

/* The factor that (hi + lo) * 2^exponent is, with hi brought to between 1 and 2. */
INLINE struct wf_factor factor_of_node(double hi, double lo, int64_t exponent) {
    int64_t bits;
    memcpy(&bits, &hi, sizeof bits);
    int64_t field = bits >> 52, scale_bits = (2046 - field) << 52;
    double scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    return (struct wf_factor){hi * scale, lo * scale, exponent + field - 1023};
}

/* The product of a power of 2 of neighbours. */
INLINE struct wf_factor multiply_factors(struct wf_factor *factor, int count) {
    for (; count > 1; count /= 2)
        for (int i = 0; i < count / 2; i++) factor[i] = wf_factor_multiply(factor[2 * i], factor[2 * i + 1]);
    return factor[0];
}

/* Joins neighbours.  In two functions, or gcc 12 would keep all nodes in registers that there are not. */
static __attribute__((noinline)) void halve_nodes(struct nodes *node, size_t count) {
    for (size_t i = 0; i < count; i++) node[i] = multiply_nodes(node[2 * i], node[2 * i + 1]);
}

/* Each lane takes `stride` leaves in a row, a multiple of LANES. */
static struct wf_factor multiply_lanes(const double *leaf, size_t stride) {
    struct nodes node[(1 << LANE_LEVEL) / LANES];
    struct wf_factor factor[LANES];
    vi64 exponents = {0};
    size_t count = stride / LANES;
    for (size_t i = 0; i < count; i++) node[i] = multiply_tile(leaf + i * LANES, stride, &exponents);
    for (; count > 1; count /= 2) halve_nodes(node, count / 2);
    for (int lane = 0; lane < LANES; lane++)
        factor[lane] = factor_of_node(node[0].hi[lane], node[0].lo[lane], exponents[lane] - 1023 * (int64_t)stride);
    return multiply_factors(factor, LANES);
}

struct wf_factor multiply_leaves(double *leaf, int level) {
    enum { TILE = LANES * LANES };
    int count = 1 << level;
    if (count < LANES) {
        struct wf_factor factor[LANES];
        for (int i = 0; i < count; i++) factor[i] = factor_of_leaf(leaf[i]);
        return multiply_factors(factor, count);
    }
    for (; count < TILE; count++) leaf[count] = 1;
    return multiply_lanes(leaf, (size_t)count / LANES);
}
