// The tree in shared memory
//
// Each thread brings two elements into shared memory, 2B for a block of B threads, and the tree of rung 01
// is built there: thread t owns element 2t, the stride doubles from 1 to B.  Each step begins with a barrier:
// before the first it waits for the loads, before each of the others for the sums of the previous step.
//
// Fixes in 02:  the partial sums in global memory: each element is read from it once, and the input
//               stays as it is.
// Still costs:  divergence is back as in rung 01, and with it the modulo; and where lanes own every second,
//               fourth ... element, they meet in the same banks of shared memory.  On an H200 that costs
//               more than global memory did: rung 02 is faster.
// From:         the teaching kit on parallel sum reduction, "the reduction steps".
//
// Tile: 2
// Shared: 2
// Finish: relaunch
// Ops: sum prod min max argmax
// Tree: pairs
// Barriers: each step
// Explain: -n 16 --warp 4 --banks 4
// Textbook: partialSum[2 * t] += partialSum[2 * t + stride];

#include "rung.cuh"

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    items shared = shared_items(2 * blockDim.x);
    unsigned int t = threadIdx.x;
    unsigned long long begin = portion_begin(n, portion), end = portion_end(n, portion);
    item total = identity();

    for (unsigned long long tile = begin; tile < end; tile += 2 * blockDim.x) {
        // What thread 0 read in the last step of the tile before are the two words that it overwrites itself.
        store(shared, t, load_padded(input, indices, tile + t, end));
        store(shared, blockDim.x + t, load_padded(input, indices, tile + blockDim.x + t, end));

        for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) { // tree
            __syncthreads();
            if (t % stride == 0)
                store(shared, 2 * t, combine(load(shared, 2 * t), load(shared, 2 * t + stride))); // combine
        } // tree ends

        if (t == 0)
            total = combine(total, load(shared, 0));
    }
    finish(total, partials, partial_indices, result, result_index, ticket);
}
