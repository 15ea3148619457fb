#include <immintrin.h>

#define TIER avx2
#define VECTOR_NBYTES 32
#define FUSED(a, b, c) ((vf64)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define FUSED_IS_FAST
#define WIDEN_F16(x) ((vf64)_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(x)))))
#define WIDEN_BF16(x)                                                                                          \
    ((vf64)_mm256_cvtps_pd(                                                                                    \
        _mm_castsi128_ps(_mm_slli_epi32(_mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)(x))), 16))))
#define WIDEN_F32(x) ((vf64)_mm256_cvtps_pd(_mm_loadu_ps((const float *)(x))))
#define MAX_I16(a, b) ((vi16)_mm256_max_epi16((__m256i)(a), (__m256i)(b)))
#define MIN_I16(a, b) ((vi16)_mm256_min_epi16((__m256i)(a), (__m256i)(b)))
#define HAS_MAX_U16 1
#define MAX_U16(a, b) _mm256_max_epu16((__m256i)(a), (__m256i)(b))
#define MAX_I32(a, b) ((vi32)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define MIN_I32(a, b) ((vi32)_mm256_min_epi32((__m256i)(a), (__m256i)(b)))
#define HAS_MAX_U32 1
#define MAX_U32(a, b) _mm256_max_epu32((__m256i)(a), (__m256i)(b))

#include "cpu/kernels.inc"
