// Programs whose operations lack an order, or have it: a mode for each (tests/test_program_order.py).
#include <cstring>

#include "check.cuh"

enum { N = 1024 };

__global__ void store(int *to, int value) { to[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void load(const int *from, int *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}
__global__ void count(int *to) { asm volatile("red.global.add.s32 [%0], 1;" ::"l"(to) : "memory"); }
__global__ void bytes(unsigned char *to) { to[4 * threadIdx.x] = 1; }

static int *a, *b;
static cudaStream_t one, two, apart;
static cudaEvent_t event;

static void store_in(cudaStream_t stream, int *to) { store<<<N / 256, 256, 0, stream>>>(to, 1); }
static void load_in(cudaStream_t stream) { load<<<N / 256, 256, 0, stream>>>(a, b); }

struct mode {
    const char *name;
    void (*run)();
};

static void launch(cudaGraph_t graph) {
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, one));
    CHECK(cudaStreamSynchronize(one));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, cudaGraphNode_t *before, void *kernel, void *first, void *second) {
    cudaGraphNode_t node;
    void *arguments[] = {first, second};
    cudaKernelNodeParams params = {};
    params.gridDim = dim3(N / 256);
    params.blockDim = dim3(256);
    params.func = kernel;
    params.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&node, graph, before, before != nullptr, &params));
    return node;
}

/* store -> load, the dependency left out or there; a fill of `b` comes before either. */
static void nodes(bool is_ordered) {
    cudaGraph_t graph;
    cudaGraphNode_t first, fill, second;
    int value = 1;
    cudaMemsetParams filling = {};
    CHECK(cudaGraphCreate(&graph, 0));
    first = add_kernel(graph, nullptr, (void *)store, &a, &value);
    filling.dst = b;
    filling.elementSize = 4;
    filling.width = N;
    filling.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &filling));
    second = add_kernel(graph, &fill, (void *)load, &a, &b);
    if (is_ordered) CHECK(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
    launch(graph);
}

#define EXPECT(condition)                                                                                          \
    do                                                                                                             \
        if (!(condition)) {                                                                                        \
            printf("line %d: %s\n", __LINE__, #condition);                                                         \
            exit(8);                                                                                               \
        }                                                                                                          \
    while (0)

/* What was captured: fill -> store, and fill -> load or store -> load. */
static void ask(cudaGraph_t graph, bool is_ordered) {
    cudaGraphNode_t nodes[4], from[4], to[4], some[4];
    size_t count = 4;
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    EXPECT(count == 3 && !nodes[3]);
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
    EXPECT(count == 2);
    CHECK(cudaGraphGetEdges(graph, from, to, nullptr, &count));
    EXPECT(from[0] == nodes[0] && to[0] == nodes[1] && from[1] == nodes[is_ordered] && to[1] == nodes[2]);
    CHECK(cudaGraphGetRootNodes(graph, some, &(count = 1)));
    EXPECT(count == 1 && some[0] == nodes[0]);
    CHECK(cudaGraphNodeGetDependencies(nodes[2], some, nullptr, &(count = 4)));
    EXPECT(count == 1 && some[0] == nodes[is_ordered] && !some[1]);
    CHECK(cudaGraphNodeGetDependentNodes(nodes[0], some, nullptr, &(count = 4)));
    EXPECT(count == (is_ordered ? 1 : 2) && some[0] == nodes[1]);
}

/* The second stream waits for the first one's event, or for the one before the store. */
static void captured(bool is_ordered) {
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(b, 0, N * sizeof *b, one));
    if (!is_ordered) CHECK(cudaEventRecord(event, one));
    store_in(one, a);
    if (is_ordered) CHECK(cudaEventRecord(event, one));
    CHECK(cudaStreamWaitEvent(two, event, 0));
    load_in(two);
    CHECK(cudaEventRecord(event, two));
    CHECK(cudaStreamWaitEvent(one, event, 0));
    CHECK(cudaStreamEndCapture(one, &graph));
    ask(graph, is_ordered);
    launch(graph);
}

static void events(bool is_ordered) {
    store_in(one, a);
    CHECK(cudaEventRecord(event, one));
    if (is_ordered) CHECK(cudaStreamWaitEvent(two, event, 0));
    load_in(two);
}

/* One graph launched in two streams: a GPU runs one launch after the other, but not those of two made of one graph. */
static void twice(bool is_ordered) {
    cudaGraph_t graph;
    cudaGraphExec_t first, second;
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    store<<<N / 256, 256, 0, one>>>(a, 1);
    CHECK(cudaStreamEndCapture(one, &graph));
    CHECK(cudaGraphInstantiate(&first, graph, 0));
    CHECK(cudaGraphInstantiate(&second, graph, 0));
    CHECK(cudaGraphLaunch(first, one));
    CHECK(cudaGraphLaunch(is_ordered ? first : second, two));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(first));
    CHECK(cudaGraphExecDestroy(second));
    CHECK(cudaGraphDestroy(graph));
}

