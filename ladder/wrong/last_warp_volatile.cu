// The last warp with volatile
//
// Volatile makes the compiler keep every load and store, and the sum comes out right while the lanes keep
// step.  They need not: volatile orders nothing between two lanes, and it is as much a race as without.
//
// Report: race
// Inspect: --block 128 --shared 512 --arg 'i32[256]=iota' --arg 'i32[1]=zeros'

extern "C" __global__ void reduce(const int *input, int *output)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    sdata[tid] = input[i] + input[i + blockDim.x];
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }

    if (tid < 32) {
        volatile int *warp = sdata;
        warp[tid] += warp[tid + 32];
        warp[tid] += warp[tid + 16]; // here
        warp[tid] += warp[tid + 8]; // here
        warp[tid] += warp[tid + 4]; // here
        warp[tid] += warp[tid + 2]; // here
        warp[tid] += warp[tid + 1]; // here
    }

    if (tid == 0)
        output[blockIdx.x] = sdata[0];
}
