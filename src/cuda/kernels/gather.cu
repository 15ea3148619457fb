// Strided elements, one after the other: as many threads as elements.

#include "kernels/element.cuh"

#define NDIM_MAX 64

struct gather {
    u64 from, to;
    i64 first, count;
    int ndim, unused;
    i64 shape[NDIM_MAX], stride_bytes[NDIM_MAX];
};

extern "C" __global__ void gather(const struct gather task)
{
    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x, rest = task.first + i;
    const char *from = (const char *)task.from;
    unit bits = 0;
    if (i >= task.count) return;
    for (int d = task.ndim - 1; d >= 0; d--) {
        from += rest % task.shape[d] * task.stride_bytes[d];
        rest /= task.shape[d];
    }
    if ((u64)from % sizeof(unit) == 0)
        bits = *(const unit *)from;
    else
        for (int k = 0; k < (int)sizeof(unit); k++) bits |= (unit)((unit)(unsigned char)from[k] << 8 * k);
    ((unit *)task.to)[i] = bits;
}
