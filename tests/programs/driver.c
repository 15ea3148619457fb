/* A program over the driver's interface alone, without CUDA's headers: it checks its own results, and ends with the number
 * of the line that is wrong, modulo 256. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t address;
typedef void *handle;
typedef struct {
    unsigned grid[3], block[3], shared_nbytes;
    handle stream;
    void *attributes;
    unsigned attribute_count;
} launch_config;
typedef struct {
    char bytes[64];
} ipc_handle;

int cuInit(unsigned), cuDeviceGetCount(int *), cuDeviceGet(int *, int), cuDeviceGetName(char *, int, int);
int cuDeviceGetAttribute(int *, int, int), cuDevicePrimaryCtxRetain(handle *, int), cuCtxSetCurrent(handle);
int cuCtxGetCurrent(handle *), cuCtxPushCurrent_v2(handle), cuCtxPopCurrent_v2(handle *), cuCtxSynchronize(void);
int cuModuleLoadData(handle *, const void *), cuModuleLoadDataEx(handle *, const void *, unsigned, int *, void **);
int cuModuleGetFunction(handle *, handle, const char *), cuModuleGetGlobal_v2(address *, size_t *, handle, const char *);
int cuFuncGetAttribute(int *, int, handle), cuFuncSetAttribute(handle, int, int), cuModuleUnload(handle);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **, void **);
int cuLaunchKernelEx(const launch_config *, handle, void **, void **), cuGraphCreate(handle *, unsigned);
int cuMemAlloc_v2(address *, size_t), cuMemFree_v2(address), cuMemAllocManaged(address *, size_t, unsigned);
int cuMemAllocHost_v2(void **, size_t), cuMemFreeHost(void *), cuMemAllocPitch_v2(address *, size_t *, size_t, size_t, unsigned);
int cuMemcpyHtoD_v2(address, const void *, size_t), cuMemcpyDtoH_v2(void *, address, size_t);
int cuMemcpyDtoHAsync_v2(void *, address, size_t, handle), cuMemsetD8_v2(address, unsigned char, size_t);
int cuMemsetD16_v2(address, unsigned short, size_t), cuMemsetD32Async(address, unsigned, size_t, handle);
int cuMemsetD2D16_v2(address, size_t, unsigned short, size_t, size_t), cuMemcpy2D_v2(const void *);
int cuPointerGetAttribute(void *, int, address), cuMemGetAddressRange_v2(address *, size_t *, address);
int cuStreamCreate(handle *, unsigned), cuStreamDestroy_v2(handle), cuStreamSynchronize(handle);
int cuStreamBeginCapture_v2(handle, int), cuStreamEndCapture(handle, handle *), cuGraphLaunch(handle, handle);
int cuGraphInstantiateWithFlags(handle *, handle, unsigned long long), cuGraphExecDestroy(handle), cuGraphDestroy(handle);
int cuEventCreate(handle *, unsigned), cuEventRecord(handle, handle), cuEventElapsedTime(float *, handle, handle);
int cuEventDestroy_v2(handle), cuGetErrorName(int, const char **), cuGetErrorString(int, const char **);
int cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *), cuLinkCreate_v2(unsigned, int *, void **, handle *);
int cuLinkAddData_v2(handle, int, void *, size_t, const char *, unsigned, int *, void **);
int cuFuncGetParamInfo(handle, size_t, size_t *, size_t *), cuIpcGetMemHandle(ipc_handle *, address);
int cuIpcOpenMemHandle_v2(address *, ipc_handle, unsigned), cuIpcCloseMemHandle(address);
int cuMemcpyBatchAsync_v2(address *, address *, size_t *, size_t, const void *, size_t *, size_t, handle);
int cuUserObjectCreate(handle *, void *, void (*)(void *), unsigned, unsigned), cuGraphRetainUserObject(handle, handle, unsigned, unsigned);
int cuLinkComplete(handle, void **, size_t *), cuLinkDestroy(handle);
int cuCtxCreate_v2(handle *, unsigned, int), cuCtxDestroy_v2(handle), cuCtxGetDevice(int *), cuMemGetInfo_v2(size_t *, size_t *);
int cuCtxEnablePeerAccess(handle, unsigned), cuDeviceCanAccessPeer(int *, int, int), cuStreamGetCtx(handle, handle *);
int cuMemcpyPeer(address, handle, address, handle, size_t), cuDeviceGetPCIBusId(char *, int, int);
int cuMemcpyPeerAsync(address, handle, address, handle, size_t, handle), cuDeviceGetByPCIBusId(int *, const char *);
int cuGraphAddKernelNode_v2(handle *, handle, const handle *, size_t, const void *), cuGraphNodeGetType(handle, int *);
int cuGraphAddMemsetNode(handle *, handle, const handle *, size_t, const void *, handle);
int cuGraphAddMemcpyNode(handle *, handle, const handle *, size_t, const void *, handle);
int cuGraphExecKernelNodeSetParams_v2(handle, handle, const void *);
int cuLogsRegisterCallback(void (*)(void *, int, char *, size_t), void *, handle *), cuLogsUnregisterCallback(handle);
int cuLogsCurrent(unsigned *, unsigned), cuLogsDumpToFile(unsigned *, const char *, unsigned);
int cuLogsDumpToMemory(unsigned *, char *, size_t *, unsigned);
typedef struct { int type, id; } location;
typedef struct { int type, handle_types; location location; void *windows; unsigned char flags[8]; } properties;
typedef struct { location location; int flags; } access;
int cuMemAddressReserve(address *, size_t, size_t, address, unsigned long long), cuMemAddressFree(address, size_t);
int cuMemCreate(unsigned long long *, size_t, const properties *, unsigned long long), cuMemRelease(unsigned long long);
int cuMemMap(address, size_t, size_t, unsigned long long, unsigned long long), cuMemUnmap(address, size_t);
int cuMemSetAccess(address, size_t, const access *, size_t), cuMemGetAccess(unsigned long long *, const location *, address);
int cuMemGetAllocationGranularity(size_t *, const properties *, int), cuMemRetainAllocationHandle(unsigned long long *, void *);
int cuMemGetAllocationPropertiesFromHandle(properties *, unsigned long long);
typedef union { /* CUstreamBatchMemOpParams */
    struct { int operation; address address; uint64_t value; unsigned flags; } word;
    uint64_t pad[6];
} word_request;
typedef struct { handle context; unsigned count; word_request *requests; unsigned flags; } batch_params;
int cuStreamWriteValue32_v2(handle, address, uint32_t, unsigned), cuStreamWriteValue64_v2(handle, address, uint64_t, unsigned);
int cuStreamWaitValue32_v2(handle, address, uint32_t, unsigned), cuStreamWaitValue64_v2(handle, address, uint64_t, unsigned);
int cuStreamBatchMemOp_v2(handle, unsigned, word_request *, unsigned), cuGraphBatchMemOpNodeGetParams(handle, batch_params *);
int cuGraphAddBatchMemOpNode(handle *, handle, const handle *, size_t, const batch_params *);
int cuGraphExecBatchMemOpNodeSetParams(handle, handle, const batch_params *), cuGraphGetNodes(handle, handle *, size_t *);
typedef struct { int type, reserved0[3]; char bytes[232]; long long reserved2; } any_node; /* CUgraphNodeParams */
int cuGraphAddNode_v2(handle *, handle, const handle *, const void *, size_t, any_node *), cuGraphNodeSetParams(handle, any_node *);
int cuGraphExecNodeSetParams(handle, handle, any_node *);
int cuTexRefCreate(void), cuGreenCtxStreamCreate(void), cuOccupancyMaxPotentialBlockSize(int *, int *, handle, size_t (*)(int), size_t, int);

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NO_BINARY = 209, INVALID_PTX = 218, INVALID_HANDLE = 400,
       NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801, INVALID_CLUSTER_SIZE = 912 };

