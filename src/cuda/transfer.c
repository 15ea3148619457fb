#include "cuda/transfer.h"

#include <string.h>

/* ---- bytes ---- */

static wf_error wait_for_stream(wf_handle *handle) {
    const struct wf_cuda *cuda = handle->device_state;
    return WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
}

wf_error wf_cuda_bring(wf_handle *handle, void *to, wf_cuda_pointer from, size_t nbytes) {
    const struct wf_cuda *cuda = handle->device_state;
    wf_error error = WF_DRIVER_CALL(handle, MemcpyDtoHAsync, (to, from, nbytes, cuda->stream), "%zu bytes", nbytes);
    return error ? error : wait_for_stream(handle);
}

wf_error wf_cuda_send(wf_handle *handle, wf_cuda_pointer to, const void *from, size_t nbytes) {
    const struct wf_cuda *cuda = handle->device_state;
    wf_error error = WF_DRIVER_CALL(handle, MemcpyHtoDAsync, (to, from, nbytes, cuda->stream), "%zu bytes", nbytes);
    return error ? error : wait_for_stream(handle);
}

/* ---- host memory that stays ---- */

struct wf_pages wf_cuda_take_host(wf_handle *handle, size_t nbytes) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_pages pages = wf_pages_take(&cuda->kept, nbytes);
    if (!pages.at) wf_fail(handle, WF_ERROR_MEMORY, "no memory for %zu bytes of the GPU's", nbytes);
    return pages;
}

void wf_cuda_leave_host(wf_handle *handle, struct wf_pages pages) {
    struct wf_cuda *cuda = handle->device_state;
    wf_pages_leave(&cuda->kept, pages);
}

/* ---- arrays ---- */

enum { CHUNK_NBYTES = 1 << 22 }; /* of arrays with gaps, at a time */

static void unpack(const struct wf_view *view, int64_t first, int64_t count, const unsigned char *packed) {
    enum { BLOCK = 256 };
    const unsigned char *address[BLOCK];
    for (int64_t i = 0; i < count; i += BLOCK) {
        const size_t some = count - i < BLOCK ? (size_t)(count - i) : BLOCK;
        wf_view_addresses(view, 0, first + i, some, address);
        for (size_t j = 0; j < some; j++, packed += view->nbytes)
            memcpy((unsigned char *)(uintptr_t)address[j], packed, view->nbytes);
    }
}

void wf_cuda_unpack(const wf_array *to, const unsigned char *packed) {
    struct wf_view view;
    wf_view_make(&view, to, NULL, true);
    unpack(&view, 0, view.count, packed);
}

/* Memory for a chunk of the view, or all of it. */
static struct wf_pages take_chunk(wf_handle *handle, const struct wf_view *view) {
    const size_t nbytes = (size_t)view->count * view->nbytes;
    return wf_cuda_take_host(handle, nbytes < CHUNK_NBYTES ? nbytes : CHUNK_NBYTES);
}

wf_error wf_cuda_bring_array(wf_handle *handle, const wf_array *to, wf_cuda_pointer from) {
    struct wf_view view;
    wf_view_make(&view, to, NULL, true);
    if (wf_view_is_packed(&view))
        return wf_cuda_bring(handle, (void *)(uintptr_t)to->data, from, (size_t)view.count * view.nbytes);
    struct wf_pages pages = take_chunk(handle, &view);
    wf_error error = pages.at ? WF_OK : WF_ERROR_MEMORY;
    int64_t count;
    for (int64_t first = 0; !error && first < view.count; first += count) {
        count = (int64_t)(pages.nbytes / view.nbytes);
        if (count > view.count - first) count = view.count - first;
        error = wf_cuda_bring(handle, pages.at, from + (uint64_t)first * view.nbytes, (size_t)count * view.nbytes);
        if (!error) unpack(&view, first, count, pages.at);
    }
    wf_cuda_leave_host(handle, pages);
    return error;
}

wf_error wf_cuda_send_array(wf_handle *handle, wf_cuda_pointer to, const wf_array *from) {
    struct wf_view view;
    wf_view_make(&view, from, NULL, true);
    if (wf_view_is_packed(&view)) return wf_cuda_send(handle, to, from->data, (size_t)view.count * view.nbytes);
    struct wf_pages pages = take_chunk(handle, &view);
    wf_error error = pages.at ? WF_OK : WF_ERROR_MEMORY;
    int64_t count;
    for (int64_t first = 0; !error && first < view.count; first += count) {
        unsigned char *buffer[2] = {pages.at, NULL};
        const unsigned char *data[2] = {NULL, NULL};
        count = wf_view_block(&view, first, view.count - first, pages.nbytes / view.nbytes, buffer, data, wf_copy_strided);
        error = wf_cuda_send(handle, to + (uint64_t)first * view.nbytes, data[0], (size_t)count * view.nbytes);
    }
    wf_cuda_leave_host(handle, pages);
    return error;
}
