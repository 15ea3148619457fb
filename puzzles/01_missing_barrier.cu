// A barrier is missing
//
// In each step a thread adds what another thread wrote in the step before.  Lanes of one warp may run apart, and
// different warps do: nothing makes sure yet that the other thread has written.  Make it right with one line.
//
// Report: race

__global__ void reduce(const int *in, int *out, int n)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    sdata[tid] = tid < n ? in[tid] : 0;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
    }

    if (tid == 0)
        *out = sdata[0];
}
