// Finishing a reduction where it ran, by the CPU's own code.
//
// NVRTC's options: -default-device, --device-int128.  Where the settings' op, type and result_type are constants,
// only the code that they need is compiled.

#ifndef FINISH_CUH
#define FINISH_CUH

#include "core/portable.h"
#include "warpfold.h"
#include "kernels/big.cuh"
#include "core/finish.c"
#include "core/losses.h"
#include "core/partial_words.h"

// The settings of a reduction, as in wf_accumulator.
struct finish_settings {
    long long count; // NaNs included
    long long first_index, end_index;
    long long ddof;
    int op, type, result_type, nan; // result_type WF_TYPE_DEFAULT: the op's
};

// ---- totals

#define FINISH_LANES 0xffffffffu
#define FINISH_ROWS_MAX ((2 * WF_SUM_DIGITS + 31) / 32) // of a variance's numerator, which is the longest
static_assert(2 * WF_SUM_DIGITS >= WF_PRODUCT_SUM_DIGITS + 2, "a sum of squares times a factor is not longer");

// The value of the lane below; of lane 0, that of the last lane in the row before, whose result last still is.
static uint32_t from_below(uint32_t value, uint32_t *last)
{
    int lane = threadIdx.x % 32;
    uint32_t rotated = __shfl_sync(FINISH_LANES, value, (lane + 31) % 32);
    uint32_t below = lane ? rotated : *last;
    *last = rotated;
    return below;
}

// Digits 32 * row + lane as limbs of two's complement, except for carries of 1 that are still to move: sums are at
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

// Keeps a number of which lane holds limb 32 * row + lane of each row.
static void keep_big(struct wf_big *big, int rows, const uint32_t *limb, int lowest)
{
    int count = 0;
#pragma unroll
    for (int row = 0; row < rows; row++) {
        uint32_t nonzero = __ballot_sync(FINISH_LANES, limb[row] != 0);
        if (nonzero) count = 32 * row + 32 - __clz((int)nonzero);
        big->limb[32 * row + threadIdx.x % 32] = limb[row];
    }
    __syncwarp();
    if (threadIdx.x % 32) return;
    big->count = count;
    big->lowest = lowest;
}

// An end of what sums may be that lack something (core/losses.h): in which a variance has most or least of its squares, and the
// other way round of its sum.
struct finish_end {
    struct wf_bound sum, products;
    bool is_most;
};

// Adds a bound to a natural number, in units of 2^low, or subtracts it; returns whether that is a natural number.
static bool move_limbs(int rows, uint32_t *limb, const struct wf_bound *bound, int low, bool is_most)
{
    const int distance = bound->exponent - low, first = distance / 32;
    const wf_u128 units = (wf_u128)bound->units << distance % 32;
    uint64_t sum[FINISH_ROWS_MAX];
    if (!bound->units) return true;
#pragma unroll
    for (int row = 0; row < rows; row++) {
        const int at = 32 * row + threadIdx.x % 32 - first;
        uint32_t part = at < 0 || at > 3 ? 0 : (uint32_t)(units >> 32 * at);
        sum[row] = limb[row] + (is_most ? part : (uint64_t)~part + (row == 0 && threadIdx.x % 32 == 0));
    }
    move_carries(rows, sum, limb);
    return !(__shfl_sync(FINISH_LANES, limb[rows - 1], 31) >> 31);
}

// What wf_total_of_exact does, by a warp.  bound: NULL, or to be added to the magnitude, or subtracted; false: that is none,
// and 0 here.
static bool total_of_digits(struct wf_total *total, const unsigned long long *digits, int low, int high,
                            const struct wf_bound *bound = NULL, bool is_most = false)
{
    const int digit_count = wf_exact_digit_count(low, high), rows = (digit_count + 31) / 32;
    uint64_t sum[FINISH_ROWS_MAX];
    uint32_t limb[FINISH_ROWS_MAX];
    sum_digits(digits, digit_count, rows, sum);
    move_carries(rows, sum, limb);
    bool negative = __shfl_sync(FINISH_LANES, limb[rows - 1], 31) >> 31;
    int lowest = find_lowest(rows, limb);
#pragma unroll
    for (int row = 0; row < rows; row++)
        if (negative) limb[row] = ~limb[row] + (32 * row + (int)(threadIdx.x % 32) <= lowest);
    bool exists = true;
    if (bound) {
        exists = move_limbs(rows, limb, bound, low, is_most);
#pragma unroll
        for (int row = 0; row < rows; row++)
            if (!exists) limb[row] = 0;
        lowest = find_lowest(rows, limb);
    }
    keep_big(&total->magnitude, rows, limb, lowest);
    if (threadIdx.x % 32) return exists;
    total->negative = negative;
    total->exponent = low;
    return exists;
}

// ---- the numerator of a variance, by a warp, a lane for a column of each row of 32

