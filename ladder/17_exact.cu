// The exact sum
//
// Every rung so far rounds at each addition, so its result depends on the order, and the order on the block
// size, the grid and the chance of atomics.  Here floats are added as integers, whose sum is exact in any order;
// one rounding at the end gives the float nearest to the true sum.
//
// The kernel in this file, which `explain` follows, is rung 06 with one digit: it holds whole numbers whose magnitudes
// add up to less than 2^31.  The engine behind `warpfold sum` has a long fixed-point number of digits 32 bits apart, wide
// enough for any sum of such floats, with the same bits on every device, for every grid; docs/exact-sums.md tells how
// that can be fast.  The ladder times and verifies that engine, wf_reduce, on the same array, its result left on the device.
//
// Fixes in 16:  the rounding errors, and that they change with the grid.
// Still costs:  more instructions for each element than one addition: hidden behind memory where the array is
//               large, and seen where it is small.
// From:         beyond the tutorials.
//
// Tile: 1
// Shared: 1
// Finish: last-block
// Target: sm_75
// Runs: engine
// Types: i32 u32 f32 f64
// Cells: i32
// Ops: sum
// Tree: sequential
// Barriers: first and each step
// Explain: --type f32 --values 100000000,3,2,-100000000,5,1,7,6 --warp 4 --banks 4
// Textbook: digits[tid] += digits[tid + s];

#include "rung.cuh"

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    extern __shared__ int digits[];
    unsigned int tid = threadIdx.x;
    int digit = 0;

    for (unsigned long long i = tid; i < n; i += blockDim.x)
        digit += (int)input[i]; // loses nothing: a whole number, and an integer addition
    digits[tid] = digit;
    __syncthreads();

    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) { // tree
        if (tid < s)
            digits[tid] += digits[tid + s]; // combine
        __syncthreads();
    } // tree ends

    if (tid == 0)
        *result = (element)digits[0]; // the only rounding
}
