// Sums of bf16 whose exponents are not far apart, as those of most data are: a few f64 in registers, in which every addition is
// exact.  Chunks with other elements go to the bins, which take any.
//
// The bits of an element, shifted, are those of an f64 that is 2^896 times smaller, subnormal numbers and zeros included.

#ifndef NARROW_CUH
#define NARROW_CUH

#include "kernels/digits.cuh"
#include "kernels/lane.cuh"
#include "kernels/magnitude.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

#define USES_NARROW (IS_BF16 && USES_BINS)

#if USES_NARROW

#define NARROW_COPIES 4     // used in turn, so that an addition need not wait for the one before
#define NARROW_BINADES 36   // with 8 bits of an element, and 2^10 additions to each f64, 53 bits are enough
#define NARROW_MARGIN 3     // binades above the first chunk's largest element
#define NARROW_SCALE_LOG2 896
#define NARROW_MISSES 2     // chunks, from which on the segment's others are not even looked at

static_assert(BIN_ADDITIONS / NARROW_COPIES <= 1 << (53 - FRACTION_BITS - NARROW_BINADES), "no addition is rounded");

typedef struct {
    double sum[NARROW_COPIES];
    u32 below, from; // the magnitudes, less one, that are added here; both 0: none has been placed
    int misses;
    bool bins_hold; // something of this segment
} narrow_state;

static __device__ __forceinline__ void narrow_clear(narrow_state *narrow)
{
#pragma unroll
    for (int i = 0; i < NARROW_COPIES; i++) narrow->sum[i] = 0;
    narrow->below = narrow->from = 0;
    narrow->misses = 0;
    narrow->bins_hold = false;
}

// Of the bits of an f32, the lower half of which does not matter.
static __device__ __forceinline__ double narrow_term(u32 bits)
{
    const u32 kept = HAS_SUM ? 0x8fffe000 : 0x0fffe000;
    return __hiloint2double((int)((u32)((int)bits >> 3) & kept), 0);
}

static __device__ __forceinline__ void narrow_add(narrow_state *narrow, const vector *v)
{
#pragma unroll
    for (int i = 0; i < PER_VECTOR; i++) {
        u32 bits = i % 2 ? v->word[i / 2] : v->word[i / 2] << 16;
        narrow->sum[i % NARROW_COPIES] = __dadd_rn(narrow->sum[i % NARROW_COPIES], narrow_term(bits));
    }
}

// Places the window for a chunk that would fit one; by all lanes.
static __device__ __forceinline__ bool narrow_place(narrow_state *narrow, const vector x[VECTORS])
{
    field_range range = fields_of(x);
    if (narrow->below || range.low > range.high) return false;
    int high = min(range.high + NARROW_MARGIN, 2 * BIAS), low = max(high - NARROW_BINADES + 1, 1);
    if (range.high > high || range.low < low) return false;
    narrow->below = ((u32)(high + 1) << FRACTION_BITS) - 1;
    narrow->from = low == 1 ? 0 : ((u32)low << FRACTION_BITS) - 1;
    return true;
}

// Adds the chunk, if all of it lies in the window.
static __device__ __forceinline__ bool narrow_takes(narrow_state *narrow, const vector x[VECTORS])
{
    u32 most = 0, least = ~0u;
    if (narrow->misses >= NARROW_MISSES) return false;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        most = most_of_vector(most, &x[j]);
        least = least_of_vector(least, &x[j]);
    }
    bool fits = max(most >> 16, most & 0xffff) <= narrow->below && min(least >> 16, least & 0xffff) >= narrow->from;
    if (__any_sync(ALL_LANES, !fits) && !narrow_place(narrow, x)) {
        narrow->misses++;
        return false;
    }
#pragma unroll
    for (int j = 0; j < VECTORS; j++) narrow_add(narrow, &x[j]);
    return true;
}

static __device__ __forceinline__ void narrow_flush(const narrow_state *narrow, u64 *sum, u64 *abs)
{
    int exponent = max((int)((narrow->from + 1) >> FRACTION_BITS), 1) - BIAS - FRACTION_BITS;
    i64 total = 0;
    if (narrow->below == 0) return;
#pragma unroll
    for (int i = 0; i < NARROW_COPIES; i++)
        total += __double2ll_rn(__dmul_rn(__dmul_rn(narrow->sum[i], power_of_two(NARROW_SCALE_LOG2)), power_of_two(-exponent)));
    total = warp_sum(total);
    if (lane_number() != 0) return;
    if (HAS_SUM) deposit(sum, total, exponent - LOW_EXPONENT);
    if (HAS_ABS) deposit(abs, total, exponent - LOW_EXPONENT);
}

#endif

#endif
