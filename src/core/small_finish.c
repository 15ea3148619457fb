#include "core/small_finish.h"
#include "core/big.h"

/* A natural number times 2^exponent; odd, or 0. */
struct odd {
    wf_u128 magnitude;
    int32_t exponent;
};

static struct odd odd_of(wf_i128 value, int32_t exponent) {
    wf_u128 magnitude = value < 0 ? -(wf_u128)value : (wf_u128)value;
    if (!magnitude) return (struct odd){0, exponent};
    int zeros = (uint64_t)magnitude ? __builtin_ctzll((uint64_t)magnitude) : 64 + __builtin_ctzll((uint64_t)(magnitude >> 64));
    return (struct odd){magnitude >> zeros, exponent + zeros};
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
static bool variance_numerator(struct odd *numerator, const struct wf_small_sums *sums) {
    struct odd sum = odd_of(sums->sum, sums->sum_exponent), squares = odd_of(sums->squares, sums->squares_exponent);
    if (sum.magnitude >> 63 || squares.magnitude >> 95) return false;
    struct odd square = {sum.magnitude * sum.magnitude, 2 * sum.exponent};
    squares.magnitude *= (wf_u128)sums->count;
    if (!lower_exponent(&squares, square.exponent) || !lower_exponent(&square, squares.exponent)) return false;
    *numerator = (struct odd){squares.magnitude - square.magnitude, squares.exponent};
    return true;
}

static struct wf_number root_of_quotient(struct odd numerator, uint64_t divisor) {
    struct wf_big big;
    big.lowest = big.count = 0;
    for (wf_u128 rest = numerator.magnitude; rest; rest >>= 32) big.limb[big.count++] = (uint32_t)rest;
    return wf_big_quotient_root(&big, numerator.exponent, divisor);
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
    if (count <= ddof || !variance_numerator(&numerator, sums)) return false;
    uint64_t divisor = (uint64_t)count * (uint64_t)(count - ddof);
    *number = op == WF_STD ? root_of_quotient(numerator, divisor)
                           : wf_quotient_u128(false, numerator.magnitude, numerator.exponent, divisor);
    return op == WF_VAR || op == WF_STD;
}
