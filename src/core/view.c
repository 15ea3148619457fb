#include "core/view.h"
#include "core/array.h"
#include "core/strided.h"

#include <string.h>

/* Drops dimensions of length 1, but leaves one dimension at least. */
static void drop_single(struct wf_view *view) {
    int kept = 0;
    for (int d = 0; d < view->ndim; d++) {
        if (view->shape[d] == 1) continue;
        view->shape[kept] = view->shape[d];
        for (int o = 0; o < view->operands; o++) view->stride_bytes[o][kept] = view->stride_bytes[o][d];
        kept++;
    }
    if (kept == 0) {
        view->shape[0] = kept = 1;
        for (int o = 0; o < view->operands; o++) view->stride_bytes[o][0] = (int64_t)view->nbytes;
    }
    view->ndim = kept;
}

/* Makes negative strides positive: these dimensions are walked from their other end. */
static void flip_negative_strides(struct wf_view *view) {
    for (int d = 0; d < view->ndim; d++) {
        if (view->stride_bytes[0][d] >= 0) continue;
        for (int o = 0; o < view->operands; o++) {
            view->data[o] += (view->shape[d] - 1) * view->stride_bytes[o][d];
            view->stride_bytes[o][d] = -view->stride_bytes[o][d];
        }
    }
}

static void swap_dimensions(struct wf_view *view, int a, int b) {
    int64_t shape = view->shape[a];
    view->shape[a] = view->shape[b];
    view->shape[b] = shape;
    for (int o = 0; o < view->operands; o++) {
        int64_t stride = view->stride_bytes[o][a];
        view->stride_bytes[o][a] = view->stride_bytes[o][b];
        view->stride_bytes[o][b] = stride;
    }
}

/* Sorts the dimensions so that the smallest stride is innermost. */
static void sort_by_stride(struct wf_view *view) {
    for (int i = 1; i < view->ndim; i++)
        for (int d = i; d > 0 && view->stride_bytes[0][d - 1] < view->stride_bytes[0][d]; d--)
            swap_dimensions(view, d - 1, d);
}

static bool can_merge(const struct wf_view *view, int d) {
    for (int o = 0; o < view->operands; o++)
        if (view->stride_bytes[o][d] != view->shape[d + 1] * view->stride_bytes[o][d + 1]) return false;
    return true;
}

static void merge_dimensions(struct wf_view *view) {
    for (int d = view->ndim - 2; d >= 0; d--) {
        if (!can_merge(view, d)) continue;
        view->shape[d] *= view->shape[d + 1];
        view->shape[d + 1] = 1;
        for (int o = 0; o < view->operands; o++) view->stride_bytes[o][d] = view->stride_bytes[o][d + 1];
    }
    drop_single(view);
}

void wf_view_make(struct wf_view *view, const wf_array *a, const wf_array *b, bool keep_order) {
    view->ndim = wf_array_ndim(a);
    view->operands = b ? 2 : 1;
    view->nbytes = wf_type_nbytes(a->type);
    view->count = 1;
    view->positions = (struct wf_positions){NULL, false};
    view->data[0] = a->data;
    view->data[1] = b ? b->data : NULL;
    for (int d = 0; d < view->ndim; d++) {
        view->shape[d] = wf_array_length(a, d);
        view->count *= view->shape[d];
    }
    wf_array_strides(a, view->stride_bytes[0]);
    if (b) wf_array_strides(b, view->stride_bytes[1]);
    drop_single(view);
    if (!keep_order) {
        flip_negative_strides(view);
        sort_by_stride(view);
    }
    merge_dimensions(view);
}

/* Finds the index of element `first` in each dimension. */
static void locate(const struct wf_view *view, int64_t first, int64_t index[WF_NDIM_MAX]) {
    for (int d = view->ndim - 1; d > 0; d--) {
        index[d] = first % view->shape[d];
        first /= view->shape[d];
    }
    index[0] = first;
}

static const unsigned char *element_address(const struct wf_view *view, int o, const int64_t index[WF_NDIM_MAX]) {
    const unsigned char *data = view->data[o];
    for (int d = 0; d < view->ndim; d++) data += index[d] * view->stride_bytes[o][d];
    return data;
}

