/* What streams are asked for: it is done at once, or while they are captured becomes nodes of a graph. */
#include "graphs.h"

static cudaError_t run_in(cudaStream_t stream, const struct operation *operation) {
    order_set set = stream_order(stream);
    cudaError_t error = operation_run(operation, &set, false);
    stream_advance(stream, set);
    return error;
}

cudaError_t operation_do(const struct operation *operation, cudaStream_t stream) {
    struct operation *kept;
    if (captures_bar_stream(stream)) return cudaErrorStreamCaptureImplicit;
    if (!stream_is_captured(stream)) return run_in(stream, operation);
    cudaError_t error = operation_keep(operation, &kept);
    return error ? error : graph_capture(kept, stream);
}

/* ---- beginning and ending ------------------------------------------------------------------------ */

static cudaError_t check_begin(cudaStream_t stream, int mode) {
    enum { PER_THREAD = 2 };
    const cudaGraph_t *capture = stream_capture(stream);
    if ((uintptr_t)stream == PER_THREAD) return runtime_lacks("cudaStreamBeginCapture in cudaStreamPerThread");
    if (!capture) return cudaErrorStreamCaptureUnsupported; /* a default stream */
    if (*capture) return cudaErrorIllegalState;
    return mode < CAPTURE_GLOBAL || mode > CAPTURE_RELAXED ? cudaErrorInvalidValue : cudaSuccess;
}

static struct capture capture_of(cudaStream_t stream, int mode) {
    return (struct capture){.origin = stream, .thread = &runtime_thread, .mode = (enum capture_mode)mode};
}

static cudaError_t begin_capture(cudaStream_t stream, int mode, bool spares_default) {
    cudaError_t error = check_begin(stream, mode);
    if (!error) error = graph_create(stream_capture(stream));
    if (error) return error;
    struct capture *capture = &(*stream_capture(stream))->capture;
    *capture = capture_of(stream, mode);
    capture->has_made_graph = true;
    capture->spares_default = spares_default;
    return cudaSuccess;
}

API cudaStreamBeginCapture(cudaStream_t stream, int mode) { return CALL(begin_capture(stream, mode, false)); }

/* In code for which the default stream is the thread's own, no captured stream has to wait for it. */
API cudaStreamBeginCapture_ptsz(cudaStream_t stream, int mode) { return CALL(begin_capture(stream, mode, true)); }

/* Into a graph that is there, behind those of its nodes. */
static cudaError_t begin_capture_to(cudaStream_t stream, const struct graph_place *place, int mode) {
    cudaGraph_t *capture = stream_capture(stream);
    cudaError_t error = check_begin(stream, mode);
    if (error) return error;
    if (!place->graph || (place->count && !place->dependencies)) return cudaErrorInvalidValue;
    for (size_t i = 0; i < place->count; i++)
        if (!place->dependencies[i] || place->dependencies[i]->graph != place->graph) return cudaErrorInvalidValue;
    *capture = place->graph;
    place->graph->capture = capture_of(stream, mode);
    return front_join(stream_front(stream), &(struct front){(cudaGraphNode_t *)(uintptr_t)place->dependencies, place->count});
}

API cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                  const void *edges, size_t count, int mode) {
    if (!graph_edges_are_plain(edges, count))
        return runtime_absent("cudaStreamBeginCaptureToGraph with data for its edges");
    return CALL(begin_capture_to(stream, &(struct graph_place){NULL, graph, dependencies, count}, mode));
}
ALSO(cudaStreamBeginCaptureToGraph, _ptsz)

/* A capture that must not end here goes on, but gives no graph any more. */
static cudaError_t check_end(cudaStream_t stream, struct capture *capture) {
    cudaError_t error = cudaSuccess;
    if (capture->origin != stream) error = cudaErrorStreamCaptureUnmatched;
    else if (capture->mode != CAPTURE_RELAXED && capture->thread != &runtime_thread) error = cudaErrorStreamCaptureWrongThread;
    if (error) capture->is_invalid = true;
    return error;
}

/* Of a valid graph: another stream has joined the capture, and what it was asked for last is not waited for. */
static cudaError_t check_joins(cudaStream_t stream, cudaGraph_t graph) {
    if (!streams_leave_work(graph, stream_front(stream))) return cudaSuccess;
    failures_because("another stream has work in the capture that its first stream does not wait for: record an event behind it, "
                     "and let the first stream wait for that (cudaStreamWaitEvent)");
    return cudaErrorStreamCaptureUnjoined;
}

static cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *graph) {
    if (graph) *graph = NULL;
    if (!stream_is_captured(stream)) return cudaErrorIllegalState;
    const cudaGraph_t captured = *stream_capture(stream);
    cudaError_t error = check_end(stream, &captured->capture);
    if (error) return error;
    error = captured->capture.is_invalid ? cudaErrorStreamCaptureInvalidated : check_joins(stream, captured);
    stream_end_capture(captured);
    if (error && captured->capture.has_made_graph) graph_destroy(captured);
    else captured->capture = (struct capture){0};
    if (!error && graph) *graph = captured;
    return error;
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

static cudaError_t exchange_mode(int *mode) {
    if (!mode || *mode < CAPTURE_GLOBAL || *mode > CAPTURE_RELAXED) return cudaErrorInvalidValue;
    const enum capture_mode before = runtime_thread.capture_mode;
    runtime_thread.capture_mode = (enum capture_mode)*mode;
    *mode = (int)before;
    return cudaSuccess;
}

API cudaThreadExchangeStreamCaptureMode(int *mode) { return CALL(exchange_mode(mode)); }
