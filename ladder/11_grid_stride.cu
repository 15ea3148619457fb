// Grid stride
//
// The grid is chosen for the GPU, not for the array: each thread walks over the whole array in strides
// of as many elements as there are threads, adds what it meets in a register, and takes part in one tree
// at the end.  The partial results, as many as blocks, are reduced by a second launch of the same kernel.
//
// Fixes in 10:  the compiled-in factor: any n with any grid, one tree for each block however large n is.
// Still costs:  the tree still goes through shared memory and barriers where the lanes of a warp could
//               exchange registers; a second launch; and a thread asks for one element at a time, rung 10 for
//               eight, which is why rung 10 is faster.
// From:         the notebook on parallel reduction, parts 3 to 6: "two-pass reduction".  Its last pass takes
//               no more than 256 partial results.
//
// Tile: 1
// Shared: 1
// Finish: relaunch
// Ops: sum prod min max argmax
// Tree: sequential
// Barriers: first and each step
// Explain: -n 32 --block 8 --warp 4 --banks 4
// Textbook: for (; i < n; i += gridDim.x * blockDim.x) sum += input[i]; sdata[tid] += sdata[tid + s];
// Misprint: The notebook's "optimized" kernel of part 6 is that of part 3; the picture of part 3 is of
//           another tree, of neighbours; and its final pass fails above 256 blocks.
// Misprinted: final_pass

#include "rung.cuh"

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    items shared = shared_items(blockDim.x);
    unsigned int tid = threadIdx.x;
    unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    item mine = identity();

    for (unsigned long long i = first; i < n; i += threads)
        mine = combine(mine, load_input(input, indices, i));

    store(shared, tid, mine);
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) { // tree
        if (tid < s)
            store(shared, tid, combine(load(shared, tid), load(shared, tid + s))); // combine
        __syncthreads();
    } // tree ends

    if (tid == 0)
        mine = load(shared, 0);
    finish(mine, partials, partial_indices, result, result_index, ticket);
}