// The limbs of a sum whose columns, each low + high * 2^64, are 32 bits apart.
static void limbs_of_columns(int rows, const uint64_t *low, const uint32_t *high, uint32_t *limb)
{
    uint32_t last_middle = 0, last_high = 0, last_higher = 0, last_carry = 0;
    uint64_t sum[FINISH_ROWS_MAX];
#pragma unroll
    for (int row = 0; row < rows; row++) {
        uint64_t parts = (uint64_t)(uint32_t)low[row] + from_below((uint32_t)(low[row] >> 32), &last_middle) +
                         from_below(from_below(high[row], &last_high), &last_higher);
        sum[row] = (uint32_t)parts + (uint64_t)from_below((uint32_t)(parts >> 32), &last_carry);
    }
    move_carries(rows, sum, limb);
}

static void multiply_limbs(int rows, uint32_t *limb, uint64_t factor)
{
    uint64_t low[FINISH_ROWS_MAX];
    uint32_t high[FINISH_ROWS_MAX];
#pragma unroll
    for (int row = 0; row < rows; row++) {
        low[row] = limb[row] * factor;
        high[row] = (uint32_t)__umul64hi(limb[row], factor);
    }
    limbs_of_columns(rows, low, high, limb);
}

// a^2.  Limbs below a->lowest are not read.
static void square_limbs(int rows, uint32_t *limb, const struct wf_big *a)
{
    uint64_t low[FINISH_ROWS_MAX];
    uint32_t high[FINISH_ROWS_MAX];
#pragma unroll
    for (int row = 0; row < rows; row++) {
        int column = 32 * row + threadIdx.x % 32, first = max(a->lowest, column - a->count + 1);
        int last = min(a->count - 1, column - a->lowest);
        low[row] = high[row] = 0;
        for (int i = first; i <= last; i++) {
            uint64_t part = (uint64_t)a->limb[i] * a->limb[column - i];
            low[row] += part;
            high[row] += low[row] < part;
        }
        __syncwarp();
    }
    limbs_of_columns(rows, low, high, limb);
}

// limb -= subtrahend, which is not larger.
static void subtract_limbs(int rows, uint32_t *limb, const uint32_t *subtrahend)
{
    uint64_t sum[FINISH_ROWS_MAX];
#pragma unroll
    for (int row = 0; row < rows; row++)
        sum[row] = (uint64_t)limb[row] + (uint32_t)~subtrahend[row] + (row == 0 && threadIdx.x % 32 == 0);
    move_carries(rows, sum, limb);
}

// count * squares - sum^2.  end: NULL, or where the squares are, and the sum was moved to; false: there is none.
static bool numerator_of_digits(struct wf_total *numerator, const unsigned long long *squares, const struct wf_big *sum,
                                uint64_t count, int low, int high, const struct finish_end *end = NULL)
{
    const int digit_count = wf_exact_digit_count(2 * low, 2 * high), of_square = 2 * wf_exact_digit_count(low, high);
    const int rows = (max(digit_count + 2, of_square) + 31) / 32; // a factor of 64 bits is two limbs more
    uint64_t digit_sums[FINISH_ROWS_MAX];
    uint32_t limb[FINISH_ROWS_MAX], square[FINISH_ROWS_MAX];
    sum_digits(squares, digit_count, rows, digit_sums);
    move_carries(rows, digit_sums, limb);
    bool exists = !end || move_limbs(rows, limb, &end->products, 2 * low, end->is_most);
    multiply_limbs(rows, limb, count);
    square_limbs(rows, square, sum);
    subtract_limbs(rows, limb, square);
    if (end) exists = exists && !(__shfl_sync(FINISH_LANES, limb[rows - 1], 31) >> 31);
#pragma unroll
    for (int row = 0; row < rows; row++)
        if (!exists) limb[row] = 0;
    keep_big(&numerator->magnitude, rows, limb, find_lowest(rows, limb));
    if (threadIdx.x % 32 == 0) numerator->exponent = 2 * low;
    return exists;
}

static struct wf_number number_of_product(const struct wf_partial *partial)
{
    bool negative = (partial->product_flags & WF_PRODUCT_NEGATIVE) != 0;
    if (partial->product_flags & WF_PRODUCT_OVERFLOW) return wf_number_infinite(negative);
    return wf_number_make(negative, partial->product_magnitude, 0, false);
}

// ---- the result

// Integer products with an integer result only: products of floats are trees of factors: see trees.cu.
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

static __device__ __forceinline__ wf_error finish_value(const struct wf_finish *finish, wf_op op, wf_type result_type, wf_value *value)
{
    wf_error error = WF_ERROR_UNSUPPORTED;
    struct wf_number number;
    if (is_supported(op, finish->type, result_type)) error = wf_finish_value(finish, op, result_type, &number, value);
    if (error) *value = failed_value(result_type);
    return error;
}

// Where a result goes: an element of the result type; and its error, unless status is NULL.  Where there is no value, the bits that
// fill points to are one, unless it is NULL.
struct finish_target {
    void *value;
    int *status;
    const unsigned long long *fill;
};

