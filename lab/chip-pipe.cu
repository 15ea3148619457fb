// Kernels that do one thing each, so that what `lab/chip pipe` counts of them is known.
//
// An `on` of 0 makes the predicate of every access false in all lanes.

extern __shared__ unsigned words[];

#define PARAMETERS const unsigned *input, unsigned *output, unsigned steps, unsigned on

static __device__ unsigned thread_index(void) {
    unsigned t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}

static __device__ unsigned shared_address(unsigned i) {
    return (unsigned)__cvta_generic_to_shared(words + i);
}

static __device__ unsigned shared_load(unsigned i, unsigned on) {
    unsigned value = 0;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.volatile.shared.u32 %0, [%1]; }"
                 : "+r"(value)
                 : "r"(shared_address(i)), "r"(on));
    return value;
}

static __device__ void shared_store(unsigned i, unsigned value, unsigned on) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p st.volatile.shared.u32 [%0], %1; }" ::"r"(
                     shared_address(i)),
                 "r"(value), "r"(on)
                 : "memory");
}

static __device__ unsigned global_load(const unsigned *from, unsigned on) {
    unsigned value = 0;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.volatile.global.u32 %0, [%1]; }"
                 : "+r"(value)
                 : "l"(from), "r"(on));
    return value;
}

static __device__ unsigned shuffle(unsigned value) {
    return __shfl_down_sync(0xffffffff, value, 16);
}

// ---- what a barrier counts -----------------------------------------------------------------------------

// Nothing but barriers.
extern "C" __global__ void pipe_barrier(PARAMETERS) {
#pragma unroll 1
    for (unsigned i = 0; i < steps; i++) __syncthreads();
}

// The thread's index, then `steps` times something and a barrier.
#define STEPS(name, something)                                                                               \
    extern "C" __global__ void pipe_##name(PARAMETERS) {                                                     \
        unsigned t = thread_index(), sum = t;                                                                \
        _Pragma("unroll 1") for (unsigned i = 0; i < steps; i++) {                                           \
            something;                                                                                       \
            __syncthreads();                                                                                 \
        }                                                                                                    \
        if (sum == 0x12345) output[0] = sum;                                                                 \
    }

STEPS(index, )
STEPS(shared_load, sum += shared_load(t, on))
STEPS(shared_store, shared_store(t, i, on))
STEPS(global_load, sum += global_load(input + t, on))
STEPS(shuffle, sum += shuffle(sum))
STEPS(fence, if (t < 32) __threadfence())
STEPS(each_fourth, if (i % 4 == 0) sum += shared_load(t, on))

// The first half of the blocks loads from shared memory, now and then; the others do nothing but barriers.
extern "C" __global__ void pipe_neighbours(PARAMETERS) {
    unsigned t = thread_index(), sum = 0;
    if (blockIdx.x < gridDim.x / 2) {
#pragma unroll 1
        for (unsigned i = 0; i < steps; i++) {
            sum += shared_load(t, on);
            long long start = clock64();
            while (clock64() - start < 4000) {
            }
        }
    } else {
#pragma unroll 1
        for (unsigned i = 0; i < 200 * steps; i++) __syncthreads();
    }
    if (sum == 0x12345) output[0] = sum;
}

// ---- what is in conflict with what ---------------------------------------------------------------------
//
// Warps 0 to 3 do one thing, warps 4 to 7 load from global memory or shuffle, without a barrier.

enum { STORES, SHUFFLES, LOADS, LOADS_OFF };
enum { IDLE, MISSES_128, MISSES_32, HITS_128, SHUFFLING };

template <int THING>
static __device__ unsigned things(const unsigned *input, unsigned t, unsigned steps, unsigned on) {
    unsigned sum = t;
#pragma unroll 1
    for (unsigned i = 0; i < 8 * steps; i++) {
        if (THING == STORES) // of a lane of each warp
            shared_store(t / 32, i, on & (t % 32 == 0));
        if (THING == SHUFFLES) sum += shuffle(sum);
        if (THING == LOADS) sum += shared_load(t, on);
        if (THING == LOADS_OFF) sum += global_load(input + t, on - 1);
    }
    return sum;
}

// 16 bytes or 4 for each lane.
template <int NBYTES> static __device__ unsigned cached_load(const unsigned *from) {
    unsigned x, y = 0, z = 0, w = 0;
    if (NBYTES == 16)
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                     : "l"(from));
    else
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(from));
    return x + y + z + w;
}

