// One program with many modes, so that it is compiled once: `modes NAME`.  Each checks its own results and prints them.
#include <cooperative_groups.h>
#include <cstring>
#include <cassert>
#include <functional>
#include <thread>
#include <vector>

#include "check.cuh"

template <class T> __global__ void add(const T *a, const T *b, T *sum, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sum[i] = a[i] + b[i];
}

template <int BLOCK> __global__ void reduce(const int *data, int *sum) {
    __shared__ int shared[BLOCK];
    int t = threadIdx.x;
    shared[t] = data[blockIdx.x * BLOCK + t];
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) shared[t] += shared[t + half];
    }
    if (t == 0) atomicAdd(sum, shared[0]);
}

__global__ void reverse_racing(int *data) {
    __shared__ int shared[64];
    shared[threadIdx.x] = data[threadIdx.x];
    data[threadIdx.x] = shared[63 - threadIdx.x]; // no __syncthreads() before it
}

__global__ void store(int *data, int index) { data[index + threadIdx.x] = 7; }
__global__ void load(const int *data, int *result) { result[threadIdx.x] = data[threadIdx.x] + 1; }
__global__ void say() { printf("thread %d of block %d, %s %.2f\n", threadIdx.x, blockIdx.x, "text", 1.5); }
__global__ void claim(int value) { assert(value == 3); }
__global__ void stop() { __trap(); }
__global__ void empty() {}
__global__ void forever(volatile int *flag) { while (!*flag) {} }
__global__ void counting(unsigned long long *count) { while (atomicAdd(count, 1) + 1) {} }

__global__ void dynamic(int *result) {
    extern __shared__ int shared[];
    shared[threadIdx.x] = threadIdx.x;
    __syncthreads();
    result[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

__global__ void columns(int *result) {
    __shared__ int tile[32][32];
    for (int y = threadIdx.y; y < 32; y += 8) tile[y][threadIdx.x] = y;
    __syncthreads();
    int sum = 0;
    for (int y = threadIdx.y; y < 32; y += 8) sum += tile[threadIdx.x][y]; // conflicts
    atomicAdd(result + threadIdx.x, sum);
}

__device__ int counter;
__constant__ int factors[4];
__managed__ int managed_sum = 5;
__global__ void symbols(int *result) {
    atomicAdd(&counter, 1);
    atomicAdd(&managed_sum, factors[threadIdx.x % 4]);
    if (threadIdx.x == 0) *result = factors[3];
}

__global__ void rounds(int *data, int *total) {
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = i;
    grid.sync();
    if (i == 0)
        for (unsigned long long k = 0; k < grid.size(); k++) *total += data[k];
}

static const int COUNT = 1000;

static int mode_add() {
    std::vector<float> a(COUNT, 1.5f), b(COUNT), sum(COUNT);
    float *d_a, *d_b, *d_sum;
    for (int i = 0; i < COUNT; i++) b[i] = (float)i;
    CHECK(cudaMalloc(&d_a, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&d_b, COUNT * sizeof(float)));
    CHECK(cudaMalloc(&d_sum, COUNT * sizeof(float)));
    CHECK(cudaMemcpy(d_a, a.data(), COUNT * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), COUNT * sizeof(float), cudaMemcpyHostToDevice));
    for (int i = 0; i < 3; i++) add<float><<<(COUNT + 255) / 256, 256>>>(d_a, d_b, d_sum, COUNT);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(sum.data(), d_sum, COUNT * sizeof(float), cudaMemcpyDefault));
    for (int i = 0; i < COUNT; i++)
        if (sum[i] != 1.5f + (float)i) return 1;
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_sum));
    return 0;
}

static int mode_reduce() {
    int *data, *sum, result, zero = 0, expected = 0;
    CHECK(cudaMallocHost(&data, 512 * sizeof(int)));
    CHECK(cudaMalloc(&sum, sizeof(int)));
    for (int i = 0; i < 512; i++) expected += data[i] = i * i % 77;
    CHECK(cudaMemcpy(sum, &zero, sizeof zero, cudaMemcpyHostToDevice));
    reduce<128><<<4, 128>>>(data, sum); // pinned memory, which the kernel reads where it is
    CHECK(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost));
    printf("%d\n", result);
    CHECK(cudaFreeHost(data));
    CHECK(cudaFree(sum));
    return result != expected;
}

