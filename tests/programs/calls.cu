// Calls of the runtime beside what its documentation says of them.
#include <cstdint>
#include <cstring>
#include <unistd.h>

#include "check.cuh"

static int wrong;

#define GIVES(expected, call)                                                                                      \
    do {                                                                                                           \
        cudaError_t error = (call);                                                                                \
        cudaGetLastError();                                                                                        \
        if (error != (expected)) {                                                                                 \
            printf("%d: %s: %s, not %s\n", __LINE__, #call, cudaGetErrorName(error), cudaGetErrorName(expected));  \
            wrong++;                                                                                               \
        }                                                                                                          \
    } while (0)
#define HOLDS(condition)                                                                                           \
    do {                                                                                                           \
        if (!(condition)) printf("%d: not %s\n", __LINE__, #condition), wrong++;                                   \
    } while (0)

__device__ int variable, initial[2] = {7, 8}, *pointer = initial + 1;

__global__ void unbounded(int *out) { out[threadIdx.x] = 1; }
__global__ void __launch_bounds__(128, 2) bounded(int *out) { out[threadIdx.x] = 2; }

static void launch_bounds() {
    int *out, kept[128], blocks, block;
    cudaFuncAttributes attributes;
    CHECK(cudaMalloc(&out, 256 * sizeof *out));
    unbounded<<<1, 256>>>(out);
    bounded<<<1, 129>>>(out); // nothing of it is executed
    GIVES(cudaErrorInvalidValue, cudaGetLastError());
    CHECK(cudaMemcpy(kept, out, sizeof kept, cudaMemcpyDeviceToHost));
    HOLDS(kept[0] == 1 && kept[127] == 1);
    bounded<<<1, dim3(4, 4, 8)>>>(out);
    CHECK(cudaMemcpy(kept, out, sizeof kept, cudaMemcpyDeviceToHost));
    HOLDS(kept[0] == 2 && kept[4] == 1);
    CHECK(cudaFuncGetAttributes(&attributes, bounded));
    HOLDS(attributes.maxThreadsPerBlock == 128);
    CHECK(cudaFuncGetAttributes(&attributes, unbounded));
    HOLDS(attributes.maxThreadsPerBlock == 1024);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 160, 0));
    HOLDS(blocks == 0);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&blocks, &block, bounded));
    HOLDS(block == 128);
    CHECK(cudaFuncSetAttribute(unbounded, cudaFuncAttributePreferredSharedMemoryCarveout, 75));
    CHECK(cudaFuncGetAttributes(&attributes, unbounded));
    HOLDS(attributes.preferredShmemCarveout == 75);
    GIVES(cudaErrorInvalidValue, cudaFuncSetAttribute(unbounded, (cudaFuncAttribute)77, 1));
    CHECK(cudaFree(out));
}

static void nowhere_to_put_a_result() {
    size_t nbytes;
    void *pointer;
    char bus[12];
    GIVES(cudaErrorInvalidValue, cudaGetDeviceProperties(nullptr, 0));
    GIVES(cudaErrorInvalidValue, cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0));
    GIVES(cudaErrorInvalidValue, cudaDeviceGetLimit(nullptr, cudaLimitStackSize));
    GIVES(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(bus, sizeof bus, 0)); // "0000:01:00.0" and a NUL
    GIVES(cudaErrorInvalidValue, cudaMemGetInfo(&nbytes, nullptr));
    GIVES(cudaErrorInvalidValue, cudaMallocPitch(&pointer, nullptr, 4, 4));
    GIVES(cudaErrorInvalidValue, cudaMalloc3D(nullptr, make_cudaExtent(4, 4, 4)));
    GIVES(cudaErrorInvalidValue, cudaPointerGetAttributes(nullptr, &nbytes));
    GIVES(cudaErrorInvalidValue, cudaGetSymbolAddress(nullptr, variable));
    GIVES(cudaErrorInvalidValue, cudaGetSymbolSize(nullptr, variable));
    GIVES(cudaErrorInvalidValue, cudaFuncGetAttributes(nullptr, unbounded));
    GIVES(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, unbounded, 64, 0));
    GIVES(cudaErrorInvalidValue, cudaStreamCreate(nullptr));
    GIVES(cudaErrorInvalidValue, cudaStreamGetPriority(nullptr, nullptr));
    GIVES(cudaErrorInvalidValue, cudaLaunchHostFunc(nullptr, nullptr, nullptr));
    GIVES(cudaErrorInvalidValue, cudaEventCreate(nullptr));
    GIVES(cudaErrorInvalidValue, cudaMemcpy3D(nullptr));
}

