/* What the rungs of the ladder share: the types, the operations, and the ways to finish.  How a block reduces
 * its elements is what the rungs are about, and is told in each of them.
 *
 * -DTYPE_<i32 i64 u32 u64 f32 f64>  -DOP_<sum prod min max argmax>  -DFINISH_<store atomic last_block>
 * (i32, sum and store where nothing is said.)
 *
 * Integers wrap.  min and max: a NaN wins over every number, and -0 and +0 are equal.  argmax: likewise, and
 * ties go to the smallest index.
 *
 * The arguments of every rung:
 *   input, n          the elements; rungs 01 and 02 overwrite them
 *   indices           argmax: those of the elements; NULL: each has its own position
 *   portion           block b reduces the elements from b * portion on and before (b + 1) * portion; rungs 00
 *                     and 11 to 16 stride over the whole array by the grid instead
 *   partials          FINISH_store, FINISH_last_block: a result for each block
 *   result            FINISH_atomic: the identity before; FINISH_last_block: only written
 *   partial_indices, result_index   argmax: theirs; FINISH_atomic: `pack` says what *result_index is
 *   ticket            FINISH_last_block: a counter, 0 before
 */

/* ---- the type of the elements */

#if defined TYPE_f64
typedef double element;
#define LOWEST (-__longlong_as_double(0x7ff0000000000000))
#define HIGHEST __longlong_as_double(0x7ff0000000000000)
#elif defined TYPE_f32
typedef float element;
#define LOWEST (-__int_as_float(0x7f800000))
#define HIGHEST __int_as_float(0x7f800000)
#elif defined TYPE_u64
typedef unsigned long long element;
#define LOWEST 0
#define HIGHEST 0xffffffffffffffff
#elif defined TYPE_i64
typedef long long element;
#define LOWEST (-0x7fffffffffffffff - 1)
#define HIGHEST 0x7fffffffffffffff
#elif defined TYPE_u32
typedef unsigned int element;
#define LOWEST 0
#define HIGHEST 0xffffffff
#else
#define TYPE_i32 1
typedef int element;
#define LOWEST (-0x7fffffff - 1)
#define HIGHEST 0x7fffffff
#endif

#if defined TYPE_f64 || defined TYPE_i64 || defined TYPE_u64
typedef unsigned long long bits; /* an integer as wide as an element */
#else
typedef unsigned int bits;
#endif

#if defined TYPE_f64 || defined TYPE_f32
typedef element number; /* what is calculated in: for integers unsigned ones, which wrap */
#else
typedef bits number;
#endif

/* ---- the operation: its identity, and how it combines two values */

#if defined OP_prod
#define IDENTITY 1
static __device__ element combine_values(element a, element b)
{
    return (element)((number)a * (number)b);
}
#elif defined OP_min
#define IDENTITY HIGHEST
static __device__ element combine_values(element a, element b)
{
    return (a < b) | (a != a) ? a : b;
}
#elif defined OP_max || defined OP_argmax
#define IDENTITY LOWEST
static __device__ element combine_values(element a, element b)
{
    return (a > b) | (a != a) ? a : b;
}
#else
#define OP_sum 1
#define IDENTITY 0
static __device__ element combine_values(element a, element b)
{
    return (element)((number)a + (number)b);
}
#endif

/* What goes up the tree: a value; in argmax with the index where it was found. */
typedef struct {
    element value;
#ifdef OP_argmax
    long long index;
#endif
} item;

static __device__ item make_item(element value, long long index)
{
    item made;
    made.value = value;
#ifdef OP_argmax
    made.index = index;
#endif
    return made;
}

static __device__ item identity(void)
{
    return make_item((element)IDENTITY, 0x7fffffffffffffff);
}

#ifdef OP_argmax
/* Without a branch, so that it parts no warp. */
static __device__ item combine(item a, item b)
{
    bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    bool equal = (a.value == b.value) | (a_is_nan & b_is_nan);
    bool greater = (b.value > a.value) | (b_is_nan & !a_is_nan);
    bool take_b = greater | (equal & (b.index < a.index));
    return make_item(take_b ? b.value : a.value, take_b ? b.index : a.index);
}
#else
static __device__ item combine(item a, item b)
{
    return make_item(combine_values(a.value, b.value), 0);
}
#endif

/* ---- arrays of items: values, and in argmax as many indices */

typedef struct {
    element *values;
    long long *indices;
} items;

static __device__ item load(items array, unsigned int i)
{
#ifdef OP_argmax
    return make_item(array.values[i], array.indices[i]);
#else
    return make_item(array.values[i], 0);
#endif
}

static __device__ void store(items array, unsigned int i, item stored)
{
    array.values[i] = stored.value;
#ifdef OP_argmax
    array.indices[i] = stored.index;
#endif
}

/* `count` items in the block's shared memory. */
static __device__ items shared_items(unsigned int count)
{
    extern __shared__ long long shared_memory[];
    items shared;
#ifdef OP_argmax
    shared.indices = shared_memory;
    shared.values = (element *)(shared_memory + count);
#else
    shared.indices = 0;
    shared.values = (element *)shared_memory;
#endif
    return shared;
}

/* The item of the lane `delta` above in the warp; the lane's own where there is none above. */
static __device__ item shuffle_down(item mine, unsigned int delta)
{
#ifdef OP_argmax
    return make_item(__shfl_down_sync(0xffffffff, mine.value, delta),
                     __shfl_down_sync(0xffffffff, mine.index, delta));
#else
    return make_item(__shfl_down_sync(0xffffffff, mine.value, delta), 0);
#endif
}

/* ---- the input */

static __device__ long long index_of(const long long *indices, unsigned long long i)
{
    return indices ? indices[i] : (long long)i;
}

