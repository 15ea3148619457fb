// From lanes to the block, from blocks to the grid.

#ifndef MERGE_CUH
#define MERGE_CUH

// ---- lanes to block: what the sums have not put there yet

// Where in the lane's chunk its extreme is: the chunk is looked at once more.
static __device__ __forceinline__ u64 index_in_chunk(const struct wf_reduction *r, u64 key, u64 chunk)
{
    for (int j = 0; j < VECTORS; j++) {
        u64 at = chunk * CHUNK + 32 * j + lane_number();
        vector v = load_vector(r->x, at);
        int found = PER_VECTOR;
#pragma unroll
        for (int e = PER_VECTOR - 1; e >= 0; e--)
            if (ordered(key_of(element_at(&v, e))) == key) found = e;
        if (found < PER_VECTOR) return (u64)r->index + at * PER_VECTOR + found;
    }
    return NO_INDEX;
}

// key: the warp's; first, step: its chunks.
static __device__ __forceinline__ void find_index(const struct wf_reduction *r, u64 key, u64 lane_key, u32 *chunk,
                                                  u64 *index, u64 first, u64 step)
{
    if (*chunk != NOWHERE && lane_key == key) *index = index_in_chunk(r, key, first + *chunk * step);
    *chunk = NOWHERE;
}

static __device__ __forceinline__ void find_indices(const struct wf_reduction *r, lane_state *lane, u64 first, u64 step)
{
#ifdef PART_MIN
    find_index(r, warp_least(lane->min_key), lane->min_key, &lane->min_chunk, &lane->min_index, first, step);
#endif
#ifdef PART_MAX
    find_index(r, warp_largest(lane->max_key), lane->max_key, &lane->max_chunk, &lane->max_index, first, step);
#endif
}

// The lanes' extremes in all of them.
static __device__ __forceinline__ void merge_extremes(lane_state *lane)
{
#ifdef PART_MIN
    u64 least = warp_least(lane->min_key);
    if (IS_INDEXED) lane->min_index = warp_least(lane->min_key == least ? lane->min_index : NO_INDEX);
    lane->min_key = least;
#endif
#ifdef PART_MAX
    u64 largest = warp_largest(lane->max_key);
    if (IS_INDEXED) lane->max_index = warp_least(lane->max_key == largest ? lane->max_index : NO_INDEX);
    lane->max_key = largest;
#endif
}

// Their products: magnitudes multiply, signs cancel, all else is kept.
static __device__ __forceinline__ void merge_products(lane_state *lane)
{
#pragma unroll
    for (int delta = 16; delta; delta /= 2) {
        u64 factor = __shfl_xor_sync(ALL_LANES, lane->product, delta);
        u32 flags = __shfl_xor_sync(ALL_LANES, lane->product_flags, delta);
        if (__umul64hi(lane->product, factor)) lane->product_flags |= WF_GATHERED_OVERFLOW;
        lane->product *= factor;
        lane->product_flags |= flags & ~(u32)WF_GATHERED_NEGATIVE;
        lane->product_flags ^= flags & WF_GATHERED_NEGATIVE;
    }
}

// Their bits.
static __device__ __forceinline__ void merge_bits(lane_state *lane)
{
#pragma unroll
    for (int delta = 16; delta; delta /= 2) {
        lane->bits_and &= __shfl_xor_sync(ALL_LANES, lane->bits_and, delta);
        lane->bits_or |= __shfl_xor_sync(ALL_LANES, lane->bits_or, delta);
        lane->bits_xor ^= __shfl_xor_sync(ALL_LANES, lane->bits_xor, delta);
    }
}

// All of it.
static __device__ __forceinline__ void merge_lanes(lane_state *lane)
{
    merge_extremes(lane);
#ifdef PART_NONZERO
    lane->nonzero = (u64)warp_sum((i64)lane->nonzero);
#endif
#if IS_FLOAT
    lane->saw = warp_or(lane->saw);
    if (__any_sync(ALL_LANES, lane->nan_count != 0)) {
        lane->nan_count = (u64)warp_sum((i64)lane->nan_count);
        lane->first_nan = warp_least(lane->first_nan);
    }
#endif
#ifdef PART_BITS
    merge_bits(lane);
#endif
#ifdef PART_PRODUCT
    merge_products(lane);
#endif
}

// What a warp's lanes have merged to, for the others.
static __shared__ struct {
    u64 min_key, min_index, max_key, max_index;
    u64 nonzero, nan_count, first_nan, product;
    packed bits_and, bits_or, bits_xor;
    u32 saw, product_flags;
} merged[BLOCK / 32];

