// A window: a lane's own pairs of f64 sums, 16 of them, one for 32 binades each: 512 binades in all.
//
// An anchor splits a value, without error, into what lies above and below a bit in its bin's middle: 42 bits
// each, which leaves room for 1024 additions.  It takes half the instructions and half the memory of the wide bins.

#ifndef WINDOW_CUH
#define WINDOW_CUH

#include "kernels/digits.cuh"
#include "kernels/element.cuh"
#include "kernels/warp.cuh"

#define WINDOW_ROWS 16
#define WINDOW_BINADES 512
#define WINDOW_MARGIN 8 // binades above the largest value that was looked at

typedef struct {
    double2 *bins; // the lane's own, of row 0
    int base;      // the exponent field at which the window begins
} window_state;

// Clears it, so that it ends a little above the largest exponent field.
static __device__ __forceinline__ void window_clear(window_state *state, void *bins, int largest_field)
{
    int base = largest_field + WINDOW_MARGIN - (WINDOW_BINADES - 1);
    state->base = base < 1 ? 1 : min(base, 2046 - 480 - 42); // the highest anchor must be finite
    state->bins = (double2 *)bins + lane_number();
    for (int row = 0; row < WINDOW_ROWS; row++) state->bins[32 * row] = make_double2(0, 0);
}

// Whether it holds finite values of these exponent fields, zeros beside them.
static __device__ __forceinline__ bool window_is_exact(const window_state *state, int smallest_field, int largest_field)
{
    return smallest_field >= state->base && largest_field - state->base < WINDOW_BINADES;
}

static __device__ __forceinline__ void window_add(window_state *state, u64 bits)
{
    u32 place = ((u32)(bits >> 52) & 0x7ff) - (u32)state->base;
    if (place >= WINDOW_BINADES) place = 0; // a zero
    u32 anchor_word = ((place & ~31u) + (u32)state->base + 42) << 20 | 0x80000;
    double value = __longlong_as_double((i64)bits), anchor = __hiloint2double((int)anchor_word, 0);
    double high = __dsub_rn(__dadd_rn(value, anchor), anchor), low = __dsub_rn(value, high);
    double2 *target = state->bins + (place & ~31u), sum = *target;
    sum.x = __dadd_rn(sum.x, high);
    sum.y = __dadd_rn(sum.y, low);
    *target = sum;
}

// Even lanes add up a row's high halves, odd ones its low halves.
static __device__ __forceinline__ void window_flush(const window_state *state, u64 *digits)
{
    const double *bins = (const double *)(state->bins - lane_number());
    int row = (int)lane_number() / 2, half = (int)lane_number() % 2;
    int exponent = state->base + 32 * row - 1075 + (half ? 0 : 42);
    i64 total = 0;
    __syncwarp();
#pragma unroll 8
    for (int i = 0; i < 32; i++) total += in_units(bins[2 * (32 * row + (row + i) % 32) + half], exponent);
    deposit(digits, total, exponent - LOW_EXPONENT);
    __syncwarp();
}

#endif
