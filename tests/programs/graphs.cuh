// A mode of modes.cu: a graph of nodes that the program adds.
__global__ void times(int *data, int factor) { data[threadIdx.x] *= factor; }
__global__ void plus(int *data, int term) { data[threadIdx.x] += term; }

struct node_graph {
    cudaGraph_t graph;
    cudaGraphNode_t fill, multiply, add, copy, host;
    int *data, result[4], calls, factor, term;

    cudaKernelNodeParams kernel(void *function, int *value, void **arguments) {
        arguments[0] = &data;
        arguments[1] = value;
        cudaKernelNodeParams params = {};
        params.func = function;
        params.gridDim = dim3(1);
        params.blockDim = dim3(4);
        params.kernelParams = arguments;
        return params;
    }

    /* 3 is multiplied by 5 before 2 is added, although the addition is the older node. */
    node_graph() : calls(0), factor(5), term(2) {
        void *arguments[2];
        CHECK(cudaMalloc(&data, sizeof result));
        CHECK(cudaGraphCreate(&graph, 0));
        cudaKernelNodeParams params = kernel((void *)plus, &term, arguments);
        CHECK(cudaGraphAddKernelNode(&add, graph, nullptr, 0, &params));
        params = kernel((void *)times, &factor, arguments);
        cudaMemsetParams filling = {};
        filling.dst = data;
        filling.value = 3;
        filling.elementSize = 4;
        filling.width = 4;
        filling.height = 1;
        CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &filling));
        CHECK(cudaGraphAddKernelNode(&multiply, graph, &fill, 1, &params));
        CHECK(cudaGraphAddDependencies(graph, &multiply, &add, nullptr, 1));
        cudaGraphNode_t empty;
        CHECK(cudaGraphAddEmptyNode(&empty, graph, &add, 1));
        CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &empty, 1, result, data, sizeof result, cudaMemcpyDefault));
        cudaHostNodeParams call = {[](void *calls) { ++*(int *)calls; }, &calls};
        CHECK(cudaGraphAddHostNode(&host, graph, &copy, 1, &call));
        factor = term = 100; // the nodes have what it was
    }
    void launch(cudaGraphExec_t exec) {
        CHECK(cudaGraphLaunch(exec, 0));
        CHECK(cudaDeviceSynchronize());
        printf("%d %d\n", result[3], calls);
    }
    ~node_graph() {
        CHECK(cudaGraphDestroy(graph));
        CHECK(cudaFree(data));
    }
};

static int mode_nodes() {
    node_graph nodes;
    cudaGraphExec_t exec, second;
    cudaGraphNode_t all[8];
    cudaGraphNodeType type;
    cudaGraphExecUpdateResultInfo info;
    void *arguments[2];
    int seven = 7;
    size_t count = 8;
    unsigned is_enabled;
    CHECK(cudaGraphGetNodes(nodes.graph, nullptr, &count));
    EXPECT(count == 6);
    CHECK(cudaGraphGetNodes(nodes.graph, all, &count));
    CHECK(cudaGraphNodeGetType(all[1], &type));
    EXPECT(all[0] == nodes.add && type == cudaGraphNodeTypeMemset);
    CHECK(cudaGraphInstantiate(&exec, nodes.graph, 0));
    nodes.launch(exec); // 3 * 5 + 2
    cudaKernelNodeParams params = nodes.kernel((void *)times, &seven, arguments);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes.multiply, &params));
    nodes.launch(exec); // 3 * 7 + 2
    CHECK(cudaGraphInstantiate(&second, nodes.graph, 0));
    nodes.launch(second); // the graph's own node is as it was
    CHECK(cudaGraphNodeSetEnabled(exec, nodes.add, 0));
    CHECK(cudaGraphNodeGetEnabled(exec, nodes.add, &is_enabled));
    EXPECT(!is_enabled);
    nodes.launch(exec); // 3 * 7
    CHECK(cudaGraphExecUpdate(second, nodes.graph, &info));
    EXPECT(cudaGraphExecKernelNodeSetParams(exec, nodes.fill, &params) == cudaErrorInvalidValue);
    CHECK(cudaGraphDestroyNode(nodes.multiply)); // and the addition does not wait for the filling any more
    EXPECT(cudaGraphExecUpdate(second, nodes.graph, &info) == cudaErrorGraphExecUpdateFailure);
    EXPECT(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    CHECK(cudaGraphExecDestroy(second));
    CHECK(cudaGraphAddDependencies(nodes.graph, &nodes.fill, &nodes.add, nullptr, 1));
    params.kernelParams[1] = &seven;
    CHECK(cudaGraphInstantiate(&second, nodes.graph, 0));
    nodes.launch(second); // 3 + 2
    CHECK(cudaGraphAddDependencies(nodes.graph, &nodes.add, &nodes.fill, nullptr, 1));
    CHECK(cudaGraphExecDestroy(exec));
    EXPECT(cudaGraphInstantiate(&exec, nodes.graph, 0) == cudaErrorInvalidValue); // they wait for each other
    CHECK(cudaGraphRemoveDependencies(nodes.graph, &nodes.add, &nodes.fill, nullptr, 1));
    cudaHostNodeParams call = {[](void *calls) { *(int *)calls = 77; }, &nodes.calls};
    CHECK(cudaGraphExecHostNodeSetParams(second, nodes.host, &call));
    nodes.launch(second);
    printf("%s\n", cudaGetErrorName(cudaGraphAddKernelNode(all, nodes.graph, nullptr, 1, &params)));
    printf("%s\n", cudaGetErrorName(cudaGraphAddDependencies(nodes.graph, &nodes.fill, &nodes.add, nullptr, 1)));
    params.blockDim = dim3(2000);
    printf("%s\n", cudaGetErrorName(cudaGraphAddKernelNode(all, nodes.graph, nullptr, 0, &params)));
    CHECK(cudaGraphExecDestroy(second));
    return 0;
}