static void flags() {
    cudaStream_t stream;
    cudaEvent_t event;
    void *pointer;
    GIVES(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 77));
    GIVES(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x1000));
    GIVES(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess)); // with timing
    GIVES(cudaErrorInvalidValue, cudaHostAlloc(&pointer, 4, 0x100));
    GIVES(cudaErrorInvalidValue, cudaMallocManaged(&pointer, 4, 77));
}

template <typename T> static T range_attribute(cudaMemRangeAttribute attribute, const void *pointer, size_t nbytes) {
    T value;
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, pointer, nbytes));
    return value;
}

enum { PAGE = 4096 };

// Nobody can rely on what was discarded: it is not what was there.
static void discards(char *bytes, void **ranges, size_t *sizes, cudaMemLocation *locations) {
    size_t first = 0;
    for (size_t i = 0; i < 2 * PAGE; i++) bytes[i] = 1;
    GIVES(cudaErrorInvalidValue, cudaMemDiscardBatchAsync(ranges, sizes, 1, 0, 0));
    GIVES(cudaErrorInvalidValue, cudaMemDiscardBatchAsync(ranges, sizes, 1, 1, cudaStreamPerThread));
    HOLDS(bytes[0] == 1);
    CHECK(cudaMemDiscardBatchAsync(ranges, sizes, 1, 0, cudaStreamPerThread));
    HOLDS(bytes[0] != 1 && bytes[PAGE - 1] != 1 && bytes[PAGE] == 1);
    CHECK(cudaMemDiscardAndPrefetchBatchAsync(ranges, sizes, 2, locations + 1, &first, 1, 0, cudaStreamPerThread));
    HOLDS(bytes[PAGE] != 1);
    HOLDS(range_attribute<int>(cudaMemRangeAttributeLastPrefetchLocation, bytes, 2 * PAGE) == 0);
}

static void managed_ranges() {
    enum { NBYTES = 8 * PAGE };
    struct two { int first, second; };
    const cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
    const cudaMemLocation other = {cudaMemLocationTypeDevice, 1};
    char *bytes;
    CHECK(cudaMallocManaged(&bytes, NBYTES));
    HOLDS(range_attribute<int>(cudaMemRangeAttributePreferredLocation, bytes, NBYTES) == cudaInvalidDeviceId);
    CHECK(cudaMemAdvise(bytes, NBYTES, cudaMemAdviseSetPreferredLocation, device));
    CHECK(cudaMemAdvise(bytes, 4 * PAGE, cudaMemAdviseSetReadMostly, device));
    CHECK(cudaMemAdvise(bytes, NBYTES, cudaMemAdviseSetAccessedBy, host));
    CHECK(cudaMemAdvise(bytes, PAGE, cudaMemAdviseSetAccessedBy, device));
    HOLDS(range_attribute<int>(cudaMemRangeAttributePreferredLocation, bytes, NBYTES) == 0);
    HOLDS(range_attribute<int>(cudaMemRangeAttributePreferredLocationType, bytes, NBYTES) == cudaMemLocationTypeDevice);
    HOLDS(range_attribute<int>(cudaMemRangeAttributeReadMostly, bytes, 4 * PAGE) == 1);
    HOLDS(range_attribute<int>(cudaMemRangeAttributeReadMostly, bytes, 4 * PAGE + 1) == 0); // not all of it
    two accessed = range_attribute<two>(cudaMemRangeAttributeAccessedBy, bytes, PAGE);
    HOLDS(accessed.first == cudaCpuDeviceId && accessed.second == 0);
    accessed = range_attribute<two>(cudaMemRangeAttributeAccessedBy, bytes, NBYTES);
    HOLDS(accessed.first == cudaCpuDeviceId && accessed.second == cudaInvalidDeviceId);
    void *ranges[] = {bytes, bytes + PAGE, bytes + 2 * PAGE};
    size_t sizes[] = {PAGE, PAGE, 6 * PAGE}, firsts[] = {0, 2};
    cudaMemLocation locations[] = {host, device};
    GIVES(cudaErrorInvalidValue, cudaMemPrefetchBatchAsync(ranges, sizes, 3, locations, firsts, 2, 0, 0)); // no stream for it
    CHECK(cudaMemPrefetchBatchAsync(ranges, sizes, 3, locations, firsts, 2, 0, cudaStreamPerThread));
    HOLDS(range_attribute<int>(cudaMemRangeAttributeLastPrefetchLocation, bytes, 2 * PAGE) == cudaCpuDeviceId);
    HOLDS(range_attribute<int>(cudaMemRangeAttributeLastPrefetchLocation, bytes + 2 * PAGE, 6 * PAGE) == 0);
    HOLDS(range_attribute<int>(cudaMemRangeAttributeLastPrefetchLocation, bytes, NBYTES) == cudaInvalidDeviceId);
    discards((char *)bytes, ranges, sizes, locations);
    CHECK(cudaMemAdvise(bytes, PAGE, cudaMemAdviseUnsetAccessedBy, device));
    HOLDS(range_attribute<two>(cudaMemRangeAttributeAccessedBy, bytes, PAGE).second == cudaInvalidDeviceId);
    GIVES(cudaErrorInvalidDevice, cudaMemAdvise(bytes, PAGE, cudaMemAdviseSetPreferredLocation, other));
    GIVES(cudaErrorInvalidValue, cudaMemAdvise(bytes, PAGE, (cudaMemoryAdvise)7, device));
    GIVES(cudaErrorInvalidValue, cudaMemAdvise(bytes, NBYTES + 1, cudaMemAdviseSetReadMostly, device));
    CHECK(cudaFree(bytes));
}

