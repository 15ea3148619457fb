// Finishing a reduction where it ran, by the CPU's own code.  Include it first: it brings the C types.
//
// NVRTC's options: -default-device, --device-int128.  Where the settings' op, type and result_type are constants,
// only the code that they need is compiled.

#ifndef FINISH_CUH
#define FINISH_CUH

#include "core/portable.h"
#include "warpfold.h"
#include "core/types.c"
#include "core/ops.c"
#include "core/number.c"
#include "core/big.c"
#include "core/finish.c"
#include "gathered.h"

// As wf_accumulator has them.
struct finish_settings {
    long long count; // NaNs included
    long long first_index, end_index;
    long long ddof;
    int op, type, result_type, nan; // result_type WF_TYPE_DEFAULT: the op's
};

// ---- totals

#define FINISH_LANES 0xffffffffu
#define FINISH_ROWS_MAX ((WF_GATHERED_PRODUCTS_DIGITS + 31) / 32)

// The value of the lane below; of lane 0, that of the last lane in the row before, whose result last still is.
static uint32_t from_below(uint32_t value, uint32_t *last)
{
    int lane = threadIdx.x % 32;
    uint32_t rotated = __shfl_sync(FINISH_LANES, value, (lane + 31) % 32);
    uint32_t below = lane ? rotated : *last;
    *last = rotated;
    return below;
}

// Digits 32 * row + lane as limbs of two's complement, but for carries of 1 that are still to move: sums are at
// most 2^32 + 1.  Each limb borrows 2^32 from the next, so that none is negative on the way.
static void sum_digits(const unsigned long long *digits, int digit_count, int rows, uint64_t *sum)
{
    uint32_t last_high = 0, last_carry = 0;
#pragma unroll
    for (int row = 0; row < rows; row++) {
        int i = 32 * row + threadIdx.x % 32;
        uint64_t digit = i < digit_count ? digits[i] : 0;
        int32_t high = (int32_t)from_below((uint32_t)(digit >> 32), &last_high);
        uint64_t parts = (uint32_t)digit + (UINT64_C(1) << 32) - (i > 0) + (uint64_t)(int64_t)high;
        uint32_t carry = from_below((uint32_t)(parts >> 32), &last_carry);
        sum[row] = (uint64_t)(uint32_t)parts + carry;
    }
}

// Moves all carries at once: among the lanes' bits, an addition carries as among their limbs.
static void move_carries(int rows, const uint64_t *sum, uint32_t *limb)
{
    uint32_t carry = 0;
#pragma unroll
    for (int row = 0; row < rows; row++) {
        uint32_t generates = __ballot_sync(FINISH_LANES, sum[row] >> 32 != 0);
        uint32_t propagates = __ballot_sync(FINISH_LANES, sum[row] == 0xffffffff);
        uint64_t carries = (uint64_t)(generates | propagates) + generates + carry;
        limb[row] = (uint32_t)sum[row] + (((uint32_t)carries ^ propagates) >> threadIdx.x % 32 & 1);
        carry = (uint32_t)(carries >> 32);
    }
}

// The first limb that is not 0.
static int find_lowest(int rows, const uint32_t *limb)
{
    int lowest = 0;
#pragma unroll
    for (int row = rows - 1; row >= 0; row--) {
        uint32_t nonzero = __ballot_sync(FINISH_LANES, limb[row] != 0);
        if (nonzero) lowest = 32 * row + __ffs((int)nonzero) - 1;
    }
    return lowest;
}

// What wf_total_of_exact does, by a warp: lane holds limb 32 * row + lane of each row.
static void total_of_digits(struct wf_total *total, const unsigned long long *digits, int low, int high)
{
    const int digit_count = wf_exact_digit_count(low, high), rows = (digit_count + 31) / 32;
    uint64_t sum[FINISH_ROWS_MAX];
    uint32_t limb[FINISH_ROWS_MAX];
    sum_digits(digits, digit_count, rows, sum);
    move_carries(rows, sum, limb);
    bool negative = __shfl_sync(FINISH_LANES, limb[rows - 1], 31) >> 31;
    int lowest = find_lowest(rows, limb), count = 0;
#pragma unroll
    for (int row = 0; row < rows; row++) {
        int i = 32 * row + threadIdx.x % 32;
        uint32_t magnitude = negative ? ~limb[row] + (i <= lowest) : limb[row];
        uint32_t nonzero = __ballot_sync(FINISH_LANES, magnitude != 0);
        if (nonzero) count = 32 * row + 32 - __clz((int)nonzero);
        total->magnitude.limb[i] = magnitude;
    }
    __syncwarp();
    if (threadIdx.x % 32) return;
    total->negative = negative;
    total->exponent = low;
    total->magnitude.count = count;
    total->magnitude.lowest = lowest;
}

