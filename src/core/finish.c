/* From a partial to the exact value of an op, and from there to the result type.  The GPU's kernels
 * include this file (core/portable.h). */
#include "core/finish.h"

/* The kernels leave the word as it is where no element can be NaN. */
static int64_t nan_count(const struct wf_finish *of) {
    return wf_type_is_float(of->type) ? (int64_t)of->partial->nan_count : 0;
}

/* The elements that the op sees: omitted NaNs left out. */
static int64_t element_count(const struct wf_finish *of) {
    return of->count - (of->nan == WF_NAN_OMIT ? nan_count(of) : 0);
}

/* The result is a NaN, or where there is one, an index. */
static bool propagates_nan(const struct wf_finish *of) {
    return nan_count(of) && of->nan == WF_NAN_PROPAGATE;
}

/* ---- sums ---- */

/* The sum, as far as infinities and zeros decide it: false where the digits do. */
static bool sum_is_special(const struct wf_finish *of, const struct wf_total *sum, struct wf_number *number) {
    unsigned both = WF_SPECIAL_POSITIVE_INFINITY | WF_SPECIAL_NEGATIVE_INFINITY;
    if (of->partial->special_seen & WF_SPECIAL_INVALID || (of->partial->special_seen & both) == both)
        *number = wf_number_nan();
    else if (of->partial->special_seen & both)
        *number = wf_number_infinite(of->partial->special_seen & WF_SPECIAL_NEGATIVE_INFINITY);
    else if ((*number = wf_total_to_number(sum)).kind == WF_NUMBER_ZERO)
        number->negative = element_count(of) > 0 && wf_type_is_float(of->type) &&
                           !(of->partial->special_seen & WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO);
    else
        return false;
    return true;
}

static bool has_infinity(const struct wf_finish *of) {
    return of->partial->special_seen & (WF_SPECIAL_POSITIVE_INFINITY | WF_SPECIAL_NEGATIVE_INFINITY);
}

static wf_error finish_sum(const struct wf_finish *of, struct wf_number *number) {
    sum_is_special(of, of->sum, number);
    return WF_OK;
}

static wf_error finish_dot(const struct wf_finish *of, struct wf_number *number) {
    sum_is_special(of, of->product_sum, number);
    return WF_OK;
}

static wf_error finish_norm1(const struct wf_finish *of, struct wf_number *number) {
    *number = has_infinity(of) ? wf_number_infinite(false) : wf_total_to_number(of->sum);
    return WF_OK;
}

static wf_error finish_norm2(const struct wf_finish *of, struct wf_number *number) {
    const struct wf_total *squares = of->product_sum;
    *number = has_infinity(of) ? wf_number_infinite(false)
                                  : wf_big_quotient_root(&squares->magnitude, squares->exponent, 1);
    return WF_OK;
}

static wf_error finish_mean(const struct wf_finish *of, struct wf_number *number) {
    const struct wf_total *sum = of->sum;
    int64_t count = element_count(of);
    if (count == 0) return WF_ERROR_EMPTY;
    if (!sum_is_special(of, sum, number))
        *number = wf_big_quotient(&sum->magnitude, sum->exponent, sum->negative, (wf_u128)count);
    return WF_OK;
}

/* n*S2 - S1^2, in units of 2^(2 * low exponent); replaces S2. */
static void variance_numerator(struct wf_big *squares, int64_t count, const struct wf_big *square) {
    wf_big_multiply_u64(squares, (uint64_t)count);
#ifndef __CUDACC_RTC__ /* where no sum lacks anything */
    if (wf_big_compare(squares, square) < 0) *squares = *square;
#endif
    wf_big_subtract(squares, square);
}

static wf_error finish_variance(const struct wf_finish *of, bool root, struct wf_number *number) {
    int64_t count = element_count(of);
    if (count <= of->ddof) return WF_ERROR_EMPTY;
    *number = wf_number_nan();
    if (has_infinity(of) || propagates_nan(of)) return WF_OK;
    struct wf_total *squares = of->product_sum;
    if (!of->has_numerator) {
        wf_big_multiply(of->square, &of->sum->magnitude, &of->sum->magnitude);
        variance_numerator(&squares->magnitude, count, of->square);
    }
    wf_u128 divisor = (wf_u128)count * (wf_u128)(count - of->ddof);
    *number = root ? wf_big_quotient_root(&squares->magnitude, squares->exponent, divisor)
                   : wf_big_quotient(&squares->magnitude, squares->exponent, false, divisor);
    return WF_OK;
}

static wf_error finish_var(const struct wf_finish *of, struct wf_number *number) {
    return finish_variance(of, false, number);
}

static wf_error finish_std(const struct wf_finish *of, struct wf_number *number) {
    return finish_variance(of, true, number);
}

/* ---- extrema ---- */

static struct wf_number number_of_key(const struct wf_finish *of, uint64_t key) {
    return wf_number_of_bits(of->type, wf_key_to_bits(of->type, wf_order_to_key(key)));
}