static int mode_race() {
    int *data;
    CHECK(cudaMalloc(&data, 64 * sizeof(int)));
    CHECK(cudaMemset(data, 0, 64 * sizeof(int)));
    for (int i = 0; i < 2; i++) reverse_racing<<<1, 64>>>(data);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(data));
    return 0;
}

static int mode_bounds() {
    int *data;
    CHECK(cudaMalloc(&data, 64 * sizeof(int)));
    store<<<1, 32>>>(data, 40);
    CHECK(cudaGetLastError()); // the launch itself succeeds
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    printf("%s\n", cudaGetErrorName(cudaMalloc(&data, 4)));
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    store<<<1, 1>>>(data, 0); // does not run
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    return 4;
}

static int mode_freed() {
    int *data;
    CHECK(cudaMalloc(&data, 64 * sizeof(int)));
    CHECK(cudaFree(data));
    printf("%s\n", cudaGetErrorName(cudaFree(data)));
    printf("%s\n", cudaGetErrorName(cudaMemset(data, 0, 4)));
    store<<<1, 32>>>(data, 0);
    return cudaDeviceSynchronize() != cudaErrorIllegalAddress;
}

__global__ void flag_it(int *flag) { *flag = 1; }

static int mode_equal() {
    int *flag, value = 0;
    CHECK(cudaMalloc(&flag, sizeof *flag));
    flag_it<<<1, 64>>>(flag); // equal stores
    CHECK(cudaMemcpy(&value, flag, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(flag));
    return value != 1;
}

static int mode_unwritten() {
    int *data, *result;
    CHECK(cudaMalloc(&data, 32 * sizeof(int)));
    CHECK(cudaMalloc(&result, 32 * sizeof(int)));
    load<<<1, 32>>>(data, result);
    CHECK(cudaDeviceSynchronize()); // it goes on
    CHECK(cudaFree(data));
    CHECK(cudaFree(result));
    return 0;
}

/* All but one word is filled: from the second one on, then whole but for the last. */
static int mode_filled_but_one() {
    enum { COUNT = 1 << 16 };
    int *data, *result;
    CHECK(cudaMalloc(&result, 32 * sizeof(int)));
    for (int is_last = 0; is_last < 2; is_last++) {
        CHECK(cudaMalloc(&data, COUNT * sizeof(int)));
        CHECK(cudaMemset(data + !is_last, 1, (COUNT - 1) * sizeof(int)));
        load<<<1, 32>>>(is_last ? data + COUNT - 32 : data, result);
        CHECK(cudaMemset(is_last ? data + COUNT - 1 : data, 1, sizeof(int)));
        load<<<1, 32>>>(is_last ? data + COUNT - 32 : data, result); // now all of it is
        CHECK(cudaFree(data));
    }
    CHECK(cudaFree(result));
    return 0;
}

static int mode_leak() {
    void *pointer;
    CHECK(cudaMalloc(&pointer, 1000));
    CHECK(cudaMalloc(&pointer, 24));
    return 0;
}

static int mode_configurations() {
    void *arguments[] = {nullptr};
    empty<<<1, 1025>>>();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    empty<<<0, 32>>>();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    empty<<<dim3(1, 65536), 32>>>();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    empty<<<1, 32, 64 << 10>>>();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    printf("%s\n", cudaGetErrorName(cudaLaunchCooperativeKernel(empty, dim3(1 << 20), dim3(32), arguments)));
    printf("%s\n", cudaGetErrorName(cudaLaunchKernel((const void *)arguments, dim3(1), dim3(1), arguments)));
    cudaGetLastError();
    empty<<<1, 32>>>();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return 0;
}

static int mode_dynamic() {
    int *result, value;
    CHECK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60 << 10));
    CHECK(cudaMalloc(&result, 256 * sizeof(int)));
    dynamic<<<1, 256, 60 << 10>>>(result);
    CHECK(cudaMemcpy(&value, result + 1, sizeof value, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(result));
    return value != 254;
}

