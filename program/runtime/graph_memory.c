/* Nodes of graphs that allocate and free memory.  Its address is known when the node is made; before the node has run, and
 * after it was freed, it is freed memory. */
#include "graphs.h"

struct allocating {
    struct operation operation;
    uint64_t address;
    size_t nbytes;
    int device;
};

static cudaError_t run_allocation(const struct operation *operation) {
    const struct allocating *allocating = (const struct allocating *)operation;
    const int current = runtime_thread.device;
    if (buffer_find(allocating->address)) return cudaErrorInvalidValue; /* of an earlier launch, and not freed since */
    runtime_use(allocating->device);
    cudaError_t error = memory_allocate_at(allocating->address, allocating->nbytes);
    runtime_use(current);
    return error;
}

cudaError_t allocation_make_on(int device, void **pointer, size_t nbytes, struct operation **made) {
    cudaError_t error = memory_reserve(pointer, nbytes);
    const struct allocating allocating = {
        {NODE_ALLOCATE, sizeof allocating, run_allocation}, error ? 0 : (uintptr_t)*pointer, nbytes, device};
    return error ? error : operation_keep(&allocating.operation, made);
}

cudaError_t allocation_make(struct cudaMemAllocNodeParams *params, struct operation **made) {
    if (!params || params->poolProps.location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
    if (device_check(params->poolProps.location.id)) return cudaErrorInvalidDevice;
    return allocation_make_on(params->poolProps.location.id, &params->dptr, params->bytesize, made);
}

void allocation_let_go(const struct operation *operation) {
    const struct allocating *allocating = (const struct allocating *)operation;
    if (buffer_find(allocating->address)) memory_free((void *)(uintptr_t)allocating->address);
}

struct freeing {
    struct operation operation;
    void *pointer;
};

static cudaError_t run_free(const struct operation *operation) {
    return memory_free(((const struct freeing *)operation)->pointer);
}

cudaError_t free_make(void *pointer, struct operation **made) {
    const struct freeing freeing = {{NODE_FREE, sizeof freeing, run_free}, pointer};
    return pointer ? operation_keep(&freeing.operation, made) : cudaErrorInvalidValue;
}

cudaError_t allocation_tell(const struct operation *operation, struct cudaMemAllocNodeParams *params) {
    const struct allocating *allocating = (const struct allocating *)operation;
    *params = (struct cudaMemAllocNodeParams){
        .poolProps = {.allocType = 1, .location = {cudaMemLocationTypeDevice, allocating->device}},
        .bytesize = allocating->nbytes,
        .dptr = (void *)(uintptr_t)allocating->address};
    return cudaSuccess;
}

cudaError_t free_tell(const struct operation *operation, void **pointer) {
    *pointer = ((const struct freeing *)operation)->pointer;
    return cudaSuccess;
}
