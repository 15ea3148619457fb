// From blocks to the grid: each hands in what it has gathered, and the last one to do so goes on with all of it.

#ifndef GRID_CUH
#define GRID_CUH

#define GATHERED_WORDS ((u32)(sizeof(struct wf_gathered) / 8))
#define WORD_OF(field) ((u32)((u64) & ((struct wf_gathered *)0)->field / 8)) // NVRTC has no offsetof

// What a word is when nothing has been gathered.
static __device__ __forceinline__ u64 identity_of(u32 word)
{
    if (word == WORD_OF(min_key) || word == WORD_OF(bits_and)) return ~(u64)0;
    if (word == WORD_OF(min_index) || word == WORD_OF(max_index) || word == WORD_OF(first_nan)) return NO_INDEX;
    return word == WORD_OF(product_magnitude);
}

// All this is the work of the block's first threads: of a small array's, of one warp, which need not wait for others.
#define MERGING_THREADS (IS_SMALL ? 32 : BLOCK)
#define MERGING_THREAD (IS_SMALL ? lane_number() : threadIdx.x)

static __device__ __forceinline__ void sync_merging(void)
{
    if (IS_SMALL)
        __syncwarp();
    else
        __syncthreads();
}

// ---- which words

// Those of what is special, which are not handed in by every block.
static __device__ __forceinline__ bool is_of_special(u32 word)
{
    return IS_FLOAT && word - WORD_OF(nan_count) < 3; // and first_nan, saw
}

static __device__ __forceinline__ bool is_gathered(u32 word)
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
#ifdef PART_NONZERO
    if (word == WORD_OF(nonzero)) return true;
#endif
#ifdef PART_BITS
    if (word - WORD_OF(bits_and) < 3) return true;
#endif
#ifdef PART_PRODUCT
    if (word - WORD_OF(product_magnitude) < 2) return true;
#endif
#ifdef PART_MIN
    if (word == WORD_OF(min_key) || (IS_INDEXED && word == WORD_OF(min_index))) return true;
#endif
#ifdef PART_MAX
    if (word == WORD_OF(max_key) || (IS_INDEXED && word == WORD_OF(max_index))) return true;
#endif
    return is_of_special(word);
}

// Whether blocks add to the word, each by itself: all but extremes that are posted, or have an index.
static __device__ __forceinline__ bool is_handed_in(u32 word)
{
    bool is_extreme = word - WORD_OF(min_key) < 2, is_index = word - WORD_OF(min_index) < 2;
    return is_gathered(word) && !is_index && !(is_extreme && (IS_INDEXED || USES_POSTED));
}

// ---- handing in

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

static __device__ __forceinline__ void add_digits(u64 *into, const u64 *from, u32 count)
{
#pragma unroll
    for (u32 k = 0; k < (count + MERGING_THREADS - 1) / MERGING_THREADS; k++) {
        u32 i = MERGING_THREAD + k * MERGING_THREADS;
        if (i < count && from[i]) atomicAdd(&into[i], from[i]);
    }
}

// By one thread.
static __device__ __forceinline__ void hand_in_extremes(const struct wf_reduction *r, struct wf_gathered *working)
{
#if USES_POSTED
    (void)working;
    post_extremes(r);
#elif HAS_EXTREMES && IS_INDEXED
    struct wf_partial *partial = (struct wf_partial *)r->partials + blockIdx.x;
#ifdef PART_MIN
    partial->min_key = block_gathered.min_key;
    partial->min_index = block_gathered.min_index;
#endif
#ifdef PART_MAX
    partial->max_key = block_gathered.max_key;
    partial->max_index = block_gathered.max_index;
#endif
#elif HAS_EXTREMES
#ifdef PART_MIN
    atomicMin(&working->min_key, block_gathered.min_key);
#endif
#ifdef PART_MAX
    atomicMax(&working->max_key, block_gathered.max_key);
#endif
#endif
}

