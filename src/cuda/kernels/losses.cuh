// What a kernel's sums may lack of the exact ones, where few levels do not hold a chunk and it goes to them all the same: their
// last additions round, by half a unit at most (core/losses.h).  Each warp notes a bound of that, each block publishes its
// warps', and the last block makes the result of either end of what the sums may be.  If these are not the same bits, it says
// so, and the kernel that follows adds all again, exactly.

#ifndef LOSSES_CUH
#define LOSSES_CUH

#include "core/losses.h"
#include "kernels/levels.cuh"
#include "kernels/warp.cuh"
#include "arguments.h"

#if LOSES

static_assert(WIDTH >= 32 && HAS_SQUARES && !HAS_DOT && !HAS_ABS && !HAS_EXTREMES && !IS_SMALL,
              "others do not gain, or were not tried");

#define ROUGH_MARGIN 3 // binades: more, and too much is lost; fewer, and levels are placed again more often
#define ROUGH_AFTER 7  // chunks that go to all levels, shortly after each other: of uniform numbers next to none

// How many elements a warp adds to levels at most before they are emptied, and one for what is lost otherwise: by errors of
// products, and by what is subnormal, all far less than a unit.
#define ROUGH_TERMS (32 * LEVEL_SETS * LEVEL_ADDITIONS + 1)

typedef struct {
    struct wf_bound sum, products;
} bounds;

static __shared__ bounds warp_bounds[BLOCK / 32];

// The power of two by which elements of f64 are multiplied, so that no bit that matters of products below 2^top leaves the
// range.
static __device__ __forceinline__ int scale_of(int top)
{
    if (WIDTH < 64) return 0;
    return top > 1000 || top < -880 ? max(min(-top / 2, 1022), -1022) : 0;
}

// 2^low is the digits' first bit: below it there is nothing to be lost.
static __device__ __forceinline__ void note_loss(bool of_products, int unit, int low)
{
    struct wf_bound bound = {ROUGH_TERMS, unit - 1};
    bounds *mine = &warp_bounds[warp_number()];
    if (unit > low && lane_number() == 0) wf_bound_add(of_products ? &mine->products : &mine->sum, bound);
}

static __device__ __forceinline__ void clear_losses(void)
{
    const bounds nothing = {{0, 0}, {0, 0}};
    if (lane_number() == 0) warp_bounds[warp_number()] = nothing;
}

static __device__ __forceinline__ void join_bounds(bounds *into, const bounds *from)
{
    wf_bound_add(&into->sum, from->sum);
    wf_bound_add(&into->products, from->products);
}

// By the thread that draws the block's ticket, after all of its warps have noted their bounds.
static __device__ __forceinline__ void publish_losses(const struct wf_kernel_arguments *r)
{
    static_assert(sizeof(bounds) == sizeof(struct wf_block_extrema), "each block has a place for one of these");
    for (u32 i = 1; i < BLOCK / 32; i++) join_bounds(&warp_bounds[0], &warp_bounds[i]);
    ((bounds *)r->extrema)[blockIdx.x] = warp_bounds[0];
}

// The bound of the lane whose number differs from this one's in the bit `distance`.
static __device__ __forceinline__ struct wf_bound bound_of_lane(struct wf_bound bound, int distance)
{
    struct wf_bound other = {__shfl_xor_sync(ALL_LANES, bound.units, distance),
                             __shfl_xor_sync(ALL_LANES, bound.exponent, distance)};
    return other;
}

// What all blocks may lack, by a warp of the last one.
static __device__ __forceinline__ bounds collect_losses(const struct wf_kernel_arguments *r)
{
    bounds all = {{0, 0}, {0, 0}};
    for (u32 i = lane_number(); i < gridDim.x; i += 32) {
        const bounds *from = (const bounds *)r->extrema + i;
        const bounds of_block = {{__ldcg(&from->sum.units), __ldcg(&from->sum.exponent)},
                                 {__ldcg(&from->products.units), __ldcg(&from->products.exponent)}};
        join_bounds(&all, &of_block);
    }
    for (int distance = 16; distance; distance /= 2) {
        const bounds others = {bound_of_lane(all.sum, distance), bound_of_lane(all.products, distance)};
        join_bounds(&all, &others);
    }
    return all;
}

#define SCALE(sums) (sums)->scale
#define IS_ROUGH(sums) (sums)->is_rough

#else

#define ROUGH_MARGIN 0
#define SCALE(sums) 0
#define IS_ROUGH(sums) false

#endif

#endif
