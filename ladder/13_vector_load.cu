// Vector loads
//
// A thread asks for 16 bytes at a time, and for four times 16 bytes before it uses the first: memory is far
// away, and what counts is how many bytes are on their way.  The few elements before the first address that
// 16 divides, and those behind the last whole vector, are taken one by one, so any pointer and any n will
// do.
//
// Fixes in 12:  the wait for every single load; and three of four load instructions.
// Still costs:  a second launch for the partial results: half a microsecond on an H200, a twentieth of the
//               time of four million elements, and too little to see from ten million on.
// From:         beyond the tutorials.
//
// Tile: 4
// Shared: warp
// Finish: relaunch
// Warp: 32
// Ops: sum prod min max argmax
// Tree: registers
// Barriers: one
// Explain: -n 256
// Textbook: int4 v = ((const int4 *)input)[i]; sum += v.x + v.y + v.z + v.w;

#include "rung.cuh"

#define WIDTH (16 / sizeof(element)) // elements in a vector
#define IN_FLIGHT 4                  // vectors that are asked for before the first is used

typedef struct __align__(16) {
    element values[WIDTH];
} vector;

static __device__ item combine_vector(item mine, vector loaded, const long long *indices,
                                      unsigned long long i)
{
#pragma unroll
    for (unsigned int j = 0; j < WIDTH; j++)
        mine = combine(mine, make_item(loaded.values[j], index_of(indices, i + j)));
    return mine;
}

// What the thread takes of the array, by grid stride: vectors, and of the few elements before the first and
// behind the last of them at most one each.
static __device__ item gather(const element *input, const long long *indices, unsigned long long n)
{
    unsigned long long threads = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long head = min(n, (16 - (unsigned long long)input % 16) % 16 / sizeof(element));
    unsigned long long count = (n - head) / WIDTH, tail = head + count * WIDTH;
    const vector *vectors = (const vector *)(input + head);
    item mine = identity();
    unsigned long long i = first;

    if (first < head)
        mine = load_input(input, indices, first);
    for (; i + (IN_FLIGHT - 1) * threads < count; i += IN_FLIGHT * threads) {
        vector loaded[IN_FLIGHT];
#pragma unroll
        for (unsigned int k = 0; k < IN_FLIGHT; k++)
            loaded[k] = vectors[i + k * threads];
#pragma unroll
        for (unsigned int k = 0; k < IN_FLIGHT; k++)
            mine = combine_vector(mine, loaded[k], indices, head + (i + k * threads) * WIDTH);
    }
#pragma unroll 1
    for (; i < count; i += threads)
        mine = combine_vector(mine, vectors[i], indices, head + i * WIDTH);
    if (tail + first < n)
        mine = combine(mine, load_input(input, indices, tail + first));
    return mine;
}

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    items shared = shared_items(warps);
    item mine = gather(input, indices, n);

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
