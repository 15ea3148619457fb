/* Reductions by groups through host memory: arrays in the GPU's are copied there, the CPU reduces them, and the results
 * are copied back. */
#include "core/array.h"
#include "cuda/groups.h"
#include "cuda/transfer.h"

#include <string.h>

/* A copy of all that lies between an array's first and last byte. */
struct image {
    size_t nbytes; /* 0: the array is in host memory, or has no elements */
    int64_t before; /* bytes, of the first element */
    wf_cuda_pointer device;
    unsigned char *bytes;
};

/* The bytes before and after the first element that elements take. */
static void find_extent(const wf_array *array, int64_t *before, int64_t *behind) {
    int64_t stride_bytes[WF_NDIM_MAX];
    wf_array_strides(array, stride_bytes);
    *before = 0;
    *behind = (int64_t)wf_type_nbytes(array->type);
    for (int d = 0; d < wf_array_ndim(array); d++) {
        int64_t farthest = (wf_array_length(array, d) - 1) * stride_bytes[d];
        *(farthest < 0 ? before : behind) += farthest < 0 ? -farthest : farthest;
    }
}

static bool has_elements(const wf_array *array) {
    for (int d = 0; d < wf_array_ndim(array); d++)
        if (wf_array_length(array, d) == 0) return false;
    return true;
}

/* An image of array, of which nothing has been copied. */
static wf_error find_image(wf_handle *handle, const wf_array *array, struct image *image) {
    int64_t behind;
    bool is_host;
    *image = (struct image){.nbytes = 0};
    if (!has_elements(array)) return WF_OK;
    wf_error error = wf_cuda_is_host(handle, array->data, &is_host);
    if (error || is_host) return error;
    find_extent(array, &image->before, &behind);
    image->device = (uintptr_t)array->data - (uint64_t)image->before;
    image->nbytes = (size_t)(image->before + behind);
    return WF_OK;
}

/* Makes array the image. */
static wf_error bring(wf_handle *handle, wf_array *array, struct image *image, unsigned char *bytes) {
    image->bytes = bytes;
    array->data = bytes + image->before;
    return wf_cuda_bring(handle, bytes, image->device, image->nbytes);
}

static wf_error send_back(wf_handle *handle, const struct image *image) {
    return wf_cuda_send(handle, image->device, image->bytes, image->nbytes);
}

static wf_error reduce_copies(wf_handle *handle, const struct wf_grouped *grouped) {
    struct wf_cuda *cuda = handle->device_state;
    wf_handle *cpu = &cuda->cpu;
    cpu->threads = handle->threads;
    wf_error error = cpu->device->reduce_groups(cpu, grouped);
    return error ? wf_fail(handle, error, "%s", cpu->message) : WF_OK;
}

/* The status of results that stay in the GPU's memory. */
static wf_error send_status(wf_handle *handle, const wf_output *output, wf_error result) {
    const int32_t status = (int32_t)result;
    return wf_cuda_send(handle, (uintptr_t)output->status, &status, sizeof status);
}

enum { OF_A, OF_B, OF_LABELS, OF_RESULTS, IMAGES };

/* What is reduced, with copies of what is not in host memory. */
struct images {
    struct wf_grouped grouped;
    wf_array a, b, labels, results;
    wf_groups groups;
    wf_output output;
    struct image image[IMAGES];
    struct wf_pages pages; /* of all images */
};

static void begin(struct images *here, const struct wf_grouped *grouped) {
    const wf_output *output = grouped->output;
    *here = (struct images){.grouped = *grouped, .a = *grouped->a, .groups = *grouped->groups, .output = *output};
    here->results = wf_array_nd(output->data, grouped->result_type, output->ndim, output->shape, output->stride_bytes);
    here->grouped.a = &here->a;
    here->grouped.groups = &here->groups;
    here->grouped.output = &here->output;
    if (grouped->b) here->b = *grouped->b;
    if (grouped->b) here->grouped.b = &here->b;
    if (here->groups.labels) here->labels = *here->groups.labels;
    if (here->groups.labels) here->groups.labels = &here->labels;
}

