// The results of groups, which each lane makes of its own by the CPU's code.

#ifndef GROUP_FINISH_CUH
#define GROUP_FINISH_CUH

#include "group_arguments.h"
#include "core/small_finish.c"
#include "kernels/direct.cuh"
#include "kernels/finish.cuh"
#include "kernels/group_state.cuh"

#ifdef FINISH_OP

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
    finish->has_numerator = false;
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

static __device__ __forceinline__ struct wf_partial *set_words(partial_words *memory, const group_state *group)
{
    struct wf_partial *words = partial_of_words(memory);
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
    return words;
}

// Writes the result of a group of `count` elements to its place, and notes why there is none.  finish: with its totals.
static __device__ __forceinline__ void write_group(const struct wf_group_arguments *task, struct wf_finish *finish,
                                                   const group_state *group, const group_place *place, i64 count)
{
    partial_words memory;
    const struct wf_partial *words = set_words(&memory, group);
    struct finish_target target = {(void *)place->result, 0};
    wf_value value;
    finish->partial = words;
    finish->type = (wf_type)FINISH_TYPE;
    finish->nan = (wf_nan)task->nan;
    finish->ddof = task->ddof;
    finish->count = finish->index_count = count;
    finish->product = number_of_product(words);
    wf_error error = finish_value(finish, (wf_op)FINISH_OP, (wf_type)FINISH_RESULT_TYPE, &value);
    if (error == WF_ERROR_EMPTY && task->has_fill) {
        value.v.u = task->fill;
        error = WF_OK;
    }
    store_result(target, (wf_type)FINISH_RESULT_TYPE, value.v.u, error);
    if (error) note_failure(task, place, error);
}

// A group that one team has had whole.  Clears its bins.
static __device__ __noinline__ void finish_group(const struct wf_group_arguments *task, group_place place, group_state group,
                                                 i64 count)
{
    struct wf_finish finish;
    totals_memory memory;
    open_totals(&finish, &memory);
    take_totals(&finish, &group);
    write_group(task, &finish, &group, &place, count);
}

// ---- the plainest results, without the detour over an exact number of any kind

#define IS_PLAIN_TERM_SUM                                                                                               \
    (IS_FLOAT && (FINISH_OP == WF_SUM || FINISH_OP == WF_NORM1 || FINISH_OP == WF_DOT) && FINISH_RESULT_TYPE == FINISH_TYPE)

static __device__ __forceinline__ void store_unit(u64 address, u64 bits)
{
    struct finish_target target = {(void *)address, 0};
    store_result(target, (wf_type)FINISH_RESULT_TYPE, bits, WF_OK);
}

// An f64, rounded to f16 or f32: its bits.
static __device__ __forceinline__ u64 narrowed(double value)
{
    unsigned short half;
    if (!IS_F16) return __float_as_uint(__double2float_rn(value));
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(half) : "d"(value));
    return half;
}

#if IS_FLOAT

// Replaces the bins by the words of the sum's magnitude; gives its sign.
static __device__ __forceinline__ bool sum_to_words(group_sum *sum)
{
    wf_i128 carry = 0;
    for (int row = sum->first; row <= sum->last; row++) {
        carry += value_of_bin(sum->column[BIN_LANES * row]);
        sum->column[BIN_LANES * row].x = (u64)carry;
        carry >>= 64;
    }
    u64 sign = (u64)(carry >> 127), borrow = sign & 1;
    for (int row = sum->first; sign && row <= sum->last; row++) {
        u64 word = ~sum->column[BIN_LANES * row].x + borrow;
        borrow = borrow && word == 0;
        sum->column[BIN_LANES * row].x = word;
    }
    sum->carried = ((u64)carry ^ sign) + borrow;
    return sign != 0;
}

static __device__ __forceinline__ u64 word_of_sum(const group_sum *sum, int row)
{
    if (row == sum->last + 1) return sum->carried;
    return row < sum->first ? 0 : sum->column[BIN_LANES * row].x;
}

// A magnitude whose highest word is `high`, not 0 and a multiple of 2^exponent, followed by `next`, and below that something
// or nothing, rounded to the elements' type: see direct_float_sum.  False: below the normal numbers a bit of it is lost,
// which the core's functions round.
static __device__ __forceinline__ bool round_magnitude(u64 high, u64 next, bool is_more_below, int exponent, u64 *bits)
{
    int shift = __clzll((i64)high), field = exponent + 63 - shift + BIAS;
    u64 mantissa = shift ? high << shift | next >> (64 - shift) : high;
    bool inexact = next << shift != 0 || is_more_below;
    int drop = 63 - FRACTION_BITS + max(1 - field, 0);
    if (drop > 63) return false;
    u64 rest = mantissa << (64 - drop), half = (u64)1 << 63, kept = mantissa >> drop;
    kept += rest > half || (rest == half && (inexact || kept & 1));
    *bits = ((u64)max(field - 1, 0) << FRACTION_BITS) + kept;
    if (*bits > INFINITY_BITS) *bits = INFINITY_BITS;
    return true;
}

