/* From the parts of an accumulator to the exact value of an op, and from there to the result type. */
#include "core/accumulator.h"
#include "core/big.h"

/* What a finish works on: n is the count that the op sees, omitted NaNs left out. */
struct gathered {
    const struct wf_accumulator *acc;
    int64_t n;
};

typedef wf_error finish_function(struct gathered g, struct wf_number *number);

/* ---- sums ---- */

/* The sum, as far as infinities and zeros decide it: false where the digits do. */
static bool sum_is_special(struct gathered g, const struct wf_exact *sum, struct wf_number *number) {
    unsigned both = WF_SAW_POSITIVE_INFINITY | WF_SAW_NEGATIVE_INFINITY;
    if (g.acc->saw & WF_SAW_INVALID || (g.acc->saw & both) == both)
        *number = wf_number_nan();
    else if (g.acc->saw & both)
        *number = wf_number_infinite(g.acc->saw & WF_SAW_NEGATIVE_INFINITY);
    else if ((*number = wf_exact_to_number(sum)).class == WF_NUMBER_ZERO)
        number->negative = g.n > 0 && wf_type_is_float(g.acc->type) && !(g.acc->saw & WF_SAW_BEYOND_MINUS_ZERO);
    else
        return false;
    return true;
}

static bool saw_infinity(struct gathered g) {
    return g.acc->saw & (WF_SAW_POSITIVE_INFINITY | WF_SAW_NEGATIVE_INFINITY);
}

static wf_error finish_sum(struct gathered g, struct wf_number *number) {
    sum_is_special(g, &g.acc->sum, number);
    return WF_OK;
}

static wf_error finish_dot(struct gathered g, struct wf_number *number) {
    sum_is_special(g, &g.acc->products, number);
    return WF_OK;
}

static wf_error finish_norm1(struct gathered g, struct wf_number *number) {
    *number = saw_infinity(g) ? wf_number_infinite(false) : wf_exact_to_number(&g.acc->abs);
    return WF_OK;
}

static wf_error finish_norm2(struct gathered g, struct wf_number *number) {
    struct wf_big squares;
    wf_big_of_exact(&squares, &g.acc->products);
    *number = saw_infinity(g) ? wf_number_infinite(false)
                              : wf_big_quotient_root(&squares, g.acc->products.low_exponent, 1);
    return WF_OK;
}

static wf_error finish_mean(struct gathered g, struct wf_number *number) {
    if (g.n == 0) return WF_ERROR_EMPTY;
    if (sum_is_special(g, &g.acc->sum, number)) return WF_OK;
    struct wf_big sum;
    bool negative = wf_big_of_exact(&sum, &g.acc->sum);
    *number = wf_big_quotient(&sum, g.acc->sum.low_exponent, negative, (wf_u128)g.n);
    return WF_OK;
}

/* n*S2 - S1^2, in units of 2^(2 * low exponent). */
static void spread(struct gathered g, struct wf_big *spread) {
    struct wf_big sum, square;
    wf_big_of_exact(spread, &g.acc->products);
    wf_big_multiply_u64(spread, (uint64_t)g.n);
    wf_big_of_exact(&sum, &g.acc->sum);
    wf_big_multiply(&square, &sum, &sum);
    wf_big_subtract(spread, &square);
}

static wf_error finish_spread(struct gathered g, bool root, struct wf_number *number) {
    if (g.n <= g.acc->ddof) return WF_ERROR_EMPTY;
    if (saw_infinity(g)) {
        *number = wf_number_nan();
        return WF_OK;
    }
    struct wf_big dividend;
    spread(g, &dividend);
    wf_u128 divisor = (wf_u128)g.n * (wf_u128)(g.n - g.acc->ddof);
    int32_t exponent = g.acc->products.low_exponent;
    *number = root ? wf_big_quotient_root(&dividend, exponent, divisor)
                   : wf_big_quotient(&dividend, exponent, false, divisor);
    return WF_OK;
}

static wf_error finish_var(struct gathered g, struct wf_number *number) {
    return finish_spread(g, false, number);
}

