// Adding on load
//
// Each thread loads two elements, one block size apart, and stores their sum: the first step of the tree
// happens in registers, before anything is in shared memory.
//
// Fixes in 06:  the threads that only load: the same elements take half of the threads and half of the
//               shared memory, so more blocks are resident, and one step and one barrier less.
// Still costs:  the last steps, in which one warp works and all wait.
// From:         parallel patterns, step 4; the CUDA programming note, "add during load"; the chapter on
//               reduction, 10.6, whose kernel overlaps the segments of several blocks.
//
// Tile: 2
// Shared: 1
// Finish: relaunch
// Ops: sum prod min max argmax
// Tree: sequential
// Barriers: first and each step
// Explain: -n 16 --warp 4 --banks 4
// Textbook: sdata[tid] = input[i] + input[i + blockDim.x]; sdata[tid] += sdata[tid + s];
// Misprint: The chapter's kernel of 10.6 overlaps its segments when it is launched with several blocks:
//           they begin blockDim.x apart and are 2 * blockDim.x long.
// Misprinted: overlapping_segments

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
