/* Memory of every kind. */
#include "pools.h"

#include <stdlib.h>
#include <string.h>

/* ---- buffers ------------------------------------------------------------------------------------- */

static bool is_counted(const struct buffer *buffer) {
    return buffer->kind == BUFFER_DEVICE || buffer->kind == BUFFER_MANAGED;
}

static void release(const struct buffer *buffer) {
    short_copies_tell(buffer);
    if (is_counted(buffer)) runtime.devices[buffer->device].used_nbytes -= buffer->nbytes;
    if (buffer->pool) pool_take_back(buffer->pool, buffer->nbytes);
    if (buffer->is_of_graph) runtime.devices[buffer->device].graph_used -= buffer->nbytes;
    simt_machine_free(runtime.machine, buffer->device_address);
    host_destroy_touched(buffer);
    free(buffer->hints);
    free(buffer->copies);
    buffer_remove(buffer);
}

/* ---- allocating ---------------------------------------------------------------------------------- */

static simt_error make(struct buffer *buffer) {
    void *shared = NULL;
    if (buffer->kind == BUFFER_DEVICE) {
        simt_error error = simt_machine_allocate(runtime.machine, buffer->nbytes, &buffer->device_address);
        buffer->address = buffer->device_address;
        return error;
    }
    simt_error error = simt_machine_allocate_shared(runtime.machine, buffer->nbytes, &shared);
    buffer->address = buffer->device_address = (uintptr_t)shared;
    return error;
}

static bool fits(size_t nbytes) { return nbytes <= runtime.memory_nbytes - device_current()->used_nbytes; }

static cudaError_t allocate(void **pointer, size_t nbytes, enum buffer_kind kind,
                            cudaMemPool_t pool) {
    struct buffer buffer = {.nbytes = nbytes, .kind = kind, .device = runtime_thread.device, .pool = pool};
    if (!pointer) return cudaErrorInvalidValue;
    *pointer = NULL;
    if (!nbytes) return cudaSuccess;
    if (is_counted(&buffer) && !fits(nbytes)) return cudaErrorMemoryAllocation;
    if (make(&buffer)) return cudaErrorMemoryAllocation;
    host_create_touched(&buffer);
    if (kind > BUFFER_VARIABLE) results_note_seen(); /* the host can use it, too */
    cudaError_t error = buffer_add(&buffer);
    if (error) {
        simt_machine_free(runtime.machine, buffer.device_address);
        host_destroy_touched(&buffer);
        return error;
    }
    if (is_counted(&buffer)) device_current()->used_nbytes += nbytes;
    *pointer = (void *)(uintptr_t)buffer.address;
    return cudaSuccess;
}

cudaError_t memory_reserve(void **pointer, size_t nbytes) {
    uint64_t address;
    if (!nbytes || nbytes > runtime.memory_nbytes) return nbytes ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
    if (simt_machine_reserve(runtime.machine, nbytes, &address)) return cudaErrorMemoryAllocation;
    *pointer = (void *)(uintptr_t)address;
    return cudaSuccess;
}

static void raise(size_t *high, size_t value) { *high = value > *high ? value : *high; }

cudaError_t memory_allocate_at(uint64_t address, size_t nbytes) {
    const struct buffer buffer = {.address = address, .nbytes = nbytes, .device_address = address, .kind = BUFFER_DEVICE,
                                  .device = runtime_thread.device, .is_of_graph = true};
    struct device *device = device_current();
    if (!fits(nbytes) || simt_machine_allocate_at(runtime.machine, address)) return cudaErrorMemoryAllocation;
    if (buffer_add(&buffer)) {
        simt_machine_free(runtime.machine, address);
        return cudaErrorMemoryAllocation;
    }
    device->used_nbytes += nbytes;
    device->graph_used += nbytes;
    raise(&device->graph_used_high, device->graph_used);
    raise(&device->graph_kept, device->graph_used);
    raise(&device->graph_kept_high, device->graph_kept);
    return cudaSuccess;
}

cudaError_t memory_reserve_pages(uint64_t *address, size_t nbytes) {
    struct buffer buffer = {.nbytes = nbytes, .kind = BUFFER_RESERVED, .device = runtime_thread.device};
    cudaError_t error = runtime_error_of(simt_machine_reserve_pages(runtime.machine, nbytes, &buffer.address));
    if (error) return error;
    buffer.device_address = *address = buffer.address;
    error = buffer_add(&buffer);
    if (error) simt_machine_free(runtime.machine, buffer.address);
    return error;
}

