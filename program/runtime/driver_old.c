/* What the driver's functions meant under the same names in older versions of CUDA, where that was another thing, and
 * the launches of CUDA 1 to 3. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* ---- captured streams and graphs, before edges had data ------------------------------------------ */

DRIVER cuStreamBeginCapture(cudaStream_t stream) {
    enum { MODE_GLOBAL = 0 };
    return DRIVE(cudaStreamBeginCapture(stream, MODE_GLOBAL));
}
ALSO(cuStreamBeginCapture, _ptsz)

DRIVER cuStreamGetCaptureInfo(cudaStream_t stream, int *status, unsigned long long *id) {
    return DRIVE(cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL));
}
ALSO(cuStreamGetCaptureInfo, _ptsz)

DRIVER cuStreamGetCaptureInfo_v2(cudaStream_t stream, int *status, unsigned long long *id, cudaGraph_t *graph,
                                 const cudaGraphNode_t **dependencies, size_t *count) {
    return DRIVE(cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, count));
}
ALSO(cuStreamGetCaptureInfo_v2, _ptsz)

DRIVER cuStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count, unsigned flags) {
    return DRIVE(cudaStreamUpdateCaptureDependencies(stream, dependencies, NULL, count, flags));
}
ALSO(cuStreamUpdateCaptureDependencies, _ptsz)

static cudaError_t instantiate(cudaGraphExec_t *result, cudaGraph_t graph, cudaGraphNode_t *culprit, char *log,
                               size_t nbytes) {
    if (culprit) *culprit = NULL;
    if (log && nbytes) *log = '\0';
    return cudaGraphInstantiate(result, graph, 0);
}

DRIVER cuGraphInstantiate(cudaGraphExec_t *result, cudaGraph_t graph, cudaGraphNode_t *culprit, char *log,
                          size_t nbytes) {
    return DRIVE(instantiate(result, graph, culprit, log, nbytes));
}
ALSO(cuGraphInstantiate, _v2)

static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *culprit, int *result) {
    struct cudaGraphExecUpdateResultInfo info = {0};
    cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
    if (culprit) *culprit = info.errorNode;
    if (result) *result = info.result;
    return error;
}

DRIVER cuGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *culprit, int *result) {
    return DRIVE(update(exec, graph, culprit, result));
}

DRIVER cuGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count) {
    return DRIVE(cudaGraphGetEdges(graph, from, to, NULL, count));
}

DRIVER cuGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count) {
    return DRIVE(cudaGraphNodeGetDependencies(node, nodes, NULL, count));
}

DRIVER cuGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count) {
    return DRIVE(cudaGraphNodeGetDependentNodes(node, nodes, NULL, count));
}

DRIVER cuGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count) {
    return DRIVE(cudaGraphAddDependencies(graph, from, to, NULL, count));
}

DRIVER cuGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                 size_t count) {
    return DRIVE(cudaGraphRemoveDependencies(graph, from, to, NULL, count));
}

/* ---- batches of copies, which told which of them was wrong --------------------------------------- */

/* Of none in particular. */
static cudaError_t tell_failure(cudaError_t error, size_t *failed) {
    if (error && failed) *failed = SIZE_MAX;
    return error;
}

DRIVER cuMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *sizes, size_t count,
                          const struct cudaMemcpyAttributes *attributes, const size_t *firsts, size_t attribute_count,
                          size_t *failed, cudaStream_t stream) {
    return DRIVE(tell_failure(cudaMemcpyBatchAsync(to, from, sizes, count, attributes, firsts, attribute_count, stream), failed));
}
ALSO(cuMemcpyBatchAsync, _ptsz)

DRIVER cuMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *copies, size_t *failed, unsigned long long flags,
                            cudaStream_t stream) {
    return DRIVE(tell_failure(cudaMemcpy3DBatchAsync(count, copies, flags, stream), failed));
}
ALSO(cuMemcpy3DBatchAsync, _ptsz)

/* ---- devices ------------------------------------------------------------------------------------- */

/* CUdevprop */
struct old_properties {
    int block_threads, block[3], grid[3], shared_nbytes, constant_nbytes, warp, pitch, registers, clock_khz, alignment;
};

static cudaError_t get_properties(struct old_properties *old, int device) {
    enum { CLOCK_RATE = 13 }; /* the attribute */
    struct cudaDeviceProp new;
    cudaError_t error = cudaGetDeviceProperties(&new, device);
    if (error) return error;
    *old = (struct old_properties){.block_threads = new.maxThreadsPerBlock,
                                   .shared_nbytes = (int)new.sharedMemPerBlock,
                                   .constant_nbytes = (int)new.totalConstMem,
                                   .warp = new.warpSize,
                                   .pitch = (int)new.memPitch,
                                   .registers = new.regsPerBlock,
                                   .alignment = (int)new.textureAlignment};
    memcpy(old->block, new.maxThreadsDim, sizeof old->block);
    memcpy(old->grid, new.maxGridSize, sizeof old->grid);
    return cudaDeviceGetAttribute(&old->clock_khz, CLOCK_RATE, device);
}

