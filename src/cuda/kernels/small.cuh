// A small array: all its vectors are in registers at once, VECTORS of a thread at the most, and each warp's are one
// segment.  What counts here is how many instructions are fetched and waited for on the way, so a block that meets
// anything special (infinities, NaNs, or terms that no levels hold) begins again elsewhere.

#ifndef SMALL_CUH
#define SMALL_CUH

#include "kernels/digits.cuh"
#include "kernels/direct.cuh"
#include "kernels/grid.cuh"
#include "kernels/lane.cuh"
#include "kernels/magnitude.cuh"
#include "kernels/merge.cuh"
#include "kernels/result.cuh"
#include "kernels/segment.cuh"
#include "kernels/slow_path.cuh"
#include "kernels/stream.cuh"
#include "kernels/sums.cuh"
#include "kernels/warp.cuh"
#include "arguments.h"

// A lane's vectors: `first` and every `step` from there, below `end`.  From `whole` on they are the one after the last
// whole vector and the one before the first, of which only a part exists.
typedef struct {
    u32 first, step, whole, end;
} small_range;

static __device__ __forceinline__ u32 place_of(const small_range *range, int j)
{
    return range->first + (u32)j * range->step;
}

static __device__ __forceinline__ bool is_there(const small_range *range, int j)
{
    return place_of(range, j) < range->end;
}

static __device__ __forceinline__ bool has_place(const small_range *range, u32 place)
{
    bool found = false;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) found = found || place_of(range, j) == place;
    return found;
}

// A vector's number in the array; -1 is the one before the first whole vector.
static __device__ __forceinline__ int number_of(const struct wf_kernel_arguments *r, const small_range *range, u32 place)
{
    bool is_head = place >= range->whole && place - range->whole == (r->tail != 0);
    return is_head ? -1 : (int)place;
}

// ---- what lies before and after the whole vectors

#define CAN_BE_PADDED (!HAS_BITS && !HAS_PRODUCT)

// What takes the place of elements that do not exist: nothing to a sum, an element that exists to extremes.
static __device__ __forceinline__ unit padding(u64 address, i64 existing, bool is_second)
{
    if (HAS_EXTREMES) return load_element(address, existing);
    return IS_FLOAT && !is_second ? SIGN_BIT : 0;
}

// The place of the lane's vector that exists only in part, or NOWHERE.  No lane has both such vectors.
static __device__ __forceinline__ u32 place_of_end(const small_range *range)
{
    u32 place = NOWHERE;
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j) && place_of(range, j) >= range->whole) place = place_of(range, j);
    return place;
}

// Loads vector -1 or the one after the last whole vector, of which only a part exists.
static __device__ __noinline__ vector load_end(const struct wf_kernel_arguments *r, int number, bool is_second)
{
    u64 address = is_second ? r->y : r->x;
    int first = number < 0 ? PER_VECTOR - (int)r->head : 0, behind = number < 0 ? PER_VECTOR : (int)r->tail;
    i64 at = (i64)number * PER_VECTOR;
    unit pad = padding(address, at + first, is_second);
    vector v = {{0, 0, 0, 0}};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++)
        put_element(&v, e, e >= first && e < behind ? load_element(address, at + e) : pad);
    return v;
}

static __device__ __forceinline__ void load_ends(const struct wf_kernel_arguments *r, const small_range *range, bool is_second,
                                                 vector x[VECTORS])
{
    u32 place = place_of_end(range);
    if (place == NOWHERE) return;
    vector end = load_end(r, number_of(r, range, place), is_second);
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (place_of(range, j) == place) x[j] = end;
}

// ---- all that there is in most arrays

static __device__ __forceinline__ void load_small(const struct wf_kernel_arguments *r, const small_range *range, bool is_second,
                                                  vector x[VECTORS])
{
    const vector nothing = {{0, 0, 0, 0}};
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        u32 place = place_of(range, j);
        x[j] = place < range->whole ? load_vector(is_second ? r->y : r->x, place) : nothing;
    }
    if (range->end != range->whole) load_ends(r, range, is_second, x);
}

