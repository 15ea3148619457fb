// Half of every warp
//
// The result is right.  But `tid % (2 * s) == 0` leaves a few lanes of every warp at work in every step, and all warps go
// through all steps.  Give the work to neighbouring threads.
//
// Report: gate

__global__ void reduce(const int *in, int *out, int n)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    sdata[tid] = tid < n ? in[tid] : 0;
    __syncthreads();

    for (unsigned int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }

    if (tid == 0)
        *out = sdata[0];
}
