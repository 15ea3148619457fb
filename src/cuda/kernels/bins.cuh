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

// A row has a bin for each thread of the block, whose size mostly is a power of 2, so that a place is found in the fewest
// operations; otherwise for each of a warp's.  No warp uses others' columns.
#define ROW_THREADS_LOG2 (BLOCK == 512 ? 9 : BLOCK == 256 ? 8 : 5)
#define ROW_NBYTES_LOG2 (ROW_THREADS_LOG2 + (sizeof(bin) == 8 ? 3 : 2))
#define ROW_BITS_FIRST (23 + BIN_BINADES_LOG2) // of an f32: those of its exponent that say which row

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
    u32 place; // in shared memory, of this thread's bin in row 0
    bin top, before; // the sum in the uppermost row, and what it was before the chunk
} bins_state;

#if IS_BF16
#define BIN_TYPE "f32"
#define BIN_REGISTER "f"
#else
#define BIN_TYPE "f64"
#define BIN_REGISTER "d"
#endif

// Bins by their place alone, so that no operation adds where shared memory begins.
static __device__ __forceinline__ bin load_bin(u32 place)
{
    bin sum;
    asm volatile("ld.shared." BIN_TYPE " %0, [%1];" : "=" BIN_REGISTER(sum) : "r"(place) : "memory");
    return sum;
}

static __device__ __forceinline__ void store_bin(u32 place, bin sum)
{
    asm volatile("st.shared." BIN_TYPE " [%0], %1;" ::"r"(place), BIN_REGISTER(sum) : "memory");
}

// Where the bin of a value is.  first: of the bits of a word that say which row.  In assembly, as the compiler would shift before
// it masks, and then needs one operation more.
static __device__ __forceinline__ u32 place_of(const bins_state *state, u32 word, int first)
{
    const int shift = ROW_NBYTES_LOG2 - first;
    u32 place, row = word & (u32)(BIN_MAGNITUDES - 1) << first;
    if (shift > 0)
        asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(place) : "r"(row), "r"(1 << max(shift, 0)), "r"(state->place));
    else
        asm("{ .reg .b32 rows; shr.u32 rows, %1, %2; add.u32 %0, rows, %3; }"
            : "=r"(place) : "r"(row), "r"(max(-shift, 0)), "r"(state->place));
    return place;
}

// bins: the warp's, which lie one after the other.
static __device__ __forceinline__ void bins_clear(bins_state *state, bin *bins)
{
    const u32 column = threadIdx.x % (1 << ROW_THREADS_LOG2), others = threadIdx.x >> ROW_THREADS_LOG2;
    state->place = (u32)__cvta_generic_to_shared(bins) - warp_number() * BINS_NBYTES +
                   (others * BIN_MAGNITUDES << ROW_NBYTES_LOG2) + column * sizeof(bin);
    state->before = 0;
    for (int row = 0; row < BIN_MAGNITUDES; row++) store_bin(state->place + (row << ROW_NBYTES_LOG2), 0);
    __syncwarp();
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

static __device__ __forceinline__ void bins_add_one(const bins_state *state, u32 word)
{
    u32 place = place_of(state, word, ROW_BITS_FIRST);
    store_bin(place, plus(load_bin(place), HAS_SUM ? word : word & 0x7fffffff));
}

// The bins of both terms of a word are read before either is written, so that one does not wait for the other.
static __device__ __forceinline__ void bins_add_both(const bins_state *state, const vector *v, int i)
{
    u32 a = place_of(state, v->word[i], ROW_BITS_FIRST - 16), b = place_of(state, v->word[i], ROW_BITS_FIRST);
    bin sum_a = load_bin(a), sum_b = load_bin(b);
    sum_a = plus(sum_a, bin_term(v, 2 * i));
    if (a == b) sum_b = sum_a;
    store_bin(a, sum_a);
    store_bin(b, plus(sum_b, bin_term(v, 2 * i + 1)));
}

static __device__ __forceinline__ void bins_add(const bins_state *state, const vector *v)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (IS_BF16)
            bins_add_both(state, v, i);
        else
            bins_add_one(state, v->word[i]);
    }
}

// ---- infinities and NaNs are seen by what they make of the uppermost bin

#define UPPERMOST (state->place + ((BIN_MAGNITUDES - 1) << ROW_NBYTES_LOG2))

static __device__ __forceinline__ void bins_look(bins_state *state)
{
    state->top = load_bin(UPPERMOST);
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
    store_bin(UPPERMOST, state->before);
}

// Adds those elements that belong in the uppermost bin, and no others.
static __device__ __forceinline__ void bins_add_uppermost(const bins_state *state, const vector *v)
{
    const u32 least = (u32)(BIN_MAGNITUDES - 1) << (23 + BIN_BINADES_LOG2);
#pragma unroll
    for (int i = 0; i < PER_VECTOR; i++) {
        u32 bits = bin_term(v, i);
        if ((bits & 0x7fffffff) >= least) store_bin(UPPERMOST, plus(load_bin(UPPERMOST), bits));
    }
}

// Lane l adds up row l (mod the rows); lanes begin at different columns, hence at different banks.
static __device__ __forceinline__ void bins_flush(const bins_state *state, u64 *sum, u64 *abs)
{
    const u32 first = state->place - lane_number() * sizeof(bin); // the warp's
    __syncwarp();
    for (int row = (int)lane_number(); row < BIN_MAGNITUDES; row += 32) {
        int exponent = (row << BIN_BINADES_LOG2) - BIAS - FRACTION_BITS;
        i64 total = 0;
        if (exponent < LOW_EXPONENT) exponent = LOW_EXPONENT;
        double units = power_of_two(BIN_UNIT_LOG2 - exponent);
#pragma unroll 8
        for (int i = 0; i < 32; i++) total += __double2ll_rn(__dmul_rn(load_bin(first + (row << ROW_NBYTES_LOG2) + (row + i) % 32 * sizeof(bin)), units));
        if (HAS_SUM) deposit(sum, total, exponent - LOW_EXPONENT);
        if (HAS_ABS) deposit(abs, total < 0 ? -total : total, exponent - LOW_EXPONENT);
    }
    __syncwarp();
}

#endif

#endif
