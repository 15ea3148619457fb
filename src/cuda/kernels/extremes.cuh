// Extremes: the smallest and the largest of keys, which order as signed or unsigned integers of the type's width do.  Of
// narrow types several are compared at a time.  Floats of 16 and 32 bits need no keys: their bits are compared as they
// are, in three ways, which shows NaNs, too; together with sums, the high words of f64 are, since few vectors need a second look.

#ifndef EXTREMES_CUH
#define EXTREMES_CUH

#include "kernels/element.cuh"
#include "kernels/parts.cuh"

// What a lane compares at a time, two of 16 bits, and how many such make a vector.
#if WIDTH == 64
#define EXTREME_LANES 1
typedef u64 packed;
#else
#define EXTREME_LANES (WIDTH == 8 ? 2 : 1) // even and odd bytes, each as the high byte of 16 bits
typedef u32 packed;
#endif

#define KEY_IS_SIGNED (IS_FLOAT || IS_SIGNED)

static __device__ __forceinline__ packed packed_min(packed a, packed b)
{
    if (WIDTH == 64) return KEY_IS_SIGNED ? ((i64)a < (i64)b ? a : b) : (a < b ? a : b);
    if (WIDTH == 32) return KEY_IS_SIGNED ? (u32)min((int)a, (int)b) : min((u32)a, (u32)b);
    return KEY_IS_SIGNED ? __vmins2((u32)a, (u32)b) : __vminu2((u32)a, (u32)b);
}

static __device__ __forceinline__ packed packed_max(packed a, packed b)
{
    if (WIDTH == 64) return KEY_IS_SIGNED ? ((i64)a > (i64)b ? a : b) : (a > b ? a : b);
    if (WIDTH == 32) return KEY_IS_SIGNED ? (u32)max((int)a, (int)b) : max((u32)a, (u32)b);
    return KEY_IS_SIGNED ? __vmaxs2((u32)a, (u32)b) : __vmaxu2((u32)a, (u32)b);
}

static __device__ __forceinline__ packed packed_best(packed a, packed b, bool is_min)
{
    return is_min ? packed_min(a, b) : packed_max(a, b);
}

// The keys of a word (of two words' 64 bits): floats have the bits below the sign flipped where negative.
static __device__ __forceinline__ packed packed_keys(packed bits)
{
    if (!IS_FLOAT) return bits;
    if (WIDTH == 64) {
        u32 high = (u32)((u64)bits >> 32), sign = (u32)((int)high >> 31); // by halves it is three instructions, not six
        return (packed)((u64)(high ^ (sign & 0x7fffffff)) << 32 | ((u32)bits ^ sign));
    }
    if (WIDTH == 32) return bits ^ ((u32)((int)bits >> 31) >> 1);
    return bits ^ (spread_tops((u32)bits) & 0x7fff7fff);
}

#define PACKED_LEAST ((packed)(KEY_IS_SIGNED ? (WIDTH == 64 ? (u64)1 << 63 : WIDTH == 32 ? 0x80000000 : 0x80008000) : 0))

typedef struct {
    packed key[EXTREME_LANES];
} extreme;

static __device__ __forceinline__ void extreme_clear(extreme *best, bool is_min)
{
#pragma unroll
    for (int i = 0; i < EXTREME_LANES; i++) best->key[i] = is_min ? ~PACKED_LEAST : PACKED_LEAST;
}

// has_nans must be true if there may be NaNs, which are then left out; only floats of 64 bits ask for it.
static __device__ __forceinline__ void extreme_add(extreme *best, const vector *v, bool is_min, bool has_nans)
{
    if (WIDTH == 64) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            packed key = packed_keys((packed)long_at(v, i));
            if (has_nans && is_nan((unit)long_at(v, i))) key = is_min ? ~PACKED_LEAST : PACKED_LEAST;
            best->key[0] = packed_best(best->key[0], key, is_min);
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        packed keys = packed_keys(v->word[i]), *last = &best->key[EXTREME_LANES - 1];
        best->key[0] = packed_best(best->key[0], keys, is_min);
        if (EXTREME_LANES == 2) *last = packed_best(*last, keys << 8, is_min);
    }
}

// The key of a lane's extreme in unsigned order (wf_key_to_order).
static __device__ __forceinline__ u64 extreme_key(const extreme *best, bool is_min)
{
    packed key = best->key[0];
    if (WIDTH == 64) return KEY_IS_SIGNED ? ordered((i64)key) : key;
    if (WIDTH == 32) return ordered(KEY_IS_SIGNED ? (i64)(int)key : (i64)key);
    key = packed_best(key, best->key[EXTREME_LANES - 1], is_min);
    key = packed_best(key, key << 16, is_min);
    return ordered(KEY_IS_SIGNED ? (i64)((int)key >> (32 - WIDTH)) : (i64)(key >> (32 - WIDTH)));
}

