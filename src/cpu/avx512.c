#include <immintrin.h>

#define TIER avx512
#define VECTOR_NBYTES 64
#define FUSED(a, b, c) ((vf64)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FUSED_IS_FAST
#define WIDEN_F16(x) ((vf64)_mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x)))))
#define WIDEN_BF16(x)                                                                                        \
    ((vf64)_mm512_cvtps_pd(_mm256_castsi256_ps(                                                              \
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(x))), 16))))
#define WIDEN_F32(x) ((vf64)_mm512_cvtps_pd(_mm256_loadu_ps((const float *)(x))))
#define MAX_I16(a, b) ((vi16)_mm512_max_epi16((__m512i)(a), (__m512i)(b)))
#define MIN_I16(a, b) ((vi16)_mm512_min_epi16((__m512i)(a), (__m512i)(b)))
#define HAS_MAX_U16 1
#define MAX_U16(a, b) _mm512_max_epu16((__m512i)(a), (__m512i)(b))
#define MAX_I32(a, b) ((vi32)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define MIN_I32(a, b) ((vi32)_mm512_min_epi32((__m512i)(a), (__m512i)(b)))
#define HAS_MAX_U32 1
#define MAX_U32(a, b) _mm512_max_epu32((__m512i)(a), (__m512i)(b))
#define MAX_I64(a, b) ((vi64)_mm512_max_epi64((__m512i)(a), (__m512i)(b)))
#define MIN_I64(a, b) ((vi64)_mm512_min_epi64((__m512i)(a), (__m512i)(b)))
#define HAS_MAX_U64 1
#define MAX_U64(a, b) _mm512_max_epu64((__m512i)(a), (__m512i)(b))
#define ADD_WHERE_NEGATIVE(sum, term, x)                                                                     \
    ((vf64)_mm512_mask_add_pd((__m512d)(sum), _mm512_movepi64_mask((__m512i)(x)), (__m512d)(sum),            \
                              (__m512d)(term)))

/* An operation that rounds sets a flag, unless it is told not to. */
#define NOTES_ROUNDING 1
#define QUIETLY (_MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define QUIET_MULTIPLY_ADD(a, b, c)                                                                          \
    ((vf64)_mm512_fmadd_round_pd((__m512d)(a), (__m512d)(b), (__m512d)(c), QUIETLY))
#define QUIET_MULTIPLY(a, b) ((vf64)_mm512_mul_round_pd((__m512d)(a), (__m512d)(b), QUIETLY))
#define QUIET_ADD(a, b) ((vf64)_mm512_add_round_pd((__m512d)(a), (__m512d)(b), QUIETLY))
#define FORGET_ROUNDING() _mm_setcsr(_mm_getcsr() & ~_MM_EXCEPT_INEXACT)
#define HAS_ROUNDED() (_mm_getcsr() & _MM_EXCEPT_INEXACT)
/* Keeps the operations that make a vector before, and those that use it after, a look at the flag. */
#define PIN(vector) __asm__ volatile("" : "+v"(vector))

#include "cpu/kernels.inc"
