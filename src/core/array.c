/* The public functions that make arrays, and the checks of arrays that callers pass. */
#include "core/array.h"
#include "core/types.h"

#include <string.h>

wf_array wf_array_vector(const void *data, wf_type type, int64_t count) {
    return (wf_array){.data = data, .type = type, .ndim = 1, .count = count};
}

wf_array wf_array_nd(const void *data, wf_type type, int32_t ndim, const int64_t *shape,
                     const int64_t *stride_bytes) {
    /* An array without dimensions needs a shape that is not NULL, since NULL means a vector. */
    static const int64_t no_dimensions[1];
    wf_array array = {.data = data, .type = type, .ndim = ndim, .shape = shape, .stride_bytes = stride_bytes};
    if (ndim == 0) array.shape = no_dimensions;
    if (ndim < 0 || ndim > WF_NDIM_MAX || !array.shape)
        return (wf_array){.data = data, .type = type, .ndim = -1, .shape = no_dimensions};
    return array;
}

void wf_array_strides(const wf_array *array, int64_t stride_bytes[WF_NDIM_MAX]) {
    int ndim = wf_array_ndim(array);
    if (array->stride_bytes) {
        memcpy(stride_bytes, array->stride_bytes, (size_t)ndim * sizeof *stride_bytes);
        return;
    }
    /* Unsigned, because it may wrap for shapes that are empty or that wf_array_check rejects. */
    uint64_t packed = wf_type_nbytes(array->type);
    for (int d = ndim - 1; d >= 0; d--) {
        stride_bytes[d] = (int64_t)packed;
        packed *= (uint64_t)wf_array_length(array, d);
    }
}

/* The number of elements, or -1 if a length is negative or the extent exceeds the address space. */
static int64_t count_elements(const wf_array *array) {
    int64_t stride_bytes[WF_NDIM_MAX], count = 1, extent = 0;
    bool empty = false, overflow = false;
    wf_array_strides(array, stride_bytes);
    for (int d = 0; d < wf_array_ndim(array); d++) {
        int64_t length = wf_array_length(array, d), stride = stride_bytes[d], reach;
        if (length < 0) return -1;
        if (length == 0) empty = true;
        if (empty || length == 1) continue;
        overflow |= __builtin_mul_overflow(count, length, &count);
        overflow |= stride == INT64_MIN || __builtin_mul_overflow(length - 1, stride < 0 ? -stride : stride, &reach) ||
                    __builtin_add_overflow(extent, reach, &extent);
    }
    return empty ? 0 : overflow ? -1 : count;
}

/* count_elements for a contiguous vector, the most common array, where dimensions and strides need no
 * loop. */
static int64_t count_vector(const wf_array *array) {
    int64_t extent;
    bool overflow = __builtin_mul_overflow(array->count, (int64_t)wf_type_nbytes(array->type), &extent);
    return array->count < 0 || overflow ? -1 : array->count;
}

static wf_error check_one(wf_handle *handle, const wf_array *array, int64_t *count) {
    if (!array) return wf_fail(handle, WF_ERROR_ARGUMENT, "the array is NULL");
    if (!wf_type_is_valid(array->type))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "invalid array type %d", (int)array->type);
    if (array->shape && (array->ndim < 0 || array->ndim > WF_NDIM_MAX))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the array must have from 0 to %d dimensions", WF_NDIM_MAX);
    *count = array->shape || array->stride_bytes ? count_elements(array) : count_vector(array);
    if (*count < 0)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the array has a negative length or exceeds the address space");
    if (*count && !array->data) return wf_fail(handle, WF_ERROR_ARGUMENT, "the array's data is NULL");
    return WF_OK;
}

static bool have_one_shape(const wf_array *a, const wf_array *b) {
    bool same = wf_array_ndim(a) == wf_array_ndim(b);
    for (int d = 0; same && d < wf_array_ndim(a); d++) same = wf_array_length(a, d) == wf_array_length(b, d);
    return same;
}

wf_error wf_array_check(wf_handle *handle, const wf_array *a, const wf_array *b, int64_t *count) {
    wf_error error = check_one(handle, a, count);
    if (error || !b) return error;
    error = check_one(handle, b, count);
    if (error) return error;
    if (a->type != b->type)
        return wf_fail(handle, WF_ERROR_ARGUMENT, "array types differ: %s and %s", wf_type_name(a->type),
                       wf_type_name(b->type));
    if (!have_one_shape(a, b)) return wf_fail(handle, WF_ERROR_ARGUMENT, "the arrays' shapes differ");
    return WF_OK;
}

wf_error wf_shape_check(wf_handle *handle, const char *name, int32_t ndim, const int64_t *shape, int32_t results_ndim,
                        const int64_t *results_shape) {
    if (ndim != results_ndim || (ndim && !shape))
        return wf_fail(handle, WF_ERROR_ARGUMENT, "the %s has %d dimension%s; the results have %d", name, ndim,
                       ndim == 1 ? "" : "s", results_ndim);
    for (int32_t d = 0; d < ndim; d++)
        if (shape[d] != results_shape[d])
            return wf_fail(handle, WF_ERROR_ARGUMENT, "the %s's dimension %d is %lld long; that of the results, %lld",
                           name, d, (long long)shape[d], (long long)results_shape[d]);
    return WF_OK;
}