// The program's memory by its address on the device.
static void registered() {
    static uint32_t words[1024], given[4] = {1, 2, 3, 4}, taken[4];
    uint32_t *device;
    CHECK(cudaHostRegister(words, sizeof words, cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&device, words, 0));
    CHECK(cudaMemset(device, 7, sizeof words));
    HOLDS(words[0] == 0x07070707 && words[1023] == 0x07070707);
    CHECK(cudaMemcpy(device + 4, given, sizeof given, cudaMemcpyHostToDevice));
    HOLDS(!memcmp(words + 4, given, sizeof given));
    CHECK(cudaMemcpy(taken, device + 4, sizeof taken, cudaMemcpyDeviceToHost));
    HOLDS(!memcmp(taken, given, sizeof given));
    GIVES(cudaErrorInvalidValue, cudaMemset(device, 0, sizeof words + 1));
    CHECK(cudaHostUnregister(words));
}

static void clusters() {
    int *out;
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute;
    CHECK(cudaMalloc(&out, 32 * sizeof *out));
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {16, 1, 1};
    config.gridDim = dim3(16);
    config.blockDim = dim3(1);
    config.attrs = &attribute;
    config.numAttrs = 1;
    GIVES(cudaErrorInvalidClusterSize, cudaLaunchKernelEx(&config, unbounded, out)); // more than 8 must be allowed
    CHECK(cudaFuncSetAttribute(unbounded, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    CHECK(cudaLaunchKernelEx(&config, unbounded, out));
    CHECK(cudaFree(out));
}

static void batch() {
    enum { HALF = 512, NBYTES = HALF * sizeof(int) };
    int *device, *host;
    cudaStream_t stream;
    cudaMemcpyAttributes attributes = {};
    CHECK(cudaMalloc(&device, 2 * NBYTES));
    CHECK(cudaMallocHost(&host, 2 * NBYTES));
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < 2 * HALF; i++) host[i] = i;
    void *to[] = {device + HALF, device};
    const void *from[] = {host, host + HALF};
    size_t sizes[] = {NBYTES, NBYTES}, first = 0, beyond = 1;
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, device, 2 * NBYTES, cudaMemcpyDefault));
    HOLDS(host[0] == HALF && host[HALF] == 0);
    GIVES(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, nullptr));
    GIVES(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &beyond, 1, stream));
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream));
    host[0] = 7; // it was read
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    GIVES(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, sizes, 2, &attributes, &first, 1, stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
}

