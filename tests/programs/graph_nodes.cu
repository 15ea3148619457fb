// Nodes of graphs that allocate memory or decide what is executed; tests/test_program_graphs.py reads what is printed.
#include <cstring>

#include "check.cuh"

enum { COUNT = 256 };

__global__ void fill(int *data, int value) { data[threadIdx.x] = value; }
__global__ void add(int *to, const int *from) { to[threadIdx.x] += from[threadIdx.x]; }
__global__ void decide(cudaGraphConditionalHandle handle, int *count) {
    if (threadIdx.x == 0) cudaGraphSetConditional(handle, --*count > 0);
}
__global__ void choose(cudaGraphConditionalHandle handle, const int *value) { cudaGraphSetConditional(handle, *value); }

static cudaGraphNode_t kernel(cudaGraph_t graph, void *function, void **arguments, cudaGraphNode_t after = 0,
                              int threads = COUNT) {
    cudaKernelNodeParams params = {};
    cudaGraphNode_t node;
    params.func = function;
    params.gridDim = 1;
    params.blockDim = threads;
    params.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&node, graph, &after, after != 0, &params));
    return node;
}

static void tell_counts() {
    for (int attribute = 0; attribute < 4; attribute++) {
        unsigned long long value;
        CHECK(cudaDeviceGetGraphMemAttribute(0, (cudaGraphMemAttributeType)attribute, &value));
        printf("%llu ", value);
    }
    if (cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, 0) != cudaErrorInvalidValue) exit(1);
}

// Allocates two buffers, one after the other is freed; a third one stays, is freed outside, and is there again.
static void memory(bool frees_early, bool frees_on_launch) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t allocated, kept, filled, added, freed;
    cudaMemAllocNodeParams params = {}, told;
    int *result, *data, value = 7, host[COUNT];
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location = {cudaMemLocationTypeDevice, 0};
    params.bytesize = sizeof host;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&kept, graph, 0, 0, &params));
    result = (int *)params.dptr;
    CHECK(cudaGraphAddMemAllocNode(&allocated, graph, &kept, 1, &params));
    data = (int *)params.dptr;
    CHECK(cudaGraphMemAllocNodeGetParams(allocated, &told));
    printf("%d ", told.dptr == data && told.bytesize == sizeof host);
    void *fill_data[] = {&data, &value}, *fill_result[] = {&result, &value}, *both[] = {&result, &data};
    filled = kernel(graph, (void *)fill, fill_result, kernel(graph, (void *)fill, fill_data, allocated));
    if (!frees_early) filled = kernel(graph, (void *)add, both, filled);
    CHECK(cudaGraphAddMemFreeNode(&freed, graph, &filled, 1, data));
    if (frees_early) added = kernel(graph, (void *)add, both, freed);
    CHECK(cudaGraphMemFreeNodeGetParams(freed, &told.dptr));
    printf("%d %s ", told.dptr == data, cudaGetErrorName(cudaGraphClone(&graph, graph)));
    CHECK(cudaGraphInstantiate(&exec, graph, frees_on_launch ? cudaGraphInstantiateFlagAutoFreeOnLaunch : 0));
    CHECK(cudaGraphDestroy(graph));
    for (int launch = 0; launch < 2; launch++) {
        CHECK(cudaGraphLaunch(exec, 0));
        CHECK(cudaMemcpy(host, result, sizeof host, cudaMemcpyDeviceToHost));
        printf("%d ", host[COUNT - 1]);
        if (!frees_on_launch || launch) CHECK(cudaFree(result));
    }
    CHECK(cudaGraphLaunch(exec, 0));
    if (!frees_on_launch) printf("%s ", cudaGetErrorName(cudaGraphLaunch(exec, 0)));
    tell_counts();
    CHECK(cudaFree(result));
    CHECK(cudaDeviceGraphMemTrim(0));
    tell_counts();
    puts("");
    CHECK(cudaGraphExecDestroy(exec));
}

// The same in a captured stream.
static void captured() {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *data, *copy, host[COUNT] = {};
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&copy, sizeof host));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&data, sizeof host, stream));
    fill<<<1, COUNT, 0, stream>>>(data, 5);
    CHECK(cudaMemcpyAsync(copy, data, sizeof host, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int launch = 0; launch < 3; launch++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, copy, sizeof host, cudaMemcpyDeviceToHost));
    printf("captured %d\n", host[COUNT - 1]);
    CHECK(cudaFree(copy));
}

static cudaGraph_t *conditional(cudaGraph_t graph, cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                                int bodies, cudaGraphNode_t after = 0) {
    cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
    cudaGraphNode_t node;
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = bodies;
    CHECK(cudaGraphAddNode(&node, graph, &after, 0, after != 0, &params));
    return params.conditional.phGraph_out;
}

