/* The product of floats: the GPU computes the tree's nodes of whole blocks, the CPU the elements before and after. */
#include "cuda/cuda.h"
#include "core/environment.h"
#include "cuda/kernels/product.h"

#include <string.h>

static const int64_t block_length = INT64_C(1) << PRODUCT_LEVEL;

/* Nodes copied to the host at a time. */
#define NODES_MAX ((int64_t)(WF_CUDA_CHUNK_NBYTES / 64))

/* Multiplies fewer elements than a block on the CPU. */
static wf_error add_few(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range) {
    struct wf_cuda *cuda = handle->device_state;
    size_t nbytes = (size_t)range->count * wf_type_nbytes(into->type);
    unsigned char elements[sizeof(double) << PRODUCT_LEVEL];
    if (!range->count) return WF_OK;
    wf_error error = WF_DRIVER_CALL(handle, MemcpyDtoHAsync, (elements, range->x, nbytes, cuda->stream), "%zu bytes",
                                    nbytes);
    if (!error) error = WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
    if (error) return error;
    wf_array array = wf_array_vector(elements, into->type, range->count);
    int64_t end_index = into->end_index;
    into->end_index = range->index;
    error = cuda->cpu.device->add(&cuda->cpu, into, &array, NULL);
    into->end_index = end_index;
    return error ? wf_fail(handle, error, "%s", cuda->cpu.message) : WF_OK;
}

static wf_error launch(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range, int64_t blocks,
                       wf_cuda_pointer nodes, wf_cuda_pointer partial) {
    enum { BLOCK = 256 };
    struct wf_cuda *cuda = handle->device_state;
    struct wf_product_task task = {range->x, range->index, nodes, partial};
    void *arguments[] = {&task};
    wf_cuda_function function;
    wf_error error = wf_kernels_named(handle, &cuda->gpu, &cuda->kernels, "kernels/product.cu", into->type,
                                      WF_KERNEL_PRODUCT, &function);
    if (error) return error;
    return WF_DRIVER_CALL(handle, LaunchKernel,
                          (function, (unsigned)blocks, 1, 1, BLOCK, 1, 1, 0, cuda->stream, arguments, NULL),
                          "the prod of %lld elements", (long long)(blocks * block_length));
}

static void join(struct wf_accumulator *into, const struct wf_partial *partial, const struct wf_factor *node,
                 int64_t blocks) {
    wf_environment callers = wf_environment_enter();
    for (int64_t i = 0; i < blocks; i++) wf_tree_append(into->tree, PRODUCT_LEVEL, node[i]);
    wf_environment_leave(callers);
    wf_partial_merge(&into->partial, partial, into->type, into->parts);
}

/* Multiplies whole aligned blocks, at most NODES_MAX.  Their partial lies after the nodes, so that one copy brings
 * both.  The nodes take the slots' second buffers, as chunks of strided arrays lie in the first ones. */
static wf_error add_blocks(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range,
                           int64_t blocks) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_cuda_slot *slot = &cuda->slot[0];
    size_t nodes_nbytes = (size_t)blocks * sizeof(struct wf_factor), nbytes = nodes_nbytes + sizeof(struct wf_partial);
    wf_error error = wf_cuda_ensure_slot(handle, 0, 2, true);
    if (error) return error;
    wf_cuda_pointer partial = slot->device[1] + nodes_nbytes;
    wf_partial_clear_all(&cuda->host_partials[0]);
    error = WF_DRIVER_CALL(handle, MemcpyHtoDAsync,
                           (partial, &cuda->host_partials[0], sizeof(struct wf_partial), cuda->stream), "scratch memory");
    if (!error) error = launch(handle, into, range, blocks, slot->device[1], partial);
    if (!error)
        error = WF_DRIVER_CALL(handle, MemcpyDtoHAsync, (slot->host[1], slot->device[1], nbytes, cuda->stream),
                               "%zu bytes", nbytes);
    if (!error) error = WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
    if (error) return error;
    join(into, (const void *)(slot->host[1] + nodes_nbytes), (const void *)slot->host[1], blocks);
    return WF_OK;
}

static struct wf_cuda_range part_of(const struct wf_cuda_range *range, size_t nbytes, int64_t begin, int64_t count) {
    return (struct wf_cuda_range){range->x + (uint64_t)begin * nbytes, 0, count, range->index + begin};
}

wf_error wf_cuda_add_product(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range) {
    size_t nbytes = wf_type_nbytes(into->type);
    int64_t before = (block_length - range->index % block_length) % block_length;
    if (before > range->count) before = range->count;
    struct wf_cuda_range part = part_of(range, nbytes, 0, before);
    wf_error error = add_few(handle, into, &part);
    int64_t done = before;
    while (!error && range->count - done >= block_length) {
        int64_t blocks = (range->count - done) / block_length;
        if (blocks > NODES_MAX) blocks = NODES_MAX;
        part = part_of(range, nbytes, done, blocks * block_length);
        error = add_blocks(handle, into, &part, blocks);
        done += blocks * block_length;
    }
    if (error) return error;
    part = part_of(range, nbytes, done, range->count - done);
    return add_few(handle, into, &part);
}
