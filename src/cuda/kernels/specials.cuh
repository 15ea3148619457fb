// What is special in a lane's chunk: NaNs, and, where there are sums, infinities.  They are counted and noted for all of
// the chunk at once, and leave zeros, so that such a chunk is like any other.

#ifndef SPECIALS_CUH
#define SPECIALS_CUH

#include "kernels/element.cuh"
#include "kernels/lane.cuh"
#include "kernels/parts.cuh"
#include "kernels/stream.cuh"

// ---- NaNs

static __device__ __forceinline__ u32 count_nans(const vector *x, const vector *y, int vectors)
{
    u32 count = 0, masks = 0;
#pragma unroll
    for (int j = 0; j < vectors; j++) {
#pragma unroll
        for (int i = 0; WIDTH == 16 && i < 4; i++)
            masks += nan_mask(&x[j], i) | (OPERANDS == 2 ? nan_mask(&y[j], i) : 0);
#pragma unroll
        for (int e = 0; WIDTH > 16 && e < PER_VECTOR; e++)
            count += is_nan(element_at(&x[j], e)) || (OPERANDS == 2 && is_nan(element_at(&y[j], e)));
    }
    return WIDTH == 16 ? count_of_masks(masks) : count;
}

// chunk: which of the warp's it is.
static __device__ __forceinline__ void note_nans(lane_state *lane, const vector x[VECTORS], const vector y[VECTORS],
                                                 u32 chunk)
{
    u32 count = count_nans(x, y, VECTORS);
    lane->nan_count += count;
    if (count && lane->nan_chunk == NOWHERE) lane->nan_chunk = chunk;
}

// ---- infinities

// What an element, or a pair, means to a sum, in addition to its value: infinities, and whether it is beyond -0.
static __device__ __forceinline__ u32 special_of(unit a, unit b)
{
    u32 special_seen = 0;
    bool negative, zero, infinite;
    if (HAS_DOT) {
        negative = is_negative(a) != is_negative(b);
        zero = !is_nonzero(a) || !is_nonzero(b);
        infinite = is_infinite(a) || is_infinite(b);
        if (infinite && zero) special_seen |= WF_SPECIAL_INVALID;
        infinite = infinite && !zero;
    } else {
        negative = is_negative(a);
        zero = !is_nonzero(a);
        infinite = is_infinite(a);
    }
    if (infinite) special_seen |= negative ? WF_SPECIAL_NEGATIVE_INFINITY : WF_SPECIAL_POSITIVE_INFINITY;
    if (!(zero && negative)) special_seen |= PLAIN_SPECIAL;
    return special_seen;
}

static __device__ __forceinline__ bool is_either_nan(unit a, unit b)
{
    return is_nan(a) || (OPERANDS == 2 && is_nan(b));
}

static __device__ __forceinline__ bool is_either_special(unit a, unit b)
{
    return (unit)(a & MAGNITUDE) >= INFINITY_BITS || (OPERANDS == 2 && (unit)(b & MAGNITUDE) >= INFINITY_BITS);
}

static __device__ __forceinline__ void set_element(vector *v, int e, unit bits)
{
    if (WIDTH == 64) {
        v->word[2 * e] = (u32)bits;
        v->word[2 * e + 1] = (u32)((u64)bits >> 32);
    } else if (WIDTH == 32) {
        v->word[e] = (u32)bits;
    } else {
        v->word[e / 2] = e % 2 ? (v->word[e / 2] & 0xffff) | (u32)bits << 16 : (v->word[e / 2] & 0xffff0000) | bits;
    }
}

#if WIDTH == 16

// The highest bit of each half that is 0.
static __device__ __forceinline__ u32 zero_tops(u32 word)
{
    return ~((word & 0x7fff7fff) + 0x7fff7fff) & 0x80008000;
}

// What terms of one sign mean to a sum, some of which are infinite, or infinity times 0.
static __device__ __forceinline__ u32 special_of_tops(u32 infinite, u32 invalid, bool negative)
{
    u32 special_seen = invalid ? WF_SPECIAL_INVALID : 0;
    if (infinite) special_seen |= negative ? WF_SPECIAL_NEGATIVE_INFINITY : WF_SPECIAL_POSITIVE_INFINITY;
    return infinite || (invalid && !negative) ? special_seen | PLAIN_SPECIAL : special_seen;
}

#if USES_HALVES

// All bits of each half that is a NaN.
static __device__ __forceinline__ u32 masks_of_nans(u32 word)
{
    u32 masks;
    asm("set.nan.u32.bf16x2 %0, %1, %1;" : "=r"(masks) : "r"(word));
    return masks;
}

