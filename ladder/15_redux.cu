// One instruction for a warp
//
// From sm_80 on a warp reduces 32 integers of 32 bits in one instruction.  Two of them and a barrier are the
// whole tree of a block.  Floats, wider integers, products and argmax have no such instruction and shuffle
// as in rung 12.
//
// Fixes in 14:  five shuffles and five additions for each warp: now one instruction.
// Still costs:  next to nothing beside the loads: memory is the limit, as it was in rung 14.
// From:         beyond the tutorials.
//
// Tile: 4
// Shared: warp
// Finish: last-block
// Warp: 32
// Target: sm_80
// Ops: sum prod min max argmax
// Tree: registers
// Barriers: one
// Explain: -n 256
// Textbook: sum = __reduce_add_sync(0xffffffff, sum);

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

#if defined TYPE_i32 || defined TYPE_u32 // what has an instruction
#if defined OP_sum
#define REDUX __reduce_add_sync
#elif defined OP_min
#define REDUX __reduce_min_sync
#elif defined OP_max
#define REDUX __reduce_max_sync
#endif
#endif

extern "C" __global__ void reduce(element *input, const long long *indices, unsigned long long n,
                                  unsigned long long portion, element *partials, long long *partial_indices,
                                  element *result, long long *result_index, unsigned int *ticket)
{
    unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    items shared = shared_items(warps), all = {partials, partial_indices};
    item mine = gather(input, indices, n);
    bool is_final = !IN_LAST_BLOCK || gridDim.x == 1; // nobody to wait for

    for (;;) {
        // tree
#ifdef REDUX
        mine.value = REDUX(0xffffffff, mine.value); // combine
#else
        for (unsigned int delta = 16; delta > 0; delta /= 2) {
            item above = shuffle_down(mine, delta);
            mine = combine(mine, above); // combine
        }
#endif
        if (lane == 0)
            store(shared, warp, mine);
        __syncthreads();
        if (warp == 0) {
            mine = lane < warps ? load(shared, lane) : identity();
#ifdef REDUX
            mine.value = REDUX(0xffffffff, mine.value); // combine
#else
            for (unsigned int delta = warps / 2; delta > 0; delta /= 2) {
                item above = shuffle_down(mine, delta);
                mine = combine(mine, above); // combine
            }
#endif
        } // tree ends
        if (is_final)
            break;

        if (!is_last_block(mine, all, ticket))
            return;
        mine = identity();
        for (unsigned int i = threadIdx.x; i < gridDim.x; i += blockDim.x)
            mine = combine(mine, load(all, i));
        is_final = true;
    }

    if (IN_LAST_BLOCK)
        finish_whole(mine, result, result_index);
    else
        finish(mine, partials, partial_indices, result, result_index, ticket);
}
