/* The AVX-512 instructions of src/cpu/loops/vector_avx512.h by AVX2's, for lab/avx512. */
#ifndef WF_LAB_EMULATED_AVX512_H
#define WF_LAB_EMULATED_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

/* Each half by itself. */
#define HALVES(name, half, vector, ...)                        \
    static inline vector emulated_##name(vector a, vector b) { \
        union {                                                \
            vector whole;                                      \
            vector##_half part[2];                             \
        } x = {a}, y = {b};                                    \
        for (int i = 0; i < 2; i++) x.part[i] = half;          \
        return x.whole;                                        \
    }
#define WHERE(is_better) _mm256_blendv_epi8(y.part[i], x.part[i], is_better)
#define TOP(x) _mm256_xor_si256(x, _mm256_set1_epi64x(INT64_MIN))
typedef __m256i __m512i_half;
typedef __m256d __m512d_half;

#define SAME(name) HALVES(name, _mm256_##name(x.part[i], y.part[i]), __m512i)
SAME(max_epi8)
SAME(max_epi16)
SAME(max_epi32)
SAME(min_epi8)
SAME(min_epi16)
SAME(min_epi32)
SAME(max_epu8)
SAME(max_epu16)
SAME(max_epu32)
HALVES(max_epi64, WHERE(_mm256_cmpgt_epi64(x.part[i], y.part[i])), __m512i)
HALVES(min_epi64, WHERE(_mm256_cmpgt_epi64(y.part[i], x.part[i])), __m512i)
HALVES(max_epu64, WHERE(_mm256_cmpgt_epi64(TOP(x.part[i]), TOP(y.part[i]))), __m512i)
HALVES(mul_pd, _mm256_mul_pd(x.part[i], y.part[i]), __m512d)
HALVES(add_pd, _mm256_add_pd(x.part[i], y.part[i]), __m512d)

static inline __m512d emulated_fmadd_pd(__m512d a, __m512d b, __m512d c) {
    union {
        __m512d whole;
        __m256d part[2];
    } x = {a}, y = {b}, z = {c};
    for (int i = 0; i < 2; i++) x.part[i] = _mm256_fmadd_pd(x.part[i], y.part[i], z.part[i]);
    return x.whole;
}

static inline __m512d emulated_cvtps_pd(__m256 a) {
    union {
        __m512d whole;
        __m256d part[2];
    } x = {.part = {_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1))}};
    return x.whole;
}

static inline int emulated_movepi64_mask(__m512i a) {
    union {
        __m512i whole;
        long long lane[8];
    } x = {a};
    int mask = 0;
    for (int i = 0; i < 8; i++) mask |= (x.lane[i] < 0) << i;
    return mask;
}

static inline int emulated_test_epi64_mask(__m512i a, __m512i b) {
    union {
        __m512i whole;
        long long lane[8];
    } x = {a}, y = {b};
    int mask = 0;
    for (int i = 0; i < 8; i++) mask |= ((x.lane[i] & y.lane[i]) != 0) << i;
    return mask;
}

static inline uint64_t emulated_movepi8_mask(__m512i a) {
    union {
        __m512i whole;
        signed char lane[64];
    } x = {a};
    uint64_t mask = 0;
    for (int i = 0; i < 64; i++) mask |= (uint64_t)(x.lane[i] < 0) << i;
    return mask;
}

static inline __m512d emulated_mask_add_pd(__m512d otherwise, int mask, __m512d a, __m512d b) {
    union {
        __m512d whole;
        double lane[8];
    } x = {otherwise}, sum = {emulated_add_pd(a, b)};
    for (int i = 0; i < 8; i++)
        if (mask >> i & 1) x.lane[i] = sum.lane[i];
    return x.whole;
}

/* Lane by lane, with masks of as many bits as there are lanes. */
#define LANES_OF(lane_type, vector, value)      \
    union {                                     \
        __m512i whole;                          \
        lane_type lane[64 / sizeof(lane_type)]; \
    } vector = {value}
#define EACH_EMULATED(lane_type) for (size_t i = 0; i < 64 / sizeof(lane_type); i++)

#define LANES_WHERE(name, lane_type, is_true)                             \
    static inline uint32_t emulated_##name##_mask(__m512i a, __m512i b) { \
        LANES_OF(lane_type, x, a), y = {b};                               \
        uint32_t mask = 0;                                                \
        EACH_EMULATED(lane_type) mask |= (uint32_t)(is_true) << i;        \
        return mask;                                                      \
    }
