// The last warp without synchronisation
//
// As step 5 of the parallel patterns prints it, in the belief that a warp is "automatically
// synchronised".  Since sm_70 its lanes may run apart, and the compiler knows it: of the six stores to one
// word that nobody seems to wait for it keeps the last, where the race is then found; the sum is wrong even
// if the lanes do keep step.
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
        sdata[tid] += sdata[tid + 32];
        sdata[tid] += sdata[tid + 16];
        sdata[tid] += sdata[tid + 8];
        sdata[tid] += sdata[tid + 4];
        sdata[tid] += sdata[tid + 2];
        sdata[tid] += sdata[tid + 1]; // here
    }

    if (tid == 0)
        output[blockIdx.x] = sdata[0];
}
