/* Accumulators with a shape: what the public functions do where there is one. */
#include "core/shaped.h"
#include "core/array.h"
#include "core/grouped.h"
#include "core/handle.h"
#include "core/reduction.h"
#include "core/subtract.h"

#include <stdlib.h>
#include <string.h>

/* ---- creating ---- */

static wf_error count_results(wf_handle *handle, int32_t ndim, const int64_t *shape, int64_t *count) {
    if (ndim < 0 || ndim > WF_NDIM_MAX)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the accumulator must have from 0 to %d dimensions", WF_NDIM_MAX);
    if (!shape) return wf_fail(handle, WF_ERROR_ARGUMENT, "the accumulator's shape is NULL");
    *count = wf_shape_count(ndim, shape);
    if (*count >= 0) return WF_OK;
    return wf_fail(handle, WF_ERROR_ARGUMENT, "the accumulator's shape has a negative length, or more than 2^63 - 1 results");
}

wf_error wf_shaped_create(wf_handle *handle, const wf_reduction *reduction, wf_type type, int32_t ndim,
                          const int64_t *shape, wf_accumulator **accumulator) {
    struct wf_accumulator settings;
    struct wf_tree tree;
    int64_t count = 0;
    wf_value fill = {.type = WF_TYPE_DEFAULT};
    wf_error error = wf_reduction_begin(handle, &settings, reduction, type, &tree);
    if (!error) error = count_results(handle, ndim, shape, &count);
    if (!error && reduction->fill) error = wf_fill_value(handle, reduction, reduction->fill->type, &fill);
    if (error) return error;
    struct wf_shaped *made = wf_shaped_make(handle, &settings, ndim, shape, count);
    if (!made) return WF_ERROR_MEMORY;
    made->flags = reduction->flags;
    made->fill = fill;
    *accumulator = &made->common;
    return WF_OK;
}

/* ---- adding ---- */

/* What remains of a NaN under WF_NAN_ERROR. */
static wf_error check_nan(wf_handle *handle, const struct wf_shaped *shaped) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    if (shaped->common.nan != WF_NAN_ERROR || !wf_type_is_float(shaped->common.type)) return WF_OK;
    for (int64_t i = 0; i < shaped->count; i++) {
        wf_shaped_get(shaped, i, &acc, &tree);
        if (acc.partial.nan_count)
            return wf_fail(handle, WF_ERROR_NAN, "result %lld: NaN at index %lld", (long long)i,
                           (long long)acc.partial.first_nan);
    }
    return WF_OK;
}

static wf_error add_groups(wf_handle *handle, struct wf_shaped *shaped, const struct wf_grouped *grouped) {
    if (!handle->device->add_groups)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED,
                       "accumulators with a shape are not supported on %s",
                       handle->device_name);
    return shaped->count ? handle->device->add_groups(handle, grouped) : WF_OK;
}

wf_error wf_shaped_add(wf_handle *handle, struct wf_shaped *shaped, const wf_array *a, const wf_array *b,
                       const wf_groups *groups) {
    struct wf_accumulator empty, *common = &shaped->common;
    struct wf_tree tree;
    struct wf_layout layout;
    int64_t count;
    wf_error error = wf_check_operands(handle, common, a, b, &count);
    if (!error) error = wf_layout_make(handle, &layout, a, b, groups);
    if (!error) error = wf_shape_check(handle, "accumulator", shaped->ndim, shaped->shape, layout.ndim, layout.shape);
    if (error) return error;
    int64_t positions = wf_layout_positions(&layout, a, groups);
    error = wf_check_total_count(handle, common, positions);
    if (error) return error;
    wf_accumulator_init_like(&empty, common, common->end_index, &tree);
    const wf_output nowhere = {.data = shaped};
    const struct wf_grouped grouped = {.empty = &empty, .a = a, .b = b, .layout = &layout, .groups = groups,
                                       .output = &nowhere, .into = shaped,
                                       .skips_bad_keys = shaped->flags & WF_SKIP_BAD_KEYS};
    error = add_groups(handle, shaped, &grouped);
    if (error) return error;
    common->count += positions;
    common->end_index += positions;
    return check_nan(handle, shaped);
}

/* ---- merging and subtracting ---- */

static wf_error check_two(wf_handle *handle, const struct wf_shaped *into, const struct wf_shaped *from) {
    bool alike = into->ndim == from->ndim;
    for (int32_t d = 0; alike && d < into->ndim; d++) alike = into->shape[d] == from->shape[d];
    if (alike) return WF_OK;
    return wf_fail(handle, WF_ERROR_MERGE, "the accumulators have different shapes");
}

