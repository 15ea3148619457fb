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

/* All contexts of a device share its memory and streams. */
struct CUctx_st {
    int device;
    unsigned flags, users;
    unsigned long long number;
};

enum { STACK = 64 };

static bool is_initialised;
static struct CUctx_st primaries[SIMT_DEVICES];
static _Thread_local CUcontext stack[STACK];
static _Thread_local int depth;
static _Thread_local struct thread kept;

__attribute__((constructor)) static void number_primaries(void) {
    for (int d = 0; d < SIMT_DEVICES; d++) primaries[d] = (struct CUctx_st){.device = d, .number = (unsigned)d + 1};
}

/* The runtime may have made another device current since the context was. */
CUcontext driver_context_on(int device) {
    bool is_current = depth && stack[depth - 1]->device == device;
    return is_current ? stack[depth - 1] : &primaries[device];
}

CUcontext driver_context(void) {
    return depth || runtime_thread.has_called ? driver_context_on(runtime_thread.device) : NULL;
}

int driver_device(CUcontext context) { return context ? context->device : -1; }

/* The runtime's first call does as much. */
static bool has_begun(void) { return runtime_thread.has_called || __atomic_load_n(&is_initialised, __ATOMIC_ACQUIRE); }

bool driver_begin(bool needs_context) {
    kept = runtime_thread;
    runtime_thread.is_in_driver = true;
    return has_begun() && (!needs_context || driver_context());
}

