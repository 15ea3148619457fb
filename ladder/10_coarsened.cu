// Thread coarsening
//
// Each thread adds COARSEN pairs of elements in a register before the tree begins: fewer blocks do the same
// work, and for most of a block's time all of its threads are busy and none waits for another.
//
// Fixes in 09:  trees, barriers and atomics for every 2B elements: now for every 2B * COARSEN.
// Still costs:  the factor is fixed when the kernel is compiled, and the grid still grows with n.
// From:         the chapter on reduction, 10.8, "thread coarsening for reduced overhead".
//
// Tile: 8
// Coarsen: 4
// Shared: 1
// Finish: atomic
// Ops: sum prod min max argmax
// Tree: sequential
// Barriers: first and each step
// Explain: -n 64 --warp 4 --banks 4
// Textbook: sum += input[i] + input[i + blockDim.x]; sdata[tid] += sdata[tid + s];

#include "rung.cuh"

#ifndef COARSEN
#define COARSEN 4 // pairs that a thread adds for a tile
#endif

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    items shared = shared_items(blockDim.x);
    unsigned int tid = threadIdx.x;
    unsigned long long begin = portion_begin(n, portion), end = portion_end(n, portion);
    item total = identity();

    for (unsigned long long tile = begin; tile < end; tile += 2 * COARSEN * blockDim.x) {
        item sum = identity();
        for (unsigned int pair = 0; pair < COARSEN; pair++) {
            unsigned long long i = tile + 2 * pair * blockDim.x + tid;
            sum = combine(sum, combine(load_padded(input, indices, i, end),
                                       load_padded(input, indices, i + blockDim.x, end)));
        }
        store(shared, tid, sum);
        __syncthreads();

        for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) { // tree
            if (tid < s)
                store(shared, tid, combine(load(shared, tid), load(shared, tid + s))); // combine
            __syncthreads();
        } // tree ends

        if (tid == 0)
            total = combine(total, load(shared, 0));
    }
    finish(total, partials, partial_indices, result, result_index, ticket);
}