// A loop of 5 rounds, each of which adds 2 and has a branch within that adds once more while 3 rounds or more are left.
static void loop(int *data, int *step, int *count) {
    cudaGraphConditionalHandle handle, inner;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int host[COUNT], rounds = 5;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&inner, graph, 0, 0));
    cudaGraph_t *body = conditional(graph, handle, cudaGraphCondTypeWhile, 1);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCaptureToGraph(stream, body[0], 0, 0, 0, cudaStreamCaptureModeGlobal));
    add<<<1, COUNT, 0, stream>>>(data, step);
    decide<<<1, COUNT, 0, stream>>>(handle, count);
    const cudaGraphNode_t *last;
    cudaStreamCaptureStatus status;
    cudaGraph_t into;
    size_t lasts;
    CHECK(cudaStreamGetCaptureInfo(stream, &status, 0, &into, &last, 0, &lasts));
    printf("capturing %d %d %zu ", status, into == body[0], lasts);
    void *arguments[] = {&inner, &count}, *both[] = {&data, &step};
    cudaGraphNode_t chosen = kernel(into, (void *)choose, arguments, last[0], 1);
    CHECK(cudaStreamUpdateCaptureDependencies(stream, &chosen, 0, 1, cudaStreamSetCaptureDependencies));
    CHECK(cudaStreamEndCapture(stream, 0));
    cudaGraph_t *branches = conditional(body[0], inner, cudaGraphCondTypeSwitch, 5, chosen);
    for (int left = 3; left < 5; left++) kernel(branches[left], (void *)add, both);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int launch = 0; launch < 2; launch++) {
        CHECK(cudaMemset(data, 0, sizeof host));
        CHECK(cudaMemcpy(count, &rounds, sizeof rounds, cudaMemcpyHostToDevice));
        CHECK(cudaGraphLaunch(exec, 0));
        CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
        printf("loop %d ", host[COUNT - 1]);
    }
    puts("");
}

static void branch(int *data, int *step, int *count) {
    cudaGraphConditionalHandle handle;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int host[COUNT];
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    void *arguments[] = {&handle, &count}, *both[] = {&data, &step}, *same[] = {&data, &data};
    cudaGraph_t *branches = conditional(graph, handle, cudaGraphCondTypeIf, 2, kernel(graph, (void *)choose, arguments, 0, 1));
    kernel(branches[0], (void *)add, both);
    kernel(branches[1], (void *)add, same);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaMemcpy(data, step, sizeof host, cudaMemcpyDeviceToDevice));
    for (int value : {1, 0, 7, 0}) {
        CHECK(cudaMemcpy(count, &value, sizeof value, cudaMemcpyHostToDevice));
        CHECK(cudaGraphLaunch(exec, 0));
        CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
        printf("%d ", host[COUNT - 1]);
    }
    cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
    cudaGraphNode_t node;
    params.conditional.handle = 4711;
    params.conditional.size = 1;
    puts(cudaGetErrorName(cudaGraphAddNode(&node, graph, 0, 0, 0, &params)));
}

static void nothing(void *) {}

