// Integers of 1 and 2 bytes, compared with their places behind them, two of a word or one, so that the first of equal ones is better.

#ifndef GROUP_PLACES_CUH
#define GROUP_PLACES_CUH

#include "kernels/group_key_extremes.cuh"

#if HAS_PLACES

#define PLACE_MAX (WIDTH == 8 ? 0xff : 0xffff)
#define PLACES_OF_WORD (WIDTH == 8 ? 0x03020100u : 0x10000u) // 0 and more, one behind each element

// Every other element of the word, odd ones or even ones, with its place behind it: so that of equal ones the first is better.
static __device__ __forceinline__ u32 with_places(u32 word, int first, bool are_odd)
{
    const u32 from_first = PLACES_OF_WORD + (u32)first * (WIDTH == 8 ? 0x01010101u : 0x10001u), places = HAS_MIN ? from_first : ~from_first;
    if (WIDTH == 8) return __byte_perm(word, places, are_odd ? 0x3715 : 0x2604);
    return __byte_perm(word, places, are_odd ? 0x3276 : 0x1054);
}

static __device__ __forceinline__ u32 better_with_place(u32 a, u32 b)
{
    if (WIDTH == 8) return better_halves(a, b);
    if (IS_SIGNED) return (u32)(HAS_MIN ? min((int)a, (int)b) : max((int)a, (int)b));
    return HAS_MIN ? min(a, b) : max(a, b);
}

static __device__ __forceinline__ u32 best_with_place(const vector *v, const int vectors)
{
    u32 odd = with_places(v[0].word[0], 0, true), even = with_places(v[0].word[0], 0, false);
#pragma unroll
    for (int i = 1; i < 4 * vectors; i++) {
        const u32 word = v[i / 4].word[i % 4];
        odd = better_with_place(odd, with_places(word, i * PER_WORD, true));
        even = better_with_place(even, with_places(word, i * PER_WORD, false));
    }
    const u32 best = better_with_place(odd, even);
    return WIDTH == 8 ? better_halves(best, best << 16 | best >> 16) & 0xffff : best;
}

#endif

#endif
