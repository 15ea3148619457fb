// What has been gathered of a group, by one lane of its team.

#ifndef GROUP_STATE_CUH
#define GROUP_STATE_CUH

#include "core/partial_words.h"
#include "kernels/element.cuh"
#include "kernels/group_levels.cuh"
#include "kernels/group_place.cuh"
#include "kernels/group_sums.cuh"
#include "kernels/integers.cuh"
#include "kernels/lane.cuh"
#include "kernels/magnitude.cuh"
#include "kernels/parts.cuh"
#include "kernels/specials.cuh"
#include "kernels/team.cuh"

// Keys that order as unsigned integers of no more than the type's width do.
#if WIDTH == 64
typedef u64 narrow_key;
#else
typedef u32 narrow_key;
#endif

typedef struct {
    narrow_key least, largest;                  // while elements are added
    u64 min_key, min_index, max_key, max_index; // then, as in struct wf_partial
    u64 nonzero;
    u64 bits_and, bits_or, bits_xor;
    u64 nan_count, first_nan;
    u64 product;
    u32 product_flags, special_seen;
    group_sum sum, product_sum; // sum: of the values, or of their magnitudes
#if USES_GROUP_LEVELS
    group_window window; // of what is not yet in the sums
#endif
} group_state;

#define WALK_STRAIGHT 0   // along one dimension
#define WALK_INDEXED 1    // along one dimension, through positions
#define WALK_FOLDED 2     // along several
#define WALK_CONTIGUOUS 3 // along one dimension, side by side

#define BATCH (WALK == WALK_CONTIGUOUS && WIDTH == 8 ? 16 : 8) // elements that a lane loads at a time

// What a lane loads, of at most 2^30 elements of a group that its team has.
typedef struct {
    unit a[BATCH], b[BATCH]; // after the last element -0
    int count;
    int first; // the number of the first element, or of the first one outside of vectors, among those
#if WALK == WALK_CONTIGUOUS
    bool is_vectors;
#endif
} group_batch;

// Which elements of the team's a lane has: every 2^log2nd one, or vector.
typedef struct {
    const struct wf_group_arguments *task;
    i64 begin; // the team's first element in the group
    int log2;
    int head, inside; // elements before the first vector, and in vectors
} group_range;

// Its sums are empty already.
static __device__ __forceinline__ void group_clear(group_state *group)
{
    group->least = ~(narrow_key)0;
    group->largest = 0;
    group->min_key = group->bits_and = ~(u64)0;
    group->max_key = group->nonzero = group->bits_or = group->bits_xor = group->nan_count = 0;
    group->min_index = group->max_index = group->first_nan = NO_INDEX;
    group->product = 1;
    group->product_flags = group->special_seen = 0;
#if USES_GROUP_LEVELS
    window_clear(&group->window);
#endif
    if (!IS_FLOAT) {
        sum_set_empty(&group->sum);
        sum_set_empty(&group->product_sum);
    }
}

// ---- elements

static __device__ __forceinline__ bool is_before(u64 key, u64 index, u64 other_key, u64 other_index)
{
    return key < other_key || (IS_INDEXED && key == other_key && index < other_index);
}

// Keys in the opposite order for maxima, by their complement.
static __device__ __forceinline__ void note_least(u64 *key, u64 *index, u64 other_key, u64 other_index)
{
    if (!is_before(other_key, other_index, *key, *index)) return;
    *key = other_key;
    *index = other_index;
}

static __device__ __forceinline__ void note_largest(u64 *key, u64 *index, u64 other_key, u64 other_index)
{
    if (!is_before(~other_key, other_index, ~*key, *index)) return;
    *key = other_key;
    *index = other_index;
}

static __device__ __forceinline__ narrow_key narrow_key_of(unit bits)
{
    if (IS_FLOAT) return (narrow_key)(unit)(bits ^ ((unit)(0 - (bits >> (WIDTH - 1))) | SIGN_BIT)); // of negative ones all bits
    return (narrow_key)(unit)(IS_SIGNED ? bits ^ SIGN_BIT : bits);
}

static __device__ __forceinline__ unit unit_of_narrow(narrow_key key)
{
    unit bits = (unit)key;
    if (IS_FLOAT) return bits & SIGN_BIT ? bits ^ SIGN_BIT : (unit)~bits;
    return IS_SIGNED ? bits ^ SIGN_BIT : bits;
}