// Of lines that were never loaded, or of the same 16 portions again and again.
template <int NBYTES>
static __device__ unsigned loads(const unsigned *input, unsigned t, unsigned steps, bool anew) {
    const unsigned words_each = NBYTES / 4, a_step = 128 * words_each, last = anew ? 0xffffffff : 15;
    const unsigned *from = input + (size_t)blockIdx.x * steps * a_step + t * words_each;
    unsigned sum = 0;
#pragma unroll 1
    for (unsigned i = 0; i < steps; i += 4) {
        unsigned some[4];
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            some[k] = cached_load<NBYTES>(from + (size_t)((i + k) & last) * a_step);
        sum += some[0] + some[1] + some[2] + some[3];
    }
    return sum;
}

template <int WHAT> static __device__ unsigned beside_it(const unsigned *input, unsigned t, unsigned steps) {
    constexpr int nbytes = WHAT == MISSES_32 ? 4 : 16;
    if (WHAT == IDLE) return 0;
    if (WHAT == SHUFFLING) return things<SHUFFLES>(input, t, steps, 1);
    return loads<nbytes>(input, t, steps, WHAT != HITS_128);
}

template <int THING, int WHAT>
static __device__ void beside(const unsigned *input, unsigned *output, unsigned steps, unsigned on) {
    unsigned t = thread_index(), sum = 0;
    if (t < 128)
        sum = things<THING>(input, t, steps, on);
    else
        sum = beside_it<WHAT>(input, t - 128, steps);
    if (sum == 0x12345) output[0] = sum;
}

#define BESIDE(name, thing, what)                                                                            \
    extern "C" __global__ void pipe_##name(PARAMETERS) {                                                     \
        beside<thing, what>(input, output, steps, on);                                                       \
    }
#define BESIDE_ALL(name, thing)                                                                              \
    BESIDE(name##_idle, thing, IDLE)                                                                         \
    BESIDE(name##_misses_128, thing, MISSES_128)                                                             \
    BESIDE(name##_misses_32, thing, MISSES_32)                                                               \
    BESIDE(name##_hits_128, thing, HITS_128)                                                                 \
    BESIDE(name##_shuffling, thing, SHUFFLING)

BESIDE_ALL(stores, STORES)
BESIDE_ALL(shuffles, SHUFFLES)
BESIDE_ALL(loads, LOADS)
BESIDE_ALL(loads_off, LOADS_OFF)

// The first 132 blocks, of 128 threads, load from global memory or shuffle; the others read their threads' indices.
#define BLOCKS(name, what)                                                                                   \
    extern "C" __global__ void pipe_##name(PARAMETERS) {                                                     \
        unsigned sum;                                                                                        \
        if (blockIdx.x < 132)                                                                                \
            sum = what == SHUFFLING ? things<SHUFFLES>(input, blockIdx.x, steps, 1)                          \
                                    : beside_it<what>(input, thread_index(), steps);                         \
        else                                                                                                 \
            sum = thread_index();                                                                            \
        if (sum == 0x12345) output[0] = sum;                                                                 \
    }

BLOCKS(indices_idle, IDLE)
BLOCKS(indices_misses_128, MISSES_128)
BLOCKS(indices_misses_32, MISSES_32)
BLOCKS(indices_hits_128, HITS_128)
BLOCKS(indices_shuffling, SHUFFLING)

// ---- what meets the shuffles of a tree -----------------------------------------------------------------
//
// Vectors that were never loaded, then a warp's tree and something behind it, when other warps are still in theirs.
// With so much shared memory that a block has a multiprocessor to itself nothing else passes there.

static __constant__ unsigned constants[32];

static __device__ unsigned warp_tree(unsigned sum) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffff, sum, distance);
    return sum;
}

#define TREE(name, behind)                                                                                   \
    extern "C" __global__ void pipe_tree_##name(PARAMETERS) {                                                \
        unsigned t = thread_index();                                                                         \
        unsigned sum = warp_tree(loads<16>(input, t, steps, true));                                          \
        behind;                                                                                              \
        if (sum == 0x12345) output[0] = sum;                                                                 \
    }

TREE(alone, )
TREE(block_index, asm volatile("{ .reg .u32 i; mov.u32 i, %%ctaid.x; add.u32 %0, %0, i; }" : "+r"(sum)))
TREE(address, sum ^= shared_address(sum))
TREE(constant, sum += constants[sum % 32])
TREE(store, shared_store(t / 32, sum, t % 32 == 0))
TREE(store_64, if (t % 32 == 0) ((volatile unsigned long long *)words)[t / 32] = sum)
