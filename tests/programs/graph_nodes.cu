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
    CHECK(cudaFree(data));
    CHECK(cudaFree(step));
    CHECK(cudaFree(count));
}