/* Advances by run elements of the innermost dimension, at most to its end. */
static void advance(const struct wf_view *view, int64_t index[WF_NDIM_MAX], int64_t run) {
    int d = view->ndim - 1;
    index[d] += run;
    for (; d > 0 && index[d] == view->shape[d]; d--) {
        index[d] = 0;
        index[d - 1]++;
    }
}

static void copy_rows(const struct wf_view *view, int o, int64_t index[WF_NDIM_MAX], size_t count,
                      unsigned char *buffer, wf_copy_strided_function *copy_strided) {
    int inner = view->ndim - 1;
    while (count) {
        int64_t left = view->shape[inner] - index[inner];
        size_t run = (int64_t)count < left ? count : (size_t)left;
        copy_strided(buffer, element_address(view, o, index), view->stride_bytes[o][inner], run, view->nbytes);
        advance(view, index, (int64_t)run);
        buffer += run * view->nbytes;
        count -= run;
    }
}

static void copy_one(unsigned char *to, const unsigned char *from, size_t nbytes) {
    switch (nbytes) {
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    default: memcpy(to, from, 8);
    }
}

static void copy_positions(const struct wf_view *view, int o, int64_t first, size_t count, unsigned char *buffer) {
    for (size_t i = 0; i < count; i++)
        copy_one(buffer + i * view->nbytes,
                 view->data[o] + wf_position(view->positions, first + (int64_t)i) * view->stride_bytes[o][0],
                 view->nbytes);
}

static int64_t copy_block_of_positions(const struct wf_view *view, int64_t first, size_t count,
                                       unsigned char *buffer[2], const unsigned char *data[2]) {
    for (int o = 0; o < view->operands; o++) {
        copy_positions(view, o, first, count, buffer[o]);
        data[o] = buffer[o];
    }
    return (int64_t)count;
}

bool wf_view_is_packed(const struct wf_view *view) {
    for (int o = 0; o < view->operands; o++)
        if (view->ndim != 1 || view->stride_bytes[o][0] != (int64_t)view->nbytes) return false;
    return true;
}

int64_t wf_view_block(const struct wf_view *view, int64_t first, int64_t limit, size_t capacity,
                      unsigned char *buffer[2], const unsigned char *data[2], wf_copy_strided_function *copy_strided) {
    enum { WORTHWHILE_RUN = 512 }; /* elements; shorter rows are gathered into whole blocks */
    int64_t index[WF_NDIM_MAX], copy[WF_NDIM_MAX];
    int inner = view->ndim - 1;
    bool contiguous = view->ndim == 1 || view->shape[inner] >= WORTHWHILE_RUN;
    for (int o = 0; o < view->operands; o++)
        contiguous &= view->stride_bytes[o][inner] == (int64_t)view->nbytes;
    if (view->positions.index)
        return copy_block_of_positions(view, first, limit < (int64_t)capacity ? (size_t)limit : capacity, buffer, data);
    locate(view, first, index);
    if (contiguous) {
        int64_t left = view->shape[inner] - index[inner];
        for (int o = 0; o < view->operands; o++) data[o] = element_address(view, o, index);
        return limit < left ? limit : left;
    }
    size_t count = limit < (int64_t)capacity ? (size_t)limit : capacity;
    for (int o = 0; o < view->operands; o++) {
        memcpy(copy, index, sizeof copy);
        copy_rows(view, o, copy, count, buffer[o], copy_strided);
        data[o] = buffer[o];
    }
    return (int64_t)count;
}

void wf_view_addresses(const struct wf_view *view, int o, int64_t first, size_t count, const unsigned char **address) {
    int64_t index[WF_NDIM_MAX];
    int inner = view->ndim - 1;
    if (view->positions.index) {
        for (size_t i = 0; i < count; i++)
            address[i] = view->data[o] + wf_position(view->positions, first + (int64_t)i) * view->stride_bytes[o][0];
        return;
    }
    locate(view, first, index);
    while (count) {
        int64_t left = view->shape[inner] - index[inner];
        size_t run = (int64_t)count < left ? count : (size_t)left;
        const unsigned char *from = element_address(view, o, index);
        for (size_t i = 0; i < run; i++) *address++ = from + (int64_t)i * view->stride_bytes[o][inner];
        advance(view, index, (int64_t)run);
        count -= run;
    }
}
