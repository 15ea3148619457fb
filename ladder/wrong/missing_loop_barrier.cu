// No barrier in the loop
//
// The threads wait for each other after the load, but not between the steps: a warp may read what another
// has not yet added to, or has added to already.
//
// Report: race
// Inspect: --block 128 --shared 512 --arg 'i32[128]=iota' --arg 'i32[1]=zeros'

extern "C" __global__ void reduce(const int *input, int *output)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = input[i];
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2)
        if (tid < s)
            sdata[tid] += sdata[tid + s]; // here

    if (tid == 0)
        output[blockIdx.x] = sdata[0];
}
