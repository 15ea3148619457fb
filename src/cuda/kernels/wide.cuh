// Wide bins: 128-bit integers, one for 64 binades each, for terms of any exponent.
//
// A term is an integer of up to 53 bits, shifted left by its position's lowest six bits, added to the bin of the others:
// 53 + 63 bits and a sign, which leaves eleven for the number of additions: 1024 elements.  Nothing depends on the data.  A lane has a
// column of bins for itself; where shared memory has no room for that, a few lanes share one and take turns.

#ifndef WIDE_CUH
#define WIDE_CUH

#include "kernels/digits.cuh"
#include "kernels/element.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

#define WIDE_ADDITIONS (1024 * WIDE_COLUMNS / 32) // of a lane: elements, whose two terms are 53 binades apart

typedef ulonglong2 wide_bin; // x: the low half

static __device__ __forceinline__ void wide_clear(wide_bin *bins, int rows)
{
    for (int i = (int)lane_number(); i < rows * WIDE_COLUMNS; i += 32) bins[i] = make_ulonglong2(0, 0);
}

// Adds integer * 2^position, whose lowest six bits count; the others are the bin's.
static __device__ __forceinline__ void add_to_bin(wide_bin *bin, i64 integer, int position)
{
    u32 shift = position & 63;
    u64 low = (u64)integer << shift, high = (u64)(integer >> 1 >> (63 - shift));
    wide_bin sum = *bin;
    asm("add.cc.u64 %0, %0, %2;\n\taddc.u64 %1, %1, %3;" : "+l"(sum.x), "+l"(sum.y) : "l"(low), "l"(high));
    *bin = sum;
}

// integer * 2^position, where the position lies in the bins' rows.  All lanes of a warp, each with its own.
static __device__ __forceinline__ void wide_add(wide_bin *bins, i64 integer, int position)
{
    wide_bin *target = bins + (position >> 6) * WIDE_COLUMNS + lane_number() % WIDE_COLUMNS;
#pragma unroll
    for (int turn = 0; turn < 32 / WIDE_COLUMNS; turn++) {
        if (WIDE_COLUMNS == 32 || (int)lane_number() / WIDE_COLUMNS == turn) add_to_bin(target, integer, position);
        if (WIDE_COLUMNS < 32) __syncwarp();
    }
}

// Row by row, a lane each; lanes begin at different columns, hence at different banks.  position: of the first row, in the
// digits.  negative: subtracts them.
static __device__ __forceinline__ void wide_flush(const wide_bin *bins, int rows, int position, u64 *digits, bool negative)
{
    for (int row = (int)lane_number(); row < rows; row += 32) {
        i64 sum[4] = {0, 0, 0, 0};
#pragma unroll 8
        for (int i = 0; i < WIDE_COLUMNS; i++) {
            wide_bin part = bins[WIDE_COLUMNS * row + (row + i) % WIDE_COLUMNS];
            sum[0] += (i64)(part.x & 0xffffffff);
            sum[1] += (i64)(part.x >> 32);
            sum[2] += (i64)(part.y & 0xffffffff);
            sum[3] += (i64)part.y >> 32;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) deposit(digits, negative ? -sum[i] : sum[i], 64 * row + 32 * i + position);
    }
}

// ---- a float as an integer and a position

// The significand, and where it lies in digits that begin at 2^LOW_EXPONENT.
static __device__ __forceinline__ u64 significand_of(unit bits, int *position)
{
    unit magnitude = bits & MAGNITUDE;
    u32 field = (u32)(magnitude >> FRACTION_BITS), normal = min(field, 1u);
    *position = (int)(field - normal);
    return (u64)(magnitude & (((unit)1 << FRACTION_BITS) - 1)) | (u64)normal << FRACTION_BITS;
}

static __device__ __forceinline__ i64 with_sign(u64 integer, bool negative)
{
    i64 sign = -(i64)negative;
    return ((i64)integer ^ sign) - sign;
}

#endif
