/* The driver itself: errors, devices, contexts, and functions by their names. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- contexts of each thread --------------------------------------------------------------------- */

/* All contexts share the one device's memory and streams. */
struct CUctx_st {
    unsigned flags, users;
    unsigned long long number;
};

enum { STACK = 64 };

static bool is_initialised;
static struct CUctx_st primary = {.number = 1};
static _Thread_local CUcontext stack[STACK];
static _Thread_local int depth;
static _Thread_local struct thread kept;

CUcontext driver_context(void) {
    if (depth) return stack[depth - 1];
    return runtime_thread.has_called ? &primary : NULL;
}

bool driver_begin(bool needs_context) {
    kept = runtime_thread;
    return __atomic_load_n(&is_initialised, __ATOMIC_ACQUIRE) && (!needs_context || driver_context());
}

cudaError_t driver_refusal(void) {
    return is_initialised ? cudaErrorDeviceUninitialized : cudaErrorInitializationError;
}

/* The runtime tells some things apart that are one to the driver. */
static int result_of(cudaError_t error) {
    switch (error) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidMemcpyDirection:
    case cudaErrorMissingConfiguration: return cudaErrorInvalidValue;
    case cudaErrorInvalidSymbol:
    case cudaErrorInvalidDeviceFunction: return cudaErrorSymbolNotFound;
    default: return (int)error;
    }
}

int driver_end(cudaError_t error) {
    runtime_thread = kept;
    return result_of(error);
}

static cudaError_t initialise(unsigned flags) {
    if (flags) return cudaErrorInvalidValue;
    kept = runtime_thread;
    cudaError_t error = CALL(cudaSuccess);
    if (!error) __atomic_store_n(&is_initialised, true, __ATOMIC_RELEASE);
    return error;
}

DRIVER cuInit(unsigned flags) { return driver_end(initialise(flags)); }

DRIVER cuDriverGetVersion(int *version) {
    kept = runtime_thread;
    return driver_end(cudaRuntimeGetVersion(version));
}

/* ---- errors -------------------------------------------------------------------------------------- */