#define CHECK(condition)                                                                                           \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            fprintf(stderr, "line %d: " #condition "\n", __LINE__);                                                \
            return __LINE__ % 256 ? __LINE__ % 256 : 1;                                                            \
        }                                                                                                          \
    } while (0)

/* add: data[i] += step, of 64 threads. */
static const char ptx[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 answer = 42;\n"
    ".visible .entry add(.param .u64 data, .param .u32 step) {\n"
    ".reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [step]; cvta.to.global.u64 %rd1, %rd1;\n"
    "mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd1, %rd1, %rd2;\n"
    "ld.global.u32 %r3, [%rd1]; add.s32 %r3, %r3, %r1; st.global.u32 [%rd1], %r3; ret; }\n";

enum { COUNT = 64, NBYTES = COUNT * 4 };

static int add(handle function, address data, int step, handle stream) {
    void *arguments[] = {&data, &step};
    return cuLaunchKernel(function, 1, 1, 1, COUNT, 1, 1, 0, stream, arguments, NULL);
}

static int begin(handle *function) {
    handle context, module;
    int count, device, major;
    address pointer;
    char name[64];
    CHECK(cuMemAlloc_v2(&pointer, 4) == NOT_INITIALIZED);
    CHECK(cuInit(0) == 0 && cuMemAlloc_v2(&pointer, 4) == INVALID_CONTEXT);
    CHECK(cuDeviceGetCount(&count) == 0 && count == 1 && cuDeviceGet(&device, 0) == 0);
    CHECK(cuDeviceGetName(name, sizeof name, 0) == 0 && !strcmp(name, "NVIDIA H200"));
    CHECK(cuDeviceGetAttribute(&major, 75, 0) == 0 && major == 9);
    CHECK(cuDevicePrimaryCtxRetain(&context, device) == 0 && cuCtxPushCurrent_v2(context) == 0);
    CHECK(cuModuleLoadData(&module, ptx) == 0 && cuModuleGetFunction(function, module, "add") == 0);
    CHECK(cuModuleGetFunction(function, module, "none") == NOT_FOUND);
    CHECK(cuModuleGetFunction(function, module, "add") == 0);
    return 0;
}

static int memory(handle add_function) {
    address data, rows, base;
    size_t nbytes, pitch;
    unsigned host[COUNT], type;
    unsigned short *halves = (unsigned short *)host;
    CHECK(cuMemAlloc_v2(&data, NBYTES) == 0 && cuMemsetD32Async(data, 5, COUNT, NULL) == 0);
    CHECK(add(add_function, data, 2, NULL) == 0 && cuMemcpyDtoH_v2(host, data, NBYTES) == 0);
    for (int i = 0; i < COUNT; i++) CHECK(host[i] == 7);
    CHECK(cuMemsetD16_v2(data + 2, 0x1234, 3) == 0 && cuMemsetD8_v2(data + 8, 9, 1) == 0);
    struct {
        address data;
        int step;
    } packed = {data + 16, 4};
    size_t packed_nbytes = sizeof packed, short_nbytes = 8;
    void *extra[] = {(void *)1, &packed, (void *)2, &packed_nbytes, NULL};
    CHECK(cuLaunchKernel(add_function, 1, 1, 1, 2, 1, 1, 0, NULL, NULL, extra) == 0);
    CHECK(cuMemcpyDtoH_v2(host, data, 28) == 0 && host[4] == 11 && host[5] == 11 && host[6] == 7);
    extra[3] = &short_nbytes;
    CHECK(cuLaunchKernel(add_function, 1, 1, 1, 2, 1, 1, 0, NULL, NULL, extra) == INVALID_VALUE);
    CHECK(cuLaunchKernel(add_function, 1, 1, 1, 2, 1, 1, 0, NULL, NULL, NULL) == INVALID_VALUE);
    CHECK(cuMemcpyDtoH_v2(host, data, 12) == 0 && host[0] == 0x12340007 && host[1] == 0x12341234 && host[2] == 9);
    CHECK(cuMemsetD16_v2(data + 1, 0, 1) == INVALID_VALUE && cuMemsetD8_v2(data, 0, NBYTES + 1) == INVALID_VALUE);
    CHECK(cuMemGetAddressRange_v2(&base, &nbytes, data + 12) == 0 && base == data && nbytes == NBYTES);
    CHECK(cuPointerGetAttribute(&type, 2, data) == 0 && type == 2);
    CHECK(cuPointerGetAttribute(&type, 2, (address)(uintptr_t)host) == INVALID_VALUE);
    CHECK(cuMemAllocPitch_v2(&rows, &pitch, 6, 2, 4) == 0 && cuMemsetD2D16_v2(rows, pitch, 7, 3, 2) == 0);
    struct {
        size_t x, y;
        int type;
        void *host;
        address device;
        void *array;
        size_t pitch;
    } ends[2] = {{0, 1, 2, NULL, rows, NULL, pitch}, {2, 0, 1, host, 0, NULL, 0}};
    struct {
        char ends[sizeof ends];
        size_t width, height;
    } copy = {.width = 6, .height = 1};
    memcpy(copy.ends, ends, sizeof ends);
    CHECK(cuMemcpy2D_v2(&copy) == 0 && halves[0] == 7 && halves[1] == 7 && halves[3] == 7 && halves[4] == 9);
    CHECK(cuMemFree_v2(data) == 0 && cuMemFree_v2(data) == INVALID_VALUE && cuMemFree_v2(rows) == 0);
    return 0;
}

static int streams(handle add_function) {
    handle stream, graph, exec, events[2];
    address data;
    unsigned *host;
    float milliseconds;
    launch_config config = {.grid = {1, 1, 1}, .block = {COUNT, 1, 1}};
    int step = 100;
    void *arguments[] = {&data, &step};
    CHECK(cuMemAllocManaged(&data, NBYTES, 1) == 0 && cuMemAllocHost_v2((void **)&host, NBYTES) == 0);
    CHECK(cuStreamCreate(&stream, 1) == 0 && cuEventCreate(&events[0], 0) == 0 && cuEventCreate(&events[1], 0) == 0);
    CHECK(cuStreamBeginCapture_v2(stream, 0) == 0 && add(add_function, data, 3, stream) == 0);
    CHECK(cuMemcpyDtoHAsync_v2(host, data, NBYTES, stream) == 0 && cuStreamEndCapture(stream, &graph) == 0);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == 0 && cuEventRecord(events[0], stream) == 0);
    for (int i = 0; i < 4; i++) CHECK(cuGraphLaunch(exec, stream) == 0);
    CHECK(cuEventRecord(events[1], stream) == 0 && cuStreamSynchronize(stream) == 0 && host[COUNT - 1] == 12);
    CHECK(cuEventElapsedTime(&milliseconds, events[0], events[1]) == 0 && milliseconds > 0);
    CHECK(cuLaunchKernelEx(&config, add_function, arguments, NULL) == 0 && cuCtxSynchronize() == 0);
    CHECK(((unsigned *)(uintptr_t)data)[1] == 112);
    CHECK(cuGraphExecDestroy(exec) == 0 && cuGraphDestroy(graph) == 0 && cuEventDestroy_v2(events[0]) == 0);
    CHECK(cuEventDestroy_v2(events[1]) == 0 && cuStreamDestroy_v2(stream) == 0 && cuMemFreeHost(host) == 0);
    CHECK(cuMemFree_v2(data) == 0);
    return 0;
}

