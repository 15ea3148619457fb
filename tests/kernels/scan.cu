// Prefix sums.  Hillis and Steele's: inclusive, log n steps of n additions, two buffers.
extern "C" __global__ void scan_hillis_steele(const int *in, int *out, int n) {
    extern __shared__ int buffers[];
    int *from = buffers, *to = buffers + blockDim.x, t = threadIdx.x;
    from[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int offset = 1; offset < blockDim.x; offset *= 2) {
        to[t] = t >= offset ? from[t] + from[t - offset] : from[t];
        __syncthreads();
        int *swapped = from;
        from = to;
        to = swapped;
    }
    if (t < n) out[t] = from[t];
}

// Blelloch's: exclusive, up and down a tree in place, two elements a thread.
extern "C" __global__ void scan_blelloch(const int *in, int *out, int n) {
    extern __shared__ int sums[];
    int t = threadIdx.x, offset = 1;
    sums[2 * t] = in[2 * t];
    sums[2 * t + 1] = in[2 * t + 1];
    for (int nodes = n >> 1; nodes > 0; nodes >>= 1, offset *= 2) {
        __syncthreads();
        if (t < nodes) sums[offset * (2 * t + 2) - 1] += sums[offset * (2 * t + 1) - 1];
    }
    if (t == 0) sums[n - 1] = 0;
    for (int nodes = 1; nodes < n; nodes *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < nodes) {
            int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1, sum = sums[left];
            sums[left] = sums[right];
            sums[right] += sum;
        }
    }
    __syncthreads();
    out[2 * t] = sums[2 * t];
    out[2 * t + 1] = sums[2 * t + 1];
}

__device__ int scan_warp(int value) {
    for (int offset = 1; offset < 32; offset *= 2) {
        int other = __shfl_up_sync(0xffffffff, value, offset);
        if (threadIdx.x % 32 >= offset) value += other;
    }
    return value;
}

// Inclusive over the block; every thread calls it.
__device__ int scan_block(int value, int *warp_sums) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = scan_warp(value);
    if (lane == 31) warp_sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        int sum = lane < blockDim.x / 32 ? warp_sums[lane] : 0;
        warp_sums[lane] = scan_warp(sum);
    }
    __syncthreads();
    return warp > 0 ? value + warp_sums[warp - 1] : value;
}

// A scan of the whole grid in one pass: each block takes a ticket, publishes its sum, and looks back over the
// blocks before it until one of them knows its prefix.  A state holds a flag (1: sum, 2: prefix) and a value.
extern "C" __global__ void scan_look_back(const int *in, int *out, int n, unsigned int *ticket,
                                          unsigned long long *states) {
    __shared__ int warp_sums[32], prefix;
    __shared__ unsigned int tile;
    if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
    __syncthreads();
    unsigned int i = tile * blockDim.x + threadIdx.x;
    int sum = scan_block(i < n ? in[i] : 0, warp_sums);
    if (threadIdx.x == blockDim.x - 1) {
        unsigned long long flag = tile == 0 ? 2 : 1;
        __threadfence();
        atomicExch(&states[tile], flag << 32 | (unsigned int)sum);
        int before = 0;
        for (int back = (int)tile - 1; back >= 0;) {
            unsigned long long state = *(volatile unsigned long long *)&states[back];
            if (state >> 32 == 0) continue;
            before += (int)(unsigned int)state;
            if (state >> 32 == 2) break;
            back--;
        }
        if (tile > 0) atomicExch(&states[tile], 2ull << 32 | (unsigned int)(before + sum));
        prefix = before;
    }
    __syncthreads();
    if (i < n) out[i] = prefix + sum;
}
