// A read of what was never written
//
// The load is guarded, as it should be, but the threads past the end leave their word of shared memory as
// it is, and the tree adds it up.  The identity belongs there.
//
// Report: uninitialised
// Inspect: --block 128 --shared 512 --arg 'i32[100]=iota' --arg 'i32[1]=zeros' --arg u32:100

extern "C" __global__ void reduce(const int *input, int *output, unsigned int n)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sdata[tid] = input[i];
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            sdata[tid] += sdata[tid + s]; // here
        __syncthreads();
    }

    if (tid == 0)
        output[blockIdx.x] = sdata[0];
}