cudaError_t driver_refusal(void) {
    return has_begun() ? cudaErrorDeviceUninitialized : cudaErrorInitializationError;
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
    runtime_thread.is_in_driver = false;
    runtime_thread.last_error = kept.last_error;
    runtime_thread.has_called = kept.has_called;
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

/* Their texts are the runtime's. */
static const char *name_of(int result) {
    switch (result) {
#define RESULT(number, name)                                                                                       \
    case number: return name;
#include "errors_driver.fn"
#undef RESULT
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

static cudaError_t get_device(int *result, int device) {
    *result = device;
    return device_check(device);
}

DRIVER cuDeviceGetCount(int *count) { return DRIVE_BARE(cudaGetDeviceCount(count)); }
DRIVER cuDeviceGet(int *result, int ordinal) { return DRIVE_BARE(get_device(result, ordinal)); }

DRIVER cuDeviceGetAttribute(int *value, int attribute, int device) {
    return DRIVE_BARE(cudaDeviceGetAttribute(value, attribute, device));
}

static cudaError_t get_name(char *name, int capacity, int device) {
    if (capacity > 0) snprintf(name, (size_t)capacity, "%s", runtime.gpu->name);
    return device_check(device);
}

DRIVER cuDeviceGetName(char *name, int capacity, int device) { return DRIVE_BARE(get_name(name, capacity, device)); }

static cudaError_t get_memory(size_t *nbytes, int device) {
    *nbytes = runtime.memory_nbytes;
    return device_check(device);
}

DRIVER cuDeviceTotalMem_v2(size_t *nbytes, int device) { return DRIVE_BARE(get_memory(nbytes, device)); }
ALSO_UNVERSIONED(cuDeviceTotalMem)

static cudaError_t get_uuid(char uuid[16], int device) {
    static const char digits[] = "0123456789abcdef";
    memcpy(uuid, "warpfold's GPU 0", 16);
    if (!device_check(device)) uuid[15] = digits[device];
    return device_check(device);
}

DRIVER cuDeviceGetUuid_v2(char *uuid, int device) { return DRIVE_BARE(get_uuid(uuid, device)); }
ALSO(cuDeviceGetUuid_v2, _ptsz)
ALSO_UNVERSIONED(cuDeviceGetUuid)

DRIVER cuDeviceGetPCIBusId(char *text, int capacity, int device) {
    return DRIVE_BARE(cudaDeviceGetPCIBusId(text, capacity, device));
}

static cudaError_t get_capability(int *major, int *minor, int device) {
    *major = runtime.gpu->major;
    *minor = runtime.gpu->minor;
    return device_check(device);
}

DRIVER cuDeviceComputeCapability(int *major, int *minor, int device) {
    return DRIVE_BARE(get_capability(major, minor, device));
}

DRIVER cuDeviceCanAccessPeer(int *can, int device, int peer) {
    return DRIVE_BARE(cudaDeviceCanAccessPeer(can, device, peer));
}

DRIVER cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer) {
    return DRIVE_BARE(cudaDeviceGetP2PAttribute(value, attribute, device, peer));
}

DRIVER cuDeviceGetByPCIBusId(int *device, const char *text) {
    return DRIVE_BARE(cudaDeviceGetByPCIBusId(device, text));
}

DRIVER cuDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
    return DRIVE_BARE(cudaDeviceGetDefaultMemPool(pool, device));
}

DRIVER cuDeviceGetMemPool(cudaMemPool_t *pool, int device) { return DRIVE_BARE(cudaDeviceGetMemPool(pool, device)); }
DRIVER cuDeviceSetMemPool(int device, cudaMemPool_t pool) { return DRIVE_BARE(cudaDeviceSetMemPool(device, pool)); }

/* ---- contexts ------------------------------------------------------------------------------------ */

static cudaError_t retain(CUcontext *context, int device) {
    if (device_check(device)) return cudaErrorInvalidDevice;
    *context = &primaries[device];
    __atomic_add_fetch(&(*context)->users, 1, __ATOMIC_RELAXED);
    return cudaSuccess;
}

static cudaError_t release(int device) {
    if (device_check(device)) return cudaErrorInvalidDevice;
    if (!primaries[device].users) return cudaErrorDeviceUninitialized;
    __atomic_sub_fetch(&primaries[device].users, 1, __ATOMIC_RELAXED);
    return cudaSuccess;
}

DRIVER cuDevicePrimaryCtxRetain(CUcontext *context, int device) { return DRIVE_BARE(retain(context, device)); }
DRIVER cuDevicePrimaryCtxRelease_v2(int device) { return DRIVE_BARE(release(device)); }
ALSO_UNVERSIONED(cuDevicePrimaryCtxRelease)

static cudaError_t reset(int device) {
    const int current = runtime_thread.device;
    cudaError_t error = device_check(device);
    if (error) return error;
    runtime_thread.device = device;
    error = cudaDeviceReset();
    runtime_thread.device = current;
    return error;
}

DRIVER cuDevicePrimaryCtxReset_v2(int device) { return DRIVE_BARE(reset(device)); }
ALSO_UNVERSIONED(cuDevicePrimaryCtxReset)

static cudaError_t get_state(int device, unsigned *flags, int *is_active) {
    cudaError_t error = device_check(device);
    if (error) return error;
    *flags = primaries[device].flags;
    *is_active = primaries[device].users > 0;
    return cudaSuccess;
}

DRIVER cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *is_active) {
    return DRIVE_BARE(get_state(device, flags, is_active));
}

static cudaError_t set_flags(CUcontext context, unsigned flags) {
    context->flags = flags;
    return cudaSuccess;
}

DRIVER cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) {
    return DRIVE_BARE(device_check(device) ? cudaErrorInvalidDevice : set_flags(&primaries[device], flags));
}
ALSO_UNVERSIONED(cuDevicePrimaryCtxSetFlags)

/* The device of the context is the runtime's current one, too. */
static void follow_stack(void) { runtime_thread.device = depth ? stack[depth - 1]->device : runtime_thread.chosen; }

static cudaError_t push(CUcontext context) {
    if (!context || depth == STACK) return cudaErrorDeviceUninitialized;
    stack[depth++] = context;
    follow_stack();
    return cudaSuccess;
}

/* Also after a launch that has failed, so that programs can end in order. */
static cudaError_t pop(CUcontext *context) {
    if (!depth) return cudaErrorDeviceUninitialized;
    CUcontext top = driver_context();
    depth--;
    if (context) *context = top;
    follow_stack();
    return cudaSuccess;
}

static cudaError_t set_current(CUcontext context) {
    if (depth) depth--;
    if (context) return push(context);
    follow_stack();
    return cudaSuccess;
}