static __device__ item load_input(const element *input, const long long *indices, unsigned long long i)
{
    return make_item(input[i], index_of(indices, i));
}

/* The element, or the identity behind the last one: so a tile is always full, and the tree need not ask. */
static __device__ item load_padded(const element *input, const long long *indices, unsigned long long i,
                                   unsigned long long end)
{
    return i < end ? load_input(input, indices, i) : identity();
}

/* Where the block's portion of the n elements begins and ends. */
static __device__ unsigned long long portion_begin(unsigned long long n, unsigned long long portion)
{
    return min(n, blockIdx.x * portion);
}

static __device__ unsigned long long portion_end(unsigned long long n, unsigned long long portion)
{
    return min(n, portion_begin(n, portion) + portion);
}

/* ---- atomic combining */

#ifdef OP_argmax

#if defined FINISH_atomic && (defined TYPE_f64 || defined TYPE_i64 || defined TYPE_u64)
#error "argmax finishes atomically for elements of 32 bits only: value and index have to share a word of 64"
#endif

/* One word that orders as (value, smaller index first) does: the value's bits, made ascending, above the
 * complement of the index.  Hence elements of 32 bits only, and indices below 2^32.  *result_index is such a
 * word, 0 before. */
static __device__ unsigned long long pack(item packed)
{
#if defined TYPE_f32
    bits word = __float_as_uint(packed.value + 0.0f); /* -0 becomes +0 */
    word = packed.value != packed.value ? 0xffffffff : word >> 31 ? ~word : word | 0x80000000;
#elif defined TYPE_u32
    bits word = packed.value;
#else
    bits word = (bits)packed.value ^ 0x80000000;
#endif
    return (unsigned long long)word << 32 | (unsigned int)~packed.index;
}

#elif defined OP_sum

static __device__ void atomic_combine(element *target, element value)
{
#if defined TYPE_i64
    atomicAdd((unsigned long long *)target, (unsigned long long)value);
#else
    atomicAdd(target, value);
#endif
}

#elif defined OP_min && !defined TYPE_f32 && !defined TYPE_f64

static __device__ void atomic_combine(element *target, element value)
{
    atomicMin(target, value);
}

#elif defined OP_max && !defined TYPE_f32 && !defined TYPE_f64

static __device__ void atomic_combine(element *target, element value)
{
    atomicMax(target, value);
}

#else

typedef union {
    element value;
    bits word;
} element_bits;

/* Compare and swap, until nobody came between. */
static __device__ void atomic_combine(element *target, element value)
{
    bits *word = (bits *)target;
    element_bits seen, wanted;
    bits expected;
    seen.word = atomicAdd(word, 0);
    do {
        expected = seen.word;
        wanted.value = combine_values(seen.value, value);
        seen.word = atomicCAS(word, expected, wanted.word);
    } while (seen.word != expected);
}

#endif

/* ---- the blocks that make one partial result together: one, or in rung 16 those of a cluster */

#ifndef CLUSTER
#define CLUSTER 1
#endif

static __device__ unsigned int partial_index(void)
{
    return blockIdx.x / CLUSTER;
}

static __device__ unsigned int partial_count(void)
{
    return gridDim.x / CLUSTER;
}

/* ---- the finish: what becomes of the block's result, `mine` of thread 0 */

static __device__ void finish_store(item mine, element *partials, long long *partial_indices)
{
    items all = {partials, partial_indices};
    if (threadIdx.x == 0)
        store(all, partial_index(), mine);
}

static __device__ void finish_atomic(item mine, element *result, long long *result_index)
{
    if (threadIdx.x == 0) {
#ifdef OP_argmax
        atomicMax((unsigned long long *)result_index, pack(mine));
#else
        atomic_combine(result, mine.value);
#endif
    }
}

static __device__ void finish_whole(item mine, element *result, long long *result_index)
{
    items whole = {result, result_index};
    if (threadIdx.x == 0)
        store(whole, 0, mine);
}

/* Hands in the block's result and draws a ticket: true for the block that draws the last one, when all have
 * handed in.  The fences make that good: a result is written before the ticket is drawn, and those of the
 * others are read after. */
static __device__ bool is_last_block(item mine, items all, unsigned int *ticket)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        store(all, partial_index(), mine);
        __threadfence();
        is_last = atomicAdd(ticket, 1) == partial_count() - 1;
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

/* The last block combines the partial results where they are, so that this asks nothing of the rung. */
static __device__ void finish_last_block(item mine, element *partials, long long *partial_indices,
                                         element *result, long long *result_index, unsigned int *ticket)
{
    items all = {partials, partial_indices};
    unsigned int tid = threadIdx.x;

    if (!is_last_block(mine, all, ticket))
        return;
    if (tid < partial_count()) {
        mine = load(all, tid);
        for (unsigned int i = tid + blockDim.x; i < partial_count(); i += blockDim.x)
            mine = combine(mine, load(all, i));
        store(all, tid, mine);
    }
    for (unsigned int s = blockDim.x / 2; s > 0; s /= 2) {
        __syncthreads();
        if (tid < s && tid + s < partial_count())
            store(all, tid, combine(load(all, tid), load(all, tid + s)));
    }
    if (tid == 0)
        finish_whole(load(all, 0), result, result_index);
}

#ifdef FINISH_last_block
#define IN_LAST_BLOCK true
#else
#define IN_LAST_BLOCK false
#endif

/* All threads of the block call it. */
static __device__ void finish(item mine, element *partials, long long *partial_indices, element *result,
                              long long *result_index, unsigned int *ticket)
{
#if defined FINISH_last_block
    finish_last_block(mine, partials, partial_indices, result, result_index, ticket);
#elif defined FINISH_atomic
    finish_atomic(mine, result, result_index);
#else
    finish_store(mine, partials, partial_indices);
#endif
}