LANES_WHERE(cmpgt_epi16, int16_t, x.lane[i] > y.lane[i])
LANES_WHERE(cmpgt_epi32, int32_t, x.lane[i] > y.lane[i])
LANES_WHERE(cmpgt_epi64, int64_t, x.lane[i] > y.lane[i])
LANES_WHERE(cmpeq_epi16, int16_t, x.lane[i] == y.lane[i])
LANES_WHERE(cmpeq_epi32, int32_t, x.lane[i] == y.lane[i])
LANES_WHERE(cmpeq_epi64, int64_t, x.lane[i] == y.lane[i])
LANES_WHERE(cmple_epu16, uint16_t, x.lane[i] <= y.lane[i])
LANES_WHERE(cmple_epu32, uint32_t, x.lane[i] <= y.lane[i])
LANES_WHERE(cmple_epu64, uint64_t, x.lane[i] <= y.lane[i])
LANES_WHERE(test_epi16, uint16_t, (x.lane[i] & y.lane[i]) != 0)
LANES_WHERE(testn_epi16, uint16_t, !(x.lane[i] & y.lane[i]))
LANES_WHERE(testn_epi32, uint32_t, !(x.lane[i] & y.lane[i]))
LANES_WHERE(testn_epi64, uint64_t, !(x.lane[i] & y.lane[i]))

