/* Memory and events of other processes.  There is one process with this memory, so a handle can be made of what is its own, but
 * another process cannot open it, and this one must not: a GPU's driver answers the same. */
#include "runtime.h"

#include <string.h>
#include <unistd.h>

static const char mark[16] = "warpfold's own";

static cudaError_t get(struct cudaIpcHandle *handle, uint64_t address) {
    *handle = (struct cudaIpcHandle){.address = address, .process = getpid()};
    memcpy(handle->mark, mark, sizeof mark);
    return cudaSuccess;
}

static cudaError_t get_memory(struct cudaIpcHandle *handle, const void *pointer) {
    const struct buffer *buffer = buffer_find((uintptr_t)pointer);
    if (!handle || !buffer || buffer->kind != BUFFER_DEVICE || buffer->pool) {
        failures_because("handles for other processes are of memory from cudaMalloc alone");
        return cudaErrorInvalidValue;
    }
    return get(handle, buffer->address);
}

API cudaIpcGetMemHandle(struct cudaIpcHandle *handle, void *pointer) { return CALL(get_memory(handle, pointer)); }

static cudaError_t open_handle(struct cudaIpcHandle handle, const char *what) {
    if (memcmp(handle.mark, mark, sizeof mark) != 0) return cudaErrorInvalidValue;
    if (handle.process != getpid()) return runtime_lacks(what);
    failures_because("a handle is for other processes, and this one has made it");
    return cudaErrorDeviceUninitialized;
}

API cudaIpcOpenMemHandle(void **pointer, struct cudaIpcHandle handle, unsigned flags) {
    enum { LAZY_ENABLE_PEER_ACCESS = 1 };
    return CALL_WITH(pointer && flags == LAZY_ENABLE_PEER_ACCESS, open_handle(handle, "cudaIpcOpenMemHandle of another process's memory"));
}

/* None was opened. */
API cudaIpcCloseMemHandle(void *pointer) { return CALL(((void)pointer, cudaErrorInvalidValue)); }

API cudaIpcGetEventHandle(struct cudaIpcHandle *handle, cudaEvent_t event) {
    return CALL_WITH(handle, event_is_for_processes(event) ? get(handle, (uintptr_t)event) : cudaErrorInvalidResourceHandle);
}

API cudaIpcOpenEventHandle(cudaEvent_t *event, struct cudaIpcHandle handle) {
    return CALL_WITH(event, open_handle(handle, "cudaIpcOpenEventHandle of another process's event"));
}
