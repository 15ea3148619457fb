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

static __device__ __forceinline__ double add_to_level(levels_state *state, double term, int set, int level)
{
    double sum = __dadd_rn(state->sum[set][level], term);
    term = __dsub_rn(term, __dsub_rn(sum, state->sum[set][level]));
    state->sum[set][level] = sum;
    return term;
}

// Not 0 unless the term is.
static __device__ __forceinline__ u32 left_of(double term)
{
#if defined TYPE_f64
    return (u32)__double2hiint(term) << 1 | (u32)__double2loint(term);
#else
    return (u32)__double2hiint(term) << 1; // others' are no denormals
#endif
}

// A batch is several vectors' terms, so that one addition need not wait for the one before.
#define BATCH_TERMS 8
#define BATCH_VECTORS (BATCH_TERMS / PER_VECTOR < VECTORS ? BATCH_TERMS / PER_VECTOR : VECTORS)

// Spends the terms.  The first two levels are enough for most.
static __device__ __forceinline__ void levels_add(levels_state *state, double *terms, int count)
{
    const int always = LEVELS < 2 ? LEVELS : 2;
    u32 left = 0;
#pragma unroll
    for (int e = 0; e < count; e++) {
#pragma unroll
        for (int level = 0; level < always; level++) terms[e] = add_to_level(state, terms[e], e % LEVEL_SETS, level);
        left |= left_of(terms[e]);
    }
    if (LEVELS > always && left) {
        left = 0;
#pragma unroll
        for (int e = 0; e < count; e++) {
#pragma unroll
            for (int level = always; level < LEVELS; level++)
                terms[e] = add_to_level(state, terms[e], e % LEVEL_SETS, level);
            left |= left_of(terms[e]);
        }
    }
    state->rest |= left;
}

// Of a small array nothing is larger than what the levels were placed for; f16's have one place.
static __device__ __forceinline__ void levels_note(levels_state *state, double term)
{
#if !IS_SMALL || defined TYPE_f16
    state->largest = max(state->largest, (u32)__double2hiint(term) & 0x7fffffff);
#endif
}

// Nothing is as large as this.
static __device__ __forceinline__ void levels_give_up(levels_state *state)
{
    state->largest = 0x7ff00000;
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
    i64 totals[LEVELS];
    int positions[LEVELS];
#pragma unroll
    for (int level = 0; level < LEVELS; level++) {
        int unit_exponent = level_unit(state, level), above = max(low - unit_exponent, 0);
        i64 anchor = __double_as_longlong(level_anchor(state, level)), total = 0;
#pragma unroll
        for (int set = 0; set < LEVEL_SETS; set++) // of one binade: bits count units
            total += __double_as_longlong(state->sum[set][level]) - anchor;
        totals[level] = warp_sum(total >> min(above, 63));
        positions[level] = unit_exponent + above - low;
    }
    deposit_together(digits, totals, positions, LEVELS);
}

#endif