static int mode_columns() {
    int *result, values[32];
    CHECK(cudaMalloc(&result, sizeof values));
    CHECK(cudaMemset(result, 0, sizeof values));
    columns<<<1, dim3(32, 8)>>>(result);
    CHECK(cudaMemcpy(values, result, sizeof values, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(result));
    return values[3] != 32 * 3;
}

static int mode_symbols() {
    int values[] = {1, 2, 3, 4}, result, *d_result, *address;
    size_t nbytes;
    CHECK(cudaMemcpyToSymbol(factors, values, sizeof values));
    CHECK(cudaMalloc(&d_result, sizeof(int)));
    symbols<<<1, 32>>>(d_result);
    CHECK(cudaDeviceSynchronize());
    printf("%d", managed_sum);
    CHECK(cudaMemcpyFromSymbol(&result, counter, sizeof result));
    printf(" %d", result);
    CHECK(cudaMemcpy(&result, d_result, sizeof result, cudaMemcpyDeviceToHost));
    printf(" %d", result);
    CHECK(cudaGetSymbolSize(&nbytes, factors));
    CHECK(cudaGetSymbolAddress((void **)&address, factors));
    CHECK(cudaMemcpy(&result, address + 2, sizeof result, cudaMemcpyDeviceToHost));
    printf(" %zu %d", nbytes, result);
    load<<<1, 1>>>(&managed_sum, &managed_sum); // by its address
    CHECK(cudaDeviceSynchronize());
    printf(" %d\n", managed_sum);
    CHECK(cudaFree(d_result));
    return 0;
}

static int mode_managed() {
    int *data;
    CHECK(cudaMallocManaged(&data, COUNT * sizeof(int)));
    for (int i = 0; i < COUNT; i++) data[i] = i;
    add<int><<<4, 256>>>(data, data, data, COUNT);
    CHECK(cudaDeviceSynchronize());
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data + 5));
    bool is_right = data[999] == 1998 && attributes.type == cudaMemoryTypeManaged;
    CHECK(cudaFree(data));
    return !is_right;
}

static int mode_registered() {
    std::vector<int> data(64, 1);
    int *device;
    CHECK(cudaHostRegister(data.data(), 64 * sizeof(int), cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&device, data.data(), 0));
    store<<<1, 32>>>(device, 32);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaHostUnregister(data.data()));
    return data[31] != 1 || data[32] != 7 || data[63] != 7;
}

static int mode_copies() {
    const size_t width = 20, height = 5;
    unsigned char host[height][32], back[height][24];
    unsigned char *rows;
    size_t pitch;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < 32; x++) host[y][x] = (unsigned char)(y * 32 + x);
    memset(back, 0xee, sizeof back);
    CHECK(cudaMallocPitch(&rows, &pitch, width, height));
    CHECK(cudaMemset2D(rows, pitch, 0xaa, width, height));
    CHECK(cudaMemcpy2D(rows, pitch, host, 32, width - 2, height, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D(back, 24, rows, pitch, width, height, cudaMemcpyDeviceToHost));
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < 24; x++)
            if (back[y][x] != (x < 18 ? host[y][x] : x < 20 ? 0xaa : 0xee)) return 1;
    printf("%s\n", cudaGetErrorName(cudaMemcpy2D(rows, 4, host, 32, width, height, cudaMemcpyHostToDevice)));
    printf("%s\n", cudaGetErrorName(cudaMemcpy(rows, host, pitch * height + 1, cudaMemcpyHostToDevice)));
    printf("%s\n", cudaGetErrorName(cudaMemcpy(host, rows, 4, cudaMemcpyHostToDevice)));
    CHECK(cudaFree(rows));
    return 0;
}