static __device__ __forceinline__ u64 key_of_narrow(narrow_key key)
{
    return ordered(key_of(unit_of_narrow(key)));
}

// Whether indices may fall; of floats no key is that of nothing.
#define COMPARES_INDICES (IS_INDEXED && (WALK == WALK_INDEXED || WALK == WALK_CONTIGUOUS || !IS_FLOAT))

static __device__ __forceinline__ void group_add_extremes(group_state *group, unit bits, u64 index)
{
    narrow_key key = narrow_key_of(bits);
    if (HAS_MIN) {
        bool is_new = key < group->least || (COMPARES_INDICES && key == group->least && index < group->min_index);
        if (IS_INDEXED && is_new) group->min_index = index;
        group->least = min(group->least, key);
    }
    if (HAS_MAX) {
        bool is_new = key > group->largest || (COMPARES_INDICES && key == group->largest && index < group->max_index);
        if (IS_INDEXED && is_new) group->max_index = index;
        group->largest = max(group->largest, key);
    }
}

static __device__ __forceinline__ void close_extremes(group_state *group)
{
    if (HAS_MIN && !(IS_FLOAT && group->least == ~(narrow_key)0)) group->min_key = key_of_narrow(group->least);
    if (HAS_MAX && !(IS_FLOAT && group->largest == 0)) group->max_key = key_of_narrow(group->largest);
}

static __device__ __forceinline__ void group_add_bits(group_state *group, unit bits)
{
    group->bits_and &= bits;
    group->bits_or |= bits;
    group->bits_xor ^= bits;
}

// Where the element at a place of the sorted positions is.
static __device__ __forceinline__ i64 position_at(const struct wf_group_arguments *r, i64 place)
{
    return r->positions_are_wide ? (i64)((const u64 *)r->positions)[place] : (i64)((const u32 *)r->positions)[place];
}

// The number of an element among the team's.
static __device__ __forceinline__ int offset_in_batch(const group_batch *batch, const group_range *range, int k)
{
#if WALK == WALK_CONTIGUOUS
    if (batch->is_vectors) return batch->first + ((k / PER_VECTOR * PER_VECTOR) << range->log2) + k % PER_VECTOR;
    int number = batch->first + (k << range->log2);
    return number + (number < range->head ? 0 : range->inside);
#else
    return batch->first + (k << range->log2);
#endif
}

static __device__ __forceinline__ u64 index_of(const group_batch *batch, const group_range *range, int k)
{
    i64 place = range->begin + offset_in_batch(batch, range, k);
    return (u64)(range->task->first_index + (WALK == WALK_INDEXED ? position_at(range->task, place) : place));
}

// An element, or a pair, of float sums.
static __device__ __forceinline__ void group_add_terms(group_state *group, unit a, unit b)
{
    if (IS_FLOAT) group->special_seen |= special_of(a, b);
    if (IS_FLOAT && is_either_special(a, b)) return;
    if (HAS_VALUE_SUM) sum_add(&group->sum, a);
    if (HAS_PRODUCT_SUM) sum_add_product(&group->product_sum, a, OPERANDS == 2 ? b : a);
}

static __device__ __forceinline__ void group_add(group_state *group, unit a, unit b, u64 index)
{
    if (HAS_NONZERO) group->nonzero += is_nonzero(a);
    if (IS_FLOAT && is_either_nan(a, b)) {
        group->nan_count++;
        group->first_nan = min(group->first_nan, index);
        return;
    }
    if (HAS_EXTREMES) group_add_extremes(group, a, index);
    if (HAS_BITS) group_add_bits(group, a);
    if (HAS_PRODUCT) multiply_product(&group->product, &group->product_flags, a);
    if (HAS_SUMS) group_add_terms(group, a, b);
}

// ---- batches

static __device__ __forceinline__ void merge_bins(group_state *group, const team *lanes)
{
    if (lanes->log2 == 0) return;
    if (HAS_VALUE_SUM) sum_merge(&group->sum, lanes);
    if (HAS_PRODUCT_SUM) sum_merge(&group->product_sum, lanes);
}

#define IS_RARE(condition) __builtin_expect(condition, 0)

#if USES_GROUP_LEVELS

