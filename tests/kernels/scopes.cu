// Atomic accesses and their scopes: right within a block, a race between blocks.
#include <cuda_runtime.h>

enum scope { block, device };

template <int scope> __device__ void add(int *word) {
    if (scope == block) atomicAdd_block(word, 1);
    else atomicAdd(word, 1);
}

// Blocks count in one word.
template <int scope> __global__ void count(int *words) { add<scope>(words); }

// Each block counts in its own word.
template <int scope> __global__ void count_apart(int *words) { add<scope>(words + blockIdx.x); }

// Some blocks add with the one scope, some with the other.
__global__ void count_mixed(int *words) {
    if (blockIdx.x) atomicAdd(words, 1);
    else atomicAdd_block(words, 1);
}

__device__ void release(int *flag, int scope) {
    if (scope == block) asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    else asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
}

__device__ int acquire(int *flag, int scope) {
    int value;
    if (scope == block) asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    else asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

// The first block stores, the second waits for its flag; or the first warp and the second one.
template <int releases, int acquires, bool between_warps> __global__ void pass(int *words) {
    const unsigned who = between_warps ? threadIdx.x / 32 : blockIdx.x;
    if (threadIdx.x % 32) return;
    if (who == 0) {
        words[0] = 42;
        release(words + 1, releases);
    } else {
        while (!acquire(words + 1, acquires)) {}
        words[2] = words[0];
    }
}

// The fence has a scope of its own, the flag another.
template <int fences, int stores> __global__ void pass_fenced(int *words) {
    if (blockIdx.x == 0) {
        words[0] = 42;
        if (fences == block) __threadfence_block();
        else __threadfence();
        if (stores == block) atomicExch_block(words + 1, 1);
        else atomicExch(words + 1, 1);
    } else {
        while (!atomicAdd(words + 1, 0)) {}
        __threadfence();
        words[2] = words[0];
    }
}

// Two blocks exchange a word: volatile accesses are atomic and relaxed, of the system's scope, to each other.
template <bool stores, bool loads> __global__ void exchange(int *words) {
    volatile int *word = words;
    if (blockIdx.x == 0) {
        if (stores) *word = 7;
        else *words = 7;
    } else if (loads) words[1] = *word == 9;
    else words[1] = *words == 9;
}

// A flag: volatile accesses with a fence beside each order what others do; without the reader's, nothing.
template <bool has_fence> __global__ void pass_volatile(int *words) {
    volatile int *flag = words + 1;
    if (blockIdx.x == 0) {
        words[0] = 42;
        __threadfence();
        *flag = 1;
    } else {
        while (!*flag) {}
        if (has_fence) __threadfence();
        words[2] = words[0];
    }
}

// Atomic additions of a scope, beside volatile loads.
template <int scope> __global__ void watch(int *words) {
    if (blockIdx.x == 0) add<scope>(words);
    else words[1] = *(volatile int *)words == 9;
}

// One block stores vectors of equal words for as long as others look at them: a GPU moves 16 bytes at once.
extern "C" __global__ void whole_vectors(unsigned *values, unsigned *torn, unsigned *done) {
    unsigned *vector = values + 4 * threadIdx.x;
    if (blockIdx.x == 0) {
        for (unsigned k = 1; *(volatile unsigned *)&done[threadIdx.x] < gridDim.x - 1; k++)
            asm volatile("st.volatile.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(vector), "r"(k) : "memory");
        return;
    }
    unsigned is_torn = 0, a, b, c, d;
    for (unsigned i = 0; i < 1000; i++) {
        asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(vector) : "memory");
        is_torn |= a != b || a != c || a != d;
    }
    atomicOr(&torn[threadIdx.x], is_torn);
    atomicAdd(&done[threadIdx.x], 1);
}
