// Bins: a lane's own floating-point sums, one for a few binades each, so narrow that every addition is exact.
//
// A value goes to the bin of its exponent's highest bits.  f32 takes f64 bins of 16 binades: 39 bits, which
// leaves 14 for the number of additions; bf16 f32 bins of 4 binades (12 bits, 12 left), in a unit in which neither the
// largest exponents overflow nor the smallest ones lose bits; of f16, whose values span 40 bits, one f64 holds all.

#ifndef BINS_CUH
#define BINS_CUH

#include "kernels/digits.cuh"
#include "kernels/element.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"

#if IS_BF16
typedef float bin;
#define BIN_BINADES_LOG2 2
#define BIN_ADDITIONS 4096
#define BIN_UNIT_LOG2 16 // what is added is 2^16 times too small
#else
typedef double bin;
#define BIN_BINADES_LOG2 4
#define BIN_ADDITIONS 8192
#define BIN_UNIT_LOG2 0
#endif

#if IS_F16
#define BIN_MAGNITUDES 1
#define BIN_COPIES 4 // used in turn, so that an addition need not wait for the one before
#else
#define BIN_MAGNITUDES (1 << EXPONENT_BITS >> BIN_BINADES_LOG2)
#endif

// Both sums, of the values and of their magnitudes, are needed together with products only for f16.
#define BIN_SIGNS (HAS_SUM && HAS_ABS ? 2 : 1)

#define BINS_NBYTES (IS_F16 ? 0 : BIN_MAGNITUDES * 32 * (int)sizeof(bin)) // of a warp; f16's are registers

// Row r of the warp's bins has one for each lane.
static __device__ __forceinline__ void clear_rows(bin *bins)
{
    for (int row = 0; row < BIN_MAGNITUDES; row++) bins[32 * row + lane_number()] = 0;
    __syncwarp();
}

#if IS_F16

typedef struct {
    double sum[BIN_SIGNS][BIN_COPIES];
} bins_state;

static __device__ __forceinline__ void bins_clear(bins_state *state, bin *bins)
{
    (void)bins;
#pragma unroll
    for (int i = 0; i < BIN_SIGNS * BIN_COPIES; i++) state->sum[i / BIN_COPIES][i % BIN_COPIES] = 0;
}

static __device__ __forceinline__ void bins_add_element(bins_state *state, unit bits, int e)
{
    double value = widen(bits), magnitude = fabs(value);
    if (!HAS_SUM) value = magnitude;
    state->sum[0][e % BIN_COPIES] = __dadd_rn(state->sum[0][e % BIN_COPIES], value);
    if (BIN_SIGNS == 2)
        state->sum[BIN_SIGNS - 1][e % BIN_COPIES] = __dadd_rn(state->sum[BIN_SIGNS - 1][e % BIN_COPIES], magnitude);
}

static __device__ __forceinline__ void bins_add(bins_state *state, const vector *v)
{
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) bins_add_element(state, element_at(v, e), e);
}

static __device__ __forceinline__ i64 bins_total(const bins_state *state, int sign)
{
    i64 total = 0;
#pragma unroll
    for (int i = 0; i < BIN_COPIES; i++)
        total += __double2ll_rn(__dmul_rn(state->sum[sign][i], power_of_two(-LOW_EXPONENT)));
    return warp_sum(total);
}

static __device__ __forceinline__ void bins_flush(const bins_state *state, u64 *sum, u64 *abs)
{
    i64 first = bins_total(state, 0), last = bins_total(state, BIN_SIGNS - 1);
    if (lane_number() != 0) return;
    if (HAS_SUM) deposit(sum, first, 0);
    if (HAS_ABS) deposit(abs, last, 0);
}

#else

typedef struct {
    char *bins; // this lane's bin of row 0
    bin top, before; // the sum in the uppermost row, and what it was before the chunk
} bins_state;

static __device__ __forceinline__ void bins_clear(bins_state *state, bin *bins)
{
    state->bins = (char *)(bins + lane_number());
    state->before = 0;
    clear_rows(bins);
}

// The bin of a value, by its bits as an f32.
static __device__ __forceinline__ bin *bin_of(const bins_state *state, u32 bits)
{
    const int row_nbytes = 32 * (int)sizeof(bin), shift = 23 + BIN_BINADES_LOG2;
    return (bin *)(state->bins + (bits >> shift & (BIN_MAGNITUDES - 1)) * row_nbytes);
}

