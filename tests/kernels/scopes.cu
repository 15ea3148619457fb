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

// A pair of 64 bits that all threads count up and down at once; torn: what was read at once was of two different rounds.
extern "C" __global__ void counted_pairs(long long *pair, int *torn) {
    long long up, down, was_up, was_down;
    asm volatile("{ .reg .b128 q; ld.relaxed.gpu.global.b128 q, [%2]; mov.b128 {%0, %1}, q; }"
                 : "=l"(up), "=l"(down) : "l"(pair) : "memory");
    for (;;) {
        if (up + down) atomicAdd(torn, 1);
        asm volatile("{ .reg .b128 old, new; mov.b128 old, {%3, %4}; mov.b128 new, {%5, %6};\n\t"
                     "atom.global.cas.b128 old, [%2], old, new; mov.b128 {%0, %1}, old; }"
                     : "=l"(was_up), "=l"(was_down) : "l"(pair), "l"(up), "l"(down), "l"(up + 1), "l"(down - 1) : "memory");
        if (was_up == up && was_down == down) break;
        up = was_up, down = was_down;
    }
}

// The words of a register of 128 bits in reverse; what was found there; one word of it.
extern "C" __global__ void reversed_words(unsigned *words, unsigned *found, unsigned *third) {
    unsigned a, b, c, d, *at = words + 4 * threadIdx.x;
    asm volatile("{ .reg .b128 q, r; ld.global.b128 q, [%4]; mov.b128 {%0, %1, %2, %3}, q;\n\t"
                 "mov.b128 r, {%3, %2, %1, %0}; atom.global.exch.b128 q, [%4], r; st.global.b128 [%5], q;\n\t"
                 "mov.b128 {_, _, %2, _}, r; }"
                 : "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d) : "l"(at), "l"(found + 4 * threadIdx.x) : "memory");
    third[threadIdx.x] = c;
}

// Vectors, each of whose elements is an atomic of its own.
extern "C" __global__ void vector_sums(float *sums, float *found, unsigned *halves, unsigned *pairs) {
    float a = 3, b = 4, *own = found + 4 * threadIdx.x;
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                 :: "l"(sums), "f"(1.f), "f"((float)threadIdx.x), "f"(-2.f), "f"(0.5f) : "memory");
    asm volatile("atom.global.add.v2.f32 {%0, %1}, [%2], {%1, %0};" : "+f"(a), "+f"(b) : "l"(own) : "memory");
    own[2] = a, own[3] = b;
    asm volatile("red.global.add.noftz.v8.f16 [%0], {%1, %1, %2, %1, %1, %1, %1, %2};"
                 :: "l"(halves), "h"((short)0x3c00), "h"((short)0x4000) : "memory"); // 1 and 2
    asm volatile("red.global.max.noftz.v2.f16x2 [%0], {%1, %2};"
                 :: "l"(pairs), "r"(0x3c004000u), "r"(0xbc000000u + threadIdx.x) : "memory"); // 2 and 1; small ones and -1
}