static __device__ __forceinline__ void put_merged(const lane_state *lane, u32 i)
{
#if HAS_EXTREMES
    merged[i].min_key = lane->min_key;
    merged[i].min_index = lane->min_index;
    merged[i].max_key = lane->max_key;
    merged[i].max_index = lane->max_index;
#endif
    merged[i].nonzero = lane->nonzero;
    merged[i].nan_count = lane->nan_count;
    merged[i].first_nan = lane->first_nan;
    merged[i].saw = lane->saw;
#ifdef PART_BITS
    merged[i].bits_and = lane->bits_and;
    merged[i].bits_or = lane->bits_or;
    merged[i].bits_xor = lane->bits_xor;
#endif
#ifdef PART_PRODUCT
    merged[i].product = lane->product;
    merged[i].product_flags = lane->product_flags;
#endif
}

static __device__ __forceinline__ void get_merged(lane_state *lane, u32 i)
{
#if HAS_EXTREMES
    lane->min_key = merged[i].min_key;
    lane->min_index = merged[i].min_index;
    lane->max_key = merged[i].max_key;
    lane->max_index = merged[i].max_index;
#endif
    lane->nonzero = merged[i].nonzero;
    lane->nan_count = merged[i].nan_count;
    lane->first_nan = merged[i].first_nan;
    lane->saw = merged[i].saw;
#ifdef PART_BITS
    lane->bits_and = merged[i].bits_and;
    lane->bits_or = merged[i].bits_or;
    lane->bits_xor = merged[i].bits_xor;
#endif
#ifdef PART_PRODUCT
    lane->product = merged[i].product;
    lane->product_flags = merged[i].product_flags;
#endif
}

// The elements of a word in one.
static __device__ __forceinline__ void put_bits(const lane_state *lane)
{
    packed all = lane->bits_and, any = lane->bits_or, odd = lane->bits_xor;
#pragma unroll
    for (int width = 16; width >= WIDTH; width /= 2) {
        all &= all >> width;
        any |= any >> width;
        odd ^= odd >> width;
    }
    block_gathered.bits_and = (unit)all;
    block_gathered.bits_or = (unit)any;
    block_gathered.bits_xor = (unit)odd;
}

static __device__ __forceinline__ void put_gathered(const lane_state *lane)
{
#if HAS_EXTREMES
    block_gathered.min_key = lane->min_key;
    block_gathered.min_index = lane->min_index;
    block_gathered.max_key = lane->max_key;
    block_gathered.max_index = lane->max_index;
#endif
    block_gathered.nonzero = lane->nonzero;
    block_gathered.nan_count = lane->nan_count;
    block_gathered.first_nan = lane->first_nan;
    block_gathered.saw = lane->saw;
#ifdef PART_BITS
    put_bits(lane);
#endif
#ifdef PART_PRODUCT
    block_gathered.product_magnitude = lane->product;
    block_gathered.product_flags = lane->product_flags;
#endif
}

// All lanes' parts, but for the digits, in block_gathered.
static __device__ __forceinline__ void merge_warps(lane_state *lane)
{
    merge_lanes(lane);
    if (lane_number() == 0) put_merged(lane, warp_number());
    __syncthreads();
    if (warp_number() == 0) {
        lane_clear(lane);
        if (lane_number() < BLOCK / 32) get_merged(lane, lane_number());
        merge_lanes(lane);
        if (lane_number() == 0) put_gathered(lane);
    }
    __syncthreads();
}

// ---- block to grid

static __device__ __forceinline__ void multiply_atomically(u64 *product, u64 *flags, u64 factor)
{
    u64 seen = 1, expected; // a guess: the first exchange tells what is there
    do {
        expected = seen;
        if (__umul64hi(expected, factor)) atomicOr(flags, (u64)WF_GATHERED_OVERFLOW);
        seen = atomicCAS(product, expected, expected * factor);
    } while (seen != expected);
}

static __device__ __forceinline__ void merge_product(struct wf_gathered *into, u64 magnitude, u64 flags)
{
    if (flags & WF_GATHERED_NEGATIVE) atomicXor(&into->product_flags, (u64)WF_GATHERED_NEGATIVE);
    if (flags & ~(u64)WF_GATHERED_NEGATIVE) atomicOr(&into->product_flags, flags & ~(u64)WF_GATHERED_NEGATIVE);
    if (magnitude != 1) multiply_atomically(&into->product_magnitude, &into->product_flags, magnitude);
}


#define GATHERED_WORDS ((u32)(sizeof(struct wf_gathered) / 8))
#define WORD_OF(field) ((u32)((u64) & ((struct wf_gathered *)0)->field / 8)) // NVRTC has no offsetof

// What a word is when nothing has been gathered.
static __device__ __forceinline__ u64 identity_of(u32 word)
{
    if (word == WORD_OF(min_key) || word == WORD_OF(bits_and)) return ~(u64)0;
    if (word == WORD_OF(min_index) || word == WORD_OF(max_index) || word == WORD_OF(first_nan)) return NO_INDEX;
    return word == WORD_OF(product_magnitude);
}

static __device__ __forceinline__ void clear_gathered(void)
{
    for (u32 i = threadIdx.x; i < GATHERED_WORDS; i += BLOCK) ((u64 *)&block_gathered)[i] = identity_of(i);
}

