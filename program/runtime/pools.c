/* Pools, whose memory is any other: they count it, and tell which devices may access it.  What is freed goes back at once, but
 * is counted as reserved up to the pool's threshold. */
#include "pools.h"

#include <stdlib.h>
#include <string.h>

enum { FLAGS = 3 /* of reuse */, ACCESS_READ_WRITE = 3, ALLOCATION_PINNED = 1 };

struct CUmemPool_st {
    struct CUmemPool_st *next; /* of those that were created */
    int device;
    bool has_begun;
    int allows[FLAGS]; /* which changes nothing */
    uint64_t threshold, used, used_high, kept, kept_high;
    size_t nbytes_max; /* 0: any */
    uint32_t others;   /* devices that have access, besides the pool's and its peers: a bit for each */
};

static struct CUmemPool_st default_pools[SIMT_DEVICES], *created;
static struct CUmemPool_st *current[SIMT_DEVICES]; /* NULL: the default one */

static cudaMemPool_t find(cudaMemPool_t pool) {
    cudaMemPool_t known = created;
    if (pool >= default_pools && pool < default_pools + runtime.device_count) return pool;
    while (known && known != pool) known = known->next;
    return known;
}

static cudaMemPool_t begin(cudaMemPool_t pool, int device) {
    *pool = (struct CUmemPool_st){.device = device, .has_begun = true, .allows = {1, 1, 1}};
    return pool;
}

static cudaMemPool_t default_of(int device) {
    cudaMemPool_t pool = &default_pools[device];
    return pool->has_begun ? pool : begin(pool, device);
}

cudaMemPool_t pool_current(int device) { return current[device] ? current[device] : default_of(device); }

/* ---- the pools of each device -------------------------------------------------------------------- */

static cudaError_t get_pool(cudaMemPool_t *pool, int device, bool is_default) {
    cudaError_t error = device_check(device);
    if (error || !pool) return error ? error : cudaErrorInvalidValue;
    *pool = is_default ? default_of(device) : pool_current(device);
    return cudaSuccess;
}

static cudaError_t set_pool(int device, cudaMemPool_t pool) {
    if (device_check(device) || !find(pool) || pool->device != device) return cudaErrorInvalidValue;
    current[device] = pool;
    return cudaSuccess;
}

API cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) { return CALL(get_pool(pool, device, true)); }
API cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) { return CALL(get_pool(pool, device, false)); }
API cudaDeviceSetMemPool(int device, cudaMemPool_t pool) { return CALL(set_pool(device, pool)); }

static cudaError_t create(cudaMemPool_t *result, const struct cudaMemPoolProps *properties) {
    if (!result || !properties || properties->allocType != ALLOCATION_PINNED) return cudaErrorInvalidValue;
    if (properties->location.type != cudaMemLocationTypeDevice) return runtime_lacks("cudaMemPoolCreate of the host's memory");
    if (properties->handleTypes) return runtime_lacks("cudaMemPoolCreate of memory for other processes");
    cudaError_t error = device_check(properties->location.id);
    *result = error ? NULL : calloc(1, sizeof **result);
    if (!*result) return error ? error : cudaErrorMemoryAllocation;
    begin(*result, properties->location.id)->nbytes_max = properties->maxSize;
    (*result)->next = created;
    created = *result;
    return cudaSuccess;
}

/* What was allocated from it stays. */
static cudaError_t destroy(cudaMemPool_t pool) {
    cudaMemPool_t *place = &created;
    while (*place && *place != pool) place = &(*place)->next;
    if (!*place) return cudaErrorInvalidValue;
    *place = pool->next;
    if (current[pool->device] == pool) current[pool->device] = NULL;
    buffers_leave_pool(pool);
    free(pool);
    return cudaSuccess;
}

API cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties) {
    return CALL(create(pool, properties));
}

API cudaMemPoolDestroy(cudaMemPool_t pool) { return CALL(destroy(pool)); }

/* ---- what is allocated ---------------------------------------------------------------------------------- */

static void raise(uint64_t *high, uint64_t value) { *high = value > *high ? value : *high; }

static void trim(cudaMemPool_t pool, uint64_t nbytes) {
    if (pool->kept > nbytes) pool->kept = nbytes;
    raise(&pool->kept, pool->used);
}

void pool_take_back(cudaMemPool_t pool, size_t nbytes) {
    pool->used -= nbytes;
    trim(pool, pool->threshold);
}

bool pool_has_room(cudaMemPool_t pool, size_t nbytes) {
    return !pool->nbytes_max || (nbytes <= pool->nbytes_max && pool->used <= pool->nbytes_max - nbytes);
}