// The exponent fields of a batch's operand: of the largest magnitude, and of the smallest one but 0; 4 * BIAS if all are 0.
static __device__ __forceinline__ field_range fields_of_batch(const unit *elements)
{
    unit high = 0, low = MAGNITUDE;
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        unit magnitude = elements[k] & MAGNITUDE;
        high = max(high, magnitude);
        low = min(low, (unit)((magnitude - 1) & MAGNITUDE)); // 0 is above all others
    }
    field_range range = {max((int)(high >> FRACTION_BITS), 1), max((int)((low + 1) >> FRACTION_BITS), 1)};
    if (low == MAGNITUDE) range.low = 4 * BIAS;
    return range;
}

static __device__ __forceinline__ bool window_holds(const group_window *window, field_range x, field_range y)
{
    bool holds = x.high <= window->high[0] && x.low >= window->low[0];
    return holds && (OPERANDS == 1 || (y.high <= window->high[1] && y.low >= window->low[1]));
}

static __device__ __forceinline__ void add_to_window(group_window *window, const group_batch *batch)
{
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        double x = widen(batch->a[k]), y = OPERANDS == 2 ? widen(batch->b[k]) : x;
        if (HAS_PRODUCT_SUM) levels_add_product(&window->products, x, y);
        if (HAS_VALUE_SUM) levels_add_term(&window->values, HAS_SUM ? x : fabs(x), 0, GROUP_VALUE_LEVELS);
    }
    window->terms += BATCH;
}

// What a batch of zeros, or one with some, means to the sign of a sum.
static __device__ __forceinline__ bool is_beyond_negative_zero(const group_batch *batch)
{
    bool beyond = false;
#pragma unroll
    for (int k = 0; k < BATCH; k++)
        beyond = beyond || (OPERANDS == 2 ? is_nonzero(batch->a[k]) && is_nonzero(batch->b[k]) : batch->a[k] != SIGN_BIT);
    return beyond;
}

static __device__ __forceinline__ void drain_window(group_state *group)
{
    window_carry(&group->window);
    window_drain(&group->window, &group->sum, &group->product_sum);
}

static __device__ __forceinline__ void make_room_in_window(group_state *group)
{
    window_carry(&group->window);
    if (group->window.held > GROUP_HELD_TERMS - GROUP_LEVEL_ADDITIONS) drain_window(group);
}

// Places the windows of a team for the first batches of its lanes.  By all lanes.
static __device__ __forceinline__ void place_windows(group_state *group, const group_batch *batch, const team *lanes)
{
    int x = fields_of_batch(batch->a).high, y = OPERANDS == 2 ? fields_of_batch(batch->b).high : x;
    if (x > 2 * BIAS || y > 2 * BIAS) x = y = 1;
    for (int step = 0; step < lanes->log2; step++) {
        x = max(x, __shfl_xor_sync(ALL_LANES, x, team_delta(lanes, step)));
        y = OPERANDS == 2 ? max(y, __shfl_xor_sync(ALL_LANES, y, team_delta(lanes, step))) : x;
    }
    if (can_place(x, y)) window_place(&group->window, with_margin(x), with_margin(y));
}

// Adds a batch to the levels, which are placed again where they do not hold it; false if none would.
static __device__ __forceinline__ bool add_by_levels(group_state *group, const group_batch *batch)
{
    group_window *window = &group->window;
    field_range x = fields_of_batch(batch->a), y = OPERANDS == 2 ? fields_of_batch(batch->b) : x;
    bool is_beyond = PLAIN_SPECIAL == 0 || (OPERANDS == 1 && x.low <= x.high) || is_beyond_negative_zero(batch);
    if (IS_RARE(x.high > 2 * BIAS || y.high > 2 * BIAS || (OPERANDS == 2 && !is_beyond))) return false;
    if (is_beyond) group->special_seen |= PLAIN_SPECIAL;
    if (IS_RARE(x.low > x.high || y.low > y.high)) return true; // zeros
    if (IS_RARE(window->terms > GROUP_LEVEL_ADDITIONS - BATCH)) make_room_in_window(group);
    if (IS_RARE(!window_holds(window, x, y))) {
        drain_window(group);
        if (can_place(x.high, y.high)) window_place(window, with_margin(x.high), with_margin(y.high));
        if (!window_holds(window, x, y)) return false;
    }
    add_to_window(window, batch);
    return true;
}

