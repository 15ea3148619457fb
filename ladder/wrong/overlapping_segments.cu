// Segments that overlap
//
// As the chapter on reduction prints it in 10.6, for one block; launched with several, each block takes two
// block sizes of elements but begins only one behind the block before, and all write the same word.  Right
// is an i of 2 * blockIdx.x * blockDim.x + threadIdx.x, and a word or an atomic for each block.  512 ones
// make 256.
//
// Report: race
// Inspect: --grid 2 --block 128 --arg 'f32[512]=iota' --arg 'f32[1]=zeros'

#define BLOCK_SIZE 128

extern "C" __global__ void reduce(const float *input, float *output)
{
    __shared__ float input_s[BLOCK_SIZE];
    unsigned int t = threadIdx.x;
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;

    input_s[t] = input[i] + input[i + blockDim.x];
    __syncthreads();

    for (unsigned int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (t < stride)
            input_s[t] += input_s[t + stride];
        __syncthreads();
    }

    if (t == 0)
        output[0] = input_s[0]; // here
}