static __device__ __forceinline__ void hand_in_special(struct wf_gathered *working)
{
    atomicAdd(&working->nan_count, block_gathered.nan_count);
    atomicMin(&working->first_nan, block_gathered.first_nan);
    atomicOr(&working->saw, block_gathered.saw);
}

static __device__ __forceinline__ void hand_in(const struct wf_reduction *r, bool is_special)
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
    if (MERGING_THREAD != 0) return;
    hand_in_extremes(r, working);
#ifdef PART_NONZERO
    atomicAdd(&working->nonzero, block_gathered.nonzero);
#endif
#ifdef PART_BITS
    atomicAnd(&working->bits_and, block_gathered.bits_and);
    atomicOr(&working->bits_or, block_gathered.bits_or);
    atomicXor(&working->bits_xor, block_gathered.bits_xor);
#endif
#ifdef PART_PRODUCT
    merge_product(working, block_gathered.product_magnitude, block_gathered.product_flags);
#endif
    if (is_special) hand_in_special(working);
}

// Orders what is handed in before and what is fetched after.
static __device__ __forceinline__ u32 draw_in_order(const struct wf_reduction *r, u32 mine)
{
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(r->ticket), "r"(mine) : "memory");
    return before;
}

// Adds one.  An addition by name would be gathered from the warp's lanes first, of which there is but one.
static __device__ __forceinline__ u32 draw(const struct wf_reduction *r)
{
    u32 before;
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0xffffffff;" : "=r"(before) : "l"(r->ticket) : "memory");
    return before;
}

// Draws a ticket: true in the block that draws the last one, when all others have handed in.  One thread's order of
// memory is enough: the barriers before and after order what the others do; what is posted needs none.  specials: how
// many blocks, this one included, have handed in something special.
static __device__ __forceinline__ bool is_last_block(const struct wf_reduction *r, bool is_special, u32 *specials)
{
    static __shared__ u32 drawn;
    sync_merging();
    if (MERGING_THREAD == 0) {
        u32 mine = 1 + (is_special ? 1 << 16 : 0);
        drawn = (USES_POSTED && !is_special ? draw(r) : draw_in_order(r, mine)) + mine;
        if ((drawn & 0xffff) == gridDim.x)
            asm volatile("st.relaxed.gpu.global.u32 [%0], 0;" ::"l"(r->ticket) : "memory");
    }
    sync_merging();
    *specials = drawn >> 16;
    return (drawn & 0xffff) == gridDim.x;
}

// ---- by the last block

// Fetches what all have handed in, and leaves nothing there.  Each word is far away: all are asked for before the first
// is needed.
static __device__ __forceinline__ void fetch(const struct wf_reduction *r, bool special)
{
    enum { ROUNDS = (GATHERED_WORDS + MERGING_THREADS - 1) / MERGING_THREADS };
    u64 *working = (u64 *)r->working, *block = (u64 *)&block_gathered, fetched[ROUNDS];
#pragma unroll
    for (u32 k = 0; k < ROUNDS; k++) {
        u32 i = MERGING_THREAD + k * MERGING_THREADS;
        if (i < GATHERED_WORDS && is_handed_in(i) && (special || !is_of_special(i))) fetched[k] = __ldcg(&working[i]);
    }
#pragma unroll
    for (u32 k = 0; k < ROUNDS; k++) {
        u32 i = MERGING_THREAD + k * MERGING_THREADS;
        if (i >= GATHERED_WORDS || !is_handed_in(i) || !(special || !is_of_special(i))) continue;
        block[i] = fetched[k];
        working[i] = identity_of(i);
    }
}

#if HAS_EXTREMES && IS_INDEXED && !USES_POSTED
static __device__ __forceinline__ void compare(lane_state *lane, const struct wf_partial *partial)
{
#ifdef PART_MIN
    if (partial->min_key < lane->min_key || (partial->min_key == lane->min_key && partial->min_index < lane->min_index)) {
        lane->min_key = partial->min_key;
        lane->min_index = partial->min_index;
    }
#endif
#ifdef PART_MAX
    if (partial->max_key > lane->max_key || (partial->max_key == lane->max_key && partial->max_index < lane->max_index)) {
        lane->max_key = partial->max_key;
        lane->max_index = partial->max_index;
    }
#endif
}

