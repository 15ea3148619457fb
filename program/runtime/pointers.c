/* What is known of the memory that a pointer points to. */
#include "virtual.h"

static cudaError_t get_device_pointer(void **device, void *host) {
    const struct buffer *buffer = buffer_find((uintptr_t)host);
    if (!buffer || buffer->kind < BUFFER_MANAGED) return cudaErrorInvalidValue;
    *device = (void *)(uintptr_t)(buffer->device_address + ((uintptr_t)host - buffer->address));
    return cudaSuccess;
}

API cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    (void)flags;
    return CALL(get_device_pointer(device, host));
}

static cudaError_t get_flags(unsigned *flags, void *host) {
    enum { PORTABLE = 1, MAPPED = 2 };
    const struct buffer *buffer = buffer_find((uintptr_t)host);
    if (!buffer || buffer->kind < BUFFER_PINNED) return cudaErrorInvalidValue;
    *flags = PORTABLE | MAPPED;
    return cudaSuccess;
}

API cudaHostGetFlags(unsigned *flags, void *host) { return CALL(get_flags(flags, host)); }

static cudaError_t get_attributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    struct buffer found;
    const struct buffer *buffer = buffer_look((uintptr_t)pointer, &found) ? &found : NULL;
    void *given = (void *)(uintptr_t)pointer;
    *attributes = (struct cudaPointerAttributes){.device = buffer ? buffer->device : -2};
    if (!buffer) {
        attributes->hostPointer = given;
        return cudaSuccess;
    }
    bool is_device = buffer->kind <= BUFFER_VARIABLE;
    attributes->type = is_device                        ? cudaMemoryTypeDevice
                       : buffer->kind == BUFFER_MANAGED ? cudaMemoryTypeManaged
                                                        : cudaMemoryTypeHost;
    attributes->devicePointer = (void *)(uintptr_t)(buffer->device_address + ((uintptr_t)pointer - buffer->address));
    attributes->hostPointer = is_device ? NULL : given;
    return cudaSuccess;
}

API cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    return CALL_WITH(attributes, get_attributes(attributes, pointer));
}