/* Names of the errors that the driver gives here; their texts are the runtime's. */
#define RESULTS(X)                                                                                                 \
    X(0, "CUDA_SUCCESS") X(1, "CUDA_ERROR_INVALID_VALUE") X(2, "CUDA_ERROR_OUT_OF_MEMORY")                         \
    X(3, "CUDA_ERROR_NOT_INITIALIZED") X(100, "CUDA_ERROR_NO_DEVICE") X(101, "CUDA_ERROR_INVALID_DEVICE")          \
    X(200, "CUDA_ERROR_INVALID_IMAGE") X(201, "CUDA_ERROR_INVALID_CONTEXT")                                        \
    X(209, "CUDA_ERROR_NO_BINARY_FOR_GPU") X(215, "CUDA_ERROR_UNSUPPORTED_LIMIT") X(218, "CUDA_ERROR_INVALID_PTX") \
    X(301, "CUDA_ERROR_FILE_NOT_FOUND") X(400, "CUDA_ERROR_INVALID_HANDLE") X(401, "CUDA_ERROR_ILLEGAL_STATE")     \
    X(500, "CUDA_ERROR_NOT_FOUND") X(600, "CUDA_ERROR_NOT_READY") X(700, "CUDA_ERROR_ILLEGAL_ADDRESS")             \
    X(701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES") X(702, "CUDA_ERROR_LAUNCH_TIMEOUT")                               \
    X(704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED") X(705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED")                  \
    X(710, "CUDA_ERROR_ASSERT") X(712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED")                                \
    X(713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED") X(715, "CUDA_ERROR_ILLEGAL_INSTRUCTION")                       \
    X(716, "CUDA_ERROR_MISALIGNED_ADDRESS") X(719, "CUDA_ERROR_LAUNCH_FAILED")                                     \
    X(720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE") X(801, "CUDA_ERROR_NOT_SUPPORTED")                           \
    X(900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED")                                                                       \
    X(912, "CUDA_ERROR_INVALID_CLUSTER_SIZE") X(999, "CUDA_ERROR_UNKNOWN")

static const char *name_of(int result) {
    switch (result) {
#define NAME(number, name)                                                                                         \
    case number: return name;
        RESULTS(NAME)
#undef NAME
    default: return NULL;
    }
}

const char *cudaGetErrorString(cudaError_t error);

DRIVER cuGetErrorName(int result, const char **name) {
    *name = name_of(result);
    return *name ? cudaSuccess : cudaErrorInvalidValue;
}

DRIVER cuGetErrorString(int result, const char **text) {
    *text = name_of(result) ? cudaGetErrorString((cudaError_t)result) : NULL;
    return *text ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- devices ------------------------------------------------------------------------------------- */

static cudaError_t check_device(int device) { return device ? cudaErrorInvalidDevice : cudaSuccess; }

static cudaError_t get_device(int *result, int device) {
    *result = device;
    return check_device(device);
}

DRIVER cuDeviceGetCount(int *count) { return DRIVE_BARE(cudaGetDeviceCount(count)); }
DRIVER cuDeviceGet(int *result, int ordinal) { return DRIVE_BARE(get_device(result, ordinal)); }

DRIVER cuDeviceGetAttribute(int *value, int attribute, int device) {
    return DRIVE_BARE(cudaDeviceGetAttribute(value, attribute, device));
}

static cudaError_t get_name(char *name, int capacity, int device) {
    if (capacity > 0) snprintf(name, (size_t)capacity, "%s", runtime.gpu->name);
    return check_device(device);
}

DRIVER cuDeviceGetName(char *name, int capacity, int device) { return DRIVE_BARE(get_name(name, capacity, device)); }

static cudaError_t get_memory(size_t *nbytes, int device) {
    *nbytes = runtime.memory_nbytes;
    return check_device(device);
}

DRIVER cuDeviceTotalMem_v2(size_t *nbytes, int device) { return DRIVE_BARE(get_memory(nbytes, device)); }

static cudaError_t get_uuid(char uuid[16], int device) {
    memcpy(uuid, "warpfold's GPU 0", 16);
    return check_device(device);
}

DRIVER cuDeviceGetUuid_v2(char *uuid, int device) { return DRIVE_BARE(get_uuid(uuid, device)); }
ALSO(cuDeviceGetUuid_v2, _ptsz)

DRIVER cuDeviceGetPCIBusId(char *text, int capacity, int device) {
    return DRIVE_BARE(cudaDeviceGetPCIBusId(text, capacity, device));
}

static cudaError_t get_capability(int *major, int *minor, int device) {
    *major = runtime.gpu->major;
    *minor = runtime.gpu->minor;
    return check_device(device);
}

DRIVER cuDeviceComputeCapability(int *major, int *minor, int device) {
    return DRIVE_BARE(get_capability(major, minor, device));
}

DRIVER cuDeviceCanAccessPeer(int *can, int device, int peer) {
    *can = 0;
    return DRIVE_BARE(device || peer ? cudaErrorInvalidDevice : cudaSuccess);
}

DRIVER cuDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    return DRIVE_BARE(cudaDeviceGetDefaultMemPool(pool, device));
}

DRIVER cuDeviceGetMemPool(cudaMemPool_t *pool, int device) { return DRIVE_BARE(cudaDeviceGetMemPool(pool, device)); }
DRIVER cuDeviceSetMemPool(int device, cudaMemPool_t pool) { return DRIVE_BARE(cudaDeviceSetMemPool(device, pool)); }

/* ---- contexts ------------------------------------------------------------------------------------ */

static cudaError_t retain(CUcontext *context, int device) {
    if (device) return cudaErrorInvalidDevice;
    __atomic_add_fetch(&primary.users, 1, __ATOMIC_RELAXED);
    *context = &primary;
    return cudaSuccess;
}

static cudaError_t release(int device) {
    if (device) return cudaErrorInvalidDevice;
    if (!primary.users) return cudaErrorDeviceUninitialized;
    __atomic_sub_fetch(&primary.users, 1, __ATOMIC_RELAXED);
    return cudaSuccess;
}

DRIVER cuDevicePrimaryCtxRetain(CUcontext *context, int device) { return DRIVE_BARE(retain(context, device)); }
DRIVER cuDevicePrimaryCtxRelease_v2(int device) { return DRIVE_BARE(release(device)); }

DRIVER cuDevicePrimaryCtxReset_v2(int device) {
    return DRIVE_BARE(device ? cudaErrorInvalidDevice : cudaDeviceReset());
}

static cudaError_t get_state(int device, unsigned *flags, int *is_active) {
    *flags = primary.flags;
    *is_active = primary.users > 0;
    return check_device(device);
}

DRIVER cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active) {
    return DRIVE_BARE(get_state(device, flags, is_active));
}

