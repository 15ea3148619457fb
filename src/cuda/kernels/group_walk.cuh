// How a lane comes by a group's elements: one by one, or, where they lie side by side, 16 bytes at a time.  Where addresses
// follow from each other, several batches are on their way to shared memory, in a ring of which each lane has a part for itself;
// others are loaded to registers.

#ifndef GROUP_WALK_CUH
#define GROUP_WALK_CUH

#include "group_arguments.h"
#include "kernels/group_state.cuh"
#include "kernels/team.cuh"

extern __shared__ __align__(16) char group_memory[]; // bins, then the ring

static __device__ __forceinline__ char *ring_of_warp(void)
{
    return group_memory + GROUP_SUMS_NBYTES;
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

// Element by element the ring is worth its instructions where there are few others.
#define USES_GROUP_RING                                                                                                  \
    (WALK == WALK_CONTIGUOUS ||                                                                                          \
     (WALK == WALK_STRAIGHT && WIDTH >= 32 && ALIGNMENT == 16 && (!IS_SHORT || ARE_TALL_COLUMNS) && !HAS_VALUE_SUM))

static __device__ __forceinline__ void clear_batch(group_batch *batch)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        batch->a[k] = IS_FLOAT ? SIGN_BIT : 0;
        batch->b[k] = 0;
    }
}

#if USES_GROUP_RING || ARE_CHUNKS_AHEAD

// ---- copies

// Copies that are on their way while others are read.  The wait is until no more batches are on it than those asked for
// after the one that is wanted.
#define COPY_NBYTES (WALK == WALK_CONTIGUOUS || ARE_CHUNKS_AHEAD ? 16 : (int)sizeof(unit)) // what a lane copies at a time
#define COPIES_AHEAD (ARE_CHUNKS_AHEAD ? WF_GROUP_AHEAD_NBYTES / (512 * (int)sizeof(unit)) - 1 : WF_GROUP_RING_BATCHES - 1)

#if __CUDA_ARCH__ >= 800

// Chunks of 64 bytes and more of a row pass by the first-level cache, which takes time for each vector; the other half of what is read
// for 32 bytes may be found there.
static __device__ __forceinline__ void copy_to_shared(char *to, u64 from)
{
    const u32 place = (u32)__cvta_generic_to_shared(to);
    if (ARE_CHUNKS_AHEAD && WIDTH >= 32)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(COPY_NBYTES) : "memory");
}

static __device__ __forceinline__ void end_copies(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

static __device__ __forceinline__ void wait_for_copies(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(COPIES_AHEAD) : "memory");
}

#else // copies are done at once

static __device__ __forceinline__ void copy_to_shared(char *to, u64 from)
{
    for (int i = 0; i < COPY_NBYTES / 4; i++) ((u32 *)to)[i] = ((const u32 *)from)[i];
}

static __device__ __forceinline__ void end_copies(void)
{
}

static __device__ __forceinline__ void wait_for_copies(void)
{
}

#endif

#endif

#if USES_GROUP_RING

// ---- the ring

#define COPIES (BATCH * (int)sizeof(unit) / COPY_NBYTES)              // of a batch's operand
#define OPERAND_NBYTES (32 * BATCH * (int)sizeof(unit))

// A lane's elements that are copied: their addresses, those of the next batch to be asked for, and how far the next copy is.
typedef struct {
    char *ring;
    u64 x, y;
    i64 x_step, y_step;
    int asked, taken; // batches
    int copies;       // of an operand, in all
} lane_ring;

static __device__ __forceinline__ char *copy_in_ring(const lane_ring *ring, int batch, int operand, int i)
{
    int at = (batch % WF_GROUP_RING_BATCHES * OPERANDS + operand) * OPERAND_NBYTES;
    return ring->ring + at + (i * 32 + (int)lane_number()) * COPY_NBYTES;
}

static __device__ __forceinline__ int batches_of(const lane_ring *ring)
{
    return (ring->copies + COPIES - 1) / COPIES;
}

// Asks for the next batch, if there is one.
static __device__ __forceinline__ void ask_for_batch(lane_ring *ring)
{
    int left = ring->copies - ring->asked * COPIES;
#pragma unroll
    for (int i = 0; i < COPIES; i++) {
        if (i < left) {
            copy_to_shared(copy_in_ring(ring, ring->asked, 0, i), ring->x + (u64)(i * ring->x_step));
            if (OPERANDS == 2) copy_to_shared(copy_in_ring(ring, ring->asked, 1, i), ring->y + (u64)(i * ring->y_step));
        }
    }
    end_copies();
    ring->x += (u64)(COPIES * ring->x_step);
    ring->y += (u64)(COPIES * ring->y_step);
    ring->asked++;
}

static __device__ __forceinline__ void open_ring(lane_ring *ring)
{
    ring->asked = ring->taken = 0;
    for (int i = 0; i < WF_GROUP_RING_BATCHES - 1; i++) ask_for_batch(ring);
}

static __device__ __forceinline__ void read_copy(const char *from, unit *elements)
{
#if WALK == WALK_CONTIGUOUS
    uint4 words = *(const uint4 *)from;
    vector bits = {{words.x, words.y, words.z, words.w}};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) elements[e] = IS_BOOL ? element_at(&bits, e) != 0 : element_at(&bits, e);
#else
    elements[0] = *(const unit *)from;
#endif
}

