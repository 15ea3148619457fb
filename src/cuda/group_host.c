/* Reductions by groups through host memory: arrays in the GPU's are copied there, the CPU reduces them, and the results
 * are copied back. */
#include "core/array.h"
#include "cuda/groups.h"

#include <stdlib.h>
#include <string.h>

/* A copy of all that lies between an array's first and last byte. */
struct image {
    unsigned char *bytes; /* NULL: the array is in host memory, or has no elements */
    wf_cuda_pointer device;
    size_t nbytes;
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

static wf_error copy_bytes(wf_handle *handle, struct image *image, int64_t before, int64_t behind) {
    struct wf_cuda *cuda = handle->device_state;
    image->nbytes = (size_t)(before + behind);
    image->bytes = malloc(image->nbytes);
    if (!image->bytes) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for %zu bytes of the GPU's", image->nbytes);
    wf_error error = WF_DRIVER_CALL(handle, MemcpyDtoHAsync, (image->bytes, image->device, image->nbytes, cuda->stream),
                                    "%zu bytes", image->nbytes);
    if (error) return error;
    return WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
}

/* Makes array one in host memory. */
static wf_error bring(wf_handle *handle, wf_array *array, struct image *image) {
    int64_t before, behind;
    bool is_host;
    if (!has_elements(array)) return WF_OK;
    wf_error error = wf_cuda_is_host(handle, array->data, &is_host);
    if (error || is_host) return error;
    find_extent(array, &before, &behind);
    image->device = (uintptr_t)array->data - (uint64_t)before;
    error = copy_bytes(handle, image, before, behind);
    array->data = image->bytes + before;
    return error;
}

static wf_error send_back(wf_handle *handle, const struct image *image) {
    struct wf_cuda *cuda = handle->device_state;
    wf_error error = WF_DRIVER_CALL(handle, MemcpyHtoDAsync, (image->device, image->bytes, image->nbytes, cuda->stream),
                                    "%zu bytes", image->nbytes);
    if (error) return error;
    return WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
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
    struct wf_cuda *cuda = handle->device_state;
    const int32_t status = (int32_t)result;
    wf_error error = WF_DRIVER_CALL(handle, MemcpyHtoDAsync,
                                    ((uintptr_t)output->status, &status, sizeof status, cuda->stream), "the status");
    if (error) return error;
    return WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
}

/* What is reduced, with copies of what is not in host memory. */
struct images {
    struct wf_grouped grouped;
    wf_array a, b, labels, results;
    wf_groups groups;
    wf_output output;
    struct image of_a, of_b, of_labels, of_results;
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

static wf_error bring_all(wf_handle *handle, struct images *here) {
    bool has_results = here->grouped.layout->count > 0;
    wf_error error = has_results ? bring(handle, &here->a, &here->of_a) : WF_OK;
    if (!error && has_results && here->grouped.b) error = bring(handle, &here->b, &here->of_b);
    if (!error && here->groups.labels) error = bring(handle, &here->labels, &here->of_labels);
    if (!error) error = bring(handle, &here->results, &here->of_results);
    here->output.data = (void *)(uintptr_t)here->results.data;
    return error;
}

/* Results that stay in the GPU's memory have their status there, too. */
static wf_error send_results(wf_handle *handle, const struct images *here, wf_error failure) {
    char why[WF_MESSAGE_NBYTES];
    bool is_status_host = true;
    wf_error error = WF_OK;
    memcpy(why, handle->message, sizeof why);
    if (here->of_results.bytes) error = send_back(handle, &here->of_results);
    if (!error && here->output.status) error = wf_cuda_is_host(handle, here->output.status, &is_status_host);
    if (!error && !is_status_host) error = send_status(handle, &here->output, failure);
    return error ? error : failure ? wf_fail(handle, failure, "%s", why) : WF_OK;
}

wf_error wf_cuda_reduce_groups_on_host(wf_handle *handle, const struct wf_grouped *grouped) {
    struct images here;
    begin(&here, grouped);
    wf_error error = bring_all(handle, &here);
    if (!error) error = send_results(handle, &here, reduce_copies(handle, &here.grouped));
    struct image *image[] = {&here.of_a, &here.of_b, &here.of_labels, &here.of_results};
    for (size_t i = 0; i < sizeof image / sizeof image[0]; i++) free(image[i]->bytes);
    return error;
}

/* ---- results of accumulators, which are in host memory ---- */

static void lay_out_results(const wf_array *to, const unsigned char *packed) {
    const size_t nbytes = wf_type_nbytes(to->type);
    int64_t at[WF_NDIM_MAX] = {0}, stride_bytes[WF_NDIM_MAX];
    int d;
    wf_array_strides(to, stride_bytes);
    do {
        unsigned char *place = (unsigned char *)(uintptr_t)to->data;
        for (d = 0; d < to->ndim; d++) place += at[d] * stride_bytes[d];
        memcpy(place, packed, nbytes);
        packed += nbytes;
        for (d = to->ndim - 1; d >= 0 && ++at[d] == to->shape[d]; d--) at[d] = 0;
    } while (d >= 0);
}

/* What lies between results is brought first, and sent back as it was. */
static wf_error send_array(wf_handle *handle, const wf_output *output, const void *results) {
    struct image image = {.bytes = NULL};
    wf_array to = wf_array_nd(output->data, output->type, output->ndim, output->shape, output->stride_bytes);
    wf_error error = bring(handle, &to, &image);
    if (!error && image.bytes) {
        lay_out_results(&to, results);
        error = send_back(handle, &image);
    }
    free(image.bytes);
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
