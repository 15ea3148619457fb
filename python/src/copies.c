/* Layouts of arrays, and copies of strided ones. */
#include "core.h"

#include <string.h>

int64_t array_count(const wf_array *view) {
    int64_t count = 1;
    for (int32_t d = 0; d < view->ndim; d++) count *= view->shape[d]; /* fits: the array is in memory, or empty */
    return count;
}

void contiguous_strides(int32_t ndim, const int64_t *shape, int64_t nbytes, int64_t *stride_bytes) {
    for (int32_t d = ndim - 1; d >= 0; d--) {
        stride_bytes[d] = nbytes;
        nbytes *= shape[d];
    }
}

static void reverse(char *to, const char *from, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++) to[i] = from[nbytes - 1 - i];
}

static void copy_row(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count, size_t nbytes,
                     bool is_swapped) {
    if (!is_swapped && to_stride == (int64_t)nbytes && from_stride == (int64_t)nbytes) {
        memcpy(to, from, (size_t)count * nbytes);
        return;
    }
    for (int64_t i = 0; i < count; i++, to += to_stride, from += from_stride) {
        if (is_swapped) reverse(to, from, nbytes);
        else memcpy(to, from, nbytes);
    }
}

void copy_strided(struct strided to, struct strided from, int32_t ndim, const int64_t *shape, size_t nbytes,
                  bool is_swapped) {
    int64_t index[WF_NDIM_MAX] = {0};
    for (int32_t d = 0; d < ndim; d++)
        if (!shape[d]) return;
    int32_t last = ndim - 1;
    int64_t row = ndim ? shape[last] : 1, to_stride = ndim ? to.stride_bytes[last] : 0,
            from_stride = ndim ? from.stride_bytes[last] : 0;
    for (;;) {
        copy_row(to.data, to_stride, from.data, from_stride, row, nbytes, is_swapped);
        int32_t d = last - 1;
        for (; d >= 0 && ++index[d] == shape[d]; d--) { /* back to the dimension's start */
            index[d] = 0;
            to.data -= (shape[d] - 1) * to.stride_bytes[d];
            from.data -= (shape[d] - 1) * from.stride_bytes[d];
        }
        if (d < 0) return;
        to.data += to.stride_bytes[d];
        from.data += from.stride_bytes[d];
    }
}

int array_copy(struct array *array, bool is_swapped) {
    wf_array *view = &array->view;
    int64_t nbytes = (int64_t)wf_type_nbytes(view->type), stride_bytes[WF_NDIM_MAX];
    char *copy = PyMem_Calloc((size_t)array_count(view), (size_t)nbytes);
    if (!copy) {
        PyErr_NoMemory();
        return -1;
    }
    contiguous_strides(view->ndim, view->shape, nbytes, stride_bytes);
    copy_strided((struct strided){copy, stride_bytes}, (struct strided){(char *)view->data, view->stride_bytes},
                 view->ndim, view->shape, (size_t)nbytes, is_swapped);
    PyMem_Free(array->copy);
    array->copy = copy;
    view->data = copy;
    memcpy(array->stride_bytes, stride_bytes, (size_t)view->ndim * sizeof *stride_bytes);
    array->is_read_only = true; /* what is written to it would be lost */
    return 0;
}

/* The first byte of the array's elements and the one after the last. */
static void find_extent(const wf_array *array, uintptr_t *begin, uintptr_t *end) {
    *begin = (uintptr_t)array->data;
    *end = *begin + wf_type_nbytes(array->type);
    for (int32_t d = 0; d < array->ndim; d++) {
        int64_t reach = (array->shape[d] - 1) * array->stride_bytes[d];
        *(reach < 0 ? begin : end) += (uintptr_t)reach;
    }
}

bool arrays_overlap(const wf_array *a, const wf_array *b) {
    uintptr_t a_begin, a_end, b_begin, b_end;
    if (!array_count(a) || !array_count(b)) return false;
    find_extent(a, &a_begin, &a_end);
    find_extent(b, &b_begin, &b_end);
    return a_begin < b_end && b_begin < a_end;
}