/* Checks that the trees of both are neighbours, result by result, and makes room for them. */
static wf_error prepare_trees(wf_handle *handle, struct wf_shaped *into, const struct wf_shaped *from) {
    struct wf_accumulator a, b;
    struct wf_tree tree_a, tree_b;
    int8_t level[WF_TREE_NODES_MAX];
    int32_t nodes = 0;
    for (int64_t i = 0; into->common.tree && i < into->count; i++) {
        wf_shaped_get(into, i, &a, &tree_a);
        wf_shaped_get(from, i, &b, &tree_b);
        if (a.count && b.count && tree_a.end != tree_b.start && tree_b.end != tree_a.start)
            return wf_fail(handle, WF_ERROR_MERGE,
                           "result %lld: elements %lld to %lld and %lld to %lld are not neighbours, as %s needs; give each "
                           "accumulator its own first index", (long long)i, (long long)tree_a.start,
                           (long long)tree_a.end - 1, (long long)tree_b.start, (long long)tree_b.end - 1,
                           wf_op_name(a.op));
        wf_accumulator_join_indices(&a, &b);
        int32_t needed = wf_tree_levels(a.first_index, a.end_index, level);
        if (needed > nodes) nodes = needed;
    }
    return wf_shaped_reserve_nodes(handle, into, nodes);
}

wf_error wf_shaped_merge(wf_handle *handle, struct wf_shaped *into, const struct wf_shaped *from) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    wf_error error = check_two(handle, into, from);
    if (!error) error = wf_check_total_count(handle, &into->common, from->common.count);
    if (!error) error = prepare_trees(handle, into, from);
    if (error) return error;
    for (int64_t i = 0; i < into->count; i++) {
        wf_shaped_get(from, i, &acc, &tree);
        wf_shaped_join(into, i, &acc);
    }
    wf_accumulator_join_indices(&into->common, &from->common);
    into->common.count += from->common.count;
    return WF_OK;
}

static wf_error check_parts(wf_handle *handle, const struct wf_shaped *whole, const struct wf_shaped *part) {
    struct wf_accumulator acc, taken;
    bool is_indexed = wf_accumulator_is_indexed(&whole->common);
    for (int64_t i = 0; i < whole->count; i++) {
        wf_shaped_get(whole, i, &acc, NULL);
        wf_shaped_get(part, i, &taken, NULL);
        const char *why = wf_subtract(&acc, &taken);
        if (!why && is_indexed && acc.count > whole->common.count - part->common.count)
            why = "it has more positions than are there";
        if (why) return wf_fail(handle, WF_ERROR_MERGE, "result %lld: this was not added: %s", (long long)i, why);
    }
    return WF_OK;
}

wf_error wf_shaped_subtract(wf_handle *handle, struct wf_shaped *from, const struct wf_shaped *part) {
    struct wf_accumulator acc, taken;
    wf_error error = check_two(handle, from, part);
    if (!error) error = check_nan(handle, from);
    if (!error) error = check_nan(handle, part);
    if (!error) error = check_parts(handle, from, part);
    if (error) return error;
    for (int64_t i = 0; i < from->count; i++) {
        wf_shaped_get(from, i, &acc, NULL);
        wf_shaped_get(part, i, &taken, NULL);
        wf_subtract(&acc, &taken);
        wf_shaped_set(from, i, &acc);
    }
    if (!wf_accumulator_is_indexed(&from->common)) return WF_OK;
    from->common.count -= part->common.count;
    wf_subtract_indices(&from->common, &part->common);
    return WF_OK;
}

/* ---- results ---- */

struct reading {
    const struct wf_shaped *shaped;
    wf_op op;
    wf_type type;
    bool has_fill;
    wf_value fill; /* of type */
    const wf_output *output;
    bool is_on_device;
    int64_t stride_bytes[WF_NDIM_MAX];
};

static wf_error check_output(wf_handle *handle, struct reading *reading) {
    const struct wf_shaped *shaped = reading->shaped;
    const wf_output *output = reading->output;
    int64_t count;
    wf_error error = wf_shape_check(handle, "output", output->ndim, output->shape, shaped->ndim, shaped->shape);
    if (error) return error;
    if (output->type && output->type != reading->type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the output's type is %s, but the accumulator's results are %s",
                       wf_type_name(output->type), wf_type_name(reading->type));
    wf_array results = wf_array_nd(output->data, reading->type, output->ndim, output->shape, output->stride_bytes);
    error = wf_array_check(handle, &results, NULL, &count);
    if (!error && handle->device->find_output) error = handle->device->find_output(handle, output, &reading->is_on_device);
    return error;
}

wf_error wf_shaped_fill(wf_handle *handle, const struct wf_shaped *shaped, wf_op op, wf_type type, bool *has_fill,
                        wf_value *fill) {
    wf_reduction reduction = wf_reduction_of(op);
    if (shaped->fill.type) reduction.fill = &shaped->fill;
    wf_error error = wf_fill_value(handle, &reduction, type, fill);
    *has_fill = !error;
    return error == WF_ERROR_RANGE ? error : WF_OK;
}

/* Indices of merged accumulators that overlap tell nothing. */
static wf_error check_indices(wf_handle *handle, const struct wf_shaped *shaped, wf_op op) {
    const struct wf_accumulator *common = &shaped->common;
    bool is_index = op == WF_ARGMIN || op == WF_ARGMAX;
    if (!is_index || common->count <= common->end_index - common->first_index) return WF_OK;
    return wf_fail(handle, WF_ERROR_MERGE,
                   "%s: the merged accumulators have overlapping indices; give each its own first index", wf_op_name(op));
}