static __device__ __forceinline__ bool round_words(const group_sum *sum, int low, u64 *bits)
{
    int top = sum->last + 1;
    u64 below = 0;
    while (top >= sum->first && word_of_sum(sum, top) == 0) top--;
    *bits = 0;
    if (top < sum->first) return true;
    for (int row = sum->first; row < top - 1; row++) below |= sum->column[BIN_LANES * row].x;
    return round_magnitude(word_of_sum(sum, top), word_of_sum(sum, top - 1), below, low + 64 * top, bits);
}

// Makes bins of words again.
static __device__ __forceinline__ void words_to_sum(group_sum *sum, bool negative)
{
    for (int row = sum->first; row <= sum->last; row++) {
        wf_i128 value = (wf_i128)(wf_u128)sum->column[BIN_LANES * row].x;
        sum->column[BIN_LANES * row] = bin_of_value(negative ? -value : value);
    }
    if (sum->carried == 0) return;
    wf_i128 carried = (wf_i128)(wf_u128)sum->carried;
    sum->last++;
    sum->column[BIN_LANES * sum->last] = bin_of_value(negative ? -carried : carried);
}

static __device__ __forceinline__ void clear_sum(group_sum *sum)
{
    for (int row = sum->first; row <= sum->last; row++) sum->column[BIN_LANES * row] = make_ulonglong2(0, 0);
    sum_set_empty(sum);
}

static __device__ __forceinline__ void store_sum(const group_place *place, u64 bits, bool negative)
{
    store_unit(place->result, bits | (bits && negative ? (u64)SIGN_BIT : 0));
}

static __device__ __forceinline__ bool write_plain_sum(const group_place *place, group_sum *sum, int low)
{
    u64 bits;
    bool negative = sum_to_words(sum);
    if (!round_words(sum, low, &bits)) {
        words_to_sum(sum, negative);
        return false;
    }
    clear_sum(sum);
    store_sum(place, bits, negative);
    return true;
}

// 192 bits, without their lowest zeros, as a multiple of 2^*exponent, which is that of a unit so far; false if that has more
// than 128 bits.
static __device__ __forceinline__ bool strip_zeros(const u64 word[2], wf_i128 upper, wf_i128 *value, int *exponent)
{
    wf_u128 lower = (wf_u128)word[1] << 64 | word[0];
    int zeros = word[0] ? wf_trailing_zeros_u64(word[0]) : word[1] ? 64 + wf_trailing_zeros_u64(word[1]) : 128;
    *exponent += zeros;
    *value = zeros == 128 ? upper : zeros ? (wf_i128)(lower >> zeros | (wf_u128)upper << (128 - zeros)) : (wf_i128)lower;
    return zeros == 128 || upper >> zeros == *value >> 127;
}

// low: of the bins.
static __device__ __forceinline__ bool look_at_sum(const group_sum *sum, int low, wf_i128 *value, int *exponent)
{
    u64 word[3] = {0, 0, 0};
    wf_i128 carry = 0;
    *value = *exponent = 0;
    if (sum->first > sum->last) return true;
    if (sum->last - sum->first > 2) return false;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        if (sum->first + i <= sum->last) carry += value_of_bin(sum->column[BIN_LANES * (sum->first + i)]);
        word[i] = (u64)carry;
        carry >>= 64;
    }
    *exponent = low + 64 * sum->first;
    return strip_zeros(word, (wf_i128)((wf_u128)carry << 64 | word[2]), value, exponent);
}

#else

static __device__ __forceinline__ bool look_at_sum(const group_sum *sum, int low, wf_i128 *value, int *exponent)
{
    *value = (wf_i128)((wf_u128)sum->middle << 64 | sum->low);
    *exponent = low;
    return sum->high == (i64)sum->middle >> 63;
}

// Registers, which nothing reads after a result has been written.
static __device__ __forceinline__ void clear_sum(group_sum *sum)
{
    (void)sum;
}

// Of floats alone.
static __device__ __forceinline__ bool write_plain_sum(const group_place *place, group_sum *sum, int low)
{
    (void)place, (void)sum, (void)low;
    return false;
}

#endif

#if USES_GROUP_LEVELS

static __device__ __forceinline__ bool write_total(const group_place *place, level_total total)
{
    u64 sign = (u64)((i64)total.word[2] >> 63), low = total.word[0] ^ sign, middle = total.word[1] ^ sign, bits = 0;
    u64 high = total.word[2] ^ sign;
    low += sign & 1;
    middle += sign & (low == 0);
    high += sign & (low == 0 && middle == 0);
    bool fits = true;
    if (high)
        fits = round_magnitude(high, middle, low != 0, total.exponent + 128, &bits);
    else if (middle)
        fits = round_magnitude(middle, low, false, total.exponent + 64, &bits);
    else if (low)
        fits = round_magnitude(low, 0, false, total.exponent, &bits);
    if (fits) store_sum(place, bits, sign != 0);
    return fits;
}