static __device__ __forceinline__ void add_digits(u64 *into, const u64 *from, u32 count)
{
    for (u32 i = threadIdx.x; i < count; i += BLOCK)
        if (from[i]) atomicAdd(&into[i], from[i]);
}

// All but extremes with an index, which have to go together.
static __device__ __forceinline__ void hand_in(const struct wf_reduction *r)
{
    struct wf_gathered *working = (struct wf_gathered *)r->working;
#ifdef PART_SUM
    add_digits(working->sum, block_gathered.sum, VALUE_DIGITS);
#endif
#ifdef PART_ABS
    add_digits(working->abs, block_gathered.abs, VALUE_DIGITS);
#endif
#if HAS_PRODUCTS
    add_digits(working->products, block_gathered.products, PRODUCT_DIGITS);
#endif
    if (threadIdx.x != 0) return;
#if HAS_EXTREMES && IS_INDEXED
    struct wf_partial *partial = (struct wf_partial *)r->partials + blockIdx.x;
    partial->min_key = block_gathered.min_key;
    partial->min_index = block_gathered.min_index;
    partial->max_key = block_gathered.max_key;
    partial->max_index = block_gathered.max_index;
#elif HAS_EXTREMES
    atomicMin(&working->min_key, block_gathered.min_key);
    atomicMax(&working->max_key, block_gathered.max_key);
#endif
#ifdef PART_NONZERO
    atomicAdd(&working->nonzero, block_gathered.nonzero);
#endif
#if IS_FLOAT
    if (block_gathered.nan_count) {
        atomicAdd(&working->nan_count, block_gathered.nan_count);
        atomicMin(&working->first_nan, block_gathered.first_nan);
    }
    if (block_gathered.saw) atomicOr(&working->saw, block_gathered.saw);
#endif
#ifdef PART_BITS
    atomicAnd(&working->bits_and, block_gathered.bits_and);
    atomicOr(&working->bits_or, block_gathered.bits_or);
    atomicXor(&working->bits_xor, block_gathered.bits_xor);
#endif
#ifdef PART_PRODUCT
    merge_product(working, block_gathered.product_magnitude, block_gathered.product_flags);
#endif
}

// Draws a ticket: true in the block that draws the last one, when all others have handed in.  One thread's fences
// are enough: the barriers before and after order what the others do.
static __device__ __forceinline__ bool is_last_block(const struct wf_reduction *r)
{
    __shared__ bool is_last;
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 *ticket = (u32 *)r->ticket;
        __threadfence();
        is_last = atomicAdd(ticket, 1) == gridDim.x - 1;
        if (is_last) *ticket = 0;
        __threadfence();
    }
    __syncthreads();
    return is_last;
}

// Whether blocks add to the word, each by itself: all but extremes with an index, and only what is gathered.
static __device__ __forceinline__ bool is_handed_in(u32 word)
{
#ifdef PART_SUM
    if (word - WORD_OF(sum) < VALUE_DIGITS) return true;
#endif
#ifdef PART_ABS
    if (word - WORD_OF(abs) < VALUE_DIGITS) return true;
#endif
#if HAS_PRODUCTS
    if (word - WORD_OF(products) < PRODUCT_DIGITS) return true;
#endif
    if (word == WORD_OF(min_key) || word == WORD_OF(max_key)) return HAS_EXTREMES && !IS_INDEXED;
    return word >= WORD_OF(nonzero);
}

// By the last block: fetches what all have handed in, and leaves nothing there; a thread for each word, since each
// is far away.
static __device__ __forceinline__ void fetch(const struct wf_reduction *r)
{
    u64 *working = (u64 *)r->working, *block = (u64 *)&block_gathered;
    for (u32 i = threadIdx.x; i < GATHERED_WORDS; i += BLOCK) {
        if (!is_handed_in(i)) continue;
        block[i] = __ldcg(&working[i]);
        working[i] = identity_of(i);
    }
}

#if HAS_EXTREMES && IS_INDEXED
// By the last block: compares the blocks' extremes.
static __device__ __forceinline__ void compare_partials(const struct wf_reduction *r, lane_state *lane)
{
    const struct wf_partial *partials = (const struct wf_partial *)r->partials;
    lane_clear(lane);
    for (u32 i = threadIdx.x; i < gridDim.x; i += BLOCK) {
        u64 least = __ldcg(&partials[i].min_key), largest = __ldcg(&partials[i].max_key);
        u64 min_index = __ldcg(&partials[i].min_index), max_index = __ldcg(&partials[i].max_index);
        if (least < lane->min_key || (least == lane->min_key && min_index < lane->min_index)) {
            lane->min_key = least;
            lane->min_index = min_index;
        }
        if (largest > lane->max_key || (largest == lane->max_key && max_index < lane->max_index)) {
            lane->max_key = largest;
            lane->max_index = max_index;
        }
    }
    merge_warps(lane);
}
#endif

#endif