// Merges the sums of a team.  By all lanes.  Gives whether they are in windows, not in bins.
static __device__ __forceinline__ bool merge_sums(group_state *group, const team *lanes)
{
    window_carry(&group->window);
    bool in_windows = (!HAS_VALUE_SUM || is_bins_empty(&group->sum)) && (!HAS_PRODUCT_SUM || is_bins_empty(&group->product_sum));
    if (__all_sync(ALL_LANES, in_windows) && are_windows_alike(&group->window, lanes)) {
        windows_merge(&group->window, lanes);
        return true;
    }
    drain_window(group);
    merge_bins(group, lanes);
    return false;
}

#else

static __device__ __forceinline__ void place_windows(group_state *group, const group_batch *batch, const team *lanes)
{
    (void)group, (void)batch, (void)lanes;
}

static __device__ __forceinline__ void drain_window(group_state *group)
{
    (void)group;
}

static __device__ __forceinline__ bool add_by_levels(group_state *group, const group_batch *batch)
{
    (void)group, (void)batch;
    return false;
}

static __device__ __forceinline__ bool merge_sums(group_state *group, const team *lanes)
{
    merge_bins(group, lanes);
    return false;
}

#endif

// Extremes alone: those of a batch are compared with the group's, whose indices matter only then.
#define TAKES_EXTREMES_OF_BATCH                                                                                          \
    (HAS_EXTREMES && !HAS_SUMS && !HAS_NONZERO && !HAS_BITS && !HAS_PRODUCT && !(IS_INDEXED && WALK == WALK_INDEXED))

// The index of the first element of a batch with this key.
static __device__ __forceinline__ u64 index_of_key(const group_batch *batch, const group_range *range, narrow_key key)
{
    int first = BATCH - 1;
#pragma unroll
    for (int k = BATCH - 2; k >= 0; k--)
        if (narrow_key_of(batch->a[k]) == key) first = k;
    return index_of(batch, range, first);
}

static __device__ __forceinline__ bool is_index_before(const group_batch *batch, const group_range *range, narrow_key key,
                                                       u64 index)
{
    return COMPARES_INDICES && index_of(batch, range, 0) < index && index_of_key(batch, range, key) < index;
}

// A whole batch; false if it has a NaN, whose keys are beyond those of infinities.
static __device__ __forceinline__ bool add_extremes_of_batch(group_state *group, const group_batch *batch,
                                                             const group_range *range)
{
    narrow_key least = ~(narrow_key)0, largest = 0;
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        narrow_key key = narrow_key_of(batch->a[k]);
        if (HAS_MIN || IS_FLOAT) least = min(least, key);
        if (HAS_MAX || IS_FLOAT) largest = max(largest, key);
    }
    if (IS_FLOAT && (least < narrow_key_of(INFINITY_BITS | SIGN_BIT) || largest > narrow_key_of(INFINITY_BITS))) return false;
    if (HAS_MIN && (least < group->least ||
                    (IS_INDEXED && least == group->least && is_index_before(batch, range, least, group->min_index)))) {
        if (IS_INDEXED) group->min_index = index_of_key(batch, range, least);
        group->least = least;
    }
    if (HAS_MAX && (largest > group->largest ||
                    (IS_INDEXED && largest == group->largest && is_index_before(batch, range, largest, group->max_index)))) {
        if (IS_INDEXED) group->max_index = index_of_key(batch, range, largest);
        group->largest = largest;
    }
    return true;
}

// Integers whose sum over a batch a word holds; after the last one are zeros.
#define IS_NARROW_SUM                                                                                                    \
    (!IS_FLOAT && WIDTH <= 32 && HAS_VALUE_SUM && !HAS_PRODUCT_SUM && !HAS_EXTREMES && !HAS_NONZERO && !HAS_BITS && !HAS_PRODUCT)

static __device__ __forceinline__ i64 integer_term(unit bits)
{
    return IS_SIGNED ? (i64)((u64)bits << (64 - WIDTH)) >> (64 - WIDTH) : (i64)bits;
}

static __device__ __forceinline__ i64 narrow_term(unit bits)
{
    return HAS_SUM ? integer_term(bits) : (i64)magnitude_of(bits);
}

