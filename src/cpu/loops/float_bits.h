/* What the bits of a float element stand for. */
#ifndef WF_CPU_LOOPS_FLOAT_BITS_H
#define WF_CPU_LOOPS_FLOAT_BITS_H

#include "cpu/loops/vector.h"

enum {
    IS_F64 = ELEMENT == ELEMENT_F64,
    FRACTION_BITS = PRECISION - 1,
    SIGN_SHIFT = FRACTION_BITS + EXPONENT_BITS,
    BIAS = (1 << (EXPONENT_BITS - 1)) - 1,
    LOW_EXPONENT = 1 - BIAS - FRACTION_BITS, /* every element is a multiple of 2^LOW_EXPONENT */
};

#define MAGNITUDE ((uword)((uword)-1 >> 1))
#define INFINITY_BITS ((uword)((uword)((1 << EXPONENT_BITS) - 1) << FRACTION_BITS))
#define MINUS_ZERO TOP_BIT

#define HIDDEN_BIT ((uword)((uword)1 << FRACTION_BITS))

typedef sword key;

/* Flips the bits below the sign of negative elements: see wf_bits_to_key. */
INLINE key key_of(uword bits) {
    key value = (key)bits;
    return (key)(value ^ ((key)(value >> SIGN_SHIFT) & (key)MAGNITUDE));
}

INLINE bool is_nan(uword bits) {
    return (bits & MAGNITUDE) > INFINITY_BITS;
}

INLINE bool is_infinite(uword bits) {
    return (bits & MAGNITUDE) == INFINITY_BITS;
}

INLINE bool is_nonzero(uword bits) {
    return (bits & MAGNITUDE) != 0;
}

INLINE bool is_negative(uword bits) {
    return bits >> SIGN_SHIFT & 1;
}

/* LANES elements as f64, infinities and NaNs as such: by what is not finite, sums of a few are seen to have failed. */
INLINE vf64 widen(const unsigned char *x) {
    _Static_assert(ELEMENT == ELEMENT_F16 || ELEMENT == ELEMENT_BF16 || ELEMENT == ELEMENT_F32 ||
                       ELEMENT == ELEMENT_F64,
                   "a new float type has a case here");
    switch (ELEMENT) {
    case ELEMENT_F16: return widen_f16(x);
    case ELEMENT_BF16: return widen_bf16(x);
    case ELEMENT_F32: return widen_f32(x);
    default: return load_f64(x);
    }
}

#define NONZERO_MASK MAGNITUDE

INLINE vsword lanes_of_nans(vsword magnitudes) {
    return magnitudes > (sword)INFINITY_BITS;
}

/* key_of undoes what it does. */
INLINE bool is_nan_key(key of_element) {
    return is_nan((uword)key_of((uword)of_element));
}

INLINE vsword lanes_of_key(vsword bits, key wanted) {
    return bits == key_of((uword)wanted);
}

#endif
