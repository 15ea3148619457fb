/* The binary interface of the CUDA runtime library, version 13, as far as the stand-in has it: what programs pass and
 * expect.  Names are the interface's own where programs rely on them, and numbers are written out. */
#ifndef PROGRAM_ABI_H
#define PROGRAM_ABI_H

#include <stddef.h>
#include <stdint.h>

/* The errors that the stand-in gives, with their texts.  Others are known by number alone. */
#define CUDA_ERRORS(X)                                                                                             \
    X(cudaSuccess, 0, "no error")                                                                                  \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                                                \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                                               \
    X(cudaErrorInitializationError, 3, "initialization error")                                                     \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                                          \
    X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                                    \
    X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                                         \
    X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                                 \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                                    \
    X(cudaErrorMissingConfiguration, 52, "__global__ function call is not configured")                             \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                               \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                                \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                                       \
    X(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid")                                          \
    X(cudaErrorDeviceUninitialized, 201, "invalid device context")                                                 \
    X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device")            \
    X(cudaErrorUnsupportedLimit, 215, "limit is not supported on this architecture")                               \
    X(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices")               \
    X(cudaErrorInvalidPtx, 218, "a PTX JIT compilation failed")                                                    \
    X(cudaErrorFileNotFound, 301, "file not found")                                                                \
    X(cudaErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS")                       \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                              \
    X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")                        \
    X(cudaErrorSymbolNotFound, 500, "named symbol not found")                                                      \
    X(cudaErrorNotReady, 600, "device not ready")                                                                  \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                                    \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                               \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                                      \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                                    \
    X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                                      \
    X(cudaErrorAssert, 710, "device-side assert triggered")                                                        \
    X(cudaErrorHostMemoryAlreadyRegistered, 712, "part or all of the requested memory range is already mapped")    \
    X(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region")          \
    X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")                                  \
    X(cudaErrorMisalignedAddress, 716, "misaligned address")                                                       \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                                   \
    X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")                            \
    X(cudaErrorNotSupported, 801, "operation not supported")                                                       \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")                  \
    X(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")           \
    X(cudaErrorStreamCaptureMerge, 902, "operation would result in a merge of separate capture sequences")         \
    X(cudaErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began")                \
    X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                                   \
    X(cudaErrorStreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream")             \
    X(cudaErrorStreamCaptureImplicit, 906, "operation would make the legacy stream depend on a capturing blocking stream") \
    X(cudaErrorCapturedEvent, 907, "operation not permitted on an event last recorded in a capturing stream")      \
    X(cudaErrorStreamCaptureWrongThread, 908, "attempt to terminate a thread-local capture sequence from another thread") \
    X(cudaErrorGraphExecUpdateFailure, 910, "the graph update was not performed because it included changes which " \
      "violated constraints specific to instantiated graph update")                                             \
    X(cudaErrorInvalidClusterSize, 912, "cluster misconfiguration")                                                \
    X(cudaErrorUnknown, 999, "unknown error")

typedef enum cudaError {
#define CUDA_ERROR(name, number, text) name = number,
    CUDA_ERRORS(CUDA_ERROR)
#undef CUDA_ERROR
} cudaError_t;

typedef struct dim3 {
    unsigned x, y, z;
} dim3;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUkern_st *cudaKernel_t;
typedef struct CUmemPool_st *cudaMemPool_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUuserObject_st *cudaUserObject_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};

enum cudaMemoryType {
    cudaMemoryTypeUnregistered,
    cudaMemoryTypeHost,
    cudaMemoryTypeDevice,
    cudaMemoryTypeManaged
};

struct cudaExtent {
    size_t width, height, depth;
};

struct cudaPos {
    size_t x, y, z;
};

struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};

struct cudaMemcpy3DParms {
    void *srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    void *dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    struct cudaExtent extent;
    enum cudaMemcpyKind kind;
};

enum { cudaMemLocationTypeDevice = 1, LOCATION_HOST, LOCATION_LAST = 4 }; /* the last two: of a node of the host */

struct cudaMemLocation {
    int type, id;
};

enum cudaMemcpySrcAccessOrder { SOURCE_IN_STREAM = 1, SOURCE_DURING_CALL, SOURCE_ANY };

struct cudaMemcpyAttributes {
    int srcAccessOrder;
    struct cudaMemLocation srcLocHint, dstLocHint;
    unsigned flags;
};

enum cudaMemcpy3DOperandType { OPERAND_POINTER = 1, OPERAND_ARRAY };

