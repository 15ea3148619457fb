// Interleaved addressing, by consecutive threads
//
// The same additions as in rung 04, done by the first threads instead of scattered ones: thread t adds to
// element 2*s*t the element s further on.
//
// Fixes in 04:  divergence: whole warps work or rest until less than one is left; and the modulo.
// Still costs:  the working lanes' elements lie 2s apart, and so in ever fewer banks: accesses of up to 32
//               lanes go to one bank, one after the other.  Divergence was traded for bank conflicts,
//               wavefront for wavefront; what makes it faster is that the modulo is gone.
// From:         parallel patterns, step 2; the CUDA programming note, "no divergence branch".  The first
//               prints the guard as `index < blockDim.x / s`, which stops the tree too early.
//
// Tile: 1
// Shared: 1
// Finish: relaunch
// Ops: sum prod min max argmax
// Tree: strided
// Barriers: first and each step
// Explain: -n 16 --warp 4 --banks 4
// Textbook: sdata[index] += sdata[index + s];
// Misprint: Parallel patterns, step 2, guards with `index < blockDim.x / s`; right is `index <
//           blockDim.x`.  As printed it sums 128 ones to 30.
// Misprint: The CUDA programming note's list of conflicting threads slips: N+32 should be N+24; at i = 2
//           it says 16 threads and counts to 31; and it takes the size of a warp for the number of banks.
// Misprinted: strided_guard

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
            unsigned int index = 2 * s * tid;
            if (index < blockDim.x)
                store(shared, index, combine(load(shared, index), load(shared, index + s))); // combine
            __syncthreads();
        } // tree ends

        if (tid == 0)
            total = combine(total, load(shared, 0));
    }
    finish(total, partials, partial_indices, result, result_index, ticket);
}
