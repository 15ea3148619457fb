/* Numbers of two f64, of which the first is their sum rounded, lane by lane. */
#ifndef WF_CPU_LOOPS_TWO_SUM_H
#define WF_CPU_LOOPS_TWO_SUM_H

#include "cpu/loops/vector.h"

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

/* The sum rounded once.  That of nothing but -0 is -0. */
INLINE vf64 sum_of_pair(struct pair x) {
    vf64 sum = x.high + x.low;
    vi64 is_zero = (vi64)(x.high == 0) & (vi64)(sum == 0);
    return (vf64)((vi64)sum | ((vi64)x.high & is_zero));
}

/* The quotient x / n, but for at most 2^-99 of it: n is a small natural number. */
INLINE struct pair quotient_of(struct pair x, vf64 n) {
    vf64 quotient = x.high / n, left = fused(-quotient, n, x.high);
    return two_sum(quotient, (left + x.low) / n);
}

/* The mean of n elements that are an exact sum, rounded once.  A power of two divides what has been rounded, and a sum that
 * is an f64 is divided by the processor, where no result is subnormal.  lost: lanes, not all bits 0, in which that is not
 * known to be right. */
INLINE vf64 mean_of_pair(vi64 *lost, struct pair exact, vf64 n, bool is_power) {
    const double least = 0x1p-900;
    vf64 sum = sum_of_pair(exact);
    struct pair parts = two_sum(exact.high, exact.low);
    vf64 magnitude = (vf64)((vi64)sum & INT64_MAX), direct = sum / n;
    *lost |= (vi64)(magnitude < least) & (vi64)(magnitude != 0);
    if (is_power) return direct;
    struct pair mean = quotient_of(parts, n);
    vi64 is_direct = (vi64)(parts.low == 0);
    vf64 wider = mean.high + mean.low * (1 + 0x1p-30);
    *lost |= ~is_direct & ~(vi64)(wider == mean.high);
    return (vf64)(((vi64)direct & is_direct) | ((vi64)mean.high & ~is_direct));
}

#endif
