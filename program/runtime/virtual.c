/* The driver's virtual memory: addresses are reserved, memory is made, mapped there in whole pages, and opened to devices. */
#include "virtual.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"

enum { ALLOCATION_PINNED = 1, ACCESS_READ = 1, ACCESS_READ_WRITE = 3 };

typedef unsigned long long handle; /* CUmemGenericAllocationHandle: the memory's address */

/* CUmemAllocationProp */
struct properties {
    int type, handle_types;
    struct cudaMemLocation location;
    void *windows;
    unsigned char is_compressible, is_for_rdma;
    unsigned short usage;
    unsigned char reserved[4];
};

/* Memory, which is there until it is neither held by a handle nor mapped. */
struct memory {
    struct memory *next;
    simt_pages *pages;
    size_t nbytes, users;
    size_t handles;
    struct properties properties;
};

struct mapping {
    struct mapping *next;
    uint64_t address;
    size_t nbytes;
    struct memory *memory;
    uint32_t readers, writers; /* a bit for each device */
};

static struct memory *memories;
static struct mapping *mappings;

/* ---- memory -------------------------------------------------------------------------------------- */

static struct memory *memory_of(handle given) {
    struct memory *memory = memories;
    while (memory && (uintptr_t)memory != given) memory = memory->next;
    return memory && memory->handles ? memory : NULL;
}

static void let_go(struct memory *memory) {
    struct memory **place = &memories;
    if (--memory->users) return;
    while (*place != memory) place = &(*place)->next;
    *place = memory->next;
    runtime.devices[memory->properties.location.id].used_nbytes -= memory->nbytes;
    simt_pages_destroy(memory->pages);
    free(memory);
}

static cudaError_t check_properties(const struct properties *properties) {
    if (!properties || properties->type != ALLOCATION_PINNED) return cudaErrorInvalidValue;
    if (properties->location.type != cudaMemLocationTypeDevice) return runtime_lacks("cuMemCreate of the host's memory");
    if (properties->handle_types) return runtime_lacks("cuMemCreate of memory for other processes");
    return device_check(properties->location.id);
}

static cudaError_t create(handle *result, size_t nbytes, const struct properties *properties, unsigned long long flags) {
    cudaError_t error = check_properties(properties);
    if (error) return error;
    if (!result || flags || !nbytes || nbytes % SIMT_PAGE_NBYTES) return cudaErrorInvalidValue;
    struct device *device = &runtime.devices[properties->location.id];
    if (nbytes > runtime.memory_nbytes - device->used_nbytes) return cudaErrorMemoryAllocation;
    struct memory *memory = calloc(1, sizeof *memory);
    if (!memory || simt_pages_create(nbytes, &memory->pages)) {
        free(memory);
        return cudaErrorMemoryAllocation;
    }
    memory->nbytes = nbytes;
    memory->users = memory->handles = 1;
    memory->properties = *properties;
    memory->properties.is_compressible = 0; /* it is a hint */
    memory->next = memories;
    memories = memory;
    device->used_nbytes += nbytes;
    *result = (uintptr_t)memory;
    return cudaSuccess;
}

static cudaError_t release(handle given) {
    struct memory *memory = memory_of(given);
    if (!memory) return cudaErrorInvalidValue;
    memory->handles--;
    let_go(memory);
    return cudaSuccess;
}

void virtual_count_leaks(void) {
    for (const struct memory *memory = memories; memory; memory = memory->next) {
        runtime.record->leaks++;
        runtime.record->leaked_nbytes += memory->nbytes;
    }
}

/* ---- mapping ------------------------------------------------------------------------------------- */

static struct mapping *mapping_at(uint64_t address) {
    struct mapping *mapping = mappings;
    while (mapping && address - mapping->address >= mapping->nbytes) mapping = mapping->next;
    return mapping;
}

