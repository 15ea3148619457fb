/* Numbers of two f64, of which the first is their sum rounded, lane by lane. */
#ifndef WF_CPU_LOOPS_TWO_SUM_H
#define WF_CPU_LOOPS_TWO_SUM_H

#include "cpu/block.h"
#include "cpu/loops/vector.h"

#include <math.h>

/* high + low, of which high is the sum rounded. */
struct pair {
    vf64 high, low;
};

INLINE struct pair two_sum(vf64 a, vf64 b) {
    vf64 sum = a + b, part = sum - a;
    return (struct pair){sum, (a - (sum - part)) + (b - part)};
}

INLINE struct pair two_product(vf64 a, vf64 b) {
    vf64 product = a * b;
    return (struct pair){product, product_error(a, b, product)};
}

/* The neighbour of x in the direction of what is left, if that is not 0 and x is even: x rounded to odd. */
INLINE vf64 round_to_odd(vf64 x, vf64 left) {
    vi64 bits = (vi64)x, is_even = (bits & 1) - 1, is_exact = (vi64)(left == 0);
    vi64 step = ((bits ^ (vi64)left) < 0) | 1; /* away from 0, or towards it */
    return (vf64)(bits + (step & is_even & ~is_exact));
}

/* The sum rounded once.  That of nothing but -0 is -0. */
INLINE vf64 sum_of_pair(struct pair x) {
    vf64 sum = x.high + x.low;
    vi64 is_zero = (vi64)(x.high == 0) & (vi64)(sum == 0);
    return (vf64)((vi64)sum | ((vi64)x.high & is_zero));
}

/* The quotient x / n, except for at most 2^-99 of it: n is a small natural number. */
INLINE struct pair quotient_of(struct pair x, vf64 n) {
    vf64 quotient = x.high / n, left = fused(-quotient, n, x.high);
    return two_sum(quotient, (left + x.low) / n);
}

/* The square root of each lane. */
INLINE vf64 root_of(vf64 x) {
    vf64 root = {0};
    for (int lane = 0; lane < LANES; lane++) root[lane] = sqrt(x[lane]);
    return root;
}

/* What is asked for of LANES columns. */
struct lane_quotient {
    vf64 count, divisor;
    bool is_power, is_root, is_norm;
};

INLINE struct lane_quotient quotient_at(const struct wf_quotient *asked, size_t column) {
    const vf64 none = {0};
    struct lane_quotient lanes = {none + asked->count, none + asked->divisor, asked->is_power, asked->is_root,
                                  !(asked->parts & WF_PART_SUM)};
    if (asked->counts) memcpy(&lanes.count, asked->counts + column, sizeof lanes.count);
    if (asked->counts) memcpy(&lanes.divisor, asked->divisors + column, sizeof lanes.divisor);
    return lanes;
}

/* n*S2 - S1^2. */
INLINE struct pair variance_numerator(struct pair sum, struct pair squares, vf64 n) {
    struct pair minuend = two_product(n, squares.high), square = two_product(sum.high, sum.high);
    struct pair difference = two_sum(minuend.high, -square.high);
    vf64 rest = (minuend.low - square.low) + (n * squares.low - 2 * sum.high * sum.low);
    return two_sum(difference.high, difference.low + rest);
}

/* The root.  *bound: what x may lack, then what the root may. */
INLINE struct pair root_of_pair(struct pair x, vf64 *bound) {
    struct pair found = x;
    vi64 is_zero = (vi64)(found.high == 0);
    vf64 root = (vf64)((vi64)root_of(found.high) | ((vi64)((vf64){0} + 1) & is_zero));
    vf64 left = fused(-root, root, found.high) + found.low;
    *bound = *bound / root;
    found = two_sum(root, left / (2 * root));
    return (struct pair){(vf64)((vi64)found.high & ~is_zero), (vf64)((vi64)found.low & ~is_zero)};
}

/* (n*S2 - S1^2) / divisor, or the root of that, or of S2.  *bound: what n*S2 - S1^2, or S2, may lack, then what the result
 * may. */
INLINE struct pair variance_of_pairs(struct pair sum, struct pair squares, const struct lane_quotient *asked, vf64 *bound) {
    struct pair found = two_sum(squares.high, squares.low);
    if (!asked->is_norm) {
        found = quotient_of(variance_numerator(sum, squares, asked->count), asked->divisor);
        *bound = *bound / asked->divisor;
    }
    *bound += found.high * 0x1p-98;
    return asked->is_root ? root_of_pair(found, bound) : found;
}

/* What is left of a sum: less than 0, 0 or more than 0 where sum - (x + half) * n is.  x * n is within a few units in the
 * last place of sum.high, and half is at most half of x's last place.
 *
 * The differences of the high parts are exact: they are near to each other, and what they and half * n are multiples of is
 * larger than the last place of `low`, so that it is decisive unless they cancel. */
INLINE vf64 left_of_sum(struct pair sum, vf64 x, vf64 half, vf64 n) {
    struct pair product = two_product(x, n), low = two_sum(sum.low, -product.low);
    vf64 left = ((sum.high - product.high) - half * n) + low.high;
    return (vf64)(((vi64)(left == 0) & (vi64)low.low) | (~(vi64)(left == 0) & (vi64)left));
}

/* The quotient sum / n rounded once, of a quotient that is within half a unit and 2^-40 of a unit in the last place of x,
 * towards rest: it is x, or its neighbour on that side, whichever the sum is nearer to; if it is half-way, the even one. */
INLINE vf64 nearer_quotient(struct pair sum, vf64 x, vf64 rest, vf64 n) {
    vi64 bits = (vi64)x, is_downward = (bits ^ (vi64)rest) >> 63; /* towards 0 */
    vf64 other = (vf64)((vu64)bits + (vu64)(is_downward | 1)); /* of a NaN anything */
    vf64 half = (other - x) * 0.5;
    vf64 left = left_of_sum(sum, x, half, n);
    vi64 is_half_way = (vi64)(left == 0), is_beyond = ~(((vi64)left ^ (vi64)half) >> 63);
    vi64 is_other = (is_half_way & -(bits & 1)) | (~is_half_way & is_beyond);
    return (vf64)(((vi64)other & is_other) | (bits & ~is_other));
}

/* The mean of n elements that are an exact sum, rounded once.  A power of two divides what has been rounded.  lost: lanes,
 * not all bits 0, in which that is not known to be right: products with n, or their errors, might not be numbers of 53
 * bits. */
INLINE vf64 mean_of_pair(vi64 *lost, struct pair exact, vf64 n, bool is_power) {
    const double least = 0x1p-900, most = 0x1p900;
    vf64 sum = sum_of_pair(exact), magnitude = (vf64)((vi64)sum & INT64_MAX);
    vi64 is_zero = (vi64)(sum == 0);
    *lost |= ~((vi64)(magnitude >= least) & (vi64)(magnitude <= most)) & ~is_zero;
    if (is_power) return sum / n;
    struct pair parts = two_sum(exact.high, exact.low);
    parts.high = (vf64)((vi64)parts.high | ((vi64)((vf64){0} + 1) & is_zero)); /* whose neighbours are no subnormals */
    vf64 quotient = parts.high / n, left = fused(-quotient, n, parts.high) + parts.low;
    struct pair mean = two_sum(quotient, left * (1 / n));
    vf64 rounded_once = nearer_quotient(parts, mean.high, mean.low, n);
    return (vf64)(((vi64)sum & is_zero) | ((vi64)rounded_once & ~is_zero));
}

#endif