struct cudaMemcpy3DOperand {
    int type;
    union {
        struct {
            void *ptr;
            size_t rowLength, layerHeight; /* elements; 0: as many as are copied */
            struct cudaMemLocation locHint;
        } ptr;
        struct {
            void *array;
            struct cudaPos offset;
        } array;
    } op;
};

struct cudaMemcpy3DBatchOp {
    struct cudaMemcpy3DOperand src, dst;
    struct cudaExtent extent;
    int srcAccessOrder;
    unsigned flags;
};

struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
    long reserved[8];
};

struct cudaFuncAttributes {
    size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
        preferredShmemCarveout, clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth,
        clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
};

struct cudaChannelFormatDesc {
    int x, y, z, w, f;
};

struct cudaGraphInstantiateParams {
    unsigned long long flags;
    cudaStream_t uploadStream;
    cudaGraphNode_t errNode_out;
    int result_out;
};

struct cudaIpcHandle { /* of memory, or of an event: 64 bytes that nobody else reads */
    char mark[16];
    uint64_t address;
    int64_t process;
    char reserved[32];
};

struct cudaMemAccessDesc {
    struct cudaMemLocation location;
    int flags;
};

struct cudaMemPoolProps {
    int allocType, handleTypes;
    struct cudaMemLocation location;
    void *win32SecurityAttributes;
    size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
};

struct cudaMemcpy3DPeerParms {
    void *srcArray;
    struct cudaPos srcPos;
    struct cudaPitchedPtr srcPtr;
    int srcDevice;
    void *dstArray;
    struct cudaPos dstPos;
    struct cudaPitchedPtr dstPtr;
    int dstDevice;
    struct cudaExtent extent;
};

struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
};

struct cudaMemsetParams {
    void *dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
};

struct cudaHostNodeParams {
    void (*fn)(void *data);
    void *userData;
};

struct cudaMemAllocNodeParams {
    struct cudaMemPoolProps poolProps;
    const void *accessDescs;
    size_t accessDescCount, bytesize;
    void *dptr;
};

typedef unsigned long long cudaGraphConditionalHandle;

enum cudaGraphConditionalNodeType { cudaGraphCondTypeIf, cudaGraphCondTypeWhile, cudaGraphCondTypeSwitch };

struct cudaConditionalNodeParams {
    cudaGraphConditionalHandle handle;
    enum cudaGraphConditionalNodeType type;
    unsigned size;
    cudaGraph_t *phGraph_out;
};

/* The members of its own have the kinds of nodes that are there. */
struct cudaGraphNodeParams {
    int type, reserved0[3];
    union {
        long long reserved1[29];
        struct cudaKernelNodeParams kernel;
        struct {
            int flags, reserved[3];
            struct cudaMemcpy3DParms copyParams;
        } memcpy;
        struct cudaMemsetParams memset;
        struct cudaHostNodeParams host;
        struct {
            cudaGraph_t graph;
            int ownership;
        } graph;
        struct {
            cudaEvent_t event;
        } eventWait, eventRecord;
        struct cudaMemAllocNodeParams alloc;
        struct {
            void *dptr;
        } free;
        struct cudaConditionalNodeParams conditional;
    };
    long long reserved2;
};

struct cudaGraphExecUpdateResultInfo {
    int result;
    cudaGraphNode_t errorNode, errorFromNode;
};

union cudaLaunchAttributeValue {
    char pad[64];
    int cooperative, synchronisation, priority;
    dim3 cluster;
};

struct cudaLaunchAttribute {
    int id;
    char pad[4];
    union cudaLaunchAttributeValue val;
};

enum {
    LAUNCH_ATTRIBUTE_WINDOW = 1,
    LAUNCH_ATTRIBUTE_COOPERATIVE,
    LAUNCH_ATTRIBUTE_SYNCHRONISATION,
    LAUNCH_ATTRIBUTE_CLUSTER,
    LAUNCH_ATTRIBUTE_PRIORITY = 8
};

typedef struct cudaLaunchConfig {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    struct cudaLaunchAttribute *attrs;
    unsigned numAttrs;
} cudaLaunchConfig_t;

struct cudaDeviceProp {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luidDeviceNodeMask;
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    size_t totalConstMem;
    int major, minor;
    size_t textureAlignment, texturePitchAlignment;
    int multiProcessorCount, integrated, canMapHostMemory;
    int textures_and_surfaces[39]; /* none here */
    size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
        unifiedAddressing, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor,
        streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
        pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
        cooperativeLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
        accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported,
        timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers, deviceNumaConfig,
        deviceNumaId, mpsEnabled, hostNumaId;
    unsigned gpuPciDeviceID, gpuPciSubsystemID;
    int hostNumaMultinodeIpcSupported, reserved[56];
};

#endif