// ---- the parts

static struct wf_extreme extreme_of(unsigned long long key, unsigned long long index)
{
    struct wf_extreme extreme = {(int64_t)(key ^ UINT64_C(1) << 63), (int64_t)index};
    return extreme;
}

static struct wf_number number_of_product(const struct wf_gathered *gathered)
{
    bool negative = (gathered->product_flags & WF_GATHERED_NEGATIVE) != 0;
    if (gathered->product_flags & WF_GATHERED_OVERFLOW) return wf_number_infinite(negative);
    return wf_number_make(negative, gathered->product_magnitude, 0, false);
}

// All but the totals and extremes, which are somewhere.
static void find_parts(const struct wf_gathered *gathered, const struct finish_settings *settings,
                       struct wf_parts *parts)
{
    parts->type = (wf_type)settings->type;
    parts->nan = (wf_nan)settings->nan;
    parts->ddof = settings->ddof;
    parts->index_count = settings->end_index - settings->first_index;
    parts->count = settings->count;
    parts->nan_count = wf_type_is_float(parts->type) ? (int64_t)gathered->nan_count : 0;
    parts->first_nan = (int64_t)gathered->first_nan;
    parts->saw = (unsigned)gathered->saw;
    parts->nonzero = (int64_t)gathered->nonzero;
    parts->bits_and = gathered->bits_and;
    parts->bits_or = gathered->bits_or;
    parts->bits_xor = gathered->bits_xor;
    parts->product = number_of_product(gathered);
    parts->product_has_zero = (gathered->product_flags & WF_GATHERED_ZERO) != 0;
    parts->product_has_infinity = false;
}

// ---- the result

// Products are of integers, as integers: the others are a tree.
static bool is_supported(wf_op op, wf_type type, wf_type result_type)
{
    if (op == WF_PROD && (wf_type_is_float(type) || wf_type_is_float(result_type))) return false;
    return wf_op_result_type(op, type) != WF_TYPE_DEFAULT;
}

static wf_value failed_value(wf_type type)
{
    wf_value value = {type, {0}};
    struct wf_number nan = wf_number_nan();
    if (wf_type_is_float(type)) wf_number_round(&nan, type, &value);
    return value;
}

static wf_device_value finish_parts(const struct wf_parts *parts, wf_op op, wf_type result_type)
{
    wf_device_value finished = {{WF_TYPE_DEFAULT, {0}}, WF_ERROR_UNSUPPORTED, 0};
    struct wf_number number;
    if (is_supported(op, parts->type, result_type))
        finished.status = wf_parts_finish(parts, op, result_type, &number, &finished.value);
    if (finished.status) finished.value = failed_value(result_type);
    return finished;
}

// By all lanes of one warp, of one warp of a block at a time (blocks of one dimension).  gathered lies in shared or
// global memory, what the op needs is set, and nobody changes it meanwhile.  result: aligned to 8 bytes.
static void finish(const struct wf_gathered *gathered, struct finish_settings settings, wf_device_value *result)
{
    __shared__ struct wf_total sum, products;
    wf_op op = (wf_op)settings.op;
    wf_type type = (wf_type)settings.type;
    wf_type result_type = settings.result_type ? (wf_type)settings.result_type : wf_op_result_type(op, type);
    int low = wf_type_low_exponent(type), high = wf_type_high_exponent(type);
    unsigned needs = wf_op_parts(op);

    struct wf_parts parts; // first, so that all is on its way here at once
    struct wf_extreme min = extreme_of(gathered->min_key, gathered->min_index);
    struct wf_extreme max = extreme_of(gathered->max_key, gathered->max_index);
    find_parts(gathered, &settings, &parts);
    parts.min = &min;
    parts.max = &max;
    parts.sum = parts.abs = &sum;
    parts.products = &products;
    if (needs & WF_PART_SUM) total_of_digits(&sum, gathered->sum, low, high);
    if (needs & WF_PART_ABS) total_of_digits(&sum, gathered->abs, low, high);
    if (needs & (WF_PART_SQUARES | WF_PART_DOT)) total_of_digits(&products, gathered->products, 2 * low, 2 * high);
    if (threadIdx.x % 32 == 0) *result = finish_parts(&parts, op, result_type);
    __syncwarp();
}

#endif