/* Nodes: a fill of 10, an addition of 4, and a copy of all to the host. */
static int nodes(handle add_function) {
    handle graph, exec, fill, addition, copy, node, context;
    address data;
    unsigned host[COUNT];
    int step = 4, type;
    void *arguments[] = {&data, &step};
    struct {
        handle function;
        unsigned grid[3], block[3], shared_nbytes;
        void **arguments, **extra;
        handle kernel, context;
    } kernel = {add_function, {1, 1, 1}, {COUNT, 1, 1}, 0, arguments, NULL, NULL, NULL};
    CHECK(cuMemAlloc_v2(&data, NBYTES) == 0 && cuCtxGetCurrent(&context) == 0 && cuGraphCreate(&graph, 0) == 0);
    struct {
        address to;
        size_t pitch;
        unsigned value, width;
        size_t count, rows;
    } filling = {data, 0, 10, 4, COUNT, 1};
    struct {
        size_t x, y, z, lod;
        int type;
        void *host;
        address device;
        void *array, *reserved;
        size_t pitch, height;
    } ends[2] = {{.type = 2, .device = data, .pitch = NBYTES, .height = 1},
                 {.type = 1, .host = host, .pitch = NBYTES, .height = 1}};
    struct {
        char ends[sizeof ends];
        size_t width, height, depth;
    } copying = {.width = NBYTES, .height = 1, .depth = 1};
    memcpy(copying.ends, ends, sizeof ends);
    CHECK(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &filling, context) == 0);
    CHECK(cuGraphAddKernelNode_v2(&addition, graph, &fill, 1, &kernel) == 0);
    CHECK(cuGraphAddMemcpyNode(&copy, graph, &addition, 1, &copying, context) == 0);
    CHECK(cuGraphNodeGetType(copy, &type) == 0 && type == 1 && cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
    CHECK(cuGraphLaunch(exec, NULL) == 0 && cuCtxSynchronize() == 0 && host[COUNT - 1] == 14);
    step = 5;
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, addition, &kernel) == 0 && cuGraphLaunch(exec, NULL) == 0);
    CHECK(cuCtxSynchronize() == 0 && host[COUNT - 1] == 15);
    struct {
        address data;
        int step;
    } packed = {data, 8};
    size_t packed_nbytes = sizeof packed;
    void *extra[] = {(void *)1, &packed, (void *)2, &packed_nbytes, NULL};
    kernel.extra = extra;
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, addition, &kernel) == INVALID_VALUE); /* arguments in both ways */
    kernel.arguments = NULL;
    CHECK(cuGraphExecKernelNodeSetParams_v2(exec, addition, &kernel) == 0);
    packed.step = 9; /* the node has the values of before */
    CHECK(cuGraphLaunch(exec, NULL) == 0 && cuCtxSynchronize() == 0 && host[COUNT - 1] == 18 && cuGraphExecDestroy(exec) == 0);
    packed_nbytes = 8;
    CHECK(cuGraphAddKernelNode_v2(&addition, graph, NULL, 0, &kernel) == INVALID_VALUE);
    kernel.arguments = arguments, kernel.extra = NULL;
    CHECK(cuGraphDestroy(graph) == 0 && cuGraphCreate(&graph, 0) == 0);

    any_node of_fill = {2}, of_kernel = {0}, of_copy = {1}, of_words = {12}, of_nothing = {99};
    word_request word = {{2, data, 50, 0}};
    batch_params words = {NULL, 1, &word, 0};
    memcpy(of_fill.bytes, &filling, sizeof filling);
    memcpy(of_kernel.bytes, &kernel, sizeof kernel);
    memcpy(of_copy.bytes + 16, &copying, sizeof copying);
    memcpy(of_words.bytes, &words, sizeof words);
    step = 6;
    CHECK(cuGraphAddNode_v2(&fill, graph, NULL, NULL, 0, &of_fill) == 0);
    CHECK(cuGraphAddNode_v2(&addition, graph, &fill, NULL, 1, &of_kernel) == 0);
    CHECK(cuGraphAddNode_v2(&node, graph, &addition, NULL, 1, &of_words) == 0);
    CHECK(cuGraphAddNode_v2(&copy, graph, &node, NULL, 1, &of_copy) == 0);
    CHECK(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &of_nothing) == NOT_SUPPORTED);
    filling.value = 20;
    memcpy(of_fill.bytes, &filling, sizeof filling);
    CHECK(cuGraphNodeSetParams(fill, &of_fill) == 0 && cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
    CHECK(cuGraphLaunch(exec, NULL) == 0 && cuCtxSynchronize() == 0 && host[COUNT - 1] == 26 && host[0] == 50);
    step = 7;
    CHECK(cuGraphExecNodeSetParams(exec, addition, &of_kernel) == 0 && cuGraphLaunch(exec, NULL) == 0);
    CHECK(cuCtxSynchronize() == 0 && host[COUNT - 1] == 27 && cuGraphExecDestroy(exec) == 0);
    CHECK(cuGraphDestroy(graph) == 0 && cuMemFree_v2(data) == 0);
    return 0;
}

