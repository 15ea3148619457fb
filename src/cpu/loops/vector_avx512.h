/* x86-64 with AVX-512 F, DQ, BW and VL. */
#include <immintrin.h>

#define VECTOR_NBYTES 64
#include "cpu/loops/vector_types.h"

INLINE vf64 fused(vf64 a, vf64 b, vf64 c) {
    return (vf64)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

INLINE vf64 multiply_add(vf64 a, vf64 b, vf64 c) {
    return fused(a, b, c);
}

INLINE vf64 product_error(vf64 a, vf64 b, vf64 p) {
    return fused(a, b, -p);
}

INLINE vsword max_signed(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 1: return (vsword)_mm512_max_epi8((__m512i)a, (__m512i)b);
    case 2: return (vsword)_mm512_max_epi16((__m512i)a, (__m512i)b);
    case 4: return (vsword)_mm512_max_epi32((__m512i)a, (__m512i)b);
    default: return (vsword)_mm512_max_epi64((__m512i)a, (__m512i)b);
    }
}

INLINE vsword min_signed(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 1: return (vsword)_mm512_min_epi8((__m512i)a, (__m512i)b);
    case 2: return (vsword)_mm512_min_epi16((__m512i)a, (__m512i)b);
    case 4: return (vsword)_mm512_min_epi32((__m512i)a, (__m512i)b);
    default: return (vsword)_mm512_min_epi64((__m512i)a, (__m512i)b);
    }
}

#define UNSIGNED_FLIP ((uword)0)
INLINE vsword max_unsigned(vsword a, vsword b) {
    switch (sizeof(uword)) {
    case 1: return (vsword)_mm512_max_epu8((__m512i)a, (__m512i)b);
    case 2: return (vsword)_mm512_max_epu16((__m512i)a, (__m512i)b);
    case 4: return (vsword)_mm512_max_epu32((__m512i)a, (__m512i)b);
    default: return (vsword)_mm512_max_epu64((__m512i)a, (__m512i)b);
    }
}

#define HAS_LANE_BITS
INLINE uint64_t lane_bits(vsword x) {
    return _mm512_movepi8_mask((__m512i)x);
}

INLINE bool any_lane_set(vi64 lanes) {
    return _mm512_test_epi64_mask((__m512i)lanes, (__m512i)lanes);
}

/* Conversions by their instructions' names, since gcc 12 splits a __builtin_convertvector from f32 to f64 in
 * halves. */
INLINE vf64 f64_of_f32(vf32 x) {
    return (vf64)_mm512_cvtps_pd((__m256)x);
}

INLINE vf64 widen_f16(const unsigned char *x) {
    return (vf64)_mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x)));
}

INLINE vf64 widen_bf16(const unsigned char *x) {
    __m128i upper = _mm_loadu_si128((const __m128i *)x);
    return (vf64)_mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(upper), 16)));
}

INLINE vf64 widen_f32(const unsigned char *x) {
    return (vf64)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)x));
}

INLINE vf64 add_where_negative(vf64 sum, vf64 term, vf64 x) {
    return (vf64)_mm512_mask_add_pd((__m512d)sum, _mm512_movepi64_mask((__m512i)x), (__m512d)sum,
                                    (__m512d)term);
}

/* Masks of the lanes in which a is above, or equal to, b; and b in the lanes of a mask, a in others. */
INLINE uint64_t lanes_above(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 1: return _mm512_cmpgt_epi8_mask((__m512i)a, (__m512i)b);
    case 2: return _mm512_cmpgt_epi16_mask((__m512i)a, (__m512i)b);
    case 4: return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b);
    default: return _mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b);
    }
}

INLINE uint64_t lanes_equal(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 1: return _mm512_cmpeq_epi8_mask((__m512i)a, (__m512i)b);
    case 2: return _mm512_cmpeq_epi16_mask((__m512i)a, (__m512i)b);
    case 4: return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b);
    default: return _mm512_cmpeq_epi64_mask((__m512i)a, (__m512i)b);
    }
}