static int mode_streams() {
    cudaStream_t stream;
    cudaEvent_t begin, end, other;
    int *data, host[32], calls = 0;
    float milliseconds, longer;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    CHECK(cudaMallocAsync(&data, 32 * sizeof(int), stream));
    CHECK(cudaEventRecord(begin, stream));
    store<<<1, 32, 0, stream>>>(data, 0);
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, [](void *calls) { ++*(int *)calls; }, &calls));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&longer, begin, end));
    CHECK(cudaEventRecord(other));
    printf("%s\n", cudaGetErrorName(cudaEventElapsedTime(&longer, begin, other)));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamDestroy(stream));
    printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(stream)));
    CHECK(cudaEventDestroy(begin));
    return !(host[31] == 7 && calls == 1 && milliseconds > 0 && longer > milliseconds);
}

static int mode_device() {
    cudaDeviceProp properties;
    int count, shared, blocks, least, best;
    size_t available, total;
    cudaFuncAttributes attributes;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaGetDeviceProperties(&properties, 0));
    CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(cudaMemGetInfo(&available, &total));
    CHECK(cudaFuncGetAttributes(&attributes, reduce<128>));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 1024, 0));
    CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &best, empty, 0, 0));
    printf("%d %s %d.%d %d %d %d %zu\n", count, properties.name, properties.major, properties.minor,
           properties.warpSize, shared, blocks, attributes.sharedSizeBytes);
    printf("%s\n", cudaGetErrorName(cudaSetDevice(1)));
    return !(available <= total && total == properties.totalGlobalMem && best >= 32 && best <= 1024);
}

static int mode_memory() {
    std::vector<void *> all;
    void *pointer;
    size_t available, total;
    CHECK(cudaMemGetInfo(&available, &total));
    while (cudaMalloc(&pointer, total / 4) == cudaSuccess) all.push_back(pointer);
    printf("%zu %s\n", all.size(), cudaGetErrorName(cudaGetLastError()));
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    for (void *one : all) CHECK(cudaFree(one));
    CHECK(cudaMalloc(&pointer, total / 2));
    CHECK(cudaFree(pointer));
    return 0;
}

static int mode_grid() {
    int *data, *total, host;
    CHECK(cudaMalloc(&data, 256 * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMemset(total, 0, sizeof(int)));
    void *arguments[] = {&data, &total};
    CHECK(cudaLaunchCooperativeKernel(rounds, dim3(8), dim3(32), arguments));
    CHECK(cudaMemcpy(&host, total, sizeof host, cudaMemcpyDeviceToHost));
    printf("%d\n", host);
    CHECK(cudaFree(data));
    CHECK(cudaFree(total));
    return 0;
}

static int mode_printf() {
    printf("before\n");
    say<<<2, 2>>>();
    CHECK(cudaDeviceSynchronize());
    printf("after\n");
    return 0;
}

static int mode_assert() {
    claim<<<1, 32>>>(4);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

/* The error stays: cudaGetLastError() does not end it, nor does cudaDeviceReset(). */
static int mode_trap() {
    int *data;
    CHECK(cudaMalloc(&data, sizeof *data));
    stop<<<1, 32>>>();
    printf("%s", cudaGetErrorName(cudaDeviceSynchronize()));
    for (int i = 0; i < 2; i++) printf(" %s", cudaGetErrorName(cudaGetLastError()));
    printf(" %s", cudaGetErrorName(cudaDeviceReset()));
    printf(" %s", cudaGetErrorName(cudaGetLastError()));
    printf(" %s", cudaGetErrorName(cudaMalloc(&data, sizeof *data)));
    empty<<<1, 1>>>();
    printf(" %s\n", cudaGetErrorName(cudaPeekAtLastError()));
    return 0;
}

/* Errors of other calls end when they are told, and are the thread's, whatever is reset. */
static int mode_passing_errors() {
    void *data;
    printf("%s", cudaGetErrorName(cudaMalloc(&data, (size_t)1 << 60)));
    for (int i = 0; i < 2; i++) printf(" %s", cudaGetErrorName(cudaGetLastError()));
    printf(" %s", cudaGetErrorName(cudaMalloc(&data, (size_t)1 << 60)));
    printf(" %s", cudaGetErrorName(cudaDeviceReset()));
    for (int i = 0; i < 2; i++) printf(" %s", cudaGetErrorName(cudaGetLastError()));
    printf(" %s\n", cudaGetErrorName(cudaMalloc(&data, 4)));
    CHECK(cudaFree(data));
    return 0;
}

static int mode_forever() {
    int *flag;
    CHECK(cudaMallocManaged(&flag, sizeof(int)));
    *flag = 0;
    forever<<<1, 1>>>(flag);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

static int mode_counting() {
    unsigned long long *count;
    CHECK(cudaMalloc(&count, sizeof *count));
    CHECK(cudaMemset(count, 0, sizeof *count));
    counting<<<1, 1>>>(count);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}

static int mode_many() {
    for (int i = 0; i < 5000; i++) empty<<<1, 1>>>();
    int *data;
    CHECK(cudaMallocManaged(&data, 128));
    data[3] = 1;
    CHECK(cudaFree(data));
    return 0;
}

static int mode_graph() {
    cudaStream_t stream, other;
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *data, host[32], calls = 0;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaMalloc(&data, sizeof host));
    CHECK(cudaMemset(data, 0, sizeof host));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 2; i++) { // the arguments of a launch are those of its time
        load<<<1, 32, 0, stream>>>(data, data);
        load<<<1, 1, 0, stream>>>(data + i, data + i);
    }
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork));
    CHECK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, other));
    CHECK(cudaMemsetAsync(data + 31, 0, sizeof(int), other));
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join));
    CHECK(cudaLaunchHostFunc(stream, [](void *calls) { ++*(int *)calls; }, &calls));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    printf("%d\n", calls);
    for (int i = 0; i < 5; i++) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("%d %d %d %d %d\n", calls, host[0], host[1], host[2], host[31]);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(data));
    return 0;
}

