// Extremes: the largest of keys, which order as signed or unsigned integers of the type's width do.  Of narrow
// types several are compared at a time.  The smallest is found among the complements.

#ifndef EXTREMES_CUH
#define EXTREMES_CUH

// What a lane compares at a time, two of 16 bits, and how many such make a vector.
#if WIDTH == 64
#define EXTREME_LANES 1
typedef u64 packed;
#else
#define EXTREME_LANES (WIDTH == 8 ? 2 : 1) // even and odd bytes, each as the high byte of 16 bits
typedef u32 packed;
#endif

#define KEY_IS_SIGNED (IS_FLOAT || IS_SIGNED)

static __device__ __forceinline__ packed packed_max(packed a, packed b)
{
#if WIDTH == 64
    return KEY_IS_SIGNED ? ((i64)a > (i64)b ? a : b) : (a > b ? a : b);
#elif WIDTH == 32
    return KEY_IS_SIGNED ? (u32)max((int)a, (int)b) : max(a, b);
#else
    return KEY_IS_SIGNED ? __vmaxs2(a, b) : __vmaxu2(a, b);
#endif
}

// The keys of a word (of two words' 64 bits): floats have the bits below the sign flipped where negative.
static __device__ __forceinline__ packed packed_keys(packed bits)
{
#if !IS_FLOAT
    return bits;
#elif WIDTH == 64
    return bits ^ ((u64)((i64)bits >> 63) >> 1);
#elif WIDTH == 32
    return bits ^ ((u32)((int)bits >> 31) >> 1);
#else
    u32 signs; // each half's, sixteen times
    asm("prmt.b32 %0, %1, %1, 0xbb99;" : "=r"(signs) : "r"(bits));
    return bits ^ (signs & 0x7fff7fff);
#endif
}

#define PACKED_LEAST ((packed)(KEY_IS_SIGNED ? (WIDTH == 64 ? (u64)1 << 63 : WIDTH == 32 ? 0x80000000 : 0x80008000) : 0))

typedef struct {
    packed key[EXTREME_LANES];
} extreme;

static __device__ __forceinline__ void extreme_clear(extreme *largest)
{
#pragma unroll
    for (int i = 0; i < EXTREME_LANES; i++) largest->key[i] = PACKED_LEAST;
}

// flip: all ones where the smallest is looked for.
static __device__ __forceinline__ void extreme_eat(extreme *largest, const vector *v, packed flip)
{
#if WIDTH == 64
#pragma unroll
    for (int i = 0; i < 2; i++)
        largest->key[0] = packed_max(largest->key[0], packed_keys(long_at(v, i)) ^ flip);
#else
#pragma unroll
    for (int i = 0; i < 4; i++) {
        packed keys = packed_keys(v->word[i]) ^ flip;
        largest->key[0] = packed_max(largest->key[0], keys);
        if (EXTREME_LANES == 2) largest->key[EXTREME_LANES - 1] = packed_max(largest->key[EXTREME_LANES - 1], keys << 8);
    }
#endif
}

// The key of a lane's extreme, as a wf_extreme's in unsigned order.
static __device__ __forceinline__ u64 extreme_key(const extreme *largest, packed flip)
{
#if WIDTH == 64
    packed key = largest->key[0] ^ flip;
    return KEY_IS_SIGNED ? ordered((i64)key) : key;
#elif WIDTH == 32
    packed key = largest->key[0] ^ flip;
    return ordered(KEY_IS_SIGNED ? (i64)(int)key : (i64)key);
#else
    packed both = packed_max(largest->key[0], largest->key[EXTREME_LANES - 1]);
    both = packed_max(both, both << 16) ^ flip;
    return ordered(KEY_IS_SIGNED ? (i64)((int)both >> (32 - WIDTH)) : (i64)(both >> (32 - WIDTH)));
#endif
}

#endif
