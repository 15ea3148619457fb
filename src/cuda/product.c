/* The product of floats on the GPU: the nodes of whole blocks there, what lies before and behind them here. */
#include "cuda/cuda.h"
#include "core/environment.h"
#include "cuda/kernels/product.h"

#include <string.h>

static const int64_t block_length = INT64_C(1) << PRODUCT_LEVEL;

/* Nodes that are brought at a time. */
#define NODES_MAX ((int64_t)(WF_CUDA_PIECE_NBYTES / 64))

/* Fewer elements than a block, by the CPU. */
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
    error = cuda->cpu.device->add(&cuda->cpu, into, &array, NULL, 1);
    into->end_index = end_index;
    return error ? wf_fail(handle, error, "%s", cuda->cpu.message) : WF_OK;
}

static wf_error launch(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range, int64_t blocks,
                       wf_cuda_pointer nodes, wf_cuda_pointer gathered) {
    enum { BLOCK = 256 };
    struct wf_cuda *cuda = handle->device_state;
    struct wf_product_task task = {range->x, range->index, nodes, gathered};
    void *arguments[] = {&task};
    wf_cuda_function function;
    wf_error error = wf_kernels_named(handle, &cuda->gpu, &cuda->kernels, "kernels/product.cu", into->type,
                                      WF_KERNEL_PRODUCT, &function);
    if (error) return error;
    return WF_DRIVER_CALL(handle, LaunchKernel,
                          (function, (unsigned)blocks, 1, 1, BLOCK, 1, 1, 0, cuda->stream, arguments, NULL),
                          "the prod of %lld elements", (long long)(blocks * block_length));
}

static void join(struct wf_accumulator *into, const struct wf_gathered *gathered, const struct wf_factor *node,
                 int64_t blocks) {
    wf_environment callers = wf_environment_enter();
    for (int64_t i = 0; i < blocks; i++) wf_product_append(&into->product, PRODUCT_LEVEL, node[i]);
    wf_environment_leave(callers);
    into->product.negative ^= (gathered->product_flags & WF_GATHERED_NEGATIVE) != 0;
    into->product.has_zero |= (gathered->product_flags & WF_GATHERED_ZERO) != 0;
    into->product.has_infinity |= (gathered->product_flags & WF_GATHERED_INFINITY) != 0;
    into->nan_count += (int64_t)gathered->nan_count;
    if ((int64_t)gathered->first_nan < into->first_nan) into->first_nan = (int64_t)gathered->first_nan;
}

/* Whole aligned blocks, at most NODES_MAX: what is gathered lies behind the nodes, and comes with them.  Pieces of
 * strided arrays lie in the slots' first buffers, so the nodes take the second ones. */
static wf_error add_blocks(wf_handle *handle, struct wf_accumulator *into, const struct wf_cuda_range *range,
                           int64_t blocks) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_cuda_slot *slot = &cuda->slot[0];
    size_t nodes_nbytes = (size_t)blocks * sizeof(struct wf_factor), nbytes = nodes_nbytes + sizeof(struct wf_gathered);
    wf_error error = wf_cuda_need_slot(handle, 0, 2, true);
    if (error) return error;
    wf_cuda_pointer gathered = slot->device[1] + nodes_nbytes;
    wf_gathered_clear(&cuda->outcome[0]);
    error = WF_DRIVER_CALL(handle, MemcpyHtoDAsync,
                           (gathered, &cuda->outcome[0], sizeof(struct wf_gathered), cuda->stream), "scratch memory");
    if (!error) error = launch(handle, into, range, blocks, slot->device[1], gathered);
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
