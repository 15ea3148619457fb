// The slow path: element by element, for the few that are no whole chunk, and for small arrays of integers that have no
// padding (small.cuh).  NaNs and infinities are noted and left out; each term of a float sum goes straight to the digits.

#ifndef SLOW_PATH_CUH
#define SLOW_PATH_CUH

#include "kernels/digits.cuh"
#include "kernels/lane.cuh"
#include "kernels/segment.cuh"
#include "kernels/specials.cuh"
#include "arguments.h"

// Vectors for the lanes of a warp: first, first + 32 ... of each step.
typedef struct {
    i64 first;  // the lane's own; NO_VECTOR: none
    u64 step;   // from one chunk to the next
    u32 chunks;
    int each; // vectors of a lane in a chunk
    i64 end;  // from here on there are none
} slow_range;

#define NO_VECTOR ((i64)1 << 62)

// The vector at such a place, which may lie partly before the first element or after the last one, and a bit
// for each of its elements that exists.
static __device__ __forceinline__ u32 load_partly(const struct wf_kernel_arguments *r, i64 at, vector *x, vector *y)
{
    u32 present = 0;
    const vector nothing = {{0, 0, 0, 0}};
    *x = *y = nothing;
    if (at == NO_VECTOR) return 0;
    if (at >= 0 && at < (i64)r->vectors) {
        *x = load_vector(r->x, (u64)at);
        if (OPERANDS == 2) *y = load_vector(r->y, (u64)at);
        return (1u << PER_VECTOR) - 1;
    }
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) {
        bool exists = at < 0 ? e >= PER_VECTOR - (int)r->head : e < (int)r->tail;
        if (!exists) continue;
        present |= 1u << e;
        put_element(x, e, load_element(r->x, at * PER_VECTOR + e));
        if (OPERANDS == 2) put_element(y, e, load_element(r->y, at * PER_VECTOR + e));
    }
    return present;
}

static __device__ __forceinline__ i64 slow_place(const slow_range *range, u32 chunk, int j)
{
    i64 at = range->first + (i64)(chunk * range->step) + 32 * j;
    return at < range->end ? at : NO_VECTOR;
}

// ---- everything but the sums of floats

// Exact indices beat chunks only by a better key: chunks come in order.
static __device__ __forceinline__ void note_extreme(lane_state *lane, unit bits, u64 index)
{
    u64 key = ordered(key_of(bits));
    if (HAS_MIN &&
        (key < lane->min_key || (key == lane->min_key && lane->min_chunk == NOWHERE && index < lane->min_index))) {
        lane->min_key = key;
        lane->min_index = index;
        lane->min_chunk = NOWHERE;
    }
    if (HAS_MAX &&
        (key > lane->max_key || (key == lane->max_key && lane->max_chunk == NOWHERE && index < lane->max_index))) {
        lane->max_key = key;
        lane->max_index = index;
        lane->max_chunk = NOWHERE;
    }
}

static __device__ __forceinline__ void note_element(lane_state *lane, unit a, unit b, u64 index)
{
    bool nan = is_nan(a);
    if (HAS_DOT) nan = nan || is_nan(b);
    if (HAS_NONZERO) lane->nonzero += is_nonzero(a);
    if (IS_FLOAT && nan) {
        lane->nan_count++;
        lane->first_nan = index < lane->first_nan ? index : lane->first_nan;
        return;
    }
    if (IS_FLOAT && HAS_SUMS) lane->special_seen |= special_of(a, b);
    if (HAS_PRODUCT) multiply_product(&lane->product, &lane->product_flags, a);
    if (HAS_BITS) {
        lane->bits_and &= (packed)a | ~(packed)(unit)~(unit)0; // what lies above a narrow element stays
        lane->bits_or |= a;
        lane->bits_xor ^= a;
    }
    note_extreme(lane, a, index);
}

static __device__ void note_all(const struct wf_kernel_arguments *r, lane_state *lane, const slow_range *range)
{
    integer_sum sum, abs, product_sum;
    integer_clear(&sum);
    integer_clear(&abs);
    integer_clear(&product_sum);
    for (u32 chunk = 0; chunk < range->chunks; chunk++) {
        for (int j = 0; j < range->each; j++) {
            vector x, y;
            i64 at = slow_place(range, chunk, j);
            u32 present = load_partly(r, at, &x, &y);
            u64 index = (u64)(r->index + at * PER_VECTOR);
#pragma unroll
            for (int e = 0; e < PER_VECTOR; e++)
                if (present >> e & 1) note_element(lane, element_at(&x, e), element_at(&y, e), index + e);
            if (IS_FLOAT) continue;
            // Elements that do not exist are 0 in both vectors.
            if (HAS_SUM) integer_add(&sum, &x, false);
            if (HAS_ABS) integer_add(&abs, &x, true);
            if (HAS_PRODUCT_SUM) integer_add_products(&product_sum, &x, OPERANDS == 2 ? &y : &x);
        }
    }
    if (IS_FLOAT) return;
    if (HAS_SUM) integer_flush(&sum, block_partial.sum, IS_SIGNED, false);
    if (HAS_ABS) integer_flush(&abs, block_partial.abs, false, false);
    if (HAS_PRODUCT_SUM) integer_flush(&product_sum, block_partial.product_sum, IS_SIGNED, true);
}

// ---- the sums of floats

// Adds the terms of one element, or of a pair, to the digits.
static __device__ __forceinline__ void deposit_terms(unit a, unit b)
{
    if (HAS_SUM) deposit_value(block_partial.sum, widen(a), LOW_EXPONENT);
    if (HAS_ABS) deposit_value(block_partial.abs, fabs(widen(a)), LOW_EXPONENT);
    if (HAS_PRODUCT_SUM && WIDTH == 64)
        deposit_product(block_partial.product_sum, widen(a), widen(b));
    else if (HAS_PRODUCT_SUM)
        deposit_value(block_partial.product_sum, __dmul_rn(widen(a), widen(b)), 2 * LOW_EXPONENT);
}

static __device__ void sum_slow(const struct wf_kernel_arguments *r, const slow_range *range)
{
    for (u32 chunk = 0; chunk < range->chunks; chunk++) {
        for (int j = 0; j < range->each; j++) {
            vector x, y;
            u32 present = load_partly(r, slow_place(range, chunk, j), &x, &y);
#pragma unroll
            for (int e = 0; e < PER_VECTOR; e++) {
                unit a = element_at(&x, e), b = OPERANDS == 2 ? element_at(&y, e) : a;
                if (present >> e & 1 && !is_either_special(a, b)) deposit_terms(a, b);
            }
        }
    }
}

static __device__ __noinline__ void accumulate_elements(const struct wf_kernel_arguments *r, lane_state *lane,
                                                        slow_range range)
{
    note_all(r, lane, &range);
    if (IS_FLOAT && HAS_SUMS) sum_slow(r, &range);
}

// Passes a copy of the state, so that only the copy has an address and the state itself stays in registers.
static __device__ __forceinline__ void accumulate_slow(const struct wf_kernel_arguments *r, lane_state *lane,
                                                       slow_range range)
{
    lane_state copy = *lane;
    accumulate_elements(r, &copy, range);
    *lane = copy;
}

#endif
