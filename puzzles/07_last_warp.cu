// The last warp
//
// The last steps need one warp only, and need no barrier of the block.  They do need one of the warp: since
// independent thread scheduling its lanes may run apart, and idle lanes that add, too, overwrite what others read.
//
// Report: race

__global__ void reduce(const int *in, int *out, int n)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    sdata[tid] = tid < n ? in[tid] : 0;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 16; s /= 2) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }

    if (tid < 32) {
        for (unsigned int s = 16; s > 0; s /= 2)
            sdata[tid] += sdata[tid + s];
    }

    if (tid == 0)
        *out = sdata[0];
}
