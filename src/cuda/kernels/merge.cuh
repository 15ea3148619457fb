// From lanes to the block.

#ifndef MERGE_CUH
#define MERGE_CUH

#include "kernels/digits.cuh"
#include "kernels/lane.cuh"
#include "kernels/stream.cuh"
#include "kernels/warp.cuh"
#include "arguments.h"

// Until the last block has all parts, the index of an extreme in whole chunks is its chunk's first one: chunks order as their elements
// do, and only the one that is wanted need be looked at again.  So is that of the first NaN, but not beside levels, where each lane finds
// its own: the variance of uniform bf16 took 1.045 times as long otherwise, by the same instructions in other places.
#define FINDS_NAN_LAST (IS_FLOAT && !USES_LEVELS)

static __device__ __forceinline__ void place_at_chunk(const struct wf_kernel_arguments *r, u64 first, u64 step, u32 *chunk, u64 *index)
{
    if (*chunk != NOWHERE) *index = (u64)r->index + (first + *chunk * step) * (CHUNK * PER_VECTOR);
    *chunk = NOWHERE;
}

// The warp's chunks are first, first + step ...
static __device__ __forceinline__ void place_at_chunks(const struct wf_kernel_arguments *r, lane_state *lane, u64 first, u64 step)
{
    if (HAS_MIN && IS_INDEXED) place_at_chunk(r, first, step, &lane->min_chunk, &lane->min_index);
    if (HAS_MAX && IS_INDEXED) place_at_chunk(r, first, step, &lane->max_chunk, &lane->max_index);
    if (FINDS_NAN_LAST) place_at_chunk(r, first, step, &lane->nan_chunk, &lane->first_nan);
}

// The place in a vector of the first element with these bits, or of the first NaN, or NOWHERE.
static __device__ __forceinline__ u32 first_in_vector(const vector *v, unit wanted, bool is_of_nan)
{
    u32 found = NOWHERE;
#pragma unroll
    for (int e = PER_VECTOR - 1; e >= 0; e--) {
        unit bits = element_at(v, e);
        if (is_of_nan ? is_nan(bits) : bits == wanted) found = (u32)e;
    }
    return found;
}

// Moves an index that is a chunk's to its first such element.  By a warp; all vectors are asked for before one is needed.
static __device__ __forceinline__ void find_in_chunk(const struct wf_kernel_arguments *r, u64 *index, unit wanted, bool is_of_nan)
{
    u64 place = *index - (u64)r->index, begin = place / PER_VECTOR;
    vector v[VECTORS];
    u32 found = NOWHERE;
    if (place >= r->vectors / CHUNK * (CHUNK * PER_VECTOR)) return; // of an element already, or none
#pragma unroll
    for (int j = 0; j < VECTORS; j++) v[j] = load_vector(r->x, begin + 32 * j + lane_number());
#pragma unroll
    for (int j = VECTORS - 1; j >= 0; j--) {
        u32 e = first_in_vector(&v[j], wanted, is_of_nan);
        if (e != NOWHERE) found = (32 * j + lane_number()) * PER_VECTOR + e;
    }
    found = warp_min(found);
    __syncwarp(); // after all have read the index
    if (lane_number() == 0) *index += found;
}

static __device__ __forceinline__ unit unit_of_key(u64 key)
{
    return bits_of_key((i64)(key ^ (u64)1 << 63));
}

#define IS_WARP(i) (warp_number() == (i) % (BLOCK / 32))

// Finds the elements whose chunks block_partial has; by all threads of the last block.
static __device__ __forceinline__ void find_in_chunks(const struct wf_kernel_arguments *r)
{
    if (HAS_MIN && IS_INDEXED && IS_WARP(0)) find_in_chunk(r, &block_partial.min_index, unit_of_key(block_partial.min_key), false);
    if (HAS_MAX && IS_INDEXED && IS_WARP(1)) find_in_chunk(r, &block_partial.max_index, unit_of_key(block_partial.max_key), false);
    if (FINDS_NAN_LAST && IS_WARP(2) && block_partial.nan_count) find_in_chunk(r, &block_partial.first_nan, 0, true);
    if ((HAS_EXTREMES && IS_INDEXED) || (FINDS_NAN_LAST && block_partial.nan_count)) __syncthreads();
}

