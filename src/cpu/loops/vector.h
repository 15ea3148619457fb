/* The vectors of one tier, and the operations that differ between instruction sets.  Every vector_TIER.h
 * defines:
 *
 * - fused(a, b, c): a * b + c, rounded once.
 *
 * - multiply_add(a, b, c): a * b + c, for an exact a * b.  Where fused is fast, it is used: it takes the
 *   multiplier and leaves the adder to what must be an addition.
 *
 * - max_signed, min_signed: of integers as wide as the elements.
 *
 * - max_unsigned: of unsigned integers that were exclusive-ored with UNSIGNED_FLIP, which is 0 or, if the
 *   tier can only compare signed integers, the top bit.
 *
 * - widen_f16, widen_bf16, widen_f32: LANES elements in memory as f64.
 *
 * - add_where_negative(sum, term, x): sum + term in the lanes in which the sign bit of x is set.
 *
 * - NOTES_ROUNDING: whether the processor's inexact flag can prove that a pass has not rounded.
 *
 * - quiet_multiply_add, quiet_multiply, quiet_add: may round without setting that flag.
 *
 * - has_rounded, forget_rounding: read and clear the flag.
 *
 * - pin(vector): keeps the operations that made a vector before this point and those that use it after it, so
 *   that none moves across a look at the flag. */
#ifndef WF_CPU_LOOPS_VECTOR_H
#define WF_CPU_LOOPS_VECTOR_H

#define QUOTE_(x) #x
#define QUOTE(x) QUOTE_(x)
#define VECTOR_HEADER_(tier) vector_##tier.h
#define VECTOR_HEADER(tier) VECTOR_HEADER_(tier)

#include QUOTE(VECTOR_HEADER(TIER))

INLINE vf64 load_f64(const unsigned char *x) {
    vf64 value;
    memcpy(&value, x, sizeof value);
    return value;
}

#endif
