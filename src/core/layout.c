#include "core/layout.h"
#include "core/array.h"
#include "core/types.h"

#include <string.h>

/* ---- checks ---- */

static wf_error check_axis(wf_handle *handle, const wf_array *a, int32_t axis) {
    int ndim = wf_array_ndim(a);
    if (axis >= 0 && axis < ndim) return WF_OK;
    return wf_fail(handle, WF_ERROR_ARGUMENT, "axis %d is out of range: the array has %d dimension%s", (int)axis, ndim,
                   ndim == 1 ? "" : "s");
}

static wf_error check_axes(wf_handle *handle, const wf_array *a, uint64_t axes) {
    int ndim = wf_array_ndim(a);
    uint64_t beyond = ndim == 64 ? 0 : axes >> ndim;
    return beyond ? check_axis(handle, a, ndim + __builtin_ctzll(beyond)) : WF_OK;
}

static bool is_offset_type(wf_type type) {
    return type == WF_I32 || type == WF_I64;
}

static bool is_key_type(wf_type type) {
    return wf_type_is_valid(type) && !wf_type_is_float(type) && type != WF_BOOL;
}

static wf_error check_labels(wf_handle *handle, const wf_array *a, const wf_groups *groups) {
    bool by_key = groups->by == WF_GROUP_KEYS;
    const wf_array *labels = groups->labels;
    int64_t count, wanted = by_key ? wf_array_length(a, groups->axis) : groups->count + 1;
    const char *name = by_key ? "keys" : "offsets";
    if (!labels) return wf_fail(handle, WF_ERROR_ARGUMENT, "the %s are NULL", name);
    wf_error error = wf_array_check(handle, labels, NULL, &count);
    if (error) return error;
    if (!(by_key ? is_key_type : is_offset_type)(labels->type))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s must be %s, not %s", name, by_key ? "integers" : "i32 or i64",
                       wf_type_name(labels->type));
    if (wf_array_ndim(labels) != 1 || count != wanted)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "%s must be a vector of %lld elements, %s", name, (long long)wanted,
                       by_key ? "one for each position of the axis" : "one more than there are segments");
    return WF_OK;
}

static wf_error check_groups(wf_handle *handle, const wf_array *a, const wf_groups *groups) {
    if (!groups || groups->by == WF_GROUP_ALL) return WF_OK;
    if ((unsigned)groups->by > WF_GROUP_KEYS)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid grouping %d", (int)groups->by);
    if (groups->by == WF_GROUP_AXES) return check_axes(handle, a, groups->axes);
    wf_error error = check_axis(handle, a, groups->axis);
    if (error) return error;
    if (groups->count < 0 || groups->count == INT64_MAX)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid number of groups %lld", (long long)groups->count);
    return check_labels(handle, a, groups);
}

/* ---- the layout ---- */

static bool is_reduced(const wf_groups *groups, int dimension) {
    if (!groups || groups->by == WF_GROUP_ALL) return true;
    return groups->by == WF_GROUP_AXES ? groups->axes >> dimension & 1 : dimension == groups->axis;
}

/* Appends a dimension of the array to those that are reduced. */
static void reduce_dimension(struct wf_layout *layout, int64_t length, const int64_t stride_bytes[2]) {
    int d = layout->reduced_ndim++;
    layout->reduced_shape[d] = length;
    for (int o = 0; o < layout->operands; o++) layout->reduced_stride_bytes[o][d] = stride_bytes[o];
}

/* Appends a dimension to those of the results. */
static void keep_dimension(struct wf_layout *layout, int64_t length, const int64_t stride_bytes[2]) {
    int d = layout->ndim++;
    layout->shape[d] = length;
    for (int o = 0; o < layout->operands; o++) layout->stride_bytes[o][d] = stride_bytes[o];
}

/* The product of lengths that are not negative; -1: more than 2^63 - 1. */
static int64_t count_of(const int64_t *shape, int ndim) {
    int64_t count = 1;
    bool overflow = false;
    for (int d = 0; d < ndim; d++)
        if (shape[d] == 0) return 0;
    for (int d = 0; d < ndim; d++) overflow |= __builtin_mul_overflow(count, shape[d], &count);
    return overflow ? -1 : count;
}

wf_error wf_layout_make(wf_handle *handle, struct wf_layout *layout, const wf_array *a, const wf_array *b,
                        const wf_groups *groups) {
    static const int64_t none[2] = {0, 0};
    int64_t stride_bytes[2][WF_NDIM_MAX];
    wf_error error = check_groups(handle, a, groups);
    if (error) return error;
    layout->by = groups ? groups->by : WF_GROUP_ALL;
    layout->operands = b ? 2 : 1;
    layout->ndim = layout->reduced_ndim = 0;
    layout->axis = -1;
    wf_array_strides(a, stride_bytes[0]);
    if (b) wf_array_strides(b, stride_bytes[1]);
    for (int d = 0; d < wf_array_ndim(a); d++) {
        const int64_t stride[2] = {stride_bytes[0][d], b ? stride_bytes[1][d] : 0};
        bool reduced = is_reduced(groups, d);
        (reduced ? reduce_dimension : keep_dimension)(layout, wf_array_length(a, d), stride);
        if (!reduced || layout->by < WF_GROUP_SEGMENTS) continue;
        layout->axis = layout->ndim;
        keep_dimension(layout, groups->count, none);
    }
    layout->reduced_count = count_of(layout->reduced_shape, layout->reduced_ndim);
    layout->count = count_of(layout->shape, layout->ndim);
    if (layout->count < 0 || layout->reduced_count < 0) /* of an array without elements, or of many groups */
        return wf_fail(handle, WF_ERROR_RANGE, "the results, or the elements of a group, are more than 2^63 - 1");
    return WF_OK;
}

void wf_layout_view(const struct wf_layout *layout, struct wf_view *view, const wf_array *a, const wf_array *b,
                    bool is_indexed) {
    wf_array of_one[2] = {*a, b ? *b : *a};
    for (int o = 0; o < layout->operands; o++)
        of_one[o] = wf_array_nd(of_one[o].data, a->type, layout->reduced_ndim, layout->reduced_shape,
                                layout->reduced_stride_bytes[o]);
    wf_view_make(view, &of_one[0], b ? &of_one[1] : NULL, layout->axis >= 0 || is_indexed);
    for (int o = 0; o < layout->operands && layout->axis >= 0; o++)
        view->stride_bytes[o][0] = layout->reduced_stride_bytes[o][0];
}

int64_t wf_layout_positions(const struct wf_layout *layout, const wf_array *a, const wf_groups *groups) {
    return layout->axis < 0 ? layout->reduced_count : wf_array_length(a, groups->axis);
}
