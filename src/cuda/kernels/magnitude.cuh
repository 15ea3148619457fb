// Magnitudes of floats: which is the largest and the smallest of a vector's, and their exponents.
//
// A magnitude is the bits of an f32 without its sign; of f64 its high word, as if that were an f32; of 16 bits there
// are two in a word.

#ifndef MAGNITUDE_CUH
#define MAGNITUDE_CUH

#define MAGNITUDE_MAX (WIDTH == 16 ? 0x7fff7fff : 0x7f800000)

// A NaN wins, and so does the high word of an f64 with one of the largest exponents, which seems to be one.
static __device__ __forceinline__ u32 larger_magnitude(u32 a, u32 b)
{
#if WIDTH == 16
    return __vmaxu2(a & 0x7fff7fff, b & 0x7fff7fff);
#elif __CUDA_ARCH__ >= 800
    u32 larger;
    asm("{ .reg .b32 a, b; abs.f32 a, %1; abs.f32 b, %2; max.NaN.f32 %0, a, b; }" : "=r"(larger) : "r"(a), "r"(b));
    return larger;
#else
    return max(a & 0x7fffffff, b & 0x7fffffff);
#endif
}

// NaNs are not looked at.
static __device__ __forceinline__ u32 smaller_magnitude(u32 a, u32 b)
{
#if WIDTH == 16
    return __vminu2(a & 0x7fff7fff, b & 0x7fff7fff);
#else
    return __float_as_uint(fminf(fabsf(__uint_as_float(a)), fabsf(__uint_as_float(b))));
#endif
}

// In pairs, so that not each has to wait for the one before.
static __device__ __forceinline__ void note_largest(u32 *largest, const vector *v)
{
    u32 last = larger_magnitude(v->word[WIDTH == 64 ? 1 : 2], v->word[3]);
    if (WIDTH < 64) last = larger_magnitude(last, larger_magnitude(v->word[0], v->word[1]));
    *largest = larger_magnitude(*largest, last);
}

static __device__ __forceinline__ void note_smallest(u32 *smallest, const vector *v)
{
    u32 last = smaller_magnitude(v->word[WIDTH == 64 ? 1 : 2], v->word[3]);
    if (WIDTH < 64) last = smaller_magnitude(last, smaller_magnitude(v->word[0], v->word[1]));
    *smallest = smaller_magnitude(*smallest, last);
}

// The exponent field of the warp's largest magnitude; the highest there is for infinities and NaNs.
static __device__ __forceinline__ u32 field_of(u32 largest)
{
    if (WIDTH == 16) largest = max(largest & 0xffff0000, largest << 16);
    return warp_max(largest) >> (WIDTH == 64 ? 20 : 31 - EXPONENT_BITS);
}

static __device__ __forceinline__ u32 largest_field(const vector v[VECTORS])
{
    u32 largest = 0;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) note_largest(&largest, &v[j]);
    return field_of(largest);
}

// Of two smallest magnitudes the smaller.
static __device__ __forceinline__ u32 smallest_of(u32 smallest)
{
    return WIDTH == 16 ? min(smallest & 0xffff0000, smallest << 16) : smallest;
}

// Of what has no exponent, one below the normal numbers'.
static __device__ __forceinline__ int exponent_of(u32 smallest)
{
    return (int)(smallest_of(smallest) >> (WIDTH == 64 ? 20 : 31 - EXPONENT_BITS)) - BIAS;
}

#endif