/* A clone is changed without the graph, and outlives its nodes. */
static int mode_cloned() {
    node_graph nodes;
    cudaGraph_t clone;
    cudaGraphNode_t multiply, found = nullptr, all[8], before[8];
    cudaGraphExec_t exec, original;
    void *arguments[2];
    int seven = 7;
    size_t count = 8;
    CHECK(cudaGraphClone(&clone, nodes.graph));
    CHECK(cudaGraphGetNodes(clone, all, &count));
    EXPECT(count == 6);
    CHECK(cudaGraphNodeFindInClone(&multiply, nodes.multiply, clone));
    EXPECT(multiply != nodes.multiply);
    CHECK(cudaGraphNodeGetDependencies(multiply, before, nullptr, &count));
    CHECK(cudaGraphNodeFindInClone(&found, nodes.fill, clone));
    EXPECT(count == 1 && before[0] == found);
    CHECK(cudaGraphInstantiate(&exec, clone, 0));
    nodes.launch(exec); // 3 * 5 + 2
    CHECK(cudaGraphExecDestroy(exec));
    cudaKernelNodeParams params = nodes.kernel((void *)times, &seven, arguments);
    CHECK(cudaGraphKernelNodeSetParams(multiply, &params));
    CHECK(cudaGraphInstantiate(&exec, clone, 0));
    CHECK(cudaGraphInstantiate(&original, nodes.graph, 0));
    nodes.launch(exec);     // 3 * 7 + 2
    nodes.launch(original); // 3 * 5 + 2
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(original));
    CHECK(cudaGraphDestroyNode(multiply));
    CHECK(cudaGraphNodeFindInClone(&found, nodes.add, clone));
    cudaGraphNode_t fill;
    CHECK(cudaGraphNodeFindInClone(&fill, nodes.fill, clone));
    CHECK(cudaGraphAddDependencies(clone, &fill, &found, nullptr, 1));
    CHECK(cudaGraphInstantiate(&exec, clone, 0));
    nodes.launch(exec); // 3 + 2
    CHECK(cudaGraphExecDestroy(exec));
    printf("%s\n", cudaGetErrorName(cudaGraphNodeFindInClone(&found, nodes.multiply, clone))); // it is gone
    printf("%s\n", cudaGetErrorName(cudaGraphNodeFindInClone(&found, nodes.fill, nodes.graph)));
    CHECK(cudaGraphDestroy(clone));
    return 0;
}

