#include <immintrin.h>

#define TIER avx2
#define VECTOR_NBYTES 32
#define FUSED(a, b, c) ((vf64)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))

#include "cpu/kernels.inc"
