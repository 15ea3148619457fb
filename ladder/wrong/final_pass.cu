// A last pass for 256 partial results at most
//
// As the notebook on parallel reduction prints it: the second launch has one block of 256 threads, each of
// which takes one of the first launch's results.  If there were more, nobody takes the rest.  Right is a
// grid-stride loop, as in the first pass.  300 ones make 256.
//
// Report: none
// Inspect: --block 256 --arg 'f32[300]=ones' --arg 'f32[1]=zeros' --arg i32:300 --expect 1=300
// Result: 256, and must be 300

#define BLOCK_SIZE 256

extern "C" __global__ void reduce(const float *blockSums, float *result, int n)
{
    __shared__ float sdata[BLOCK_SIZE];
    int tid = threadIdx.x;

    sdata[tid] = (tid < n) ? blockSums[tid] : 0.0f;
    __syncthreads();

    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }

    if (tid == 0)
        result[0] = sdata[0];
}