// The next batch, whose place is taken by another one after the next; all but its number, which is given.
static __device__ __forceinline__ int take_batch(lane_ring *ring, group_batch *batch)
{
    const int each = COPY_NBYTES / (int)sizeof(unit);
    int number = ring->taken++, left = ring->copies - number * COPIES;
    ask_for_batch(ring);
    wait_for_copies();
    batch->count = min(left, COPIES) * each;
    if (left < COPIES) clear_batch(batch);
#pragma unroll
    for (int i = 0; i < COPIES; i++) {
        if (i >= left) break;
        read_copy(copy_in_ring(ring, number, 0, i), &batch->a[i * each]);
        if (OPERANDS == 2) read_copy(copy_in_ring(ring, number, 1, i), &batch->b[i * each]);
    }
    return number;
}

#endif

#if WALK == WALK_CONTIGUOUS

// ---- side by side

// First the lane's share of the group's whole vectors, then of the elements before and after these.
typedef struct {
    lane_ring ring;
    u64 x, y;         // of the team's first element
    int others, rest; // outside of vectors: the next one, by its number among them, and how many are left
} lane_walk;

static __device__ __forceinline__ int share_of(int count, const team *lanes)
{
    return (count - (int)lanes->place + (1 << lanes->log2) - 1) >> lanes->log2;
}

static __device__ __forceinline__ lane_walk begin_walk(const struct wf_group_arguments *r, const group_place *place, char *ring,
                                                       i64 begin, int count, const team *lanes, group_range *range)
{
    lane_walk walk;
    walk.x = place->x + (u64)begin * sizeof(unit);
    walk.y = place->y + (u64)begin * sizeof(unit);
    range->task = r;
    range->begin = begin;
    range->log2 = lanes->log2;
    range->head = min((int)(((u32)-(i64)walk.x & 15) / (u32)sizeof(unit)), count);
    range->inside = (count - range->head) / PER_VECTOR * PER_VECTOR;
    walk.others = (int)lanes->place;
    walk.rest = share_of(count - range->inside, lanes);
    u64 skipped = (u64)(u32)(range->head + (int)lanes->place * PER_VECTOR) * sizeof(unit);
    walk.ring.ring = ring;
    walk.ring.x = walk.x + skipped;
    walk.ring.y = walk.y + skipped;
    walk.ring.x_step = walk.ring.y_step = (i64)16 << lanes->log2;
    walk.ring.copies = max(share_of(range->inside / PER_VECTOR, lanes), 0);
    open_ring(&walk.ring);
    return walk;
}

static __device__ __forceinline__ bool has_more(const lane_walk *walk)
{
    return walk->ring.taken < batches_of(&walk->ring) || walk->rest > 0;
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
static __device__ __forceinline__ void load_batch(const struct wf_group_arguments *r, const team *lanes, lane_walk *walk,
                                                  const group_range *range, group_batch *batch)
{
    (void)r;
    if (walk->ring.taken >= batches_of(&walk->ring)) {
        load_rest(walk, range, batch);
        return;
    }
    int number = take_batch(&walk->ring, batch);
    batch->first = range->head + ((int)lanes->place + (number * COPIES << range->log2)) * PER_VECTOR;
    batch->is_vectors = true;
}

#elif USES_GROUP_RING

// ---- one by one, at distances that are all the same

typedef struct {
    lane_ring ring;
} lane_walk;

static __device__ __forceinline__ lane_walk begin_walk(const struct wf_group_arguments *r, const group_place *place, char *ring,
                                                       i64 begin, int count, const team *lanes, group_range *range)
{
    const struct wf_group_dimension *dimension = &r->dimension[r->ndim];
    i64 position = begin + lanes->place;
    lane_walk walk;
    range->task = r;
    range->begin = begin;
    range->log2 = lanes->log2;
    walk.ring.ring = ring;
    walk.ring.x = place->x + (u64)(position * dimension->stride[0]);
    walk.ring.y = OPERANDS == 2 ? place->y + (u64)(position * dimension->stride[1]) : 0;
    walk.ring.x_step = dimension->stride[0] << lanes->log2;
    walk.ring.y_step = OPERANDS == 2 ? dimension->stride[1] << lanes->log2 : 0;
    walk.ring.copies = max((count - (int)lanes->place + (1 << lanes->log2) - 1) >> lanes->log2, 0);
    open_ring(&walk.ring);
    return walk;
}

static __device__ __forceinline__ bool has_more(const lane_walk *walk)
{
    return walk->ring.taken < batches_of(&walk->ring);
}

// Loads the next elements, of which there may be none.
static __device__ __forceinline__ void load_batch(const struct wf_group_arguments *r, const team *lanes, lane_walk *walk,
                                                  const group_range *range, group_batch *batch)
{
    (void)r;
    batch->first = 0;
    batch->count = 0;
    if (has_more(walk)) {
        int number = take_batch(&walk->ring, batch);
        batch->first = (int)lanes->place + (number * COPIES << range->log2);
    } else {
        clear_batch(batch);
    }
}

#else

// ---- one by one, to registers

// How far the element at a place of a group is from the first.
static __device__ __forceinline__ void find_element(const struct wf_group_arguments *r, i64 place, i64 *x, i64 *y)
{
    const struct wf_group_dimension *dimension = &r->dimension[r->ndim];
    i64 rest = WALK == WALK_INDEXED ? position_at(r, place) : place;
    *x = *y = 0;
#pragma unroll 1 // as in find_place
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

static __device__ __forceinline__ lane_walk begin_walk(const struct wf_group_arguments *r, const group_place *place, char *ring,
                                                       i64 begin, int count, const team *lanes, group_range *range)
{
    const struct wf_group_dimension *dimension = &r->dimension[r->ndim];
    (void)ring;
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
static __device__ __forceinline__ void load_batch(const struct wf_group_arguments *r, const team *lanes, lane_walk *walk,
                                                  const group_range *range, group_batch *batch)
{
    (void)lanes;
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
