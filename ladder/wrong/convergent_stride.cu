// The convergent tree with a wrong first stride
//
// As the chapter on reduction prints it in 10.4: n/2 threads, and a stride that starts at half of that, so
// the upper half of the array is never added.  Right is `stride = blockDim.x`.  256 ones make 128.
//
// Report: none
// Inspect: --block 128 --arg 'f32[256]=ones' --arg 'f32[1]=zeros' --expect 1=256
// Result: 128, and must be 256

extern "C" __global__ void reduce(float *input, float *output)
{
    int i = threadIdx.x;

    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            input[i] += input[i + stride];
        __syncthreads();
    }

    if (threadIdx.x == 0)
        *output = input[0];
}