// Compares the blocks' extremes, several at a time, as each is far away.
static __device__ __forceinline__ void compare_partials(const struct wf_reduction *r, lane_state *lane)
{
    enum { TOGETHER = 5 };
    const struct wf_partial *partials = (const struct wf_partial *)r->partials;
    lane_clear(lane);
    for (u32 first = threadIdx.x; first < gridDim.x; first += TOGETHER * BLOCK) {
        struct wf_partial partial[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) { // of those that do not exist, the first of them once more
            u32 i = first + (u32)k * BLOCK;
            const struct wf_partial *from = &partials[i < gridDim.x ? i : first];
#ifdef PART_MIN
            partial[k].min_key = __ldcg(&from->min_key);
            partial[k].min_index = __ldcg(&from->min_index);
#endif
#ifdef PART_MAX
            partial[k].max_key = __ldcg(&from->max_key);
            partial[k].max_index = __ldcg(&from->max_index);
#endif
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) compare(lane, &partial[k]);
    }
    merge_warps(lane);
}
#endif

#if PACKS_SUM

// The block's sum and its count of one, added to one word: the last block finds all there.
static __device__ __forceinline__ bool merge_blocks(const struct wf_reduction *r, bool is_special, u32 *specials)
{
    const int count_bits = 9; // the plan has fewer blocks than that
    u64 total = block_gathered.sum[0] + (block_gathered.sum[1] << 32), sum = 0;
    (void)is_special;
    *specials = 0;
    if (MERGING_THREAD == 0) {
        u64 mine = (total << count_bits) + 1;
        sum = atomicAdd((u64 *)r->ticket, mine) + mine;
        if ((sum & ((1 << count_bits) - 1)) == gridDim.x) atomicExch((u64 *)r->ticket, 0); // nothing else orders blocks
    }
    sum = __shfl_sync(ALL_LANES, sum, 0);
    if ((sum & ((1 << count_bits) - 1)) != gridDim.x) return false;
    total = IS_SIGNED ? (u64)((i64)sum >> count_bits) : sum >> count_bits;
    sync_merging(); // the block's own has been read
    if (MERGING_THREAD < VALUE_DIGITS) block_gathered.sum[MERGING_THREAD] = MERGING_THREAD == 0 ? total : 0;
    sync_merging();
    return true;
}

static __device__ __forceinline__ void take_over(const struct wf_reduction *r, u32 specials)
{
    (void)r, (void)specials;
}

#else

// By the last block: all blocks' parts in block_gathered.
static __device__ __forceinline__ void take_over(const struct wf_reduction *r, u32 specials)
{
#if USES_POSTED
    if (specials) __threadfence(); // what the others have handed in beside
    take_posted(r);
#elif HAS_EXTREMES && IS_INDEXED
    lane_state lane;
    compare_partials(r, &lane);
#endif
    if (!USES_POSTED || specials) fetch(r, specials != 0);
    sync_merging();
    if (IS_FLOAT && MERGING_THREAD == 0 && specials < gridDim.x)
        block_gathered.saw = (specials ? block_gathered.saw : 0) | PLAIN_SAW;
    sync_merging();
}

// False where another block is to go on.
static __device__ __forceinline__ bool merge_blocks(const struct wf_reduction *r, bool is_special, u32 *specials)
{
    hand_in(r, is_special);
    return is_last_block(r, is_special, specials);
}

#endif

// What a block has where nothing is special.
static __device__ __forceinline__ void put_plain(void)
{
    block_gathered.nan_count = 0;
    block_gathered.first_nan = NO_INDEX;
    block_gathered.saw = PLAIN_SAW;
}

static __device__ __forceinline__ bool has_special(void)
{
    return IS_FLOAT && (block_gathered.nan_count || block_gathered.saw != PLAIN_SAW);
}

#endif