// A box of a plain row-major block into the middle of an array, and from there back, tightly packed; the rows are longer
// than what is copied, and so are the layers.
static void batch_of_planes() {
    enum { ROW = 10, ROWS = 7, LAYERS = 3, X = 4, Y = 3, Z = 2 };
    static short host[LAYERS][ROWS][ROW], back[Z][Y][X];
    cudaChannelFormatDesc format = cudaCreateChannelDesc<short>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(8, 6, 4)));
    for (int i = 0; i < LAYERS * ROWS * ROW; i++) (&host[0][0][0])[i] = (short)i;
    cudaMemcpy3DBatchOp in = {}, out = {};
    in.src.type = out.dst.type = cudaMemcpyOperandTypePointer;
    in.dst.type = out.src.type = cudaMemcpyOperandTypeArray;
    in.src.op.ptr = {&host[1][2][5], ROW, ROWS, {}};
    in.dst.op.array = {array, {3, 2, 1}};
    out.src.op.array = in.dst.op.array;
    out.dst.op.ptr = {back, 0, 0, {}};
    in.extent = out.extent = make_cudaExtent(X, Y, Z);
    in.srcAccessOrder = out.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    cudaMemcpy3DBatchOp bad[] = {in, out};
    CHECK(cudaMemcpy3DBatchAsync(1, &in, 0, cudaStreamPerThread));
    CHECK(cudaMemcpy3DBatchAsync(1, &out, 0, cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    for (int z = 0; z < Z; z++)
        for (int y = 0; y < Y; y++)
            for (int x = 0; x < X; x++) HOLDS(back[z][y][x] == host[1 + z][2 + y][5 + x]);
    bad[1].src.op.array.offset.z = 3; // of 4 layers
    bad[0].dst.op.array.offset.x = 0;
    GIVES(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(2, bad, 0, cudaStreamPerThread));
    bad[0].src.op.ptr.rowLength = X - 1;
    GIVES(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(1, bad, 0, cudaStreamPerThread));
    in.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    GIVES(cudaErrorInvalidValue, cudaMemcpy3DBatchAsync(1, &in, 0, cudaStreamPerThread));
    CHECK(cudaFreeArray(array));
}

static void count(void *destroyed) { ++*(int *)destroyed; }

// A graph, its clone and what was made of it each hold the object.
static void user_objects() {
    int destroyed = 0;
    cudaUserObject_t object;
    cudaGraph_t graph, clone;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaGraphInstantiateParams params = {};
    unsigned long long flags = 0;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
    CHECK(cudaUserObjectCreate(&object, &destroyed, count, 2, cudaUserObjectNoDestructorSync));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CHECK(cudaUserObjectRelease(object, 1)); // none is the program's any longer
    CHECK(cudaGraphClone(&clone, graph));
    params.flags = cudaGraphInstantiateFlagAutoFreeOnLaunch;
    CHECK(cudaGraphInstantiateWithParams(&exec, graph, &params));
    CHECK(cudaGraphExecGetFlags(exec, &flags));
    HOLDS(params.result_out == cudaGraphInstantiateSuccess && flags == cudaGraphInstantiateFlagAutoFreeOnLaunch);
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphExecDestroy(exec));
    HOLDS(destroyed == 0);
    GIVES(cudaErrorInvalidValue, cudaGraphReleaseUserObject(clone, object, 2));
    CHECK(cudaGraphReleaseUserObject(clone, object, 1));
    HOLDS(destroyed == 1);
    CHECK(cudaGraphDestroy(clone));
    GIVES(cudaErrorInvalidValue, cudaUserObjectCreate(&object, &destroyed, count, 1, 0));
}

static void libraries() {
    static const char text[] = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .global .align 4 .u32 added = 5;\n"
                               ".visible .entry add(.param .u32 a, .param .u64 p) {\n.reg .b64 %q; .reg .b32 %r<3>;\n"
                               "ld.param.u64 %q, [p]; ld.param.u32 %r0, [a]; ld.global.u32 %r1, [added]; add.u32 %r2, %r0, %r1;"
                               "st.global.u32 [%q], %r2; ret; }\n";
    cudaLibrary_t library;
    cudaKernel_t kernel;
    unsigned kernels = 0;
    size_t nbytes = 0, offset = 0;
    void *added;
    int *out, given = 30, seven = 7, sum = 0;
    void *arguments[] = {&given, &out};
    CHECK(cudaMalloc(&out, sizeof *out));
    CHECK(cudaLibraryLoadData(&library, text, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernelCount(&kernels, library));
    CHECK(cudaLibraryGetKernel(&kernel, library, "add"));
    CHECK(cudaFuncGetParamInfo(kernel, 1, &offset, &nbytes));
    HOLDS(kernels == 1 && offset == 8 && nbytes == 8);
    GIVES(cudaErrorInvalidValue, cudaFuncGetParamInfo(kernel, 2, &offset, &nbytes));
    CHECK(cudaLibraryGetGlobal(&added, &nbytes, library, "added"));
    CHECK(cudaMemcpy(added, &seven, sizeof seven, cudaMemcpyDefault));
    CHECK(cudaLaunchKernel((void *)kernel, dim3(1), dim3(1), arguments, 0, 0));
    CHECK(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDefault));
    HOLDS(nbytes == 4 && sum == 37);
    GIVES(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "other"));
    CHECK(cudaLibraryUnload(library));
    CHECK(cudaFree(out));
}

