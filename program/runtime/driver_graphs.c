/* The driver's graphs. */
#include "driver.h"

/* ---- captured streams, and launching ------------------------------------------------------------- */

DRIVER cuStreamBeginCapture_v2(cudaStream_t stream, int mode) { return DRIVE(cudaStreamBeginCapture(stream, mode)); }
DRIVER cuStreamBeginCapture_v2_ptsz(cudaStream_t stream, int mode) { return DRIVE(cudaStreamBeginCapture_ptsz(stream, mode)); }

DRIVER cuStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
    return DRIVE(cudaStreamEndCapture(stream, graph));
}
ALSO(cuStreamEndCapture, _ptsz)

DRIVER cuStreamIsCapturing(cudaStream_t stream, int *status) { return DRIVE(cudaStreamIsCapturing(stream, status)); }
ALSO(cuStreamIsCapturing, _ptsz)

DRIVER cuThreadExchangeStreamCaptureMode(int *mode) { return DRIVE_BARE(cudaThreadExchangeStreamCaptureMode(mode)); }

DRIVER cuGraphInstantiateWithFlags(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags) {
    return DRIVE(cudaGraphInstantiate(result, graph, flags));
}

DRIVER cuGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) { return DRIVE(cudaGraphLaunch(exec, stream)); }
ALSO(cuGraphLaunch, _ptsz)

DRIVER cuGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) { return DRIVE(cudaGraphUpload(exec, stream)); }
ALSO(cuGraphUpload, _ptsz)

DRIVER cuGraphExecDestroy(cudaGraphExec_t exec) { return DRIVE(cudaGraphExecDestroy(exec)); }
DRIVER cuGraphDestroy(cudaGraph_t graph) { return DRIVE(cudaGraphDestroy(graph)); }

DRIVER cuGraphInstantiateWithParams(cudaGraphExec_t *result, cudaGraph_t graph, struct cudaGraphInstantiateParams *params) {
    return DRIVE(cudaGraphInstantiateWithParams(result, graph, params));
}
ALSO(cuGraphInstantiateWithParams, _ptsz)

DRIVER cuGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned flags) {
    return DRIVE(cudaGraphDebugDotPrint(graph, path, flags));
}

DRIVER cuGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags) { return DRIVE(cudaGraphExecGetFlags(exec, flags)); }

DRIVER cuUserObjectCreate(cudaUserObject_t *object, void *data, void (*destroy)(void *), unsigned count, unsigned flags) {
    return DRIVE(cudaUserObjectCreate(object, data, destroy, count, flags));
}

DRIVER cuUserObjectRetain(cudaUserObject_t object, unsigned count) { return DRIVE(cudaUserObjectRetain(object, count)); }
DRIVER cuUserObjectRelease(cudaUserObject_t object, unsigned count) { return DRIVE(cudaUserObjectRelease(object, count)); }

DRIVER cuGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags) {
    return DRIVE(cudaGraphRetainUserObject(graph, object, count, flags));
}

DRIVER cuGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
    return DRIVE(cudaGraphReleaseUserObject(graph, object, count));
}

DRIVER cuGraphExecUpdate_v2(cudaGraphExec_t exec, cudaGraph_t graph, struct cudaGraphExecUpdateResultInfo *info) {
    return DRIVE(cudaGraphExecUpdate(exec, graph, info));
}

DRIVER cuGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned is_enabled) {
    return DRIVE(cudaGraphNodeSetEnabled(exec, node, is_enabled));
}

DRIVER cuGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *is_enabled) {
    return DRIVE(cudaGraphNodeGetEnabled(exec, node, is_enabled));
}

/* ---- nodes --------------------------------------------------------------------------------------- */

DRIVER cuGraphCreate(cudaGraph_t *graph, unsigned flags) { return DRIVE(cudaGraphCreate(graph, flags)); }
DRIVER cuGraphClone(cudaGraph_t *result, cudaGraph_t graph) { return DRIVE(cudaGraphClone(result, graph)); }

DRIVER cuGraphNodeFindInClone(cudaGraphNode_t *result, cudaGraphNode_t original, cudaGraph_t clone) {
    return DRIVE(cudaGraphNodeFindInClone(result, original, clone));
}

DRIVER cuGraphDestroyNode(cudaGraphNode_t node) { return DRIVE(cudaGraphDestroyNode(node)); }
DRIVER cuGraphNodeGetType(cudaGraphNode_t node, int *kind) { return DRIVE(cudaGraphNodeGetType(node, kind)); }

DRIVER cuGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    return DRIVE(cudaGraphGetNodes(graph, nodes, count));
}

DRIVER cuGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) {
    return DRIVE(cudaGraphGetRootNodes(graph, nodes, count));
}

DRIVER cuGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, void *edges, size_t *count) {
    return DRIVE(cudaGraphGetEdges(graph, from, to, edges, count));
}

