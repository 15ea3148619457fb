/* Nodes of each kind: added to a graph, and changed in it or in what is launched. */
#include "graphs.h"

/* The three calls of a kind.  MAKE is an expression that gives an error and `made`; PARAMETERS are the calls' own. */
#define LIST(...) __VA_ARGS__
#define NODE(add_name, set_name, exec_name, MAKE, PARAMETERS)                                                      \
    API add_name(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,      \
                 PARAMETERS) {                                                                                     \
        struct operation *made = NULL;                                                                             \
        const struct graph_place place = {node, graph, dependencies, count};                                       \
        return CALL((graph_add(&place, MAKE, &made)));                                                                \
    }                                                                                                              \
    API set_name(cudaGraphNode_t node, PARAMETERS) {                                                               \
        struct operation *made = NULL;                                                                             \
        return CALL((graph_set(node, MAKE, &made)));                                                                     \
    }                                                                                                              \
    API exec_name(cudaGraphExec_t exec, cudaGraphNode_t node, PARAMETERS) {                                        \
        struct operation *made = NULL;                                                                             \
        return CALL((graph_set_step(exec, node, MAKE, &made)));                                                          \
    }

NODE(cudaGraphAddKernelNode, cudaGraphKernelNodeSetParams, cudaGraphExecKernelNodeSetParams, launch_make(params, &made),
     const struct cudaKernelNodeParams *params)

NODE(cudaGraphAddMemcpyNode, cudaGraphMemcpyNodeSetParams, cudaGraphExecMemcpyNodeSetParams, planes_make(params, &made),
     const struct cudaMemcpy3DParms *params)

NODE(cudaGraphAddMemsetNode, cudaGraphMemsetNodeSetParams, cudaGraphExecMemsetNodeSetParams, fill_make(params, &made),
     const struct cudaMemsetParams *params)

NODE(cudaGraphAddHostNode, cudaGraphHostNodeSetParams, cudaGraphExecHostNodeSetParams, host_make(params, &made),
     const struct cudaHostNodeParams *params)

NODE(cudaGraphAddMemcpyNode1D, cudaGraphMemcpyNodeSetParams1D, cudaGraphExecMemcpyNodeSetParams1D,
     copy_make(to, from, nbytes, kind, &made), LIST(void *to, const void *from, size_t nbytes, enum cudaMemcpyKind kind))

static cudaError_t to_symbol(const void *symbol, const void *from, size_t nbytes, size_t offset,
                             enum cudaMemcpyKind kind, struct operation **made) {
    uint64_t address;
    cudaError_t error = variable_find_part(symbol, offset, nbytes, &address);
    return error ? error : copy_make((void *)(uintptr_t)address, from, nbytes, kind, made);
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t nbytes, size_t offset, enum cudaMemcpyKind kind,
                               struct operation **made) {
    uint64_t address;
    cudaError_t error = variable_find_part(symbol, offset, nbytes, &address);
    return error ? error : copy_make(to, (const void *)(uintptr_t)address, nbytes, kind, made);
}

NODE(cudaGraphAddMemcpyNodeToSymbol, cudaGraphMemcpyNodeSetParamsToSymbol, cudaGraphExecMemcpyNodeSetParamsToSymbol,
     to_symbol(symbol, from, nbytes, offset, kind, &made),
     LIST(const void *symbol, const void *from, size_t nbytes, size_t offset, enum cudaMemcpyKind kind))

NODE(cudaGraphAddMemcpyNodeFromSymbol, cudaGraphMemcpyNodeSetParamsFromSymbol,
     cudaGraphExecMemcpyNodeSetParamsFromSymbol, from_symbol(to, symbol, nbytes, offset, kind, &made),
     LIST(void *to, const void *symbol, size_t nbytes, size_t offset, enum cudaMemcpyKind kind))

/* ---- events -------------------------------------------------------------------------------------- */

NODE(cudaGraphAddEventRecordNode, cudaGraphEventRecordNodeSetEvent, cudaGraphExecEventRecordNodeSetEvent,
     event_make(NODE_RECORD, event, &made), cudaEvent_t event)

NODE(cudaGraphAddEventWaitNode, cudaGraphEventWaitNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent,
     event_make(NODE_WAIT, event, &made), cudaEvent_t event)

static cudaError_t get_event(cudaGraphNode_t node, enum operation_kind kind, cudaEvent_t *event) {
    const struct operation *operation = graph_operation(node, kind);
    if (!operation || !event) return cudaErrorInvalidValue;
    *event = event_of(operation);
    return cudaSuccess;
}

API cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
    return CALL(get_event(node, NODE_RECORD, event));
}

API cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event) {
    return CALL(get_event(node, NODE_WAIT, event));
}
