#include "core/accumulator.h"

#include <stddef.h>

static void clear_parts(struct wf_accumulator *acc) {
    wf_type type = acc->type;
    int low = wf_type_low_exponent(type), high = wf_type_high_exponent(type);
    acc->saw = 0;
    acc->nonzero = 0;
    acc->min = (struct wf_extreme){INT64_MAX, INT64_MAX};
    acc->max = (struct wf_extreme){INT64_MIN, INT64_MAX};
    acc->bits_and = UINT64_MAX;
    acc->bits_or = acc->bits_xor = 0;
    if (acc->parts & WF_PART_SUM) wf_exact_clear(&acc->sum, low, high);
    if (acc->parts & WF_PART_ABS) wf_exact_clear(&acc->abs, low, high);
    if (acc->parts & (WF_PART_SQUARES | WF_PART_DOT)) wf_exact_clear(&acc->products, 2 * low, 2 * high);
    if (acc->parts & WF_PART_PRODUCT) wf_product_clear(&acc->product, acc->first_index);
}

static void clear(struct wf_accumulator *acc, int64_t first_index) {
    acc->first_index = acc->end_index = first_index;
    acc->count = acc->nan_count = 0;
    acc->first_nan = INT64_MAX;
    clear_parts(acc);
}

void wf_accumulator_init(struct wf_accumulator *acc, wf_op op, wf_type type, const wf_options *options) {
    acc->op = op;
    acc->type = type;
    acc->nan = options->nan;
    acc->result_type = options->result_type;
    acc->ddof = options->ddof;
    acc->parts = wf_op_parts(op);
    wf_type result = options->result_type ? options->result_type : wf_op_result_type(op, type);
    acc->uses_tree = wf_type_is_float(type) || wf_type_is_float(result);
    clear(acc, options->first_index);
}

void wf_accumulator_init_like(struct wf_accumulator *acc, const struct wf_accumulator *like,
                              int64_t first_index) {
    memcpy(acc, like, offsetof(struct wf_accumulator, first_index));
    clear(acc, first_index);
}

bool wf_accumulator_is_indexed(const struct wf_accumulator *acc) {
    return acc->op == WF_ARGMIN || acc->op == WF_ARGMAX || acc->op == WF_STATS ||
           (acc->parts & WF_PART_PRODUCT && acc->uses_tree) || acc->nan == WF_NAN_ERROR;
}

bool wf_accumulator_join(struct wf_accumulator *into, const struct wf_accumulator *from) {
    unsigned parts = into->parts;
    if (parts & WF_PART_PRODUCT && !wf_product_join(&into->product, &from->product)) return false;
    if (parts & WF_PART_SUM) wf_exact_add(&into->sum, &from->sum);
    if (parts & WF_PART_ABS) wf_exact_add(&into->abs, &from->abs);
    if (parts & (WF_PART_SQUARES | WF_PART_DOT)) wf_exact_add(&into->products, &from->products);
    wf_extreme_min(&into->min, from->min);
    wf_extreme_max(&into->max, from->max);
    into->bits_and &= from->bits_and;
    into->bits_or |= from->bits_or;
    into->bits_xor ^= from->bits_xor;
    into->nonzero += from->nonzero;
    into->saw |= from->saw;
    into->count += from->count;
    into->nan_count += from->nan_count;
    if (from->first_nan < into->first_nan) into->first_nan = from->first_nan;
    return true;
}
