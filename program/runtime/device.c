/* The GPU that there seems to be: its properties, limits and the like. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

enum {
    WARP = 32,
    BLOCK_THREADS = 1024,
    BLOCK_Z = 64,
    GRID_YZ = 65535,
    REGISTERS = 65536,
    SHARED_PLAIN = 48 << 10,
    CONSTANT_NBYTES = 64 << 10,
    ALIGNMENT = 512,
    TEXTURE_PITCH = 32
};

/* ---- properties ---------------------------------------------------------------------------------- */

static cudaError_t get_properties(struct cudaDeviceProp *properties, int device) {
    const struct gpu *gpu = runtime.gpu;
    if (device_check(device)) return cudaErrorInvalidDevice;
    *properties = (struct cudaDeviceProp){
        .totalGlobalMem = runtime.memory_nbytes,
        .sharedMemPerBlock = SHARED_PLAIN,
        .regsPerBlock = REGISTERS,
        .warpSize = WARP,
        .memPitch = INT32_MAX,
        .maxThreadsPerBlock = BLOCK_THREADS,
        .maxThreadsDim = {BLOCK_THREADS, BLOCK_THREADS, BLOCK_Z},
        .maxGridSize = {INT32_MAX, GRID_YZ, GRID_YZ},
        .totalConstMem = CONSTANT_NBYTES,
        .major = gpu->major,
        .minor = gpu->minor,
        .textureAlignment = ALIGNMENT,
        .texturePitchAlignment = TEXTURE_PITCH,
        .multiProcessorCount = gpu->multiprocessors,
        .canMapHostMemory = 1,
        .surfaceAlignment = ALIGNMENT,
        .concurrentKernels = 1,
        .pciBusID = 1 + device,
        .asyncEngineCount = 3,
        .unifiedAddressing = 1,
        .memoryBusWidth = gpu->bus_bits,
        .l2CacheSize = gpu->l2_mib << 20,
        .maxThreadsPerMultiProcessor = gpu->threads,
        .streamPrioritiesSupported = 1,
        .globalL1CacheSupported = 1,
        .localL1CacheSupported = 1,
        .sharedMemPerMultiprocessor = (size_t)gpu->shared_nbytes,
        .regsPerMultiprocessor = REGISTERS,
        .managedMemory = 1,
        .concurrentManagedAccess = 1,
        .computePreemptionSupported = 1,
        .cooperativeLaunch = 1,
        .sharedMemPerBlockOptin = (size_t)gpu->block_shared_nbytes,
        .maxBlocksPerMultiProcessor = gpu->blocks,
        .reservedSharedMemPerBlock = gpu->major >= 8 ? 1024 : 0,
        .hostRegisterSupported = 1,
        .memoryPoolsSupported = 1,
        .clusterLaunch = gpu->major >= 9,
    };
    snprintf(properties->name, sizeof properties->name, "%s", gpu->name);
    return cudaSuccess;
}

API cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    return CALL_WITH(properties, get_properties(properties, device));
}

/* Numbers of attributes, and the members of the properties that answer them. */
#define ATTRIBUTES(X)                                                                                              \
    X(1, maxThreadsPerBlock) X(2, maxThreadsDim[0]) X(3, maxThreadsDim[1]) X(4, maxThreadsDim[2])                  \
    X(5, maxGridSize[0]) X(6, maxGridSize[1]) X(7, maxGridSize[2]) X(8, sharedMemPerBlock) X(9, totalConstMem)     \
    X(10, warpSize) X(11, memPitch) X(12, regsPerBlock) X(14, textureAlignment) X(15, asyncEngineCount)            \
    X(16, multiProcessorCount) X(18, integrated) X(19, canMapHostMemory) X(30, surfaceAlignment)                   \
    X(31, concurrentKernels) X(32, ECCEnabled) X(33, pciBusID) X(34, pciDeviceID) X(35, tccDriver)                 \
    X(37, memoryBusWidth) X(38, l2CacheSize) X(39, maxThreadsPerMultiProcessor) X(40, asyncEngineCount)            \
    X(41, unifiedAddressing) X(50, pciDomainID) X(51, texturePitchAlignment) X(75, major) X(76, minor)             \
    X(78, streamPrioritiesSupported) X(79, globalL1CacheSupported) X(80, localL1CacheSupported)                    \
    X(81, sharedMemPerMultiprocessor) X(82, regsPerMultiprocessor) X(83, managedMemory) X(84, isMultiGpuBoard)     \
    X(85, multiGpuBoardGroupID) X(86, hostNativeAtomicSupported) X(88, pageableMemoryAccess)                       \
    X(89, concurrentManagedAccess) X(90, computePreemptionSupported) X(91, canUseHostPointerForRegisteredMem)      \
    X(95, cooperativeLaunch) X(97, sharedMemPerBlockOptin) X(99, hostRegisterSupported)                            \
    X(100, pageableMemoryAccessUsesHostPageTables) X(101, directManagedMemAccessFromHost)                          \
    X(106, maxBlocksPerMultiProcessor) X(108, persistingL2CacheMaxSize) X(109, accessPolicyMaxWindowSize)          \
    X(111, reservedSharedMemPerBlock) X(112, sparseCudaArraySupported) X(113, hostRegisterReadOnlySupported)       \
    X(115, memoryPoolsSupported) X(116, gpuDirectRDMASupported) X(119, memoryPoolSupportedHandleTypes)             \
    X(120, clusterLaunch) X(121, deferredMappingCudaArraySupported) X(125, ipcEventSupported)                      \
    X(130, deviceNumaConfig) X(131, deviceNumaId) X(133, mpsEnabled) X(134, hostNumaId)

