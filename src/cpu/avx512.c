#include <immintrin.h>

#define TIER avx512
#define VECTOR_NBYTES 64
#define FUSED(a, b, c) ((vf64)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FUSED_IS_FAST
#define WIDEN_F16(x) ((vf64)_mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x)))))
#define WIDEN_BF16(x)                                                                                          \
    ((vf64)_mm512_cvtps_pd(_mm256_castsi256_ps(                                                                \
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(x))), 16))))
#define WIDEN_F32(x) ((vf64)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)(x))))
#define MAX_I16(a, b) ((vi16)_mm512_max_epi16((__m512i)(a), (__m512i)(b)))
#define MIN_I16(a, b) ((vi16)_mm512_min_epi16((__m512i)(a), (__m512i)(b)))
#define MAX_I32(a, b) ((vi32)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define MIN_I32(a, b) ((vi32)_mm512_min_epi32((__m512i)(a), (__m512i)(b)))
#define MAX_I64(a, b) ((vi64)_mm512_max_epi64((__m512i)(a), (__m512i)(b)))
#define MIN_I64(a, b) ((vi64)_mm512_min_epi64((__m512i)(a), (__m512i)(b)))

#include "cpu/kernels.inc"