static __device__ __forceinline__ void add_narrow_sum(group_state *group, const group_batch *batch)
{
    i64 sum = 0;
#pragma unroll
    for (int k = 0; k < BATCH; k++) sum += narrow_term(batch->a[k]);
#if !IS_FLOAT
    long_add(&group->sum, (u64)sum, (u64)(sum >> 63), sum >> 63);
#endif
}

// By a loop that is not unrolled, over copies in memory, so that the code that is hot stays together.
static __device__ __forceinline__ void add_one_by_one(group_state *group, const group_batch *batch, const group_range *range)
{
    unit a[BATCH], b[OPERANDS == 2 ? BATCH : 1] = {0};
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
        a[k] = batch->a[k];
        if (OPERANDS == 2) b[k] = batch->b[k];
    }
#pragma unroll 1
    for (int k = 0; k < batch->count; k++) group_add(group, a[k], b[OPERANDS == 2 ? k : 0], index_of(batch, range, k));
}

// Behind its last element a batch has the first one again, which changes no extreme.
static __device__ __forceinline__ void repeat_first(group_batch *batch)
{
#pragma unroll
    for (int k = 1; k < BATCH; k++)
        if (k >= batch->count) batch->a[k] = batch->a[0];
}

// A batch of one element or more.
static __device__ __forceinline__ void group_add_batch(group_state *group, group_batch *batch, const group_range *range)
{
    bool is_whole = batch->count == BATCH;
    if (USES_GROUP_LEVELS && add_by_levels(group, batch)) return;
    if (TAKES_EXTREMES_OF_BATCH) {
        if (!is_whole) repeat_first(batch);
        if (add_extremes_of_batch(group, batch, range)) return;
    }
    if (IS_NARROW_SUM) {
        add_narrow_sum(group, batch);
        return;
    }
    if (!IS_FLOAT && !HAS_EXTREMES && is_whole) {
#pragma unroll
        for (int k = 0; k < BATCH; k++) group_add(group, batch->a[k], batch->b[k], 0);
        return;
    }
    add_one_by_one(group, batch, range);
}

// ---- merging

static __device__ __forceinline__ void merge_products(u64 *product, u32 *flags, u64 factor, u32 of_factor)
{
    if (__umul64hi(*product, factor)) *flags |= WF_PRODUCT_OVERFLOW;
    *product *= factor;
    *flags |= of_factor & ~(u32)WF_PRODUCT_NEGATIVE;
    *flags ^= of_factor & WF_PRODUCT_NEGATIVE;
}

static __device__ __forceinline__ void merge_extremes_with(group_state *group, u32 delta)
{
    if (HAS_MIN)
        note_least(&group->min_key, &group->min_index, from_other(group->min_key, delta),
                   IS_INDEXED ? from_other(group->min_index, delta) : NO_INDEX);
    if (HAS_MAX)
        note_largest(&group->max_key, &group->max_index, from_other(group->max_key, delta),
                     IS_INDEXED ? from_other(group->max_index, delta) : NO_INDEX);
}

// All but the sums, with the lane that differs in the bit.
static __device__ __forceinline__ void merge_with(group_state *group, u32 delta)
{
    merge_extremes_with(group, delta);
    if (HAS_NONZERO) group->nonzero += from_other(group->nonzero, delta);
    if (HAS_BITS) {
        group->bits_and &= from_other(group->bits_and, delta);
        group->bits_or |= from_other(group->bits_or, delta);
        group->bits_xor ^= from_other(group->bits_xor, delta);
    }
    if (HAS_PRODUCT)
        merge_products(&group->product, &group->product_flags, from_other(group->product, delta),
                       __shfl_xor_sync(ALL_LANES, group->product_flags, delta));
    if (!IS_FLOAT) return;
    if (HAS_SUMS) group->special_seen |= __shfl_xor_sync(ALL_LANES, group->special_seen, delta);
    group->nan_count += from_other(group->nan_count, delta);
    group->first_nan = min(group->first_nan, from_other(group->first_nan, delta));
}

// Merges what a team's lanes have; the first of them has it then.  Gives whether its sums are in its window, not in bins.
static __device__ __forceinline__ bool group_merge(group_state *group, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) merge_with(group, team_delta(lanes, step));
    return merge_sums(group, lanes);
}

// ---- slots, where pieces of one group are merged