static void set_strides(struct reading *reading) {
    const wf_array results = wf_array_nd(reading->output->data, reading->type, reading->shaped->ndim, reading->shaped->shape,
                                         reading->output->stride_bytes);
    wf_array_strides(&results, reading->stride_bytes);
}

static wf_error open_output(wf_handle *handle, struct reading *reading) {
    wf_error error = check_output(handle, reading);
    set_strides(reading);
    return error;
}

static wf_error begin(wf_handle *handle, struct reading *reading) {
    const struct wf_accumulator *common = &reading->shaped->common;
    wf_error error = wf_accumulator_check_op(handle, common, reading->op);
    if (error) return error;
    reading->type = wf_accumulator_result_type(common, reading->op);
    error = open_output(handle, reading);
    if (!error) error = check_indices(handle, reading->shaped, reading->op);
    if (error) return error;
    return wf_shaped_fill(handle, reading->shaped, reading->op, reading->type, &reading->has_fill, &reading->fill);
}

/* Where result i goes. */
static void *place_of(const struct reading *reading, int64_t i) {
    char *place = reading->output->data;
    for (int32_t d = reading->shaped->ndim - 1; d >= 0; d--) {
        place += i % reading->shaped->shape[d] * reading->stride_bytes[d];
        i /= reading->shaped->shape[d];
    }
    return place;
}

static wf_error read_result(const struct reading *reading, int64_t i, wf_handle *handle) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    wf_value value;
    wf_shaped_get(reading->shaped, i, &acc, &tree);
    wf_error error = wf_accumulator_finish(handle, &acc, reading->op, &value);
    if (error == WF_ERROR_EMPTY && reading->has_fill) {
        value = reading->fill;
        error = WF_OK;
    }
    if (!error) wf_value_store(&value, place_of(reading, i));
    return error;
}

static wf_error explain(wf_handle *handle, const struct reading *reading, int64_t i) {
    char why[WF_MESSAGE_NBYTES];
    wf_error error = read_result(reading, i, handle);
    memcpy(why, handle->message, sizeof why);
    return wf_fail(handle, error, "result %lld: %s", (long long)i, why);
}

static wf_error read_all(wf_handle *handle, const struct reading *reading) {
    wf_error error = WF_OK;
    for (int64_t i = 0; !error && i < reading->shaped->count; i++)
        if (read_result(reading, i, NULL)) error = explain(handle, reading, i);
    return error;
}

/* By way of the host, where the accumulator is. */
static wf_error read_to_device(wf_handle *handle, struct reading *reading) {
    char why[WF_MESSAGE_NBYTES];
    wf_output output = *reading->output, packed = output;
    const size_t nbytes = (size_t)reading->shaped->count * wf_type_nbytes(reading->type);
    output.type = reading->type;
    packed.stride_bytes = NULL;
    packed.data = malloc(nbytes + 1);
    if (!packed.data) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for %zu bytes of results", nbytes);
    reading->output = &packed;
    set_strides(reading);
    const wf_error failure = read_all(handle, reading);
    memcpy(why, handle->message, sizeof why);
    const wf_error error = handle->device->send_results(handle, &output, failure ? NULL : packed.data, failure);
    free(packed.data);
    return error ? error : failure ? wf_fail(handle, failure, "%s", why) : WF_OK;
}

wf_error wf_shaped_result(wf_handle *handle, const struct wf_shaped *shaped, wf_op op, const wf_output *output) {
    struct reading reading = {.shaped = shaped, .op = op, .output = output};
    wf_error error = begin(handle, &reading);
    if (reading.is_on_device) return error ? error : read_to_device(handle, &reading);
    if (!error) error = read_all(handle, &reading);
    if (output->status && output->data) *output->status = error;
    return error;
}

/* ---- counts ---- */

static void store_count(const struct reading *reading, int64_t i, int64_t count) {
    if (reading->output) memcpy(place_of(reading, i), &count, sizeof count);
}

wf_error wf_shaped_counts(wf_handle *handle, const struct wf_shaped *shaped, const wf_output *counts,
                          const wf_output *nans) {
    struct reading elements = {.shaped = shaped, .type = WF_U64, .output = counts}, missing = elements;
    struct wf_accumulator acc;
    struct wf_tree tree;
    missing.output = nans;
    wf_error error = counts ? open_output(handle, &elements) : WF_OK;
    if (!error && nans) error = open_output(handle, &missing);
    if (!error && (elements.is_on_device || missing.is_on_device))
        error = wf_fail(handle, WF_ERROR_UNSUPPORTED, "counts in device memory are not supported: read them to host memory");
    for (int64_t i = 0; !error && i < shaped->count; i++) {
        wf_shaped_get(shaped, i, &acc, &tree);
        store_count(&elements, i, wf_accumulator_element_count(&acc));
        store_count(&missing, i, (int64_t)acc.partial.nan_count);
    }
    return error;
}