// The index of the element with these bits among those before the first whole vector.  It is searched in memory, since
// in registers that vector begins with copies of its first element.
static __device__ __noinline__ u64 index_in_head(const struct wf_kernel_arguments *r, unit wanted)
{
    for (int e = -(int)r->head; e < 0; e++)
        if (load_element(r->x, e) == wanted) return (u64)(r->index + e);
    return NO_INDEX;
}

// The first index among the lane's vectors of an element with the key.
static __device__ __forceinline__ u64 index_in_registers(const struct wf_kernel_arguments *r, const small_range *range,
                                                         const vector x[VECTORS], u64 key)
{
    unit wanted = bits_of_key((i64)(key ^ (u64)1 << 63));
    u32 found = NOWHERE, behind = range->whole + (r->tail != 0);
#pragma unroll
    for (int j = VECTORS - 1; j >= 0; j--) {
        u32 place = PER_VECTOR;
#pragma unroll
        for (int e = PER_VECTOR - 1; e >= 0; e--)
            if (element_at(&x[j], e) == wanted) place = (u32)e;
        if (place_of(range, j) < behind && place < PER_VECTOR) found = place_of(range, j) * PER_VECTOR + place;
    }
    u64 index = found == NOWHERE ? NO_INDEX : (u64)r->index + found;
    if (r->head == 0 || !has_place(range, behind)) return index;
    u64 in_head = index_in_head(r, wanted);
    return in_head < index ? in_head : index;
}

static __device__ __forceinline__ void find_in_registers(const struct wf_kernel_arguments *r, const small_range *range,
                                                         const vector x[VECTORS], lane_state *lane)
{
    if (HAS_MIN) {
        lane->min_index = index_in_registers(r, range, x, lane->min_key);
        lane->min_chunk = NOWHERE;
    }
    if (HAS_MAX) {
        lane->max_index = index_in_registers(r, range, x, lane->max_key);
        lane->max_chunk = NOWHERE;
    }
}

#if USES_LEVELS
static __device__ __forceinline__ void add_registers(sums_state *sums, const small_range *range, const vector x[VECTORS],
                                                     const vector y[VECTORS], int value_levels, int product_levels)
{
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j)) add_batch(sums, &x[j], &y[j], 1, value_levels, product_levels);
}

typedef struct {
    vector x[VECTORS], y[OPERANDS == 2 ? VECTORS : 1];
} small_vectors;

// What was seen of terms of which some are 0, or that need all levels; NOT_HELD: these do not hold them.
#define NOT_HELD 0x80000000u

static __device__ __noinline__ u32 take_unplain(small_range range, small_vectors v)
{
    sums_state sums;
    const vector *y = OPERANDS == 2 ? v.y : v.x;
    field_range of_x = fields_of(v.x), of_y = OPERANDS == 2 ? fields_of(y) : of_x;
    bool is_nothing = of_x.low > of_x.high || of_y.low > of_y.high;
    if (of_x.high > 2 * BIAS || of_y.high > 2 * BIAS) return NOT_HELD; // infinities and NaNs
    if (!is_nothing) {
        int margin = margin_of(of_x, of_y);
        int high_x = high_with_margin(of_x.high, margin), high_y = high_with_margin(of_y.high, margin);
        if (USES_VALUE_LEVELS && class_of_values(high_x, of_x) == TO_BINS) return NOT_HELD;
        if (USES_PRODUCT_LEVELS && class_of_products(high_x, high_y, of_x, of_y) == TO_BINS) return NOT_HELD;
        place_levels(&sums, high_x, high_y);
        add_registers(&sums, &range, v.x, y, LEVELS, LEVELS);
        flush_levels(&sums, LEVELS, LEVELS, &block_partial);
    }
    u32 special_seen = 0;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
#pragma unroll
        for (int e = 0; e < PER_VECTOR; e++)
            if (is_there(&range, j)) special_seen |= special_of(element_at(&v.x[j], e), element_at(&y[j], e));
    }
    return PLAIN_SPECIAL && !__any_sync(ALL_LANES, special_seen & PLAIN_SPECIAL) ? NOT_HELD : PLAIN_SPECIAL;
}

