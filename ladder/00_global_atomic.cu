// One address for everyone
//
// Every element is combined into one word of global memory by an atomic operation.  Nothing can go wrong and
// nothing can go fast: the word takes one operation after the other, however many threads there are.
//
// Fixes:        the race of a plain `*result += input[i]`, which loses most of its additions.
// Still costs:  n atomic operations on one address.
// From:         the notebook on parallel reduction, "naive approach (don't do this!)".
//
// Tile: 1
// Shared: 0
// Finish: atomic
// Ops: sum prod min max
// Tree: none
// Barriers: none
// Explain: -n 8 --warp 4 --banks 4
// Textbook: atomicAdd(result, input[i]);

#include "rung.cuh"

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FINISH_atomic
    element *word = result;
#else
    element *word = partials + blockIdx.x; // a word for each block
    if (threadIdx.x == 0)
        *word = (element)IDENTITY;
    __syncthreads();
#endif

    for (unsigned long long i = first; i < n; i += threads) // tree
        atomic_combine(word, input[i]); // combine
    // tree ends

#ifndef FINISH_atomic
    __syncthreads();
    finish(make_item(*word, 0), partials, partial_indices, result, result_index, ticket);
#endif
}
