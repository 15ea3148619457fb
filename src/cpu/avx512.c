#include <immintrin.h>

#define TIER avx512
#define VECTOR_NBYTES 64
#define FUSED(a, b, c) ((vf64)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))

#include "cpu/kernels.inc"