// Places the levels.  Whether the lane's terms go to few of them, and none is 0.
static __device__ __forceinline__ bool place_registers(sums_state *sums, const small_range *range, const vector x[VECTORS],
                                                       const vector y[VECTORS])
{
    u32 largest[OPERANDS], smallest[OPERANDS];
    int high[OPERANDS];
#pragma unroll
    for (int i = 0; i < OPERANDS; i++) {
        smallest[i] = MAGNITUDE_MAX;
        largest[i] = largest_magnitude(i ? y : x);
        high[i] = (int)(warp_max(largest[i]) >> FIELD_SHIFT);
#pragma unroll
        for (int j = 0; j < VECTORS; j++)
            if (is_there(range, j)) note_smallest(&smallest[i], i ? &y[j] : &x[j]);
        smallest[i] = smallest_of(smallest[i]);
    }
    if (high[0] > 2 * BIAS || high[OPERANDS - 1] > 2 * BIAS) return false;
    if (IS_F16) high[0] = high[OPERANDS - 1] = 2 * BIAS; // the levels hold all
    const field_range of_x = {high[0], high[0]}, of_y = {high[OPERANDS - 1], high[OPERANDS - 1]};
    int top = top_of_values(high[0]) + (USES_PRODUCT_LEVELS ? top_of_values(high[OPERANDS - 1]) : 0);
    place_levels(sums, high[0], high[OPERANDS - 1]);
    make_usual(sums, TO_FEW, TO_FEW, of_x, of_y);
    bool are_usual = top <= LEVEL_TOP_MAX;
#pragma unroll
    for (int i = 0; i < OPERANDS; i++) are_usual = are_usual && smallest[i] && is_usual(sums, i, largest[i], smallest[i]);
    return are_usual;
}

// Adds all that the lane has in registers; false if the levels do not hold it.
static __device__ __forceinline__ bool take_registers(const struct wf_kernel_arguments *r, const small_range *range,
                                                      const vector x[VECTORS], const vector y[VECTORS], lane_state *lane)
{
    sums_state sums;
    (void)r;
    if (__all_sync(ALL_LANES, place_registers(&sums, range, x, y))) {
        add_registers(&sums, range, x, y, VALUE_FEW, PRODUCT_FEW);
        flush_levels(&sums, VALUE_FEW, PRODUCT_FEW, &block_partial);
        lane->special_seen |= PLAIN_SPECIAL;
        return true;
    }
    small_vectors v;
#pragma unroll
    for (int j = 0; j < VECTORS; j++) {
        v.x[j] = x[j];
        if (OPERANDS == 2) v.y[j] = y[j];
    }
    u32 special_seen = take_unplain(*range, v);
    if (special_seen != NOT_HELD) lane->special_seen |= special_seen;
    return special_seen != NOT_HELD;
}

#else

// Adds all that the lane has in registers; false if there are NaNs.
static __device__ __forceinline__ bool take_registers(const struct wf_kernel_arguments *r, const small_range *range,
                                                      const vector x[VECTORS], const vector y[VECTORS], lane_state *lane)
{
    segment_state segment;
    segment_clear(lane, &segment, 0);
#pragma unroll
    for (int j = 0; j < VECTORS; j++)
        if (is_there(range, j)) {
            accumulate(&segment, &x[j], &y[j]);
            if (HAS_EXTREMES) accumulate_extremes(&segment, &x[j], false);
        }
    if (LOOKS_FOR_NAN && __any_sync(ALL_LANES, has_seen_nan(&segment))) return false;
    if (HAS_EXTREMES && IS_INDEXED) note_extremes(&segment, x, 0, false);
    segment_commit(lane, &segment, &block_partial);
    if (HAS_EXTREMES && IS_INDEXED) find_in_registers(r, range, x, lane);
    return true;
}

