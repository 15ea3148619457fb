/* From the parts of a reduction to the exact value of an op, and from there to the result type.  The GPU's kernels
 * include this file (core/portable.h). */
#include "core/finish.h"

/* The elements that the op sees: omitted NaNs left out. */
static int64_t element_count(const struct wf_parts *parts) {
    return parts->count - (parts->nan == WF_NAN_OMIT ? parts->nan_count : 0);
}

/* ---- sums ---- */

/* The sum, as far as infinities and zeros decide it: false where the digits do. */
static bool sum_is_special(const struct wf_parts *parts, const struct wf_total *sum, struct wf_number *number) {
    unsigned both = WF_SAW_POSITIVE_INFINITY | WF_SAW_NEGATIVE_INFINITY;
    if (parts->saw & WF_SAW_INVALID || (parts->saw & both) == both)
        *number = wf_number_nan();
    else if (parts->saw & both)
        *number = wf_number_infinite(parts->saw & WF_SAW_NEGATIVE_INFINITY);
    else if ((*number = wf_total_to_number(sum)).kind == WF_NUMBER_ZERO)
        number->negative = element_count(parts) > 0 && wf_type_is_float(parts->type) &&
                           !(parts->saw & WF_SAW_BEYOND_MINUS_ZERO);
    else
        return false;
    return true;
}

static bool saw_infinity(const struct wf_parts *parts) {
    return parts->saw & (WF_SAW_POSITIVE_INFINITY | WF_SAW_NEGATIVE_INFINITY);
}

static wf_error finish_sum(const struct wf_parts *parts, struct wf_number *number) {
    sum_is_special(parts, parts->sum, number);
    return WF_OK;
}

static wf_error finish_dot(const struct wf_parts *parts, struct wf_number *number) {
    sum_is_special(parts, parts->products, number);
    return WF_OK;
}

static wf_error finish_norm1(const struct wf_parts *parts, struct wf_number *number) {
    *number = saw_infinity(parts) ? wf_number_infinite(false) : wf_total_to_number(parts->abs);
    return WF_OK;
}

static wf_error finish_norm2(const struct wf_parts *parts, struct wf_number *number) {
    const struct wf_total *squares = parts->products;
    *number = saw_infinity(parts) ? wf_number_infinite(false)
                                  : wf_big_quotient_root(&squares->magnitude, squares->exponent, 1);
    return WF_OK;
}

static wf_error finish_mean(const struct wf_parts *parts, struct wf_number *number) {
    const struct wf_total *sum = parts->sum;
    int64_t count = element_count(parts);
    if (count == 0) return WF_ERROR_EMPTY;
    if (!sum_is_special(parts, sum, number))
        *number = wf_big_quotient(&sum->magnitude, sum->exponent, sum->negative, (wf_u128)count);
    return WF_OK;
}

/* n*S2 - S1^2, in units of 2^(2 * low exponent), in the place of S2. */
static void spread(struct wf_big *squares, const struct wf_big *sum, int64_t count) {
    WF_SCRATCH struct wf_big square;
    wf_big_multiply(&square, sum, sum);
    wf_big_multiply_u64(squares, (uint64_t)count);
    wf_big_subtract(squares, &square);
}

static wf_error finish_spread(const struct wf_parts *parts, bool root, struct wf_number *number) {
    int64_t count = element_count(parts);
    if (count <= parts->ddof) return WF_ERROR_EMPTY;
    *number = wf_number_nan();
    if (saw_infinity(parts)) return WF_OK;
    struct wf_total *squares = parts->products;
    spread(&squares->magnitude, &parts->sum->magnitude, count);
    wf_u128 divisor = (wf_u128)count * (wf_u128)(count - parts->ddof);
    *number = root ? wf_big_quotient_root(&squares->magnitude, squares->exponent, divisor)
                   : wf_big_quotient(&squares->magnitude, squares->exponent, false, divisor);
    return WF_OK;
}

static wf_error finish_var(const struct wf_parts *parts, struct wf_number *number) {
    return finish_spread(parts, false, number);
}

static wf_error finish_std(const struct wf_parts *parts, struct wf_number *number) {
    return finish_spread(parts, true, number);
}

/* ---- extremes ---- */

static struct wf_number number_of_key(const struct wf_parts *parts, int64_t key) {
    return wf_number_of_bits(parts->type, wf_key_to_bits(parts->type, key));
}

static wf_error finish_extreme(const struct wf_parts *parts, const struct wf_extreme *extreme,
                               struct wf_number *number) {
    if (element_count(parts) == 0) return WF_ERROR_EMPTY;
    *number = number_of_key(parts, extreme->key);
    return WF_OK;
}

static wf_error finish_min(const struct wf_parts *parts, struct wf_number *number) {
    return finish_extreme(parts, parts->min, number);
}

