// Cooperative groups: tiles, the block, the grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// Sums by tiles of 32, then of the block.
extern "C" __global__ void group_reduce(const int *in, int *out, int n) {
    __shared__ int sums[32];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int sum = 0;
    for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) sum += in[i];
    sum = cg::reduce(tile, sum, cg::plus<int>());
    if (tile.thread_rank() == 0) sums[tile.meta_group_rank()] = sum;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        sum = tile.thread_rank() < tile.meta_group_size() ? sums[tile.thread_rank()] : 0;
        sum = cg::reduce(tile, sum, cg::plus<int>());
        if (tile.thread_rank() == 0) out[blockIdx.x] = sum;
    }
}

// Tiles of four: their greatest, and a shuffle within them.
extern "C" __global__ void tiles_of_four(const float *in, float *greatest, float *neighbours) {
    cg::thread_block_tile<4> tile = cg::tiled_partition<4>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = in[i], most = cg::reduce(tile, value, cg::greater<float>());
    neighbours[i] = tile.shfl(value, (tile.thread_rank() + 1) % 4);
    if (tile.thread_rank() == 0) greatest[i / 4] = most;
}

// The threads that are here claim places together.
extern "C" __global__ void filter(const int *in, int *out, unsigned int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] <= 0) return;
    cg::coalesced_group here = cg::coalesced_threads();
    unsigned int first;
    if (here.thread_rank() == 0) first = atomicAdd(count, here.size());
    out[here.shfl(first, 0) + here.thread_rank()] = in[i];
}

// Groups that a label makes: threads with equal remainders add up.
extern "C" __global__ void labelled(const int *in, int *out) {
    int i = threadIdx.x;
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(cg::this_thread_block());
    cg::coalesced_group peers = cg::labeled_partition(tile, in[i] % 3);
    out[i] = cg::reduce(peers, in[i], cg::plus<int>());
}

// Each block adds its elements; after the grid has met, block 0 adds the sums.
extern "C" __global__ void grid_sync(const int *in, int *sums, int *result, int n) {
    __shared__ int total;
    cg::grid_group grid = cg::this_grid();
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) atomicAdd(&total, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
    grid.sync();
    if (grid.thread_rank() == 0) {
        int sum = 0;
        for (int block = 0; block < gridDim.x; block++) sum += sums[block];
        *result = sum;
    }
}

// What groups of several warps meet in, from sm_80 on: shared memory that is the system's, behind all other, and zero.
extern "C" __global__ void reserved_memory(unsigned *counts, unsigned *is_behind) {
    __shared__ unsigned own[32];
    unsigned at, others, count;
    asm volatile("mov.u32 %0, %%reserved_smem_offset_1;" : "=r"(at));
    asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(others));
    own[threadIdx.x] = threadIdx.x;
    asm volatile("atom.shared.add.u32 %0, [%1], 1;" : "=r"(count) : "r"(at) : "memory");
    counts[own[threadIdx.x]] = count;
    is_behind[threadIdx.x] = at >= others;
}
