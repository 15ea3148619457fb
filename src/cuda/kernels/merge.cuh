// From lanes to the block.

#ifndef MERGE_CUH
#define MERGE_CUH

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

// NaNs and infinities of the lanes in all of them, whether there is something beyond -0.
static __device__ __forceinline__ void merge_special(lane_state *lane)
{
    if (HAS_SUMS) lane->saw = warp_or(lane->saw);
    if (__any_sync(ALL_LANES, lane->nan_count != 0)) {
        lane->nan_count = (u64)warp_sum((i64)lane->nan_count);
        lane->first_nan = warp_least(lane->first_nan);
    }
}

// Their extremes.
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

// All but that.
static __device__ __forceinline__ void merge_lanes(lane_state *lane)
{
    merge_extremes(lane);
#ifdef PART_NONZERO
    lane->nonzero = (u64)warp_sum((i64)lane->nonzero);
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
#ifdef PART_MIN
    merged[i].min_key = lane->min_key;
    if (IS_INDEXED) merged[i].min_index = lane->min_index;
#endif
#ifdef PART_MAX
    merged[i].max_key = lane->max_key;
    if (IS_INDEXED) merged[i].max_index = lane->max_index;
#endif
#ifdef PART_NONZERO
    merged[i].nonzero = lane->nonzero;
#endif
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

static __device__ __forceinline__ void put_special(const lane_state *lane, u32 i)
{
    merged[i].nan_count = lane->nan_count;
    merged[i].first_nan = lane->first_nan;
    merged[i].saw = lane->saw;
}

static __device__ __forceinline__ void get_special(lane_state *lane, u32 i)
{
    lane->nan_count = merged[i].nan_count;
    lane->first_nan = merged[i].first_nan;
    lane->saw = merged[i].saw;
}

static __device__ __forceinline__ void get_merged(lane_state *lane, u32 i)
{
#ifdef PART_MIN
    lane->min_key = merged[i].min_key;
    if (IS_INDEXED) lane->min_index = merged[i].min_index;
#endif
#ifdef PART_MAX
    lane->max_key = merged[i].max_key;
    if (IS_INDEXED) lane->max_index = merged[i].max_index;
#endif
#ifdef PART_NONZERO
    lane->nonzero = merged[i].nonzero;
#endif
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
#ifdef PART_MIN
    block_gathered.min_key = lane->min_key;
    if (IS_INDEXED) block_gathered.min_index = lane->min_index;
#endif
#ifdef PART_MAX
    block_gathered.max_key = lane->max_key;
    if (IS_INDEXED) block_gathered.max_index = lane->max_index;
#endif
#ifdef PART_NONZERO
    block_gathered.nonzero = lane->nonzero;
#endif
#ifdef PART_BITS
    put_bits(lane);
#endif
#ifdef PART_PRODUCT
    block_gathered.product_magnitude = lane->product;
    block_gathered.product_flags = lane->product_flags;
#endif
}

static __device__ __forceinline__ void put_gathered_special(const lane_state *lane)
{
    block_gathered.nan_count = lane->nan_count;
    block_gathered.first_nan = lane->first_nan;
    block_gathered.saw = lane->saw;
}

// All lanes' parts, but for the digits, in block_gathered.
static __device__ __forceinline__ void merge_warps(lane_state *lane)
{
    merge_lanes(lane);
    if (IS_FLOAT) merge_special(lane);
    if (lane_number() == 0) {
        put_merged(lane, warp_number());
        if (IS_FLOAT) put_special(lane, warp_number());
    }
    __syncthreads();
    if (warp_number() == 0) {
        lane_clear(lane);
        if (lane_number() < BLOCK / 32) {
            get_merged(lane, lane_number());
            if (IS_FLOAT) get_special(lane, lane_number());
        }
        merge_lanes(lane);
        if (IS_FLOAT) merge_special(lane);
        if (lane_number() == 0) {
            put_gathered(lane);
            if (IS_FLOAT) put_gathered_special(lane);
        }
    }
    __syncthreads();
}

#endif
