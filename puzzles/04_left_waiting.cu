// Threads that left, and those that wait for them
//
// __syncthreads() is for all threads of the block.  One that has nothing to load may not leave before the others are done.
//
// Report: barrier

__global__ void reduce(const int *in, int *out, int n)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + tid;
    sdata[tid] = i < n ? in[i] : 0;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
            __syncthreads();
        }
    }

    if (tid == 0)
        atomicAdd(out, sdata[0]);
}