static cudaError_t get_current(CUcontext *context) {
    *context = driver_context();
    return cudaSuccess;
}

DRIVER cuCtxPushCurrent_v2(CUcontext context) { return DRIVE_BARE(push(context)); }
ALSO_UNVERSIONED(cuCtxPushCurrent)
DRIVER cuCtxPopCurrent_v2(CUcontext *context) { return DRIVE_BARE(pop(context)); }
ALSO_UNVERSIONED(cuCtxPopCurrent)
DRIVER cuCtxSetCurrent(CUcontext context) { return DRIVE_BARE(set_current(context)); }
DRIVER cuCtxGetCurrent(CUcontext *context) { return DRIVE_BARE(get_current(context)); }

static cudaError_t create_context(CUcontext *context, unsigned flags, int device) {
    static unsigned long long last = SIMT_DEVICES;
    if (device_check(device)) return cudaErrorInvalidDevice;
    *context = calloc(1, sizeof **context);
    if (!*context) return cudaErrorMemoryAllocation;
    **context = (struct CUctx_st){device, flags, 1, __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED)};
    return push(*context);
}

DRIVER cuCtxCreate_v2(CUcontext *context, unsigned flags, int device) {
    return DRIVE_BARE(create_context(context, flags, device));
}
ALSO_UNVERSIONED(cuCtxCreate)

DRIVER cuCtxCreate_v3(CUcontext *context, const void *affinities, int count, unsigned flags, int device) {
    (void)affinities, (void)count;
    return DRIVE_BARE(create_context(context, flags, device));
}

DRIVER cuCtxCreate_v4(CUcontext *context, const void *parameters, unsigned flags, int device) {
    (void)parameters;
    return DRIVE_BARE(create_context(context, flags, device));
}

/* Other threads may have it on their stacks: it stays, but nothing begins with it any more. */
static cudaError_t destroy_context(CUcontext context) {
    if (!context || context == &primaries[context->device]) return cudaErrorDeviceUninitialized;
    if (depth && stack[depth - 1] == context) depth--;
    follow_stack();
    return cudaSuccess;
}

DRIVER cuCtxDestroy_v2(CUcontext context) { return DRIVE_BARE(destroy_context(context)); }
ALSO_UNVERSIONED(cuCtxDestroy)

/* Of CUDA 1 to 3: the current context has one more user, or one less, and none when it is destroyed. */
static cudaError_t attach(CUcontext *context, unsigned flags) {
    if (!context || flags) return cudaErrorInvalidValue;
    *context = driver_context();
    __atomic_add_fetch(&(*context)->users, 1, __ATOMIC_RELAXED);
    return cudaSuccess;
}

static cudaError_t detach(CUcontext context) {
    if (!context || context != driver_context()) return cudaErrorDeviceUninitialized;
    return __atomic_sub_fetch(&context->users, 1, __ATOMIC_RELAXED) ? cudaSuccess : destroy_context(context);
}

DRIVER cuCtxAttach(CUcontext *context, unsigned flags) { return DRIVE(attach(context, flags)); }
DRIVER cuCtxDetach(CUcontext context) { return DRIVE(detach(context)); }

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

DRIVER cuCtxGetDevice(int *device) { return DRIVE(set_number(device, driver_context()->device)); }

DRIVER cuCtxGetDevice_v2(int *device, CUcontext context) {
    return DRIVE(set_number(device, (context ? context : driver_context())->device));
}

DRIVER cuCtxGetFlags(unsigned *flags) { return DRIVE(get_unsigned(flags, driver_context()->flags)); }
DRIVER cuCtxSetFlags(unsigned flags) { return DRIVE(set_flags(driver_context(), flags)); }
DRIVER cuCtxGetId(CUcontext context, unsigned long long *number) { return DRIVE(get_id(context, number)); }
DRIVER cuCtxSynchronize(void) { return DRIVE(cudaDeviceSynchronize()); }

static cudaError_t synchronize(CUcontext context) {
    return CALL((host_wait_device((context ? context : driver_context())->device), cudaSuccess));
}

