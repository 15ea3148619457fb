// A product of 64 x depth by depth x 16 on a warpgroup: c = a * b, b by columns.  Tiles of 16 columns of a and rows of b
// are staged in shared memory, in two stages, by stores or by bulk copies; wgmma reads them from there.
#include <cuda_fp16.h>
typedef unsigned long long u64; // NVRTC has no <stdint.h>

#define DEVICE __device__ __noinline__
#define ROWS 64
#define COLUMNS 16
#define DEPTH 16

enum fault {
    right, no_fence, no_fence_again, no_proxy_fence, no_commit, no_wait, no_barrier, reads_early, waits_for_older,
    writes_early, warp_leaves, half_a_warp, two_warps, beyond, arrives_early, unwritten
};

__device__ unsigned shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

// Without swizzling: chunks of 8 x 16 bytes, 128 bytes apart along the depth, 256 across.
__device__ u64 descriptor(const void *pointer) {
    return (shared_address(pointer) & 0x3ffff) >> 4 | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32;
}

__device__ int place(int outer, int k) { return outer / 8 * 128 + k / 8 * 64 + outer % 8 * 8 + k % 8; }

__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); } // line: fence
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending> __device__ __forceinline__ void await() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory"); // line: await
}
__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void multiply(float (&d)[8], u64 a, u64 b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, "
                 "0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                 : "l"(a), "l"(b)); // line: multiply
}

struct stage {
    __half a[ROWS * DEPTH], b[COLUMNS * DEPTH];
};

__device__ int cell(int i) {
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    return (row + i / 2 % 2 * 8) * COLUMNS + column + i / 4 * 8 + i % 2;
}

__device__ void store_result(float *c, const float (&d)[8]) {
    for (int i = 0; i < 8; i++) c[cell(i)] = d[i]; // line: result
}

template <int fault>
__global__ void product(const __half *a, const __half *b, float *c, int depth, float scale) {
    __shared__ __align__(128) stage stages[2];
    if (fault == half_a_warp && threadIdx.x % 32 >= 16) return;
    float d[8] = {};
    for (int t = 0; t < depth / DEPTH; t++) {
        stage &to = stages[t % 2];
        for (int i = threadIdx.x; i < ROWS * DEPTH; i += blockDim.x)
            to.a[place(i / DEPTH, i % DEPTH)] = a[i / DEPTH * depth + t * DEPTH + i % DEPTH]; // line: stage a
        for (int i = threadIdx.x; i < COLUMNS * DEPTH && fault != unwritten; i += blockDim.x)
            to.b[place(i / DEPTH, i % DEPTH)] = b[i / DEPTH * depth + t * DEPTH + i % DEPTH]; // line: stage b
        if (fault != no_proxy_fence) proxy_fence();
        if (fault != no_barrier) __syncthreads();
        if (fault == warp_leaves && threadIdx.x >= 96) return;
        if (fault != no_fence && (fault != no_fence_again || t == 0)) fence();
        multiply(d, descriptor(to.a), descriptor(fault == beyond ? stages + 2 : (void *)to.b));
        if (fault == reads_early && t == 2) c[threadIdx.x] = d[0]; // line: reads early
        if (fault == writes_early && t == 2) d[1] = d[1] * scale;  // line: writes early
        if (fault == no_fence_again) {
            commit();
            await<0>();
            for (int i = 0; i < 8; i++) d[i] = d[i] * scale; // line: scale
            continue;
        }
        if (fault != no_commit) commit();
        if (fault != no_wait) await<fault == waits_for_older ? 2 : 1>();
        if (fault == warp_leaves) __syncwarp();
    }
    await<0>();
    store_result(c, d);
}

// c += a * b, by function number `number`.
template <int number>
DEVICE void add(float *c, const stage *from, bool has_fence) {
    float d[8];
    for (int i = 0; i < 8; i++) d[i] = c[cell(i)] + number; // line: load
    for (float &one : d) asm volatile("" : "+f"(one)::"memory"); // before the fence, for the compiler, too
    if (has_fence) fence();
    multiply(d, descriptor(from->a), descriptor(from->b));
    commit();
    await<0>();
    store_result(c, d);
}

// A fence in one call is none in the next of the same function, with another function's in between.
template <int fault>
__global__ void calls(const stage *from, float *c) {
    __shared__ __align__(128) stage stage;
    for (int i = threadIdx.x; i < (int)sizeof stage / 16; i += blockDim.x)
        ((uint4 *)&stage)[i] = ((const uint4 *)from)[i];
    proxy_fence();
    __syncthreads();
    add<0>(c, &stage, true);
    add<1>(c, &stage, true);
    add<0>(c, &stage, fault != no_fence_again);
}

// Bulk copies by a fifth warp; the warpgroup says by an mbarrier that a stage may be used again.
struct ring {
    stage stages[2];
    u64 full[2], empty[2];
};

DEVICE void init(u64 *mbarrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(mbarrier)), "r"(arrivals) : "memory");
}
DEVICE void await_phase(u64 *mbarrier, int parity) {
    asm volatile("{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra AGAIN; }"
                 ::"r"(shared_address(mbarrier)), "r"(parity) : "memory");
}
DEVICE void arrive(u64 *mbarrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(mbarrier)) : "memory");
}
DEVICE void expect(u64 *mbarrier, int nbytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(mbarrier)), "r"(nbytes)
                 : "memory");
}
DEVICE void bulk_load(void *to, const void *from, int nbytes, u64 *mbarrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(shared_address(to)), "l"(from), "r"(nbytes), "r"(shared_address(mbarrier)) : "memory"); // line: bulk load
}

// a and b are stages, one behind another, as shared memory has them.
template <int fault>
__global__ void pipeline(const stage *from, float *c, int tiles) {
    __shared__ __align__(128) ring ring;
    if (threadIdx.x == 0)
        for (int s = 0; s < 2; s++) {
            init(&ring.full[s], 1);
            init(&ring.empty[s], 1);
        }
    __syncthreads();
    if (threadIdx.x == 128)
        for (int t = 0; t < tiles; t++) {
            const int s = t % 2;
            if (t >= 2) await_phase(&ring.empty[s], (t / 2 - 1) % 2);
            expect(&ring.full[s], sizeof(stage));
            bulk_load(&ring.stages[s], from + t, sizeof(stage), &ring.full[s]);
        }
    if (threadIdx.x >= 128) return;
    float d[8] = {};
    for (int t = 0; t < tiles; t++) {
        const int s = t % 2;
        if (fault != no_barrier) await_phase(&ring.full[s], t / 2 % 2);
        fence();
        multiply(d, descriptor(ring.stages[s].a), descriptor(ring.stages[s].b));
        commit();
        if (fault != arrives_early) await<0>();
        if (threadIdx.x == 0) arrive(&ring.empty[s]); // one for the warpgroup, all of which has read by then
        if (fault == arrives_early) await<0>();
    }
    store_result(c, d);
}