/* A graph within a graph within a graph: copies of what was given, whose nodes run behind what their node waits for. */
static int mode_within() {
    node_graph nodes; // 3 * 5 + 2, copied to the host
    cudaGraph_t middle, outer, found, inner;
    cudaGraphNode_t child, whole, before, after, all[8];
    cudaGraphNodeType type;
    cudaGraphExec_t exec;
    void *arguments[2];
    int seven = 7, *other;
    size_t count = 8;
    CHECK(cudaMalloc(&other, 16));
    CHECK(cudaGraphCreate(&middle, 0));
    CHECK(cudaGraphAddChildGraphNode(&child, middle, nullptr, 0, nodes.graph));
    CHECK(cudaGraphCreate(&outer, 0));
    cudaMemsetParams filling = {};
    filling.dst = nodes.data;
    filling.value = 8;
    filling.elementSize = 4;
    filling.width = 4;
    filling.height = 1;
    CHECK(cudaGraphAddMemsetNode(&before, outer, nullptr, 0, &filling));
    CHECK(cudaGraphAddChildGraphNode(&whole, outer, &before, 1, middle));
    CHECK(cudaGraphAddMemcpyNode1D(&after, outer, &whole, 1, other, nodes.data, 16, cudaMemcpyDefault));
    CHECK(cudaGraphNodeGetType(whole, &type));
    EXPECT(type == cudaGraphNodeTypeGraph);
    CHECK(cudaGraphChildGraphNodeGetGraph(whole, &found));
    CHECK(cudaGraphGetNodes(found, all, &count));
    EXPECT(count == 1 && found != middle && all[0] != child);
    CHECK(cudaGraphChildGraphNodeGetGraph(all[0], &inner));
    count = 8;
    CHECK(cudaGraphGetNodes(inner, all, &count));
    EXPECT(count == 6 && all[2] != nodes.multiply);
    CHECK(cudaGraphInstantiate(&exec, outer, 0));
    CHECK(cudaGraphDestroy(middle));
    nodes.launch(exec); // 17
    CHECK(cudaMemcpy(nodes.result, other, 16, cudaMemcpyDeviceToHost));
    EXPECT(nodes.result[0] == 17);
    cudaKernelNodeParams params = nodes.kernel((void *)times, &seven, arguments);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, all[2], &params)); // of a node within the copy
    nodes.launch(exec); // 3 * 7 + 2
    CHECK(cudaGraphKernelNodeSetParams(nodes.add, &params));
    CHECK(cudaGraphCreate(&middle, 0));
    CHECK(cudaGraphAddChildGraphNode(&child, middle, nullptr, 0, nodes.graph));
    CHECK(cudaGraphExecChildGraphNodeSetParams(exec, whole, middle));
    nodes.launch(exec); // 3 * 5 * 7
    printf("%s\n", cudaGetErrorName(cudaGraphExecChildGraphNodeSetParams(exec, whole, nodes.graph))); // of another form
    printf("%s\n", cudaGetErrorName(cudaGraphExecChildGraphNodeSetParams(exec, before, middle)));
    CHECK(cudaGraphClone(&found, outer));
    CHECK(cudaGraphDestroy(outer));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphInstantiate(&exec, found, 0));
    nodes.launch(exec); // as the outer one was made
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(found));
    CHECK(cudaGraphDestroy(middle));
    CHECK(cudaFree(other));
    return 0;
}

/* The same nodes by the call for nodes of any kind: filled with 3, times 5, in a graph within plus 2, to the host. */
static int mode_any_nodes() {
    node_graph nodes;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t event, fill, multiply, within, copy, host, empty;
    cudaGraphNodeType type;
    cudaGraphNodeParams params = {};
    cudaEvent_t recorded;
    void *arguments[2];
    int four = 4, calls = 0, seven = 7, result[4] = {};
    auto add = [&](cudaGraphNode_t *node, const cudaGraphNode_t *behind) {
        return cudaGraphAddNode(node, graph, behind, nullptr, behind ? 1 : 0, &params);
    };
    CHECK(cudaEventCreate(&recorded));
    CHECK(cudaGraphCreate(&graph, 0));
    params.type = cudaGraphNodeTypeEmpty;
    CHECK(add(&empty, nullptr));
    params.type = cudaGraphNodeTypeEventRecord;
    params.eventRecord.event = recorded;
    CHECK(add(&event, &empty));
    params = {cudaGraphNodeTypeMemset};
    params.memset.dst = nodes.data;
    params.memset.value = 3;
    params.memset.elementSize = 4;
    params.memset.width = 4;
    params.memset.height = 1;
    CHECK(add(&fill, &event));
    auto kernel = [&](void *function, int *value) {
        const cudaKernelNodeParams given = nodes.kernel(function, value, arguments);
        params = {cudaGraphNodeTypeKernel};
        params.kernel.func = given.func;
        params.kernel.gridDim = given.gridDim;
        params.kernel.blockDim = given.blockDim;
        params.kernel.kernelParams = given.kernelParams;
    };
    kernel((void *)times, &four);
    CHECK(add(&multiply, &fill));
    kernel((void *)times, &nodes.term); // of 100
    CHECK(cudaGraphNodeSetParams(multiply, &params));
    CHECK(cudaGraphNodeGetType(multiply, &type));
    EXPECT(type == cudaGraphNodeTypeKernel);
    params = {cudaGraphNodeTypeGraph};
    params.graph.graph = nodes.graph; // which leaves 17 in all, and counts a call
    CHECK(add(&within, &multiply));
    params = {cudaGraphNodeTypeMemcpy};
    params.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(nodes.data, 16, 16, 1);
    params.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(result, 16, 16, 1);
    params.memcpy.copyParams.extent = make_cudaExtent(16, 1, 1);
    params.memcpy.copyParams.kind = cudaMemcpyDefault;
    CHECK(add(&copy, &multiply));
    CHECK(cudaGraphAddDependencies(graph, &copy, &within, nullptr, 1));
    params = {cudaGraphNodeTypeHost};
    params.host.fn = [](void *calls) { *(int *)calls += 10; };
    params.host.userData = &calls;
    CHECK(add(&host, &within));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    nodes.launch(exec); // the graph within: 17, one call
    EXPECT(result[0] == 300 && calls == 10);
    kernel((void *)times, &seven);
    CHECK(cudaGraphExecNodeSetParams(exec, multiply, &params));
    nodes.launch(exec);
    EXPECT(result[3] == 21 && calls == 20);
    EXPECT(cudaGraphExecNodeSetParams(exec, fill, &params) == cudaErrorInvalidValue); // of another kind
    params.type = (cudaGraphNodeType)-1;
    printf("%s\n", cudaGetErrorName(add(&host, nullptr)));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(recorded));
    return 0;
}

