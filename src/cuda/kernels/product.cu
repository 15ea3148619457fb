// The nodes of a product's tree (core/product.h): one block for each aligned block of 2^PRODUCT_LEVEL elements.

#include "core/portable.h"
#include "core/product.h"
#include "core/partial_words.h"
#include "kernels/element.cuh"
#include "kernels/product.h"

#define BLOCK 256
#define EACH ((1 << PRODUCT_LEVEL) / BLOCK) // elements of a thread, aligned and contiguous

typedef struct {
    u64 flags; // enum wf_product_flag
    u64 nan_count, first_nan;
} notes;

static __device__ unit load_element(u64 address, i64 i)
{
    const unsigned char *from = (const unsigned char *)(address + (u64)i * sizeof(unit));
    unit bits = 0;
    if ((u64)from % sizeof(unit) == 0) return IS_BOOL ? *from != 0 : *(const unit *)from;
    for (int k = 0; k < (int)sizeof(unit); k++) bits |= (unit)((unit)from[k] << 8 * k);
    return IS_BOOL ? bits != 0 : bits;
}

static __device__ u64 magnitude_of(unit bits)
{
#if IS_FLOAT
    u32 field = (u32)(bits >> FRACTION_BITS) & ((1u << EXPONENT_BITS) - 1);
    return ((u64)bits & (((u64)1 << FRACTION_BITS) - 1)) | (u64)(field != 0) << FRACTION_BITS;
#else
    return IS_SIGNED && bits & SIGN_BIT ? (u64)(unit)(0 - bits) : (u64)bits;
#endif
}

// The factor of an element; what is no factor is noted, and counts as one.
static __device__ struct wf_factor leaf(unit bits, u64 index, notes *noted)
{
    struct wf_factor factor = {1, 0, 0};
#if IS_FLOAT
    if (is_nan(bits)) {
        noted->nan_count++;
        noted->first_nan = index < noted->first_nan ? index : noted->first_nan;
        return factor;
    }
    if (is_infinite(bits)) noted->flags |= WF_PRODUCT_INFINITY;
#endif
    if (is_negative(bits)) noted->flags ^= WF_PRODUCT_NEGATIVE;
    if (!is_nonzero(bits)) noted->flags |= WF_PRODUCT_ZERO;
    u64 magnitude = magnitude_of(bits);
#if IS_FLOAT
    if (!is_nonzero(bits) || is_infinite(bits)) return factor;
    i64 field = (i64)(bits >> FRACTION_BITS) & ((1 << EXPONENT_BITS) - 1);
    factor = wf_factor_of_u64(magnitude);
    factor.exponent += (field ? field : 1) - 1 + LOW_EXPONENT;
#else
    if (magnitude) factor = wf_factor_of_u64(magnitude);
#endif
    return factor;
}

static __device__ void merge_notes(struct wf_partial *into, const notes *noted)
{
    if (noted->flags & WF_PRODUCT_NEGATIVE) atomicXor(&into->product_flags, (u64)WF_PRODUCT_NEGATIVE);
    if (noted->flags & ~(u64)WF_PRODUCT_NEGATIVE)
        atomicOr(&into->product_flags, noted->flags & ~(u64)WF_PRODUCT_NEGATIVE);
    if (noted->nan_count) {
        atomicAdd(&into->nan_count, noted->nan_count);
        atomicMin(&into->first_nan, noted->first_nan);
    }
}

// The signs cancel within a warp, so that few lanes have something to hand in.
static __device__ void merge_warp(struct wf_partial *into, notes *noted)
{
    u32 negative = __ballot_sync(0xffffffff, (noted->flags & WF_PRODUCT_NEGATIVE) != 0);
    noted->flags &= ~(u64)WF_PRODUCT_NEGATIVE;
    if (threadIdx.x % 32 == 0 && __popc(negative) % 2) noted->flags |= WF_PRODUCT_NEGATIVE;
    merge_notes(into, noted);
}

extern "C" __global__ void __launch_bounds__(BLOCK) product(const struct wf_product_task task)
{
    __shared__ struct wf_factor node[BLOCK];
    notes noted = {0, 0, ~(u64)0 >> 1};
    struct wf_factor level[PRODUCT_THREAD_LEVELS];
    i64 first = ((i64)blockIdx.x * BLOCK + threadIdx.x) * EACH;
    struct wf_factor mine = {1, 0, 0};
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        mine = leaf(load_element(task.x, first + i), (u64)(task.index + first + i), &noted);
#pragma unroll
        for (int l = 0; l < PRODUCT_THREAD_LEVELS; l++) {
            if (!(i >> l & 1)) {
                level[l] = mine;
                break;
            }
            mine = wf_factor_multiply(level[l], mine);
        }
    }
    node[threadIdx.x] = mine;
    merge_warp((struct wf_partial *)task.partial, &noted);
    for (int half = 1; half < BLOCK; half *= 2) {
        __syncthreads();
        if (threadIdx.x % (2 * half) == 0)
            node[threadIdx.x] = wf_factor_multiply(node[threadIdx.x], node[threadIdx.x + half]);
    }
    if (threadIdx.x == 0) ((struct wf_factor *)task.nodes)[blockIdx.x] = node[0];
}