static __device__ __forceinline__ bool write_window(const group_place *place, const group_state *group)
{
    const group_window *window = &group->window;
    return write_total(place, HAS_DOT ? total_of_levels(&window->products, GROUP_PRODUCT_LEVELS)
                                      : total_of_levels(&window->values, GROUP_VALUE_LEVELS));
}

static __device__ __forceinline__ bool look_at_levels(const group_levels *levels, int count, wf_i128 *value, int *exponent)
{
    level_total total = total_of_levels(levels, count);
    *exponent = total.exponent;
    return strip_zeros(total.word, (i64)total.word[2], value, exponent);
}

static __device__ __forceinline__ bool look_at_window(const group_state *group, struct wf_small_sums *sums)
{
    const group_window *window = &group->window;
    return look_at_levels(&window->values, GROUP_VALUE_LEVELS, &sums->sum, &sums->sum_exponent) &&
           (!HAS_SQUARES ||
            look_at_levels(&window->products, GROUP_PRODUCT_LEVELS, &sums->squares, &sums->squares_exponent));
}

#else

static __device__ __forceinline__ bool write_window(const group_place *place, const group_state *group)
{
    (void)place, (void)group;
    return false;
}

static __device__ __forceinline__ bool look_at_window(const group_state *group, struct wf_small_sums *sums)
{
    (void)group, (void)sums;
    return false;
}

#endif

// ---- means and variances whose sums have 128 bits

#define IS_SMALL_QUOTIENT (FINISH_OP == WF_MEAN || FINISH_OP == WF_VAR || FINISH_OP == WF_STD)

static __device__ __noinline__ bool write_small_quotient(const struct wf_group_arguments *task, group_place place,
                                                         struct wf_small_sums sums)
{
    struct wf_number number;
    wf_value value;
    if (!wf_small_finish((wf_op)FINISH_OP, &sums, task->ddof, &number)) return false;
    if (!wf_number_round(&number, (wf_type)FINISH_RESULT_TYPE, &value)) return false;
    store_unit(place.result, value.v.u);
    return true;
}

// Gives whether there is one that 128 bits hold.
static __device__ __forceinline__ bool look_at_sums(const group_state *group, bool in_windows, struct wf_small_sums *sums)
{
    if (USES_GROUP_LEVELS && in_windows) return look_at_window(group, sums);
    return look_at_sum(&group->sum, VALUE_LOW, &sums->sum, &sums->sum_exponent) &&
           (!HAS_SQUARES || look_at_sum(&group->product_sum, 2 * VALUE_LOW, &sums->squares, &sums->squares_exponent));
}

static __device__ __forceinline__ bool write_quotient(const struct wf_group_arguments *task, const group_place *place,
                                                      group_state *group, bool in_windows, i64 count)
{
    struct wf_small_sums sums;
    sums.squares = 0;
    sums.squares_exponent = 0;
    sums.is_minus_zero = false;
    sums.count = count;
    if (!look_at_sums(group, in_windows, &sums) || !write_small_quotient(task, *place, sums)) return false;
    clear_sum(&group->sum);
    if (HAS_SQUARES) clear_sum(&group->product_sum);
    return true;
}

// A sum of floats, unless it has to be rounded where numbers are subnormal.
static __device__ __forceinline__ bool write_float_sum(const group_place *place, group_state *group, bool in_windows)
{
    if (USES_GROUP_LEVELS && in_windows) return write_window(place, group);
    return HAS_DOT ? write_plain_sum(place, &group->product_sum, 2 * LOW_EXPONENT)
                   : write_plain_sum(place, &group->sum, LOW_EXPONENT);
}

// Writes the result if there is nothing special about it; otherwise nothing is done.
static __device__ __forceinline__ bool write_plain(const struct wf_group_arguments *task, const group_place *place,
                                                   group_state *group, bool in_windows, i64 count)
{
    const bool is_min = FINISH_OP == WF_MIN || FINISH_OP == WF_ARGMIN;
    if (count == 0 || (IS_FLOAT && group->nan_count)) return false;
    if (IS_PLAIN_EXTREME) {
        i64 key = (i64)((is_min ? group->min_key : group->max_key) ^ (u64)1 << 63);
        store_unit(place->result, (u64)bits_of_key(key));
        return true;
    }
    if (IS_PLAIN_INDEX) {
        store_unit(place->result, is_min ? group->min_index : group->max_index);
        return true;
    }
    if (IS_FLOAT && HAS_SUMS && group->special_seen != PLAIN_SPECIAL) return false;
    if (HAS_SUM && IS_SMALL_QUOTIENT) return write_quotient(task, place, group, in_windows, count);
    if (IS_PLAIN_TERM_SUM) return write_float_sum(place, group, in_windows);
#if !IS_FLOAT
    if (!IS_PLAIN_SUM) return false;
    u64 sign = IS_SIGNED ? (u64)((i64)group->sum.low >> 63) : 0;
    if (group->sum.middle != sign || (u64)group->sum.high != sign) return false;
    store_unit(place->result, group->sum.low);
    return true;
#endif
    return false;
}

#endif

#endif
