// Modes of modes.cu with several devices: `warpfold run --gpus 3 modes NAME`.
#include <thread>

__device__ int device_counter = 10; // of each device

__global__ void count_up(int *result) { *result = atomicAdd(&device_counter, 1) + managed_sum; }
__global__ void add_from(const int *from, int *to) { to[threadIdx.x] += from[threadIdx.x]; }

static const int DEVICES = 3;

#define EXPECT(condition)                                                                                          \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            printf("line %d: %s\n", __LINE__, #condition);                                                         \
            return 8;                                                                                              \
        }                                                                                                          \
    } while (0)

static void fill_on(int device, int **data, int first) {
    std::vector<int> host(32);
    for (int i = 0; i < 32; i++) host[i] = first + i;
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc(data, 32 * sizeof(int)));
    CHECK(cudaMemcpy(*data, host.data(), 32 * sizeof(int), cudaMemcpyHostToDevice));
}

/* Every thread of the host has its device, and each device its variables. */
static int mode_threads() {
    int results[DEVICES], last, device, count;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count == DEVICES);
    CHECK(cudaSetDevice(1));
    std::vector<std::thread> threads;
    for (int d = 0; d < DEVICES; d++)
        threads.emplace_back([d, &results] {
            int *result, before;
            CHECK(cudaGetDevice(&before));
            CHECK(cudaSetDevice(d));
            CHECK(cudaMalloc(&result, sizeof(int)));
            for (int i = 0; i <= d; i++) count_up<<<1, 1>>>(result);
            CHECK(cudaMemcpy(&results[d], result, sizeof(int), cudaMemcpyDeviceToHost));
            CHECK(cudaFree(result));
            results[d] += 100 * before;
        });
    for (auto &thread : threads) thread.join();
    CHECK(cudaGetDevice(&device));
    CHECK(cudaMemcpyFromSymbol(&last, device_counter, sizeof last));
    printf("%d %d %d, %d on %d\n", results[0], results[1], results[2], last, device);
    return 0;
}

static int mode_peers() {
    int *data[DEVICES], host[32], can, device;
    size_t available[DEVICES], total;
    cudaStream_t stream;
    cudaEvent_t event;
    cudaPointerAttributes attributes;
    for (int d = 0; d < DEVICES; d++) {
        fill_on(d, &data[d], 100 * d);
        CHECK(cudaPointerGetAttributes(&attributes, data[d] + 3));
        EXPECT(attributes.device == d);
    }
    for (int d = 0; d < DEVICES; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMemGetInfo(&available[d], &total));
        EXPECT(available[d] == total - 128);
    }
    CHECK(cudaDeviceCanAccessPeer(&can, 0, 2));
    EXPECT(can);
    CHECK(cudaDeviceCanAccessPeer(&can, 1, 1));
    EXPECT(!can && cudaDeviceCanAccessPeer(&can, 0, 3) == cudaErrorInvalidDevice);
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    printf("%s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(1, 0)));
    printf("%s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(0, 0)));
    printf("%s\n", cudaGetErrorName(cudaDeviceDisablePeerAccess(2)));
    printf("%s\n", cudaGetErrorName(cudaDeviceDisablePeerAccess(0)));
    printf("%s\n", cudaGetErrorName(cudaMemcpyPeer(data[1], 1, data[2], 99, 0)));
    printf("%s\n", cudaGetErrorName(cudaMemcpyPeer(data[1], 1, data[2], 99, 4)));
    add_from<<<1, 32, 0, stream>>>(data[1], data[0]); // 100 + 2 i
    CHECK(cudaMemcpyPeerAsync(data[1], 1, data[2], 2, 128, stream));
    printf("%s\n", cudaGetErrorName(cudaMemcpyPeer(data[1], 2, data[2], 2, 128)));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host, data[0], 128, cudaMemcpyDefault));
    for (int i = 0; i < 32; i++) EXPECT(host[i] == 100 + 2 * i);
    CHECK(cudaMemcpyPeer(data[2], 2, data[0], 0, 64));
    CHECK(cudaSetDevice(1));
    CHECK(cudaMemcpy(host, data[1], 128, cudaMemcpyDefault));
    for (int i = 0; i < 32; i++) EXPECT(host[i] == 200 + i);
    store<<<1, 1, 0, stream>>>(data[1], 0); // a stream of another device's
    printf("%s\n", cudaGetErrorName(cudaGetLastError()));
    printf("%s\n", cudaGetErrorName(cudaEventRecord(event)));
    cudaGetLastError();
    CHECK(cudaStreamGetDevice(stream, &device));
    EXPECT(device == 0);
    CHECK(cudaSetDevice(2));
    CHECK(cudaMemcpy(host, data[2], 128, cudaMemcpyDefault));
    for (int i = 0; i < 32; i++) EXPECT(host[i] == (i < 16 ? 100 + 2 * i : 200 + i));
    CHECK(cudaDeviceReset()); // this one's memory alone
    CHECK(cudaMemcpy(host, data[1], 128, cudaMemcpyDefault));
    EXPECT(cudaFree(data[2]) == cudaErrorInvalidValue);
    for (int d = 0; d < 2; d++) CHECK(cudaFree(data[d]));
    return 0;
}

