/* For this folder alone: the CUDA driver's interface (libcuda.so.1), as far as the stand-in has it.
 *
 * Most calls are the runtime library's in other words: handles of streams, events, graphs, pools and kernels are the
 * same on both sides, and so are the numbers of attributes and of nearly all errors. */
#ifndef PROGRAM_DRIVER_H
#define PROGRAM_DRIVER_H

#include "runtime.h"

/* A CUresult. */
#define DRIVER __attribute__((visibility("default"))) int

/* The body of a call that needs a current context, and of one that needs the driver alone. */
#define DRIVE(expression) driver_end(driver_begin(true) ? (expression) : driver_refusal())
#define DRIVE_BARE(expression) driver_end(driver_begin(false) ? (expression) : driver_refusal())

/* The same function by its name without a version, as programs know it that were compiled with an older cuda.h. */
#define ALSO_UNVERSIONED(name)                                                                                     \
    extern __typeof__(name##_v2) name __attribute__((alias(#name "_v2"), visibility("default")));

typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct module *CUmodule;        /* and CUlibrary */
typedef struct CUkern_st *CUfunction;   /* and CUkernel */

bool driver_begin(bool needs_context);
cudaError_t driver_refusal(void); /* why driver_begin has refused */
int driver_end(cudaError_t error); /* the CUresult; the runtime's last error is what it was */

CUcontext driver_context(void); /* the calling thread's; NULL: none */
CUcontext driver_context_on(int device); /* the same if it is the device's, and else the device's primary one */
int driver_device(CUcontext context); /* -1: NULL */

/* The address of the driver's function that programs of that CUDA version (13000) mean by the name; NULL: none. */
void *driver_find(const char *name, int version);

static inline void *pointer_to(CUdeviceptr address) { return (void *)(uintptr_t)address; }

/* What the runtime library's calls are called by each other. */
API cudaRuntimeGetVersion(int *version);
API cudaGetDeviceCount(int *count);
API cudaDeviceGetAttribute(int *value, int attribute, int device);
API cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device);
API cudaDeviceGetPCIBusId(char *text, int capacity, int device);
API cudaDeviceReset(void);
API cudaDeviceGetByPCIBusId(int *device, const char *text);
API cudaDeviceCanAccessPeer(int *can, int device, int peer);
API cudaDeviceGetP2PAttribute(int *value, int attribute, int device, int peer);
API cudaDeviceEnablePeerAccess(int peer, unsigned flags);
API cudaDeviceDisablePeerAccess(int peer);
API cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t nbytes);
API cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t nbytes,
                        cudaStream_t stream);
API cudaDeviceSetLimit(int limit, size_t value);
API cudaDeviceGetLimit(size_t *value, int limit);
API cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
API cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
API cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
API cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
API cudaDeviceSynchronize(void);
API cudaMalloc(void **pointer, size_t nbytes);
API cudaMallocAsync(void **pointer, size_t nbytes, cudaStream_t stream);
API cudaMallocFromPoolAsync(void **pointer, size_t nbytes, cudaMemPool_t pool, cudaStream_t stream);
API cudaMallocManaged(void **pointer, size_t nbytes, unsigned flags);
API cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height);
API cudaHostAlloc(void **pointer, size_t nbytes, unsigned flags);
API cudaFree(void *pointer);
API cudaFreeAsync(void *pointer, cudaStream_t stream);
API cudaFreeHost(void *pointer);
API cudaHostRegister(void *pointer, size_t nbytes, unsigned flags);
API cudaHostUnregister(void *pointer);
API cudaHostGetDevicePointer(void **device, void *host, unsigned flags);
API cudaHostGetFlags(unsigned *flags, void *host);
API cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer);
API cudaMemGetInfo(size_t *available, size_t *total);
API cudaMemPrefetchAsync(const void *pointer, size_t nbytes, struct cudaMemLocation location, unsigned flags,
                         cudaStream_t stream);