// Extremes of the elements' bits (of f64, of their high words): the largest as signed integers, the largest and the
// smallest as unsigned ones.
typedef struct {
    u32 signed_max, max, min;
} float_range;

static __device__ __forceinline__ void range_clear(float_range *range)
{
    range->signed_max = WIDTH == 16 ? 0x80008000 : SIGN_WORD;
    range->max = 0;
    range->min = ~0u;
}

// has_nans must be true if there may be NaNs, which are then left out.
static __device__ __forceinline__ void range_add(float_range *range, const vector *v, bool has_nans)
{
#pragma unroll
    for (int i = WIDTH == 64; i < 4; i += WIDTH == 64 ? 2 : 1) {
        u32 bits = v->word[i], mask = has_nans ? nan_mask(v, i) : 0, kept = bits & ~mask;
        if (WIDTH == 16) {
            range->signed_max = __vmaxs2(range->signed_max, kept | (mask & 0x80008000));
            range->max = __vmaxu2(range->max, kept);
            range->min = __vminu2(range->min, bits | mask);
        } else {
            range->signed_max = (u32)max((int)range->signed_max, (int)(kept | (mask & SIGN_WORD)));
            range->max = max(range->max, kept);
            range->min = min(range->min, bits | mask);
        }
    }
}

// The bits of the smallest and of the largest value.  Of negative numbers the one with the largest bits is the smallest,
// and the other way round.
static __device__ __forceinline__ u32 bits_of_least(u32 sign, u32 max, u32 min)
{
    return max & sign ? max : min;
}

static __device__ __forceinline__ u32 bits_of_largest(u32 sign, u32 signed_max, u32 min)
{
    return signed_max & sign ? min : signed_max;
}

// The range of the elements at place i of the words.
typedef struct {
    unit signed_max, max, min;
} unit_range;

static __device__ __forceinline__ unit_range range_of_place(const float_range *range, int i)
{
    unit_range part = {(unit)(range->signed_max >> i * WIDTH % 32), (unit)(range->max >> i * WIDTH % 32),
                       (unit)(range->min >> i * WIDTH % 32)};
    return part;
}

static __device__ __forceinline__ bool is_nothing(unit_range range)
{
    return range.signed_max == SIGN_BIT && range.max == 0;
}

static __device__ __forceinline__ bool range_has_nan(const float_range *range)
{
    bool found = false;
#pragma unroll
    for (int i = 0; i < PER_WORD; i++) {
        unit_range part = range_of_place(range, i);
        bool is_positive = !(part.signed_max & SIGN_BIT) && part.signed_max > INFINITY_BITS;
        found = found || is_positive || part.max > (unit)(SIGN_BIT | INFINITY_BITS);
    }
    return found;
}

// The key of the smallest element of a range, in the same order as extreme_key.
static __device__ __forceinline__ u64 range_min_key(const float_range *range)
{
    u64 least = ~(u64)0;
#pragma unroll
    for (int i = 0; i < PER_WORD; i++) {
        unit_range part = range_of_place(range, i);
        u64 key = ordered(key_of((unit)bits_of_least(SIGN_BIT, part.max, part.min)));
        if (!is_nothing(part) && key < least) least = key;
    }
    return least;
}

static __device__ __forceinline__ u64 range_max_key(const float_range *range)
{
    u64 largest = 0;
#pragma unroll
    for (int i = 0; i < PER_WORD; i++) {
        unit_range part = range_of_place(range, i);
        u64 key = ordered(key_of((unit)bits_of_largest(SIGN_BIT, part.signed_max, part.min)));
        if (!is_nothing(part) && key > largest) largest = key;
    }
    return largest;
}

// Whether nothing but NaNs was added.
static __device__ __forceinline__ bool is_empty(const float_range *range)
{
    return range->max == 0 && range->signed_max == SIGN_WORD;
}

// The word of a key that orders as most keys do: of f64 the high one of extreme_key, of f32 all of it.
static __device__ __forceinline__ u32 word_of_bits(u32 bits)
{
    return bits ^ ((u32)((int)bits >> 31) | SIGN_WORD);
}

static __device__ __forceinline__ u32 word_of_key(u64 key)
{
#if WIDTH == 64
    return (u32)(key >> 32);
#else
    return key == 0 || key == ~(u64)0 ? (u32)key : (u32)key ^ SIGN_WORD; // neither key is an element's
#endif
}

static __device__ __forceinline__ u32 range_least_word(const float_range *range)
{
    return word_of_bits(bits_of_least(SIGN_WORD, range->max, range->min));
}

static __device__ __forceinline__ u32 range_largest_word(const float_range *range)
{
    return word_of_bits(bits_of_largest(SIGN_WORD, range->signed_max, range->min));
}

#endif