DRIVER cuGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes, void *edges, size_t *count) {
    return DRIVE(cudaGraphNodeGetDependencies(node, nodes, edges, count));
}

DRIVER cuGraphNodeGetDependentNodes_v2(cudaGraphNode_t node, cudaGraphNode_t *nodes, void *edges, size_t *count) {
    return DRIVE(cudaGraphNodeGetDependentNodes(node, nodes, edges, count));
}

DRIVER cuGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                 const void *edges, size_t count) {
    return DRIVE(cudaGraphAddDependencies(graph, from, to, edges, count));
}

DRIVER cuGraphRemoveDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                    const void *edges, size_t count) {
    return DRIVE(cudaGraphRemoveDependencies(graph, from, to, edges, count));
}

/* CUDA_KERNEL_NODE_PARAMS; the context is the current one. */
struct kernel_node {
    CUfunction function;
    dim3 grid, block;
    unsigned shared_nbytes;
    void **arguments, **extra;
    CUfunction kernel; /* in place of the function */
    CUcontext context;
};

static struct cudaKernelNodeParams params_of(const struct kernel_node *node) {
    return (struct cudaKernelNodeParams){.func = node->function ? node->function : node->kernel,
                                         .gridDim = node->grid,
                                         .blockDim = node->block,
                                         .sharedMemBytes = node->shared_nbytes,
                                         .kernelParams = node->arguments,
                                         .extra = node->extra};
}

DRIVER cuGraphAddKernelNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                               size_t count, const struct kernel_node *kernel) {
    const struct cudaKernelNodeParams params = params_of(kernel);
    return DRIVE(cudaGraphAddKernelNode(node, graph, dependencies, count, &params));
}
ALSO_UNVERSIONED(cuGraphAddKernelNode)

DRIVER cuGraphKernelNodeSetParams_v2(cudaGraphNode_t node, const struct kernel_node *kernel) {
    const struct cudaKernelNodeParams params = params_of(kernel);
    return DRIVE(cudaGraphKernelNodeSetParams(node, &params));
}
ALSO_UNVERSIONED(cuGraphKernelNodeSetParams)

DRIVER cuGraphExecKernelNodeSetParams_v2(cudaGraphExec_t exec, cudaGraphNode_t node, const struct kernel_node *kernel) {
    const struct cudaKernelNodeParams params = params_of(kernel);
    return DRIVE(cudaGraphExecKernelNodeSetParams(exec, node, &params));
}
ALSO_UNVERSIONED(cuGraphExecKernelNodeSetParams)

/* The driver's name of a kernel is its handle, whatever the program's is. */
static cudaError_t tell_kernel(cudaGraphNode_t node, struct kernel_node *kernel) {
    struct cudaKernelNodeParams params;
    cudaError_t error = cudaGraphKernelNodeGetParams(node, &params);
    if (error) return error;
    host_enter();
    kernel->function = kernel_find(params.func, &error);
    host_leave();
    kernel->grid = params.gridDim;
    kernel->block = params.blockDim;
    kernel->shared_nbytes = params.sharedMemBytes;
    kernel->arguments = params.kernelParams;
    kernel->extra = NULL;
    return error;
}

static cudaError_t tell_whole_kernel(cudaGraphNode_t node, struct kernel_node *kernel) {
    struct kernel_node told = {.context = driver_context()};
    cudaError_t error = kernel ? tell_kernel(node, &told) : cudaErrorInvalidValue;
    if (!error) *kernel = told;
    return error;
}

DRIVER cuGraphKernelNodeGetParams_v2(cudaGraphNode_t node, struct kernel_node *kernel) {
    return DRIVE(tell_whole_kernel(node, kernel));
}

/* Before CUDA 12 the last two were not there. */
DRIVER cuGraphKernelNodeGetParams(cudaGraphNode_t node, struct kernel_node *kernel) {
    return DRIVE(kernel ? tell_kernel(node, kernel) : cudaErrorInvalidValue);
}

DRIVER cuGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *params) {
    return DRIVE(cudaGraphMemsetNodeGetParams(node, params));
}

DRIVER cuGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *params) {
    return DRIVE(cudaGraphHostNodeGetParams(node, params));
}

DRIVER cuGraphKernelNodeSetAttribute(cudaGraphNode_t node, int id, const union cudaLaunchAttributeValue *value) {
    return DRIVE(cudaGraphKernelNodeSetAttribute(node, id, value));
}

DRIVER cuGraphKernelNodeGetAttribute(cudaGraphNode_t node, int id, union cudaLaunchAttributeValue *value) {
    return DRIVE(cudaGraphKernelNodeGetAttribute(node, id, value));
}

DRIVER cuGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
    return DRIVE(cudaGraphKernelNodeCopyAttributes(to, from));
}

