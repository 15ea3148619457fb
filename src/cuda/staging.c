/* Arrays that are not contiguous in the GPU's memory are copied or gathered there chunk by chunk; one chunk is
 * prepared while the kernel reads the other. */
#include "cuda/cuda.h"

#include <string.h>

/* ---- from the host ------------------------------------------------------------------------------- */

/* Copies at most limit elements, from `first` on, into the slot; sets *count to how many. */
static wf_error copy_in(wf_handle *handle, const struct wf_view *view, int64_t first, size_t limit, int slot,
                      size_t *count) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_cuda_slot *memory = &cuda->slot[slot];
    const unsigned char *data[2] = {NULL, NULL};
    wf_error error = wf_cuda_ensure_slot(handle, slot, view->operands, true);
    if (error) return error;
    *count = (size_t)wf_view_block(view, first, (int64_t)limit, limit, memory->host, data, wf_copy_strided);
    for (int o = 0; o < view->operands && !error; o++) {
        size_t nbytes = *count * view->nbytes;
        if (data[o] != memory->host[o]) memcpy(memory->host[o], data[o], nbytes);
        error = WF_DRIVER_CALL(handle, MemcpyHtoDAsync,
                               (memory->device[o], memory->host[o], nbytes, cuda->stream), "%zu bytes", nbytes);
    }
    return error;
}

/* ---- strided, on the GPU ------------------------------------------------------------------------- */

/* The argument of the kernel, as kernels/gather.cu declares it. */
struct gather {
    uint64_t from, to;
    int64_t first, count;
    int32_t ndim, unused;
    int64_t shape[WF_NDIM_MAX], stride_bytes[WF_NDIM_MAX];
};

static wf_error gather(wf_handle *handle, const struct wf_view *view, int64_t first, size_t limit, int slot,
                       size_t *count) {
    enum { BLOCK = 256 };
    struct wf_cuda *cuda = handle->device_state;
    struct wf_cuda_slot *memory = &cuda->slot[slot];
    wf_cuda_function function;
    wf_type type = view->nbytes == 1 ? WF_U8 : view->nbytes == 2 ? WF_U16 : view->nbytes == 4 ? WF_U32 : WF_U64;
    wf_error error = wf_cuda_ensure_slot(handle, slot, view->operands, false);
    if (!error)
        error = wf_kernels_named(handle, &cuda->gpu, &cuda->kernels, "kernels/gather.cu", type, WF_KERNEL_GATHER,
                                 &function);
    if (error) return error;
    *count = limit;
    for (int o = 0; o < view->operands && !error; o++) {
        struct gather task = {(uintptr_t)view->data[o], memory->device[o], first, (int64_t)limit, view->ndim, 0,
                              {0}, {0}};
        memcpy(task.shape, view->shape, sizeof task.shape);
        memcpy(task.stride_bytes, view->stride_bytes[o], sizeof task.stride_bytes);
        void *arguments[] = {&task};
        unsigned grid = (unsigned)((limit + BLOCK - 1) / BLOCK);
        error = WF_DRIVER_CALL(handle, LaunchKernel,
                               (function, grid, 1, 1, BLOCK, 1, 1, 0, cuda->stream, arguments, NULL),
                               "%zu strided elements", limit);
    }
    return error;
}

/* ---- both ---------------------------------------------------------------------------------------- */

static wf_error add_chunk(wf_handle *handle, struct wf_accumulator *into, const struct wf_view *view, int64_t first,
                          size_t count, int slot) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_cuda_slot *memory = &cuda->slot[slot];
    struct wf_cuda_range range = {memory->device[0], view->operands == 2 ? memory->device[1] : 0, (int64_t)count,
                                  into->end_index + first};
    if (into->tree) return wf_cuda_add_product(handle, into, &range);
    return wf_cuda_start(handle, into, &range, slot);
}

/* Waits, after an error, for kernels that still read the slots. */
static void drain(wf_handle *handle) {
    struct wf_cuda *cuda = handle->device_state;
    wf_driver_open(NULL, 0)->StreamSynchronize(cuda->stream);
    for (int i = 0; i < WF_CUDA_SLOTS; i++) cuda->slot[i].busy = false;
}

static wf_error add_all(wf_handle *handle, struct wf_accumulator *into, const struct wf_view *view, bool is_host) {
    struct wf_cuda *cuda = handle->device_state;
    size_t limit = (size_t)WF_CUDA_CHUNK_NBYTES / view->nbytes, count = 0;
    int slot = 0;
    for (int64_t first = 0; first < view->count; first += (int64_t)count, slot = (slot + 1) % WF_CUDA_SLOTS) {
        int64_t left = view->count - first;
        size_t wanted = left < (int64_t)limit ? (size_t)left : limit;
        wf_error error = cuda->slot[slot].busy ? wf_cuda_collect(handle, slot, into) : WF_OK;
        if (!error) error = (is_host ? copy_in : gather)(handle, view, first, wanted, slot, &count);
        if (!error) error = add_chunk(handle, into, view, first, count, slot);
        if (error) return error;
    }
    for (int i = 0; i < WF_CUDA_SLOTS; i++) {
        wf_error error = cuda->slot[i].busy ? wf_cuda_collect(handle, i, into) : WF_OK;
        if (error) return error;
    }
    return WF_OK;
}

wf_error wf_cuda_add_staged(wf_handle *handle, struct wf_accumulator *into, const struct wf_view *view,
                            bool is_host) {
    wf_error error = add_all(handle, into, view, is_host);
    if (error) drain(handle);
    return error;
}
