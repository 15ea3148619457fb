/* Memory that is allocated and freed in the order of a stream: at once, or by a node of the graph that captures it. */
#include "graphs.h"
#include "pools.h"

/* ---- allocating ---------------------------------------------------------------------------------- */

static cudaError_t allocate_plain(cudaMemPool_t pool, void **pointer, size_t nbytes) {
    if (!pool_has_room(pool, nbytes)) return cudaErrorMemoryAllocation;
    cudaError_t error = memory_allocate_in(pool, pointer, nbytes);
    return error || !*pointer ? error : pool_give(pool, *pointer, nbytes);
}

static cudaError_t allocate_in_graph(cudaStream_t stream, void **pointer, size_t nbytes) {
    struct operation *made;
    cudaError_t error = allocation_make_on(runtime_thread.device, pointer, nbytes, &made);
    return error ? error : graph_capture(made, stream);
}

static cudaError_t allocate_from(cudaMemPool_t pool, void **pointer, size_t nbytes, cudaStream_t stream) {
    const int current = runtime_thread.device;
    int device;
    if (!pointer || pool_find(pool, &device)) return cudaErrorInvalidValue;
    if (captures_bar_stream(stream)) return cudaErrorStreamCaptureImplicit;
    runtime_use(device);
    cudaError_t error = stream_is_captured(stream) ? allocate_in_graph(stream, pointer, nbytes)
                                                   : allocate_plain(pool, pointer, nbytes);
    runtime_use(current);
    return error;
}

API cudaMallocAsync(void **pointer, size_t nbytes, cudaStream_t stream) {
    return CALL(allocate_from(pool_current(runtime_thread.device), pointer, nbytes, stream));
}
ALSO(cudaMallocAsync, _ptsz)

API cudaMallocFromPoolAsync(void **pointer, size_t nbytes, cudaMemPool_t pool, cudaStream_t stream) {
    return CALL(allocate_from(pool, pointer, nbytes, stream));
}
ALSO(cudaMallocFromPoolAsync, _ptsz)

/* ---- freeing ------------------------------------------------------------------------------------- */

static cudaError_t free_in_graph(cudaStream_t stream, void *pointer) {
    struct operation *made;
    cudaError_t error = free_make(pointer, &made);
    return error ? error : graph_capture(made, stream);
}

/* The host does not wait, unless it may use the memory, too, which must not be watched any longer. */
static cudaError_t free_in(cudaStream_t stream, void *pointer) {
    if (stream_is_captured(stream)) return free_in_graph(stream, pointer);
    if (captures_bar_stream(stream)) return cudaErrorStreamCaptureImplicit;
    const struct buffer *buffer = buffer_find((uintptr_t)pointer);
    if (buffer) order_free(stream_order(stream), "cudaFreeAsync", buffer);
    if (buffer && buffer->kind != BUFFER_DEVICE) host_wait_all();
    return memory_free(pointer);
}

API cudaFreeAsync(void *pointer, cudaStream_t stream) { return CALL(free_in(stream, pointer)); }
ALSO(cudaFreeAsync, _ptsz)