// Finds the index of the lane's first NaN in the chunk that was noted for it.
static __device__ __forceinline__ void find_nan(const struct wf_kernel_arguments *r, lane_state *lane, u64 first, u64 step)
{
    if (lane->nan_chunk == NOWHERE) return;
    for (int j = VECTORS - 1; j >= 0; j--) {
        u64 at = (first + lane->nan_chunk * step) * CHUNK + 32 * j + lane_number();
        vector x = load_vector(r->x, at), y = x;
        if (OPERANDS == 2) y = load_vector(r->y, at);
#pragma unroll
        for (int e = PER_VECTOR - 1; e >= 0; e--)
            if (is_nan(element_at(&x, e)) || is_nan(element_at(&y, e)))
                lane->first_nan = min(lane->first_nan, (u64)r->index + at * PER_VECTOR + e);
    }
}

// Combines over a warp what its lanes have seen that is special: NaNs, infinities, and whether a term was not -0.
static __device__ __forceinline__ void merge_special(lane_state *lane)
{
    if (HAS_SUMS) lane->special_seen = warp_or(lane->special_seen);
    if (__any_sync(ALL_LANES, lane->nan_count != 0)) {
        lane->nan_count = (u64)warp_sum((i64)lane->nan_count);
        lane->first_nan = warp_least(lane->first_nan);
    }
}

// Combines the extremes of a warp's lanes: of equal keys the smallest index stays.
static __device__ __forceinline__ void merge_extremes(lane_state *lane)
{
    if (HAS_MIN) {
        u64 least = warp_least(lane->min_key);
        if (IS_INDEXED) lane->min_index = warp_least(lane->min_key == least ? lane->min_index : NO_INDEX);
        lane->min_key = least;
    }
    if (HAS_MAX) {
        u64 largest = warp_largest(lane->max_key);
        if (IS_INDEXED) lane->max_index = warp_least(lane->max_key == largest ? lane->max_index : NO_INDEX);
        lane->max_key = largest;
    }
}

// Combines the products of a warp's lanes: magnitudes multiply, signs cancel, all other flags are kept.
static __device__ __forceinline__ void merge_product(lane_state *lane)
{
#pragma unroll
    for (int delta = 16; delta; delta /= 2) {
        u64 factor = __shfl_xor_sync(ALL_LANES, lane->product, delta);
        u32 flags = __shfl_xor_sync(ALL_LANES, lane->product_flags, delta);
        if (__umul64hi(lane->product, factor)) lane->product_flags |= WF_PRODUCT_OVERFLOW;
        lane->product *= factor;
        lane->product_flags |= flags & ~(u32)WF_PRODUCT_NEGATIVE;
        lane->product_flags ^= flags & WF_PRODUCT_NEGATIVE;
    }
}

// Combines the bitwise and, or and xor of a warp's lanes.
static __device__ __forceinline__ void merge_bits(lane_state *lane)
{
#pragma unroll
    for (int delta = 16; delta; delta /= 2) {
        lane->bits_and &= __shfl_xor_sync(ALL_LANES, lane->bits_and, delta);
        lane->bits_or |= __shfl_xor_sync(ALL_LANES, lane->bits_or, delta);
        lane->bits_xor ^= __shfl_xor_sync(ALL_LANES, lane->bits_xor, delta);
    }
}

// Combines all that a warp's lanes have, except what is special (merge_special) and the digits.
static __device__ __forceinline__ void merge_lanes(lane_state *lane)
{
    merge_extremes(lane);
    if (HAS_NONZERO) lane->nonzero = (u64)warp_sum((i64)lane->nonzero);
    if (HAS_BITS) merge_bits(lane);
    if (HAS_PRODUCT) merge_product(lane);
}

// Each warp's combined parts, for the first warp to combine in turn.
static __shared__ struct {
    u64 min_key, min_index, max_key, max_index;
    u64 nonzero, nan_count, first_nan, product;
    packed bits_and, bits_or, bits_xor;
    u32 special_seen, product_flags;
} merged[BLOCK / 32];

