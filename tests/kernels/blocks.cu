// Blocks: grids of three dimensions, shared memory of both kinds, barriers with names, printing.
#ifndef __CUDACC_RTC__ // which knows assert and printf by itself
#include <assert.h>
#include <stdio.h>
#endif

extern "C" __global__ void coordinates(int *out) {
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int *row = out + 7 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
    row[0] = blockIdx.x, row[1] = blockIdx.y, row[2] = blockIdx.z;
    row[3] = threadIdx.x, row[4] = threadIdx.y, row[5] = threadIdx.z;
    row[6] = warpSize;
}

// Static and dynamic shared memory side by side, of several types.
extern "C" __global__ void both_shared(const int *in, double *out) {
    __shared__ double fixed[64];
    __shared__ char small[3];
    extern __shared__ int dynamic[];
    int t = threadIdx.x;
    dynamic[t] = in[t];
    fixed[t] = 0.5 * in[t];
    if (t < 3) small[t] = t + 1;
    __syncthreads();
    out[t] = dynamic[blockDim.x - 1 - t] + fixed[(t + 1) % blockDim.x] + small[t % 3];
}

__global__ void __launch_bounds__(128, 4) bounded(int *out) {
    out[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x - threadIdx.x;
}

__device__ void bar_sync(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ void bar_arrive(int barrier, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Pairs of warps meet at barriers of their own.
extern "C" __global__ void named_barriers(const int *in, int *out) {
    __shared__ int values[256];
    int t = threadIdx.x, pair = t / 64;
    values[t] = in[t];
    asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
    out[t] = values[pair * 64 + 63 - t % 64];
}

// One warp fills a buffer, the other empties it; neither waits for more than it must.
extern "C" __global__ void producer_consumer(const int *in, int *out, int rounds) {
    __shared__ int buffer[2][32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int round = 0; round < rounds; round++) {
            int half = round % 2;
            bar_sync(3 + half, 64); // empty
            buffer[half][lane] = in[round * 32 + lane];
            bar_arrive(1 + half, 64); // full
        }
    } else {
        bar_arrive(3, 64);
        bar_arrive(4, 64);
        for (int round = 0; round < rounds; round++) {
            int half = round % 2;
            bar_sync(1 + half, 64);
            out[round * 32 + lane] = 2 * buffer[half][31 - lane];
            if (round + 2 < rounds) bar_arrive(3 + half, 64);
        }
    }
}

// Threads that are done leave; the others' barriers do not wait for them.
extern "C" __global__ void early_exit(const int *in, int *out, int n) {
    __shared__ int values[128];
    int t = threadIdx.x;
    if (t >= n) return;
    values[t] = in[t];
    __syncthreads();
    out[t] = values[n - 1 - t];
}

extern "C" __global__ void barrier_votes(const int *in, int *out) {
    int t = threadIdx.x;
    int count = __syncthreads_count(in[t] > 10), all = __syncthreads_and(in[t] >= 0),
        any = __syncthreads_or(in[t] > 99);
    out[t] = count * 4 + (all != 0) * 2 + (any != 0);
}

extern "C" __global__ void print(float x) {
    if (threadIdx.x != 1) return;
    printf("block %d of %u: %.3f %5d|%-5d|%05d %x %c %s %lld %%\n", blockIdx.x, gridDim.x, x, 42, 42, 42,
           0xbeef, 'w', "text", -(1ll << 40));
    printf("nothing to fill in\n");
}

extern "C" __global__ void assert_holds(const int *in, int *out) {
    assert(in[threadIdx.x] >= 0);
    out[threadIdx.x] = in[threadIdx.x];
}

// One block waits for what the other writes.
extern "C" __global__ void volatile_flag(volatile int *flag, int *value, int *out) {
    if (blockIdx.x == 1) {
        if (threadIdx.x == 0) {
            *value = 42;
            __threadfence();
            *flag = 1;
        }
    } else {
        if (threadIdx.x == 0) {
            while (*flag == 0) {
            }
            __threadfence();
        }
        __syncthreads();
        out[threadIdx.x] = *value + threadIdx.x;
    }
}

// A lock around a plain counter, taken by one thread of each block.
extern "C" __global__ void spin_lock(int *lock, int *counter) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        *counter += blockIdx.x;
        __threadfence();
        atomicExch(lock, 0);
    }
}

// The same lock, wanted by lanes of one warp: each leaves the loop when it has had it.
extern "C" __global__ void lanes_lock(int *lock, int *counter) {
    bool is_done = false;
    while (!is_done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *(volatile int *)counter += threadIdx.x;
            __threadfence();
            atomicExch(lock, 0);
            is_done = true;
        }
    }
}
