// Whether offsets of segments are those of one length, from the first element on.  A block ends with the first ones that are not.

#include "kernels/chain.cuh"
#include "kernels/element.cuh"

#define AHEAD 8 // offsets that a thread has on their way

struct offsets {
    u64 offsets, are_equal;
    i64 stride_bytes, count, step;
};

extern "C" __global__ void __launch_bounds__(256) offsets(const struct offsets task)
{
    wait_for_those_before();
    for (i64 begin = (i64)blockIdx.x * 256 * AHEAD; begin < task.count; begin += (i64)gridDim.x * 256 * AHEAD) {
        const i64 first = begin + threadIdx.x;
        i64 found[AHEAD], differ = 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const i64 i = min(first + 256 * k, task.count - 1);
            const u64 address = task.offsets + (u64)(i * task.stride_bytes);
            found[k] = WIDTH == 64 ? *(const i64 *)address : *(const int *)address;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) differ |= found[k] ^ min(first + 256 * k, task.count - 1) * task.step;
        if (!__syncthreads_or(differ != 0)) continue;
        if (threadIdx.x == 0) *(u32 *)task.are_equal = 0;
        return;
    }
}