static void heed(void *data, int level, char *message, size_t length) { (void)data, (void)level, (void)message, (void)length; }

/* What goes wrong is told on standard error: there are no logs to read. */
static int logs(void) {
    handle entry = NULL;
    unsigned at = 5;
    char text[8] = "before";
    size_t nbytes = sizeof text;
    CHECK(cuLogsRegisterCallback(heed, NULL, &entry) == 0 && entry && cuLogsRegisterCallback(NULL, NULL, &entry) == INVALID_VALUE);
    CHECK(cuLogsCurrent(&at, 0) == 0 && at == 0 && cuLogsCurrent(&at, 1) == INVALID_VALUE);
    CHECK(cuLogsDumpToMemory(&at, text, &nbytes, 0) == 0 && nbytes == 0 && !text[0]);
    CHECK(cuLogsDumpToFile(&at, "/dev/null", 0) == 0 && cuLogsDumpToFile(&at, NULL, 0) == INVALID_VALUE);
    return cuLogsUnregisterCallback(entry) || cuLogsUnregisterCallback(NULL) != INVALID_VALUE;
}

static int modules(void) {
    handle module, link, function;
    char log[256] = "";
    int names[] = {5, 6}, value;
    void *values[] = {log, (void *)sizeof log}, *image;
    size_t nbytes;
    address variable;
    CHECK(cuModuleLoadData(&module, "\177ELF of some kind") == NO_BINARY);
    CHECK(cuModuleLoadDataEx(&module, ".version 8.0\nnonsense", 2, names, values) == INVALID_PTX);
    CHECK(strstr(log, "nonsense") != NULL);
    CHECK(cuLinkCreate_v2(0, NULL, NULL, &link) == 0);
    CHECK(cuLinkAddData_v2(link, 1, (void *)ptx, sizeof ptx, "a", 0, NULL, NULL) == 0);
    CHECK(cuLinkAddData_v2(link, 1, (void *)ptx, sizeof ptx, "b", 0, NULL, NULL) == NOT_SUPPORTED);
    CHECK(cuLinkComplete(link, &image, &nbytes) == 0 && cuModuleLoadData(&module, image) == 0);
    CHECK(cuLinkDestroy(link) == 0 && cuModuleGetGlobal_v2(&variable, &nbytes, module, "answer") == 0 && nbytes == 4);
    CHECK(cuMemcpyDtoH_v2(&value, variable, 4) == 0 && value == 42);
    CHECK(cuModuleGetFunction(&function, module, "add") == 0 && cuFuncGetAttribute(&value, 0, function) == 0);
    CHECK(value == 1024 && cuFuncSetAttribute(function, 8, 1 << 20) == INVALID_VALUE);
    CHECK(cuFuncSetAttribute(function, 8, 1 << 16) == 0 && cuFuncGetAttribute(&value, 8, function) == 0);
    int grid, block;
    CHECK(value == 1 << 16 && cuOccupancyMaxPotentialBlockSize(&grid, &block, function, NULL, 0, 0) == 0);
    CHECK(block == 1024 && grid == 2 * 132 && cuModuleUnload(module) == 0);
    return 0;
}

static void count(void *calls) { ++*(int *)calls; }

/* What they do is the runtime library's. */
static int also_of_the_runtime(handle function) {
    size_t offset, nbytes, first = 0, sizes[] = {8, NBYTES - 8};
    address data, opened;
    ipc_handle for_others;
    unsigned host[COUNT], back[COUNT];
    int calls = 0, attributes[16] = {1}; /* in the stream's order */
    handle stream, graph, object;
    CHECK(cuFuncGetParamInfo(function, 0, &offset, &nbytes) == 0 && offset == 0 && nbytes == 8);
    CHECK(cuFuncGetParamInfo(function, 1, &offset, &nbytes) == 0 && offset == 8 && nbytes == 4);
    CHECK(cuFuncGetParamInfo(function, 2, &offset, &nbytes) == INVALID_VALUE);
    CHECK(cuMemAlloc_v2(&data, NBYTES) == 0 && cuIpcGetMemHandle(&for_others, data) == 0 && cuStreamCreate(&stream, 0) == 0);
    CHECK(cuIpcOpenMemHandle_v2(&opened, for_others, 1) == INVALID_CONTEXT && cuIpcCloseMemHandle(data) == INVALID_VALUE);
    for (unsigned i = 0; i < COUNT; i++) host[i] = 3 * i;
    address from[] = {(address)(uintptr_t)host, (address)(uintptr_t)(host + 2)}, to[] = {data, data + 8};
    CHECK(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, &first, 1, stream) == 0 && cuStreamSynchronize(stream) == 0);
    CHECK(cuMemcpyDtoH_v2(back, data, NBYTES) == 0 && !memcmp(back, host, NBYTES) && cuMemFree_v2(data) == 0);
    CHECK(cuUserObjectCreate(&object, &calls, count, 1, 1) == 0 && cuGraphCreate(&graph, 0) == 0);
    CHECK(cuGraphRetainUserObject(graph, object, 1, 1) == 0 && calls == 0); /* the graph's alone from now on */
    CHECK(cuGraphDestroy(graph) == 0 && calls == 1 && cuStreamDestroy_v2(stream) == 0);
    return 0;
}