/* A graph within the graph stores; the load waits for all of it, or for what it waits for. */
static void within(bool is_ordered) {
    cudaGraph_t graph, child;
    cudaGraphNode_t first, storing;
    int value = 1;
    CHECK(cudaGraphCreate(&child, 0));
    CHECK(cudaGraphAddEmptyNode(&first, child, nullptr, 0));
    add_kernel(child, &first, (void *)store, &a, &value);
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
    CHECK(cudaGraphAddChildGraphNode(&storing, graph, &first, 1, child));
    add_kernel(graph, is_ordered ? &storing : &first, (void *)load, &a, &b);
    CHECK(cudaGraphDestroy(child));
    launch(graph);
}

/* A graph in one stream stores and records an event, which one in another stream waits for before it loads. */
static void event_nodes(bool is_ordered) {
    cudaGraph_t graphs[2];
    cudaGraphExec_t execs[2];
    cudaGraphNode_t node;
    int value = 1;
    for (cudaGraph_t &graph : graphs) CHECK(cudaGraphCreate(&graph, 0));
    node = add_kernel(graphs[0], nullptr, (void *)store, &a, &value);
    CHECK(cudaGraphAddEventRecordNode(&node, graphs[0], is_ordered ? &node : nullptr, is_ordered, event));
    CHECK(cudaGraphAddEventWaitNode(&node, graphs[1], nullptr, 0, event));
    add_kernel(graphs[1], &node, (void *)load, &a, &b);
    for (int g = 0; g < 2; g++) {
        CHECK(cudaGraphInstantiate(&execs[g], graphs[g], 0));
        CHECK(cudaGraphLaunch(execs[g], g ? two : one));
    }
    CHECK(cudaDeviceSynchronize());
    for (int g = 0; g < 2; g++) {
        CHECK(cudaGraphExecDestroy(execs[g]));
        CHECK(cudaGraphDestroy(graphs[g]));
    }
}

static const mode modes[] = {
    {"within", [] { within(false); }},
    {"within-right", [] { within(true); }},
    {"event-nodes", [] { event_nodes(false); }},
    {"event-nodes-right", [] { event_nodes(true); }},
    {"twice", [] { twice(false); }},
    {"twice-right", [] { twice(true); }},
    {"nodes", [] { nodes(false); }},
    {"nodes-right", [] { nodes(true); }},
    {"captured", [] { captured(false); }},
    {"captured-right", [] { captured(true); }},
    {"events", [] { events(false); }},
    {"events-right", [] { events(true); }},
    {"copy",
     [] {
         int host[N];
         store_in(apart, a);
         CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost)); // does not wait for it
     }},
    {"behind", // which a wait before the load orders, too
     [] {
         int host[N];
         store_in(apart, a);
         load_in(two);
         CHECK(cudaMemcpyAsync(host, a, sizeof host, cudaMemcpyDeviceToHost, two));
     }},
    {"free",
     [] {
         int *memory;
         CHECK(cudaMallocAsync(&memory, N * sizeof *memory, one));
         CHECK(cudaStreamSynchronize(one));
         store_in(apart, memory);
         CHECK(cudaFreeAsync(memory, one));
     }},
    {"free-right",
     [] {
         int *memory;
         CHECK(cudaMallocAsync(&memory, N * sizeof *memory, one));
         CHECK(cudaStreamSynchronize(one));
         store_in(apart, memory);
         CHECK(cudaEventRecord(event, apart));
         CHECK(cudaStreamWaitEvent(one, event, 0));
         CHECK(cudaFreeAsync(memory, one));
     }},
    {"copy-right",
     [] {
         int host[N];
         store_in(one, a);
         CHECK(cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost));
     }},
    {"fill",
     [] {
         CHECK(cudaMemset(a, 0, N * sizeof *a)); // in the default stream
         store_in(apart, a);
     }},
    {"host-right", // the host waits for the first
     [] {
         store_in(one, a);
         CHECK(cudaEventRecord(event, one));
         CHECK(cudaEventSynchronize(event));
         load_in(two);
         CHECK(cudaStreamSynchronize(two));
         store_in(apart, b);
     }},
    {"default-right", // blocking streams and the default one wait for each other
     [] {
         store_in(one, a);
         store_in(0, a);
         load_in(two);
     }},
    {"atomics-right",
     [] {
         count<<<1, 32, 0, one>>>(a);
         count<<<1, 32, 0, two>>>(a);
     }},
    {"atomics", // and a load that is none
     [] {
         count<<<1, 32, 0, one>>>(a);
         load_in(two);
     }},
    {"bytes-right", // of the same words
     [] {
         bytes<<<1, 32, 0, one>>>((unsigned char *)a);
         bytes<<<1, 32, 0, two>>>((unsigned char *)a + 1);
     }},
    {"many", // more than are remembered, between which others stand
     [] {
         for (int i = 0; i < 100; i++) store_in(i % 2 ? two : one, i % 2 ? b : a);
         store_in(one, b);
     }},
};

int main(int argc, char **argv) {
    CHECK(cudaMalloc(&a, N * sizeof *a));
    CHECK(cudaMalloc(&b, N * sizeof *b));
    CHECK(cudaStreamCreate(&one));
    CHECK(cudaStreamCreate(&two));
    CHECK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaMemset(a, 0, N * sizeof *a));
    CHECK(cudaMemset(b, 0, N * sizeof *b));
    CHECK(cudaDeviceSynchronize());
    for (const mode &mode : modes)
        if (argc > 1 && !strcmp(mode.name, argv[1])) mode.run();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    return 0;
}