API cudaMemDiscardBatchAsync(void **pointers, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream);
API cudaMemDiscardAndPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations,
                                        size_t *firsts, size_t location_count, unsigned long long flags, cudaStream_t stream);
API cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *copies, unsigned long long flags, cudaStream_t stream);
API cudaMemPrefetchBatchAsync(void **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations, size_t *firsts,
                              size_t location_count, unsigned long long flags, cudaStream_t stream);
API cudaMemRangeGetAttribute(void *value, size_t size, int attribute, const void *pointer, size_t nbytes);
API cudaMemRangeGetAttributes(void **values, size_t *sizes, int *attributes, size_t count, const void *pointer, size_t nbytes);
API cudaMemAdvise(const void *pointer, size_t nbytes, int advice, struct cudaMemLocation location);
API cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties);
API cudaMemPoolDestroy(cudaMemPool_t pool);
API cudaMemPoolTrimTo(cudaMemPool_t pool, size_t nbytes);
API cudaMemPoolSetAttribute(cudaMemPool_t pool, int attribute, void *value);
API cudaMemPoolGetAttribute(cudaMemPool_t pool, int attribute, void *value);
API cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count);
API cudaMemPoolGetAccess(int *flags, cudaMemPool_t pool, struct cudaMemLocation *location);
API cudaMemcpy(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind);
API cudaMemcpyAsync(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind, cudaStream_t stream);
API cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count,
                         const struct cudaMemcpyAttributes *attributes,
                         const size_t *firsts, size_t attribute_count, cudaStream_t stream);
API cudaIpcGetMemHandle(struct cudaIpcHandle *handle, void *pointer);
API cudaIpcOpenMemHandle(void **pointer, struct cudaIpcHandle handle, unsigned flags);
API cudaIpcCloseMemHandle(void *pointer);
API cudaIpcGetEventHandle(struct cudaIpcHandle *handle, cudaEvent_t event);
API cudaIpcOpenEventHandle(cudaEvent_t *event, struct cudaIpcHandle handle);
API cudaFuncGetParamInfo(const void *function, size_t parameter, size_t *offset, size_t *nbytes);
API cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                      enum cudaMemcpyKind kind, cudaStream_t stream);
API cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
API cudaStreamDestroy(cudaStream_t stream);
API cudaStreamSynchronize(cudaStream_t stream);
API cudaStreamQuery(cudaStream_t stream);
API cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
API cudaStreamGetFlags(cudaStream_t stream, unsigned *flags);
API cudaStreamGetPriority(cudaStream_t stream, int *priority);
API cudaStreamGetId(cudaStream_t stream, unsigned long long *number);
API cudaStreamGetDevice(cudaStream_t stream, int *device);
API cudaStreamIsCapturing(cudaStream_t stream, int *status);
API cudaStreamBeginCapture(cudaStream_t stream, int mode);
API cudaStreamBeginCapture_ptsz(cudaStream_t stream, int mode);
API cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
API cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t nbytes, unsigned flags);
API cudaThreadExchangeStreamCaptureMode(int *mode);
API cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void *), void *data);
API cudaStreamAddCallback(cudaStream_t stream, void (*callback)(cudaStream_t, cudaError_t, void *), void *data,
                          unsigned flags);
API cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
API cudaEventDestroy(cudaEvent_t event);
API cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
API cudaEventSynchronize(cudaEvent_t event);
API cudaEventQuery(cudaEvent_t event);
API cudaEventElapsedTime(float *milliseconds, cudaEvent_t from, cudaEvent_t to);
API cudaGraphInstantiate(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags);
API cudaGraphInstantiateWithParams(cudaGraphExec_t *result, cudaGraph_t graph, struct cudaGraphInstantiateParams *params);
API cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags);
API cudaUserObjectCreate(cudaUserObject_t *object, void *data, void (*destroy)(void *), unsigned count, unsigned flags);
API cudaUserObjectRetain(cudaUserObject_t object, unsigned count);
API cudaUserObjectRelease(cudaUserObject_t object, unsigned count);
API cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags);
API cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count);
API cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags);
API cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
API cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
API cudaGraphExecDestroy(cudaGraphExec_t exec);
API cudaGraphDestroy(cudaGraph_t graph);
API cudaGraphCreate(cudaGraph_t *graph, unsigned flags);
API cudaGraphClone(cudaGraph_t *result, cudaGraph_t graph);
API cudaGraphNodeFindInClone(cudaGraphNode_t *result, cudaGraphNode_t original, cudaGraph_t clone);
API cudaGraphDestroyNode(cudaGraphNode_t node);
API cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, const void *edges,
                     size_t count, struct cudaGraphNodeParams *params);
API cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params);
API cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params);
API cudaGraphNodeGetType(cudaGraphNode_t node, int *kind);
API cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
API cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
API cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, void *edges, size_t *count);
API cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, void *edges, size_t *count);
API cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, void *edges, size_t *count);
API cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                             const void *edges, size_t count);
API cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                const void *edges, size_t count);
API cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, struct cudaGraphExecUpdateResultInfo *info);
API cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned is_enabled);
API cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *is_enabled);
API cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count);
/* What nodes of each kind have: they are added, and their parameters set in a graph or in what was made of it. */
#define NODE_OF(Kind, params)                                                                                      \
    API cudaGraphAdd##Kind##Node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,    \
                                 size_t count, const params *given);                                               \
    API cudaGraph##Kind##NodeSetParams(cudaGraphNode_t node, const params *given);                                 \
    API cudaGraph##Kind##NodeGetParams(cudaGraphNode_t node, params *told);                                        \
    API cudaGraphExec##Kind##NodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const params *given);
NODE_OF(Kernel, struct cudaKernelNodeParams)
NODE_OF(Memset, struct cudaMemsetParams)
NODE_OF(Host, struct cudaHostNodeParams)
NODE_OF(Memcpy, struct cudaMemcpy3DParms)
#undef NODE_OF
API cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments);
API cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function);
API cudaFuncSetAttribute(const void *function, int attribute, int value);
API cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_threads,
                                                  size_t dynamic_nbytes);
API cudaOccupancyAvailableDynamicSMemPerBlock(size_t *nbytes, const void *function, int blocks, int block_threads);

API cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const cudaLaunchConfig_t *config);
API cudaOccupancyMaxPotentialClusterSize(int *size, const void *function, const cudaLaunchConfig_t *config);
API cudaStreamSetAttribute(cudaStream_t stream, int id, const union cudaLaunchAttributeValue *value);
API cudaStreamGetAttribute(cudaStream_t stream, int id, union cudaLaunchAttributeValue *value);
API cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from);
API cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, int id, const union cudaLaunchAttributeValue *value);
API cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, int id, union cudaLaunchAttributeValue *value);
API cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from);
API cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  const void *edges, size_t count, int mode);
API cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
                             const cudaGraphNode_t **dependencies, const void **edges, size_t *count);
API cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies, const void *edges,
                                        size_t count, unsigned flags);
API cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned initial,
                                     unsigned flags);
API cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                             struct cudaMemAllocNodeParams *params);
API cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                            void *pointer);
API cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params);
API cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *pointer);
API cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value);
API cudaDeviceSetGraphMemAttribute(int device, int attribute, void *value);
API cudaDeviceGraphMemTrim(int device);
API cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                               size_t count, cudaGraph_t child);
API cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *child);
API cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child);
#define DECLARE_EVENT_NODE(kind)                                                                                   \
    API cudaGraphAdd##kind##Node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,    \
                                 size_t count, cudaEvent_t event);                                                 \
    API cudaGraph##kind##NodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event);                                   \
    API cudaGraph##kind##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);                                    \
    API cudaGraphExec##kind##NodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event);
DECLARE_EVENT_NODE(EventRecord)
DECLARE_EVENT_NODE(EventWait)

#endif
