// Bulk copies
//
// From sm_90 on a thread can ask for kilobytes at once: a bulk copy brings them from global to shared memory
// by itself and reports their arrival to a barrier in shared memory, an mbarrier, that counts bytes.
//
// A ring of such copies is on its way while the block adds up what came before, so no register holds a load in
// flight and hardly an instruction asks for one.  And the blocks of a cluster, which run side by side, write
// their results into the shared memory of the first of them: one partial result for two blocks.
//
// Fixes in 15:  a load instruction for every 16 bytes of a thread, and its registers while it is on its way.
// Still costs:  a barrier of the block for every part of the ring; and sm_90.  On an H200 loads into
//               registers were no problem: rung 15 is as fast, and faster where the array is small.
// From:         beyond the tutorials.
//
// Tile: 4
// Shared: warp
// Finish: last-block
// Warp: 32
// Target: sm_90
// Cluster: 2
// Ops: sum prod min max argmax
// Tree: registers
// Explain: -n 4096 --block 64
// Textbook: cuda::memcpy_async(tile, input, nbytes, bar); *cluster.map_shared_rank(own, 0) = sum;

#define CLUSTER 2

#include "rung.cuh"

#define WIDTH (16 / sizeof(element)) // elements in a vector
#define STAGES 4                     // parts of the ring
#define STAGE 512                    // vectors in each

typedef struct __align__(16) {
    element values[WIDTH];
} vector;

typedef unsigned long long mbarrier;

static __device__ unsigned int shared_address(const void *generic)
{
    return (unsigned int)__cvta_generic_to_shared(generic);
}

// ---- the ring

// The barrier's phase ends when its one thread has arrived, and all the bytes that this thread told of.
static __device__ void prepare(mbarrier *arrivals)
{
    if (threadIdx.x == 0) {
        for (unsigned int i = 0; i < STAGES; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
                         :
                         : "r"(shared_address(&arrivals[i]))
                         : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
}

static __device__ void ask(vector *stage, const vector *from, unsigned int count, mbarrier *arrival)
{
    unsigned int nbytes = count * sizeof(vector);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(arrival)), "r"(nbytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 :
                 : "r"(shared_address(stage)), "l"(__cvta_generic_to_global(from)), "r"(nbytes),
                   "r"(shared_address(arrival))
                 : "memory");
}

// Waits for the end of the phase that has this parity.
static __device__ void await(mbarrier *arrival, unsigned int parity)
{
    unsigned int is_over;
    do
        asm volatile("{ .reg .pred over; mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2; "
                     "selp.u32 %0, 1, 0, over; }"
                     : "=r"(is_over)
                     : "r"(shared_address(arrival)), "r"(parity)
                     : "memory");
    while (!is_over);
}

// ---- what the thread takes of the array

static __device__ item combine_vector(item mine, vector loaded, const long long *indices,
                                      unsigned long long i)
{
#pragma unroll
    for (unsigned int j = 0; j < WIDTH; j++)
        mine = combine(mine, make_item(loaded.values[j], index_of(indices, i + j)));
    return mine;
}

// Of so many vectors that are left.
static __device__ unsigned int stage_size(unsigned long long left)
{
    return min(left, (unsigned long long)STAGE);
}

// Blocks take stages in turn, round the grid; the last stage may be short.
static __device__ item gather(const element *input, const long long *indices, unsigned long long n)
{
    __shared__ __align__(128) vector ring[STAGES][STAGE]; // at other addresses copies take a tenth longer
    __shared__ mbarrier arrivals[STAGES];
    unsigned long long first = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long head = min(n, (16 - (unsigned long long)input % 16) % 16 / sizeof(element));
    unsigned long long count = (n - head) / WIDTH, tail = head + count * WIDTH;
    unsigned long long begin = (unsigned long long)blockIdx.x * STAGE;
    unsigned long long step = (unsigned long long)gridDim.x * STAGE; // to the block's next stage
    const vector *vectors = (const vector *)(input + head);
    item mine = identity();
    unsigned int slot = 0, parity = 0;

    prepare(arrivals);
    if (threadIdx.x == 0)
        for (unsigned int i = 0; i < STAGES && begin + i * step < count; i++)
            ask(ring[i], vectors + begin + i * step, stage_size(count - begin - i * step), &arrivals[i]);

    if (first < head)
        mine = load_input(input, indices, first);
    if (tail + first < n)
        mine = combine(mine, load_input(input, indices, tail + first));

    for (unsigned long long at = begin; at < count; at += step) {
        unsigned int here = stage_size(count - at);
        unsigned long long next = at + STAGES * step;
        await(&arrivals[slot], parity);
        for (unsigned int i = threadIdx.x; i < here; i += blockDim.x)
            mine = combine_vector(mine, ring[slot][i], indices, head + (at + i) * WIDTH);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // what was read of it has come
        __syncthreads(); // for all, so it may be written again
        if (threadIdx.x == 0 && next < count)
            ask(ring[slot], vectors + next, stage_size(count - next), &arrivals[slot]);
        slot = (slot + 1) % STAGES;
        parity ^= slot == 0;
    }
    return mine;
}

// ---- the cluster

// Where the cluster's first block has in its shared memory what this one has at `mine`.
static __device__ void *in_first_block(const void *mine)
{
    unsigned long long theirs;
    asm("mapa.u64 %0, %1, 0;" : "=l"(theirs) : "l"(mine));
    return (void *)theirs;
}

static __device__ void cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// A result of each block of the cluster, of which the first block's array is used.
static __device__ items cluster_items(void)
{
    __shared__ element values[CLUSTER];
    __shared__ long long found[CLUSTER];
    items own = {values, found};
    return own;
}

static __device__ void hand_to_first_block(item mine)
{
    items own = cluster_items();
    items first = {(element *)in_first_block(own.values), (long long *)in_first_block(own.indices)};

    cluster_barrier(); // the first block runs
    if (threadIdx.x == 0)
        store(first, blockIdx.x % CLUSTER, mine);
    cluster_barrier(); // all have stored
}

// The cluster's result, in thread 0 of its first block.
static __device__ item combine_cluster(item mine)
{
    if (threadIdx.x == 0)
        for (unsigned int i = 1; i < CLUSTER; i++)
            mine = combine(mine, load(cluster_items(), i));
    return mine;
}

extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1)
    reduce(element *input, const long long *indices, unsigned long long n, unsigned long long portion,
           element *partials, long long *partial_indices, element *result, long long *result_index,
           unsigned int *ticket)
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

    hand_to_first_block(mine);
    if (blockIdx.x % CLUSTER == 0)
        finish(combine_cluster(mine), partials, partial_indices, result, result_index, ticket);
}
