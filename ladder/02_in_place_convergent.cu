// A tree in place, convergent
//
// The same tree with other owners: thread t owns element t, and the stride halves from the block size to
// 1.  The threads that still work are always the first ones, so whole warps work or rest; and neighbouring
// threads touch neighbouring elements.
//
// Fixes in 01:  divergence, except in the last five steps, where less than a warp is left; and scattered
//               accesses: now a warp's access is one line of 128 bytes.
// Still costs:  each step reads from global memory what the step before wrote there; the input is
//               overwritten.
// From:         the chapter on reduction, 10.4 and 10.5, "minimizing control divergence" and "memory
//               divergence".  It prints a first stride of blockDim.x/2, which leaves out half of the
//               elements.
//
// Tile: 2
// Shared: 0
// In place: yes
// Finish: relaunch
// Ops: sum prod min max
// Tree: leading
// Barriers: each step
// Explain: -n 16 --warp 4 --banks 4
// Textbook: input[t] += input[t + stride];
// Misprint: The chapter on reduction, 10.4, starts the stride at blockDim.x/2 with n/2 threads; right is
//           blockDim.x.  As printed it sums 256 ones to 128.
// Misprinted: convergent_stride

#include "rung.cuh"

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    unsigned int t = threadIdx.x;
    unsigned long long begin = portion_begin(n, portion), end = portion_end(n, portion);
    item total = identity();

    for (unsigned long long first = begin; first < end; first += 2 * blockDim.x) {
        items tile = {input + first, 0};
        unsigned int count = min(end - first, 2ULL * blockDim.x);

        for (unsigned int stride = blockDim.x; stride > 0; stride /= 2) { // tree
            if (t < stride && t + stride < count)
                store(tile, t, combine(load(tile, t), load(tile, t + stride))); // combine
            __syncthreads();
        } // tree ends

        if (t == 0)
            total = combine(total, load(tile, 0));
    }
    finish(total, partials, partial_indices, result, result_index, ticket);
}