static cudaError_t set_flags(CUcontext context, unsigned flags, cudaError_t error) {
    if (!error) context->flags = flags;
    return error;
}

DRIVER cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    return DRIVE_BARE(set_flags(&primary, flags, check_device(device)));
}

static cudaError_t push(CUcontext context) {
    if (!context || depth == STACK) return cudaErrorDeviceUninitialized;
    stack[depth++] = context;
    return cudaSuccess;
}

/* Also after a launch that has failed, so that programs can end in order. */
static cudaError_t pop(CUcontext *context) {
    if (!depth) return cudaErrorDeviceUninitialized;
    depth--;
    if (context) *context = stack[depth];
    return cudaSuccess;
}

static cudaError_t set_current(CUcontext context) {
    if (depth) depth--;
    return context ? push(context) : cudaSuccess;
}

static cudaError_t get_current(CUcontext *context) {
    *context = driver_context();
    return cudaSuccess;
}

DRIVER cuCtxPushCurrent_v2(CUcontext context) { return DRIVE_BARE(push(context)); }
DRIVER cuCtxPopCurrent_v2(CUcontext *context) { return DRIVE_BARE(pop(context)); }
DRIVER cuCtxSetCurrent(CUcontext context) { return DRIVE_BARE(set_current(context)); }
DRIVER cuCtxGetCurrent(CUcontext *context) { return DRIVE_BARE(get_current(context)); }

static cudaError_t create_context(CUcontext *context, unsigned flags, int device) {
    static unsigned long long last = 1;
    if (device) return cudaErrorInvalidDevice;
    *context = calloc(1, sizeof **context);
    if (!*context) return cudaErrorMemoryAllocation;
    **context = (struct CUctx_st){flags, 1, __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED)};
    return push(*context);
}

DRIVER cuCtxCreate_v2(CUcontext *context, unsigned flags, int device) {
    return DRIVE_BARE(create_context(context, flags, device));
}

DRIVER cuCtxCreate_v4(CUcontext *context, const void *parameters, unsigned flags, int device) {
    (void)parameters;
    return DRIVE_BARE(create_context(context, flags, device));
}

/* Other threads may have it on their stacks: it stays, but nothing begins with it any more. */
static cudaError_t destroy_context(CUcontext context) {
    if (!context || context == &primary) return cudaErrorDeviceUninitialized;
    if (depth && stack[depth - 1] == context) depth--;
    return cudaSuccess;
}

DRIVER cuCtxDestroy_v2(CUcontext context) { return DRIVE_BARE(destroy_context(context)); }

static cudaError_t set_number(int *result, int number) {
    *result = number;
    return cudaSuccess;
}

static cudaError_t get_unsigned(unsigned *result, unsigned number) {
    *result = number;
    return cudaSuccess;
}

static cudaError_t get_id(CUcontext context, unsigned long long *number) {
    *number = (context ? context : driver_context())->number;
    return cudaSuccess;
}

DRIVER cuCtxGetDevice(int *device) { return DRIVE(set_number(device, 0)); }
DRIVER cuCtxGetDevice_v2(int *device, CUcontext context) { return DRIVE(((void)context, set_number(device, 0))); }
DRIVER cuCtxGetFlags(unsigned *flags) { return DRIVE(get_unsigned(flags, driver_context()->flags)); }
DRIVER cuCtxSetFlags(unsigned flags) { return DRIVE(set_flags(driver_context(), flags, cudaSuccess)); }
DRIVER cuCtxGetId(CUcontext context, unsigned long long *number) { return DRIVE(get_id(context, number)); }
DRIVER cuCtxSynchronize(void) { return DRIVE(cudaDeviceSynchronize()); }
DRIVER cuCtxSynchronize_v2(CUcontext context) { return DRIVE(((void)context, cudaDeviceSynchronize())); }
DRIVER cuCtxGetLimit(size_t *value, int limit) { return DRIVE(cudaDeviceGetLimit(value, limit)); }
DRIVER cuCtxSetLimit(int limit, size_t value) { return DRIVE(cudaDeviceSetLimit(limit, value)); }
DRIVER cuCtxGetCacheConfig(int *config) { return DRIVE(set_number(config, 0)); }
DRIVER cuCtxSetCacheConfig(int config) { return DRIVE(((void)config, cudaSuccess)); }
DRIVER cuCtxResetPersistingL2Cache(void) { return DRIVE(cudaSuccess); }
DRIVER cuProfilerStart(void) { return DRIVE_BARE(cudaSuccess); }
DRIVER cuProfilerStop(void) { return DRIVE_BARE(cudaSuccess); }

