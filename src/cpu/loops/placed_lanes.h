/* Lanes of 32 bits in any order, where an instruction of the tier does that.  Included after vector.h, for types of 4 bytes.
 *
 * choice_of(chosen): lanes that are all ones, as placed_lanes takes them;
 * placed_lanes(others, chosen, order, x): in chosen lanes that lane of x which order says, elsewhere what is in others. */
#ifndef WF_CPU_LOOPS_PLACED_LANES_H
#define WF_CPU_LOOPS_PLACED_LANES_H

#if defined(__AVX512F__)
#define HAS_PLACED_LANES
typedef __mmask16 lane_choice;

INLINE lane_choice choice_of(vsword chosen) {
    return _mm512_movepi32_mask((__m512i)chosen);
}

INLINE vsword placed_lanes(vsword others, lane_choice chosen, vsword order, vsword x) {
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

#endif
