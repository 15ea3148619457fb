/* Floats and their bits. */
#ifndef SIMT_LANES_IEEE_H
#define SIMT_LANES_IEEE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float f32_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double f64_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint64_t bits_of_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline bool is_nan_f16(uint16_t bits) {
    return (bits & 0x7fff) > 0x7c00;
}

static inline bool is_nan_bf16(uint16_t bits) {
    return (bits & 0x7fff) > 0x7f80;
}

static inline bool is_nan_f32(uint32_t bits) {
    return (bits & 0x7fffffff) > 0x7f800000;
}

static inline bool is_nan_f64(uint64_t bits) {
    return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
}

/* Both 16-bit formats are within f32. */
static inline float f16_of(uint16_t bits) {
    uint32_t magnitude = (uint32_t)(bits & 0x7fff) << 13;
    if (magnitude < 0x0f800000) magnitude = bits_of_f32(f32_of(magnitude) * 0x1p112f); /* of exponent bias */
    else magnitude |= 0x7f800000;
    return f32_of(magnitude | (uint32_t)(bits & 0x8000) << 16);
}

static inline float bf16_of(uint16_t bits) {
    return f32_of((uint32_t)bits << 16);
}

static inline uint64_t quiet_f64(uint64_t bits) {
    return bits | 0x0008000000000000;
}

/* .ftz: a subnormal number is the zero of its sign. */
static inline uint32_t flush_f32(uint32_t bits) {
    return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

static inline uint16_t flush_bf16(uint16_t bits) {
    return bits & 0x7f80 ? bits : bits & 0x8000;
}

static inline uint16_t flush_f16(uint16_t bits) {
    return bits & 0x7c00 ? bits : bits & 0x8000;
}

/* a * b + c in twice the precision, rounded to odd: rounding that once more, to a precision of two bits less
 * or fewer, gives the exact value rounded once.  The product of two f32 (or narrower) is exact. */
static inline double multiply_add_to_odd(double a, double b, double c) {
    double product = a * b, sum = product + c;
    double part = sum - product; /* of c */
    double error = (product - (sum - part)) + (c - part);
    uint64_t bits = bits_of_f64(sum);
    /* To the neighbour on the exact value's side, whose last bit is odd; infinities and NaN have an error of
     * NaN. */
    uint64_t is_inexact =
        bits_of_f64(__builtin_fabs(error) > 0 ? 1.0 : 0.0) >> 52; /* compilers vectorise this */
    uint64_t is_moved = is_inexact & ~bits & 1;
    uint64_t is_towards_zero = (bits ^ bits_of_f64(error)) >> 63;
    return f64_of(bits + is_moved - 2 * (is_moved & is_towards_zero));
}

/* A double rounded to nearest in a 16-bit format with that precision and largest exponent; NaN is
 * 0x7fff. */
static inline uint16_t narrow_f64(double value, int precision, int exponent_max) {
    uint64_t bits = bits_of_f64(value);
    uint32_t sign = (uint32_t)(bits >> 48) & 0x8000;
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023 + exponent_max; /* as stored, if it is normal */
    uint64_t infinity = (uint64_t)(2 * exponent_max + 1) << (precision - 1);
    if (value != value) return 0x7fff;
    if (exponent > 2 * exponent_max) return (uint16_t)(sign | infinity);
    uint64_t significand = (bits & 0xfffffffffffff) | 0x10000000000000;
    int drop = 53 - precision + (exponent < 1 ? 1 - exponent : 0);
    if (drop > 54) return (uint16_t)sign; /* less than half of the least */
    uint64_t rounded = (significand + ((uint64_t)1 << (drop - 1)) - 1 + (significand >> drop & 1)) >> drop;
    /* The hidden bit counts the exponent up. */
    return (uint16_t)(sign | (rounded + ((uint64_t)(exponent < 1 ? 0 : exponent - 1) << (precision - 1))));
}

static inline uint16_t f16_from(double value) {
    return narrow_f64(value, 11, 15);
}

static inline uint16_t bf16_from(double value) {
    return narrow_f64(value, 8, 127);
}

static inline double e4m3_of(uint8_t bits) {
    const uint32_t magnitude = bits & 0x7f, exponent = magnitude >> 3, fraction = magnitude & 7;
    if (magnitude == 0x7f) return __builtin_nan("");
    const double value =
        exponent ? __builtin_ldexp(8 + fraction, (int)exponent - 10) : __builtin_ldexp(fraction, -9);
    return bits >> 7 ? -value : value;
}

/* The less or the greater of two numbers of a 16-bit format, which its infinity tells; -0 is less than +0.  A
 * NaN gives way to a number, or wins. */
static inline uint16_t extremum_half(uint16_t a, uint16_t b, uint16_t infinity, bool nan_wins,
                                    bool is_greater) {
    bool a_is_nan = (a & 0x7fff) > infinity, b_is_nan = (b & 0x7fff) > infinity;
    if ((a_is_nan && b_is_nan) || (nan_wins && (a_is_nan || b_is_nan))) return 0x7fff;
    if (a_is_nan) return b;
    if (b_is_nan) return a;
    int16_t a_order = (int16_t)(a >> 15 ? a ^ 0x7fff : a), b_order = (int16_t)(b >> 15 ? b ^ 0x7fff : b);
    return (a_order > b_order) == is_greater ? a : b;
}

/* f32 without the bits that tf32 lacks: to nearest, ties to even; there is one NaN. */
enum { TF32_STEP = 0x2000, TF32_MASK = ~(TF32_STEP - 1), TF32_NAN = 0x7fffe000 };

static inline uint32_t tf32_rn(uint32_t bits) {
    uint32_t is_odd = bits / TF32_STEP & 1;
    return is_nan_f32(bits) ? TF32_NAN : (bits + TF32_STEP / 2 - 1 + is_odd) & (uint32_t)TF32_MASK;
}

#endif