static __device__ __forceinline__ bin plus(bin sum, u32 bits)
{
    if (IS_BF16) return __fmaf_rn(__uint_as_float(bits), 1.0f / (1 << BIN_UNIT_LOG2), (float)sum);
    return (bin)__dadd_rn(sum, (double)__uint_as_float(bits));
}

// The term's bits as an f32.
static __device__ __forceinline__ u32 bin_term(const vector *v, int i)
{
    u32 bits = IS_BF16 ? (i % 2 ? v->word[i / 2] & 0xffff0000 : v->word[i / 2] << 16) : v->word[i % 4];
    if (!HAS_SUM) bits &= 0x7fffffff;
    return bits;
}

static __device__ __forceinline__ void bins_add_one(bins_state *state, u32 bits)
{
    bin *mine = bin_of(state, bits);
    *mine = plus(*mine, bits);
}

// The bins of both terms are read before either is written, so that one does not wait for the other.
static __device__ __forceinline__ void bins_add_both(bins_state *state, u32 bits_a, u32 bits_b)
{
    bin *a = bin_of(state, bits_a), *b = bin_of(state, bits_b), sum_a = *a, sum_b = *b;
    sum_a = plus(sum_a, bits_a);
    if (a == b) sum_b = sum_a;
    *a = sum_a;
    *b = plus(sum_b, bits_b);
}

static __device__ __forceinline__ void bins_add(bins_state *state, const vector *v)
{
#pragma unroll
    for (int i = 0; i < PER_VECTOR; i += IS_BF16 ? 2 : 1) {
        if (IS_BF16)
            bins_add_both(state, bin_term(v, i), bin_term(v, i + 1));
        else
            bins_add_one(state, bin_term(v, i));
    }
}

// ---- infinities and NaNs are seen by what they make of the uppermost bin

#define UPPERMOST ((bin *)(state->bins + (BIN_MAGNITUDES - 1) * 32 * (int)sizeof(bin)))

static __device__ __forceinline__ void bins_look(bins_state *state)
{
    state->top = *UPPERMOST;
}

static __device__ __forceinline__ bool bins_is_exact(const bins_state *state)
{
    if (IS_BF16) return (__float_as_uint((float)state->top) & 0x7f800000) != 0x7f800000;
    return is_finite(state->top);
}

static __device__ __forceinline__ void bins_note(bins_state *state)
{
    state->before = state->top;
}

static __device__ __forceinline__ void bins_take_back(const bins_state *state)
{
    *UPPERMOST = state->before;
}

// Adds those elements that belong in the uppermost bin, and no others.
static __device__ __forceinline__ void bins_add_uppermost(const bins_state *state, const vector *v)
{
    const u32 least = (u32)(BIN_MAGNITUDES - 1) << (23 + BIN_BINADES_LOG2);
#pragma unroll
    for (int i = 0; i < PER_VECTOR; i++) {
        u32 bits = bin_term(v, i);
        if ((bits & 0x7fffffff) >= least) *UPPERMOST = plus(*UPPERMOST, bits);
    }
}

// Lane l adds up row l (mod the rows); lanes begin at different columns, hence at different banks.
static __device__ __forceinline__ void bins_flush(const bins_state *state, u64 *sum, u64 *abs)
{
    const bin *bins = (const bin *)state->bins - lane_number();
    __syncwarp();
    for (int row = (int)lane_number(); row < BIN_MAGNITUDES; row += 32) {
        int exponent = (row << BIN_BINADES_LOG2) - BIAS - FRACTION_BITS;
        i64 total = 0;
        if (exponent < LOW_EXPONENT) exponent = LOW_EXPONENT;
        double units = power_of_two(BIN_UNIT_LOG2 - exponent);
#pragma unroll 8
        for (int i = 0; i < 32; i++) total += __double2ll_rn(__dmul_rn(bins[32 * row + (row + i) % 32], units));
        if (HAS_SUM) deposit(sum, total, exponent - LOW_EXPONENT);
        if (HAS_ABS) deposit(abs, total < 0 ? -total : total, exponent - LOW_EXPONENT);
    }
    __syncwarp();
}

#endif

#endif
