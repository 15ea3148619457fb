// Sums of integers: of the values, of their magnitudes, of their products, in words that cannot overflow before
// the segment's end.

#ifndef INTEGERS_CUH
#define INTEGERS_CUH

#include "kernels/digits.cuh"
#include "kernels/element.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

#define INTEGER_ADDITIONS 8192 // of words: 2^32 / 8192 is more than any four products of bytes

// A 192-bit integer in two's complement.
typedef struct {
    u64 low, middle;
    i64 high;
} long_sum;

static __device__ __forceinline__ void long_add(long_sum *sum, u64 low, u64 middle, i64 high)
{
    asm("add.cc.u64 %0, %0, %3;\n\taddc.cc.u64 %1, %1, %4;\n\taddc.u64 %2, %2, %5;"
        : "+l"(sum->low), "+l"(sum->middle), "+l"(sum->high)
        : "l"(low), "l"(middle), "l"(high));
}

// Values, and products of 32 bits, leave `high` a sign only; the digits have no room for more.
static __device__ __forceinline__ void long_deposit(u64 *digits, const long_sum *sum, bool is_product)
{
    if (WIDTH == 64 && is_product) {
        deposit_lanes(digits, sum->low, 0);
        deposit_lanes(digits + 2, sum->middle, sum->high);
    } else {
        deposit_lanes(digits, sum->low, (i64)sum->middle);
    }
}

static __device__ __forceinline__ unit magnitude_of(unit bits)
{
    return IS_SIGNED && bits & SIGN_BIT ? (unit)(0 - bits) : bits;
}

// Bytes and halves: the sum of a word's elements, by a dot product with ones or with themselves.
static __device__ __forceinline__ u32 add_dot(u32 a, u32 b, u32 sum)
{
    return IS_SIGNED ? (u32)__dp4a((int)a, (int)b, (int)sum) : __dp4a(a, b, sum);
}

static __device__ __forceinline__ u32 add_word(u32 word, u32 sum)
{
    if (WIDTH == 8) return add_dot(word, 0x01010101, sum);
    return IS_SIGNED ? (u32)__dp2a_lo((int)word, 0x0101, (int)sum) : __dp2a_lo(word, 0x0101u, sum);
}

static __device__ __forceinline__ u32 add_word_magnitudes(u32 word, u32 sum)
{
    if (WIDTH == 8) {
        u32 negative = IS_SIGNED ? word >> 7 & 0x01010101 : 0;
        return __dp4a((word ^ negative * 0xff) + negative, 0x01010101u, sum);
    }
    u32 negative = IS_SIGNED ? word >> 15 & 0x00010001 : 0;
    return __dp2a_lo((word ^ negative * 0xffff) + negative, 0x0101u, sum);
}

// What is summed is in `small` for narrow types, in one 64-bit word up to 32 bits, else in `large`.
typedef struct {
    u32 small;
    i64 sum;
    long_sum large;
} integer_sum;

static __device__ __forceinline__ void integer_clear(integer_sum *sum)
{
    sum->small = 0;
    sum->sum = 0;
    sum->large.low = sum->large.middle = 0;
    sum->large.high = 0;
}

static __device__ __forceinline__ void integer_add(integer_sum *sum, const vector *v, bool magnitudes)
{
    if (WIDTH <= 16) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum->small = magnitudes ? add_word_magnitudes(v->word[i], sum->small) : add_word(v->word[i], sum->small);
    } else if (WIDTH == 32) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum->sum += magnitudes || !IS_SIGNED ? (i64)magnitude_of((unit)v->word[i]) : (i64)(int)v->word[i];
    } else {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            u64 bits = long_at(v, i);
            i64 sign = IS_SIGNED && !magnitudes ? (i64)bits >> 63 : 0;
            long_add(&sum->large, magnitudes ? magnitude_of((unit)bits) : bits, (u64)sign, sign);
        }
    }
}

// Adds the product of two elements of 32 bits or more.
static __device__ __forceinline__ void add_product(long_sum *sum, unit a, unit b)
{
    if (WIDTH == 32) {
        u64 low = IS_SIGNED ? (u64)((i64)(int)a * (int)b) : (u64)a * b;
        i64 high = IS_SIGNED ? (i64)low >> 63 : 0;
        long_add(sum, low, (u64)high, high);
    } else {
        u64 high = IS_SIGNED ? (u64)__mul64hi((i64)a, (i64)b) : __umul64hi(a, b);
        long_add(sum, (u64)a * b, high, IS_SIGNED ? (i64)high >> 63 : 0);
    }
}

static __device__ __forceinline__ void integer_add_products(integer_sum *sum, const vector *v, const vector *w)
{
    if (WIDTH == 8) {
#pragma unroll
        for (int i = 0; i < 4; i++) sum->small = add_dot(v->word[i], w->word[i], sum->small);
        return;
    }
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) {
        if (WIDTH == 16)
            sum->sum += IS_SIGNED ? (i64)((short)element_at(v, e) * (short)element_at(w, e))
                                  : (i64)((u32)element_at(v, e) * (u32)element_at(w, e));
        else
            add_product(&sum->large, element_at(v, e), element_at(w, e));
    }
}

// is_signed: whether `small` may be negative.
static __device__ __forceinline__ void integer_flush(integer_sum *sum, u64 *digits, bool is_signed, bool is_product)
{
    if (WIDTH == 64 || (WIDTH == 32 && is_product)) {
        long_deposit(digits, &sum->large, is_product);
    } else {
        i64 total = warp_sum(sum->sum + (is_signed ? (i64)(int)sum->small : (i64)sum->small));
        const int position = 0;
        deposit_together(digits, &total, &position, 1);
    }
    integer_clear(sum);
}

// ---- products

static __device__ __forceinline__ void multiply_product(u64 *product, u32 *flags, unit bits)
{
    u64 magnitude = IS_SIGNED && bits & SIGN_BIT ? (u64)(unit)(0 - bits) : (u64)bits;
    if (is_negative(bits)) *flags ^= WF_PRODUCT_NEGATIVE;
    if (magnitude == 0) {
        *flags |= WF_PRODUCT_ZERO;
        return;
    }
    if (__umul64hi(*product, magnitude)) *flags |= WF_PRODUCT_OVERFLOW;
    *product *= magnitude;
}

// Multiplies a product in global memory.
static __device__ __forceinline__ void multiply_atomically(u64 *product, u64 *flags, u64 factor)
{
    u64 seen = 1, expected; // a guess: the first exchange tells what is there
    do {
        expected = seen;
        if (__umul64hi(expected, factor)) atomicOr(flags, (u64)WF_PRODUCT_OVERFLOW);
        seen = atomicCAS(product, expected, expected * factor);
    } while (seen != expected);
}

static __device__ __forceinline__ void publish_product(struct wf_partial *into, u64 magnitude, u64 flags)
{
    if (flags & WF_PRODUCT_NEGATIVE) atomicXor(&into->product_flags, (u64)WF_PRODUCT_NEGATIVE);
    if (flags & ~(u64)WF_PRODUCT_NEGATIVE) atomicOr(&into->product_flags, flags & ~(u64)WF_PRODUCT_NEGATIVE);
    if (magnitude != 1) multiply_atomically(&into->product_magnitude, &into->product_flags, magnitude);
}

#endif
