/* The GPU's kernels include this file (core/portable.h). */
#include "core/small_finish.h"
#include "core/big.h"

/* A natural number times 2^exponent; odd, or 0. */
struct odd {
    wf_u128 magnitude;
    int32_t exponent;
};

static struct odd odd_of(wf_i128 value, int32_t exponent) {
    struct odd odd = {value < 0 ? -(wf_u128)value : (wf_u128)value, exponent};
    if (!odd.magnitude) return odd;
    uint64_t low = (uint64_t)odd.magnitude;
    int zeros = low ? wf_trailing_zeros_u64(low) : 64 + wf_trailing_zeros_u64((uint64_t)(odd.magnitude >> 64));
    odd.magnitude >>= zeros;
    odd.exponent += zeros;
    return odd;
}

/* Gives x the lower exponent; false if that takes more than 127 bits. */
static bool lower_exponent(struct odd *x, int32_t exponent) {
    int32_t shift = x->exponent - exponent;
    if (shift <= 0 || !x->magnitude) return true;
    if (shift > wf_leading_zeros_u128(x->magnitude) - 1) return false;
    x->magnitude <<= shift;
    x->exponent = exponent;
    return true;
}

/* n*S2 - S1^2, which is never negative. */
static bool small_variance_numerator(struct odd *numerator, const struct wf_small_sums *sums) {
    struct odd sum = odd_of(sums->sum, sums->sum_exponent), squares = odd_of(sums->squares, sums->squares_exponent);
    int count_bits = 64 - wf_leading_zeros_u64((uint64_t)sums->count);
    if (sum.magnitude >> 63 || wf_leading_zeros_u128(squares.magnitude | 1) <= count_bits) return false;
    struct odd square = {sum.magnitude * sum.magnitude, 2 * sum.exponent};
    squares.magnitude *= (wf_u128)sums->count;
    if (!lower_exponent(&squares, square.exponent) || !lower_exponent(&square, squares.exponent)) return false;
    numerator->magnitude = squares.magnitude - square.magnitude;
    numerator->exponent = squares.exponent;
    return true;
}

/* floor(sqrt(x)), where x >= 2^126: from an f64's root, one step of Newton's, and what is left of its error. */
static uint64_t floor_of_root(wf_u128 x) {
    double estimate = sqrt((double)x);
    uint64_t root = estimate < 0x1p64 ? (uint64_t)estimate : UINT64_MAX;
    wf_u128 improved = ((wf_u128)root + x / root) / 2;
    root = improved >> 64 ? UINT64_MAX : (uint64_t)improved;
    while ((wf_u128)root * root > x) root--;
    while (root < UINT64_MAX && (wf_u128)(root + 1) * (root + 1) <= x) root++;
    return root;
}

/* Of a number of 128 bits' quotient the highest 127 or 128 bits, so that the exponent is even, are enough: 64 bits of the
 * root, and whether anything is left, which takes the place of all bits below. */
static struct wf_number root_of_quotient(struct odd numerator, uint64_t divisor) {
    if (!numerator.magnitude) return wf_number_zero(false);
    struct wf_number square = wf_quotient_u128(false, numerator.magnitude, numerator.exponent, divisor);
    bool is_odd = square.exponent & 1, is_cut = is_odd && square.mantissa & 1;
    wf_u128 x = square.mantissa >> is_odd;
    uint64_t root = floor_of_root(x);
    bool inexact = square.inexact || is_cut || (wf_u128)root * root != x;
    return wf_number_make(false, (wf_u128)root << 64 | inexact, (square.exponent + is_odd) / 2 - 64, false);
}

bool wf_small_finish(wf_op op, const struct wf_small_sums *sums, int64_t ddof, struct wf_number *number) {
    const int64_t count = sums->count;
    struct odd numerator;
    if (count <= 0 || count >> 31) return false;
    if (op == WF_MEAN) {
        wf_u128 magnitude = sums->sum < 0 ? -(wf_u128)sums->sum : (wf_u128)sums->sum;
        bool is_negative = magnitude ? sums->sum < 0 : sums->is_minus_zero;
        *number = wf_quotient_u128(is_negative, magnitude, sums->sum_exponent, (uint64_t)count);
        return true;
    }
    if (op == WF_NORM2) {
        *number = root_of_quotient(odd_of(sums->squares, sums->squares_exponent), 1);
        return true;
    }
    if (count <= ddof || !small_variance_numerator(&numerator, sums)) return false;
    uint64_t divisor = (uint64_t)count * (uint64_t)(count - ddof);
    *number = op == WF_STD ? root_of_quotient(numerator, divisor)
                           : wf_quotient_u128(false, numerator.magnitude, numerator.exponent, divisor);
    return op == WF_VAR || op == WF_STD;
}
