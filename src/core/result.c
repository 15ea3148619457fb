/* The result of an accumulator: finishes its partial, or explains why there is no result. */
#include "core/accumulator.h"
#include "core/environment.h"

wf_error wf_accumulator_check_op(wf_handle *handle, const struct wf_accumulator *acc, wf_op op) {
    unsigned parts = wf_op_parts(op);
    bool needs_index = op == WF_ARGMIN || op == WF_ARGMAX;
    if (!parts) return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid op %d", (int)op);
    if (wf_op_result(op) == WF_RESULT_NONE)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s has no single value; ask for its statistics one by one",
                       wf_op_name(op));
    if (acc->xor_alone && op != WF_XOR)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s is not known: this accumulator of xor holds nothing else",
                       wf_op_name(op));
    if ((parts & acc->parts) != parts || (needs_index && !wf_accumulator_is_indexed(acc)))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "an accumulator of %s does not hold what %s needs",
                       wf_op_name(acc->op), wf_op_name(op));
    return WF_OK;
}

/* The only floating-point arithmetic of this file: it needs the default rounding mode. */
static struct wf_number number_of_tree(const struct wf_tree *tree, bool negative) {
    wf_environment callers = wf_environment_enter();
    struct wf_number number = wf_tree_number(tree, negative);
    wf_environment_leave(callers);
    return number;
}

static struct wf_number number_of_product(const struct wf_accumulator *acc) {
    bool negative = acc->partial.product_flags & WF_PRODUCT_NEGATIVE;
    if (acc->tree) return number_of_tree(acc->tree, negative);
    if (acc->partial.product_flags & WF_PRODUCT_OVERFLOW) return wf_number_infinite(negative);
    return wf_number_make(negative, acc->partial.product_magnitude, 0, false);
}

static wf_error explain(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_error error) {
    const char *name = wf_op_name(op);
    long long count = acc->count - (acc->nan == WF_NAN_OMIT ? (int64_t)acc->partial.nan_count : 0);
    if (error == WF_ERROR_NAN) return wf_fail(handle, error, "NaN at index %lld", (long long)acc->partial.first_nan);
    if (error == WF_ERROR_MERGE)
        return wf_fail(handle, error,
                       "%s: the merged accumulators have overlapping indices; give each its own "
                       "first index",
                       name);
    if (count == 0) return wf_fail(handle, error, "%s of no elements is undefined", name);
    return wf_fail(handle, error, "%s of %lld element%s with ddof %lld is undefined", name, count,
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

struct totals {
    struct wf_total sum, product_sum;
    struct wf_big square;
    struct wf_finish finish;
};

/* Only of what op needs: reductions of small arrays feel it. */
static void find_totals(struct totals *of, const struct wf_accumulator *acc, wf_op op) {
    struct wf_finish *finish = &of->finish;
    unsigned needs = wf_op_parts(op);
    finish->partial = &acc->partial;
    finish->type = acc->type;
    finish->nan = acc->nan;
    finish->ddof = acc->ddof;
    finish->count = acc->count;
    finish->index_count = acc->end_index - acc->first_index;
    finish->sum = &of->sum;
    finish->product_sum = &of->product_sum;
    finish->square = &of->square;
    finish->has_numerator = false;
    if (needs & WF_PART_SUM) wf_total_of_exact(&of->sum, wf_partial_sum(&acc->partial, acc->type));
    if (needs & WF_PART_ABS) wf_total_of_exact(&of->sum, wf_partial_abs(&acc->partial, acc->type));
    if (needs & (WF_PART_SQUARES | WF_PART_DOT))
        wf_total_of_exact(&of->product_sum, wf_partial_product_sum(&acc->partial, acc->type));
    if (needs & WF_PART_PRODUCT) finish->product = number_of_product(acc);
}

/* Apart, so that messages do not take their stack on top of the totals'. */
static __attribute__((noinline)) wf_error find_value(const struct wf_accumulator *acc, wf_op op, wf_type type,
                                                     struct wf_number *number, wf_value *result) {
    struct totals totals;
    find_totals(&totals, acc, op);
    return wf_finish_value(&totals.finish, op, type, number, result);
}

/* ---- results of sums that lack something ---- */

bool wf_accumulator_may_lose(const struct wf_accumulator *acc) {
    if (!wf_type_is_float(acc->type)) return false;
    if (acc->op == WF_STATS) return wf_accumulator_result_type(acc, WF_SUM) == acc->type;
    return wf_accumulator_result_type(acc, acc->op) == acc->type && !(acc->parts & ~(unsigned)WF_PARTS_SUMS);
}

/* Moves a magnitude to an end of where it may be, and leaves out what lies below its bound; returns whether that is a
 * magnitude. */
static bool move_total(struct wf_total *total, const struct wf_bound *bound, bool is_most) {
    struct wf_big *big = &total->magnitude, by;
    if (!bound->units) return true;
    int distance = bound->exponent - total->exponent, limb = distance / 32;
    wf_u128 units = ((wf_u128)bound->units + 1) << distance % 32; /* with what is left out */
    memset(by.limb, 0, (size_t)limb * sizeof by.limb[0]);
    for (by.lowest = by.count = limb; units; units >>= 32) by.limb[by.count++] = (uint32_t)units;
    wf_big_forget(big, limb);
    if (is_most)
        wf_big_add(big, &by);
    else if (wf_big_compare(big, &by) < 0)
        return false;
    else
        wf_big_subtract(big, &by);
    return true;
}

/* Whether there are infinities or NaNs that decide the result alone. */
static bool specials_decide(const struct wf_accumulator *acc) {
    const unsigned infinite = WF_SPECIAL_POSITIVE_INFINITY | WF_SPECIAL_NEGATIVE_INFINITY | WF_SPECIAL_INVALID;
    return acc->partial.special_seen & infinite || (acc->partial.nan_count && acc->nan != WF_NAN_OMIT);
}

/* Finds the result at an end of what the sums may be: in which a variance has most or least of its squares, and the other
 * way round of its sum.  False: there is none. */
static __attribute__((noinline)) bool find_end(const struct wf_accumulator *acc, wf_op op, bool is_most, wf_value *result) {
    const bool is_variance = op == WF_VAR || op == WF_STD;
    struct totals totals;
    struct wf_number number;
    find_totals(&totals, acc, op);
    if (!specials_decide(acc)) {
        const unsigned of_products = WF_PART_SQUARES | WF_PART_DOT, needs = wf_op_parts(op);
        if (needs & of_products && !move_total(&totals.product_sum, &acc->losses->products, is_most)) return false;
        bool exists = !(needs & ~of_products) || move_total(&totals.sum, &acc->losses->sum, is_most != is_variance);
        if (!exists && !is_variance) return false;
        if (!exists) totals.sum.magnitude.count = 0;
    }
    return !wf_finish_value(&totals.finish, op, wf_accumulator_result_type(acc, op), &number, result);
}

bool wf_accumulator_finish_within(const struct wf_accumulator *acc, wf_op op, wf_value *result) {
    wf_value least, most;
    if (!find_end(acc, op, false, &least) || !find_end(acc, op, true, &most)) return false;
    *result = most;
    return memcmp(&least.v, &most.v, wf_type_table[most.type].nbytes) == 0;
}

/* By one instruction: gcc would loop over a number of bytes that it does not know, which takes thirty cycles. */
static void copy_number(void *to, const void *from, size_t nbytes) {
    switch (nbytes) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8);
    }
}