static wf_error finish_max(const struct wf_parts *parts, struct wf_number *number) {
    return finish_extreme(parts, parts->max, number);
}

static wf_error finish_index(const struct wf_parts *parts, const struct wf_extreme *extreme,
                             struct wf_number *number) {
    if (element_count(parts) == 0) return WF_ERROR_EMPTY;
    if (parts->count > parts->index_count) return WF_ERROR_MERGE;
    bool of_nan = parts->nan_count && parts->nan == WF_NAN_PROPAGATE;
    *number = wf_number_of_u64((uint64_t)(of_nan ? parts->first_nan : extreme->index));
    return WF_OK;
}

static wf_error finish_argmin(const struct wf_parts *parts, struct wf_number *number) {
    return finish_index(parts, parts->min, number);
}

static wf_error finish_argmax(const struct wf_parts *parts, struct wf_number *number) {
    return finish_index(parts, parts->max, number);
}

static bool magnitude_is_less(const struct wf_number *a, const struct wf_number *b) {
    if (a->kind != b->kind) return a->kind < b->kind;
    if (a->exponent != b->exponent) return a->exponent < b->exponent;
    return a->mantissa < b->mantissa;
}

static wf_error finish_norminf(const struct wf_parts *parts, struct wf_number *number) {
    *number = wf_number_zero(false);
    if (element_count(parts) == 0) return WF_OK;
    struct wf_number min = number_of_key(parts, parts->min->key);
    struct wf_number max = number_of_key(parts, parts->max->key);
    *number = magnitude_is_less(&min, &max) ? max : min;
    number->negative = false;
    return WF_OK;
}

/* ---- the rest ---- */

/* A NaN counts as nonzero, unless it is left out. */
static int64_t nonzero(const struct wf_parts *parts) {
    return parts->nonzero - (parts->count - element_count(parts));
}

static wf_error finish_any(const struct wf_parts *parts, struct wf_number *number) {
    *number = wf_number_of_u64(nonzero(parts) > 0);
    return WF_OK;
}

static wf_error finish_all(const struct wf_parts *parts, struct wf_number *number) {
    *number = wf_number_of_u64(nonzero(parts) == element_count(parts));
    return WF_OK;
}

static wf_error finish_nonzero(const struct wf_parts *parts, struct wf_number *number) {
    *number = wf_number_of_u64((uint64_t)nonzero(parts));
    return WF_OK;
}

static struct wf_number number_of_low_bits(const struct wf_parts *parts, uint64_t bits) {
    int width = parts->type == WF_BOOL ? 1 : 8 * wf_type_table[parts->type].nbytes;
    return wf_number_of_bits(parts->type, bits & (UINT64_MAX >> (64 - width)));
}

static wf_error finish_and(const struct wf_parts *parts, struct wf_number *number) {
    *number = number_of_low_bits(parts, parts->bits_and);
    return WF_OK;
}

static wf_error finish_or(const struct wf_parts *parts, struct wf_number *number) {
    *number = number_of_low_bits(parts, parts->bits_or);
    return WF_OK;
}

static wf_error finish_xor(const struct wf_parts *parts, struct wf_number *number) {
    *number = number_of_low_bits(parts, parts->bits_xor);
    return WF_OK;
}

static wf_error finish_prod(const struct wf_parts *parts, struct wf_number *number) {
    bool negative = parts->product.negative;
    if (parts->product_has_zero && parts->product_has_infinity)
        *number = wf_number_nan();
    else if (parts->product_has_zero)
        *number = wf_number_zero(negative && wf_type_is_float(parts->type));
    else if (parts->product_has_infinity)
        *number = wf_number_infinite(negative);
    else
        *number = parts->product;
    return WF_OK;
}

static wf_error finish_stats(const struct wf_parts *parts, struct wf_number *number) {
    (void)parts, (void)number;
    return WF_ERROR_UNSUPPORTED;
}

/* ---- results ---- */

static wf_error finish_op(wf_op op, const struct wf_parts *parts, struct wf_number *number) {
    switch (op) {
#define X(NAME, name, needs, result, finish)                                                                   \
    case WF_##NAME: return finish(parts, number);
        WF_OPS(X)
#undef X
    case WF_OP_NONE: break;
    }
    return WF_ERROR_ARGUMENT;
}

wf_error wf_parts_finish(const struct wf_parts *parts, wf_op op, wf_type result_type, struct wf_number *number,
                         wf_value *value) {
    if (parts->nan_count && parts->nan == WF_NAN_ERROR) return WF_ERROR_NAN;
    wf_error error = finish_op(op, parts, number);
    if (error) return error;
    if (wf_op_gives_value(op) && parts->nan_count && parts->nan == WF_NAN_PROPAGATE) *number = wf_number_nan();
    return wf_number_round(number, result_type, value) ? WF_OK : WF_ERROR_RANGE;
}
