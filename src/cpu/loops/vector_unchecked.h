/* For tiers that cannot tell by the processor's inexact flag whether a window of levels has held: an
 * operation that rounds by design is like any other, and there is no flag to read.  Needs multiply_add. */
#ifndef WF_CPU_LOOPS_VECTOR_UNCHECKED_H
#define WF_CPU_LOOPS_VECTOR_UNCHECKED_H

enum { NOTES_ROUNDING = 0 };

INLINE vf64 quiet_multiply_add(vf64 a, vf64 b, vf64 c) {
    return multiply_add(a, b, c);
}

INLINE vf64 quiet_multiply(vf64 a, vf64 b) {
    return a * b;
}

INLINE vf64 quiet_add(vf64 a, vf64 b) {
    return a + b;
}

INLINE vf32 quiet_f32_of(vf64 x) {
    return __builtin_convertvector(x, vf32);
}

INLINE vf64 add_where_negative(vf64 sum, vf64 term, vf64 x) {
    return sum + (vf64)((vi64)term & ((vi64)x < 0));
}

INLINE bool has_rounded(void) {
    return false;
}

INLINE void forget_rounding(void) {}

INLINE void pin(vf64 *vector) {
    (void)vector;
}

#endif