bool buffer_look(uint64_t address, struct buffer *found) {
    const struct buffer *buffer = buffer_find(address);
    if (buffer) *found = *buffer;
    if (!buffer || buffer->kind != BUFFER_RESERVED) return buffer;
    const struct mapping *mapping = mapping_at(address);
    if (!mapping) return false;
    found->address = found->device_address = mapping->address;
    found->nbytes = mapping->nbytes;
    found->device = mapping->memory->properties.location.id;
    return true;
}

static cudaError_t map(uint64_t address, size_t nbytes, size_t offset, handle given, unsigned long long flags) {
    struct memory *memory = memory_of(given);
    if (!memory || offset || flags || !nbytes || nbytes > memory->nbytes) return cudaErrorInvalidValue;
    struct mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping) return cudaErrorMemoryAllocation;
    const simt_error error = simt_machine_map_pages(runtime.machine, address, nbytes, memory->pages);
    if (error) {
        free(mapping);
        return runtime_error_of(error);
    }
    *mapping = (struct mapping){mappings, address, nbytes, memory, 0, 0};
    mappings = mapping;
    memory->users++;
    return cudaSuccess;
}

/* Whether the range is made of whole mappings, without a gap. */
static bool are_whole(uint64_t address, size_t nbytes) {
    const uint64_t end = address + nbytes;
    if (!nbytes || end < address) return false;
    for (const struct mapping *mapping; address < end; address += mapping->nbytes)
        if (!(mapping = mapping_at(address)) || mapping->address != address || mapping->nbytes > end - address) return false;
    return true;
}

static cudaError_t unmap(uint64_t address, size_t nbytes) {
    if (!are_whole(address, nbytes)) return cudaErrorInvalidValue;
    simt_error error = simt_machine_unmap_pages(runtime.machine, address, nbytes);
    for (struct mapping **place = &mappings, *mapping; !error && (mapping = *place);) {
        if (mapping->address - address >= nbytes) {
            place = &mapping->next;
            continue;
        }
        *place = mapping->next;
        let_go(mapping->memory);
        free(mapping);
    }
    return runtime_error_of(error);
}

/* ---- access -------------------------------------------------------------------------------------- */

static cudaError_t check_access(const struct cudaMemAccessDesc *access, size_t count) {
    if (!access || !count) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        if (access[i].flags && access[i].flags != ACCESS_READ && access[i].flags != ACCESS_READ_WRITE)
            return cudaErrorInvalidValue;
        if (access[i].location.type != cudaMemLocationTypeDevice) return runtime_lacks("cuMemSetAccess for the host");
        if (device_check(access[i].location.id)) return cudaErrorInvalidDevice;
    }
    return cudaSuccess;
}

static void set_bit(uint32_t *set, uint32_t bit, bool is_in) { *set = is_in ? *set | bit : *set & ~bit; }

/* Devices that are not named have what they had. */
static cudaError_t set_access(uint64_t address, size_t nbytes, const struct cudaMemAccessDesc *access, size_t count) {
    cudaError_t error = check_access(access, count);
    if (error || !are_whole(address, nbytes)) return error ? error : cudaErrorInvalidValue;
    for (struct mapping *mapping = mappings; mapping && !error; mapping = mapping->next) {
        if (mapping->address - address >= nbytes) continue;
        for (size_t i = 0; i < count; i++) {
            set_bit(&mapping->readers, UINT32_C(1) << access[i].location.id, access[i].flags >= ACCESS_READ);
            set_bit(&mapping->writers, UINT32_C(1) << access[i].location.id, access[i].flags == ACCESS_READ_WRITE);
        }
        error = runtime_error_of(simt_machine_protect_pages(runtime.machine, mapping->address, mapping->nbytes,
                                                            mapping->readers, mapping->writers));
    }
    return error;
}

