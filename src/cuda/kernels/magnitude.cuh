// Magnitudes of floats: which is the largest and the smallest of a vector's, and their exponents.
//
// A magnitude is the bits of an f32 without its sign; of f64 its high word, as if that were an f32; of 16 bits there
// are two in a word.

#ifndef MAGNITUDE_CUH
#define MAGNITUDE_CUH

#include "kernels/element.cuh"
#include "kernels/stream.cuh"
#include "kernels/warp.cuh"

#define MAGNITUDE_MAX (WIDTH == 16 ? 0x7fff7fff : 0x7f800000)

// A NaN wins, and so does the high word of an f64 with one of the largest exponents, which seems to be one.
static __device__ __forceinline__ u32 larger_magnitude(u32 a, u32 b)
{
#if __CUDA_ARCH__ >= 800
    u32 larger;
    asm("{ .reg .b32 a, b; abs.f32 a, %1; abs.f32 b, %2; max.NaN.f32 %0, a, b; }" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
#else
    return max(a & 0x7fffffff, b & 0x7fffffff);
#endif
}

// The smaller magnitude of two; of a number and a NaN, that of the number.
static __device__ __forceinline__ u32 smaller_magnitude(u32 a, u32 b)
{
    return __float_as_uint(fminf(fabsf(__uint_as_float(a)), fabsf(__uint_as_float(b))));
}

// In pairs, so that not each has to wait for the one before.
static __device__ __forceinline__ void note_largest(u32 *largest, const vector *v)
{
    if (WIDTH == 16) {
        u32 a = v->word[0] & 0x7fff7fff, b = v->word[1] & 0x7fff7fff;
        u32 c = v->word[2] & 0x7fff7fff, d = v->word[3] & 0x7fff7fff;
        *largest = __vmaxu2(*largest, __vmaxu2(__vmaxu2(a, b), __vmaxu2(c, d)));
        return;
    }
    u32 last = larger_magnitude(v->word[WIDTH == 64 ? 1 : 2], v->word[3]);
    if (WIDTH < 64) last = larger_magnitude(last, larger_magnitude(v->word[0], v->word[1]));
    *largest = larger_magnitude(*largest, last);
}

static __device__ __forceinline__ void note_smallest(u32 *smallest, const vector *v)
{
    if (WIDTH == 16) {
        u32 a = v->word[0] & 0x7fff7fff, b = v->word[1] & 0x7fff7fff;
        u32 c = v->word[2] & 0x7fff7fff, d = v->word[3] & 0x7fff7fff;
        *smallest = __vminu2(*smallest, __vminu2(__vminu2(a, b), __vminu2(c, d)));
        return;
    }
    u32 last = smaller_magnitude(v->word[WIDTH == 64 ? 1 : 2], v->word[3]);
    if (WIDTH < 64) last = smaller_magnitude(last, smaller_magnitude(v->word[0], v->word[1]));
    *smallest = smaller_magnitude(*smallest, last);
}

// The one of two 16-bit magnitudes that decides, as the higher half of a word; of other widths the word itself.
static __device__ __forceinline__ u32 largest_of(u32 largest)
{
    return WIDTH == 16 ? max(largest & 0xffff0000, largest << 16) : largest;
}

static __device__ __forceinline__ u32 smallest_of(u32 smallest)
{
    return WIDTH == 16 ? min(smallest & 0xffff0000, smallest << 16) : smallest;
}

#define FIELD_SHIFT (WIDTH == 64 ? 20 : 31 - EXPONENT_BITS) // of such a word
// From here on there may be infinities and NaNs; of f64 the largest exponents are among them (larger_magnitude).
#define SPECIAL_WORD (WIDTH == 64 ? 0x7f800000u : WIDTH == 16 ? (u32)INFINITY_BITS << 16 : (u32)INFINITY_BITS)

// The exponent fields of a warp's chunk: of the largest magnitude, and of the smallest one that is not 0, 1 at least.
typedef struct {
    int high, low;
} field_range;

// The smallest magnitude but 0, less one; ~0 if there is none.  Two of 16 bits are compared as signed integers, of which what is
// left of a 0 is the largest, and that of 1 the least.
static __device__ __forceinline__ u32 least_of_vector(u32 least, const vector *v)
{
    const u32 signs = WIDTH == 16 ? 0x80008000 : 0;
    least ^= signs;
#pragma unroll
    for (int i = 0; i < (WIDTH == 64 ? 2 : 4); i++) {
        if (WIDTH == 64)
            least = min(least, ((v->word[2 * i + 1] & 0x7fffffff) | min(v->word[2 * i], 1u)) - 1);
        else if (WIDTH == 32)
            least = min(least, (v->word[i] & 0x7fffffff) - 1);
        else
            least = __vmins2(least, (v->word[i] & 0x7fff7fff) + 0x7fff7fff);
    }
    return least ^ signs;
}

static __device__ __forceinline__ u32 most_of_vector(u32 most, const vector *v)
{
#pragma unroll
    for (int i = 0; i < (WIDTH == 64 ? 2 : 4); i++) {
        if (WIDTH == 16)
            most = __vmaxu2(most, v->word[i] & 0x7fff7fff);
        else
            most = max(most, v->word[WIDTH == 64 ? 2 * i + 1 : i] & 0x7fffffff);
    }
    return most;
}

// Of finite numbers.  Where all are 0, low is above high.
static __device__ __forceinline__ field_range fields_of(const vector v[VECTORS])
{
    u32 most = 0, least = ~0u;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        most = most_of_vector(most, &v[j]);
        least = least_of_vector(least, &v[j]);
    }
    if (WIDTH == 16) least = min(least >> 16, least & 0xffff);
    least = warp_min(least);
    bool is_none = least == (WIDTH == 16 ? 0xffff : ~0u);
    field_range range = {(int)(warp_max(largest_of(most)) >> FIELD_SHIFT),
                         (int)((WIDTH == 16 ? (least + 1) << 16 : least + 1) >> FIELD_SHIFT)};
    range.high = max(range.high, 1);
    range.low = is_none ? 4 * BIAS : max(range.low, 1);
    return range;
}

#endif
