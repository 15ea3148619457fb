// The family's faster half, as templates of type and block, with cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// Dynamic shared memory of any type: one name for each.
template <class T> struct SharedMemory {
    __device__ inline operator T *() {
        extern __shared__ int shared_int[];
        return (T *)shared_int;
    }
};
template <> struct SharedMemory<double> {
    __device__ inline operator double *() {
        extern __shared__ double shared_double[];
        return shared_double;
    }
};

template <class T> __device__ T reduce_tile(cg::thread_block_tile<32> tile, T sum) {
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
    return sum;
}

template <class T, unsigned int BLOCK> __global__ void reduce4(T *in, T *out, unsigned int n) {
    cg::thread_block block = cg::this_thread_block();
    T *values = SharedMemory<T>();
    unsigned int t = threadIdx.x, i = blockIdx.x * (blockDim.x * 2) + t;
    T sum = i < n ? in[i] : 0;
    if (i + BLOCK < n) sum += in[i + BLOCK];
    values[t] = sum;
    cg::sync(block);
    for (unsigned int s = blockDim.x / 2; s > 32; s >>= 1) {
        if (t < s) values[t] = sum = sum + values[t + s];
        cg::sync(block);
    }
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    if (block.thread_rank() < 32) {
        if (BLOCK >= 64) sum += values[t + 32];
        sum = reduce_tile(tile, sum);
    }
    if (block.thread_rank() == 0) out[blockIdx.x] = sum;
}

template <class T, unsigned int BLOCK> __device__ T unrolled(cg::thread_block block, T *values, T sum) {
    unsigned int t = threadIdx.x;
    values[t] = sum;
    cg::sync(block);
    if (BLOCK >= 512 && t < 256) values[t] = sum = sum + values[t + 256];
    cg::sync(block);
    if (BLOCK >= 256 && t < 128) values[t] = sum = sum + values[t + 128];
    cg::sync(block);
    if (BLOCK >= 128 && t < 64) values[t] = sum = sum + values[t + 64];
    cg::sync(block);
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    if (block.thread_rank() < 32) {
        if (BLOCK >= 64) sum += values[t + 32];
        sum = reduce_tile(tile, sum);
    }
    return sum;
}

template <class T, unsigned int BLOCK> __global__ void reduce5(T *in, T *out, unsigned int n) {
    T *values = SharedMemory<T>();
    unsigned int t = threadIdx.x, i = blockIdx.x * (BLOCK * 2) + t;
    T sum = i < n ? in[i] : 0;
    if (i + BLOCK < n) sum += in[i + BLOCK];
    sum = unrolled<T, BLOCK>(cg::this_thread_block(), values, sum);
    if (t == 0) out[blockIdx.x] = sum;
}

template <class T, unsigned int BLOCK, bool IS_POWER_OF_2>
__global__ void reduce6(T *in, T *out, unsigned int n) {
    T *values = SharedMemory<T>();
    unsigned int t = threadIdx.x, stride = BLOCK * gridDim.x;
    T sum = 0;
    if (IS_POWER_OF_2) {
        stride <<= 1;
        for (unsigned int i = blockIdx.x * BLOCK * 2 + t; i < n; i += stride) {
            sum += in[i];
            if (i + BLOCK < n) sum += in[i + BLOCK];
        }
    } else {
        for (unsigned int i = blockIdx.x * BLOCK + t; i < n; i += stride) sum += in[i];
    }
    sum = unrolled<T, BLOCK>(cg::this_thread_block(), values, sum);
    if (t == 0) out[blockIdx.x] = sum;
}

// All of the cooperative groups' own: each block's sum.
__global__ void cg_reduce(int *in, int *out, unsigned int n) {
    extern __shared__ int partials[];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int sum = 0;
    for (unsigned int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) sum += in[i];
    partials[block.thread_rank()] = sum;
    cg::sync(block);
    partials[block.thread_rank()] = cg::reduce(tile, partials[block.thread_rank()], cg::plus<int>());
    cg::sync(block);
    if (block.thread_rank() == 0) {
        sum = 0;
        for (int i = 0; i < block.size(); i += tile.size()) sum += partials[i];
        out[blockIdx.x] = sum;
    }
}

// One launch: the blocks' sums, and when the grid has met, their sum.
extern "C" __global__ void multi_block(const double *in, double *out, unsigned int n) {
    extern __shared__ double warp_sums[];
    cg::thread_block block = cg::this_thread_block();
    cg::grid_group grid = cg::this_grid();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    double sum = 0;
    for (unsigned int i = grid.thread_rank(); i < n; i += grid.size()) sum += in[i];
    for (int round = 0; round < 2; round++) {
        sum = cg::reduce(tile, sum, cg::plus<double>());
        if (tile.thread_rank() == 0) warp_sums[tile.meta_group_rank()] = sum;
        cg::sync(block);
        if (block.thread_rank() == 0) {
            sum = 0;
            for (int i = 0; i < tile.meta_group_size(); i++) sum += warp_sums[i];
            out[blockIdx.x] = sum;
        }
        if (round == 1) break;
        cg::sync(grid);
        if (blockIdx.x != 0) return;
        sum = 0;
        for (unsigned int i = block.thread_rank(); i < gridDim.x; i += block.size()) sum += out[i];
        cg::sync(block);
    }
}
