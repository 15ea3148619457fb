// What warps do together: shuffles, votes, matches, aggregated atomics.
constexpr unsigned int FULL = 0xffffffff;

// Every lane gets the warp's sum.
extern "C" __global__ void all_reduce(const int *in, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, value = in[i];
    for (int mask = warpSize / 2; mask > 0; mask /= 2) value += __shfl_xor_sync(FULL, value, mask);
    out[i] = value;
}

// Sums of groups of eight, and each group's second element, of doubles.
extern "C" __global__ void shuffle_width(const double *in, double *sums, double *seconds) {
    int i = threadIdx.x;
    double value = in[i], second = __shfl_sync(FULL, value, 1, 8);
    for (int offset = 4; offset > 0; offset /= 2) value += __shfl_down_sync(FULL, value, offset, 8);
    if (i % 8 == 0) sums[i / 8] = value;
    seconds[i] = second;
}

// The even elements, in order within each warp; warps claim their places with one atomic each.
extern "C" __global__ void compact(const int *in, int *out, unsigned int *count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool is_kept = i < n && in[i] % 2 == 0;
    unsigned int kept = __ballot_sync(FULL, is_kept);
    unsigned int first = 0;
    if (lane == 0) first = atomicAdd(count, __popc(kept));
    first = __shfl_sync(FULL, first, 0);
    if (is_kept) out[first + __popc(kept & ((1u << lane) - 1))] = in[i];
}

// One atomic for all lanes with the same key.
extern "C" __global__ void count_matches(const int *keys, unsigned int *counts) {
    int key = keys[blockIdx.x * blockDim.x + threadIdx.x];
    unsigned int peers = __match_any_sync(FULL, key);
    if (threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(&counts[key], __popc(peers));
}

extern "C" __global__ void votes(const int *in, unsigned int *out) {
    int lane = threadIdx.x, value = in[lane], is_equal;
    out[lane] = __any_sync(FULL, value == 7) | __all_sync(FULL, value < 100) << 1;
    out[32 + lane] = __match_all_sync(FULL, value / 100, &is_equal);
    out[64 + lane] = is_equal;
    if (value % 3 == 0) {
        unsigned int here = __activemask();
        out[96 + lane] = __ballot_sync(here, true) == here;
    } else {
        out[96 + lane] = 2;
    }
    __syncwarp();
}

// The lane of the mask so many further on, or the last one's own.
__device__ int lane_after(unsigned int mask, int lane, int steps) {
    int found = __fns(mask, lane, steps + 1);
    return found == -1 ? lane : found;
}

// The active lanes add up what is theirs.  A schedule may part a warp into several such groups, which meet in one place.
extern "C" __global__ void sum_active(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    if (i >= n) return;
    unsigned int here = __activemask();
    int sum = in[i], rank = __popc(here & ((1u << lane) - 1));
    for (int d = 1; d < __popc(here); d *= 2) {
        int other = __shfl_sync(here, sum, lane_after(here, lane, d));
        if (rank + d < __popc(here)) sum += other;
    }
    if (rank == 0) atomicAdd(out, sum);
}

extern "C" __global__ void sum_active_shared(const int *in, int *out, int n) {
    __shared__ int sums[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x - lane;
    if (i >= n) return;
    unsigned int here = __activemask();
    int rank = __popc(here & ((1u << lane) - 1));
    sums[threadIdx.x] = in[i];
    for (int d = 1; d < __popc(here); d *= 2) {
        __syncwarp(here);
        int other = sums[warp + lane_after(here, lane, d)];
        __syncwarp(here);
        if (rank + d < __popc(here)) sums[threadIdx.x] += other;
    }
    if (rank == 0) atomicAdd(out, sums[threadIdx.x]);
}

// Greatest value and where it is first, packed so that one 64-bit maximum finds both.
extern "C" __global__ void argmax(const float *in, unsigned long long *best, int n) {
    unsigned long long mine = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned int bits = __float_as_uint(in[i]);
        bits = bits >> 31 ? ~bits : bits | 0x80000000u;
        unsigned long long packed = (unsigned long long)bits << 32 | ~i;
        mine = mine > packed ? mine : packed;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        unsigned long long other = __shfl_down_sync(FULL, mine, offset);
        mine = mine > other ? mine : other;
    }
    if (threadIdx.x % 32 == 0) atomicMax(best, mine);
}

// The length of each Collatz sequence: loops that lanes leave one by one.
extern "C" __global__ void collatz(const unsigned int *in, unsigned int *steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long value = in[i];
    unsigned int count = 0;
    while (value != 1) {
        value = value % 2 ? 3 * value + 1 : value / 2;
        count++;
    }
    steps[i] = count;
}
