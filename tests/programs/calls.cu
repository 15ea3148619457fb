// Calls of the runtime beside what its documentation says of them.
#include <cstdint>
#include <cstring>

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

__device__ int variable;

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
    cudaStream_t stream;
    GIVES(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 77));
}

template <typename T> static T range_attribute(cudaMemRangeAttribute attribute, const void *pointer, size_t nbytes) {
    T value;
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, pointer, nbytes));
    return value;
}

static void managed_ranges() {
    enum { PAGE = 4096, NBYTES = 8 * PAGE };
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
    CHECK(cudaMemPrefetchBatchAsync(ranges, sizes, 3, locations, firsts, 2, 0, 0));
    HOLDS(range_attribute<int>(cudaMemRangeAttributeLastPrefetchLocation, bytes, 2 * PAGE) == cudaCpuDeviceId);
    HOLDS(range_attribute<int>(cudaMemRangeAttributeLastPrefetchLocation, bytes + 2 * PAGE, 6 * PAGE) == 0);
    HOLDS(range_attribute<int>(cudaMemRangeAttributeLastPrefetchLocation, bytes, NBYTES) == cudaInvalidDeviceId);
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

int main() {
    launch_bounds();
    nowhere_to_put_a_result();
    managed_ranges();
    registered();
    return wrong != 0;
}
