// A queue at one word
//
// Right again, and slow: every thread queues at the same word.  Use the shared memory of the block.
//
// Report: gate

__global__ void reduce(const int *in, int *out, int n)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(out, in[i]);
}
