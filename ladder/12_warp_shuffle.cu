// Warp shuffles
//
// Inside a warp the tree needs no memory: a lane reads the register of the lane `delta` above it, with
// delta = 16, 8 ... 1, and the shuffle itself keeps the lanes together.  Shared memory carries one value for
// each warp, from which the first warp builds the rest of the tree.
//
// Fixes in 11:  shared memory for every thread, two of its accesses and a barrier for every step; one
//               barrier is left.
// Still costs:  each load brings 4 or 8 bytes, and the next is asked for when it has arrived.  With one
//               tree for each block, a better tree makes hardly a difference where the array is large.
// From:         the notebook on parallel reduction, which names warp primitives as its next lesson.
//
// Tile: 1
// Shared: warp
// Finish: relaunch
// Warp: 32
// Ops: sum prod min max argmax
// Tree: registers
// Barriers: one
// Explain: -n 64
// Textbook: sum += __shfl_down_sync(0xffffffff, sum, delta);

#include "rung.cuh"

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    items shared = shared_items(warps);
    unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    item mine = identity();

    for (unsigned long long i = first; i < n; i += threads)
        mine = combine(mine, load_input(input, indices, i));

    for (unsigned int delta = 16; delta > 0; delta /= 2) { // tree
        item above = shuffle_down(mine, delta);
        mine = combine(mine, above); // combine
    }
    if (lane == 0)
        store(shared, warp, mine);
    __syncthreads();
    if (warp == 0) {
        mine = lane < warps ? load(shared, lane) : identity();
        for (unsigned int delta = warps / 2; delta > 0; delta /= 2) {
            item above = shuffle_down(mine, delta);
            mine = combine(mine, above); // combine
        }
    } // tree ends

    finish(mine, partials, partial_indices, result, result_index, ticket);
}