cudaError_t memory_unreserve(uint64_t address, size_t nbytes) {
    const struct buffer *buffer = buffer_find(address);
    if (!buffer || buffer->kind != BUFFER_RESERVED || buffer->address != address || buffer->nbytes != nbytes)
        return cudaErrorInvalidValue;
    release(buffer);
    return cudaSuccess;
}

API cudaMalloc(void **pointer, size_t nbytes) { return CALL_UNSAFE(allocate(pointer, nbytes, BUFFER_DEVICE, NULL)); }

cudaError_t memory_allocate_in(cudaMemPool_t pool, void **pointer, size_t nbytes) {
    return allocate(pointer, nbytes, BUFFER_DEVICE, pool);
}

API cudaMallocManaged(void **pointer, size_t nbytes, unsigned flags) {
    enum { GLOBAL = 1, HOST };
    return CALL_UNSAFE(nbytes && (flags == GLOBAL || flags == HOST) ? allocate(pointer, nbytes, BUFFER_MANAGED, NULL) : cudaErrorInvalidValue);
}

API cudaMallocHost(void **pointer, size_t nbytes) { return CALL_UNSAFE(allocate(pointer, nbytes, BUFFER_PINNED, NULL)); }

API cudaHostAlloc(void **pointer, size_t nbytes, unsigned flags) {
    enum { PORTABLE = 1, MAPPED = 2, WRITE_COMBINED = 4 };
    return CALL_UNSAFE(flags <= (PORTABLE | MAPPED | WRITE_COMBINED) ? allocate(pointer, nbytes, BUFFER_PINNED, NULL) : cudaErrorInvalidValue);
}

/* Rows begin where a GPU would let them begin. */
cudaError_t memory_allocate_rows(void **pointer, size_t *pitch, size_t width, size_t rows) {
    enum { PITCH = 512 };
    if (width > SIZE_MAX / 2 - PITCH) return cudaErrorMemoryAllocation;
    *pitch = (width + PITCH - 1) / PITCH * PITCH;
    if (rows && *pitch > SIZE_MAX / rows) return cudaErrorMemoryAllocation;
    return allocate(pointer, *pitch * rows, BUFFER_DEVICE, NULL);
}

API cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
    return CALL_UNSAFE(pitch ? memory_allocate_rows(pointer, pitch, width, height) : cudaErrorInvalidValue);
}

static cudaError_t allocate_planes(struct cudaPitchedPtr *result, struct cudaExtent extent) {
    if (extent.height && extent.depth > SIZE_MAX / extent.height) return cudaErrorMemoryAllocation;
    *result = (struct cudaPitchedPtr){.xsize = extent.width, .ysize = extent.height};
    return memory_allocate_rows(&result->ptr, &result->pitch, extent.width, extent.height * extent.depth);
}

API cudaMalloc3D(struct cudaPitchedPtr *result, struct cudaExtent extent) {
    return CALL_UNSAFE(result ? allocate_planes(result, extent) : cudaErrorInvalidValue);
}

/* ---- freeing ------------------------------------------------------------------------------------- */

/* buffer: what the pointer points into; NULL: nothing. */
static cudaError_t refuse_to_free(const void *pointer, const struct buffer *buffer) {
    if (!buffer) failures_because(buffer_freed_at((uintptr_t)pointer) ? "it is freed already" : "nothing is allocated there: is it memory of the host?");
    else if (buffer->address != (uintptr_t)pointer)
        failures_because("it is byte %zu of an allocation of %zu, which is freed by the address of its first byte",
                         (size_t)((uintptr_t)pointer - buffer->address), (size_t)buffer->nbytes);
    else
        failures_because("it is memory that %s frees", buffer->kind == BUFFER_PINNED ? "cudaFreeHost" : is_counted(buffer) ? "cudaFree" : "another call");
    return cudaErrorInvalidValue;
}

static cudaError_t free_buffer(void *pointer, bool is_pinned) {
    if (!pointer) return cudaSuccess;
    const struct buffer *buffer = buffer_find((uintptr_t)pointer);
    bool is_of_kind = buffer && (is_pinned ? buffer->kind == BUFFER_PINNED : is_counted(buffer));
    if (!is_of_kind || buffer->address != (uintptr_t)pointer) return refuse_to_free(pointer, buffer);
    release(buffer);
    return cudaSuccess;
}

cudaError_t memory_free(void *pointer) { return free_buffer(pointer, false); }

API cudaFree(void *pointer) {
    return pointer ? CALL_WAIT_UNSAFE(free_buffer(pointer, false)) : CALL_WAIT(cudaSuccess);
}