/* Words that streams write and wait for. */
static int stream_words(void) {
    enum { GREATER_EQUAL, EQUAL, AND, NOR, FLUSH = 1 << 30 };
    enum { WAIT_32 = 1, WRITE_32, FLUSH_WRITES, WAIT_64, WRITE_64, BARRIER };
    address data, managed;
    uint64_t host[4] = {0};
    handle first, second;
    int can;
    const int attributes[] = {92, 93, 122, 123};
    for (int i = 0; i < 4; i++) CHECK(cuDeviceGetAttribute(&can, attributes[i], 0) == 0 && can == 1);
    CHECK(cuStreamCreate(&first, 1) == 0 && cuStreamCreate(&second, 1) == 0 && cuMemAlloc_v2(&data, sizeof host) == 0);
    CHECK(cuMemsetD8_v2(data, 0, sizeof host) == 0 && cuMemAllocManaged(&managed, 8, 1) == 0 && cuCtxSynchronize() == 0);
    CHECK(cuStreamWriteValue32_v2(first, data, 5, 0) == 0 && cuStreamWriteValue64_v2(first, data + 8, 1ull << 40, 0) == 0);
    CHECK(cuStreamWaitValue32_v2(second, data, 5, EQUAL) == 0 && cuStreamWaitValue32_v2(second, data, 4, GREATER_EQUAL) == 0);
    CHECK(cuStreamWaitValue32_v2(second, data, 0x80000006u, GREATER_EQUAL) == 0); /* the difference is 2^31 - 1 */
    CHECK(cuStreamWaitValue32_v2(second, data, 0x80000005u, GREATER_EQUAL) == NOT_SUPPORTED); /* -2^31 */
    CHECK(cuStreamWaitValue32_v2(second, data, 4, AND) == 0 && cuStreamWaitValue32_v2(second, data, 2, AND) == NOT_SUPPORTED);
    CHECK(cuStreamWaitValue32_v2(second, data, ~5u, NOR) == NOT_SUPPORTED && cuStreamWaitValue32_v2(second, data, ~7u, NOR) == 0);
    CHECK(cuStreamWaitValue64_v2(second, data + 8, 1ull << 40, EQUAL) == 0);
    CHECK(cuStreamWaitValue64_v2(second, data + 8, (1ull << 40) + 1, GREATER_EQUAL) == NOT_SUPPORTED);
    CHECK(cuStreamWaitValue32_v2(second, data, 5, NOR + 1) == INVALID_VALUE && cuStreamWaitValue32_v2(second, data, 5, FLUSH) == NOT_SUPPORTED);
    CHECK(cuStreamWriteValue32_v2(first, data + 2, 5, 0) == INVALID_VALUE && cuStreamWriteValue64_v2(first, data + 4, 5, 0) == INVALID_VALUE);
    CHECK(cuStreamWriteValue32_v2(first, managed, 5, 0) == INVALID_VALUE && cuStreamWriteValue32_v2(first, 64, 5, 0) == INVALID_VALUE);
    word_request requests[] = {{{WRITE_64, data + 16, 7ull << 33, 0}}, {{BARRIER, 0, 0, 0}}, {{WAIT_64, data + 16, 7ull << 33, EQUAL}},
                               {{WRITE_32, data + 24, 9, 0}}};
    CHECK(cuStreamBatchMemOp_v2(first, 4, requests, 0) == 0 && cuStreamBatchMemOp_v2(first, 4, requests, 1) == INVALID_VALUE);
    CHECK(cuStreamBatchMemOp_v2(first, 256, requests, 0) == INVALID_VALUE);
    CHECK(cuCtxSynchronize() == 0 && cuMemcpyDtoH_v2(host, data, sizeof host) == 0);
    CHECK(host[0] == 5 && host[1] == 1ull << 40 && host[2] == 7ull << 33 && host[3] == 9);
    requests[0].word.operation = FLUSH_WRITES;
    CHECK(cuStreamBatchMemOp_v2(first, 1, requests, 0) == NOT_SUPPORTED);

    handle graph, exec, node, captured;
    batch_params params = {NULL, 1, &requests[3], 0}, told;
    size_t count = 1;
    CHECK(cuGraphCreate(&graph, 0) == 0 && cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &params) == 0);
    CHECK(cuGraphBatchMemOpNodeGetParams(node, &told) == 0 && told.count == 1 && told.requests->word.value == 9);
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
    requests[3].word.value = 11;
    CHECK(cuGraphExecBatchMemOpNodeSetParams(exec, node, &params) == 0 && cuGraphLaunch(exec, first) == 0);
    CHECK(cuStreamSynchronize(first) == 0 && cuMemcpyDtoH_v2(host, data, sizeof host) == 0 && host[3] == 11);
    CHECK(cuGraphExecDestroy(exec) == 0 && cuGraphDestroy(graph) == 0);
    CHECK(cuStreamBeginCapture_v2(first, 0) == 0 && cuStreamWriteValue32_v2(first, data, 12, 0) == 0);
    CHECK(cuStreamEndCapture(first, &graph) == 0 && cuGraphGetNodes(graph, &captured, &count) == 0 && count == 1);
    CHECK(cuGraphNodeGetType(captured, &can) == 0 && can == 12 && cuGraphInstantiateWithFlags(&exec, graph, 0) == 0);
    CHECK(cuMemcpyDtoH_v2(host, data, sizeof host) == 0 && host[0] == 5 && cuGraphLaunch(exec, second) == 0);
    CHECK(cuStreamSynchronize(second) == 0 && cuMemcpyDtoH_v2(host, data, sizeof host) == 0 && host[0] == 12);
    CHECK(cuGraphExecDestroy(exec) == 0 && cuGraphDestroy(graph) == 0 && cuMemFree_v2(managed) == 0);

    /* The second stream's fill comes after the first one's copy, and the host, which has seen the word, after both. */
    void *pinned, *seen;
    CHECK(cuMemAllocHost_v2(&pinned, sizeof host) == 0 && cuMemAllocHost_v2(&seen, 4) == 0);
    CHECK(cuMemcpyDtoHAsync_v2(pinned, data, sizeof host, first) == 0);
    CHECK(cuStreamWriteValue32_v2(first, data, 13, 0) == 0 && cuStreamWaitValue32_v2(second, data, 13, EQUAL) == 0);
    CHECK(cuMemsetD32Async(data, 1, 2, second) == 0);
    CHECK(cuStreamWriteValue32_v2(second, (address)(uintptr_t)seen, 1, 0) == 0);
    CHECK(*(volatile unsigned *)seen == 1 && *(volatile unsigned *)pinned == 12 && cuMemFreeHost(seen) == 0);
    CHECK(cuMemFreeHost(pinned) == 0 && cuMemFree_v2(data) == 0 && cuStreamDestroy_v2(first) == 0 && cuStreamDestroy_v2(second) == 0);
    return 0;
}

static int names(void) {
    const char *text;
    int (*count_devices)(int *), count = 0, status = 7;
    void *found;
    handle context;
    CHECK(cuGetErrorName(700, &text) == 0 && !strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS"));
    CHECK(cuGetErrorString(201, &text) == 0 && !strcmp(text, "invalid device context"));
    CHECK(cuGetErrorName(12345, &text) == INVALID_VALUE && !text);
    CHECK(cuGetProcAddress_v2("cuDeviceGetCount", &found, 13000, 0, &status) == 0 && status == 0);
    memcpy(&count_devices, &found, sizeof found);
    CHECK(count_devices(&count) == 0 && count == 1);
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &found, 13000, 0, NULL) == 0);
    CHECK(found == (void *)(uintptr_t)cuMemAlloc_v2);
    CHECK(cuGetProcAddress_v2("cuNothing", &found, 13000, 0, &status) == NOT_FOUND && !found && status == 1);
    CHECK(cuGreenCtxStreamCreate() == NOT_SUPPORTED && cuTexRefCreate() == NOT_SUPPORTED);
    CHECK(cuCtxGetCurrent(&context) == 0 && context && cuCtxPopCurrent_v2(NULL) == 0);
    CHECK(cuCtxGetCurrent(&found) == 0 && !found && cuCtxSetCurrent(context) == 0);
    return 0;
}