cudaError_t pool_give(cudaMemPool_t pool, const void *pointer, size_t nbytes) {
    pool->used += nbytes;
    raise(&pool->used_high, pool->used);
    raise(&pool->kept, pool->used);
    raise(&pool->kept_high, pool->kept);
    return runtime_error_of(simt_machine_share(runtime.machine, (uintptr_t)pointer, pool->others));
}

cudaError_t pool_find(cudaMemPool_t pool, int *device) {
    if (find(pool)) *device = pool->device;
    return find(pool) ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t trim_to(cudaMemPool_t pool, size_t nbytes) {
    if (!find(pool)) return cudaErrorInvalidValue;
    trim(pool, nbytes);
    return cudaSuccess;
}

API cudaMemPoolTrimTo(cudaMemPool_t pool, size_t nbytes) { return CALL(trim_to(pool, nbytes)); }

/* ---- attributes ---------------------------------------------------------------------------------- */

enum { POOL_FLAG_FIRST = 1, POOL_FLAG_LAST = 3, POOL_THRESHOLD, POOL_KEPT, POOL_KEPT_HIGH, POOL_USED, POOL_USED_HIGH };

/* Of the highest counts alone, and those become what there is now. */
static cudaError_t set_attribute(cudaMemPool_t pool, int attribute, const void *value) {
    uint64_t number = 0;
    if (!find(pool) || !value || attribute < POOL_FLAG_FIRST || attribute > POOL_USED_HIGH) return cudaErrorInvalidValue;
    if (attribute <= POOL_FLAG_LAST) {
        memcpy(&pool->allows[attribute - POOL_FLAG_FIRST], value, sizeof(int));
        return cudaSuccess;
    }
    memcpy(&number, value, sizeof number);
    if (attribute == POOL_THRESHOLD) {
        pool->threshold = number;
        return cudaSuccess;
    }
    if (number || (attribute != POOL_KEPT_HIGH && attribute != POOL_USED_HIGH)) return cudaErrorInvalidValue;
    if (attribute == POOL_KEPT_HIGH) pool->kept_high = pool->kept;
    else pool->used_high = pool->used;
    return cudaSuccess;
}

static cudaError_t get_attribute(cudaMemPool_t pool, int attribute, void *value) {
    if (!find(pool) || !value || attribute < POOL_FLAG_FIRST || attribute > POOL_USED_HIGH) return cudaErrorInvalidValue;
    const uint64_t numbers[] = {pool->threshold, pool->kept, pool->kept_high, pool->used, pool->used_high};
    if (attribute <= POOL_FLAG_LAST) memcpy(value, &pool->allows[attribute - POOL_FLAG_FIRST], sizeof(int));
    else memcpy(value, &numbers[attribute - POOL_THRESHOLD], sizeof *numbers);
    return cudaSuccess;
}

API cudaMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void *value) {
    return CALL(set_attribute(pool, attribute, value));
}

API cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void *value) {
    return CALL(get_attribute(pool, attribute, value));
}

/* ---- access -------------------------------------------------------------------------------------- */

static cudaError_t check_access(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count) {
    if (!find(pool) || (count && !access)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++) {
        if (access[i].location.type != cudaMemLocationTypeDevice) return runtime_lacks("cudaMemPoolSetAccess for the host");
        if (device_check(access[i].location.id)) return cudaErrorInvalidDevice;
        if (access[i].flags && access[i].flags != ACCESS_READ_WRITE) return cudaErrorInvalidValue;
        if (!access[i].flags && access[i].location.id == pool->device) return cudaErrorInvalidDevice;
    }
    return cudaSuccess;
}

/* For what there is, too. */
static cudaError_t set_access(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count) {
    cudaError_t error = check_access(pool, access, count);
    const struct buffer *buffer;
    for (size_t i = 0; i < count && !error; i++) {
        const uint32_t bit = UINT32_C(1) << access[i].location.id;
        pool->others = access[i].flags ? pool->others | bit : pool->others & ~bit;
    }
    for (size_t at = 0; !error && (buffer = buffer_next(&at));)
        if (buffer->pool == pool) error = runtime_error_of(simt_machine_share(runtime.machine, buffer->address, pool->others));
    return error;
}

API cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count) {
    return CALL(set_access(pool, access, count));
}

static cudaError_t get_access(int *flags, cudaMemPool_t pool, const struct cudaMemLocation *location) {
    if (!flags || !find(pool) || !location || location->type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
    if (device_check(location->id)) return cudaErrorInvalidDevice;
    const bool has_access = location->id == pool->device || pool->others >> location->id & 1;
    *flags = has_access ? ACCESS_READ_WRITE : 0;
    return cudaSuccess;
}

API cudaMemPoolGetAccess(int *flags, cudaMemPool_t pool, struct cudaMemLocation *location) {
    return CALL(get_access(flags, pool, location));
}
