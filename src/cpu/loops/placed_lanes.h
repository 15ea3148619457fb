/* Elements that lie apart, placed side by side, where an instruction of the tier brings lanes into any order.  Included after
 * vector.h, for types of 4 bytes, and, with AVX-512, of 8.
 *
 * choice_of(chosen): lanes that are all ones, as placed_lanes takes them;
 * placed_lanes(others, chosen, order, x): in chosen lanes that lane of x which order says, elsewhere what is in others. */
#ifndef WF_CPU_LOOPS_PLACED_LANES_H
#define WF_CPU_LOOPS_PLACED_LANES_H

#include "cpu/loops/vector.h"

#include <string.h>

#if defined(__AVX512F__)
#define HAS_PLACED_LANES
typedef __mmask16 lane_choice;

INLINE lane_choice choice_of(vsword chosen) {
    if (sizeof(sword) == 8) return _mm512_movepi64_mask((__m512i)chosen);
    return _mm512_movepi32_mask((__m512i)chosen);
}

INLINE vsword placed_lanes(vsword others, lane_choice chosen, vsword order, vsword x) {
    if (sizeof(sword) == 8)
        return (vsword)_mm512_mask_permutexvar_epi64((__m512i)others, (__mmask8)chosen, (__m512i)order, (__m512i)x);
    return (vsword)_mm512_mask_permutexvar_epi32((__m512i)others, chosen, (__m512i)order, (__m512i)x);
}
#elif defined(__AVX2__)
#define HAS_PLACED_LANES
typedef vsword lane_choice;

INLINE lane_choice choice_of(vsword chosen) {
    return chosen;
}

INLINE vsword placed_lanes(vsword others, lane_choice chosen, vsword order, vsword x) {
    const __m256i placed = _mm256_permutevar8x32_epi32((__m256i)x, (__m256i)order);
    return (vsword)_mm256_blendv_epi8((__m256i)others, placed, (__m256i)chosen);
}
#endif

#ifdef HAS_PLACED_LANES

enum { APART_MAX = 8 };

/* Elements of `words` words lie `apart` elements apart; backwards: each before the one before it. */
struct stride {
    int words, apart;
    bool backwards;
};

/* Which lanes of the vectors of a block, as many as elements are apart, go where. */
struct places {
    vsword order;
    lane_choice chosen[APART_MAX];
};

/* Backwards, a block ends with its first element. */
INLINE struct places places_of(struct stride stride) {
    const int per_vector = (int)STEP / stride.words;
    struct places places;
    vsword position;
    for (int k = 0; k < (int)STEP; k++) {
        const int element = k / stride.words, last = per_vector * stride.apart - 1;
        const int at = stride.backwards ? last - element * stride.apart : element * stride.apart;
        position[k] = (sword)(at * stride.words + k % stride.words);
    }
    places.order = position & (sword)(STEP - 1);
    for (int j = 0; j < stride.apart; j++)
        places.chosen[j] = choice_of((position & (sword)-(sword)STEP) == (sword)(j * (int)STEP));
    return places;
}

/* The elements of the block there, side by side. */
INLINE vsword placed_block(const unsigned char *from, const struct places *places, int apart) {
    vsword placed = {0}, x;
    UNROLLED
    for (int j = 0; j < apart; j++) {
        memcpy(&x, from + j * VECTOR_NBYTES, sizeof x);
        placed = placed_lanes(placed, places->chosen[j], places->order, x);
    }
    return placed;
}

#endif

#endif
