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

/* ---- parameters and attributes of nodes ------------------------------------------------------------ */

#define TELL(name, kind, tell, type)                                                                               \
    API name(cudaGraphNode_t node, type *params) {                                                                 \
        const struct operation *operation = NULL;                                                                  \
        return CALL((operation = graph_operation(node, kind)) && params ? tell(operation, params)                  \
                                                                        : cudaErrorInvalidValue);                  \
    }

TELL(cudaGraphKernelNodeGetParams, NODE_LAUNCH, launch_tell, struct cudaKernelNodeParams)
TELL(cudaGraphMemcpyNodeGetParams, NODE_COPY, planes_tell, struct cudaMemcpy3DParms)
TELL(cudaGraphMemsetNodeGetParams, NODE_FILL, fill_tell, struct cudaMemsetParams)
TELL(cudaGraphHostNodeGetParams, NODE_HOST, host_tell, struct cudaHostNodeParams)
TELL(cudaGraphMemAllocNodeGetParams, NODE_ALLOCATE, allocation_tell, struct cudaMemAllocNodeParams)
TELL(cudaGraphMemFreeNodeGetParams, NODE_FREE, free_tell, void)

static cudaError_t set_attribute(cudaGraphNode_t node, int id, const union cudaLaunchAttributeValue *value) {
    struct operation *operation = graph_operation(node, NODE_LAUNCH);
    return operation && value ? launch_set_attribute(operation, id, value) : cudaErrorInvalidValue;
}

API cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, int id, const union cudaLaunchAttributeValue *value) {
    return CALL(set_attribute(node, id, value));
}

static cudaError_t get_attribute(cudaGraphNode_t node, int id, union cudaLaunchAttributeValue *value) {
    const struct operation *operation = graph_operation(node, NODE_LAUNCH);
    return operation && value ? launch_get_attribute(operation, id, value) : cudaErrorInvalidValue;
}

API cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, int id, union cudaLaunchAttributeValue *value) {
    return CALL(get_attribute(node, id, value));
}

static cudaError_t copy_attributes(cudaGraphNode_t to, cudaGraphNode_t from) {
    struct operation *target = graph_operation(to, NODE_LAUNCH);
    const struct operation *source = graph_operation(from, NODE_LAUNCH);
    return target && source ? launch_copy_attributes(target, source) : cudaErrorInvalidValue;
}

API cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from) {
    return CALL(copy_attributes(to, from));
}

/* ---- memory -------------------------------------------------------------------------------------- */

API cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                             struct cudaMemAllocNodeParams *params) {
    struct operation *made = NULL;
    const struct graph_place place = {node, graph, dependencies, count};
    return CALL((graph_add(&place, allocation_make(params, &made), &made)));
}

API cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
                            void *pointer) {
    struct operation *made = NULL;
    const struct graph_place place = {node, graph, dependencies, count};
    return CALL((graph_add(&place, free_make(pointer, &made), &made)));
}

/* ---- nodes of any kind ---------------------------------------------------------------------------- */

typedef cudaError_t make_function(const struct cudaGraphNodeParams *params, struct operation **made);

#define MAKER(name, expression)                                                                                    \
    static cudaError_t name(const struct cudaGraphNodeParams *params, struct operation **made) { return expression; }
MAKER(make_kernel, launch_make(&params->kernel, made))
MAKER(make_copy, planes_make(&params->memcpy.copyParams, made))
MAKER(make_fill, fill_make(&params->memset, made))
MAKER(make_host, host_make(&params->host, made))
MAKER(make_empty, ((void)params, empty_make(made)))
MAKER(make_wait, event_make(NODE_WAIT, params->eventWait.event, made))
MAKER(make_record, event_make(NODE_RECORD, params->eventRecord.event, made))

static cudaError_t make_any(const struct cudaGraphNodeParams *params, struct operation **made) {
    static make_function *const makers[] = {
        [NODE_LAUNCH] = make_kernel, [NODE_COPY] = make_copy, [NODE_FILL] = make_fill,    [NODE_HOST] = make_host,
        [NODE_EMPTY] = make_empty,   [NODE_WAIT] = make_wait, [NODE_RECORD] = make_record};
    if (!params || params->type < 0) return cudaErrorInvalidValue;
    make_function *make = (size_t)params->type < sizeof makers / sizeof *makers ? makers[params->type] : NULL;
    return make ? make(params, made) : runtime_lacks("a node of this kind by cudaGraphAddNode or cudaGraphNodeSetParams");
}

static cudaError_t add_any(const struct graph_place *place, struct cudaGraphNodeParams *params) {
    enum { OWNERSHIP_CLONE = 0 };
    struct operation *made = NULL;
    if (params && params->type == NODE_ALLOCATE)
        return graph_add(place, allocation_make(&params->alloc, &made), &made);
    if (params && params->type == NODE_FREE) return graph_add(place, free_make(params->free.dptr, &made), &made);
    if (params && params->type == NODE_CONDITION) return graph_add_condition(place, &params->conditional);
    if (!params || params->type != NODE_GRAPH) return graph_add(place, make_any(params, &made), &made);
    return params->graph.ownership == OWNERSHIP_CLONE ? graph_add_child(place, params->graph.graph)
                                                      : runtime_lacks("cudaGraphAddNode with a graph that it takes");
}

API cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, const void *edges,
                     size_t count, struct cudaGraphNodeParams *params) {
    if (!graph_edges_are_plain(edges, count)) return runtime_absent("cudaGraphAddNode with data for its edges");
    return CALL(add_any(&(struct graph_place){node, graph, dependencies, count}, params));
}

API cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    struct operation *made = NULL;
    return CALL((graph_set(node, make_any(params, &made), &made)));
}

API cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params) {
    struct operation *made = NULL;
    return CALL((graph_set_step(exec, node, make_any(params, &made), &made)));
}
