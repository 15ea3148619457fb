// Levels: f64 sums in registers, each of which takes the bits that its unit can hold and leaves the rest to the
// next: q = S + x; d = q - S; S = q; x -= d, all without error.
//
// A level takes 42 bits; the first one's unit is chosen so that terms below 2^top fit.  What the levels cannot
// hold shows at the end: a term too large, or a rest after the last level.

#ifndef LEVELS_CUH
#define LEVELS_CUH

#define LEVEL_BITS 42
#define LEVEL_ADDITIONS 256 // to each set
#define LEVEL_SETS 4        // that take turns, so that an addition need not wait for the one before
#define LEVEL_TOP_MAX 1013  // so that the highest anchor is finite

typedef struct {
    double sum[LEVEL_SETS][LEVELS];
    u32 largest; // the high word of the largest |term|
    u32 rest;    // not 0: something was left behind the last level
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

// The smallest top above a term with this high word; of 0 (and of terms below 2^-1042) none is too low.
static __device__ __forceinline__ int top_above(u32 high_word)
{
    return high_word ? (int)(high_word >> 20) - 1022 : -4000;
}

static __device__ __forceinline__ void levels_begin(levels_state *state)
{
    state->largest = state->rest = 0;
#pragma unroll
    for (int level = 0; level < LEVELS; level++) {
        double anchor = level_anchor(state, level);
#pragma unroll
        for (int set = 0; set < LEVEL_SETS; set++) state->sum[set][level] = anchor;
    }
}

static __device__ __forceinline__ void levels_add(levels_state *state, double term, int set)
{
#pragma unroll
    for (int level = 0; level < LEVELS; level++) {
        double sum = __dadd_rn(state->sum[set][level], term);
        term = __dsub_rn(term, __dsub_rn(sum, state->sum[set][level]));
        state->sum[set][level] = sum;
    }
    state->rest |= (u32)__double2hiint(term) & 0x7fffffff;
#if defined TYPE_f64
    state->rest |= (u32)__double2loint(term);
#endif
}

static __device__ __forceinline__ void levels_note(levels_state *state, double term)
{
    state->largest = max(state->largest, (u32)__double2hiint(term) & 0x7fffffff);
}

// Whether every term was taken whole; if not, top becomes one that is high enough.
static __device__ __forceinline__ bool levels_hold(levels_state *state)
{
    int top = top_above(warp_max(state->largest));
    bool holds = top <= state->top && !__any_sync(ALL_LANES, state->rest != 0);
    if (!holds) state->top = min(max(state->top, top + 1), LEVEL_TOP_MAX);
    return holds;
}

// low: the exponent of the digits' first bit.
static __device__ __forceinline__ void levels_flush(const levels_state *state, int low, u64 *digits)
{
#pragma unroll
    for (int level = 0; level < LEVELS; level++) {
        double anchor = level_anchor(state, level);
        int exponent = max(level_unit(state, level), low);
        i64 total = 0;
#pragma unroll
        for (int set = 0; set < LEVEL_SETS; set++)
            total += in_units(__dsub_rn(state->sum[set][level], anchor), exponent);
        total = warp_sum(total);
        if (lane_number() == 0) deposit(digits, total, exponent - low);
    }
}

#endif
