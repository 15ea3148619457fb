// A barrier inside a divergent branch
//
// Only the threads that add come to the barrier, and it waits for all.
//
// Report: barrier
// Inspect: --block 128 --shared 512 --arg 'i32[128]=iota' --arg 'i32[1]=zeros'

extern "C" __global__ void reduce(const int *input, int *output)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = input[i];
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            sdata[tid] += sdata[tid + s];
            __syncthreads(); // here
        }
    }
    __syncthreads();

    if (tid == 0)
        output[blockIdx.x] = sdata[0];
}