// What nodes were made of, by hand and captured, and what they are told to be.
static void parameters(int *data) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t nodes[4], filled, other;
    size_t count = 4;
    int host[COUNT], value = 3;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    fill<<<dim3(1, 1, 1), dim3(COUNT, 1, 1), 16, stream>>>(data, value);
    CHECK(cudaMemcpy2DAsync(host, 64, data, 32, 24, 3, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaMemset2DAsync(data, 64, 9, 48, 2, stream));
    CHECK(cudaLaunchHostFunc(stream, nothing, &value));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    filled = nodes[0];
    cudaKernelNodeParams launch;
    cudaMemcpy3DParms copy;
    cudaMemsetParams set;
    cudaHostNodeParams call;
    CHECK(cudaGraphKernelNodeGetParams(filled, &launch));
    CHECK(cudaGraphMemcpyNodeGetParams(nodes[1], &copy));
    CHECK(cudaGraphMemsetNodeGetParams(nodes[2], &set));
    CHECK(cudaGraphHostNodeGetParams(nodes[3], &call));
    printf("told %d %d ", launch.func == (void *)fill && launch.blockDim.x == COUNT && launch.sharedMemBytes == 16,
           *(int **)launch.kernelParams[0] == data && *(int *)launch.kernelParams[1] == 3 && !launch.extra);
    printf("%d ", copy.dstPtr.ptr == host && copy.dstPtr.pitch == 64 && copy.srcPtr.ptr == data && copy.srcPtr.pitch == 32 &&
                      copy.extent.width == 24 && copy.extent.height == 3 && copy.kind == cudaMemcpyDeviceToHost);
    printf("%d %d ", set.dst == data && set.pitch == 64 && set.value == 9 && set.elementSize == 1 && set.width == 48 && set.height == 2,
           call.fn == nothing && call.userData == &value);
    printf("%d %d %d ", cudaGraphKernelNodeGetParams(nodes[1], &launch), cudaGraphMemsetNodeGetParams(filled, &set),
           cudaGraphHostNodeGetParams(nodes[3], 0));
    // told ones are the node's, and can be given back with another value
    value = 4;
    launch.kernelParams[1] = &value;
    CHECK(cudaGraphKernelNodeSetParams(filled, &launch));
    CHECK(cudaGraphKernelNodeGetParams(filled, &launch));
    CHECK(cudaGraphClone(&graph, graph));
    CHECK(cudaGraphNodeFindInClone(&other, filled, graph));
    CHECK(cudaGraphDestroyNode(filled));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    printf("%d\n", host[COUNT - 1]);

    cudaLaunchAttributeValue given = {}, told;
    given.cooperative = 1;
    CHECK(cudaGraphKernelNodeSetAttribute(other, cudaLaunchAttributeCooperative, &given));
    CHECK(cudaGraphKernelNodeGetAttribute(other, cudaLaunchAttributeCooperative, &told));
    given.clusterDim = {2, 1, 1}; // of a grid of one block
    printf("attributes %d %s ", told.cooperative,
           cudaGetErrorName(cudaGraphKernelNodeSetAttribute(other, cudaLaunchAttributeClusterDimension, &given)));
    given.accessPolicyWindow = {data, 4096, 0.5f, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming};
    CHECK(cudaGraphKernelNodeSetAttribute(other, cudaLaunchAttributeAccessPolicyWindow, &given));
    CHECK(cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &given));
    CHECK(cudaStreamGetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &told));
    printf("%d ", told.accessPolicyWindow.base_ptr == data && told.accessPolicyWindow.hitRatio == 0.5f);
    void *arguments[] = {&data, &value};
    filled = kernel(graph, (void *)fill, arguments);
    CHECK(cudaGraphKernelNodeCopyAttributes(filled, other));
    CHECK(cudaGraphKernelNodeGetAttribute(filled, cudaLaunchAttributeAccessPolicyWindow, &told));
    printf("%d ", told.accessPolicyWindow.num_bytes == 4096);
    CHECK(cudaStreamGetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &told));
    given.syncPolicy = (cudaSynchronizationPolicy)9;
    printf("%d %d %d %d\n", told.syncPolicy, cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &given),
           cudaGraphKernelNodeGetAttribute(nodes[1], cudaLaunchAttributePriority, &told),
           cudaStreamSetAttribute(stream, cudaLaunchAttributeMemSyncDomain, &given));
}

// An H200 has 132 multiprocessors of 2048 threads.
static void clusters() {
    cudaLaunchAttribute attribute = {cudaLaunchAttributeClusterDimension};
    cudaLaunchConfig_t config = {dim3(96), dim3(256), 0, 0, &attribute, 1};
    int count, size;
    printf("clusters");
    for (unsigned blocks : {1, 3, 4, 8}) {
        attribute.val.clusterDim = {blocks, 1, 1};
        CHECK(cudaOccupancyMaxActiveClusters(&count, fill, &config));
        printf(" %d", count);
    }
    CHECK(cudaOccupancyMaxPotentialClusterSize(&size, fill, &config));
    CHECK(cudaFuncSetAttribute(fill, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    CHECK(cudaOccupancyMaxPotentialClusterSize(&count, fill, &config));
    attribute.val.clusterDim = {32, 1, 1};
    printf(" %d %d %s ", size, count, cudaGetErrorName(cudaOccupancyMaxActiveClusters(&count, fill, &config)));
    config.blockDim = 2000;
    config.numAttrs = 0;
    printf("%s %d\n", cudaGetErrorName(cudaOccupancyMaxActiveClusters(&count, fill, &config)),
           cudaOccupancyMaxActiveClusters(0, fill, &config));
}

int main(int words, char **word) {
    int *data, *step, *count;
    if (words > 1 && !strcmp(word[1], "early")) return memory(true, false), 0;
    CHECK(cudaMalloc(&data, COUNT * sizeof *data));
    CHECK(cudaMalloc(&step, COUNT * sizeof *step));
    CHECK(cudaMalloc(&count, sizeof *count));
    fill<<<1, COUNT>>>(step, 2);
    if (words > 1 && !strcmp(word[1], "handle")) {
        decide<<<1, 32>>>((cudaGraphConditionalHandle)step, step);
        return puts(cudaGetErrorName(cudaDeviceSynchronize())), 0;
    }
    memory(false, false);
    memory(false, true);
    captured();
    loop(data, step, count);
    branch(data, step, count);
    parameters(data);
    clusters();
    CHECK(cudaFree(data));
    CHECK(cudaFree(step));
    CHECK(cudaFree(count));
}