static __device__ __forceinline__ void slot_clear(struct wf_group_slot *slot, u64 result, u64 count)
{
    struct wf_partial *partial = &slot->partial;
    for (int i = 0; HAS_VALUE_SUM && i < VALUE_DIGITS; i++) partial->sum[i] = 0;
    for (int i = 0; HAS_PRODUCT_SUM && i < PRODUCT_DIGITS; i++) partial->product_sum[i] = 0;
    partial->min_key = partial->bits_and = ~(u64)0;
    partial->max_key = partial->nonzero = partial->bits_or = partial->bits_xor = partial->nan_count = 0;
    partial->min_index = partial->max_index = partial->first_nan = NO_INDEX;
    partial->product_magnitude = 1;
    partial->product_flags = partial->special_seen = 0;
    slot->lock = 0;
    slot->result = (i64)result;
    slot->count = (i64)count;
}

// Whether the group has a better key than the slot, or the same at a smaller index.  What is read may be old, but not wrong:
// there are better keys later, and an index is never that of an earlier key (put_extreme).
static __device__ __forceinline__ bool has_news(const volatile struct wf_partial *known, const group_state *group)
{
    u64 key = HAS_MIN ? known->min_key : ~known->max_key;
    __threadfence();
    u64 index = HAS_MIN ? known->min_index : known->max_index;
    return HAS_MIN ? is_before(group->min_key, group->min_index, key, index)
                   : is_before(~group->max_key, group->max_index, key, index);
}

static __device__ __forceinline__ void put_extreme(volatile u64 *key, volatile u64 *index, u64 new_key, u64 new_index)
{
    *index = NO_INDEX;
    __threadfence();
    *key = new_key;
    __threadfence();
    *index = new_index;
}

// A key and its index are two words, so lanes take turns, as far as they have something better than what is there.
static __device__ __forceinline__ void publish_extremes(struct wf_group_slot *slot, const group_state *group)
{
    volatile struct wf_partial *known = &slot->partial;
    if (!IS_INDEXED) {
        if (HAS_MIN) atomicMin((u64 *)&known->min_key, group->min_key);
        if (HAS_MAX) atomicMax((u64 *)&known->max_key, group->max_key);
        return;
    }
    do {
        if (!has_news(known, group)) return;
    } while (atomicCAS(&slot->lock, 0, 1));
    __threadfence();
    if (has_news(known, group)) {
        if (HAS_MIN) put_extreme(&known->min_key, &known->min_index, group->min_key, group->min_index);
        if (HAS_MAX) put_extreme(&known->max_key, &known->max_index, group->max_key, group->max_index);
    }
    __threadfence();
    atomicExch(&slot->lock, 0);
}

// By the first lane of a team.  Empties the sums.
static __device__ __forceinline__ void group_publish(struct wf_group_slot *slot, group_state *group)
{
    struct wf_partial *partial = &slot->partial;
    if (HAS_VALUE_SUM) sum_publish(&group->sum, partial->sum);
    if (HAS_PRODUCT_SUM) sum_publish(&group->product_sum, partial->product_sum);
    if (HAS_EXTREMES) publish_extremes(slot, group);
    publish_part(&partial->nonzero, group->nonzero);
    if (HAS_BITS) {
        atomicAnd(&partial->bits_and, group->bits_and);
        atomicOr(&partial->bits_or, group->bits_or);
        atomicXor(&partial->bits_xor, group->bits_xor);
    }
    if (HAS_PRODUCT) publish_product(partial, group->product, group->product_flags);
    if (group->special_seen) atomicOr(&partial->special_seen, (u64)group->special_seen);
    if (group->nan_count == 0) return;
    atomicAdd(&partial->nan_count, group->nan_count);
    atomicMin(&partial->first_nan, group->first_nan);
}

static __device__ __forceinline__ void group_of_slot(group_state *group, const struct wf_partial *partial)
{
    group->min_key = partial->min_key;
    group->min_index = partial->min_index;
    group->max_key = partial->max_key;
    group->max_index = partial->max_index;
    group->nonzero = partial->nonzero;
    group->bits_and = partial->bits_and;
    group->bits_or = partial->bits_or;
    group->bits_xor = partial->bits_xor;
    group->nan_count = partial->nan_count;
    group->first_nan = partial->first_nan;
    group->product = partial->product_magnitude;
    group->product_flags = (u32)partial->product_flags;
    group->special_seen = (u32)partial->special_seen;
}

#endif