static __device__ __forceinline__ void put_merged(const lane_state *lane, u32 i)
{
    if (HAS_MIN) {
        merged[i].min_key = lane->min_key;
        if (IS_INDEXED) merged[i].min_index = lane->min_index;
    }
    if (HAS_MAX) {
        merged[i].max_key = lane->max_key;
        if (IS_INDEXED) merged[i].max_index = lane->max_index;
    }
    if (HAS_NONZERO) merged[i].nonzero = lane->nonzero;
    if (HAS_BITS) {
        merged[i].bits_and = lane->bits_and;
        merged[i].bits_or = lane->bits_or;
        merged[i].bits_xor = lane->bits_xor;
    }
    if (HAS_PRODUCT) {
        merged[i].product = lane->product;
        merged[i].product_flags = lane->product_flags;
    }
}

static __device__ __forceinline__ void put_special(const lane_state *lane, u32 i)
{
    merged[i].nan_count = lane->nan_count;
    merged[i].first_nan = lane->first_nan;
    merged[i].special_seen = lane->special_seen;
}

static __device__ __forceinline__ void get_special(lane_state *lane, u32 i)
{
    lane->nan_count = merged[i].nan_count;
    lane->first_nan = merged[i].first_nan;
    lane->special_seen = merged[i].special_seen;
}

static __device__ __forceinline__ void get_merged(lane_state *lane, u32 i)
{
    if (HAS_MIN) {
        lane->min_key = merged[i].min_key;
        if (IS_INDEXED) lane->min_index = merged[i].min_index;
    }
    if (HAS_MAX) {
        lane->max_key = merged[i].max_key;
        if (IS_INDEXED) lane->max_index = merged[i].max_index;
    }
    if (HAS_NONZERO) lane->nonzero = merged[i].nonzero;
    if (HAS_BITS) {
        lane->bits_and = merged[i].bits_and;
        lane->bits_or = merged[i].bits_or;
        lane->bits_xor = merged[i].bits_xor;
    }
    if (HAS_PRODUCT) {
        lane->product = merged[i].product;
        lane->product_flags = merged[i].product_flags;
    }
}

// Packed words hold several narrow elements, whose bits are folded into those of one element.
static __device__ __forceinline__ void put_bits(const lane_state *lane)
{
    packed all = lane->bits_and, any = lane->bits_or, odd = lane->bits_xor;
#pragma unroll
    for (int width = 16; width >= WIDTH; width /= 2) {
        all &= all >> width;
        any |= any >> width;
        odd ^= odd >> width;
    }
    block_partial.bits_and = (unit)all;
    block_partial.bits_or = (unit)any;
    block_partial.bits_xor = (unit)odd;
}

static __device__ __forceinline__ void put_partial(const lane_state *lane)
{
    if (HAS_MIN) {
        block_partial.min_key = lane->min_key;
        if (IS_INDEXED) block_partial.min_index = lane->min_index;
    }
    if (HAS_MAX) {
        block_partial.max_key = lane->max_key;
        if (IS_INDEXED) block_partial.max_index = lane->max_index;
    }
    if (HAS_NONZERO) block_partial.nonzero = lane->nonzero;
    if (HAS_BITS) put_bits(lane);
    if (HAS_PRODUCT) {
        block_partial.product_magnitude = lane->product;
        block_partial.product_flags = lane->product_flags;
    }
}

static __device__ __forceinline__ void put_partial_special(const lane_state *lane)
{
    block_partial.nan_count = lane->nan_count;
    block_partial.first_nan = lane->first_nan;
    block_partial.special_seen = lane->special_seen;
}

// Combines what all warps have put into block_partial, by the first of them.
static __device__ __forceinline__ void combine_warps(lane_state *lane)
{
    lane_clear(lane);
    if (lane_number() < BLOCK / 32) {
        get_merged(lane, lane_number());
        if (IS_FLOAT) get_special(lane, lane_number());
    }
    merge_lanes(lane);
    if (IS_FLOAT) merge_special(lane);
    if (lane_number() != 0) return;
    put_partial(lane);
    if (IS_FLOAT) put_partial_special(lane);
}

// Combines all lanes of the block into block_partial, except the digits, which are there already.
static __device__ __forceinline__ void merge_warps(lane_state *lane)
{
    merge_lanes(lane);
    if (IS_FLOAT) merge_special(lane);
    if (lane_number() == 0) {
        put_merged(lane, warp_number());
        if (IS_FLOAT) put_special(lane, warp_number());
    }
    __syncthreads();
    if (warp_number() == 0) combine_warps(lane);
    __syncthreads();
}

#endif
