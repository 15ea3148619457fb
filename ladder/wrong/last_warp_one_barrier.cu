// The last warp with one barrier a step
//
// A barrier between the steps is not enough where idle lanes add too: in the step of 16, lane 16 writes the
// word that lane 0 reads, and nothing says which comes first.  Either the idle lanes keep still (rung 08),
// or a second barrier goes between everyone's load and everyone's store.
//
// Report: race
// Inspect: --block 128 --shared 512 --arg 'i32[256]=iota' --arg 'i32[1]=zeros'

extern "C" __global__ void reduce(const int *input, int *output)
{
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    sdata[tid] = input[i] + input[i + blockDim.x];
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }

    if (tid < 32) {
        sdata[tid] += sdata[tid + 32]; __syncwarp();
        sdata[tid] += sdata[tid + 16]; __syncwarp(); // here
        sdata[tid] += sdata[tid + 8]; __syncwarp(); // here
        sdata[tid] += sdata[tid + 4]; __syncwarp(); // here
        sdata[tid] += sdata[tid + 2]; __syncwarp(); // here
        sdata[tid] += sdata[tid + 1]; __syncwarp(); // here
    }

    if (tid == 0)
        output[blockIdx.x] = sdata[0];
}
