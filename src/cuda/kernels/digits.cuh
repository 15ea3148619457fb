// Adding to the digits of a long fixed-point number in shared memory (struct wf_exact: 32 bits apart, signed).

#ifndef DIGITS_CUH
#define DIGITS_CUH

#include "core/partial_words.h"
#include "kernels/element.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

// What the block's elements contribute, as far as its threads have merged it.
static __shared__ struct wf_partial block_partial;

// Two additions of 32 bits, which shared memory executes itself; one of 64 bits would be a loop that retries whenever
// another thread was faster.
static __device__ __forceinline__ void add_to_digit(u64 *digit, u64 value)
{
    u32 *halves = (u32 *)digit, low = (u32)value, high = (u32)(value >> 32);
    if (low) high += atomicAdd(&halves[0], low) > ~low; // the low half has carried
    if (high) atomicAdd(&halves[1], high);
}

// digits += value * 2^position
static __device__ __forceinline__ void deposit(u64 *digits, i64 value, int position)
{
    int shift = position & 31;
    u64 low = (u64)value << shift;
    i64 high = value >> 1 >> (63 - shift);
    digits += position >> 5;
    if (value == 0) return;
    add_to_digit(&digits[0], low & 0xffffffff);
    add_to_digit(&digits[1], low >> 32);
    add_to_digit(&digits[2], (u64)high);
}

// The same from a position that may lie below the digits' first bit, where the value has no bits.
static __device__ __forceinline__ void deposit_from(u64 *digits, i64 value, int position)
{
    deposit(digits, value >> max(-position, 0), max(position, 0));
}

// By a warp whose lanes agree: digits += values[0] * 2^positions[0] + ..., at most ten, a lane for each digit.
static __device__ __forceinline__ void deposit_together(u64 *digits, const i64 *values, const int *positions, int count)
{
    int which = count == 1 ? 0 : (int)lane_number() / 3, digit = (int)lane_number() - 3 * which;
    int position = positions[0];
    i64 value = values[0];
#pragma unroll
    for (int i = 1; i < count; i++) {
        value = which == i ? values[i] : value;
        position = which == i ? positions[i] : position;
    }
    if (lane_number() >= 3 * (u32)count) return;
    int shift = position & 31;
    u64 low = (u64)value << shift;
    u64 part = digit == 0 ? low & 0xffffffff : digit == 1 ? low >> 32 : (u64)(value >> 1 >> (63 - shift));
    if (part) add_to_digit(digits + (position >> 5) + digit, part);
}

// The sum over the lanes of high * 2^64 + low, at position 0, in pieces as warp_sum's.
static __device__ __forceinline__ void deposit_lanes(u64 *digits, u64 low, i64 high)
{
    const int positions[6] = {0, 24, 48, 64, 88, 112};
    const i64 parts[6] = {warp_sum_small((i64)(low & 0xffffff)), warp_sum_small((i64)(low >> 24 & 0xffffff)),
                          warp_sum_small((i64)(low >> 48)), warp_sum_small(high & 0xffffff),
                          warp_sum_small(high >> 24 & 0xffffff), warp_sum_small(high >> 48)};
    deposit_together(digits, parts, positions, 6);
}

// 2^exponent, of a normal f64
static __device__ __forceinline__ double power_of_two(int exponent)
{
    return __hiloint2double((exponent + 1023) << 20, 0);
}

static __device__ __forceinline__ bool is_finite(double value)
{
    return (__double2hiint(value) & 0x7ff00000) != 0x7ff00000;
}

// A product of values of f64, as an integer of 106 bits.
static __device__ __noinline__ void deposit_product(u64 *digits, double a, double b)
{
    i64 a_bits = __double_as_longlong(a), b_bits = __double_as_longlong(b);
    int a_field = (int)(a_bits >> 52) & 0x7ff, b_field = (int)(b_bits >> 52) & 0x7ff;
    u64 a_magnitude = (a_bits & 0xfffffffffffffll) | (u64)(a_field != 0) << 52;
    u64 b_magnitude = (b_bits & 0xfffffffffffffll) | (u64)(b_field != 0) << 52;
    u64 halves[2] = {a_magnitude * b_magnitude, __umul64hi(a_magnitude, b_magnitude)};
    int position = max(a_field, 1) + max(b_field, 1) - 2;
    for (int i = 0; i < 4; i++) {
        i64 part = (i64)(halves[i / 2] >> 32 * (i % 2) & 0xffffffff);
        deposit(digits, (a_bits ^ b_bits) < 0 ? -part : part, position + 32 * i);
    }
}

// 2^low is the digits' first bit, of which the value is a multiple.
static __device__ __forceinline__ void deposit_value(u64 *digits, double value, int low)
{
    i64 bits = __double_as_longlong(value);
    int field = (int)(bits >> 52) & 0x7ff, position = max(field, 1) - 1075 - low;
    i64 magnitude = (bits & 0xfffffffffffffll) | (i64)(field != 0) << 52;
    if (position < 0) magnitude >>= min(-position, 63);
    deposit(digits, bits < 0 ? -magnitude : magnitude, max(position, 0));
}

static __device__ __forceinline__ void clear_digits(u64 *digits, u32 count)
{
    for (u32 i = threadIdx.x; i < count; i += BLOCK) digits[i] = 0;
}

// Clears the block's digits.  Everything else in block_partial is written once, so it need not be cleared.
static __device__ __forceinline__ void clear_block_digits(void)
{
    if (HAS_SUM) clear_digits(block_partial.sum, VALUE_DIGITS);
    if (HAS_ABS) clear_digits(block_partial.abs, VALUE_DIGITS);
    if (HAS_PRODUCT_SUM) clear_digits(block_partial.product_sum, PRODUCT_DIGITS);
}

#endif