static void store_result(struct finish_target target, wf_type type, uint64_t bits, wf_error error)
{
    if (error == WF_ERROR_EMPTY && target.fill) {
        bits = *target.fill;
        error = WF_OK;
    }
    switch (wf_type_table[type].nbytes) {
    case 1: *(uint8_t *)target.value = (uint8_t)bits; break;
    case 2: *(uint16_t *)target.value = (uint16_t)bits; break;
    case 4: *(uint32_t *)target.value = (uint32_t)bits; break;
    default: *(uint64_t *)target.value = bits;
    }
    if (target.status) *target.status = error;
}

// The words of a partial after its digits: of these alone a lane may have a copy of its own.
#define DIGITS_NBYTES (8 * (2 * WF_SUM_DIGITS + WF_PRODUCT_SUM_DIGITS))

typedef struct {
    uint64_t word[(sizeof(struct wf_partial) - DIGITS_NBYTES) / 8];
} partial_words;

static struct wf_partial *partial_of_words(partial_words *words)
{
    return (struct wf_partial *)((char *)words - DIGITS_NBYTES);
}

// Copies all of a partial but its digits.
static void copy_words(struct wf_partial *to, const struct wf_partial *from)
{
    to->min_key = from->min_key;
    to->max_key = from->max_key;
    to->min_index = from->min_index;
    to->max_index = from->max_index;
    to->nonzero = from->nonzero;
    to->bits_and = from->bits_and;
    to->bits_or = from->bits_or;
    to->bits_xor = from->bits_xor;
    to->nan_count = from->nan_count;
    to->first_nan = from->first_nan;
    to->special_seen = from->special_seen;
    to->product_magnitude = from->product_magnitude;
    to->product_flags = from->product_flags;
}

static __device__ __forceinline__ wf_type result_type_of(struct finish_settings settings)
{
    return settings.result_type ? (wf_type)settings.result_type : wf_op_result_type((wf_op)settings.op, (wf_type)settings.type);
}

// The bits of the result, and its error, in lane 0.  end: NULL, or at which end of what they may be the sums are taken: an
// error, too, where there is no such end.
static __device__ __forceinline__ wf_error finish_bits(const struct wf_partial *partial, struct finish_settings settings,
                                                       const struct finish_end *end, uint64_t *bits)
{
    /* Of the one thread that finishes: memory of its own would be set aside for every thread that the chip can hold. */
    __shared__ struct wf_total sum, products;
    wf_op op = (wf_op)settings.op;
    wf_type type = (wf_type)settings.type;
    wf_type result_type = result_type_of(settings);
    int low = wf_type_low_exponent(type), high = wf_type_high_exponent(type);
    unsigned needs = wf_op_parts(op);

    struct wf_partial words; // first, so that all is on its way here at once
    struct wf_finish finish;
    copy_words(&words, partial);
    finish.partial = &words;
    finish.type = type;
    finish.nan = (wf_nan)settings.nan;
    finish.ddof = settings.ddof;
    finish.count = settings.count;
    finish.index_count = settings.end_index - settings.first_index;
    finish.sum = &sum;
    finish.product_sum = &products;
    finish.square = 0;
    finish.has_numerator = op == WF_VAR || op == WF_STD;
    const struct wf_bound *of_sum = end ? &end->sum : NULL, *of_products = end ? &end->products : NULL;
    bool is_most = end && end->is_most, exists = true;
    if (needs & WF_PART_SUM) exists = total_of_digits(&sum, partial->sum, low, high, of_sum, is_most != finish.has_numerator);
    if (needs & WF_PART_ABS) exists = total_of_digits(&sum, partial->abs, low, high, of_sum, is_most);
    if (finish.has_numerator) {
        __syncwarp();
        exists = true; // of a sum that may be 0, a square
        if (!has_infinity(&finish) && !propagates_nan(&finish))
            exists = numerator_of_digits(&products, partial->product_sum, &sum.magnitude, (uint64_t)element_count(&finish), low,
                                         high, end);
    } else if (needs & (WF_PART_SQUARES | WF_PART_DOT)) {
        exists = total_of_digits(&products, partial->product_sum, 2 * low, 2 * high, of_products, is_most) && exists;
    }
    wf_error error = WF_OK;
    if (threadIdx.x % 32 == 0) {
        wf_value value;
        finish.product = number_of_product(&words);
        error = finish_value(&finish, op, result_type, &value);
        *bits = value.v.u;
    }
    __syncwarp();
    return error || exists ? error : WF_ERROR_RANGE;
}

// Called by all lanes of one warp, and by one warp of a block at a time (blocks of one dimension).  The partial is in
// shared or global memory, contains what the op needs, and must not change meanwhile.  The target is aligned.
static __device__ __forceinline__ void finish(const struct wf_partial *partial, struct finish_settings settings,
                                              struct finish_target target)
{
    uint64_t bits;
    wf_error error = finish_bits(partial, settings, NULL, &bits);
    if (threadIdx.x % 32 == 0) store_result(target, result_type_of(settings), bits, error);
}

#endif