DRIVER cuCtxGetApiVersion(CUcontext context, unsigned *version) {
    enum { API_VERSION = 3020 };
    (void)context;
    return DRIVE(get_unsigned(version, API_VERSION));
}

DRIVER cuCtxGetStreamPriorityRange(int *least, int *greatest) {
    return DRIVE(cudaDeviceGetStreamPriorityRange(least, greatest));
}

/* ---- functions by their names -------------------------------------------------------------------- */

/* Names whose meaning has changed: what each has meant from a version of CUDA on, the newest first. */
static const struct {
    const char *name;
    int since;
    const char *function;
} meanings[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync_v2"},
    {"cuMemPrefetchAsync", 0, "cuMemPrefetchAsync"},
    {"cuMemAdvise", 12020, "cuMemAdvise_v2"},
    {"cuMemAdvise", 0, "cuMemAdvise"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 0, "cuStreamGetCaptureInfo"},
    {"cuCtxSynchronize", 0, "cuCtxSynchronize"},
    {"cuCtxGetDevice", 0, "cuCtxGetDevice"},
    {"cuStreamGetCtx", 0, "cuStreamGetCtx"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 0, "cuGetProcAddress"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
};

static void *symbol(const char *name, const char *suffix) {
    static void *self;
    char whole[128];
    Dl_info info;
    if (!self && dladdr((void *)(uintptr_t)cuInit, &info)) self = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    snprintf(whole, sizeof whole, "%s%s", name, suffix);
    return self ? dlsym(self, whole) : NULL;
}

void *driver_find(const char *name, int version) {
    if (strncmp(name, "cu", 2) || !strncmp(name, "cuda", 4)) return NULL;
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (!strcmp(meanings[i].name, name) && version >= meanings[i].since) return symbol(meanings[i].function, "");
    void *function = symbol(name, "_v2");
    return function ? function : symbol(name, "");
}

enum { FOUND, NOT_FOUND };

static cudaError_t find(const char *name, void **function, int version, int *status) {
    if (!name || !function) return cudaErrorInvalidValue;
    *function = driver_find(name, version);
    if (status) *status = *function ? FOUND : NOT_FOUND;
    return *function ? cudaSuccess : cudaErrorSymbolNotFound;
}

DRIVER cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
    (void)flags;
    return find(name, function, version, status);
}
ALSO(cuGetProcAddress_v2, _ptsz)

DRIVER cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    (void)flags;
    return find(name, function, version, NULL);
}

/* The runtime's way to the same: what is not there is told by the status alone. */
static cudaError_t find_entry(const char *name, void **function, int version, int *status) {
    cudaError_t error = find(name, function, version, status);
    __atomic_store_n(&is_initialised, true, __ATOMIC_RELEASE); /* as the runtime does with its first call */
    return error == cudaErrorSymbolNotFound && status ? cudaSuccess : error;
}

enum { NEWEST = 13000 };

API cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *status) {
    (void)flags;
    return CALL(find_entry(name, function, NEWEST, status));
}
ALSO(cudaGetDriverEntryPoint, _ptsz)

API cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, unsigned long long flags,
                                     int *status) {
    (void)flags;
    return CALL(find_entry(name, function, (int)version, status));
}
ALSO(cudaGetDriverEntryPointByVersion, _ptsz)

/* Tables of functions that NVIDIA's own libraries share with the driver, and nobody else knows: there are none.  NVRTC
 * asks, and does without. */
DRIVER cuGetExportTable(const void **table, const void *uuid) {
    (void)table, (void)uuid;
    return cudaErrorSymbolNotFound;
}

/* ---- what there is not --------------------------------------------------------------------------- */

#define ABSENT(name)                                                                                               \
    DRIVER name(void) { return runtime_absent(#name); }
#include "absent_driver.fn"
#undef ABSENT
