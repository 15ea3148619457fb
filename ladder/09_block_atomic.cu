// One atomic for each block
//
// A grid of blocks, each with a segment of the array and a tree of its own; the blocks' results meet in one
// word by one atomic operation each.  Atomics are back, n / 2B of them instead of the n of rung 00.
//
// Fixes in 08:  the second pass over the partial results, on the host or in another launch.  (The tree is
//               that of rung 07: one change at a time.)
// Still costs:  a thread loads only two elements, so most of a block's time goes into the tree, with ever
//               fewer threads at work; all blocks still queue at one word, so that where they are many the
//               second pass was cheaper; they arrive in any order, so a float sum may differ from run to run.
// From:         the chapter on reduction, 10.7, "hierarchical reduction for arbitrary input length".
//
// Tile: 2
// Shared: 1
// Finish: atomic
// Ops: sum prod min max argmax
// Tree: sequential
// Barriers: first and each step
// Explain: -n 16 --warp 4 --banks 4
// Textbook: sdata[tid] += sdata[tid + s]; if (tid == 0) atomicAdd(result, sdata[0]);

#include "rung.cuh"

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    items shared = shared_items(blockDim.x);
    unsigned int tid = threadIdx.x;
    unsigned long long begin = portion_begin(n, portion), end = portion_end(n, portion);
    item total = identity();

    for (unsigned long long tile = begin; tile < end; tile += 2 * blockDim.x) {
        store(shared, tid, combine(load_padded(input, indices, tile + tid, end),
                                   load_padded(input, indices, tile + blockDim.x + tid, end)));
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