// What a graph cannot have ends its capture: nothing more is captured, and no graph results.
static int mode_invalidated() {
    cudaStream_t stream;
    cudaGraph_t graph = (cudaGraph_t)1;
    cudaStreamCaptureStatus status[3];
    int *data;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&data, sizeof(int)));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(data, 0, sizeof(int), stream));
    CHECK(cudaStreamIsCapturing(stream, &status[0]));
    printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(stream)));
    CHECK(cudaStreamIsCapturing(stream, &status[1]));
    printf("%s\n", cudaGetErrorName(cudaMemsetAsync(data, 0, sizeof(int), stream)));
    printf("%s\n", cudaGetErrorName(cudaStreamEndCapture(stream, &graph)));
    CHECK(cudaStreamIsCapturing(stream, &status[2]));
    printf("%d %d %d %d\n", status[0], status[1], status[2], !graph);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}

// What CUDA refuses while streams are captured, and that the capture then has no graph.
struct refusals {
    cudaStream_t blocking, apart, other;
    cudaEvent_t event;
    int *data;
};

static void during(cudaStream_t stream, cudaStreamCaptureMode mode, std::function<cudaError_t()> call) {
    cudaGraph_t graph;
    cudaError_t begun = cudaStreamBeginCapture(stream, mode), error = call(), ended = cudaStreamEndCapture(stream, &graph);
    cudaGetLastError();
    printf("%d %d %d\n", begun, error, ended);
    if (!ended) cudaGraphDestroy(graph);
}

static cudaError_t fork(const refusals &r, cudaStream_t from, cudaStream_t to) {
    cudaError_t error = cudaEventRecord(r.event, from);
    return error ? error : cudaStreamWaitEvent(to, r.event);
}

