// How a lane comes by a group's elements: one by one, or, where they lie side by side, 16 bytes at a time.

#ifndef GROUP_WALK_CUH
#define GROUP_WALK_CUH

#include "group_arguments.h"
#include "kernels/group_finish.cuh"
#include "kernels/group_state.cuh"
#include "kernels/team.cuh"

// The remainder; the quotient stays in *number.
static __device__ __forceinline__ i64 split_off(i64 *number, i64 length)
{
    i64 whole = *number;
    if ((u64)(whole | length) >> 32 == 0)
        *number = (i64)((u32)whole / (u32)length);
    else
        *number = whole / length;
    return whole - *number * length;
}

static __device__ __forceinline__ unit load_unit(u64 address)
{
    unit bits = 0;
    if (ALIGNMENT == 16)
        bits = __ldg((const unit *)address);
    else
        for (int k = 0; k < (int)sizeof(unit); k++) bits |= (unit)((unit)((const unsigned char *)address)[k] << 8 * k);
    return IS_BOOL ? bits != 0 : bits;
}

#if WALK == WALK_CONTIGUOUS

#define VECTORS_OF_BATCH (BATCH / PER_VECTOR)

// First the lane's share of the group's whole vectors, then of the elements before and behind these.
typedef struct {
    u64 x, y;           // of the group's first element
    int vector, others; // the next one: by its number among the vectors, and among the elements outside
    int vectors, rest;  // how many are left
} lane_walk;

static __device__ __forceinline__ int share_of(int count, const team *lanes)
{
    return (count - (int)lanes->place + (1 << lanes->log2) - 1) >> lanes->log2;
}

static __device__ __forceinline__ lane_walk begin_walk(const struct wf_group_arguments *r, const group_place *place,
                                                       i64 begin, int count, const team *lanes, group_range *range)
{
    u64 skipped = (u64)begin * sizeof(unit);
    lane_walk walk = {place->x + skipped, place->y + skipped, (int)lanes->place, (int)lanes->place, 0, 0};
    range->task = r;
    range->begin = begin;
    range->log2 = lanes->log2;
    range->head = min((int)(((u32)-(i64)walk.x & 15) / (u32)sizeof(unit)), count);
    range->inside = (count - range->head) / PER_VECTOR * PER_VECTOR;
    walk.vectors = share_of(range->inside / PER_VECTOR, lanes);
    walk.rest = share_of(count - range->inside, lanes);
    return walk;
}

static __device__ __forceinline__ bool has_more(const lane_walk *walk)
{
    return walk->vectors > 0 || walk->rest > 0;
}

static __device__ __forceinline__ void clear_batch(group_batch *batch)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        batch->a[k] = IS_FLOAT ? SIGN_BIT : 0;
        batch->b[k] = 0;
    }
}

static __device__ __forceinline__ void load_vector(u64 address, unit *elements)
{
    uint4 words = __ldcs((const uint4 *)address);
    vector bits = {{words.x, words.y, words.z, words.w}};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) elements[e] = IS_BOOL ? element_at(&bits, e) != 0 : element_at(&bits, e);
}

static __device__ __forceinline__ void load_unaligned_vector(u64 address, unit *elements)
{
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) elements[e] = load_unit(address + e * sizeof(unit));
}

static __device__ __forceinline__ void load_vectors(lane_walk *walk, const group_range *range, group_batch *batch)
{
    batch->first = range->head + walk->vector * PER_VECTOR;
    batch->is_vectors = true;
    batch->count = BATCH;
    if (walk->vectors < VECTORS_OF_BATCH) {
        clear_batch(batch);
        batch->count = walk->vectors * PER_VECTOR;
    }
    u64 skipped = (u64)(u32)batch->first * sizeof(unit);
#pragma unroll
    for (int i = 0; i < VECTORS_OF_BATCH; i++, skipped += (u64)16 << range->log2) {
        if (i >= walk->vectors) break;
        load_vector(walk->x + skipped, &batch->a[i * PER_VECTOR]);
        if (OPERANDS == 1) continue;
        if ((walk->y + skipped) % 16)
            load_unaligned_vector(walk->y + skipped, &batch->b[i * PER_VECTOR]);
        else
            load_vector(walk->y + skipped, &batch->b[i * PER_VECTOR]);
    }
    walk->vector += VECTORS_OF_BATCH << range->log2;
    walk->vectors -= VECTORS_OF_BATCH;
}

