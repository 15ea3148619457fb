// Below zero
//
// Where does a maximum begin?
//
// Report: result

__global__ void largest(const float *in, float *out, int n)
{
    extern __shared__ float sdata[];
    unsigned int tid = threadIdx.x;
    float best = 0;
    for (int i = tid; i < n; i += blockDim.x)
        best = fmaxf(best, in[i]);
    sdata[tid] = best;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            sdata[tid] = fmaxf(sdata[tid], sdata[tid + s]);
        __syncthreads();
    }

    if (tid == 0)
        *out = sdata[0];
}
