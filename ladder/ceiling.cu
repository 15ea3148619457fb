// The read ceiling: how fast an array can be read at all
//
// Nothing but loads: 16 bytes at a time, many in flight, and an exclusive or so that the compiler keeps them.
// The ladder's times are held against the best of this kernel over a few grids, in the same run.

#define IN_FLIGHT 8

typedef struct __align__(16) {
    unsigned int words[4];
} vector;

static __device__ unsigned int fold(vector loaded)
{
    return loaded.words[0] ^ loaded.words[1] ^ loaded.words[2] ^ loaded.words[3];
}

extern "C" __global__ void read_all(const vector *input, unsigned long long count, unsigned int *output)
{
    unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int folded = 0;

    for (; i + (IN_FLIGHT - 1) * threads < count; i += IN_FLIGHT * threads) {
        vector loaded[IN_FLIGHT];
#pragma unroll
        for (unsigned int k = 0; k < IN_FLIGHT; k++)
            loaded[k] = input[i + k * threads];
#pragma unroll
        for (unsigned int k = 0; k < IN_FLIGHT; k++)
            folded ^= fold(loaded[k]);
    }
    for (; i < count; i += threads)
        folded ^= fold(input[i]);
    if (folded == 0x5bd1e995) // hardly ever
        *output = folded;
}