static wf_error finish_std(struct gathered g, struct wf_number *number) {
    return finish_spread(g, true, number);
}

/* ---- extremes ---- */

static struct wf_number number_of_key(const struct wf_accumulator *acc, int64_t key) {
    return wf_number_of_bits(acc->type, wf_key_to_bits(acc->type, key));
}

static wf_error finish_extreme(struct gathered g, struct wf_extreme extreme, struct wf_number *number) {
    if (g.n == 0) return WF_ERROR_EMPTY;
    *number = number_of_key(g.acc, extreme.key);
    return WF_OK;
}

static wf_error finish_min(struct gathered g, struct wf_number *number) {
    return finish_extreme(g, g.acc->min, number);
}

static wf_error finish_max(struct gathered g, struct wf_number *number) {
    return finish_extreme(g, g.acc->max, number);
}

static wf_error finish_index(struct gathered g, struct wf_extreme extreme, struct wf_number *number) {
    if (g.n == 0) return WF_ERROR_EMPTY;
    if (g.acc->count > g.acc->end_index - g.acc->first_index) return WF_ERROR_MERGE;
    bool of_nan = g.acc->nan_count && g.acc->nan == WF_NAN_PROPAGATE;
    *number = wf_number_of_u64((uint64_t)(of_nan ? g.acc->first_nan : extreme.index));
    return WF_OK;
}

static wf_error finish_argmin(struct gathered g, struct wf_number *number) {
    return finish_index(g, g.acc->min, number);
}

static wf_error finish_argmax(struct gathered g, struct wf_number *number) {
    return finish_index(g, g.acc->max, number);
}

static bool magnitude_is_less(const struct wf_number *a, const struct wf_number *b) {
    if (a->class != b->class) return a->class < b->class;
    if (a->exponent != b->exponent) return a->exponent < b->exponent;
    return a->mantissa < b->mantissa;
}

static wf_error finish_norminf(struct gathered g, struct wf_number *number) {
    *number = wf_number_zero(false);
    if (g.n == 0) return WF_OK;
    struct wf_number min = number_of_key(g.acc, g.acc->min.key);
    struct wf_number max = number_of_key(g.acc, g.acc->max.key);
    *number = magnitude_is_less(&min, &max) ? max : min;
    number->negative = false;
    return WF_OK;
}

/* ---- the rest ---- */

/* A NaN counts as nonzero, unless it is left out. */
static int64_t nonzero(struct gathered g) {
    return g.acc->nonzero - (g.acc->count - g.n);
}

static wf_error finish_any(struct gathered g, struct wf_number *number) {
    *number = wf_number_of_u64(nonzero(g) > 0);
    return WF_OK;
}

static wf_error finish_all(struct gathered g, struct wf_number *number) {
    *number = wf_number_of_u64(nonzero(g) == g.n);
    return WF_OK;
}

static wf_error finish_nonzero(struct gathered g, struct wf_number *number) {
    *number = wf_number_of_u64((uint64_t)nonzero(g));
    return WF_OK;
}

static struct wf_number number_of_low_bits(struct gathered g, uint64_t bits) {
    int width = g.acc->type == WF_BOOL ? 1 : 8 * wf_type_table[g.acc->type].nbytes;
    return wf_number_of_bits(g.acc->type, bits & (UINT64_MAX >> (64 - width)));
}

static wf_error finish_and(struct gathered g, struct wf_number *number) {
    *number = number_of_low_bits(g, g.acc->bits_and);
    return WF_OK;
}

static wf_error finish_or(struct gathered g, struct wf_number *number) {
    *number = number_of_low_bits(g, g.acc->bits_or);
    return WF_OK;
}

static wf_error finish_xor(struct gathered g, struct wf_number *number) {
    *number = number_of_low_bits(g, g.acc->bits_xor);
    return WF_OK;
}

