/* x86-64 with AVX2, FMA, F16C. */
#include <immintrin.h>

#define VECTOR_NBYTES 32
#include "cpu/loops/vector_types.h"

INLINE vf64 fused(vf64 a, vf64 b, vf64 c) {
    return (vf64)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

INLINE vf64 multiply_add(vf64 a, vf64 b, vf64 c) {
    return fused(a, b, c);
}

INLINE vf64 product_error(vf64 a, vf64 b, vf64 p) {
    return fused(a, b, -p);
}

/* AVX2 compares 64-bit integers, but has no maximum of them. */
INLINE vsword max_signed(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 1: return (vsword)_mm256_max_epi8((__m256i)a, (__m256i)b);
    case 2: return (vsword)_mm256_max_epi16((__m256i)a, (__m256i)b);
    case 4: return (vsword)_mm256_max_epi32((__m256i)a, (__m256i)b);
    default: return select_where(a > b, a, b);
    }
}

INLINE vsword min_signed(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 1: return (vsword)_mm256_min_epi8((__m256i)a, (__m256i)b);
    case 2: return (vsword)_mm256_min_epi16((__m256i)a, (__m256i)b);
    case 4: return (vsword)_mm256_min_epi32((__m256i)a, (__m256i)b);
    default: return select_where(a < b, a, b);
    }
}

#define UNSIGNED_FLIP ((uword)(sizeof(uword) == 8 ? TOP_BIT : 0))
INLINE vsword max_unsigned(vsword a, vsword b) {
    switch (sizeof(uword)) {
    case 1: return (vsword)_mm256_max_epu8((__m256i)a, (__m256i)b);
    case 2: return (vsword)_mm256_max_epu16((__m256i)a, (__m256i)b);
    case 4: return (vsword)_mm256_max_epu32((__m256i)a, (__m256i)b);
    default: return max_signed(a, b);
    }
}

/* Used because max_signed and min_signed of 64 bits take three instructions: the halves of 64 bits are bounded separately, so
 * the upper half is that of the bound. */
#define HAS_BOUNDS
INLINE vsword upper_bound(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 1: return (vsword)_mm256_max_epu8((__m256i)a, (__m256i)b);
    case 2: return (vsword)_mm256_max_epu16((__m256i)a, (__m256i)b);
    default: return (vsword)_mm256_max_epu32((__m256i)a, (__m256i)b);
    }
}

INLINE vsword lower_bound(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 1: return (vsword)_mm256_min_epu8((__m256i)a, (__m256i)b);
    case 2: return (vsword)_mm256_min_epu16((__m256i)a, (__m256i)b);
    default: return (vsword)_mm256_min_epu32((__m256i)a, (__m256i)b);
    }
}

/* A comparison of floats where one of 64-bit integers takes more; of a NaN the second operand is left. */
#define HAS_LARGER_OF_F64
INLINE vf64 larger_of_f64(vf64 largest, vf64 x) {
    const vf64 magnitude = (vf64)((vi64)x & INT64_MAX);
    return (vf64)_mm256_max_pd((__m256d)magnitude, (__m256d)largest);
}

#define HAS_LANE_BITS
INLINE uint64_t lane_bits(vsword x) {
    return (uint32_t)_mm256_movemask_epi8((__m256i)x);
}

INLINE bool any_lane_set(vi64 lanes) {
    return !_mm256_testz_si256((__m256i)lanes, (__m256i)lanes);
}

/* Conversions by their instructions' names, since gcc 12 splits a __builtin_convertvector from f32 to f64 in
 * halves. */
INLINE vf64 f64_of_f32(vf32 x) {
    return (vf64)_mm256_cvtps_pd((__m128)x);
}

INLINE vf64 widen_f16(const unsigned char *x) {
    return (vf64)_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)x)));
}

INLINE vf64 widen_bf16(const unsigned char *x) {
    __m128i upper = _mm_loadl_epi64((const __m128i *)x);
    return (vf64)_mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(upper), 16)));
}

INLINE vf64 widen_f32(const unsigned char *x) {
    return (vf64)_mm256_cvtps_pd(_mm_loadu_ps((const float *)x));
}

/* Which lane of 32 bits goes where, a byte for each place: those of a mask first, then the others. */
#define BITS_BELOW(mask, lane) __builtin_popcount((mask) & ((1 << (lane)) - 1))
#define PLACE(mask, lane)                                                                                    \
    ((mask) >> (lane) & 1 ? BITS_BELOW(mask, lane) : __builtin_popcount(mask) + (lane)-BITS_BELOW(mask, lane))
#define FROM(mask, lane) UINT64_C(lane) << 8 * PLACE(mask, lane)
#define ORDER(m) FROM(m, 1) | FROM(m, 2) | FROM(m, 3) | FROM(m, 4) | FROM(m, 5) | FROM(m, 6) | FROM(m, 7)
#define ORDERS_4(m) ORDER(m), ORDER(m + 1), ORDER(m + 2), ORDER(m + 3)
#define ORDERS_16(m) ORDERS_4(m), ORDERS_4(m + 4), ORDERS_4(m + 8), ORDERS_4(m + 12)
#define ORDERS_64(m) ORDERS_16(m), ORDERS_16(m + 16), ORDERS_16(m + 32), ORDERS_16(m + 48)

#define PARTS_VECTORS (sizeof(uword) >= 4)
#define ALL_WITHIN (PARTS_VECTORS ? 0xffu : ~0u)

INLINE unsigned lanes_within(vsword x, struct magnitudes within) {
    vsword magnitude = x & (sword)((uword)-1 >> 1);
    vsword outside = (magnitude > (sword)within.max) | ((magnitude < (sword)within.min) & (magnitude > 0));
    unsigned mask = PARTS_VECTORS ? (unsigned)_mm256_movemask_ps((__m256)outside) : (unsigned)_mm256_movemask_epi8((__m256i)outside);
    return ~mask & ALL_WITHIN; /* a bit for each lane of 32 bits, or byte */
}

INLINE size_t store_parted(unsigned char *near, unsigned char *far_end, vsword x, unsigned mask) {
    static const uint64_t orders[256] = {ORDERS_64(0), ORDERS_64(64), ORDERS_64(128), ORDERS_64(192)};
    __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)&orders[mask]));
    __m256i parted = _mm256_permutevar8x32_epi32((__m256i)x, order);
    memcpy(near, &parted, sizeof parted);
    memcpy(far_end - sizeof parted, &parted, sizeof parted);
    return (size_t)__builtin_popcount(mask) * 4 / sizeof(uword);
}

#include "cpu/loops/vector_unchecked.h"
