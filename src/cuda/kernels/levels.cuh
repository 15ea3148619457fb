// Levels: f64 sums in registers, each of which takes the bits that its unit can hold and leaves the rest to the
// next: q = S + x; d = q - S; S = q; x -= d, all without error.
//
// A level takes 43 or 44 bits; the first one's unit is chosen so that terms below 2^top fit.  Terms that are multiples of the
// last level's unit are added to it whole, so nothing is ever left: whether terms are such says the chunk's range
// (magnitude.cuh), before they are added.  A product of narrow floats enters the first level by a fused multiply-add,
// unrounded; what it leaves fits into an f64, too.

#ifndef LEVELS_CUH
#define LEVELS_CUH

#include "kernels/digits.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

// As many bits as additions to each set leave: 2^51 units are what an anchor has room for.
#if IS_ONE_F64_SUM
#define LEVEL_BITS 44
#define LEVEL_ADDITIONS 128
#else
#define LEVEL_BITS 43
#define LEVEL_ADDITIONS 256
#endif
#define LEVEL_SETS 4        // used in turn, so that an addition need not wait for the one before
#define LEVEL_TOP_MAX 1013  // so that the highest anchor is finite

typedef struct {
    double sum[LEVEL_SETS][LEVELS];
    int top;
} levels_state;

static __device__ __forceinline__ int level_unit(const levels_state *state, int level)
{
    return max(state->top - (level + 1) * LEVEL_BITS, -1074);
}

// 1.5 * 2^52 units
static __device__ __forceinline__ double level_anchor(const levels_state *state, int level)
{
    return __hiloint2double(((level_unit(state, level) + 52 + 1023) << 20) | 0x80000, 0);
}

static __device__ __forceinline__ void levels_clear(levels_state *state, int top)
{
    state->top = min(top, LEVEL_TOP_MAX); // above, nothing is added to them
#pragma unroll
    for (int level = 0; level < LEVELS; level++) {
        double anchor = level_anchor(state, level);
#pragma unroll
        for (int set = 0; set < LEVEL_SETS; set++) state->sum[set][level] = anchor;
    }
}

// Adds to the level what its unit can hold of the term, and returns that.
static __device__ __forceinline__ double level_take(levels_state *state, double term, int set, int level)
{
    double sum = __dadd_rn(state->sum[set][level], term), part = __dsub_rn(sum, state->sum[set][level]);
    state->sum[set][level] = sum;
    return part;
}

// Adds the same part of the value's magnitude to levels of the same units.  The highest part that is not 0 has the sign
// of the value.
static __device__ __forceinline__ void level_take_magnitude(levels_state *abs, double part, double value, int set, int level)
{
    u32 sign = (u32)__double2hiint(value) & 0x80000000;
    double same = __hiloint2double((int)((u32)__double2hiint(part) ^ sign), __double2loint(part));
    abs->sum[set][level] = __dadd_rn(abs->sum[set][level], level == 0 ? fabs(part) : same);
}

// A batch is several vectors' terms, so that one addition need not wait for the one before.
#define BATCH_TERMS 8
#define BATCH_VECTORS (BATCH_TERMS / PER_VECTOR < VECTORS ? BATCH_TERMS / PER_VECTOR : VECTORS)

// Adds the terms to levels `from` to `after` - 1, the last of which takes all that is left.  abs is 0, or the levels
// to which the magnitudes of the values are added.
static __device__ __forceinline__ void levels_add(levels_state *state, levels_state *abs, const double *values, double *terms,
                                                  int count, int from, int behind)
{
#pragma unroll
    for (int e = 0; e < count; e++) {
        int set = e % LEVEL_SETS;
#pragma unroll
        for (int level = from; level < behind - 1; level++) {
            double part = level_take(state, terms[e], set, level);
            if (abs) level_take_magnitude(abs, part, values[e], set, level);
            terms[e] = __dsub_rn(terms[e], part);
        }
        state->sum[set][behind - 1] = __dadd_rn(state->sum[set][behind - 1], terms[e]);
        if (abs) level_take_magnitude(abs, terms[e], values[e], set, behind - 1);
    }
}

// The first level's part of products; of factors with so few bits that what is left of it is an f64.
static __device__ __forceinline__ void levels_take_products(levels_state *state, const double *a, const double *b,
                                                            double *terms, int count)
{
#pragma unroll
    for (int e = 0; e < count; e++) {
        double *mine = &state->sum[e % LEVEL_SETS][0], sum = __fma_rn(a[e], b[e], *mine);
        terms[e] = __fma_rn(a[e], b[e], -__dsub_rn(sum, *mine));
        *mine = sum;
    }
}

// Products that the first level holds whole.
static __device__ __forceinline__ void levels_add_products(levels_state *state, const double *a, const double *b, int count)
{
#pragma unroll
    for (int e = 0; e < count; e++) {
        double *mine = &state->sum[e % LEVEL_SETS][0];
        *mine = __fma_rn(a[e], b[e], *mine);
    }
}

// The first few levels.  low: the exponent of the digits' first bit.
static __device__ __forceinline__ void levels_flush(const levels_state *state, int few, int low, u64 *digits)
{
    i64 totals[LEVELS];
    int positions[LEVELS];
#pragma unroll
    for (int level = 0; level < few; level++) {
        int unit_exponent = level_unit(state, level), above = max(low - unit_exponent, 0);
        i64 anchor = __double_as_longlong(level_anchor(state, level)), total = 0;
#pragma unroll
        for (int set = 0; set < LEVEL_SETS; set++) // of one binade: bits count units
            total += __double_as_longlong(state->sum[set][level]) - anchor;
        totals[level] = warp_sum(total >> min(above, 63));
        positions[level] = unit_exponent + above - low;
    }
    deposit_together(digits, totals, positions, few);
}

#endif
