// What the lanes of a warp do together.

#ifndef WARP_CUH
#define WARP_CUH

#define ALL_LANES 0xffffffffu

static __device__ __forceinline__ u32 lane_number(void)
{
    return threadIdx.x % 32;
}

static __device__ __forceinline__ u32 warp_number(void)
{
    return threadIdx.x / 32;
}

static __device__ __forceinline__ i64 warp_sum(i64 value)
{
#pragma unroll
    for (int delta = 16; delta; delta /= 2) value += __shfl_xor_sync(ALL_LANES, value, delta);
    return value;
}

static __device__ __forceinline__ u32 warp_max(u32 value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(ALL_LANES, value);
#else
#pragma unroll
    for (int delta = 16; delta; delta /= 2) value = max(value, __shfl_xor_sync(ALL_LANES, value, delta));
    return value;
#endif
}

static __device__ __forceinline__ u32 warp_or(u32 value)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(ALL_LANES, value);
#else
#pragma unroll
    for (int delta = 16; delta; delta /= 2) value |= __shfl_xor_sync(ALL_LANES, value, delta);
    return value;
#endif
}

static __device__ __forceinline__ u64 warp_least(u64 value)
{
#pragma unroll
    for (int delta = 16; delta; delta /= 2) {
        u64 other = __shfl_xor_sync(ALL_LANES, value, delta);
        value = other < value ? other : value;
    }
    return value;
}

static __device__ __forceinline__ u64 warp_largest(u64 value)
{
    return ~warp_least(~value);
}

#endif
