/* Finds delimiters, line breaks and quotes 64 bytes at a time, by the widest comparisons that there are.  Most lines of a
 * table are then known without a look at the fields that nobody reads. */
#include "io/table_places.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

struct masks {
    uint64_t delimiters, fences; /* bit i: byte i */
};

typedef struct masks masks_function(const char *p, char delimiter);

/* Appends the places of the mask's bits, the lowest of which is at base.  There is room for 64. */
typedef void append_function(struct wf_places *places, size_t base, uint64_t mask);

/* ---- finding ---- */

/* Four in a step, which may write up to three that are none after the last. */
INLINE void append_fours(struct wf_places *places, size_t base, uint64_t mask) {
    uint32_t *to = places->at + places->count;
    places->count += (size_t)__builtin_popcountll(mask);
    for (; mask; to += 4)
        for (int i = 0; i < 4; i++, mask &= mask - 1)
            to[i] = (uint32_t)(base + (size_t)__builtin_ctzll(mask | UINT64_C(1) << 63));
}

static void drop_passed(struct wf_places *places) {
    places->count -= places->next;
    memmove(places->at, places->at + places->next, places->count * sizeof *places->at);
    places->next = 0;
}

/* masks_of_64 and append are known to the compiler wherever this is called. */
INLINE void find_places(struct wf_specials *specials, const char *text, size_t nbytes, char delimiter,
                        masks_function *masks_of_64, append_function *append) {
    struct wf_places all, fence;
    size_t i = specials->looked_at;
    drop_passed(&specials->all);
    drop_passed(&specials->fence);
    all = specials->all;
    fence = specials->fence;
    for (; i < nbytes && all.count + 64 <= all.capacity; i += 64) {
        const struct masks masks = masks_of_64(text + i, delimiter);
        const uint64_t own = nbytes - i < 64 ? ~(~UINT64_C(0) << (nbytes - i)) : ~UINT64_C(0);
        append(&all, i, (masks.delimiters | masks.fences) & own);
        append(&fence, i, masks.fences & own);
    }
    fence.at[fence.count] = UINT32_MAX;
    *specials = (struct wf_specials){all, fence, i};
}

/* ---- tiers ---- */

#if defined(__x86_64__)

INLINE struct masks masks_of_sse2(const char *p, char delimiter) {
    const __m128i breaks = _mm_set1_epi8('\n'), quotes = _mm_set1_epi8('"'), delimiters = _mm_set1_epi8(delimiter);
    struct masks masks = {0, 0};
    for (int i = 0; i < 64; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(p + i));
        const __m128i fences = _mm_or_si128(_mm_cmpeq_epi8(bytes, breaks), _mm_cmpeq_epi8(bytes, quotes));
        masks.fences |= (uint64_t)(uint32_t)_mm_movemask_epi8(fences) << i;
        masks.delimiters |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, delimiters)) << i;
    }
    return masks;
}

static void find_places_scalar(struct wf_specials *specials, const char *text, size_t nbytes, char delimiter) {
    find_places(specials, text, nbytes, delimiter, masks_of_sse2, append_fours);
}

#define TARGET __attribute__((target("avx2,bmi,popcnt")))

TARGET INLINE struct masks masks_of_avx2(const char *p, char delimiter) {
    const __m256i breaks = _mm256_set1_epi8('\n'), quotes = _mm256_set1_epi8('"');
    const __m256i delimiters = _mm256_set1_epi8(delimiter);
    struct masks masks = {0, 0};
    for (int i = 0; i < 64; i += 32) {
        const __m256i bytes = _mm256_loadu_si256((const __m256i *)(p + i));
        const __m256i fences = _mm256_or_si256(_mm256_cmpeq_epi8(bytes, breaks), _mm256_cmpeq_epi8(bytes, quotes));
        masks.fences |= (uint64_t)(uint32_t)_mm256_movemask_epi8(fences) << i;
        masks.delimiters |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, delimiters)) << i;
    }
    return masks;
}

TARGET static void find_places_avx2(struct wf_specials *specials, const char *text, size_t nbytes, char delimiter) {
    find_places(specials, text, nbytes, delimiter, masks_of_avx2, append_fours);
}

static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
}

#define TARGET_512 __attribute__((target("avx2,bmi,popcnt,avx512f,avx512bw,avx512vbmi2")))

TARGET_512 INLINE struct masks masks_of_avx512(const char *p, char delimiter) {
    const __m512i bytes = _mm512_loadu_si512(p);
    const uint64_t breaks = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n'));
    const uint64_t quotes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
    return (struct masks){_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(delimiter)), breaks | quotes};
}

/* Sixteen in a step, nearly always the only one: what is after the last is none. */
TARGET_512 INLINE void append_sixteens(struct wf_places *places, size_t base, uint64_t mask) {
    static const unsigned char own_place[64] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
        32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i bases = _mm512_set1_epi32((int)base);
    __m512i found = _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(own_place));
    uint32_t *to = places->at + places->count;
    const size_t count = (size_t)__builtin_popcountll(mask);
    for (size_t i = 0;;) {
        _mm512_storeu_si512(to + i, _mm512_add_epi32(bases, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found))));
        if ((i += 16) >= count) break;
        found = _mm512_shuffle_i64x2(found, found, _MM_SHUFFLE(0, 3, 2, 1));
    }
    places->count += count;
}

TARGET_512 static void find_places_avx512(struct wf_specials *specials, const char *text, size_t nbytes, char delimiter) {
    find_places(specials, text, nbytes, delimiter, masks_of_avx512, append_sixteens);
}

static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vbmi2");
}

wf_places_function *wf_places_choose(const char *tier) {
    const bool is_scalar = tier && !strcmp(tier, "scalar"), is_avx2 = tier && !strcmp(tier, "avx2");
    if (!is_scalar && !is_avx2 && has_avx512()) return find_places_avx512;
    return !is_scalar && has_avx2() ? find_places_avx2 : find_places_scalar;
}

#else

INLINE struct masks masks_by_bytes(const char *p, char delimiter) {
    struct masks masks = {0, 0};
    for (int i = 0; i < 64; i++) {
        masks.fences |= (uint64_t)(p[i] == '\n' || p[i] == '"') << i;
        masks.delimiters |= (uint64_t)(p[i] == delimiter) << i;
    }
    return masks;
}

static void find_places_scalar(struct wf_specials *specials, const char *text, size_t nbytes, char delimiter) {
    find_places(specials, text, nbytes, delimiter, masks_by_bytes, append_fours);
}

wf_places_function *wf_places_choose(const char *tier) {
    (void)tier;
    return find_places_scalar;
}

#endif
