// Sums of what the threads before one have.

#ifndef SCAN_CUH
#define SCAN_CUH

#include "kernels/warp.cuh"

// The sum of the values of all threads before this one; *total: of all.
static __device__ __forceinline__ u64 scan_block(u64 value, u64 *total)
{
    __shared__ u64 of_warp[32];
    u64 sum = value, before = 0;
    *total = 0;
    for (int delta = 1; delta < 32; delta *= 2) {
        u64 other = __shfl_up_sync(ALL_LANES, sum, delta);
        if ((int)lane_number() >= delta) sum += other;
    }
    if (lane_number() == 31) of_warp[warp_number()] = sum;
    __syncthreads();
    for (u32 i = 0; i < blockDim.x / 32; i++) {
        if (i < warp_number()) before += of_warp[i];
        *total += of_warp[i];
    }
    __syncthreads();
    return before + sum - value;
}

#endif
