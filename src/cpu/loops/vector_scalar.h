/* The portable tier: vectors of 16 bytes, in whatever instructions every processor of the target has. */
#include <math.h>

#define VECTOR_NBYTES 16
#include "cpu/loops/vector_types.h"

INLINE vf64 fused(vf64 a, vf64 b, vf64 c) {
    return (vf64){fma(a[0], b[0], c[0]), fma(a[1], b[1], c[1])};
}

/* fma may be a call of the C library. */
INLINE vf64 multiply_add(vf64 a, vf64 b, vf64 c) {
    return a * b + c;
}

/* a as a sum of two halves of 26 bits (Veltkamp). */
INLINE vf64 upper_half(vf64 a) {
    vf64 shifted = a * 0x1p27 + a;
    return shifted - (shifted - a);
}

/* As Dekker found it; a and b are far from the ends of the range. */
INLINE vf64 product_error(vf64 a, vf64 b, vf64 p) {
    vf64 a_high = upper_half(a), a_low = a - a_high, b_high = upper_half(b), b_low = b - b_high;
    return a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low);
}

INLINE vsword max_signed(vsword a, vsword b) {
    return select_where(a > b, a, b);
}

INLINE vsword min_signed(vsword a, vsword b) {
    return select_where(a < b, a, b);
}

#define UNSIGNED_FLIP TOP_BIT
INLINE vsword max_unsigned(vsword a, vsword b) {
    return max_signed(a, b);
}

#include "cpu/loops/vector_widen.h"
#include "cpu/loops/vector_unchecked.h"
