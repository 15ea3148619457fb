// The results of the plainest reductions, without the detour over an exact number of any kind: sums, and extremes, where
// there is nothing special.

#ifndef DIRECT_CUH
#define DIRECT_CUH

#ifdef FINISH_OP
#include "kernels/finish.cuh"
#endif
#include "kernels/digits.cuh"
#include "kernels/parts.cuh"
#include "arguments.h"

#ifdef FINISH_OP

#define IS_RESULT true // which infinities decide, and NaNs that are not left out, whatever else there is

static __device__ __forceinline__ bool nan_decides(const struct wf_kernel_arguments *r)
{
    return r->nan != WF_NAN_OMIT;
}

#define IS_PLAIN_SUM (FINISH_OP == WF_SUM && !IS_FLOAT && FINISH_RESULT_TYPE == (IS_SIGNED ? WF_I64 : WF_U64))
#define IS_PLAIN_FLOAT_SUM (FINISH_OP == WF_SUM && IS_FLOAT && FINISH_RESULT_TYPE == FINISH_TYPE)
#define IS_PLAIN_EXTREME ((FINISH_OP == WF_MIN || FINISH_OP == WF_MAX) && FINISH_RESULT_TYPE == FINISH_TYPE)
#define IS_PLAIN_INDEX                                                                                                   \
    ((FINISH_OP == WF_ARGMIN || FINISH_OP == WF_ARGMAX) && (FINISH_RESULT_TYPE == WF_U64 || FINISH_RESULT_TYPE == WF_I64))

// Of a small array's NaNs that are not left out, none needs a path of its own: a NaN is an extreme beyond all numbers.
#define NAN_IS_EXTREME (IS_SMALL && IS_FLOAT && (IS_PLAIN_EXTREME || IS_PLAIN_INDEX))
#define WANTS_MIN (FINISH_OP == WF_MIN || FINISH_OP == WF_ARGMIN)
#define NAN_BITS (INFINITY_BITS | (u64)1 << (FRACTION_BITS - 1)) // a result's

// Modulo 2^128, which no sum of 2^63 integers reaches.
static __device__ __forceinline__ wf_error direct_sum(u64 *result)
{
    u64 low = 0, high = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        u64 digit = block_partial.sum[i];
        u64 to_low = i < 2 ? digit << 32 * i : 0, to_high = i == 0 ? (u64)((i64)digit >> 63) :
                     i == 1 ? (u64)((i64)digit >> 32) : digit << 32 * (i - 2);
        low += to_low;
        high += to_high + (low < to_low);
    }
    *result = low;
    if (high == (IS_SIGNED ? (u64)((i64)low >> 63) : 0)) return WF_OK;
    *result = 0;
    return WF_ERROR_RANGE;
}

// The bits of a key, in the low bytes of a wf_value; signed integers fill it.
static __device__ __forceinline__ u64 direct_extreme(u64 key)
{
    i64 plain = (i64)(key ^ (u64)1 << 63);
    return IS_SIGNED ? (u64)plain : (u64)bits_of_key(plain);
}

// The digits' sum, rounded to the type: see finish.cuh and core/number.c, for the one case that has no choices but
// the sign.  Below the normal numbers it is exact: every value is a multiple of 2^LOW_EXPONENT.
static __device__ __forceinline__ u64 direct_float_sum(const u64 *digits)
{
    enum { ROWS = (VALUE_DIGITS + 31) / 32 };
    static __shared__ u32 magnitude[2 + 32 * ROWS]; // after two that are 0
    u64 sum[ROWS];
    u32 limb[ROWS];
    sum_digits(digits, VALUE_DIGITS, ROWS, sum);
    move_carries(ROWS, sum, limb);
    bool negative = __shfl_sync(ALL_LANES, limb[ROWS - 1], 31) >> 31;
    int lowest = find_lowest(ROWS, limb), top = -1;
#pragma unroll
    for (int row = 0; row < ROWS; row++) {
        int i = 32 * row + (int)lane_number();
        u32 part = negative ? ~limb[row] + (i <= lowest) : limb[row], nonzero = __ballot_sync(ALL_LANES, part != 0);
        if (nonzero) top = 32 * row + 31 - __clz((int)nonzero);
        magnitude[2 + i] = part;
    }
    if (lane_number() < 2) magnitude[lane_number()] = 0;
    __syncwarp();
    if (top < 0) return 0;
    u32 high = magnitude[top + 2], middle = magnitude[top + 1], low = magnitude[top];
    int shift = __clz((int)high), field = LOW_EXPONENT + 32 * top + 31 - shift + BIAS;
    u64 mantissa = (u64)__funnelshift_l(middle, high, shift) << 32 | __funnelshift_l(low, middle, shift);
    bool inexact = low << shift != 0 || lowest < top - 2;
    int drop = 63 - FRACTION_BITS + max(1 - field, 0);
    u64 rest = mantissa << (64 - drop), half = (u64)1 << 63, kept = mantissa >> drop;
    kept += rest > half || (rest == half && (inexact || kept & 1));
    u64 bits = ((u64)max(field - 1, 0) << FRACTION_BITS) + kept; // a carry moves into the exponent, as it should
    if (bits > INFINITY_BITS) bits = INFINITY_BITS;
    return bits | (negative ? (u64)SIGN_BIT : 0);
}