// Puts -0 in the place of NaNs, of which it gives the number.
static __device__ __forceinline__ u32 clean_nans(vector *x, int vectors)
{
    u32 masks = 0;
#pragma unroll
    for (int i = 0; i < 4 * vectors; i++) {
        u32 *word = &x[i / 4].word[i % 4], mask = masks_of_nans(*word);
        masks += mask;
        // one operation, which the compiler does not find here: (mask & 0x80008000) | (~mask & *word)
        asm("lop3.b32 %0, %1, %2, %0, 0xca;" : "+r"(*word) : "r"(mask), "r"(0x80008000));
    }
    return count_of_masks(masks);
}

// Of what is no NaN.  0 times infinity is one, and so are all sums with it.
static __device__ __forceinline__ bool has_infinities(const vector *x, int vectors)
{
    u32 sums[4] = {0, 0, 0, 0}; // so that no operation need wait for the one before
#pragma unroll
    for (int i = 0; i < 4 * vectors; i++)
        asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(sums[i % 4]) : "r"(x[i / 4].word[i % 4]), "r"(0));
    return (masks_of_nans(sums[0]) | masks_of_nans(sums[1]) | masks_of_nans(sums[2]) | masks_of_nans(sums[3])) != 0;
}

// Puts -0 in the place of infinities, where there are no NaNs.
static __device__ __forceinline__ void clean_infinities(u32 *special_seen, vector *x, int vectors)
{
    u32 positive = 0, negative = 0;
#pragma unroll
    for (int i = 0; i < 4 * vectors; i++) {
        u32 *word = &x[i / 4].word[i % 4], mask = halves_from(*word, INFINITY_BITS);
        positive |= mask & ~*word;
        negative |= mask & *word;
        *word = (*word & ~mask) | (mask & 0x80008000);
    }
    *special_seen |= special_of_tops(positive & 0x80008000, 0, false) | special_of_tops(negative & 0x80008000, 0, true);
}

static __device__ __forceinline__ u32 clean_vectors(u32 *special_seen, vector *x, vector *y, int vectors)
{
    (void)y;
    u32 nans = clean_nans(x, vectors);
    if (has_infinities(x, vectors)) clean_infinities(special_seen, x, vectors);
    return nans;
}

#else

static __device__ __forceinline__ bool has_infinities(const vector *x, int vectors)
{
    u32 least = 0x7fff7fff; // as signed integers: an infinity is the least there is
#pragma unroll
    for (int i = 0; i < 4 * vectors; i++) least = __vmins2(least, halves_above(x[i / 4].word[i % 4], INFINITY_BITS));
    return (least & 0xffff) == 0x8000 || least >> 16 == 0x8000;
}

// Puts -0 in the place of NaNs, of which it gives the number, where there are no infinities.
static __device__ __forceinline__ u32 clean_nans(vector *x, int vectors)
{
    u32 masks = 0;
#pragma unroll
    for (int i = 0; i < 4 * vectors; i++) {
        u32 *word = &x[i / 4].word[i % 4], mask = halves_from(*word, INFINITY_BITS);
        masks += mask;
        *word = (*word & ~mask) | (mask & 0x80008000);
    }
    return count_of_masks(masks);
}

// Puts -0 in the place of what is special.  Gives how many NaNs there were.
static __device__ __forceinline__ u32 clean_vectors(u32 *special_seen, vector *x, vector *y, int vectors)
{
    if (OPERANDS == 1 && !has_infinities(x, vectors)) return clean_nans(x, vectors);
    u32 counts = 0, infinite[2] = {0, 0}, invalid[2] = {0, 0}; // of positive terms, of negative ones
#pragma unroll
    for (int i = 0; i < 4 * vectors; i++) {
        u32 *a = &x[i / 4].word[i % 4], *b = &y[i / 4].word[i % 4], sign = *a, zeros = 0;
        u32 nans = nan_tops(*a), specials = tops_from(*a, INFINITY_BITS);
        if (OPERANDS == 2) {
            nans |= nan_tops(*b);
            specials |= tops_from(*b, INFINITY_BITS);
            zeros = zero_tops(*a) | zero_tops(*b);
            sign ^= *b;
        }
        u32 mask = spread_tops(specials), infinities = specials & ~nans;
        infinite[0] |= infinities & ~zeros & ~sign;
        infinite[1] |= infinities & ~zeros & sign;
        if (OPERANDS == 2) invalid[0] |= infinities & zeros & ~sign;
        if (OPERANDS == 2) invalid[1] |= infinities & zeros & sign;
        counts += nans >> 15; // of each half
        *a = (*a & ~mask) | (mask & 0x80008000);
        if (OPERANDS == 2) *b &= ~mask;
    }
    *special_seen |= special_of_tops(infinite[0], invalid[0], false) | special_of_tops(infinite[1], invalid[1], true);
    return (counts & 0xffff) + (counts >> 16);
}