enum { CLOCK_RATE = 13, TIMEOUT = 17, COMPUTE_MODE = 20, MEMORY_CLOCK_RATE = 36, DOUBLE_RATIO = 87, VIRTUAL_MEMORY = 102,
       STREAM_WORDS = 92, STREAM_WORDS_64 = 93, STREAM_WORDS_NOR = 94, STREAM_WORDS_64_V2 = 122, STREAM_WORDS_NOR_V2 = 123 };

static cudaError_t get_attribute(int *value, int attribute, int device) {
    struct cudaDeviceProp properties;
    cudaError_t error = get_properties(&properties, device);
    if (error) return error;
    switch (attribute) {
#define ATTRIBUTE(number, member)                                                                                  \
    case number: *value = (int)properties.member; return cudaSuccess;
        ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
    case CLOCK_RATE: *value = runtime.gpu->clock_khz; return cudaSuccess;
    case MEMORY_CLOCK_RATE: *value = runtime.gpu->clock_khz; return cudaSuccess;
    case DOUBLE_RATIO: *value = runtime.gpu->minor ? WARP : 2; return cudaSuccess;
    case STREAM_WORDS:
    case STREAM_WORDS_64:
    case STREAM_WORDS_NOR:
    case STREAM_WORDS_64_V2:
    case STREAM_WORDS_NOR_V2:
    case VIRTUAL_MEMORY: *value = 1; return cudaSuccess;
    case TIMEOUT:
    case COMPUTE_MODE: *value = 0; return cudaSuccess;
    }
    *value = 0; /* textures, surfaces and what is newer: there are none */
    return attribute > 0 && attribute < 200 ? cudaSuccess : cudaErrorInvalidValue;
}

API cudaDeviceGetAttribute(int *value, int attribute, int device) {
    return CALL_WITH(value, get_attribute(value, attribute, device));
}

/* ---- limits and preferences: remembered for all devices, and without effect --------------------------------------- */

enum { LIMITS = 7 };
static size_t limits[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 0, 0}; /* stack, printf, heap, ... */

static cudaError_t set_limit(int limit, size_t value) {
    if (limit < 0 || limit >= LIMITS) return cudaErrorUnsupportedLimit;
    limits[limit] = value;
    return cudaSuccess;
}

static cudaError_t get_limit(size_t *value, int limit) {
    if (limit < 0 || limit >= LIMITS) return cudaErrorUnsupportedLimit;
    *value = limits[limit];
    return cudaSuccess;
}

API cudaDeviceSetLimit(int limit, size_t value) { return CALL(set_limit(limit, value)); }
API cudaDeviceGetLimit(size_t *value, int limit) { return CALL_WITH(value, get_limit(value, limit)); }
API cudaDeviceSetCacheConfig(int config) { return CALL(((void)config, cudaSuccess)); }
API cudaDeviceGetCacheConfig(int *config) { return CALL(answer_number(config, 0)); }
API cudaDeviceSetSharedMemConfig(int config) { return CALL(((void)config, cudaSuccess)); }
API cudaDeviceGetSharedMemConfig(int *config) { return CALL(answer_number(config, 1)); }

__attribute__((visibility("default"))) struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                                          int kind) {
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