#endif

// ---- what is rare, kept apart: all of it for a block once more

static __device__ __noinline__ void write_special_result(const struct wf_kernel_arguments *r, u32 specials)
{
    if (gridDim.x > 1) collect_blocks(r, specials);
    write_result(r);
}

static __device__ __noinline__ void reduce_slow(const struct wf_kernel_arguments *r, small_range range)
{
    slow_range whole = {range.first, range.step, VECTORS, 1, range.whole};
    slow_range ends = {NO_VECTOR, 0, 1, 1, (i64)range.whole + 1};
    u32 place = place_of_end(&range);
    lane_state lane;
    u32 specials = 0;
    clear_block_digits();
    __syncthreads();
    lane_clear(&lane);
    accumulate_slow(r, &lane, whole);
    if (place != NOWHERE) ends.first = number_of(r, &range, place);
    if (__any_sync(ALL_LANES, place != NOWHERE)) accumulate_slow(r, &lane, ends);
    merge_warps(&lane);
    if (warp_number() == 0 && (gridDim.x == 1 || merge_blocks(r, has_special(), &specials)))
        write_special_result(r, specials);
}

// ---- the block

// Merges the parts of all warps, one in each lane; called by the first warp.
static __device__ __forceinline__ void merge_plain(const struct wf_kernel_arguments *r, lane_state *lane)
{
    u32 specials = 0;
    lane_clear(lane);
    if (lane_number() < BLOCK / 32) get_merged(lane, lane_number());
    merge_lanes(lane);
    if (lane_number() == 0) {
        put_partial(lane);
        if (IS_FLOAT && !CAN_BE_DIRECT) put_plain();
    }
    __syncwarp();
    if (gridDim.x > 1 && !merge_blocks(r, false, &specials)) return;
#ifdef FINISH_OP
    if (CAN_BE_DIRECT && specials == 0) {
        if (gridDim.x > 1) collect_blocks(r, 0);
        finish_directly(r);
        return;
    }
#endif
    if (IS_FLOAT && CAN_BE_DIRECT && lane_number() == 0) put_plain();
    __syncwarp();
    write_special_result(r, specials);
}

// Loads the arguments that the end of the kernel needs while the elements are still being loaded.
static __device__ __forceinline__ void need_soon(const struct wf_kernel_arguments *r)
{
    asm volatile("" ::"r"(r->head | r->tail), "l"(r->working), "l"(r->ticket), "l"(r->value));
}

static __device__ __forceinline__ void reduce_small(const struct wf_kernel_arguments *r)
{
    u32 whole = (u32)r->vectors, ends = (r->head != 0) + (r->tail != 0);
    small_range range = {blockIdx.x * BLOCK + threadIdx.x, gridDim.x * BLOCK, whole, whole + ends};
    bool is_special = range.end == 0 || (ends && !CAN_BE_PADDED);
    vector x[VECTORS], y[VECTORS];
    lane_state lane;
    load_small(r, &range, false, x);
    if (OPERANDS == 2) load_small(r, &range, true, y);
    lane_clear(&lane);
    clear_block_digits();
    need_soon(r);
    if (HAS_SUMS) __syncthreads();
    if (range.first - lane_number() < range.end && !take_registers(r, &range, x, OPERANDS == 2 ? y : x, &lane))
        is_special = true;
    merge_lanes(&lane);
    if (lane_number() == 0) put_merged(&lane, warp_number());
    if (__syncthreads_or(is_special))
        reduce_slow(r, range);
    else if (warp_number() == 0)
        merge_plain(r, &lane);
}

#endif
