// Sequential addressing
//
// The stride halves instead of doubling: thread t adds element t + s to element t, with s = B/2, B/4 ... 1.
// Neighbouring lanes touch neighbouring elements, which lie in different banks.
//
// Fixes in 05:  the bank conflicts: every access of a warp is one wavefront (a seventh less time on an H200).
// Still costs:  half of the threads load an element and never add one; and in each of the last steps the
//               whole block waits at a barrier for ever fewer lanes of one warp.
// From:         parallel patterns, step 3; the CUDA programming note, "no bank conflict".
//
// Tile: 1
// Shared: 1
// Finish: relaunch
// Ops: sum prod min max argmax
// Tree: sequential
// Barriers: first and each step
// Explain: -n 16 --warp 4 --banks 4
// Textbook: sdata[tid] += sdata[tid + s];
// Misprint: The notebook's "optimized" kernel of part 6 is that of part 3; the picture of part 3 is of
//           another tree, of neighbours; and its final pass fails above 256 blocks.

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
