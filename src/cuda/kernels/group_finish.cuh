// The results of groups, which each lane makes of its own by the CPU's code.

#ifndef GROUP_FINISH_CUH
#define GROUP_FINISH_CUH

#include "group_arguments.h"
#include "kernels/finish.cuh"
#include "kernels/group_state.cuh"

#define NEEDS_SQUARE (HAS_SUM && HAS_SQUARES)

// Memory of as many limbs as the totals of the type can have, which are far fewer than those of any type's.
typedef struct {
    u64 sum[HAS_VALUE_SUM ? TOTAL_WORDS(GROUP_VALUE_LIMBS) : 1];
    u64 product_sum[HAS_PRODUCT_SUM ? TOTAL_WORDS(GROUP_PRODUCT_LIMBS) : 1];
    u64 square[NEEDS_SQUARE ? TOTAL_WORDS(2 * GROUP_VALUE_LIMBS) : 1];
} totals_memory;

static __device__ __forceinline__ void open_totals(struct wf_finish *finish, totals_memory *memory)
{
    finish->sum = (struct wf_total *)memory->sum;
    finish->product_sum = (struct wf_total *)memory->product_sum;
    finish->square = (struct wf_big *)memory->square;
}

static __device__ __forceinline__ void take_totals(const struct wf_finish *finish, group_state *group)
{
    int base = HAS_VALUE_SUM ? sum_first_row(&group->sum) : 0;
    if (HAS_VALUE_SUM) sum_take(&group->sum, base, VALUE_LOW, finish->sum);
    if (!HAS_PRODUCT_SUM) return;
    // Beside a sum in units of u, squares are in those of u^2.
    base = NEEDS_SQUARE ? 2 * base : sum_first_row(&group->product_sum);
    sum_take(&group->product_sum, base, 2 * VALUE_LOW, finish->product_sum);
}

static __device__ __forceinline__ void total_digits(struct wf_total *total, const u64 *digits, int low, int count)
{
    struct wf_exact exact = {(int64_t *)digits, low, count};
    wf_total_of_exact(total, exact);
}

static __device__ __forceinline__ void read_totals(const struct wf_finish *finish, const struct wf_partial *partial)
{
    if (HAS_VALUE_SUM) total_digits(finish->sum, partial->sum, VALUE_LOW, VALUE_DIGITS);
    if (HAS_PRODUCT_SUM) total_digits(finish->product_sum, partial->product_sum, 2 * VALUE_LOW, PRODUCT_DIGITS);
}

static __device__ __forceinline__ void set_words(struct wf_partial *words, const group_state *group)
{
    words->min_key = group->min_key;
    words->min_index = group->min_index;
    words->max_key = group->max_key;
    words->max_index = group->max_index;
    words->nonzero = group->nonzero;
    words->bits_and = group->bits_and;
    words->bits_or = group->bits_or;
    words->bits_xor = group->bits_xor;
    words->nan_count = group->nan_count;
    words->first_nan = group->first_nan;
    words->special_seen = group->special_seen;
    words->product_magnitude = group->product;
    words->product_flags = group->product_flags;
}

// Where a result's elements begin, and where it goes.
typedef struct {
    u64 x, y, result;
    i64 number; // of the result, in C order
    i64 group;  // which segment or key
} group_place;

// Writes the result of a group of so many elements to its place, and notes why there is none.  finish: with its totals.
static __device__ __noinline__ void write_group(const struct wf_group_arguments *task, struct wf_finish *finish,
                                                   const group_state *group, const group_place *place, i64 count)
{
    struct wf_partial words;
    struct finish_target target = {(void *)place->result, 0};
    wf_value value;
    set_words(&words, group);
    finish->partial = &words;
    finish->type = (wf_type)FINISH_TYPE;
    finish->nan = (wf_nan)task->nan;
    finish->ddof = task->ddof;
    finish->count = finish->index_count = count;
    finish->product = number_of_product(&words);
    wf_error error = finish_value(finish, (wf_op)FINISH_OP, (wf_type)FINISH_RESULT_TYPE, &value);
    if (error == WF_ERROR_EMPTY && task->has_fill) {
        value.v.u = task->fill;
        error = WF_OK;
    }
    store_result(target, (wf_type)FINISH_RESULT_TYPE, value.v.u, error);
    if (error) atomicMin((u64 *)task->failed, (u64)place->number << 8 | (u64)error);
}

#endif
