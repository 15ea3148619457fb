/* The exact sum: a long fixed-point number (Kulisch's long accumulator, in the redundant form of
 * R. Neal, "Fast exact summation using small and large superaccumulators", 2015, section 3).
 *
 * Signed 64-bit digits spaced 32 bits apart: value = sum of digit[i] * 2^(32*i + low_exponent).  Adding two of
 * these numbers is integer addition, digit by digit, on any device.  A normalised digit takes 2^30 additions of
 * pieces below 2^32 before carries must be propagated; callers that add many keep count (cpu/workers.c). */
#ifndef WF_CORE_EXACT_H
#define WF_CORE_EXACT_H

#include "core/portable.h"

/* f64 products: from 2^-2148 to 2^2048, 2^63 of them, a sign. */
#define WF_EXACT_DIGITS_MAX 136

/* The digits are stored by the owner of the number, a partial. */
struct wf_exact {
    int64_t *digit;
    int32_t low_exponent;
    int32_t digit_count;
};

/* Digits for 2^63 multiples of 2^low_exponent of at most 2^high_exponent in magnitude: 63 bits for the count, one
 * for the sign, two digits so that an addition at the top has its three. */
static inline int wf_exact_digit_count(int low_exponent, int high_exponent) {
    return (high_exponent - low_exponent + 64 + 31) / 32 + 2;
}

/* Whether `count` digits are all 0. */
static inline bool wf_digits_are_zero(const int64_t *digit, int count) {
    for (; count >= 4; count -= 4, digit += 4)
        if (digit[0] | digit[1] | digit[2] | digit[3]) return false;
    int64_t bits = 0;
    for (int i = 0; i < count; i++) bits |= digit[i];
    return !bits;
}

/* Moves carries up: digits 0 <= d < 2^32, except for the last, which has the sign.  Equal values have equal
 * digits then. */
void wf_exact_normalise(struct wf_exact x);

/* into += from, of the same exponents; into is normalised. */
void wf_exact_add(struct wf_exact into, struct wf_exact from);

/* x += value * 2^exponent, where low_exponent <= exponent and the digits reach 96 bits above it. */
static inline void wf_exact_add_i64(const struct wf_exact *x, int64_t value, int exponent) {
    unsigned position = (unsigned)(exponent - x->low_exponent);
    wf_i128 shifted = (wf_i128)((wf_u128)(wf_i128)value << (position % 32));
    int64_t *digit = x->digit + position / 32;
    digit[0] += (uint32_t)shifted;
    digit[1] += (uint32_t)(shifted >> 32);
    digit[2] += (int64_t)(shifted >> 64);
}

static inline void wf_exact_add_i128(const struct wf_exact *x, wf_i128 value, int exponent) {
    wf_exact_add_i64(x, (uint32_t)value, exponent);
    wf_exact_add_i64(x, (uint32_t)(value >> 32), exponent + 32);
    wf_exact_add_i64(x, (int64_t)(value >> 64), exponent + 64);
}

/* The significand of a finite f64, with its sign, and the exponent of its unit. */
static inline int64_t wf_f64_significand(double value, int *exponent) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int field = (int)(bits >> 52) & 0x7ff;
    int64_t fraction = (int64_t)(bits & ((UINT64_C(1) << 52) - 1));
    int64_t magnitude = fraction | (int64_t)(field != 0) << 52;
    *exponent = (field ? field : 1) - 1075;
    return bits >> 63 ? -magnitude : magnitude;
}

/* x += value, finite and a multiple of 2^low_exponent. */
static inline void wf_exact_add_f64(const struct wf_exact *x, double value) {
    int exponent;
    int64_t significand = wf_f64_significand(value, &exponent);
    /* A narrower type's value has zeros down there: its unit, as an f64, may lie below low_exponent. */
    if (exponent < x->low_exponent) {
        significand >>= x->low_exponent - exponent < 63 ? x->low_exponent - exponent : 63;
        exponent = x->low_exponent;
    }
    wf_exact_add_i64(x, significand, exponent);
}

/* x += a * b, both finite. */
static inline void wf_exact_add_product(const struct wf_exact *x, double a, double b) {
    int exponent_a, exponent_b;
    wf_i128 product = (wf_i128)wf_f64_significand(a, &exponent_a) * wf_f64_significand(b, &exponent_b);
    int exponent = exponent_a + exponent_b;
    if (exponent < x->low_exponent) {
        product >>= x->low_exponent - exponent < 127 ? x->low_exponent - exponent : 127;
        exponent = x->low_exponent;
    }
    wf_exact_add_i128(x, product, exponent);
}

#endif
