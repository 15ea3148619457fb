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
    case 2: return (vsword)_mm256_max_epi16((__m256i)a, (__m256i)b);
    case 4: return (vsword)_mm256_max_epi32((__m256i)a, (__m256i)b);
    default: return select_where(a > b, a, b);
    }
}

INLINE vsword min_signed(vsword a, vsword b) {
    switch (sizeof(sword)) {
    case 2: return (vsword)_mm256_min_epi16((__m256i)a, (__m256i)b);
    case 4: return (vsword)_mm256_min_epi32((__m256i)a, (__m256i)b);
    default: return select_where(a < b, a, b);
    }
}

#define UNSIGNED_FLIP ((uword)(sizeof(uword) == 8 ? TOP_BIT : 0))
INLINE vsword max_unsigned(vsword a, vsword b) {
    switch (sizeof(uword)) {
    case 2: return (vsword)_mm256_max_epu16((__m256i)a, (__m256i)b);
    case 4: return (vsword)_mm256_max_epu32((__m256i)a, (__m256i)b);
    default: return max_signed(a, b);
    }
}

/* Where max_signed and min_signed would take three instructions: of 64 bits the halves by themselves, so that the upper
 * half is the bound's. */
#define HAS_BOUNDS
INLINE vsword upper_bound(vsword a, vsword b) {
    return (vsword)(sizeof(sword) == 2 ? _mm256_max_epu16((__m256i)a, (__m256i)b) : _mm256_max_epu32((__m256i)a, (__m256i)b));
}

INLINE vsword lower_bound(vsword a, vsword b) {
    return (vsword)(sizeof(sword) == 2 ? _mm256_min_epu16((__m256i)a, (__m256i)b) : _mm256_min_epu32((__m256i)a, (__m256i)b));
}

/* Conversions by their instructions' names, since gcc 12 splits a __builtin_convertvector from f32 to f64 in
 * halves. */
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

#include "cpu/loops/vector_unchecked.h"
