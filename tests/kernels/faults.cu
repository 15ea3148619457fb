// Each kernel has one fault, on the line that says so.  All get a buffer of 64 ints.
#ifndef __CUDACC_RTC__ // which knows assert by itself
#include <assert.h>
#endif

extern "C" __global__ void past_the_end(int *data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i + 1] = i; // fault: past_the_end
}

extern "C" __global__ void before_the_beginning(int *data) {
    int i = threadIdx.x;
    data[i] = data[i - 3]; // fault: before_the_beginning
}

extern "C" __global__ void far_away(int *data) {
    data[(long long)threadIdx.x << 40] = 1; // fault: far_away
}

extern "C" __global__ void null(int *data) {
    int *nothing = (int *)(data[0] * 0ll + threadIdx.x * 4);
    *nothing = 1; // fault: null
}

// Addresses such as a host's stack, heap and text have.
extern "C" __global__ void wild(int *data, unsigned long long address) {
    if (threadIdx.x == 5) data[0] = *(int *)address; // fault: wild
}

extern "C" __global__ void wild_store(int *data, unsigned long long address) {
    if (threadIdx.x == 7) *(double *)address = data[0]; // fault: wild_store
}

extern "C" __global__ void wild_atomic(int *data, unsigned long long address) {
    if (threadIdx.x == 9) atomicAdd((int *)address, data[0]); // fault: wild_atomic
}

extern "C" __global__ void past_shared(int *data) {
    __shared__ int values[32];
    values[threadIdx.x] = threadIdx.x;
    __syncthreads();
    data[threadIdx.x] = values[threadIdx.x + data[63] + 1]; // fault: past_shared
}

extern "C" __global__ void before_shared(int *data) {
    extern __shared__ int values[];
    values[(int)threadIdx.x - 2 + data[63]] = 1; // fault: before_shared
    __syncthreads();
    data[threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void past_local(int *data) {
    int values[8];
    for (int i = 0; i < 8; i++) values[i] = data[63] + i;
    for (int i = 0; i < 8; i++) values[values[i]] = i;
    data[threadIdx.x] = values[threadIdx.x * 1000]; // fault: past_local
}

extern "C" __global__ void misaligned(char *data) {
    *(int *)(data + 4 * threadIdx.x + (threadIdx.x == 3)) = 1; // fault: misaligned
}

extern "C" __global__ void misaligned_vector(float *data) {
    float4 value = *(float4 *)(data + 2 * threadIdx.x); // fault: misaligned_vector
    data[threadIdx.x] = value.x + value.w;
}

extern "C" __global__ void uninitialised_shared(int *data) {
    __shared__ int values[64];
    if (threadIdx.x < 20) values[threadIdx.x] = 1;
    __syncthreads();
    data[threadIdx.x] = values[threadIdx.x]; // fault: uninitialised_shared
}

extern "C" __global__ void uninitialised_global(int *data, int *out) {
    out[threadIdx.x] = data[threadIdx.x]; // fault: uninitialised_global
}

extern "C" __global__ void no_barrier(int *data) {
    __shared__ int values[64];
    values[threadIdx.x] = -1;
    __syncthreads();
    values[threadIdx.x] = data[threadIdx.x];      // fault: no_barrier
    data[threadIdx.x] = values[63 - threadIdx.x]; // fault: no_barrier
}

extern "C" __global__ void between_blocks(int *data) {
    if (threadIdx.x == 0) data[0] += blockIdx.x; // fault: between_blocks
}

extern "C" __global__ void not_atomic(int *data) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (data[threadIdx.x] == 0) count++; // fault: not_atomic
    __syncthreads();
    data[threadIdx.x] = count;
}

extern "C" __global__ void divergent_barrier(int *data) {
    __shared__ int sum;
    if (threadIdx.x < 16) {
        sum = data[63];
        __syncthreads(); // fault: divergent_barrier
    }
    data[threadIdx.x] = 1;
    __syncthreads(); // fault: divergent_barrier
    data[threadIdx.x] += sum;
}

extern "C" __global__ void two_barriers(int *data) {
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 64;" ::: "memory"); // fault: two_barriers
        data[threadIdx.x] = 1;
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory"); // fault: two_barriers
        data[threadIdx.x] = 2;
    }
}

extern "C" __global__ void endless(volatile int *data) {
    unsigned int i = threadIdx.x;
    while (data[i % 64] == 0) i++; // fault: endless
}

extern "C" __global__ void trap(int *data) {
    if (blockIdx.x == 1 && threadIdx.x == 6) __trap(); // fault: trap
    data[threadIdx.x] = 1;
}

extern "C" __global__ void failed_assertion(int *data) {
    assert(data[threadIdx.x] != 0 || threadIdx.x != 8); // fault: failed_assertion
    data[threadIdx.x] = 1;
}

extern "C" __global__ void absent_lane(int *data) {
    int value = threadIdx.x;
    if (threadIdx.x % 32 < 16) value = __shfl_down_sync(0x0000ffff, value, 8); // fault: absent_lane
    data[threadIdx.x] = value;
}

__device__ __noinline__ int bottomless(int n) {
    volatile int kept[64];
    kept[n % 64] = n;
    return bottomless(n + 1) + kept[n % 64]; // fault: bottomless_recursion
}

extern "C" __global__ void bottomless_recursion(int *data) {
    data[threadIdx.x] = bottomless(threadIdx.x);
}

extern "C" __global__ void wild_call(int *data, unsigned long long address) {
    typedef void function();
    if (threadIdx.x == 4) ((function *)address)(); // fault: wild_call
    data[threadIdx.x] = 1;
}
