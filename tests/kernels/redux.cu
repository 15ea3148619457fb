// A warp's sum, greatest and common bits in one instruction each: from sm_80 on.
extern "C" __global__ void redux(const int *in, int *out) {
    int value = in[threadIdx.x], half = threadIdx.x % 32 < 16 ? 0x0000ffff : 0xffff0000;
    out[3 * threadIdx.x] = __reduce_add_sync(half, value);
    out[3 * threadIdx.x + 1] = __reduce_max_sync(0xffffffff, value);
    out[3 * threadIdx.x + 2] = __reduce_and_sync(half, (unsigned int)value);
}