/* Each block writes its rank within its cluster, as launched. */
static const char cluster_ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry rank(.param .u64 data) {\n"
    ".reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [data]; cvta.to.global.u64 %rd1, %rd1;\n"
    "mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;\n"
    "mov.u32 %r2, %cluster_ctarank; st.global.u32 [%rd1], %r2; ret; }\n";

static int clusters(void) {
    handle module, function;
    address data;
    unsigned host[8];
    struct {
        int id, pad;
        unsigned cluster[16];
    } attribute = {4, 0, {4, 1, 1}};
    launch_config config = {.grid = {8, 1, 1}, .block = {1, 1, 1}, .attributes = &attribute, .attribute_count = 1};
    void *arguments[] = {&data};
    CHECK(cuModuleLoadData(&module, cluster_ptx) == 0 && cuModuleGetFunction(&function, module, "rank") == 0);
    CHECK(cuMemAlloc_v2(&data, sizeof host) == 0 && cuLaunchKernelEx(&config, function, arguments, NULL) == 0);
    CHECK(cuMemcpyDtoH_v2(host, data, sizeof host) == 0 && cuMemFree_v2(data) == 0);
    for (unsigned i = 0; i < 8; i++) CHECK(host[i] == i % 4);
    attribute.cluster[0] = 3;
    CHECK(cuLaunchKernelEx(&config, function, arguments, NULL) == INVALID_CLUSTER_SIZE);
    return 0;
}

/* The names of older versions of CUDA. */
int cuCtxAttach(handle *, unsigned), cuCtxDetach(handle), cuDeviceTotalMem(size_t *, int), cuCtxDestroy(handle);
int cuCtxCreate(handle *, unsigned, int), cuMemAlloc(address *, size_t), cuMemFree(address);
int cuMemcpyHtoD(address, const void *, size_t), cuMemcpyDtoH(void *, address, size_t), cuMemsetD32(address, unsigned, size_t);
int cuFuncSetBlockShape(handle, int, int, int), cuFuncSetSharedSize(handle, unsigned), cuParamSetSize(handle, unsigned);
int cuParamSeti(handle, int, unsigned), cuParamSetv(handle, int, const void *, unsigned), cuLaunch(handle);
int cuLaunchGrid(handle, int, int), cuDeviceGetProperties(int *, int), cuStreamDestroy(handle), cuEventDestroy(handle);
int cuStreamBeginCapture(handle), cuGraphInstantiate(handle *, handle, handle *, char *, size_t);
int cuGraphGetEdges(handle, handle *, handle *, size_t *), cuGraphClone(handle *, handle);

/* The function adds the second argument to 64 words. */
static int old_names(void) {
    handle context, attached, module, function, stream, event, graph, clone, exec;
    address data;
    unsigned host[COUNT];
    int properties[12];
    size_t nbytes, count = 0;
    CHECK(cuDeviceTotalMem(&nbytes, 0) == 0 && nbytes > 1 << 20 && cuDeviceGetProperties(properties, 0) == 0);
    CHECK(properties[0] == 1024 && properties[9] == 32 && cuCtxCreate(&context, 0, 0) == 0);
    CHECK(cuCtxAttach(&attached, 0) == 0 && attached == context && cuCtxDetach(context) == 0);
    CHECK(cuModuleLoadData(&module, ptx) == 0 && cuModuleGetFunction(&function, module, "add") == 0);
    CHECK(cuMemAlloc(&data, NBYTES) == 0 && cuMemsetD32(data, 3, COUNT) == 0);
    CHECK(cuFuncSetBlockShape(function, COUNT, 1, 1) == 0 && cuFuncSetSharedSize(function, 0) == 0);
    CHECK(cuParamSetv(function, 0, &data, sizeof data) == 0 && cuParamSeti(function, 8, 4) == 0);
    CHECK(cuParamSetv(function, 4000, host, sizeof host) == INVALID_VALUE && cuParamSetSize(function, 12) == 0);
    CHECK(cuLaunch(function) == 0 && cuLaunchGrid(function, 1, 1) == 0);
    CHECK(cuMemcpyDtoH(host, data, NBYTES) == 0 && host[COUNT - 1] == 11);
    host[COUNT - 1] = 5;
    CHECK(cuMemcpyHtoD(data, host, NBYTES) == 0 && cuStreamCreate(&stream, 1) == 0);
    CHECK(cuStreamBeginCapture(stream) == 0 && add(function, data, 1, stream) == 0);
    CHECK(cuStreamEndCapture(stream, &graph) == 0 && cuGraphGetEdges(graph, NULL, NULL, &count) == 0 && count == 0);
    CHECK(cuGraphClone(&clone, graph) == 0 && cuGraphInstantiate(&exec, clone, NULL, NULL, 0) == 0);
    CHECK(cuGraphLaunch(exec, stream) == 0 && cuStreamSynchronize(stream) == 0);
    CHECK(cuMemcpyDtoH(host, data, NBYTES) == 0 && host[COUNT - 1] == 6 && host[0] == 12);
    CHECK(cuGraphExecDestroy(exec) == 0 && cuGraphDestroy(graph) == 0 && cuGraphDestroy(clone) == 0);
    CHECK(cuEventCreate(&event, 0) == 0 && cuEventDestroy(event) == 0 && cuStreamDestroy(stream) == 0);
    CHECK(cuMemFree(data) == 0 && cuModuleUnload(module) == 0 && cuCtxDestroy(context) == 0);
    return 0;
}

/* Two devices, each with its context, module and memory. */
static int devices(void) {
    handle contexts[2], modules[2], functions[2], context, stream;
    address data[2];
    unsigned host[COUNT];
    size_t available, total;
    int count, device, can;
    char bus[16];
    CHECK(cuInit(0) == 0 && cuDeviceGetCount(&count) == 0 && count == 2);
    CHECK(cuDeviceGet(&device, 1) == 0 && device == 1 && cuDeviceGet(&device, 2) == INVALID_DEVICE);
    CHECK(cuDeviceGetPCIBusId(bus, sizeof bus, 1) == 0 && cuDeviceGetByPCIBusId(&device, bus) == 0 && device == 1);
    CHECK(cuDevicePrimaryCtxRetain(&contexts[0], 0) == 0 && cuCtxCreate_v2(&contexts[1], 0, 1) == 0);
    for (int d = 0; d < 2; d++) {
        CHECK(cuCtxSetCurrent(contexts[d]) == 0 && cuCtxGetDevice(&device) == 0 && device == d);
        CHECK(cuModuleLoadData(&modules[d], ptx) == 0 && cuModuleGetFunction(&functions[d], modules[d], "add") == 0);
        CHECK(cuMemAlloc_v2(&data[d], NBYTES) == 0 && cuMemsetD32Async(data[d], (unsigned)d, COUNT, NULL) == 0);
        CHECK(cuPointerGetAttribute(&device, 9, data[d]) == 0 && device == d);
        CHECK(cuMemGetInfo_v2(&available, &total) == 0 && available == total - NBYTES);
    }
    CHECK(cuStreamCreate(&stream, 1) == 0 && cuStreamGetCtx(stream, &context) == 0 && context == contexts[1]);
    CHECK(cuCtxPushCurrent_v2(contexts[0]) == 0 && cuCtxGetDevice(&device) == 0 && device == 0);
    CHECK(add(functions[0], data[0], 1, stream) == INVALID_HANDLE); /* the stream is the other device's */
    CHECK(cuDeviceCanAccessPeer(&can, 0, 1) == 0 && can == 1 && cuCtxEnablePeerAccess(contexts[1], 0) == 0);
    CHECK(add(functions[0], data[1], 4, NULL) == 0 && cuCtxSynchronize() == 0);
    CHECK(cuMemcpyPeer(data[0], contexts[0], data[1], contexts[0], NBYTES) == INVALID_VALUE);
    CHECK(cuMemcpyPeerAsync(data[0], contexts[0], data[1], contexts[1], NBYTES / 2, stream) == 0);
    CHECK(cuCtxPopCurrent_v2(&context) == 0 && context == contexts[0] && cuStreamSynchronize(stream) == 0);
    CHECK(cuMemcpyDtoH_v2(host, data[0], NBYTES) == 0 && host[0] == 5 && host[COUNT / 2] == 0);
    CHECK(cuMemFree_v2(data[0]) == 0 && cuMemFree_v2(data[1]) == 0 && cuStreamDestroy_v2(stream) == 0);
    CHECK(cuCtxDestroy_v2(contexts[1]) == 0 && cuCtxGetCurrent(&context) == 0 && !context);
    return 0;
}

/* Pages: twice as many addresses as memory, and two pieces of that side by side. */
enum { PAGE = 1 << 21 };
static const properties of_device = {1, 0, {1, 0}, NULL, {0}};
static const access all = {{1, 0}, 3}, reading = {{1, 0}, 1}, none = {{1, 0}, 0};

static int refused_pages(address at, unsigned long long piece) {
    const properties other_kind = {7, 0, {1, 0}, NULL, {0}}, other_device = {1, 0, {1, 9}, NULL, {0}}, shared = {1, 1, {1, 0}, NULL, {0}};
    const access other_flags = {{1, 0}, 2}, nobody = {{1, 9}, 3};
    unsigned long long other;
    address nowhere;
    CHECK(cuMemCreate(&other, PAGE + 4096, &of_device, 0) == INVALID_VALUE && cuMemCreate(&other, 0, &of_device, 0) == INVALID_VALUE);
    CHECK(cuMemCreate(&other, PAGE, &other_kind, 0) == INVALID_VALUE && cuMemCreate(&other, PAGE, &of_device, 1) == INVALID_VALUE);
    CHECK(cuMemCreate(&other, PAGE, &other_device, 0) == INVALID_DEVICE && cuMemCreate(&other, PAGE, NULL, 0) == INVALID_VALUE);
    CHECK(cuMemCreate(&other, PAGE, &shared, 0) == NOT_SUPPORTED && cuMemCreate(NULL, PAGE, &of_device, 0) == INVALID_VALUE);
    CHECK(cuMemCreate(&other, (size_t)1 << 50, &of_device, 0) == OUT_OF_MEMORY);
    CHECK(cuMemAddressReserve(&nowhere, 4096, 0, 0, 0) == INVALID_VALUE && cuMemAddressReserve(&nowhere, 0, 0, 0, 0) == INVALID_VALUE);
    CHECK(cuMemAddressReserve(&nowhere, PAGE, 3, 0, 0) == INVALID_VALUE && cuMemAddressReserve(NULL, PAGE, 0, 0, 0) == INVALID_VALUE);
    CHECK(cuMemAddressReserve(&nowhere, (size_t)1 << 60, 0, 0, 0) == OUT_OF_MEMORY);
    CHECK(cuMemMap(at, 2 * PAGE, 0, piece, 0) == INVALID_VALUE && cuMemMap(at, PAGE / 2, 0, piece, 0) == INVALID_VALUE);
    CHECK(cuMemMap(at + 4096, PAGE, 0, piece, 0) == INVALID_VALUE && cuMemMap(at, PAGE, PAGE, piece, 0) == INVALID_VALUE);
    CHECK(cuMemMap(at, PAGE, 0, 12345, 0) == INVALID_VALUE && cuMemMap(at, PAGE, 0, piece, 1) == INVALID_VALUE);
    CHECK(cuMemMap(at + 4 * PAGE, PAGE, 0, piece, 0) == INVALID_VALUE && cuMemMap(64, PAGE, 0, piece, 0) == INVALID_VALUE);
    CHECK(cuMemUnmap(at, PAGE) == INVALID_VALUE && cuMemSetAccess(at, PAGE, &all, 1) == INVALID_VALUE);
    CHECK(cuMemRelease(12345) == INVALID_VALUE && cuMemRetainAllocationHandle(&other, (void *)at) == INVALID_VALUE);
    CHECK(cuMemMap(at, PAGE, 0, piece, 0) == 0 && cuMemMap(at, PAGE, 0, piece, 0) == INVALID_VALUE);
    CHECK(cuMemSetAccess(at, PAGE, &other_flags, 1) == INVALID_VALUE && cuMemSetAccess(at, PAGE, &nobody, 1) == INVALID_DEVICE);
    CHECK(cuMemSetAccess(at, 2 * PAGE, &all, 1) == INVALID_VALUE && cuMemSetAccess(at, PAGE, NULL, 1) == INVALID_VALUE);
    CHECK(cuMemAddressFree(at, 4 * PAGE) == INVALID_VALUE && cuMemUnmap(at, 2 * PAGE) == INVALID_VALUE);
    CHECK(cuMemFree_v2(at) == INVALID_VALUE && cuMemUnmap(at, PAGE) == 0 && cuMemAddressFree(at, PAGE) == INVALID_VALUE);
    return 0;
}

static int pages(handle add_function) {
    unsigned long long pieces[2], again, flags;
    unsigned host[COUNT];
    size_t nbytes, before, after, total;
    address at, base, border;
    properties found;
    int value;
    CHECK(cuDeviceGetAttribute(&value, 102, 0) == 0 && value == 1 && cuMemGetInfo_v2(&before, &total) == 0);
    CHECK(cuMemGetAllocationGranularity(&nbytes, &of_device, 0) == 0 && nbytes == PAGE);
    CHECK(cuMemAddressReserve(&at, 4 * PAGE, 0, 0, 0) == 0 && at % PAGE == 0);
    for (int i = 0; i < 2; i++) CHECK(cuMemCreate(&pieces[i], PAGE, &of_device, 0) == 0);
    CHECK(cuMemGetInfo_v2(&after, &total) == 0 && before - after == 2 * PAGE);
    if ((value = refused_pages(at, pieces[0]))) return value;
    for (int i = 0; i < 2; i++) CHECK(cuMemMap(at + i * PAGE, PAGE, 0, pieces[i], 0) == 0);
    border = at + PAGE - NBYTES / 2;
    CHECK(cuMemsetD8_v2(border, 0, NBYTES) == INVALID_VALUE); /* the device has no access yet */
    CHECK(cuMemSetAccess(at, 2 * PAGE, &all, 1) == 0 && cuMemGetAccess(&flags, &all.location, border) == 0 && flags == 3);
    CHECK(cuMemsetD32Async(border, 5, COUNT, NULL) == 0 && add(add_function, border, 2, NULL) == 0); /* across both */
    CHECK(cuMemcpyDtoH_v2(host, border, NBYTES) == 0 && host[0] == 7 && host[COUNT - 1] == 7);
    CHECK(cuMemcpyDtoH_v2(host, at + 2 * PAGE - 4, 8) == INVALID_VALUE);
    CHECK(cuMemMap(at + 2 * PAGE, PAGE, 0, pieces[0], 0) == 0 && cuMemSetAccess(at + 2 * PAGE, PAGE, &reading, 1) == 0);
    CHECK(cuMemcpyDtoH_v2(host, border + 2 * PAGE, NBYTES / 2) == 0 && host[COUNT / 2 - 1] == 7); /* the first piece again */
    CHECK(cuMemsetD8_v2(at + 2 * PAGE, 0, 4) == INVALID_VALUE); /* which may be read alone */
    CHECK(cuMemGetAddressRange_v2(&base, &nbytes, border) == 0 && base == at && nbytes == PAGE);
    CHECK(cuMemGetAddressRange_v2(&base, &nbytes, at + 3 * PAGE) == INVALID_VALUE);
    CHECK(cuPointerGetAttribute(&value, 2, border) == 0 && value == 2);
    CHECK(cuMemRetainAllocationHandle(&again, (void *)(at + 2 * PAGE)) == 0 && again == pieces[0]);
    CHECK(cuMemGetAllocationPropertiesFromHandle(&found, again) == 0 && found.type == 1 && found.location.type == 1);
    CHECK(cuMemRelease(again) == 0 && cuMemRelease(pieces[0]) == 0 && cuMemRelease(pieces[0]) == INVALID_VALUE);
    CHECK(cuMemUnmap(at, 3 * PAGE) == 0 && cuMemGetInfo_v2(&after, &total) == 0 && before - after == PAGE);
    CHECK(cuMemRelease(pieces[1]) == 0 && cuMemGetInfo_v2(&after, &total) == 0 && before == after);
    CHECK(cuMemAddressFree(at, 4 * PAGE) == 0 && cuMemAddressFree(at, 4 * PAGE) == INVALID_VALUE);
    return 0;
}

/* A kernel that updates what is not mapped, not its own, only for reading, or freed; "kept": no kernel, and memory that stays. */
static int wrong_page(handle add_function, const char *how) {
    unsigned long long piece;
    unsigned host[COUNT];
    address at;
    CHECK(cuMemCreate(&piece, PAGE, &of_device, 0) == 0 && cuMemAddressReserve(&at, 2 * PAGE, 0, 0, 0) == 0);
    CHECK(cuMemMap(at, PAGE, 0, piece, 0) == 0 && cuMemSetAccess(at, PAGE, &all, 1) == 0 && cuMemsetD8_v2(at, 0, NBYTES) == 0);
    if (!strcmp(how, "unmapped")) at += PAGE;
    if (!strcmp(how, "denied")) CHECK(cuMemSetAccess(at, PAGE, &none, 1) == 0);
    if (!strcmp(how, "read-only")) CHECK(cuMemSetAccess(at, PAGE, &reading, 1) == 0);
    if (!strcmp(how, "freed")) CHECK(cuMemUnmap(at, PAGE) == 0 && cuMemAddressFree(at, 2 * PAGE) == 0);
    if (strcmp(how, "freed")) CHECK(cuMemRelease(piece) == 0); /* mapped, it is there until the end */
    if (strcmp(how, "kept")) CHECK(add(add_function, at, 1, NULL) == 0 && cuMemcpyDtoH_v2(host, at, NBYTES) == ILLEGAL_ADDRESS);
    return 0;
}

/* Beyond the end, which breaks the context. */
static int wrong(handle add_function) {
    address data;
    CHECK(cuMemAlloc_v2(&data, NBYTES - 4) == 0 && cuMemsetD8_v2(data, 0, NBYTES - 4) == 0);
    CHECK(add(add_function, data, 1, NULL) == 0);
    CHECK(cuCtxSynchronize() == ILLEGAL_ADDRESS && cuMemAlloc_v2(&data, 4) == ILLEGAL_ADDRESS);
    return 0;
}

int main(int count, char **words) {
    handle function;
    if (count > 1 && !strcmp(words[1], "devices")) return devices();
    int status = begin(&function);
    if (!status) status = memory(function);
    if (!status && count > 2) return wrong_page(function, words[2]);
    if (!status) status = pages(function);
    if (!status) status = streams(function);
    if (!status) status = stream_words();
    if (!status) status = nodes(function);
    if (!status) status = modules();
    if (!status) status = logs();
    if (!status) status = also_of_the_runtime(function);
    if (!status) status = names();
    if (!status) status = clusters();
    if (!status) status = old_names();
    if (!status && count > 1 && !strcmp(words[1], "wrong")) status = wrong(function);
    return status;
}
