// Packed bins: a lane's own sums of values of bf16 and of their squares, both in one word of 64 bits for every 8 binades, so
// that an element takes one addition to shared memory; magnitudes, where they are wanted, are separate words of 32 bits.
//
// An element, scaled by a power of two that only its exponent decides, is an integer of 15 bits; an anchor's sum has it in
// its bits.  Its square has 30 bits, so that 39 and 25 bits hold as many as PACKED_ADDITIONS of both.

#ifndef PACKED_CUH
#define PACKED_CUH

#include "kernels/digits.cuh"
#include "kernels/element.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

#define PACKED_ADDITIONS 511
#define PACKED_SQUARE_BITS 39
#define PACKED_VALUE_FIRST (-1)  // where the first row's units lie in the digits
#define PACKED_SQUARE_FIRST (-2)

// Of a warp: the packed words, row by row, a lane's own in a column; after them those of magnitudes.
static __device__ __forceinline__ u32 *packed_magnitudes(char *memory)
{
    return (u32 *)(memory + PACKED_ROWS * 32 * 8);
}

static __device__ __forceinline__ void packed_clear(char *memory)
{
    for (int i = (int)lane_number(); i < PACKED_NBYTES / 8; i += 32) ((u64 *)memory)[i] = 0;
}

// An element as its bin's integer, and that bin.  bits: of an f32.
typedef struct {
    int value, place;
} packed_term;

static __device__ __forceinline__ packed_term packed_term_of(u32 bits)
{
    const float anchor = 0x1.8p15f; // its unit is 2^-8
    u32 row = bits & 0x7c000000, scale = (253u << 23) - row;
    float sum = __fmaf_rn(__uint_as_float(bits), __uint_as_float(scale), anchor);
    packed_term term = {__float_as_int(sum) - __float_as_int(anchor),
                        (int)((row >> (23 + PACKED_BINADES_LOG2)) * 32 + lane_number())};
    return term;
}

static __device__ __forceinline__ uint2 packed_plus(uint2 sum, int value)
{
    u64 with_square = ((u64)sum.y << 32 | sum.x) + (u64)((i64)value * value);
    if (!HAS_SUM) value = abs(value);
    sum.x = (u32)with_square;
    sum.y = (u32)(with_square >> 32) + (u32)(value << (PACKED_SQUARE_BITS - 32));
    return sum;
}

// Adds two elements, the bins of both of which are read before any is written, so that one does not wait for the other.
static __device__ __forceinline__ void packed_add(char *memory, u32 bits_a, u32 bits_b)
{
    packed_term a = packed_term_of(bits_a), b = packed_term_of(bits_b);
    uint2 *words = (uint2 *)memory, sum_a = words[a.place], sum_b = words[b.place];
    sum_a = packed_plus(sum_a, a.value);
    if (a.place == b.place) sum_b = sum_a;
    words[a.place] = sum_a;
    words[b.place] = packed_plus(sum_b, b.value);
    if (!HAS_SUM || !HAS_ABS) return;
    u32 *magnitudes = packed_magnitudes(memory), abs_a = magnitudes[a.place], abs_b = magnitudes[b.place];
    abs_a += (u32)abs(a.value);
    if (a.place == b.place) abs_b = abs_a;
    magnitudes[a.place] = abs_a;
    magnitudes[b.place] = abs_b + (u32)abs(b.value);
}

// A row for each lane, which begins at a column of its own, hence at another bank.
static __device__ __forceinline__ void packed_flush(char *memory)
{
    const u64 *words = (const u64 *)memory;
    const u32 *magnitudes = packed_magnitudes(memory);
    int row = (int)lane_number(), position = row << PACKED_BINADES_LOG2;
    i64 values = 0, squares = 0, total = 0;
#pragma unroll 8
    for (int i = 0; i < 32; i++) {
        int place = 32 * row + (row + i) % 32;
        u64 word = words[place];
        values += (i64)word >> PACKED_SQUARE_BITS;
        squares += (i64)(word & (((u64)1 << PACKED_SQUARE_BITS) - 1));
        if (HAS_SUM && HAS_ABS) total += magnitudes[place];
    }
    if (HAS_SUM) deposit_from(block_partial.sum, values, position + PACKED_VALUE_FIRST);
    if (HAS_ABS) deposit_from(block_partial.abs, HAS_SUM ? total : values, position + PACKED_VALUE_FIRST);
    deposit_from(block_partial.product_sum, squares, 2 * position + PACKED_SQUARE_FIRST);
}

static_assert(!USES_PACKED || PACKED_ROWS == 32, "a row for each lane");

#endif
