/* Graphs of what streams were asked for while they were captured.  A graph is a list in the order of the host's calls,
 * which respects every order that the streams ask for. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

struct CUgraph_st {
    struct operation *first, **end;
    size_t users; /* the program's own handle, and those that can be launched */
};

struct CUgraphExec_st {
    cudaGraph_t graph;
};

/* ---- making and releasing ------------------------------------------------------------------------ */

static cudaGraph_t create(void) {
    cudaGraph_t graph = calloc(1, sizeof *graph);
    if (graph) *graph = (struct CUgraph_st){.end = &graph->first, .users = 1};
    return graph;
}

static void release(cudaGraph_t graph) {
    if (--graph->users > 0) return;
    for (struct operation *operation = graph->first, *next; operation; operation = next) {
        next = operation->next;
        free(operation);
    }
    free(graph);
}

cudaError_t operation_do(const struct operation *operation, size_t nbytes, cudaStream_t stream) {
    cudaGraph_t *capture = stream_capture(stream);
    if (!capture || !*capture) return operation->run(operation);
    struct operation *kept = malloc(nbytes);
    if (!kept) return cudaErrorMemoryAllocation;
    memcpy(kept, operation, nbytes);
    kept->next = NULL;
    *(*capture)->end = kept;
    (*capture)->end = &kept->next;
    return cudaSuccess;
}

/* ---- capturing ----------------------------------------------------------------------------------- */

static cudaError_t begin_capture(cudaStream_t stream) {
    cudaGraph_t *capture = stream_capture(stream);
    if (!capture) return cudaErrorStreamCaptureUnsupported; /* a default stream */
    if (*capture) return cudaErrorIllegalState;
    *capture = create();
    return *capture ? cudaSuccess : cudaErrorMemoryAllocation;
}

API cudaStreamBeginCapture(cudaStream_t stream, int mode) {
    (void)mode;
    return CALL(begin_capture(stream));
}
ALSO(cudaStreamBeginCapture, _ptsz)

static cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *graph) {
    cudaGraph_t *capture = stream_capture(stream);
    *graph = capture ? *capture : NULL;
    if (!*graph) return cudaErrorIllegalState;
    stream_end_capture(*graph);
    return cudaSuccess;
}

API cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) { return CALL(end_capture(stream, graph)); }
ALSO(cudaStreamEndCapture, _ptsz)

API cudaThreadExchangeStreamCaptureMode(int *mode) {
    (void)mode;
    return CALL(cudaSuccess);
}

/* ---- launching ----------------------------------------------------------------------------------- */

static cudaError_t instantiate(cudaGraphExec_t *result, cudaGraph_t graph) {
    if (!graph) return cudaErrorInvalidValue;
    *result = calloc(1, sizeof **result);
    if (!*result) return cudaErrorMemoryAllocation;
    (*result)->graph = graph;
    graph->users++;
    return cudaSuccess;
}

API cudaGraphInstantiate(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags) {
    (void)flags;
    return CALL(instantiate(result, graph));
}

API cudaGraphInstantiateWithFlags(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags) {
    (void)flags;
    return CALL(instantiate(result, graph));
}

static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    if (!exec) return cudaErrorInvalidValue;
    if (!stream_is_known(stream)) return cudaErrorInvalidResourceHandle;
    if (stream_is_captured(stream)) return cudaErrorStreamCaptureUnsupported;
    for (const struct operation *operation = exec->graph->first; operation && !error; operation = operation->next)
        error = device_current()->sticky ? device_current()->sticky : operation->run(operation);
    host_note_launch("of a graph", stream);
    return error;
}

API cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) { return CALL(launch(exec, stream)); }
ALSO(cudaGraphLaunch, _ptsz)

API cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    return CALL(exec && stream_is_known(stream) ? cudaSuccess : cudaErrorInvalidValue);
}
ALSO(cudaGraphUpload, _ptsz)

static cudaError_t destroy_exec(cudaGraphExec_t exec) {
    if (!exec) return cudaErrorInvalidValue;
    release(exec->graph);
    free(exec);
    return cudaSuccess;
}

API cudaGraphExecDestroy(cudaGraphExec_t exec) { return CALL(destroy_exec(exec)); }

static cudaError_t destroy(cudaGraph_t graph) {
    if (!graph) return cudaErrorInvalidValue;
    release(graph);
    return cudaSuccess;
}

API cudaGraphDestroy(cudaGraph_t graph) { return CALL(destroy(graph)); }