DRIVER cuGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                            const struct cudaMemsetParams *params, CUcontext context) {
    (void)context;
    return DRIVE(cudaGraphAddMemsetNode(node, graph, dependencies, count, params));
}

DRIVER cuGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *params) {
    return DRIVE(cudaGraphMemsetNodeSetParams(node, params));
}

DRIVER cuGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemsetParams *params,
                                      CUcontext context) {
    (void)context;
    return DRIVE(cudaGraphExecMemsetNodeSetParams(exec, node, params));
}

DRIVER cuGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                          const struct cudaHostNodeParams *params) {
    return DRIVE(cudaGraphAddHostNode(node, graph, dependencies, count, params));
}

DRIVER cuGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *params) {
    return DRIVE(cudaGraphHostNodeSetParams(node, params));
}

DRIVER cuGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                    const struct cudaHostNodeParams *params) {
    return DRIVE(cudaGraphExecHostNodeSetParams(exec, node, params));
}

DRIVER cuGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                           size_t count) {
    return DRIVE(cudaGraphAddEmptyNode(node, graph, dependencies, count));
}

/* ---- graphs within, and events ------------------------------------------------------------------- */

DRIVER cuGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                size_t count, cudaGraph_t child) {
    return DRIVE(cudaGraphAddChildGraphNode(node, graph, dependencies, count, child));
}

DRIVER cuGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *child) {
    return DRIVE(cudaGraphChildGraphNodeGetGraph(node, child));
}

DRIVER cuGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
    return DRIVE(cudaGraphExecChildGraphNodeSetParams(exec, node, child));
}

#define EVENT_NODE(kind)                                                                                           \
    DRIVER cuGraphAdd##kind##Node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,   \
                                  size_t count, cudaEvent_t event) {                                               \
        return DRIVE(cudaGraphAdd##kind##Node(node, graph, dependencies, count, event));                           \
    }                                                                                                              \
    DRIVER cuGraph##kind##NodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {                                 \
        return DRIVE(cudaGraph##kind##NodeGetEvent(node, event));                                                  \
    }                                                                                                              \
    DRIVER cuGraph##kind##NodeSetEvent(cudaGraphNode_t node, cudaEvent_t event) {                                  \
        return DRIVE(cudaGraph##kind##NodeSetEvent(node, event));                                                  \
    }                                                                                                              \
    DRIVER cuGraphExec##kind##NodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event) {        \
        return DRIVE(cudaGraphExec##kind##NodeSetEvent(exec, node, event));                                        \
    }

EVENT_NODE(EventRecord)
EVENT_NODE(EventWait)

/* ---- captures that go on by hand, conditions, memory --------------------------------------------- */

DRIVER cuStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                   const void *edges, size_t count, int mode) {
    return DRIVE(cudaStreamBeginCaptureToGraph(stream, graph, dependencies, edges, count, mode));
}
ALSO(cuStreamBeginCaptureToGraph, _ptsz)

DRIVER cuStreamGetCaptureInfo_v3(cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
                                 const cudaGraphNode_t **dependencies, const void **edges, size_t *count) {
    return DRIVE(cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, count));
}
ALSO(cuStreamGetCaptureInfo_v3, _ptsz)

DRIVER cuStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t *dependencies, const void *edges,
                                            size_t count, unsigned flags) {
    return DRIVE(cudaStreamUpdateCaptureDependencies(stream, dependencies, edges, count, flags));
}
ALSO(cuStreamUpdateCaptureDependencies_v2, _ptsz)

DRIVER cuGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph, CUcontext context,
                                      unsigned initial, unsigned flags) {
    (void)context;
    return DRIVE(cudaGraphConditionalHandleCreate(handle, graph, initial, flags));
}

DRIVER cuGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                              size_t count, struct cudaMemAllocNodeParams *params) {
    return DRIVE(cudaGraphAddMemAllocNode(node, graph, dependencies, count, params));
}

DRIVER cuGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                             size_t count, CUdeviceptr address) {
    return DRIVE(cudaGraphAddMemFreeNode(node, graph, dependencies, count, pointer_to(address)));
}

DRIVER cuGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params) {
    return DRIVE(cudaGraphMemAllocNodeGetParams(node, params));
}

DRIVER cuGraphMemFreeNodeGetParams(cudaGraphNode_t node, CUdeviceptr *address) {
    return DRIVE(cudaGraphMemFreeNodeGetParams(node, address));
}

DRIVER cuDeviceGetGraphMemAttribute(int device, int attribute, void *value) {
    return DRIVE_BARE(cudaDeviceGetGraphMemAttribute(device, attribute, value));
}

DRIVER cuDeviceSetGraphMemAttribute(int device, int attribute, void *value) {
    return DRIVE_BARE(cudaDeviceSetGraphMemAttribute(device, attribute, value));
}

DRIVER cuDeviceGraphMemTrim(int device) { return DRIVE_BARE(cudaDeviceGraphMemTrim(device)); }