#endif

#else

static __device__ __forceinline__ u32 note_infinities(u32 *special_seen, const vector *x, const vector *y, int vectors)
{
    u32 infinities = 0;
#pragma unroll
    for (int i = 0; i < vectors * PER_VECTOR; i++) {
        unit a = element_at(&x[i / PER_VECTOR], i % PER_VECTOR), b = element_at(&y[i / PER_VECTOR], i % PER_VECTOR);
        if (is_either_special(a, b) && !is_either_nan(a, b)) {
            *special_seen |= special_of(a, b);
            infinities++;
        }
    }
    return infinities;
}

// By the comparisons that floats have themselves.
static __device__ __forceinline__ bool is_infinite_float(unit bits)
{
    if (WIDTH == 32) return fabsf(__uint_as_float(bits)) == __uint_as_float(INFINITY_BITS);
    if (WIDTH == 64) return fabs(__longlong_as_double((i64)bits)) == __longlong_as_double((i64)INFINITY_BITS);
    return is_infinite(bits);
}

static __device__ __forceinline__ bool is_special_float(unit bits)
{
    if (WIDTH == 32) return !(fabsf(__uint_as_float(bits)) < __uint_as_float(INFINITY_BITS));
    if (WIDTH == 64) return !(fabs(__longlong_as_double((i64)bits)) < __longlong_as_double((i64)INFINITY_BITS));
    return (unit)(bits & MAGNITUDE) >= INFINITY_BITS;
}

// Puts zeros in the place of what is special.  Gives how many NaNs there were.
static __device__ __forceinline__ u32 clean_vectors(u32 *special_seen, vector *x, vector *y, int vectors)
{
    u32 specials = 0, infinities = 0;
    bool infinite = false;
#pragma unroll
    for (int i = 0; i < vectors * PER_VECTOR; i++) {
        infinite = infinite || is_infinite_float(element_at(&x[i / PER_VECTOR], i % PER_VECTOR));
        if (OPERANDS == 2) infinite = infinite || is_infinite_float(element_at(&y[i / PER_VECTOR], i % PER_VECTOR));
    }
    if (infinite) infinities = note_infinities(special_seen, x, y, vectors);
#pragma unroll
    for (int i = 0; i < vectors * PER_VECTOR; i++) {
        unit a = element_at(&x[i / PER_VECTOR], i % PER_VECTOR), b = element_at(&y[i / PER_VECTOR], i % PER_VECTOR);
        bool is_special = is_special_float(a) || (OPERANDS == 2 && is_special_float(b));
        if (is_special) specials++;
        set_element(&x[i / PER_VECTOR], i % PER_VECTOR, is_special ? SIGN_BIT : a);
        if (OPERANDS == 2) set_element(&y[i / PER_VECTOR], i % PER_VECTOR, is_special ? 0 : b);
    }
    return specials - infinities;
}

#endif

#define CLEANED_WHILE 32 // chunks, after one that has NaNs, that are cleaned without a look

// Notes what is special and puts zeros in its place, -0 of which means nothing to a sum, not even its sign.  Gives how many NaNs
// there were.
static __device__ __forceinline__ u32 clean_chunk(lane_state *lane, vector x[VECTORS], vector y[VECTORS], u32 chunk)
{
    u32 nans = clean_vectors(&lane->special_seen, x, y, VECTORS);
    lane->nan_count += nans;
    if (nans && lane->nan_chunk == NOWHERE) lane->nan_chunk = chunk;
    return nans;
}

// ---- the sign of a sum that is zero

// Whether a sum over the warp's chunk, which has nothing special, has terms that are not -0.
static __device__ __forceinline__ bool chunk_is_not_negative_zero(const vector x[VECTORS], const vector y[VECTORS])
{
    bool beyond = false;
#pragma unroll
    for (int i = 0; i < LANE_ELEMENTS; i++) {
        unit a = element_at(&x[i / PER_VECTOR], i % PER_VECTOR), b = element_at(&y[i / PER_VECTOR], i % PER_VECTOR);
        beyond = beyond || special_of(a, b) != 0;
    }
    return __any_sync(ALL_LANES, beyond);
}

#endif