static int mode_refused_captures() {
    refusals r;
    void *more = NULL;
    int value;
    const auto global = cudaStreamCaptureModeGlobal, own = cudaStreamCaptureModeThreadLocal, relaxed = cudaStreamCaptureModeRelaxed;
    auto allocate = [&] { return cudaMalloc(&more, 4); };
    auto elsewhere = [](std::function<cudaError_t()> call) {
        cudaError_t error;
        std::thread([&] { error = call(); }).join();
        return error;
    };
    CHECK(cudaStreamCreate(&r.blocking));
    CHECK(cudaStreamCreateWithFlags(&r.apart, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&r.other, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&r.event));
    CHECK(cudaMalloc(&r.data, 4));
    CHECK(cudaMemset(r.data, 0, 4));
    during(r.blocking, global, allocate);
    during(r.apart, own, [&] { return cudaFree(r.data); });
    during(r.apart, global, [&] { return elsewhere(allocate); });
    during(r.apart, own, [&] { return elsewhere([&] { return cudaEventQuery(r.event); }); });
    during(r.apart, relaxed, [&] { return cudaEventQuery(r.event); });
    during(r.apart, global, [&] {
        cudaStreamCaptureMode mode = relaxed;
        cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);
        return error ? error : cudaEventQuery(r.event) ? cudaErrorUnknown : cudaThreadExchangeStreamCaptureMode(&mode);
    });
    during(r.apart, relaxed, [&] { return cudaDeviceSynchronize(); });
    during(r.blocking, relaxed, [&] { return cudaMemcpy(&value, r.data, 4, cudaMemcpyDeviceToHost); });
    during(r.blocking, relaxed, [&] { return cudaMemsetAsync(r.data, 0, 4, 0); });
    during(r.apart, relaxed, [&] { return cudaMemset(r.data, 0, 4); });
    during(r.apart, relaxed, [&] { return cudaEventRecord(r.event, r.other) ? cudaErrorUnknown : cudaStreamWaitEvent(r.apart, r.event); });
    during(r.apart, relaxed, [&] { return cudaEventRecord(r.event, r.apart) ? cudaErrorUnknown : cudaEventSynchronize(r.event); });
    during(r.apart, relaxed, [&] { return fork(r, r.apart, r.other) ? cudaErrorUnknown : cudaMemsetAsync(r.data, 0, 4, r.other); });
    during(r.apart, relaxed, [&] { return fork(r, r.apart, r.other); });
    during(r.apart, own, [&] { return elsewhere([&] { cudaGraph_t graph; return cudaStreamEndCapture(r.apart, &graph); }); });
    during(r.apart, relaxed, [&] {
        cudaGraph_t graph;
        return cudaStreamBeginCapture(r.other, relaxed) ? cudaErrorUnknown : fork(r, r.apart, r.other) != cudaErrorStreamCaptureMerge
            ? cudaErrorUnknown : cudaStreamEndCapture(r.other, &graph);
    });
    CHECK(cudaFree(r.data));
    return 0;
}

// An event from outside of the capture, which each launch of the graph waits for and records.
static int mode_external_events() {
    cudaStream_t stream;
    cudaEvent_t before, after;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t count;
    float time = -1;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    CHECK(cudaEventRecord(before, stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamWaitEvent(stream, before, cudaEventWaitExternal));
    CHECK(cudaEventRecordWithFlags(after, stream, cudaEventRecordExternal));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphGetNodes(graph, 0, &count));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventSynchronize(after));
    CHECK(cudaEventElapsedTime(&time, before, after));
    printf("%zu %d\n", count, time >= 0);
    return 0;
}

static int mode_absent() {
    for (int i = 0; i < 2; i++) printf("%s\n", cudaGetErrorName(cudaDestroyExternalMemory(nullptr)));
    return 0;
}

__global__ void number(int *data) { data[threadIdx.x] = threadIdx.x; }

/* What a program asks for, and uses. */
struct early {
    enum { COUNT = 2048 };
    int *managed, *pinned, *device;
    cudaStream_t stream, other;
    cudaEvent_t event;

    early() {
        CHECK(cudaMallocManaged(&managed, COUNT * sizeof(int)));
        CHECK(cudaMallocHost(&pinned, COUNT * sizeof(int)));
        CHECK(cudaMalloc(&device, COUNT * sizeof(int)));
        CHECK(cudaMemset(device, 1, COUNT * sizeof(int)));
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&event));
    }
    ~early() {
        CHECK(cudaStreamDestroy(stream));
        CHECK(cudaStreamDestroy(other));
        CHECK(cudaFree(managed));
        CHECK(cudaFreeHost(pinned));
        CHECK(cudaFree(device));
    }
    void launch() {
        number<<<1, 32, 0, stream>>>(managed);
        CHECK(cudaMemcpyAsync(pinned, device, COUNT * sizeof(int), cudaMemcpyDeviceToHost, stream));
    }
    int use() {
        volatile int *kernels = managed, *copied = pinned;
        return kernels[5] == 5 && copied[COUNT - 1] == 0x01010101 ? 0 : 1;
    }
};

