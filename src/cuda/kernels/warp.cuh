// Operations of all lanes of a warp.

#ifndef WARP_CUH
#define WARP_CUH

#include "kernels/element.cuh"

#define ALL_LANES 0xffffffffu

static __device__ __forceinline__ u32 lane_number(void)
{
    return threadIdx.x % 32;
}

static __device__ __forceinline__ u32 warp_number(void)
{
    return threadIdx.x / 32;
}

// Over the lanes; sums are of values below 2^26 in magnitude, which 32 bits hold.
#if __CUDA_ARCH__ >= 800

static __device__ __forceinline__ i64 warp_sum_small(i64 value)
{
    return __reduce_add_sync(ALL_LANES, (int)value);
}

static __device__ __forceinline__ u32 warp_max(u32 value)
{
    return __reduce_max_sync(ALL_LANES, value);
}

static __device__ __forceinline__ u32 warp_min(u32 value)
{
    return __reduce_min_sync(ALL_LANES, value);
}

static __device__ __forceinline__ u32 warp_or(u32 value)
{
    return __reduce_or_sync(ALL_LANES, value);
}

#else

static __device__ __forceinline__ i64 warp_sum_small(i64 value)
{
    int sum = (int)value;
#pragma unroll
    for (int delta = 16; delta; delta /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, delta);
    return sum;
}

static __device__ __forceinline__ u32 warp_max(u32 value)
{
#pragma unroll
    for (int delta = 16; delta; delta /= 2) value = max(value, __shfl_xor_sync(ALL_LANES, value, delta));
    return value;
}

static __device__ __forceinline__ u32 warp_min(u32 value)
{
    return ~warp_max(~value);
}

static __device__ __forceinline__ u32 warp_or(u32 value)
{
#pragma unroll
    for (int delta = 16; delta; delta /= 2) value |= __shfl_xor_sync(ALL_LANES, value, delta);
    return value;
}

#endif

// The sum over the lanes, modulo 2^64, in three pieces of at most 24 bits.
static __device__ __forceinline__ i64 warp_sum(i64 value)
{
    u64 low = (u64)warp_sum_small(value & 0xffffff), middle = (u64)warp_sum_small(value >> 24 & 0xffffff);
    return (i64)(low + (middle << 24) + ((u64)warp_sum_small(value >> 48) << 48));
}

// The higher halves decide; among those that are equal, the lower ones.
static __device__ __forceinline__ u64 warp_largest(u64 value)
{
    u32 own = (u32)(value >> 32), high = warp_max(own);
    return (u64)high << 32 | warp_max(own == high ? (u32)value : 0);
}

static __device__ __forceinline__ u64 warp_least(u64 value)
{
    u32 own = (u32)(value >> 32), high = warp_min(own);
    return (u64)high << 32 | warp_min(own == high ? (u32)value : ~0u);
}

#endif
