#include "core/number.h"
#include "core/product.h"

/* value / 2^-126 rounded down, and whether that lost anything; |value| <= 2. */
static wf_i128 to_fixed(double value, bool *inexact) {
    int exponent;
    double fraction = frexp(value, &exponent);
    wf_i128 significand = (int64_t)ldexp(fraction, 53);
    int shift = exponent - 53 + 126;
    if (shift >= 0) return (wf_i128)((wf_u128)significand << shift);
    if (shift < -120) shift = -120;
    wf_i128 kept = significand >> -shift;
    *inexact |= (wf_i128)((wf_u128)kept << -shift) != significand;
    return kept;
}

struct wf_number wf_factor_number(struct wf_factor factor, bool negative) {
    bool inexact = false;
    wf_i128 fixed = to_fixed(factor.hi, &inexact) + to_fixed(factor.lo, &inexact);
    /* Beyond 2^20 the exponent decides alone: it overflows or vanishes in every type. */
    int64_t limit = 1 << 20;
    int64_t exponent = factor.exponent > limit ? limit : factor.exponent < -limit ? -limit : factor.exponent;
    return wf_number_make(negative, (wf_u128)fixed, (int32_t)exponent - 126, inexact);
}
