/* Nodes of any kind by the driver's calls: its parameters are the runtime library's, but for those of kernels, copies and
 * batches of words, which have calls of their own. */
#include "driver.h"
#include "graphs.h"

struct kernel_node;
struct planes;
struct batch_params;

/* CUDA_MEMCPY_NODE_PARAMS: the copy lies behind these. */
struct copy_head {
    int flags, reserved;
    CUcontext context;
};

DRIVER cuGraphAddKernelNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                               const struct kernel_node *kernel);
DRIVER cuGraphKernelNodeSetParams_v2(cudaGraphNode_t node, const struct kernel_node *kernel);
DRIVER cuGraphExecKernelNodeSetParams_v2(cudaGraphExec_t exec, cudaGraphNode_t node, const struct kernel_node *kernel);
DRIVER cuGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                            const struct planes *copying, CUcontext context);
DRIVER cuGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct planes *copying);
DRIVER cuGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const struct planes *copying, CUcontext context);
DRIVER cuGraphAddBatchMemOpNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                                const struct batch_params *params);
DRIVER cuGraphBatchMemOpNodeSetParams(cudaGraphNode_t node, const struct batch_params *params);
DRIVER cuGraphExecBatchMemOpNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const struct batch_params *params);

static const void *own_params(const struct cudaGraphNodeParams *params) { return params->reserved1; }

static const struct planes *copy_of(const struct cudaGraphNodeParams *params) {
    return (const struct planes *)(const void *)((const struct copy_head *)own_params(params) + 1);
}

DRIVER cuGraphAddNode_v2(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, const void *edges,
                         size_t count, struct cudaGraphNodeParams *params) {
    if (!params) return cudaErrorInvalidValue;
    if (!graph_edges_are_plain(edges, count)) return runtime_absent("cuGraphAddNode with data for its edges");
    switch ((enum operation_kind)params->type) {
    case NODE_LAUNCH: return cuGraphAddKernelNode_v2(node, graph, dependencies, count, own_params(params));
    case NODE_COPY: return cuGraphAddMemcpyNode(node, graph, dependencies, count, copy_of(params), NULL);
    case NODE_WORDS: return cuGraphAddBatchMemOpNode(node, graph, dependencies, count, own_params(params));
    default: return DRIVE(cudaGraphAddNode(node, graph, dependencies, NULL, count, params));
    }
}

DRIVER cuGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                      struct cudaGraphNodeParams *params) {
    return cuGraphAddNode_v2(node, graph, dependencies, NULL, count, params);
}

DRIVER cuGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    if (!params) return cudaErrorInvalidValue;
    switch ((enum operation_kind)params->type) {
    case NODE_LAUNCH: return cuGraphKernelNodeSetParams_v2(node, own_params(params));
    case NODE_COPY: return cuGraphMemcpyNodeSetParams(node, copy_of(params));
    case NODE_WORDS: return cuGraphBatchMemOpNodeSetParams(node, own_params(params));
    default: return DRIVE(cudaGraphNodeSetParams(node, params));
    }
}

DRIVER cuGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    if (!params) return cudaErrorInvalidValue;
    switch ((enum operation_kind)params->type) {
    case NODE_LAUNCH: return cuGraphExecKernelNodeSetParams_v2(exec, node, own_params(params));
    case NODE_COPY: return cuGraphExecMemcpyNodeSetParams(exec, node, copy_of(params), NULL);
    case NODE_WORDS: return cuGraphExecBatchMemOpNodeSetParams(exec, node, own_params(params));
    default: return DRIVE(cudaGraphExecNodeSetParams(exec, node, params));
    }
}
