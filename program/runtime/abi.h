/* The binary interface of the CUDA runtime library, version 13, as far as the stand-in has it: what programs pass and
 * expect.  Names are the interface's own where programs rely on them, and numbers are written out. */
#ifndef PROGRAM_ABI_H
#define PROGRAM_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef enum cudaError {
#define ERROR(name, number, text) name = number,
#include "errors.fn"
#undef ERROR
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
