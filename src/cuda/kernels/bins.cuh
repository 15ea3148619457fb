// Bins: a lane's own floating-point sums, one for a few binades each, so narrow that every addition is exact.
//
// A value goes to the bin of its exponent's highest bits.  f32 takes f64 bins of 16 binades: 39 bits, which
// leaves 14 for the number of additions; bf16 f32 bins of 4 binades (12 bits, 12 left); of f16, whose values
// span 40 bits, one f64 holds all.  Infinities and NaNs make a bin infinite or NaN, which shows at the end.

#ifndef BINS_CUH
#define BINS_CUH

#if defined TYPE_bf16
typedef float bin;
#define BIN_BINADES_LOG2 2
#define BIN_ADDITIONS 4096
#else
typedef double bin;
#define BIN_BINADES_LOG2 4
#define BIN_ADDITIONS 8192
#endif

#if defined TYPE_f16
#define BIN_MAGNITUDES 1
#define BIN_COPIES 4 // that take turns, so that an addition need not wait for the one before
#else
#define BIN_MAGNITUDES (1 << (EXPONENT_BITS - BIN_BINADES_LOG2))
#endif

// With both sums, of the values and of their magnitudes, negative values have bins of their own.
#if defined PART_SUM && defined PART_ABS
#define BIN_SIGNS 2
#else
#define BIN_SIGNS 1
#endif

#define BIN_ROWS (BIN_MAGNITUDES * BIN_SIGNS)
#if defined TYPE_f16
#define BINS_NBYTES 0 // they are registers
#else
#define BINS_NBYTES (BIN_ROWS * 32 * (int)sizeof(bin)) // of a warp
#endif

// Row r of the warp's bins has one for each lane.
static __device__ __forceinline__ void bins_clear(bin *bins)
{
    for (int row = 0; row < BIN_ROWS; row++) bins[32 * row + lane_number()] = 0;
    __syncwarp();
}

#if defined TYPE_f16

typedef struct {
    double sum[BIN_SIGNS][BIN_COPIES];
} bins_state;

static __device__ __forceinline__ void bins_begin(bins_state *state, bin *bins)
{
    (void)bins;
#pragma unroll
    for (int i = 0; i < BIN_SIGNS * BIN_COPIES; i++) state->sum[i / BIN_COPIES][i % BIN_COPIES] = 0;
}

static __device__ __forceinline__ void bins_add(bins_state *state, unit bits, int e)
{
    double value = widen(bits), magnitude = fabs(value);
#if !defined PART_SUM
    value = magnitude;
#endif
    state->sum[0][e % BIN_COPIES] = __dadd_rn(state->sum[0][e % BIN_COPIES], value);
    if (BIN_SIGNS == 2) state->sum[BIN_SIGNS - 1][e % BIN_COPIES] = __dadd_rn(state->sum[BIN_SIGNS - 1][e % BIN_COPIES], magnitude);
}

static __device__ __forceinline__ void bins_eat(bins_state *state, const vector *v)
{
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) bins_add(state, element_at(v, e), e);
}

static __device__ __forceinline__ bool bins_hold(const bins_state *state)
{
    bool finite = true;
#pragma unroll
    for (int i = 0; i < BIN_SIGNS * BIN_COPIES; i++)
        finite = finite && is_finite(state->sum[i / BIN_COPIES][i % BIN_COPIES]);
    return finite;
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
#if defined PART_SUM
    deposit(sum, first, 0);
#endif
#if defined PART_ABS
    deposit(abs, last, 0);
#endif
}

#else

typedef struct {
    char *bins; // the lane's own, of row 0
} bins_state;

static __device__ __forceinline__ void bins_begin(bins_state *state, bin *bins)
{
    state->bins = (char *)(bins + lane_number());
    bins_clear(bins);
}

// The bin of a value, by its bits as an f32.
static __device__ __forceinline__ bin *bin_of(const bins_state *state, u32 bits)
{
    const int row_nbytes = 32 * (int)sizeof(bin), shift = 23 + BIN_BINADES_LOG2;
    return (bin *)(state->bins + (bits >> shift & (BIN_ROWS - 1)) * row_nbytes);
}

static __device__ __forceinline__ bin plus(bin sum, u32 bits)
{
#if defined TYPE_bf16
    return __fadd_rn(sum, __uint_as_float(bits));
#else
    return __dadd_rn(sum, (double)__uint_as_float(bits));
#endif
}

static __device__ __forceinline__ void bins_eat(bins_state *state, const vector *v)
{
#pragma unroll
    for (int i = 0; i < PER_VECTOR; i++) {
#if defined TYPE_bf16
        u32 bits = i % 2 ? v->word[i / 2] & 0xffff0000 : v->word[i / 2] << 16;
#else
        u32 bits = v->word[i];
#endif
#if !defined PART_SUM
        bits &= 0x7fffffff;
#endif
        bin *mine = bin_of(state, bits);
        *mine = plus(*mine, bits);
    }
}

// Whether none of the lane's own bins is infinite or NaN.
static __device__ __forceinline__ bool bins_hold(const bins_state *state)
{
    bool finite = true;
#pragma unroll 8
    for (int row = 0; row < BIN_ROWS; row++)
        finite = finite && is_finite(*(const bin *)(state->bins + row * 32 * (int)sizeof(bin)));
    return finite;
}

// Lane l adds up row l (mod the rows); lanes begin at different columns, hence at different banks.
static __device__ __forceinline__ void bins_flush(const bins_state *state, u64 *sum, u64 *abs)
{
    const bin *bins = (const bin *)state->bins - lane_number();
    __syncwarp();
    for (int row = (int)lane_number(); row < BIN_ROWS; row += 32) {
        int exponent = (row % BIN_MAGNITUDES << BIN_BINADES_LOG2) - BIAS - FRACTION_BITS;
        i64 total = 0;
        if (exponent < LOW_EXPONENT) exponent = LOW_EXPONENT;
        double units = power_of_two(-exponent);
#pragma unroll 8
        for (int i = 0; i < 32; i++) total += __double2ll_rn(__dmul_rn(bins[32 * row + (row + i) % 32], units));
#if defined PART_SUM
        deposit(sum, total, exponent - LOW_EXPONENT);
#endif
#if defined PART_ABS
        deposit(abs, total < 0 ? -total : total, exponent - LOW_EXPONENT);
#endif
    }
    __syncwarp();
}

#endif

#endif
