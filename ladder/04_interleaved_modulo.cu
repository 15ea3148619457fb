// Interleaved addressing, by modulo
//
// A thread for each element: one load into shared memory, then s = 1, 2, 4 ... B/2, and every thread whose
// number is a multiple of 2s adds the element s further on to its own.
//
// Fixes in 03:  two words of shared memory for each thread, now one; and bank conflicts: a working lane's own
//               element lies where its number says, so no two lanes of a warp meet in a bank.
// Still costs:  in each of the first five steps every warp diverges, and the modulo is a slow division; with
//               half of the work for each thread there are twice as many blocks, and so twice as many trees:
//               on an H200 it is the slowest of all trees.
// From:         parallel patterns, step 1; the CUDA programming note, "baseline".
//
// Tile: 1
// Shared: 1
// Finish: relaunch
// Ops: sum prod min max argmax
// Tree: multiples
// Barriers: first and each step
// Explain: -n 16 --warp 4 --banks 4
// Textbook: sdata[tid] += sdata[tid + s];

#include "rung.cuh"

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    items shared = shared_items(blockDim.x);
    unsigned int tid = threadIdx.x;
    unsigned long long begin = portion_begin(n, portion), end = portion_end(n, portion);
    item total = identity();

    for (unsigned long long tile = begin; tile < end; tile += blockDim.x) {
        store(shared, tid, load_padded(input, indices, tile + tid, end));
        __syncthreads();

        for (unsigned int s = 1; s < blockDim.x; s *= 2) { // tree
            if (tid % (2 * s) == 0)
                store(shared, tid, combine(load(shared, tid), load(shared, tid + s))); // combine
            __syncthreads();
        } // tree ends

        if (tid == 0)
            total = combine(total, load(shared, 0));
    }
    finish(total, partials, partial_indices, result, result_index, ticket);
}
