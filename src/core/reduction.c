#include "core/reduction.h"
#include "core/array.h"

wf_error wf_reduction_check(wf_handle *handle, const wf_reduction *reduction) {
    if (!reduction) return wf_fail(handle, WF_ERROR_ARGUMENT, "the reduction is NULL");
    wf_error error = wf_check_nbytes(handle, "wf_reduction", reduction, reduction->nbytes, sizeof *reduction);
    if (error) return error;
    if ((unsigned)reduction->nan > WF_NAN_ERROR)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid NaN policy %d", (int)reduction->nan);
    if (reduction->result_type && !wf_type_is_valid(reduction->result_type))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid result type %d", (int)reduction->result_type);
    if (reduction->ddof < 0) return wf_fail(handle, WF_ERROR_ARGUMENT, "ddof must be 0 or more");
    if (reduction->first_index < 0) return wf_fail(handle, WF_ERROR_ARGUMENT, "the first index must be 0 or more");
    if (reduction->flags & ~(uint32_t)WF_SKIP_BAD_KEYS)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "unknown reduction flags 0x%x", (unsigned)reduction->flags);
    if (reduction->fill && !wf_type_is_valid(reduction->fill->type))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid type %d of the fill value", (int)reduction->fill->type);
    return WF_OK;
}

static wf_error check_op(wf_handle *handle, wf_op op, wf_type type) {
    if (!wf_op_parts(op)) return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid op %d", (int)op);
    if (!wf_type_is_valid(type)) return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid type %d", (int)type);
    if (op != WF_STATS && !wf_op_result_type(op, type))
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s is defined for integers and bool, not for %s",
                       wf_op_name(op), wf_type_name(type));
    return WF_OK;
}

wf_error wf_check_total_count(wf_handle *handle, const struct wf_accumulator *acc, int64_t count) {
    int64_t sum;
    if (__builtin_add_overflow(acc->count, count, &sum) || __builtin_add_overflow(acc->end_index, count, &sum))
        return wf_fail(handle, WF_ERROR_RANGE, "more than 2^63 - 1 elements");
    return WF_OK;
}

wf_error wf_check_operands(wf_handle *handle, const struct wf_accumulator *acc, const wf_array *a, const wf_array *b,
                           int64_t *count) {
    wf_error error = wf_array_check(handle, a, b, count);
    if (error) return error;
    if (wf_op_takes_pairs(acc->op) != (b != NULL))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s takes %s", wf_op_name(acc->op),
                       b ? "one array" : "two arrays");
    if (a->type != acc->type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "an array of %s cannot be added to an accumulator of %s",
                       wf_type_name(a->type), wf_type_name(acc->type));
    return WF_OK;
}

wf_error wf_reduction_begin(wf_handle *handle, struct wf_accumulator *acc, const wf_reduction *reduction, wf_type type,
                            struct wf_tree *tree) {
    wf_error error = wf_reduction_check(handle, reduction);
    if (!error) error = check_op(handle, reduction->op, type);
    if (!error) wf_accumulator_init(acc, reduction, type, tree);
    return error;
}
