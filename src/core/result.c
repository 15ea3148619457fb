/* An accumulator's result: its parts as they are finished, and in words why there is none. */
#include "core/accumulator.h"
#include "core/environment.h"

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

/* The only arithmetic on floats here. */
static struct wf_number number_of_tree(const struct wf_product *product) {
    wf_environment callers = wf_environment_enter();
    struct wf_number number = wf_product_of_tree(product);
    wf_environment_leave(callers);
    return number;
}

static struct wf_number number_of_product(const struct wf_accumulator *acc) {
    const struct wf_product *product = &acc->product;
    if (acc->uses_tree) return number_of_tree(product);
    if (product->overflow) return wf_number_infinite(product->negative);
    return wf_number_make(product->negative, product->magnitude, 0, false);
}

/* Where the sums of an op's parts are made into totals.  No op needs more than two. */
struct totals {
    struct wf_total sum, products;
};

/* Field by field, only what op needs: reductions of small arrays feel it. */
static void find_parts(const struct wf_accumulator *acc, wf_op op, struct totals *totals, struct wf_parts *parts) {
    unsigned needs = wf_op_parts(op);
    parts->type = acc->type;
    parts->nan = acc->nan;
    parts->ddof = acc->ddof;
    parts->index_count = acc->end_index - acc->first_index;
    parts->count = acc->count;
    parts->nan_count = acc->nan_count;
    parts->first_nan = acc->first_nan;
    parts->saw = acc->saw;
    parts->nonzero = acc->nonzero;
    parts->min = &acc->min;
    parts->max = &acc->max;
    parts->sum = parts->abs = &totals->sum;
    parts->products = &totals->products;
    if (needs & WF_PART_SUM) wf_total_of_exact(parts->sum, &acc->sum);
    if (needs & WF_PART_ABS) wf_total_of_exact(parts->abs, &acc->abs);
    if (needs & (WF_PART_SQUARES | WF_PART_DOT)) wf_total_of_exact(parts->products, &acc->products);
    if (needs & WF_PART_BITS) {
        parts->bits_and = acc->bits_and;
        parts->bits_or = acc->bits_or;
        parts->bits_xor = acc->bits_xor;
    }
    if (needs & WF_PART_PRODUCT) {
        parts->product = number_of_product(acc);
        parts->product_has_zero = acc->product.has_zero;
        parts->product_has_infinity = acc->product.has_infinity;
    }
}

static wf_error explain(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_error error) {
    const char *name = wf_op_name(op);
    long long count = acc->count - (acc->nan == WF_NAN_OMIT ? acc->nan_count : 0);
    if (error == WF_ERROR_NAN) return wf_fail(handle, error, "NaN at index %lld", (long long)acc->first_nan);
    if (error == WF_ERROR_MERGE)
        return wf_fail(handle, error,
                       "%s: several of the merged elements have the same index; give each accumulator its own "
                       "first index",
                       name);
    if (count == 0) return wf_fail(handle, error, "%s of no elements has no value", name);
    return wf_fail(handle, error, "%s of %lld element%s with ddof %lld has no value", name, count,
                   count == 1 ? "" : "s", (long long)acc->ddof);
}

static wf_error out_of_range(wf_handle *handle, const struct wf_accumulator *acc, wf_op op,
                             const struct wf_number *number, wf_type type) {
    char text[64] = "beyond 2^64 in magnitude";
    wf_value nearest;
    bool saturated = number->kind == WF_NUMBER_INFINITE && !wf_type_is_float(acc->type);
    if (!saturated && wf_number_round(number, WF_F64, &nearest))
        wf_value_format(&nearest, 0, text, sizeof text);
    return wf_fail(handle, WF_ERROR_RANGE, "%s is %s%s, which does not fit in %s; ask for another result type",
                   wf_op_name(op), number->kind == WF_NUMBER_FINITE ? "about " : "", text, wf_type_name(type));
}

wf_error wf_accumulator_finish(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_value *result) {
    wf_error error = check_op(handle, acc, op);
    if (error) return error;
    struct totals totals;
    struct wf_number number;
    struct wf_parts parts;
    find_parts(acc, op, &totals, &parts);
    bool as_asked = acc->result_type && (wf_op_gives_value(op) || op == acc->op);
    wf_type type = as_asked ? acc->result_type : wf_op_result_type(op, acc->type);
    error = wf_parts_finish(&parts, op, type, &number, result);
    if (error == WF_ERROR_RANGE) return out_of_range(handle, acc, op, &number, type);
    if (error) return explain(handle, acc, op, error);
    return WF_OK;
}