DRIVER cuDeviceGetProperties(struct old_properties *properties, int device) {
    return DRIVE_BARE(get_properties(properties, device));
}

/* ---- launches with a state of each function ------------------------------------------------------ */

enum { ARGUMENTS_NBYTES = 4096 };

struct old_launch {
    struct old_launch *next;
    CUfunction function;
    unsigned block[3], shared_nbytes, arguments_nbytes;
    unsigned char arguments[ARGUMENTS_NBYTES];
};

static struct old_launch *launches;
static pthread_mutex_t launches_lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL: no memory, or no function. */
static struct old_launch *find_launch(CUfunction function) {
    pthread_mutex_lock(&launches_lock);
    struct old_launch *launch = launches;
    while (launch && launch->function != function) launch = launch->next;
    if (!launch && function && (launch = calloc(1, sizeof *launch))) {
        *launch = (struct old_launch){.next = launches, .function = function, .block = {1, 1, 1}};
        launches = launch;
    }
    pthread_mutex_unlock(&launches_lock);
    return launch;
}

static cudaError_t set_block(struct old_launch *launch, unsigned x, unsigned y, unsigned z) {
    if (!launch) return cudaErrorInvalidResourceHandle;
    memcpy(launch->block, (unsigned[]){x, y, z}, sizeof launch->block);
    return cudaSuccess;
}

static cudaError_t set_shared(struct old_launch *launch, unsigned nbytes) {
    if (!launch) return cudaErrorInvalidResourceHandle;
    launch->shared_nbytes = nbytes;
    return cudaSuccess;
}

static cudaError_t set_size(struct old_launch *launch, unsigned nbytes) {
    if (!launch) return cudaErrorInvalidResourceHandle;
    if (nbytes > ARGUMENTS_NBYTES) return cudaErrorInvalidValue;
    launch->arguments_nbytes = nbytes;
    return cudaSuccess;
}

static cudaError_t set_argument(struct old_launch *launch, int offset, const void *bytes, unsigned nbytes) {
    if (!launch) return cudaErrorInvalidResourceHandle;
    if (offset < 0 || offset > ARGUMENTS_NBYTES || nbytes > ARGUMENTS_NBYTES - (unsigned)offset)
        return cudaErrorInvalidValue;
    memcpy(launch->arguments + offset, bytes, nbytes);
    return cudaSuccess;
}

DRIVER cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
    return DRIVE(set_block(find_launch(function), (unsigned)x, (unsigned)y, (unsigned)z));
}

DRIVER cuFuncSetSharedSize(CUfunction function, unsigned nbytes) { return DRIVE(set_shared(find_launch(function), nbytes)); }
DRIVER cuParamSetSize(CUfunction function, unsigned nbytes) { return DRIVE(set_size(find_launch(function), nbytes)); }

DRIVER cuParamSeti(CUfunction function, int offset, unsigned value) {
    return DRIVE(set_argument(find_launch(function), offset, &value, sizeof value));
}

DRIVER cuParamSetf(CUfunction function, int offset, float value) {
    return DRIVE(set_argument(find_launch(function), offset, &value, sizeof value));
}

DRIVER cuParamSetv(CUfunction function, int offset, const void *bytes, unsigned nbytes) {
    return DRIVE(set_argument(find_launch(function), offset, bytes, nbytes));
}

DRIVER cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_nbytes, cudaStream_t stream,
                      void **arguments, void **extra);

DRIVER cuLaunchGridAsync(CUfunction function, int width, int height, cudaStream_t stream) {
    enum { EXTRA_END, EXTRA_POINTER, EXTRA_SIZE };
    struct old_launch *launch = find_launch(function);
    if (!launch) return (int)cudaErrorInvalidResourceHandle;
    size_t nbytes = launch->arguments_nbytes;
    void *extra[] = {(void *)EXTRA_POINTER, launch->arguments, (void *)EXTRA_SIZE, &nbytes, (void *)EXTRA_END};
    return cuLaunchKernel(function, (unsigned)width, (unsigned)height, 1, launch->block[0], launch->block[1],
                          launch->block[2], launch->shared_nbytes, stream, NULL, extra);
}

DRIVER cuLaunchGrid(CUfunction function, int width, int height) {
    return cuLaunchGridAsync(function, width, height, NULL);
}

DRIVER cuLaunch(CUfunction function) { return cuLaunchGrid(function, 1, 1); }
