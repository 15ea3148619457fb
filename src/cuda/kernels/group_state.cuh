// What has been gathered of a group, by one lane of its team.

#ifndef GROUP_STATE_CUH
#define GROUP_STATE_CUH

#include "core/partial_words.h"
#include "group_arguments.h"
#include "kernels/element.cuh"
#include "kernels/group_sums.cuh"
#include "kernels/integers.cuh"
#include "kernels/lane.cuh"
#include "kernels/parts.cuh"
#include "kernels/specials.cuh"
#include "kernels/team.cuh"

typedef struct {
    u64 min_key, min_index, max_key, max_index; // as in struct wf_partial
    u64 nonzero;
    u64 bits_and, bits_or, bits_xor;
    u64 nan_count, first_nan;
    u64 product;
    u32 product_flags, special_seen;
    group_sum sum, product_sum; // sum: of the values, or of their magnitudes
} group_state;

// Its sums are empty already.
static __device__ __forceinline__ void group_clear(group_state *group)
{
    group->min_key = group->bits_and = ~(u64)0;
    group->max_key = group->nonzero = group->bits_or = group->bits_xor = group->nan_count = 0;
    group->min_index = group->max_index = group->first_nan = NO_INDEX;
    group->product = 1;
    group->product_flags = group->special_seen = 0;
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

static __device__ __forceinline__ void group_add_bits(group_state *group, unit bits)
{
    group->bits_and &= bits;
    group->bits_or |= bits;
    group->bits_xor ^= bits;
}

// An element, or a pair, and its index.
static __device__ __forceinline__ void group_add(group_state *group, unit a, unit b, u64 index)
{
    if (HAS_NONZERO) group->nonzero += is_nonzero(a);
    if (IS_FLOAT && is_either_nan(a, b)) {
        group->nan_count++;
        group->first_nan = min(group->first_nan, index);
        return;
    }
    if (HAS_MIN) note_least(&group->min_key, &group->min_index, ordered(key_of(a)), index);
    if (HAS_MAX) note_largest(&group->max_key, &group->max_index, ordered(key_of(a)), index);
    if (HAS_BITS) group_add_bits(group, a);
    if (HAS_PRODUCT) multiply_product(&group->product, &group->product_flags, a);
    if (IS_FLOAT && HAS_SUMS) group->special_seen |= special_of(a, b);
    if (IS_FLOAT && is_either_special(a, b)) return;
    if (HAS_VALUE_SUM) sum_add(&group->sum, a);
    if (HAS_PRODUCT_SUM) sum_add_product(&group->product_sum, a, OPERANDS == 2 ? b : a);
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

// Merges what a team's lanes have; the first of them has it then.
static __device__ __forceinline__ void group_merge(group_state *group, const team *lanes)
{
    if (lanes->log2 == 0) return;
    for (int step = 0; step < lanes->log2; step++) merge_with(group, team_delta(lanes, step));
    if (HAS_VALUE_SUM) sum_merge(&group->sum, lanes);
    if (HAS_PRODUCT_SUM) sum_merge(&group->product_sum, lanes);
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

#if HAS_EXTREMES

// A key and its index are two words, so lanes take turns.
static __device__ __forceinline__ void publish_extremes(struct wf_group_slot *slot, const group_state *group)
{
    volatile struct wf_partial *known = &slot->partial;
#if IS_INDEXED
    while (atomicCAS(&slot->lock, 0, 1)) continue;
    __threadfence();
    if (HAS_MIN && is_before(group->min_key, group->min_index, known->min_key, known->min_index)) {
        known->min_key = group->min_key;
        known->min_index = group->min_index;
    }
    if (HAS_MAX && is_before(~group->max_key, group->max_index, ~known->max_key, known->max_index)) {
        known->max_key = group->max_key;
        known->max_index = group->max_index;
    }
    __threadfence();
    atomicExch(&slot->lock, 0);
#else
    if (HAS_MIN) atomicMin((u64 *)&known->min_key, group->min_key);
    if (HAS_MAX) atomicMax((u64 *)&known->max_key, group->max_key);
#endif
}

#endif

// By the first lane of a team.  Empties the sums.
static __device__ __forceinline__ void group_publish(struct wf_group_slot *slot, group_state *group)
{
    struct wf_partial *partial = &slot->partial;
    if (HAS_VALUE_SUM) sum_publish(&group->sum, partial->sum);
    if (HAS_PRODUCT_SUM) sum_publish(&group->product_sum, partial->product_sum);
#if HAS_EXTREMES
    publish_extremes(slot, group);
#endif
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
