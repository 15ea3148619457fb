// A tree in place, strided
//
// The threads of a block form a tree instead of a queue: in log2 steps, half of the remaining values are
// added to the other half.  Thread t owns element 2t and adds to it the element `stride` further on; the
// stride doubles from 1 to the block size.  The sums stay in the input array itself.
//
// Fixes in 00:  the queue of atomics at one word: a block of B threads adds 2B elements in log2(2B) steps.
// Still costs:  from the second step on every warp diverges, down to one lane that works for 31 that wait;
//               its lanes own elements ever further apart, so that an access touches line after line of
//               global memory; and the input is overwritten.
// From:         the chapter on reduction, 10.3, "a simple reduction kernel".
//
// Tile: 2
// Shared: 0
// In place: yes
// Finish: relaunch
// Ops: sum prod min max
// Tree: pairs
// Barriers: each step
// Explain: -n 16 --warp 4 --banks 4
// Textbook: input[i] += input[i + stride];
// Misprint: The chapter prints the requests of 256 elements as (4 x 2 + 4 + 2 + 1) x 3 = 141, and those
//           of 2048 alike; the factor 5 is missing: (4 x 5 x 2 + 4 + 2 + 1) x 3 = 141.
// Misprint: The chapter gives 35 % utilization at 256 elements; counted it is 255/864 = 29.5 %: iteration
//           6 was left out.  (Its 66 % for the convergent kernel, 255/384, is right.)
// Misprint: The chapter's exercise 1 answers 32 divergent warps of 1024 elements in the fifth iteration;
//           the block has only 16 warps, and all 16 diverge.

#include "rung.cuh"

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    unsigned int t = threadIdx.x, i = 2 * t;
    unsigned long long begin = portion_begin(n, portion), end = portion_end(n, portion);
    item total = identity();

    for (unsigned long long first = begin; first < end; first += 2 * blockDim.x) {
        items tile = {input + first, 0};
        unsigned int count = min(end - first, 2ULL * blockDim.x);

        for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) { // tree
            if (t % stride == 0 && i + stride < count)
                store(tile, i, combine(load(tile, i), load(tile, i + stride))); // combine
            __syncthreads();
        } // tree ends

        if (t == 0)
            total = combine(total, load(tile, 0));
    }
    finish(total, partials, partial_indices, result, result_index, ticket);
}
