// From lanes to the block.

#ifndef MERGE_CUH
#define MERGE_CUH

#include "kernels/digits.cuh"
#include "kernels/lane.cuh"
#include "kernels/stream.cuh"
#include "kernels/warp.cuh"
#include "arguments.h"

// The index of the lane's extreme, which is looked for in its chunk: while chunks are added, only the chunk is noted.
static __device__ __forceinline__ u64 index_in_chunk(const struct wf_kernel_arguments *r, u64 key, u64 chunk)
{
    for (int j = 0; j < VECTORS; j++) {
        u64 at = chunk * CHUNK + 32 * j + lane_number();
        vector v = load_vector(r->x, at);
        int found = PER_VECTOR;
#pragma unroll
        for (int e = PER_VECTOR - 1; e >= 0; e--)
            if (ordered(key_of(element_at(&v, e))) == key) found = e;
        if (found < PER_VECTOR) return (u64)r->index + at * PER_VECTOR + found;
    }
    return NO_INDEX;
}

// Finds the index of the warp's extreme, `key`, in the lanes that have it.  Its chunks are first, first + step ...
static __device__ __forceinline__ void find_index(const struct wf_kernel_arguments *r, u64 key, u64 lane_key, u32 *chunk,
                                                  u64 *index, u64 first, u64 step)
{
    if (*chunk != NOWHERE && lane_key == key) *index = index_in_chunk(r, key, first + *chunk * step);
    *chunk = NOWHERE;
}

static __device__ __forceinline__ void find_indices(const struct wf_kernel_arguments *r, lane_state *lane, u64 first, u64 step)
{
    if (HAS_MIN)
        find_index(r, warp_least(lane->min_key), lane->min_key, &lane->min_chunk, &lane->min_index, first, step);
    if (HAS_MAX)
        find_index(r, warp_largest(lane->max_key), lane->max_key, &lane->max_chunk, &lane->max_index, first, step);
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
