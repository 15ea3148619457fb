// The last warp unrolled, and synchronised
//
// Once 64 values are left, one warp does the rest: a loop unrolled at compile time, and barriers for the
// warp instead of the block.  The other warps are done.
//
// A warp is not synchronised by nature: since sm_70 its lanes may run apart, so each step ends in
// __syncwarp.  One is enough because in a step lanes below s write and only elements from s on are read by
// others.  Let the idle lanes add too, as the unguarded original does, and a lane writes what its neighbour
// reads: that takes two barriers a step.  ladder/wrong/ has it with none, with `volatile`, and with one.
//
// Fixes in 07:  the block barriers of the last six steps, and their loop.
// Still costs:  a step of the tree still goes through shared memory; one result per block is left for
//               someone to add.
// From:         parallel patterns, step 5, which leaves out every barrier and reads out of bounds at a
//               block of 32.
//
// Tile: 2
// Shared: 1
// Finish: relaunch
// Warp: 32
// Ops: sum prod min max argmax
// Tree: sequential
// Barriers: first and each step above one warp
// Explain: -n 256
// Textbook: sdata[tid] += sdata[tid + s]; __syncwarp();
// Misprint: Parallel patterns, step 5: threads 32-63 do no work in the last warp, since `tid < 32`
//           excludes them; at a block of 32 it reads out of bounds; and the lanes of a warp are not
//           "automatically synchronised": since sm_70 the missing barriers are a race.
// Misprinted: last_warp_unsynchronised last_warp_of_32

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
        if (tile != begin)
            __syncthreads(); // the last warp may still be reading the tile before
        store(shared, tid, combine(load_padded(input, indices, tile + tid, end),
                                   load_padded(input, indices, tile + blockDim.x + tid, end)));
        __syncthreads();

        for (unsigned int s = blockDim.x / 2; s > 32; s /= 2) { // tree
            if (tid < s)
                store(shared, tid, combine(load(shared, tid), load(shared, tid + s))); // combine
            __syncthreads();
        }
        if (tid < 32) {
#pragma unroll
            for (unsigned int s = 32; s > 0; s /= 2) {
                if (tid < s && s < blockDim.x)
                    store(shared, tid, combine(load(shared, tid), load(shared, tid + s))); // combine
                __syncwarp();
            }
        } // tree ends

        if (tid == 0)
            total = combine(total, load(shared, 0));
    }
    finish(total, partials, partial_indices, result, result_index, ticket);
}