/* Events that graphs record and wait for; the second is that of another graph. */
static int mode_event_nodes() {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t fill, first, second, wait;
    cudaEvent_t events[3], found;
    float milliseconds;
    char *data;
    for (cudaEvent_t &event : events) CHECK(cudaEventCreate(&event));
    CHECK(cudaMalloc(&data, 4096));
    cudaMemsetParams filling = {};
    filling.dst = data;
    filling.elementSize = 1;
    filling.width = 4096;
    filling.height = 1;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEventRecordNode(&first, graph, nullptr, 0, events[0]));
    CHECK(cudaGraphAddMemsetNode(&fill, graph, &first, 1, &filling));
    CHECK(cudaGraphAddEventRecordNode(&second, graph, &fill, 1, events[2]));
    CHECK(cudaGraphAddEventWaitNode(&wait, graph, &second, 1, events[2])); // not recorded yet: nothing to wait for
    CHECK(cudaGraphEventRecordNodeSetEvent(second, events[1]));
    CHECK(cudaGraphEventRecordNodeGetEvent(second, &found));
    EXPECT(found == events[1]);
    CHECK(cudaGraphEventWaitNodeGetEvent(wait, &found));
    EXPECT(found == events[2]);
    EXPECT(cudaGraphEventWaitNodeGetEvent(second, &found) == cudaErrorInvalidValue);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaEventSynchronize(events[1]));
    CHECK(cudaEventElapsedTime(&milliseconds, events[0], events[1]));
    EXPECT(milliseconds > 0);
    EXPECT(cudaEventElapsedTime(&milliseconds, events[0], events[2]) == cudaErrorInvalidResourceHandle);
    CHECK(cudaGraphExecEventRecordNodeSetEvent(exec, second, events[2]));
    CHECK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, events[1]));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaEventElapsedTime(&milliseconds, events[0], events[2]));
    printf("%s\n", cudaGetErrorName(cudaGraphAddEventRecordNode(&wait, graph, nullptr, 0, (cudaEvent_t)data)));
    CHECK(cudaEventDestroy(events[2]));
    printf("%s\n", cudaGetErrorName(cudaGraphLaunch(exec, 0)));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(data));
    return 0;
}

/* Rows, planes and variables can be captured, too. */
static int mode_captured_rows() {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    unsigned char *rows, host[3][8] = {};
    int factor = 9, seen[2] = {};
    size_t pitch;
    cudaMemcpy3DParms planes = {};
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocPitch(&rows, &pitch, 8, 3));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMemset2DAsync(rows, pitch, 4, 8, 3, stream));
    CHECK(cudaMemset2DAsync(rows, pitch, 6, 2, 2, stream));
    CHECK(cudaMemcpy2DAsync(host, 8, rows, pitch, 4, 3, cudaMemcpyDeviceToHost, stream));
    planes.srcPtr = make_cudaPitchedPtr(rows, pitch, 8, 3);
    planes.dstPtr = make_cudaPitchedPtr(host, 8, 8, 3);
    planes.srcPos = planes.dstPos = make_cudaPos(6, 2, 0);
    planes.extent = make_cudaExtent(2, 1, 1);
    planes.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&planes, stream));
    CHECK(cudaMemcpyToSymbolAsync(factors, &factor, sizeof factor, 4, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyFromSymbolAsync(seen, factors, sizeof seen, 0, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    EXPECT(host[0][0] == 0 && seen[1] == 0);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    const unsigned char expected[3][8] = {{6, 6, 4, 4}, {6, 6, 4, 4}, {4, 4, 4, 4, 0, 0, 4, 4}};
    EXPECT(!memcmp(host, expected, sizeof host) && seen[0] == 0 && seen[1] == 9);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(rows));
    return 0;
}