static cudaError_t get_access(unsigned long long *flags, const struct cudaMemLocation *location, uint64_t address) {
    const struct mapping *mapping = mapping_at(address);
    if (!flags || !location || !mapping || location->type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
    if (device_check(location->id)) return cudaErrorInvalidDevice;
    const uint32_t bit = UINT32_C(1) << location->id;
    *flags = mapping->writers & bit ? ACCESS_READ_WRITE : mapping->readers & bit ? ACCESS_READ : 0;
    return cudaSuccess;
}

/* ---- addresses ----------------------------------------------------------------------------------- */

/* The address that is asked for is a hint. */
static cudaError_t reserve(CUdeviceptr *address, size_t nbytes, size_t alignment, unsigned long long flags) {
    const size_t alignment_max = (size_t)1 << 32;
    if (!address || !nbytes || nbytes % SIMT_PAGE_NBYTES || flags || alignment & (alignment - 1) || alignment > alignment_max)
        return cudaErrorInvalidValue;
    return memory_reserve_pages(address, nbytes);
}

static cudaError_t unreserve(uint64_t address, size_t nbytes) {
    for (const struct mapping *mapping = mappings; mapping; mapping = mapping->next)
        if (mapping->address - address < nbytes) return cudaErrorInvalidValue;
    return memory_unreserve(address, nbytes);
}

DRIVER cuMemAddressReserve(CUdeviceptr *address, size_t nbytes, size_t alignment, CUdeviceptr wanted,
                           unsigned long long flags) {
    (void)wanted;
    return DRIVE_BARE(CALL(reserve(address, nbytes, alignment, flags)));
}

DRIVER cuMemAddressFree(CUdeviceptr address, size_t nbytes) { return DRIVE_BARE(CALL_WAIT(unreserve(address, nbytes))); }

DRIVER cuMemCreate(handle *result, size_t nbytes, const struct properties *properties, unsigned long long flags) {
    return DRIVE_BARE(CALL(create(result, nbytes, properties, flags)));
}

DRIVER cuMemRelease(handle given) { return DRIVE_BARE(CALL(release(given))); }

DRIVER cuMemMap(CUdeviceptr address, size_t nbytes, size_t offset, handle given, unsigned long long flags) {
    return DRIVE_BARE(CALL(map(address, nbytes, offset, given, flags)));
}

DRIVER cuMemUnmap(CUdeviceptr address, size_t nbytes) { return DRIVE_BARE(CALL_WAIT(unmap(address, nbytes))); }

DRIVER cuMemSetAccess(CUdeviceptr address, size_t nbytes, const struct cudaMemAccessDesc *access, size_t count) {
    return DRIVE_BARE(CALL(set_access(address, nbytes, access, count)));
}

DRIVER cuMemGetAccess(unsigned long long *flags, const struct cudaMemLocation *location, CUdeviceptr address) {
    return DRIVE_BARE(CALL(get_access(flags, location, address)));
}

/* ---- questions ----------------------------------------------------------------------------------- */

static cudaError_t get_granularity(size_t *nbytes, const struct properties *properties, int option) {
    cudaError_t error = check_properties(properties);
    if (error || !nbytes || option < 0 || option > 1) return error ? error : cudaErrorInvalidValue;
    *nbytes = SIMT_PAGE_NBYTES;
    return cudaSuccess;
}

DRIVER cuMemGetAllocationGranularity(size_t *nbytes, const struct properties *properties, int option) {
    return DRIVE_BARE(CALL(get_granularity(nbytes, properties, option)));
}

static cudaError_t get_properties(struct properties *properties, handle given) {
    const struct memory *memory = memory_of(given);
    if (!memory || !properties) return cudaErrorInvalidValue;
    *properties = memory->properties;
    return cudaSuccess;
}

DRIVER cuMemGetAllocationPropertiesFromHandle(struct properties *properties, handle given) {
    return DRIVE_BARE(CALL(get_properties(properties, given)));
}

static cudaError_t retain(handle *result, const void *address) {
    const struct mapping *mapping = mapping_at((uintptr_t)address);
    if (!mapping || !result) return cudaErrorInvalidValue;
    mapping->memory->users++;
    mapping->memory->handles++;
    *result = (uintptr_t)mapping->memory;
    return cudaSuccess;
}

DRIVER cuMemRetainAllocationHandle(handle *result, void *address) { return DRIVE_BARE(CALL(retain(result, address))); }
