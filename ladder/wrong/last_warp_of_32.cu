// The unrolled last warp at a block of 32
//
// Well synchronised, but the first line of the unrolled warp takes for granted that there are 64
// elements.  With 32 threads there are 32, and lane 0 reads past the end of shared memory.
//
// Report: bounds
// Inspect: --block 32 --shared 128 --arg 'i32[64]=iota' --arg 'i32[1]=zeros'

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
        int mine = sdata[tid] + sdata[tid + 32]; // here
#pragma unroll
        for (unsigned int s = 16; s > 0; s /= 2) {
            sdata[tid] = mine;
            __syncwarp();
            mine += sdata[tid ^ s];
            __syncwarp();
        }
        sdata[tid] = mine;
    }

    if (tid == 0)
        output[blockIdx.x] = sdata[0];
}