/* Lanes of b where the mask has a bit, of a elsewhere; the lanes of a mask side by side, then zeros; a store of those lanes. */
#define MASKED(bits)                                                                           \
    static inline __m512i emulated_mask_blend_epi##bits(uint32_t mask, __m512i a, __m512i b) { \
        LANES_OF(int##bits##_t, x, a), y = {b};                                                \
        EACH_EMULATED(int##bits##_t)                                                           \
            if (mask >> i & 1) x.lane[i] = y.lane[i];                                          \
        return x.whole;                                                                        \
    }                                                                                          \
    static inline __m512i emulated_maskz_compress_epi##bits(uint32_t mask, __m512i a) {        \
        LANES_OF(int##bits##_t, x, a), found = {{0}};                                          \
        size_t count = 0;                                                                      \
        EACH_EMULATED(int##bits##_t)                                                           \
            if (mask >> i & 1) found.lane[count++] = x.lane[i];                                \
        return found.whole;                                                                    \
    }                                                                                          \
    static inline void emulated_mask_storeu_epi##bits(void *to, uint32_t mask, __m512i a) {    \
        LANES_OF(int##bits##_t, x, a);                                                         \
        EACH_EMULATED(int##bits##_t)                                                           \
            if (mask >> i & 1) memcpy((int##bits##_t *)to + i, &x.lane[i], sizeof x.lane[i]);  \
    }
MASKED(16)
MASKED(32)
MASKED(64)

static inline __m512i emulated_and_si512(__m512i a, __m512i b) {
    LANES_OF(uint64_t, x, a), y = {b};
    EACH_EMULATED(uint64_t) x.lane[i] &= y.lane[i];
    return x.whole;
}

static inline void emulated_storeu_si512(void *to, __m512i a) {
    memcpy(to, &a, sizeof a);
}

static inline __m512i emulated_srlv_epi16(__m512i a, __m512i b) {
    LANES_OF(uint16_t, x, a), y = {b};
    EACH_EMULATED(uint16_t) x.lane[i] = y.lane[i] < 16 ? x.lane[i] >> y.lane[i] : 0;
    return x.whole;
}

static inline __m512i emulated_mask_sub_epi16(__m512i otherwise, uint32_t mask, __m512i a, __m512i b) {
    LANES_OF(uint16_t, x, a), y = {b};
    EACH_EMULATED(uint16_t) x.lane[i] -= y.lane[i];
    return emulated_mask_blend_epi16(mask, otherwise, x.whole);
}

static inline __m512i emulated_dpwssd_epi32(__m512i sum, __m512i a, __m512i b) {
    LANES_OF(int32_t, z, sum);
    LANES_OF(int16_t, x, a), y = {b};
    EACH_EMULATED(int16_t) z.lane[i / 2] += x.lane[i] * y.lane[i];
    return z.whole;
}

/* Leaves the flags as they were. */
#define QUIET(result, operation)                     \
    __extension__({                                  \
        const unsigned flags = _mm_getcsr();         \
        __m512d result = operation;                  \
        __asm__ volatile("" : "+m"(result));         \
        _mm_setcsr(flags);                           \
        result;                                      \
    })

#define _mm512_max_epi8 emulated_max_epi8
#define _mm512_max_epi16 emulated_max_epi16
#define _mm512_max_epi32 emulated_max_epi32
#define _mm512_max_epi64 emulated_max_epi64
#define _mm512_min_epi8 emulated_min_epi8
#define _mm512_min_epi16 emulated_min_epi16
#define _mm512_min_epi32 emulated_min_epi32
#define _mm512_min_epi64 emulated_min_epi64
#define _mm512_max_epu8 emulated_max_epu8
#define _mm512_max_epu16 emulated_max_epu16
#define _mm512_max_epu32 emulated_max_epu32
#define _mm512_max_epu64 emulated_max_epu64
#define _mm512_fmadd_pd emulated_fmadd_pd
#define _mm512_cvtps_pd emulated_cvtps_pd
#define _mm512_test_epi64_mask emulated_test_epi64_mask
#define _mm512_movepi8_mask emulated_movepi8_mask
#define _mm512_movepi64_mask emulated_movepi64_mask
#define _mm512_mask_add_pd emulated_mask_add_pd
#undef _mm512_cmpgt_epi16_mask
#undef _mm512_cmpgt_epi32_mask
#undef _mm512_cmpgt_epi64_mask
#undef _mm512_cmpeq_epi16_mask
#undef _mm512_cmpeq_epi32_mask
#undef _mm512_cmpeq_epi64_mask
#undef _mm512_cmple_epu16_mask
#undef _mm512_cmple_epu32_mask
#undef _mm512_cmple_epu64_mask
#define _mm512_and_si512 emulated_and_si512
#define _mm512_storeu_si512 emulated_storeu_si512
#define _mm512_cmpgt_epi16_mask emulated_cmpgt_epi16_mask
#define _mm512_cmpgt_epi32_mask emulated_cmpgt_epi32_mask
#define _mm512_cmpgt_epi64_mask emulated_cmpgt_epi64_mask
#define _mm512_cmpeq_epi16_mask emulated_cmpeq_epi16_mask
#define _mm512_cmpeq_epi32_mask emulated_cmpeq_epi32_mask
#define _mm512_cmpeq_epi64_mask emulated_cmpeq_epi64_mask
#define _mm512_cmple_epu16_mask emulated_cmple_epu16_mask
#define _mm512_cmple_epu32_mask emulated_cmple_epu32_mask
#define _mm512_cmple_epu64_mask emulated_cmple_epu64_mask
#define _mm512_srlv_epi16 emulated_srlv_epi16
#define _mm512_mask_sub_epi16 emulated_mask_sub_epi16
#define _mm512_dpwssd_epi32 emulated_dpwssd_epi32
#define _mm512_test_epi16_mask emulated_test_epi16_mask
#define _mm512_testn_epi16_mask emulated_testn_epi16_mask
#define _mm512_testn_epi32_mask emulated_testn_epi32_mask
#define _mm512_testn_epi64_mask emulated_testn_epi64_mask
#define _mm512_mask_blend_epi16 emulated_mask_blend_epi16
#define _mm512_mask_blend_epi32 emulated_mask_blend_epi32
#define _mm512_mask_blend_epi64 emulated_mask_blend_epi64
#define _mm512_maskz_compress_epi32 emulated_maskz_compress_epi32
#define _mm512_maskz_compress_epi64 emulated_maskz_compress_epi64
#define _mm512_mask_storeu_epi32 emulated_mask_storeu_epi32
#define _mm512_mask_storeu_epi64 emulated_mask_storeu_epi64
#undef _mm512_fmadd_round_pd
#undef _mm512_mul_round_pd
#undef _mm512_add_round_pd
#define _mm512_fmadd_round_pd(a, b, c, rounding) QUIET(quiet, emulated_fmadd_pd(a, b, c))
#define _mm512_mul_round_pd(a, b, rounding) QUIET(quiet, emulated_mul_pd(a, b))
#define _mm512_add_round_pd(a, b, rounding) QUIET(quiet, emulated_add_pd(a, b))

#endif
