// A read past the end of the input
//
// Two elements for each thread, without a look at how many there are: 200 elements end in the middle of the
// second load.
//
// Report: bounds
// Inspect: --block 128 --shared 512 --arg 'i32[200]=iota' --arg 'i32[1]=zeros'

extern "C" __global__ void reduce(const int *input, int *output)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    sdata[tid] = input[i] + input[i + blockDim.x]; // here
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }

    if (tid == 0)
        output[blockIdx.x] = sdata[0];
}
