/* What streams are asked for: it is done at once, or while they are captured becomes nodes of a graph. */
#include "graphs.h"

#include <stdlib.h>

/* The stream's next node: behind those at its front, and then alone there. */
static cudaError_t append_in(cudaStream_t stream, cudaGraph_t graph, struct operation *operation) {
    struct front *front = stream_front(stream);
    cudaError_t error = cudaSuccess;
    cudaGraphNode_t node = graph_append(graph, operation);
    if (!node) return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < front->count && !error; i++)
        if (!node_depends_on(node, front->nodes[i])) error = node_depend(node, front->nodes[i]);
    front_clear(front);
    return error ? error : front_join(front, &(struct front){&node, 1});
}

static cudaError_t run_in(cudaStream_t stream, const struct operation *operation) {
    order_set set = stream_order(stream);
    cudaError_t error = operation_run(operation, &set, false);
    stream_advance(stream, set);
    return error;
}

cudaError_t graph_capture(struct operation *operation, cudaStream_t stream) {
    const cudaGraph_t graph = *stream_capture(stream);
    if (!graph->is_invalid) return append_in(stream, graph, operation);
    free(operation);
    return cudaErrorStreamCaptureInvalidated;
}

cudaError_t operation_do(const struct operation *operation, cudaStream_t stream) {
    struct operation *kept;
    if (!stream_is_captured(stream)) return run_in(stream, operation);
    cudaError_t error = operation_keep(operation, &kept);
    return error ? error : graph_capture(kept, stream);
}

static cudaError_t begin_capture(cudaStream_t stream) {
    cudaGraph_t *capture = stream_capture(stream);
    if (!capture) return cudaErrorStreamCaptureUnsupported; /* a default stream */
    if (*capture) return cudaErrorIllegalState;
    cudaError_t error = graph_create(capture);
    if (!error) (*capture)->is_made_by_capture = true;
    return error;
}

API cudaStreamBeginCapture(cudaStream_t stream, int mode) {
    (void)mode;
    return CALL(begin_capture(stream));
}
ALSO(cudaStreamBeginCapture, _ptsz)

/* Into a graph that is there, behind those of its nodes. */
static cudaError_t begin_capture_to(cudaStream_t stream, const struct graph_place *place) {
    cudaGraph_t *capture = stream_capture(stream);
    if (!capture) return cudaErrorStreamCaptureUnsupported;
    if (*capture) return cudaErrorIllegalState;
    if (!place->graph || (place->count && !place->dependencies)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < place->count; i++)
        if (!place->dependencies[i] || place->dependencies[i]->graph != place->graph) return cudaErrorInvalidValue;
    *capture = place->graph;
    return front_join(stream_front(stream), &(struct front){(cudaGraphNode_t *)(uintptr_t)place->dependencies, place->count});
}

API cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  const void *edges, size_t count, int mode) {
    (void)mode;
    if (!graph_edges_are_plain(edges, count))
        return runtime_absent("cudaStreamBeginCaptureToGraph with data for its edges");
    return CALL(begin_capture_to(stream, &(struct graph_place){NULL, graph, dependencies, count}));
}
ALSO(cudaStreamBeginCaptureToGraph, _ptsz)

static cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *graph) {
    cudaGraph_t *capture = stream_capture(stream), captured = capture ? *capture : NULL;
    if (graph) *graph = captured;
    if (!captured) return cudaErrorIllegalState;
    stream_end_capture(captured);
    const bool is_made_here = captured->is_made_by_capture, is_invalid = captured->is_invalid;
    captured->is_made_by_capture = captured->is_invalid = false;
    if (!is_invalid) return cudaSuccess;
    if (is_made_here) graph_destroy(captured);
    if (graph) *graph = NULL;
    return cudaErrorStreamCaptureInvalidated;
}

API cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) { return CALL(end_capture(stream, graph)); }
ALSO(cudaStreamEndCapture, _ptsz)

/* What the stream's next node will depend on; each of the results may be NULL. */
struct capture_info {
    int *status;
    unsigned long long *id;
    cudaGraph_t *graph;
    const cudaGraphNode_t **dependencies;
    const void **edges; /* there are none but plain ones */
    size_t *count;
};

static cudaError_t tell_capture(cudaStream_t stream, const struct capture_info *info) {
    if (!info->status) return cudaErrorInvalidValue;
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    *info->status = stream_capture_status(stream);
    if (!*info->status) return cudaSuccess;
    const cudaGraph_t graph = *stream_capture(stream);
    if (info->id) *info->id = (uintptr_t)graph;
    if (info->graph) *info->graph = graph;
    if (info->dependencies) *info->dependencies = stream_front(stream)->nodes;
    if (info->edges) *info->edges = NULL;
    if (info->count) *info->count = stream_front(stream)->count;
    return cudaSuccess;
}

API cudaStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
                             const cudaGraphNode_t **dependencies, const void **edges, size_t *count) {
    return CALL(tell_capture(stream, &(struct capture_info){status, id, graph, dependencies, edges, count}));
}
ALSO(cudaStreamGetCaptureInfo, _ptsz)

static cudaError_t update_capture(cudaStream_t stream, const struct front *given, unsigned flags) {
    enum { ADD_DEPENDENCIES, SET_DEPENDENCIES };
    if (!stream_is_captured(stream)) return cudaErrorIllegalState;
    if (flags > SET_DEPENDENCIES || (given->count && !given->nodes)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < given->count; i++)
        if (!given->nodes[i] || given->nodes[i]->graph != *stream_capture(stream)) return cudaErrorInvalidValue;
    struct front front = {0}; /* those given may be the stream's own */
    cudaError_t error = front_join(&front, given);
    if (error) return error;
    if (flags == SET_DEPENDENCIES) front_clear(stream_front(stream));
    error = front_join(stream_front(stream), &front);
    front_clear(&front);
    return error;
}

API cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies, const void *edges,
                                        size_t count, unsigned flags) {
    if (!graph_edges_are_plain(edges, count))
        return runtime_absent("cudaStreamUpdateCaptureDependencies with data for its edges");
    return CALL(update_capture(stream, &(struct front){dependencies, count}, flags));
}
ALSO(cudaStreamUpdateCaptureDependencies, _ptsz)

API cudaThreadExchangeStreamCaptureMode(int *mode) {
    (void)mode;
    return CALL(cudaSuccess);
}