static wf_error finish_extremum(const struct wf_finish *of, uint64_t key, struct wf_number *number) {
    if (element_count(of) == 0) return WF_ERROR_EMPTY;
    *number = number_of_key(of, key);
    return WF_OK;
}

static wf_error finish_min(const struct wf_finish *of, struct wf_number *number) {
    return finish_extremum(of, of->partial->min_key, number);
}

static wf_error finish_max(const struct wf_finish *of, struct wf_number *number) {
    return finish_extremum(of, of->partial->max_key, number);
}

static wf_error finish_index(const struct wf_finish *of, uint64_t index, struct wf_number *number) {
    if (element_count(of) == 0) return WF_ERROR_EMPTY;
    if (of->count > of->index_count) return WF_ERROR_MERGE;
    *number = wf_number_of_u64(propagates_nan(of) ? of->partial->first_nan : index);
    return WF_OK;
}

static wf_error finish_argmin(const struct wf_finish *of, struct wf_number *number) {
    return finish_index(of, of->partial->min_index, number);
}

static wf_error finish_argmax(const struct wf_finish *of, struct wf_number *number) {
    return finish_index(of, of->partial->max_index, number);
}

static bool magnitude_is_less(const struct wf_number *a, const struct wf_number *b) {
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->exponent != b->exponent) return a->exponent < b->exponent;
    return a->mantissa < b->mantissa;
}

static wf_error finish_norminf(const struct wf_finish *of, struct wf_number *number) {
    *number = wf_number_zero(false);
    if (element_count(of) == 0) return WF_OK;
    struct wf_number min = number_of_key(of, of->partial->min_key);
    struct wf_number max = number_of_key(of, of->partial->max_key);
    *number = magnitude_is_less(&min, &max) ? max : min;
    number->negative = false;
    return WF_OK;
}

/* ---- the rest ---- */

/* A NaN counts as nonzero, unless it is left out. */
static int64_t nonzero(const struct wf_finish *of) {
    return (int64_t)of->partial->nonzero - (of->count - element_count(of));
}

static wf_error finish_any(const struct wf_finish *of, struct wf_number *number) {
    *number = wf_number_of_u64(nonzero(of) > 0);
    return WF_OK;
}

static wf_error finish_all(const struct wf_finish *of, struct wf_number *number) {
    *number = wf_number_of_u64(nonzero(of) == element_count(of));
    return WF_OK;
}

static wf_error finish_nonzero(const struct wf_finish *of, struct wf_number *number) {
    *number = wf_number_of_u64((uint64_t)nonzero(of));
    return WF_OK;
}

static struct wf_number number_of_low_bits(const struct wf_finish *of, uint64_t bits) {
    int width = of->type == WF_BOOL ? 1 : 8 * wf_type_table[of->type].nbytes;
    return wf_number_of_bits(of->type, bits & (UINT64_MAX >> (64 - width)));
}

static wf_error finish_and(const struct wf_finish *of, struct wf_number *number) {
    *number = number_of_low_bits(of, of->partial->bits_and);
    return WF_OK;
}

static wf_error finish_or(const struct wf_finish *of, struct wf_number *number) {
    *number = number_of_low_bits(of, of->partial->bits_or);
    return WF_OK;
}

static wf_error finish_xor(const struct wf_finish *of, struct wf_number *number) {
    *number = number_of_low_bits(of, of->partial->bits_xor);
    return WF_OK;
}

static wf_error finish_prod(const struct wf_finish *of, struct wf_number *number) {
    uint64_t flags = of->partial->product_flags;
    bool has_zero = flags & WF_PRODUCT_ZERO, has_infinity = flags & WF_PRODUCT_INFINITY;
    bool negative = flags & WF_PRODUCT_NEGATIVE;
    if (has_zero && has_infinity)
        *number = wf_number_nan();
    else if (has_zero)
        *number = wf_number_zero(negative && wf_type_is_float(of->type));
    else if (has_infinity)
        *number = wf_number_infinite(negative);
    else
        *number = of->product;
    return WF_OK;
}

static wf_error finish_stats(const struct wf_finish *of, struct wf_number *number) {
    (void)of, (void)number;
    return WF_ERROR_UNSUPPORTED;
}

/* ---- results ---- */

static WF_INLINED wf_error finish_op(wf_op op, const struct wf_finish *of, struct wf_number *number) {
    switch (op) {
#define X(NAME, name, needs, result, finish)                                                                   \
    case WF_##NAME: return finish(of, number);
        WF_OPS(X)
#undef X
    case WF_OP_NONE: break;
    }
    return WF_ERROR_ARGUMENT;
}

WF_INLINED wf_error wf_finish_value(const struct wf_finish *of, wf_op op, wf_type result_type, struct wf_number *number,
                         wf_value *value) {
    if (nan_count(of) && of->nan == WF_NAN_ERROR) return WF_ERROR_NAN;
    wf_error error = finish_op(op, of, number);
    if (error) return error;
    if (wf_op_gives_value(op) && propagates_nan(of)) *number = wf_number_nan();
    return wf_number_round(number, result_type, value) ? WF_OK : WF_ERROR_RANGE;
}