static void processes() {
    cudaIpcMemHandle_t handle;
    cudaIpcEventHandle_t told;
    cudaEvent_t event, plain, opened;
    int *memory, *pinned, ends[2];
    void *pointer;
    CHECK(cudaMalloc(&memory, 64));
    CHECK(cudaMallocHost(&pinned, 64));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    CHECK(cudaEventCreate(&plain));
    CHECK(cudaIpcGetMemHandle(&handle, memory));
    CHECK(cudaIpcGetEventHandle(&told, event));
    GIVES(cudaErrorDeviceUninitialized, cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess));
    GIVES(cudaErrorDeviceUninitialized, cudaIpcOpenEventHandle(&opened, told));
    GIVES(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, pinned));
    GIVES(cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&told, plain));
    GIVES(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&pointer, handle, 0));
    GIVES(cudaErrorInvalidValue, cudaIpcCloseMemHandle(memory));
    if (pipe(ends)) wrong++;
    if (!fork()) _exit(cudaIpcGetMemHandle(&handle, memory) || write(ends[1], &handle, sizeof handle) != sizeof handle);
    HOLDS(read(ends[0], &handle, sizeof handle) == sizeof handle);
    GIVES(cudaErrorNotSupported, cudaIpcOpenMemHandle(&pointer, handle, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaEventDestroy(plain));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(memory));
}

static void graph_as_text() {
    cudaGraph_t graph;
    cudaGraphNode_t fill, launch;
    int *out;
    char path[] = "/tmp/warpfold-graph-XXXXXX", text[500] = "";
    const int file = mkstemp(path);
    CHECK(cudaMalloc(&out, 128));
    cudaMemsetParams filling = {out, 0, 0, 4, 32, 1};
    void *arguments[] = {&out};
    cudaKernelNodeParams launching = {(void *)unbounded, dim3(1), dim3(32), 0, arguments, nullptr};
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &filling));
    CHECK(cudaGraphAddKernelNode(&launch, graph, &fill, 1, &launching));
    CHECK(cudaGraphDebugDotPrint(graph, path, 0));
    HOLDS(file >= 0 && read(file, text, sizeof text - 1) > 0);
    HOLDS(!strncmp(text, "digraph", 7) && strstr(text, "label=\"kernel _Z9unboundedPi\"") && strstr(text, "\"0\" -> \"1\""));
    GIVES(cudaErrorOperatingSystem, cudaGraphDebugDotPrint(graph, "/no/such/folder/graph", 0));
    GIVES(cudaErrorInvalidValue, cudaGraphDebugDotPrint(nullptr, path, 0));
    close(file), unlink(path);
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(out));
}

__global__ void through_pointer(int value) { *pointer = value; }

/* Its modules are loaded again. */
static void reset() {
    int nine = 9, got[2], *nowhere = nullptr;
    through_pointer<<<1, 1>>>(nine);
    CHECK(cudaMemcpyFromSymbol(got, initial, sizeof got));
    HOLDS(got[0] == 7 && got[1] == 9);
    CHECK(cudaMemcpyToSymbol(initial, &nine, sizeof nine));
    CHECK(cudaMemcpyToSymbol(pointer, &nowhere, sizeof nowhere));
    CHECK(cudaDeviceReset());
    CHECK(cudaMemcpyFromSymbol(got, initial, sizeof got));
    HOLDS(got[0] == 7 && got[1] == 8);
    through_pointer<<<1, 1>>>(3);
    CHECK(cudaMemcpyFromSymbol(got, initial, sizeof got));
    HOLDS(got[0] == 7 && got[1] == 3);
}

int main() {
    clusters();
    batch();
    batch_of_planes();
    user_objects();
    libraries();
    processes();
    launch_bounds();
    nowhere_to_put_a_result();
    flags();
    managed_ranges();
    registered();
    graph_as_text();
    reset();
    return wrong != 0;
}
