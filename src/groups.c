/* Reductions by groups: checks the output, settles what groups without a value give, and calls the device. */
#include "core/array.h"
#include "core/grouped.h"
#include "core/handle.h"
#include "core/reduction.h"

wf_groups wf_groups_axes(uint64_t axes) {
    return (wf_groups){.by = WF_GROUP_AXES, .axes = axes};
}

wf_groups wf_groups_segments(int32_t axis, int64_t count, const wf_array *offsets) {
    return (wf_groups){.by = WF_GROUP_SEGMENTS, .axis = axis, .count = count, .labels = offsets};
}

wf_groups wf_groups_keys(int32_t axis, int64_t count, const wf_array *keys) {
    return (wf_groups){.by = WF_GROUP_KEYS, .axis = axis, .count = count, .labels = keys};
}

wf_error wf_groups_shape(const wf_array *array, const wf_groups *groups, int32_t *ndim, int64_t *shape) {
    struct wf_layout layout;
    int64_t count;
    if (!array || !ndim || !shape) return WF_ERROR_ARGUMENT;
    wf_error error = wf_array_check(NULL, array, NULL, &count);
    if (!error) error = wf_layout_make(NULL, &layout, array, NULL, groups);
    if (error) return error;
    *ndim = layout.ndim;
    for (int d = 0; d < layout.ndim; d++) shape[d] = layout.shape[d];
    return WF_OK;
}

/* ---- what groups without a value give ---- */

/* The value that a number of one type has in another; false: none. */
static bool convert(const wf_value *from, wf_type type, wf_value *value) {
    uint64_t bits = 0;
    wf_value_store(from, &bits);
    struct wf_number number = wf_number_of_bits(from->type, bits);
    return wf_number_round(&number, type, value);
}

wf_error wf_fill_value(wf_handle *handle, const wf_reduction *reduction, wf_type type, wf_value *value) {
    struct wf_number nan = wf_number_nan();
    if (reduction->fill) {
        if (convert(reduction->fill, type, value)) return WF_OK;
        return wf_fail(handle, WF_ERROR_RANGE, "the fill value does not fit in %s", wf_type_name(type));
    }
    return wf_number_round(&nan, type, value) ? WF_OK : WF_ERROR_EMPTY;
}

/* ---- the output ---- */

/* Checks that output takes the results, as an array: its extent is within the address space. */
static wf_error check_results(wf_handle *handle, const wf_output *output, wf_type type,
                              const struct wf_layout *layout) {
    int64_t count;
    wf_error error = wf_shape_check(handle, "output", output->ndim, output->shape, layout->ndim, layout->shape);
    if (error) return error;
    wf_array results = wf_array_nd(output->data, type, output->ndim, output->shape, output->stride_bytes);
    return wf_array_check(handle, &results, NULL, &count);
}

wf_error wf_reduce_groups(wf_handle *handle, const wf_reduction *reduction, const wf_array *a, const wf_array *b,
                          const wf_groups *groups, const wf_output *output) {
    struct wf_accumulator empty;
    struct wf_tree tree;
    struct wf_layout layout;
    int64_t count;
    wf_error error = wf_reduction_begin(handle, &empty, reduction, a->type, &tree);
    if (!error) error = wf_check_operands(handle, &empty, a, b, &count);
    if (!error) error = wf_layout_make(handle, &layout, a, b, groups);
    if (!error) error = wf_check_total_count(handle, &empty, layout.reduced_count);
    if (error) return error;
    wf_type type = wf_accumulator_result_type(&empty, empty.op);
    struct wf_grouped grouped = {.empty = &empty, .a = a, .b = b, .layout = &layout, .groups = groups, .output = output,
                                 .result_type = type, .skips_bad_keys = reduction->flags & WF_SKIP_BAD_KEYS};
    error = check_results(handle, output, type, &layout);
    if (error) return error;
    error = wf_fill_value(handle, reduction, type, &grouped.fill);
    if (error == WF_ERROR_RANGE) return error;
    grouped.has_fill = !error && (reduction->fill || layout.by != WF_GROUP_ALL);
    if (!handle->device->reduce_groups)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED,
                       "reductions by groups are not yet supported on %s: use a CPU handle and host memory",
                       handle->device_name);
    return handle->device->reduce_groups(handle, &grouped);
}