static wf_error finish_prod(struct gathered g, struct wf_number *number) {
    const struct wf_product *product = &g.acc->product;
    if (product->has_zero && product->has_infinity)
        *number = wf_number_nan();
    else if (product->has_zero)
        *number = wf_number_zero(product->negative && wf_type_is_float(g.acc->type));
    else if (product->has_infinity || (product->overflow && !g.acc->uses_tree))
        *number = wf_number_infinite(product->negative);
    else if (g.acc->uses_tree)
        *number = wf_product_of_tree(product);
    else
        *number = wf_number_make(product->negative, product->magnitude, 0, false);
    return WF_OK;
}

static wf_error finish_stats(struct gathered g, struct wf_number *number) {
    (void)g, (void)number;
    return WF_ERROR_UNSUPPORTED;
}

/* ---- results ---- */

static finish_function *const finish_table[WF_OP_COUNT] = {
#define X(NAME, name, parts, result, finish) [WF_##NAME] = finish,
    WF_OPS(X)
#undef X
};

/* Values, as against indices, counts and truths: they are NaN where a NaN propagates. */
static bool gives_value(wf_op op) {
    return wf_op_result(op) != WF_RESULT_INDEX && wf_op_result(op) != WF_RESULT_TRUTH;
}

static wf_error check_op(wf_handle *handle, const struct wf_accumulator *acc, wf_op op) {
    unsigned parts = wf_op_parts(op);
    bool needs_index = op == WF_ARGMIN || op == WF_ARGMAX;
    if (!parts) return wf_fail(handle, WF_ERROR_ARGUMENT, "there is no op %d", (int)op);
    if (!wf_op_result_type(op, acc->type))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s has no single value; ask for its statistics one by one",
                       wf_op_name(op));
    if ((parts & acc->parts) != parts || (needs_index && !wf_accumulator_is_indexed(acc)))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "an accumulator of %s does not hold what %s needs",
                       wf_op_name(acc->op), wf_op_name(op));
    return WF_OK;
}

static wf_error explain(wf_handle *handle, struct gathered g, wf_op op, wf_error error) {
    const char *name = wf_op_name(op);
    if (error == WF_ERROR_MERGE)
        return wf_fail(handle, error,
                       "%s: several of the merged elements have the same index; give each accumulator its own "
                       "first index",
                       name);
    if (g.n == 0) return wf_fail(handle, error, "%s of no elements has no value", name);
    return wf_fail(handle, error, "%s of %lld element%s with ddof %lld has no value", name, (long long)g.n,
                   g.n == 1 ? "" : "s", (long long)g.acc->ddof);
}

static wf_error out_of_range(wf_handle *handle, const struct wf_accumulator *acc, wf_op op,
                             const struct wf_number *number, wf_type type) {
    char text[64] = "beyond 2^64 in magnitude";
    wf_value nearest;
    bool saturated = number->class == WF_NUMBER_INFINITE && !wf_type_is_float(acc->type);
    if (!saturated && wf_number_round(number, WF_F64, &nearest))
        wf_value_format(&nearest, 0, text, sizeof text);
    return wf_fail(handle, WF_ERROR_RANGE, "%s is %s%s, which does not fit in %s; ask for another result type",
                   wf_op_name(op), number->class == WF_NUMBER_FINITE ? "about " : "", text, wf_type_name(type));
}

wf_error wf_accumulator_finish(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_value *result) {
    wf_error error = check_op(handle, acc, op);
    if (error) return error;
    if (acc->nan_count && acc->nan == WF_NAN_ERROR)
        return wf_fail(handle, WF_ERROR_NAN, "NaN at index %lld", (long long)acc->first_nan);
    struct gathered g = {acc, acc->count - (acc->nan == WF_NAN_OMIT ? acc->nan_count : 0)};
    struct wf_number number;
    error = finish_table[op](g, &number);
    if (error) return explain(handle, g, op, error);
    bool value = gives_value(op);
    if (value && acc->nan_count && acc->nan == WF_NAN_PROPAGATE) number = wf_number_nan();
    bool as_asked = acc->result_type && (value || op == acc->op);
    wf_type type = as_asked ? acc->result_type : wf_op_result_type(op, acc->type);
    if (!wf_number_round(&number, type, result)) return out_of_range(handle, acc, op, &number, type);
    return WF_OK;
}