DRIVER cuCtxSynchronize_v2(CUcontext context) { return DRIVE(synchronize(context)); }
DRIVER cuCtxGetLimit(size_t *value, int limit) { return DRIVE(cudaDeviceGetLimit(value, limit)); }
DRIVER cuCtxSetLimit(int limit, size_t value) { return DRIVE(cudaDeviceSetLimit(limit, value)); }
DRIVER cuCtxGetCacheConfig(int *config) { return DRIVE(set_number(config, 0)); }
DRIVER cuCtxSetCacheConfig(int config) { return DRIVE(((void)config, cudaSuccess)); }
DRIVER cuCtxGetSharedMemConfig(int *config) { return DRIVE(set_number(config, 0)); }
DRIVER cuCtxSetSharedMemConfig(int config) { return DRIVE(((void)config, cudaSuccess)); }
DRIVER cuCtxResetPersistingL2Cache(void) { return DRIVE(cudaSuccess); }
DRIVER cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    return DRIVE(cudaDeviceEnablePeerAccess(driver_device(peer), flags));
}

DRIVER cuCtxDisablePeerAccess(CUcontext peer) { return DRIVE(cudaDeviceDisablePeerAccess(driver_device(peer))); }
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
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync_v2"},
    {"cuMemPrefetchAsync", 0, "cuMemPrefetchAsync"},
    {"cuMemAdvise", 12020, "cuMemAdvise_v2"},
    {"cuMemAdvise", 0, "cuMemAdvise"},
    {"cuMemcpyBatchAsync", 13000, "cuMemcpyBatchAsync_v2"},
    {"cuMemcpyBatchAsync", 0, "cuMemcpyBatchAsync"},
    {"cuMemcpy3DBatchAsync", 13000, "cuMemcpy3DBatchAsync_v2"},
    {"cuMemcpy3DBatchAsync", 0, "cuMemcpy3DBatchAsync"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 0, "cuStreamGetCaptureInfo"},
    {"cuStreamUpdateCaptureDependencies", 12030, "cuStreamUpdateCaptureDependencies_v2"},
    {"cuStreamUpdateCaptureDependencies", 0, "cuStreamUpdateCaptureDependencies"},
    {"cuCtxSynchronize", 0, "cuCtxSynchronize"},
    {"cuCtxGetDevice", 0, "cuCtxGetDevice"},
    {"cuStreamGetCtx", 0, "cuStreamGetCtx"},
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuGetProcAddress", 0, "cuGetProcAddress"},
    {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
    {"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},
    {"cuGraphExecUpdate", 0, "cuGraphExecUpdate"},
    {"cuGraphGetEdges", 12030, "cuGraphGetEdges_v2"},
    {"cuGraphGetEdges", 0, "cuGraphGetEdges"},
    {"cuGraphNodeGetDependencies", 12030, "cuGraphNodeGetDependencies_v2"},
    {"cuGraphNodeGetDependencies", 0, "cuGraphNodeGetDependencies"},
    {"cuGraphNodeGetDependentNodes", 12030, "cuGraphNodeGetDependentNodes_v2"},
    {"cuGraphNodeGetDependentNodes", 0, "cuGraphNodeGetDependentNodes"},
    {"cuGraphAddDependencies", 12030, "cuGraphAddDependencies_v2"},
    {"cuGraphAddDependencies", 0, "cuGraphAddDependencies"},
    {"cuGraphRemoveDependencies", 12030, "cuGraphRemoveDependencies_v2"},
    {"cuGraphRemoveDependencies", 0, "cuGraphRemoveDependencies"},
    {"cuGraphAddNode", 12030, "cuGraphAddNode_v2"},
    {"cuGraphAddNode", 0, "cuGraphAddNode"},
    {"cuGraphKernelNodeGetParams", 12000, "cuGraphKernelNodeGetParams_v2"},
    {"cuGraphKernelNodeGetParams", 0, "cuGraphKernelNodeGetParams"},
    {"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"},
    {"cuStreamBeginCapture", 0, "cuStreamBeginCapture"},
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

/* The runtime's version of the same: a missing function is reported by the status only. */
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
