// Levels: f64 sums in registers, each of which takes the bits that its unit can hold and leaves the rest to the
// next: q = S + x; d = q - S; S = q; x -= d, all without error.
//
// A level takes 42 bits; the first one's unit is chosen so that terms below 2^top fit.  What the levels cannot
// hold shows at the end: a term too large, or a rest after the last level.  A product of narrow floats enters the first
// level by a fused multiply-add, unrounded; what it leaves fits into an f64, too.

#ifndef LEVELS_CUH
#define LEVELS_CUH

#define LEVEL_BITS 42
#define LEVEL_ADDITIONS 256 // to each set
#define LEVEL_SETS 4        // that take turns, so that an addition need not wait for the one before
#define LEVEL_TOP_MAX 1013  // so that the highest anchor is finite

// The words of what was left of terms, ORed.
typedef struct {
    u32 high, low;
} remains;

typedef struct {
    double sum[LEVEL_SETS][LEVELS];
    remains rest; // behind the last level
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

static __device__ __forceinline__ void levels_begin(levels_state *state, int top)
{
    state->top = top;
    state->rest.high = state->rest.low = 0;
#pragma unroll
    for (int level = 0; level < LEVELS; level++) {
        double anchor = level_anchor(state, level);
#pragma unroll
        for (int set = 0; set < LEVEL_SETS; set++) state->sum[set][level] = anchor;
    }
}

static __device__ __forceinline__ void note_left(remains *left, double term)
{
    left->high |= (u32)__double2hiint(term);
#ifdef TYPE_f64
    left->low |= (u32)__double2loint(term); // others' are no denormals
#endif
}

// Whether a term was not 0; -0 is.
static __device__ __forceinline__ bool is_left(remains left)
{
    return (left.high << 1 | left.low) != 0;
}

// What the level takes of the term.
static __device__ __forceinline__ double level_take(levels_state *state, double term, int set, int level)
{
    double sum = __dadd_rn(state->sum[set][level], term), part = __dsub_rn(sum, state->sum[set][level]);
    state->sum[set][level] = sum;
    return part;
}

// The same part of the value's magnitude, to levels of the same units; the highest part that is not 0 has its sign.
static __device__ __forceinline__ void level_take_magnitude(levels_state *abs, double part, double value, int set, int level)
{
    u32 sign = (u32)__double2hiint(value) & 0x80000000;
    double same = __hiloint2double((int)((u32)__double2hiint(part) ^ sign), __double2loint(part));
    abs->sum[set][level] = __dadd_rn(abs->sum[set][level], level == 0 ? fabs(part) : same);
}

// A batch is several vectors' terms, so that one addition need not wait for the one before.
#define BATCH_TERMS 8
#define BATCH_VECTORS (BATCH_TERMS / PER_VECTOR < VECTORS ? BATCH_TERMS / PER_VECTOR : VECTORS)

// What is left of the terms, which take their places, behind some levels.  abs is 0, or gets the values' magnitudes.
static __device__ __forceinline__ remains levels_take(levels_state *state, levels_state *abs, const double *values,
                                                      double *terms, int count, int from, int behind)
{
    remains left = {0, 0};
#pragma unroll
    for (int e = 0; e < count; e++) {
#pragma unroll
        for (int level = from; level < behind; level++) {
            double part = level_take(state, terms[e], e % LEVEL_SETS, level);
            if (abs) level_take_magnitude(abs, part, values[e], e % LEVEL_SETS, level);
            terms[e] = __dsub_rn(terms[e], part);
        }
        note_left(&left, terms[e]);
    }
    return left;
}

// From a level on; spends the terms.  Most are spent behind the first few.
static __device__ __forceinline__ void levels_add(levels_state *state, levels_state *abs, const double *values, double *terms,
                                                  int count, int from, int few)
{
    remains left = levels_take(state, abs, values, terms, count, from, few);
    if (LEVELS > few && is_left(left)) left = levels_take(state, abs, values, terms, count, few, LEVELS);
    state->rest.high |= left.high;
    state->rest.low |= left.low;
}

// As levels_add, of terms which are multiples of the last few levels' unit: that level takes what is left.
static __device__ __forceinline__ void levels_add_plain(levels_state *state, levels_state *abs, const double *values,
                                                        double *terms, int count, int from, int few)
{
    levels_take(state, abs, values, terms, count, from, few - 1);
#pragma unroll
    for (int e = 0; e < count; e++) {
        double *mine = &state->sum[e % LEVEL_SETS][few - 1];
        *mine = __dadd_rn(*mine, terms[e]);
        if (abs) level_take_magnitude(abs, terms[e], values[e], e % LEVEL_SETS, few - 1);
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

#define TOP_OF_NONE 8000 // of infinities and NaNs; half of it is above every other, and every two factors'

// Whether every term, all of which are below 2^top, was taken whole; if not, a next one's top is one that is high enough.
static __device__ __forceinline__ bool levels_hold(levels_state *state, int top)
{
    bool holds = top <= state->top && !__any_sync(ALL_LANES, is_left(state->rest));
    if (!holds && top < TOP_OF_NONE / 2) state->top = min(max(state->top, top + 1), LEVEL_TOP_MAX);
    return holds;
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