/* A kernel may not access another device's memory without being told so; that breaks its own device alone. */
static int mode_foreign() {
    int *data[2];
    for (int d = 0; d < 2; d++) fill_on(d, &data[d], 0);
    CHECK(cudaDeviceEnablePeerAccess(0, 0)); // the other direction
    add_from<<<1, 32>>>(data[0], data[1]);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(0));
    add_from<<<1, 32>>>(data[1], data[0]);
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    CHECK(cudaSetDevice(1));
    CHECK(cudaDeviceSynchronize());
    for (int d = 0; d < 2; d++) CHECK(cudaFree(data[d]));
    return 0;
}

static uint64_t of_pool(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
    uint64_t value = 0;
    CHECK(cudaMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

/* Pools count what is theirs, and open it to the devices that they are told. */
static int mode_pools() {
    cudaMemPoolProps properties = {};
    cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
    cudaMemPool_t usual, pool, other;
    cudaMemAccessFlags flags;
    int *data, *more, *own;
    uint64_t number = 4096;
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    properties.maxSize = 1 << 20;
    CHECK(cudaDeviceGetDefaultMemPool(&usual, 0));
    CHECK(cudaMemPoolCreate(&pool, &properties));
    CHECK(cudaDeviceSetMemPool(0, pool));
    CHECK(cudaDeviceGetMemPool(&other, 0));
    EXPECT(other == pool && cudaDeviceSetMemPool(1, pool) == cudaErrorInvalidValue);
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &number));
    CHECK(cudaMallocAsync(&data, 4096, 0));
    CHECK(cudaMallocAsync(&more, 8192, 0));
    EXPECT(cudaMallocAsync(&own, 1 << 20, 0) == cudaErrorMemoryAllocation); // more than the pool may have
    CHECK(cudaMallocFromPoolAsync(&own, 256, usual, 0));
    EXPECT(of_pool(pool, cudaMemPoolAttrUsedMemCurrent) == 12288 && of_pool(usual, cudaMemPoolAttrUsedMemCurrent) == 256);
    CHECK(cudaFreeAsync(more, 0));
    EXPECT(of_pool(pool, cudaMemPoolAttrUsedMemCurrent) == 4096 && of_pool(pool, cudaMemPoolAttrUsedMemHigh) == 12288);
    EXPECT(of_pool(pool, cudaMemPoolAttrReservedMemCurrent) == 4096 && of_pool(pool, cudaMemPoolAttrReservedMemHigh) == 12288);
    EXPECT(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &number) == cudaErrorInvalidValue);
    EXPECT(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &(number = 0)) == cudaErrorInvalidValue);
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &number));
    EXPECT(of_pool(pool, cudaMemPoolAttrUsedMemHigh) == 4096);
    int reuse = 0;
    CHECK(cudaMemPoolSetAttribute(usual, cudaMemPoolReuseAllowOpportunistic, &reuse));
    CHECK(cudaMemPoolGetAttribute(usual, cudaMemPoolReuseAllowOpportunistic, &(reuse = 7)));
    EXPECT(reuse == 0 && cudaMemPoolGetAttribute((cudaMemPool_t)&reuse, cudaMemPoolAttrUsedMemHigh, &number) == cudaErrorInvalidValue);

    CHECK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    EXPECT(flags == cudaMemAccessFlagsProtNone);
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    EXPECT(flags == cudaMemAccessFlagsProtReadWrite);
    access.flags = (cudaMemAccessFlags)2;
    EXPECT(cudaMemPoolSetAccess(pool, &access, 1) == cudaErrorInvalidValue);
    access.location.id = 5;
    EXPECT(cudaMemPoolSetAccess(pool, &access, 1) == cudaErrorInvalidDevice);
    access = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtNone}; // its own
    EXPECT(cudaMemPoolSetAccess(pool, &access, 1) == cudaErrorInvalidDevice);
    store<<<1, 32>>>(data, 0);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&more, 128));
    CHECK(cudaMemset(more, 0, 128));
    add_from<<<1, 32>>>(data, more);
    CHECK(cudaDeviceSynchronize());
    access.location.id = 1;
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    add_from<<<1, 32>>>(data, more); // not any more
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    CHECK(cudaSetDevice(0));
    EXPECT(cudaMemPoolDestroy(usual) == cudaErrorInvalidValue);
    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaDeviceGetMemPool(&other, 0));
    EXPECT(other == usual && cudaMemPoolDestroy(pool) == cudaErrorInvalidValue);
    CHECK(cudaFree(data)); // which has outlived its pool
    CHECK(cudaFree(own));
    return 0;
}

/* It waits for a device that has nothing to do with it. */
static int mode_other_waited() {
    volatile int *data;
    CHECK(cudaMallocManaged((int **)&data, 128));
    store<<<1, 32>>>((int *)data, 0);
    CHECK(cudaSetDevice(1));
    CHECK(cudaDeviceSynchronize());
    int early = data[3];
    store<<<1, 32>>>((int *)data, 0);
    CHECK(cudaDeviceSynchronize());
    int right = data[3];
    CHECK(cudaFree((void *)data));
    return early != 7 || right != 7;
}