void wf_value_store(const wf_value *value, void *data) {
    const struct wf_type_traits *traits = &wf_type_table[value->type];
    const uint8_t narrow8 = (uint8_t)value->v.u;
    const uint16_t narrow16 = (uint16_t)value->v.u;
    const uint32_t narrow32 = (uint32_t)value->v.u;
    const void *bytes = &value->v;
    if (traits->kind != WF_KIND_FLOAT && traits->nbytes == 1) bytes = &narrow8;
    if (traits->kind != WF_KIND_FLOAT && traits->nbytes == 2) bytes = &narrow16;
    if (traits->kind != WF_KIND_FLOAT && traits->nbytes == 4) bytes = &narrow32;
    copy_number(data, bytes, traits->nbytes);
}

wf_type wf_accumulator_result_type(const struct wf_accumulator *acc, wf_op op) {
    bool as_asked = acc->result_type && (wf_op_gives_value(op) || op == acc->op);
    return as_asked ? acc->result_type : wf_op_result_type(op, acc->type);
}

wf_type wf_accumulator_op_result_type(const wf_accumulator *accumulator, wf_op op) {
    if (!accumulator || wf_accumulator_check_op(NULL, accumulator, op)) return WF_TYPE_DEFAULT;
    return wf_accumulator_result_type(accumulator, op);
}

wf_error wf_accumulator_finish(wf_handle *handle, const struct wf_accumulator *acc, wf_op op, wf_value *result) {
    wf_error error = wf_accumulator_check_op(handle, acc, op);
    if (error) return error;
    struct wf_number number;
    wf_type type = wf_accumulator_result_type(acc, op);
    error = find_value(acc, op, type, &number, result);
    if (error == WF_ERROR_RANGE) return out_of_range(handle, acc, op, &number, type);
    if (error) return explain(handle, acc, op, error);
    return WF_OK;
}