static __device__ __forceinline__ void load_rest(lane_walk *walk, const group_range *range, group_batch *batch)
{
    clear_batch(batch);
    batch->first = walk->others;
    batch->is_vectors = false;
    batch->count = min(max(walk->rest, 0), BATCH);
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        if (k >= batch->count) break;
        u64 skipped = (u64)(u32)offset_in_batch(batch, range, k) * sizeof(unit);
        batch->a[k] = load_unit(walk->x + skipped);
        if (OPERANDS == 2) batch->b[k] = load_unit(walk->y + skipped);
    }
    walk->others += BATCH << range->log2;
    walk->rest -= BATCH;
}

// Loads the next elements, of which there may be none.
static __device__ __forceinline__ void load_batch(const struct wf_group_arguments *r, lane_walk *walk,
                                                  const group_range *range, group_batch *batch)
{
    (void)r;
    if (walk->vectors > 0)
        load_vectors(walk, range, batch);
    else
        load_rest(walk, range, batch);
}

#else

// ---- one by one

// How far the element at a place of a group is from the first.
static __device__ __forceinline__ void find_element(const struct wf_group_arguments *r, i64 place, i64 *x, i64 *y)
{
    const struct wf_group_dimension *dimension = &r->dimension[r->ndim];
    i64 rest = WALK == WALK_INDEXED ? position_at(r, place) : place;
    *x = *y = 0;
    for (int d = WALK == WALK_FOLDED ? r->reduced_ndim - 1 : 0; d > 0; d--) {
        i64 at = split_off(&rest, dimension[d].length);
        *x += at * dimension[d].stride[0];
        if (OPERANDS == 2) *y += at * dimension[d].stride[1];
    }
    *x += rest * dimension[0].stride[0];
    if (OPERANDS == 2) *y += rest * dimension[0].stride[1];
}

// A lane's elements: the next one, and how far it is from there to the one after that.
typedef struct {
    u64 x, y;
    i64 x_step, y_step;
    i64 position; // through positions, or along several dimensions
    int done, left;
} lane_walk;

static __device__ __forceinline__ lane_walk begin_walk(const struct wf_group_arguments *r, const group_place *place,
                                                       i64 begin, int count, const team *lanes, group_range *range)
{
    const struct wf_group_dimension *dimension = &r->dimension[r->ndim];
    lane_walk walk = {place->x, place->y, 0, 0, begin + lanes->place, (int)lanes->place, 0};
    range->task = r;
    range->begin = begin;
    range->log2 = lanes->log2;
    walk.left = (count - (int)lanes->place + (1 << lanes->log2) - 1) >> lanes->log2; // less than 1: none
    if (WALK != WALK_STRAIGHT) return walk;
    walk.x += (u64)(walk.position * dimension->stride[0]);
    walk.x_step = dimension->stride[0] << lanes->log2;
    if (OPERANDS == 1) return walk;
    walk.y += (u64)(walk.position * dimension->stride[1]);
    walk.y_step = dimension->stride[1] << lanes->log2;
    return walk;
}

static __device__ __forceinline__ void load_one(const struct wf_group_arguments *r, const lane_walk *walk,
                                                const group_range *range, int k, group_batch *batch)
{
    i64 x = k * walk->x_step, y = k * walk->y_step;
    if (WALK != WALK_STRAIGHT) find_element(r, walk->position + (k << range->log2), &x, &y);
    batch->a[k] = load_unit(walk->x + (u64)x);
    if (OPERANDS == 2) batch->b[k] = load_unit(walk->y + (u64)y);
}

static __device__ __forceinline__ bool has_more(const lane_walk *walk)
{
    return walk->left > 0;
}

// Loads the next elements, of which there may be none.
static __device__ __forceinline__ void load_batch(const struct wf_group_arguments *r, lane_walk *walk,
                                                  const group_range *range, group_batch *batch)
{
    batch->first = walk->done;
    batch->count = min(walk->left, BATCH);
    if (walk->left >= BATCH) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) load_one(r, walk, range, k, batch);
    } else {
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            batch->a[k] = IS_FLOAT ? SIGN_BIT : 0;
            batch->b[k] = 0;
            if (k < batch->count) load_one(r, walk, range, k, batch);
        }
    }
    walk->x += (u64)(BATCH * walk->x_step);
    walk->y += (u64)(BATCH * walk->y_step);
    walk->position += BATCH << range->log2;
    walk->done += BATCH << range->log2;
    walk->left -= BATCH;
}

#endif

#endif