API cudaFreeHost(void *pointer) {
    return pointer ? CALL_WAIT_UNSAFE(free_buffer(pointer, true)) : CALL_WAIT(cudaSuccess);
}

/* What is the current device's.  Variables stay where they are, and have their initial values again. */
cudaError_t memory_clear(void) {
    host_wait_all();
    const struct buffer *buffer;
    for (size_t at = 0; (buffer = buffer_next(&at));) {
        const bool stays = buffer->kind == BUFFER_VARIABLE || buffer->kind == BUFFER_RESERVED || buffer->kind == BUFFER_MANAGED;
        if (stays || buffer->device != runtime_thread.device) continue;
        release(buffer);
        at--; /* where the next one is now */
    }
    return simt_machine_reset_variables(runtime.machine) ? cudaErrorMemoryAllocation : cudaSuccess;
}

void memory_count_leaks(void) {
    const struct buffer *buffer;
    for (size_t at = 0; (buffer = buffer_next(&at));) {
        if (buffer->kind != BUFFER_DEVICE) continue;
        runtime.record->leaks++;
        runtime.record->leaked_nbytes += buffer->nbytes;
    }
}

/* ---- memory of the host's ------------------------------------------------------------------------ */

static cudaError_t register_host(void *pointer, size_t nbytes) {
    struct buffer buffer = {.address = (uintptr_t)pointer,
                            .nbytes = nbytes,
                            .kind = BUFFER_REGISTERED,
                            .device = runtime_thread.device};
    if (!pointer || !nbytes) return cudaErrorInvalidValue;
    if (buffer_find(buffer.address) || buffer_find(buffer.address + nbytes - 1)) return cudaErrorHostMemoryAlreadyRegistered;
    if (simt_machine_adopt(runtime.machine, pointer, nbytes, &buffer.device_address)) return cudaErrorMemoryAllocation;
    results_note_seen();
    return buffer_add(&buffer);
}

static cudaError_t unregister_host(void *pointer) {
    const struct buffer *buffer = buffer_find((uintptr_t)pointer);
    if (!buffer || buffer->kind != BUFFER_REGISTERED) return cudaErrorHostMemoryNotRegistered;
    release(buffer);
    return cudaSuccess;
}

API cudaHostRegister(void *pointer, size_t nbytes, unsigned flags) {
    (void)flags;
    return CALL_UNSAFE(register_host(pointer, nbytes));
}

API cudaHostUnregister(void *pointer) { return CALL_WAIT_UNSAFE(unregister_host(pointer)); }

/* ---- questions ----------------------------------------------------------------------------------- */

static cudaError_t get_info(size_t *available, size_t *total) {
    *total = runtime.memory_nbytes;
    *available = runtime.memory_nbytes - device_current()->used_nbytes;
    return cudaSuccess;
}

API cudaMemGetInfo(size_t *available, size_t *total) { return CALL_WITH(available && total, get_info(available, total)); }

/* ---- memory of graphs ----------------------------------------------------------------------------------- */

/* What a cudaGraphMemAttributeType counts. */
static size_t *count_of(int attribute, int number) {
    struct device *device = &runtime.devices[number];
    size_t *const counts[] = {&device->graph_used, &device->graph_used_high, &device->graph_kept, &device->graph_kept_high};
    const bool is_known = attribute >= 0 && (size_t)attribute < sizeof counts / sizeof *counts;
    return is_known && !device_check(number) ? counts[attribute] : NULL;
}

static cudaError_t ask_graphs(int device, int attribute, void *value) {
    const size_t *count = count_of(attribute, device);
    if (count) memcpy(value, &(uint64_t){*count}, sizeof(uint64_t));
    return count ? cudaSuccess : cudaErrorInvalidValue;
}

API cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value) {
    return CALL_WITH(value, ask_graphs(device, attribute, value));
}

/* The highest counts alone may be set, to what there is now. */
static cudaError_t reset_graphs(int device, int attribute) {
    size_t *count = count_of(attribute, device);
    if (!count || attribute % 2 == 0) return cudaErrorInvalidValue;
    *count = *count_of(attribute - 1, device);
    return cudaSuccess;
}

API cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value) {
    (void)value;
    return CALL(reset_graphs(device, attribute));
}

static cudaError_t trim_graphs(int device) {
    if (device_check(device)) return cudaErrorInvalidDevice;
    runtime.devices[device].graph_kept = runtime.devices[device].graph_used;
    return cudaSuccess;
}

API cudaDeviceGraphMemTrim(int device) { return CALL(trim_graphs(device)); }
