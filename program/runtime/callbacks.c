/* The host's functions in streams. */
#include "graphs.h"

typedef void host_function(void *data);
typedef void host_callback(cudaStream_t stream, cudaError_t status, void *data);

struct host_call {
    struct operation operation;
    host_function *function;
    host_callback *callback;
    cudaStream_t stream;
    void *data;
};

/* The program's own code may call the runtime again. */
static cudaError_t call_host(const struct operation *operation) {
    const struct host_call call = *(const struct host_call *)operation;
    host_wait_all(); /* its turn has come */
    host_leave();
    if (call.function) call.function(call.data);
    if (call.callback) call.callback(call.stream, cudaSuccess, call.data);
    host_enter();
    return cudaSuccess;
}

#define HOST_CALL {NODE_HOST, sizeof(struct host_call), call_host}

static cudaError_t launch_host(const struct host_call *call) {
    cudaError_t error = stream_is_known(call->stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    return error ? error : operation_do(&call->operation, call->stream);
}

API cudaLaunchHostFunc(cudaStream_t stream, host_function *function, void *data) {
    return CALL_WITH(function, launch_host(&(struct host_call){HOST_CALL, function, NULL, stream, data}));
}
ALSO(cudaLaunchHostFunc, _ptsz)

API cudaStreamAddCallback(cudaStream_t stream, host_callback *callback, void *data, unsigned flags) {
    (void)flags;
    return CALL_WITH(callback, launch_host(&(struct host_call){HOST_CALL, NULL, callback, stream, data}));
}
ALSO(cudaStreamAddCallback, _ptsz)

cudaError_t host_make(const struct cudaHostNodeParams *params, struct operation **made) {
    if (!params || !params->fn) return cudaErrorInvalidValue;
    const struct host_call call = {HOST_CALL, params->fn, NULL, NULL, params->userData};
    return operation_keep(&call.operation, made);
}

cudaError_t host_tell(const struct operation *operation, struct cudaHostNodeParams *params) {
    const struct host_call *call = (const struct host_call *)operation;
    if (!call->function) return runtime_lacks("cudaGraphHostNodeGetParams of a callback of a stream");
    *params = (struct cudaHostNodeParams){call->function, call->data};
    return cudaSuccess;
}