INLINE vsword replaced(vsword a, uint64_t mask, vsword b) {
    switch (sizeof(sword)) {
    case 1: return (vsword)_mm512_mask_blend_epi8(mask, (__m512i)a, (__m512i)b);
    case 2: return (vsword)_mm512_mask_blend_epi16((__mmask32)mask, (__m512i)a, (__m512i)b);
    case 4: return (vsword)_mm512_mask_blend_epi32((__mmask16)mask, (__m512i)a, (__m512i)b);
    default: return (vsword)_mm512_mask_blend_epi64((__mmask8)mask, (__m512i)a, (__m512i)b);
    }
}

/* Where lanes were compared as vectors, compilers would make vectors of the masks. */
#define HAS_CLEAN_LANES
INLINE vsword clean_lanes(vsword x, sword infinity, vsword *nans, vsword *positive, vsword *negative) {
    vsword magnitude = x & (sword)((uword)-1 >> 1), limit = (vsword){0} + infinity;
    uint64_t nan = lanes_above(magnitude, limit), infinite = lanes_equal(magnitude, limit);
    *nans = replaced(*nans, nan, *nans - 1);
    *positive = replaced(*positive, infinite, *positive | ~x);
    *negative = replaced(*negative, infinite, *negative | x);
    return replaced(x, nan | infinite, (vsword){0} + (sword)TOP_BIT);
}

/* By instructions that types of 16 bits do not have, and that leave out NaNs. */
#define HAS_LARGER_MAGNITUDES
enum { LARGER_WITHOUT_SIGN = 0xb };

INLINE vsword larger_magnitudes(vsword largest, vsword x) {
    switch (sizeof(sword)) {
    case 4: return (vsword)_mm512_range_ps((__m512)largest, (__m512)x, LARGER_WITHOUT_SIGN);
    case 8: return (vsword)_mm512_range_pd((__m512d)largest, (__m512d)x, LARGER_WITHOUT_SIGN);
    default: return max_signed(largest, x & (sword)((uword)-1 >> 1));
    }
}

#define HAS_LARGER_OF_F64
INLINE vf64 larger_of_f64(vf64 largest, vf64 x) {
    return (vf64)_mm512_range_pd((__m512d)largest, (__m512d)x, LARGER_WITHOUT_SIGN);
}

/* Types without an instruction for it are compared. */
#define HAS_ANY_SPECIAL
INLINE bool is_any_special(const unsigned char *x, size_t nbytes, sword infinity) {
    enum { NANS_AND_INFINITIES = 0x99 };
    uint64_t any = 0;
    UNROLLED
    for (size_t i = 0; i < nbytes; i += VECTOR_NBYTES) {
        vsword bits = (vsword)_mm512_loadu_si512(x + i);
        switch (sizeof(sword)) {
        case 4: any |= _mm512_fpclass_ps_mask((__m512)bits, NANS_AND_INFINITIES); break;
        case 8: any |= _mm512_fpclass_pd_mask((__m512d)bits, NANS_AND_INFINITIES); break;
        default: any |= lanes_above(bits & (sword)((uword)-1 >> 1), (vsword){0} + (sword)(infinity - 1));
        }
    }
    return any;
}

/* Pairs of lanes of 16 bits, by instructions that not all processors of this tier have.  Functions that use
 * add_pair_products, which adds the two products of a pair to a lane of 32 bits, are OF_PAIR_PRODUCTS. */
#define HAS_PAIR_PRODUCTS
#define OF_PAIR_PRODUCTS __attribute__((target("avx512vnni")))

INLINE bool has_pair_products(void) {
    return __builtin_cpu_supports("avx512vnni");
}

/* With sums of another type, gcc 12 copies each of them in each step. */
typedef int32_t vi32 __attribute__((vector_size(VECTOR_NBYTES)));

OF_PAIR_PRODUCTS INLINE vi32 add_pair_products(vi32 sum, vsword a, vsword b) {
    return (vi32)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}

/* 2^(14 - distance) in lanes of 0 to 14, 0 in all others. */
INLINE vsword powers_at(vsword distance) {
    return (vsword)_mm512_srlv_epi16((__m512i)((vsword){0} + (sword)(1 << 14)), (__m512i)distance);
}