static size_t align(size_t nbytes) {
    return (nbytes + 63) / 64 * 64;
}

static wf_error bring_all(wf_handle *handle, struct images *here) {
    const bool has_results = here->grouped.layout->count > 0;
    wf_array *array[IMAGES] = {has_results ? &here->a : NULL, has_results && here->grouped.b ? &here->b : NULL,
                               here->groups.labels ? &here->labels : NULL, &here->results};
    wf_error error = WF_OK;
    size_t nbytes = 0;
    for (int i = 0; i < IMAGES && !error; i++) {
        if (array[i]) error = find_image(handle, array[i], &here->image[i]);
        nbytes += align(here->image[i].nbytes);
    }
    if (error || !nbytes) return error;
    here->pages = wf_cuda_take_host(handle, nbytes);
    if (!here->pages.at) return WF_ERROR_MEMORY;
    unsigned char *at = here->pages.at;
    for (int i = 0; i < IMAGES && !error; at += align(here->image[i++].nbytes))
        if (here->image[i].nbytes) error = bring(handle, array[i], &here->image[i], at);
    here->output.data = (void *)(uintptr_t)here->results.data;
    return error;
}

/* Results that stay in the GPU's memory have their status there, too. */
static wf_error send_results(wf_handle *handle, const struct images *here, wf_error failure) {
    char why[WF_MESSAGE_NBYTES];
    bool is_status_host = true;
    wf_error error = WF_OK;
    memcpy(why, handle->message, sizeof why);
    if (here->image[OF_RESULTS].nbytes) error = send_back(handle, &here->image[OF_RESULTS]);
    if (!error && here->output.status) error = wf_cuda_is_host(handle, here->output.status, &is_status_host);
    if (!error && !is_status_host) error = send_status(handle, &here->output, failure);
    return error ? error : failure ? wf_fail(handle, failure, "%s", why) : WF_OK;
}

wf_error wf_cuda_reduce_groups_on_host(wf_handle *handle, const struct wf_grouped *grouped) {
    struct images here;
    begin(&here, grouped);
    wf_error error = bring_all(handle, &here);
    if (!error) error = send_results(handle, &here, reduce_copies(handle, &here.grouped));
    wf_cuda_leave_host(handle, here.pages);
    return error;
}

/* ---- results of accumulators, which are in host memory ---- */

/* What lies between results is brought first, and sent back as it was. */
static wf_error send_array(wf_handle *handle, const wf_output *output, const void *results) {
    wf_array to = wf_array_nd(output->data, output->type, output->ndim, output->shape, output->stride_bytes);
    struct image image;
    wf_error error = find_image(handle, &to, &image);
    if (error || !image.nbytes) return error;
    struct wf_pages pages = wf_cuda_take_host(handle, image.nbytes);
    error = pages.at ? bring(handle, &to, &image, pages.at) : WF_ERROR_MEMORY;
    if (!error) {
        wf_cuda_unpack(&to, results);
        error = send_back(handle, &image);
    }
    wf_cuda_leave_host(handle, pages);
    return error;
}

wf_error wf_cuda_send_results(wf_handle *handle, const wf_output *output, const void *results, wf_error status) {
    const struct wf_cuda *cuda = handle->device_state;
    bool is_status_host = false;
    wf_error error = wf_gpu_enter(handle, &cuda->gpu);
    if (error) return error;
    if (output->status) error = wf_cuda_is_host(handle, output->status, &is_status_host);
    if (!error && is_status_host)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "the status must be in device memory if the results are");
    if (!error && results) error = send_array(handle, output, results);
    if (!error && output->status) error = send_status(handle, output, status);
    wf_gpu_leave(&cuda->gpu);
    return error;
}
