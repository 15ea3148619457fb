/* The vectors of one tier, and the operations that differ between instruction sets.  Every vector_TIER.h
 * defines:
 *
 * - fused(a, b, c): a * b + c, rounded once.
 *
 * - multiply_add(a, b, c): a * b + c, for an exact a * b.  Where fused is fast, it is used: it takes the
 *   multiplier and leaves the adder to what must be an addition.
 *
 * - product_error(a, b, p): a * b - p, which is exact, for p the rounded product.
 *
 * - max_signed, min_signed: of integers as wide as the elements.
 *
 * - max_unsigned: of unsigned integers that were exclusive-ored with UNSIGNED_FLIP, which is 0 or, if the
 *   tier can only compare signed integers, the top bit.
 *
 * - upper_bound, lower_bound: of unsigned integers, something at least, or at most, each of them; and HAS_BOUNDS, where
 *   they are faster than max_signed and min_signed.
 *
 * - widen_f16, widen_bf16, widen_f32: LANES elements in memory as f64.
 *
 * - add_where_negative(sum, term, x): sum + term in the lanes in which the sign bit of x is set.
 *
 * - HAS_CLEAN_LANES, if it is better than the one here:
 *   clean_lanes(x, infinity, nans, positive, negative): elements' bits, with the sign alone in place of those whose
 *   magnitude is at least `infinity`.  Where it is larger, 1 is taken from lanes of nans; where it is that, the sign bits of
 *   positive or negative are set.
 *
 * - HAS_ANY_SPECIAL, if it is better than the one here:
 *   is_any_special(x, nbytes, infinity): whether any element's magnitude, of some vectors, is at least `infinity`.
 *
 * - HAS_LARGER_MAGNITUDES, if it is better than the one here:
 *   larger_magnitudes(largest, x): of floats' bits, the larger of magnitudes and those of x; where x is NaN, either.
 *
 * - HAS_LARGER_OF_F64, if it is better than the one here:
 *   larger_of_f64(largest, x): the same of f64.
 *
 * - HAS_LANE_BITS, if it is better than the one here:
 *   lane_bits(x): the top bits of all bytes, the first one's lowest.
 *
 * - HAS_PAIR_PRODUCTS, if there are, of lanes of 16 bits (functions that use them are OF_PAIR_PRODUCTS):
 *   has_pair_products(): whether the processor has what add_pair_products takes;
 *   add_pair_products(sum, a, b): lanes of 32 bits, plus the products of their two lanes of a and of b;
 *   powers_at(distance): 2^(14 - distance) in lanes of 0 to 14, 0 in all others;
 *   negated_where_negative(a, x): -a in the lanes in which the sign bit of x is set, a in others.
 *
 * - PARTS_VECTORS, if there are
 *   lanes_within(x, range): a mask of the lanes whose magnitude is 0 or within the range; ALL_WITHIN if all are;
 *   store_parted(near, far_end, x, mask): stores the elements of these lanes from near on, and the others so that they
 *   end at far_end, each in their order; returns how many are near.  Up to a vector is written on either side.
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

#ifndef HAS_LARGER_MAGNITUDES
INLINE vsword larger_magnitudes(vsword largest, vsword x) {
    return max_signed(largest, x & (sword)((uword)-1 >> 1));
}
#endif

#ifndef HAS_LARGER_OF_F64
INLINE vf64 larger_of_f64(vf64 largest, vf64 x) {
    vi64 magnitude = (vi64)x & INT64_MAX, is_larger = magnitude > (vi64)largest;
    return (vf64)((is_larger & magnitude) | (~is_larger & (vi64)largest));
}
#endif

#ifndef HAS_BOUNDS
#define upper_bound max_signed
INLINE vsword lower_bound(vsword a, vsword b) {
    return min_signed(a, b & (sword)((uword)-1 >> 1)); /* all ones are the largest */
}
#endif

/* The lanes whose numbers have no bit `distance` (1, 2 or 4), of a where they are, and of b in place of a's others;
 * right_lanes: the lanes with that bit, of a in place of b's others, and of b. */
#define SAME_LANE(lane, distance) (lane)
#define LEFT_LANE(lane, distance) ((lane) & (distance) ? LANES + (lane) - (distance) : (lane))
#define RIGHT_LANE(lane, distance) ((lane) & (distance) ? LANES + (lane) : ((lane) + (distance)) % LANES)
#if VECTOR_NBYTES == 16
#define EACH_LANE(LANE, distance) LANE(0, distance), LANE(1, distance)
#elif VECTOR_NBYTES == 32
#define EACH_LANE(LANE, distance) LANE(0, distance), LANE(1, distance), LANE(2, distance), LANE(3, distance)
#else
#define EACH_LANE(LANE, distance)                                                                            \
    LANE(0, distance), LANE(1, distance), LANE(2, distance), LANE(3, distance), LANE(4, distance),           \
        LANE(5, distance), LANE(6, distance), LANE(7, distance)