static int mode_early() {
    early early;
    early.launch();
    int status = early.use();
    CHECK(cudaMemcpyAsync(early.device, early.pinned, 4096, cudaMemcpyHostToDevice, early.stream));
    early.pinned[1023]++; /* which may be copied before or after */
    CHECK(cudaStreamSynchronize(early.other));
    CHECK(cudaMemcpyAsync(early.pinned, early.device, 8192, cudaMemcpyDeviceToHost, early.stream));
    CHECK(cudaStreamSynchronize(early.other));
    return status + (early.pinned[0] != 0x01010101);
}

__global__ void count_atomically(int *counts) {
    atomicAdd(&counts[0], 1);
    atomicAdd_system(&counts[1], 1);
}

static int mode_early_atomics() {
    early early;
    volatile int *counts = early.managed;
    counts[0] = counts[1] = 0;
    count_atomically<<<1, 32, 0, early.stream>>>(early.managed);
    const int of_system = counts[1]; /* what the host may ask for */
    count_atomically<<<1, 32, 0, early.stream>>>(early.managed);
    const int of_device = counts[0];
    CHECK(cudaStreamSynchronize(early.stream));
    return of_system != 32 || of_device != 64 || counts[0] != 64;
}

__global__ void copy_words(const int *from, int *to) { to[threadIdx.x] = from[threadIdx.x]; }

/* Writes what a kernel reads, and reads what a copy writes while another reads it, and what is asked for in a stream that is no
 * more. */
static int mode_early_writes() {
    early early;
    cudaStream_t ended;
    for (int i = 0; i < 64; i++) early.managed[i] = i;
    copy_words<<<1, 32, 0, early.stream>>>(early.managed, early.device);
    int status = early.managed[7] != 7; /* which the kernel only reads */
    early.managed[7] = 8;
    CHECK(cudaMemcpyAsync(early.pinned, early.device, 4096, cudaMemcpyDeviceToHost, early.stream));
    CHECK(cudaMemcpyAsync(early.device, early.pinned, 4096, cudaMemcpyHostToDevice, early.stream));
    status += early.pinned[7] != 7;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamCreate(&ended));
    number<<<1, 32, 0, ended>>>(early.managed);
    CHECK(cudaStreamDestroy(ended));
    return status + (early.managed[31] != 31);
}

__managed__ int words[32];
__global__ void number_words() { words[threadIdx.x] = threadIdx.x; }

/* Reads what a kernel writes to pinned memory, what one writes to a managed variable, what a copy of rows and what a fill write; and
 * what lies between the rows. */
static int mode_early_others() {
    early early;
    volatile int *pinned = early.pinned, *managed = early.managed, *variable = words;
    number<<<1, 32, 0, early.stream>>>(early.pinned);
    int status = pinned[9] != 9;
    number_words<<<1, 32, 0, early.stream>>>();
    status += variable[9] != 9;
    CHECK(cudaMemcpy2DAsync(early.pinned, 128, early.device, 64, 64, 64, cudaMemcpyDeviceToHost, early.stream));
    status += pinned[1000] != 0x01010101; /* byte 32 of row 31 */
    CHECK(cudaMemcpy2DAsync(early.pinned, 128, early.device, 64, 64, 64, cudaMemcpyDeviceToHost, early.stream));
    status += pinned[1020] == -1; /* between two rows */
    CHECK(cudaMemsetAsync(early.managed, 2, early.COUNT * sizeof(int), early.stream));
    status += managed[100] != 0x02020202;
    int *passing;
    CHECK(cudaMallocAsync(&passing, 4096, early.stream));
    CHECK(cudaMemsetAsync(passing, 3, 4096, early.stream));
    CHECK(cudaMemcpyAsync(early.pinned, passing, 4096, cudaMemcpyDeviceToHost, early.stream));
    CHECK(cudaFreeAsync(passing, early.stream)); /* for which the host does not wait */
    status += pinned[5] != 0x03030303;
    CHECK(cudaStreamSynchronize(early.stream));
    return status;
}

