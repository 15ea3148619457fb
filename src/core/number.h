/* An exact result on its way to a type: the only place where warpfold rounds. */
#ifndef WF_CORE_NUMBER_H
#define WF_CORE_NUMBER_H

#include "core/types.h"

/* Requires x != 0. */
static inline int wf_leading_zeros_u128(wf_u128 x) {
    uint64_t high = (uint64_t)(x >> 64);
    return high ? wf_leading_zeros_u64(high) : 64 + wf_leading_zeros_u64((uint64_t)x);
}

enum wf_number_kind { WF_NUMBER_ZERO, WF_NUMBER_FINITE, WF_NUMBER_INFINITE, WF_NUMBER_NAN };

/* (mantissa + f) * 2^exponent, with the top bit of mantissa set; f is 0, or, where inexact, some fraction
 * strictly between 0 and 1.  128 bits leave room for the half that decides a rounding to any type. */
struct wf_number {
    enum wf_number_kind kind;
    bool negative;
    bool inexact;
    int32_t exponent;
    wf_u128 mantissa;
};

struct wf_number wf_number_zero(bool negative);
struct wf_number wf_number_infinite(bool negative);
struct wf_number wf_number_nan(void);

/* mantissa * 2^exponent, plus a fraction of 2^exponent where inexact; mantissa need not be normalised, but
 * if it is inexact then it must be, or have at least 66 bits.  A mantissa of 0 is zero, of the sign. */
struct wf_number wf_number_make(bool negative, wf_u128 mantissa, int32_t exponent, bool inexact);

struct wf_number wf_number_of_u64(uint64_t value);

/* The number that an element of type stands for: its bits, zero-extended. */
struct wf_number wf_number_of_bits(wf_type type, uint64_t bits);

/* A key is a signed integer that orders as the values of a type do, -0 below +0: of signed integers the value; of
 * u64 the value with its top bit flipped; of floats the bits, those below the sign flipped where negative,
 * sign-extended. */
uint64_t wf_key_to_bits(wf_type type, int64_t key);
int64_t wf_bits_to_key(wf_type type, uint64_t bits);

/* Rounds once, to nearest, ties to even.  Floats: a value beyond the range becomes an infinity.  Integers:
 * false, and no value, for what does not fit, infinities and NaN. */
bool wf_number_round(const struct wf_number *number, wf_type type, wf_value *value);

#endif