/* -a in the lanes in which the sign bit of x is set, a in others.  The test leaves the port to shifts that a move of the
 * sign bits would take. */
INLINE vsword negated_where_negative(vsword a, vsword x) {
    uint32_t negative = _mm512_test_epi16_mask((__m512i)x, (__m512i)((vsword){0} + (sword)TOP_BIT));
    return (vsword)_mm512_mask_sub_epi16((__m512i)a, negative, (__m512i)(vsword){0}, (__m512i)a);
}

/* Vectors are compressed to the lanes of a mask. */
#define PARTS_VECTORS (sizeof(uword) >= 4)
#define ALL_WITHIN ((unsigned)(~UINT64_C(0) >> (64 - STEP)))

INLINE unsigned lanes_within(vsword x, struct magnitudes within) {
    const vsword no_sign = (vsword){0} + (sword)((uword)-1 >> 1), min = (vsword){0} + (sword)within.min;
    const vsword span = (vsword){0} + (sword)(uword)(within.max - within.min);
    __m512i magnitude = _mm512_and_si512((__m512i)x, (__m512i)no_sign), above = (__m512i)((vsword)magnitude - min);
    if (sizeof(uword) == 2)
        return (unsigned)(_mm512_cmple_epu16_mask(above, (__m512i)span) | _mm512_testn_epi16_mask(magnitude, magnitude));
    if (sizeof(uword) == 4)
        return (unsigned)(_mm512_cmple_epu32_mask(above, (__m512i)span) | _mm512_testn_epi32_mask(magnitude, magnitude));
    return (unsigned)(_mm512_cmple_epu64_mask(above, (__m512i)span) | _mm512_testn_epi64_mask(magnitude, magnitude));
}

INLINE size_t store_parted(unsigned char *near, unsigned char *far_end, vsword x, unsigned mask) {
    const unsigned others = ~mask & ALL_WITHIN;
    size_t count = (size_t)__builtin_popcount(others);
    unsigned char *far = far_end - count * sizeof(uword);
    if (sizeof(uword) == 4) {
        _mm512_storeu_si512(near, _mm512_maskz_compress_epi32((__mmask16)mask, (__m512i)x));
        __m512i last = _mm512_maskz_compress_epi32((__mmask16)others, (__m512i)x);
        _mm512_mask_storeu_epi32(far, (__mmask16)((1u << count) - 1), last);
    } else {
        _mm512_storeu_si512(near, _mm512_maskz_compress_epi64((__mmask8)mask, (__m512i)x));
        __m512i last = _mm512_maskz_compress_epi64((__mmask8)others, (__m512i)x);
        _mm512_mask_storeu_epi64(far, (__mmask8)((1u << count) - 1), last);
    }
    return STEP - count;
}

/* An operation that rounds sets the processor's inexact flag, unless its instruction says not to. */
enum { NOTES_ROUNDING = 1, QUIETLY = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

INLINE vf64 quiet_multiply_add(vf64 a, vf64 b, vf64 c) {
    return (vf64)_mm512_fmadd_round_pd((__m512d)a, (__m512d)b, (__m512d)c, QUIETLY);
}

INLINE vf64 quiet_multiply(vf64 a, vf64 b) {
    return (vf64)_mm512_mul_round_pd((__m512d)a, (__m512d)b, QUIETLY);
}

INLINE vf64 quiet_add(vf64 a, vf64 b) {
    return (vf64)_mm512_add_round_pd((__m512d)a, (__m512d)b, QUIETLY);
}

INLINE vf32 quiet_f32_of(vf64 x) {
    return (vf32)_mm512_cvt_roundpd_ps((__m512d)x, QUIETLY);
}

INLINE bool has_rounded(void) {
    return _mm_getcsr() & _MM_EXCEPT_INEXACT;
}

INLINE void forget_rounding(void) {
    _mm_setcsr(_mm_getcsr() & ~(unsigned)_MM_EXCEPT_INEXACT);
}

INLINE void pin(vf64 *vector) {
    __asm__ volatile("" : "+v"(*vector));
}