__global__ void tell(int *data, volatile int *flag) {
    data[threadIdx.x] = 5;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
}

/* The host waits for a word. */
static int mode_told() {
    early early;
    volatile int *flag = early.managed + 1500;
    *flag = 0;
    tell<<<1, 32, 0, early.stream>>>(early.managed, flag);
    while (!*flag) {}
    const int status = early.managed[3] != 5;
    CHECK(cudaStreamSynchronize(early.stream));
    return status;
}

static int mode_waited() {
    early early;
    int status = 0, first;
    auto check = [&] { status = 2 * status + early.use(); };
    early.launch();
    CHECK(cudaStreamSynchronize(early.stream));
    check();
    early.launch();
    CHECK(cudaDeviceSynchronize());
    check();
    early.launch();
    CHECK(cudaEventRecord(early.event, early.stream));
    CHECK(cudaEventSynchronize(early.event));
    check();
    early.launch();
    CHECK(cudaEventRecord(early.event, early.stream));
    CHECK(cudaStreamWaitEvent(early.other, early.event));
    CHECK(cudaStreamSynchronize(early.other));
    check();
    early.launch();
    CHECK(cudaMemcpy(&first, early.device, sizeof first, cudaMemcpyDefault)); // which the stream's copy only loads
    check();
    early.launch();
    CHECK(cudaLaunchHostFunc(early.stream, [](void *data) { (*(decltype(check) *)data)(); }, &check));
    early.launch();
    early.managed[1000] = early.managed[40]; /* which the kernel has not to do with */
    CHECK(cudaStreamQuery(early.stream));
    check();
    return status;
}

/* grid.sync() in a launch that is not cooperative. */
static int mode_grid_alone() {
    int *data;
    CHECK(cudaMalloc(&data, 64 * sizeof *data));
    rounds<<<2, 32>>>(data, data);
    return cudaDeviceSynchronize() != cudaErrorLaunchFailure;
}

#include "devices.cuh"
#include "graphs.cuh"

static int mode_status() { return 5; }
static int mode_crash() { abort(); }

// Errors that nobody looks at, but one.
static int mode_unasked() {
    int host[8] = {}, *memory;
    cudaMalloc(&memory, 16);
    cudaMemcpy(memory + 1, host, 32, cudaMemcpyHostToDevice);
    for (int i = 0; i < 3; i++) cudaMemcpy(host, memory, 16, cudaMemcpyHostToDevice);
    store<<<1, 2048>>>(memory, 0);
    store<<<1, 4, 60000>>>(memory, 0);
    empty<<<1, 2000>>>();
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    cudaFree(memory);
    store<<<1, 4>>>(host, 0); // memory of the host
    cudaDeviceSynchronize();
    return 0;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)();
    } modes[] = {
#define MODE(name) {#name, mode_##name}
        MODE(add),      MODE(reduce),  MODE(race),   MODE(bounds),     MODE(freed),  MODE(unwritten), MODE(leak), MODE(equal),
        MODE(symbols),  MODE(managed), MODE(copies), MODE(streams),    MODE(device), MODE(memory),    MODE(grid),
        MODE(printf),   MODE(assert), MODE(trap), MODE(passing_errors),  MODE(status), MODE(registered), MODE(crash),  MODE(forever),   MODE(many),
        MODE(counting), MODE(early),   MODE(waited), MODE(early_atomics), MODE(early_writes), MODE(told), MODE(early_others), MODE(grid_alone), MODE(filled_but_one),
        MODE(dynamic),  MODE(columns), MODE(absent),  MODE(graph),    MODE(configurations),
        MODE(threads),  MODE(peers),   MODE(pools),   MODE(foreign), MODE(other_waited), MODE(nodes), MODE(captured_rows),
        MODE(cloned),
        MODE(within),
        MODE(any_nodes),
        MODE(event_nodes),
        MODE(invalidated), MODE(refused_captures), MODE(external_events),
        MODE(unasked),
    };
    for (const auto &mode : modes)
        if (argc > 1 && !strcmp(argv[1], mode.name)) return mode.run();
    for (int i = 1; i < argc; i++) printf("%s\n", argv[i]);
    return 0;
}
