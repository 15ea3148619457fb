// Interleaved addressing with a wrong guard
//
// As step 2 of the parallel patterns prints it: the guard divides by s what `index` has already been
// multiplied by, and the tree stops too early.  Right is `index < blockDim.x`.  Nothing that a simulator could
// object to, only a wrong sum: 128 ones make 30.
//
// Report: none
// Inspect: --block 128 --shared 512 --arg 'i32[128]=ones' --arg 'i32[1]=zeros' --expect 1=128
// Result: 30, and must be 128

extern "C" __global__ void reduce(const int *input, int *output)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = input[i];
    __syncthreads();

    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        int index = 2 * s * tid;
        if (index < blockDim.x / s)
            sdata[index] += sdata[index + s];
        __syncthreads();
    }

    if (tid == 0)
        output[blockIdx.x] = sdata[0];
}
