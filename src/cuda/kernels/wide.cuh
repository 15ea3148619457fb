// Wide bins: a lane's own 128-bit integers, one for 64 binades each, for f64 terms of any exponent.
//
// A term is its significand, shifted left by the exponent's lowest six bits, added to the bin of the others:
// 53 + 63 bits and a sign, which leaves ten for the number of additions.  Nothing depends on the data.

#ifndef WIDE_CUH
#define WIDE_CUH

#define WIDE_ADDITIONS 512

typedef ulonglong2 wide_bin; // x: the low half

// The bins of terms that are multiples of 2^low and below 2^high: field 1 of an f64 has the unit 2^-1074.
#define WIDE_BASE(low) ((low) > -1074 ? (low) + 1074 : 0)
#define WIDE_ROWS(low, high) ((((high) > 1024 ? 1024 : (high)) + 1021 - WIDE_BASE(low)) / 64 + 1)

static __device__ __forceinline__ void wide_clear(wide_bin *bins, int rows)
{
    for (int row = 0; row < rows; row++) bins[32 * row + lane_number()] = make_ulonglong2(0, 0);
    __syncwarp();
}

// mine: the lane's own bin of row 0.  value is finite.
static __device__ __forceinline__ void wide_add(wide_bin *mine, double value, int base)
{
    i64 bits = __double_as_longlong(value);
    u32 high_word = (u32)(bits >> 32), field = high_word >> 20 & 0x7ff, normal = min(field, 1u);
    int position = (int)(field - normal) - base;
    i64 sign = (int)high_word >> 31;
    i64 significand = (i64)((u64)((high_word & 0xfffff) | normal << 20) << 32 | (u32)bits);
    if (base > 0 && position < 0) { // a narrower type's value has zeros down there
        significand >>= position > -64 ? -position : 63;
        position = 0;
    }
    significand = (significand ^ sign) - sign;
    u32 shift = position & 63;
    u64 low = (u64)significand << shift, high = (u64)(significand >> 1 >> (63 - shift));
    wide_bin *target = mine + (position >> 6) * 32, sum = *target;
    asm("add.cc.u64 %0, %0, %2;\n\taddc.u64 %1, %1, %3;" : "+l"(sum.x), "+l"(sum.y) : "l"(low), "l"(high));
    *target = sum;
}

// Row by row, a lane each; lanes begin at different columns, hence at different banks.  low: the exponent of
// the digits' first bit.
static __device__ __forceinline__ void wide_flush(const wide_bin *bins, int rows, int base, int low, u64 *digits)
{
    __syncwarp();
    int row = (int)lane_number();
    if (row < rows) {
        i64 sum[4] = {0, 0, 0, 0};
#pragma unroll 8
        for (int i = 0; i < 32; i++) {
            wide_bin part = bins[32 * row + (row + i) % 32];
            sum[0] += (i64)(part.x & 0xffffffff);
            sum[1] += (i64)(part.x >> 32);
            sum[2] += (i64)(part.y & 0xffffffff);
            sum[3] += (i64)part.y >> 32;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) deposit(digits, sum[i], 64 * row + 32 * i + base - 1074 - low);
    }
    __syncwarp();
}

#endif