#endif
#if defined(__clang__)
#define SHUFFLED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLED(a, b, ...) __builtin_shuffle(a, b, (vi64){__VA_ARGS__})
#endif

INLINE vf64 left_lanes(vf64 a, vf64 b, int distance) {
    switch (distance) {
    case 1: return SHUFFLED(a, b, EACH_LANE(LEFT_LANE, 1));
    case 2: return SHUFFLED(a, b, EACH_LANE(LEFT_LANE, 2));
    default: return SHUFFLED(a, b, EACH_LANE(LEFT_LANE, 4));
    }
}

INLINE vf64 right_lanes(vf64 a, vf64 b, int distance) {
    switch (distance) {
    case 1: return SHUFFLED(a, b, EACH_LANE(RIGHT_LANE, 1));
    case 2: return SHUFFLED(a, b, EACH_LANE(RIGHT_LANE, 2));
    default: return SHUFFLED(a, b, EACH_LANE(RIGHT_LANE, 4));
    }
}

#define OTHER_LANE(lane, distance) (((lane) ^ (distance)) % LANES)

/* Each lane where the one is whose number has another bit `distance`. */
INLINE vf64 swapped_lanes(vf64 a, int distance) {
    switch (distance) {
    case 1: return SHUFFLED(a, a, EACH_LANE(OTHER_LANE, 1));
    case 2: return SHUFFLED(a, a, EACH_LANE(OTHER_LANE, 2));
    default: return SHUFFLED(a, a, EACH_LANE(OTHER_LANE, 4));
    }
}

#define EVEN_LANE(lane, distance) (2 * (lane) % LANES + 2 * (lane) / LANES)

INLINE vf64 even_lanes_first(vf64 a) {
    return SHUFFLED(a, a, EACH_LANE(EVEN_LANE, 1));
}

#ifndef HAS_LANE_BITS
INLINE uint64_t lane_bits(vsword x) {
    uint64_t words[LANES], bits = 0;
    memcpy(words, &x, sizeof words);
    for (size_t i = 0; i < LANES; i++) /* the multiplication brings the bits together in the uppermost byte */
        bits |= ((words[i] & UINT64_C(0x8080808080808080)) >> 7) * UINT64_C(0x0102040810204080) >> 56 << 8 * i;
    return bits;
}
#endif

#ifndef HAS_CLEAN_LANES
INLINE vsword clean_lanes(vsword x, sword infinity, vsword *nans, vsword *positive, vsword *negative) {
    vsword magnitude = x & (sword)((uword)-1 >> 1), nan = magnitude > infinity, infinite = magnitude == infinity;
    *nans += nan;
    *positive |= infinite & ~x;
    *negative |= infinite & x;
    return select_where(nan | infinite, (vsword){0} + (sword)TOP_BIT, x);
}
#endif

#ifndef HAS_ANY_SPECIAL
INLINE bool is_any_special(const unsigned char *x, size_t nbytes, sword infinity) {
    vsword any = {0}, bits;
    UNROLLED
    for (size_t i = 0; i < nbytes; i += VECTOR_NBYTES) {
        memcpy(&bits, x + i, sizeof bits);
        any |= (sword)(infinity - 1) - (bits & (sword)((uword)-1 >> 1)); /* less than 0 of these */
    }
    return lane_bits(any < 0) != 0;
}
#endif

#ifndef PARTS_VECTORS
#define PARTS_VECTORS 0
#define ALL_WITHIN 1u
INLINE unsigned lanes_within(vsword x, struct magnitudes within) {
    vsword magnitude = x & (sword)((uword)-1 >> 1);
    vsword outside = (magnitude > (sword)within.max) | ((magnitude < (sword)within.min) & (magnitude > 0));
    sword any = 0;
    for (size_t lane = 0; lane < STEP; lane++) any |= outside[lane];
    return !any;
}

INLINE size_t store_parted(unsigned char *near, unsigned char *far_end, vsword x, unsigned mask) {
    (void)near, (void)far_end, (void)x;
    return mask;
}
#endif

INLINE vf64 load_f64(const unsigned char *x) {
    vf64 value;
    memcpy(&value, x, sizeof value);
    return value;
}

#endif