#define CAN_BE_DIRECT (IS_PLAIN_SUM || IS_PLAIN_FLOAT_SUM || IS_PLAIN_EXTREME || IS_PLAIN_INDEX)

static __device__ __forceinline__ u64 direct_key(void)
{
    return WANTS_MIN ? block_partial.min_key : block_partial.max_key;
}

// The result where there are NaNs that are not left out, or nothing else: no key of a number is that of a NaN's bits.
static __device__ __noinline__ wf_error bits_of_nans(const struct wf_kernel_arguments *r, u64 *bits)
{
    bool is_nan = direct_key() == nan_key(WANTS_MIN);
    if (!IS_PLAIN_INDEX) *bits = NAN_BITS;
    if (is_nan && r->nan == WF_NAN_PROPAGATE) return WF_OK;
    if (IS_PLAIN_INDEX) *bits = 0;
    return is_nan ? WF_ERROR_NAN : WF_ERROR_EMPTY;
}

static __device__ __forceinline__ wf_error direct_bits(const struct wf_kernel_arguments *r, u64 *bits)
{
    if (IS_PLAIN_SUM) return direct_sum(bits);
    if (IS_PLAIN_FLOAT_SUM) *bits = direct_float_sum(block_partial.sum);
    if (IS_PLAIN_EXTREME) *bits = direct_extreme(direct_key());
    if (IS_PLAIN_INDEX) *bits = WANTS_MIN ? block_partial.min_index : block_partial.max_index;
    bool is_index_of_any = IS_PLAIN_INDEX && r->nan == WF_NAN_PROPAGATE && r->count; // of a NaN, too
    if (!NAN_IS_EXTREME || is_index_of_any || !is_nan((unit)direct_extreme(direct_key()))) return WF_OK;
    return bits_of_nans(r, bits);
}

// Whether NaNs or infinities alone decide a sum, which is then in *bits.
static __device__ __forceinline__ bool special_bits(const struct wf_kernel_arguments *r, u64 *bits)
{
    if (!IS_PLAIN_FLOAT_SUM) return false;
    const u32 both = WF_SPECIAL_POSITIVE_INFINITY | WF_SPECIAL_NEGATIVE_INFINITY;
    u32 infinities = (u32)block_partial.special_seen & both;
    bool is_nan = infinities == both || block_partial.nan_count;
    if (block_partial.nan_count && r->nan != WF_NAN_PROPAGATE) return false;
    *bits = is_nan ? NAN_BITS : INFINITY_BITS | (infinities == WF_SPECIAL_NEGATIVE_INFINITY ? SIGN_BIT : 0);
    return is_nan || infinities;
}

static __device__ __forceinline__ struct finish_target target_of(const struct wf_kernel_arguments *r)
{
    struct finish_target target = {(void *)r->value, (int *)r->status, r->has_fill ? &r->fill : 0};
    return target;
}

// By the first warp, of one element or more, where CAN_BE_DIRECT and nothing is special.
static __device__ __forceinline__ void finish_directly(const struct wf_kernel_arguments *r)
{
    u64 bits = 0;
    wf_error error = direct_bits(r, &bits);
    if (lane_number()) return;
    store_result(target_of(r), (wf_type)FINISH_RESULT_TYPE, bits, error);
}

// The same where there is something special: false if that takes more.
static __device__ __forceinline__ bool finish_specially(const struct wf_kernel_arguments *r)
{
    u64 bits;
    if (!special_bits(r, &bits)) return false;
    if (lane_number() == 0) store_result(target_of(r), (wf_type)FINISH_RESULT_TYPE, bits, WF_OK);
    return true;
}

#else

#define IS_RESULT false
#define CAN_BE_DIRECT false
#define NAN_IS_EXTREME false

static __device__ __forceinline__ bool nan_decides(const struct wf_kernel_arguments *r)
{
    (void)r;
    return false;
}

#endif

#endif
