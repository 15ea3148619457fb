// From blocks to the grid: each publishes its partial result, and the last one to do so combines them.

#ifndef GRID_CUH
#define GRID_CUH

#include "core/partial_words.h"
#include "kernels/digits.cuh"
#include "kernels/integers.cuh"
#include "kernels/lane.cuh"
#include "kernels/merge.cuh"
#include "kernels/parts.cuh"
#include "kernels/block_extremes.cuh"
#include "arguments.h"

#define PARTIAL_WORDS ((u32)(sizeof(struct wf_partial) / 8))
#define WORD_OF(field) ((u32)((u64) & ((struct wf_partial *)0)->field / 8)) // NVRTC has no offsetof

// The word's value in the partial of no elements.
static __device__ __forceinline__ u64 identity_of(u32 word)
{
    if (word == WORD_OF(min_key) || word == WORD_OF(bits_and)) return ~(u64)0;
    if (word == WORD_OF(min_index) || word == WORD_OF(max_index) || word == WORD_OF(first_nan)) return NO_INDEX;
    return word == WORD_OF(product_magnitude);
}

// Threads of a block that merge.  For a small array it is one warp, which need not wait for the others.
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

// Whether the word is one of `count` that begin with the field: for a word before it the difference wraps round to a large
// number.  A macro, since an inline function compiles to different code.
#define IS_AMONG(word, field, count) ((word) - WORD_OF(field) < (count))

// Those of what is special, nan_count, first_nan and special_seen, which are not published by every block.
static __device__ __forceinline__ bool is_of_special(u32 word)
{
    return IS_FLOAT && IS_AMONG(word, nan_count, 3);
}

static __device__ __forceinline__ bool is_of_parts(u32 word)
{
    if (HAS_SUM && IS_AMONG(word, sum, VALUE_DIGITS)) return true;
    if (HAS_ABS && IS_AMONG(word, abs, VALUE_DIGITS)) return true;
    if (HAS_PRODUCT_SUM && IS_AMONG(word, product_sum, PRODUCT_DIGITS)) return true;
    if (HAS_NONZERO && word == WORD_OF(nonzero)) return true;
    if (HAS_BITS && IS_AMONG(word, bits_and, 3)) return true;
    if (HAS_PRODUCT && IS_AMONG(word, product_magnitude, 2)) return true;
    if (HAS_MIN)
        if (word == WORD_OF(min_key) || (IS_INDEXED && word == WORD_OF(min_index))) return true;
    if (HAS_MAX)
        if (word == WORD_OF(max_key) || (IS_INDEXED && word == WORD_OF(max_index))) return true;
    return is_of_special(word);
}

// Whether blocks add to the word, each by itself: all but extremes that are published, or have an index.
static __device__ __forceinline__ bool is_published(u32 word)
{
    bool is_extreme = IS_AMONG(word, min_key, 2), is_index = IS_AMONG(word, min_index, 2);
    return is_of_parts(word) && !is_index && !(is_extreme && (IS_INDEXED || USES_BLOCK_EXTREMES));
}

// ---- publishing

static __device__ __forceinline__ void add_digits(u64 *into, const u64 *from, u32 count)
{
#pragma unroll
    for (u32 k = 0; k < (count + MERGING_THREADS - 1) / MERGING_THREADS; k++) {
        u32 i = MERGING_THREAD + k * MERGING_THREADS;
        if (i < count && from[i]) atomicAdd(&into[i], from[i]);
    }
}

// Publishes extremes that are not merged in a word; called by one thread.
static __device__ __forceinline__ void publish_extremes(const struct wf_kernel_arguments *r, struct wf_partial *working)
{
#if USES_BLOCK_EXTREMES
    (void)working;
    publish_block_extremes(r);
#elif HAS_EXTREMES && IS_INDEXED
    struct wf_block_extrema *partial = (struct wf_block_extrema *)r->extrema + blockIdx.x;
    if (HAS_MIN) {
        partial->min_key = block_partial.min_key;
        partial->min_index = block_partial.min_index;
    }
    if (HAS_MAX) {
        partial->max_key = block_partial.max_key;
        partial->max_index = block_partial.max_index;
    }
#elif HAS_EXTREMES
    if (HAS_MIN) atomicMin(&working->min_key, block_partial.min_key);
    if (HAS_MAX) atomicMax(&working->max_key, block_partial.max_key);
#endif
}

static __device__ __forceinline__ void publish_special(struct wf_partial *working)
{
    atomicAdd(&working->nan_count, block_partial.nan_count);
    atomicMin(&working->first_nan, block_partial.first_nan);
    atomicOr(&working->special_seen, block_partial.special_seen);
}

static __device__ __forceinline__ void publish_block(const struct wf_kernel_arguments *r, bool is_special)
{
    struct wf_partial *working = (struct wf_partial *)r->working;
    if (HAS_SUM) add_digits(working->sum, block_partial.sum, VALUE_DIGITS);
    if (HAS_ABS) add_digits(working->abs, block_partial.abs, VALUE_DIGITS);
    if (HAS_PRODUCT_SUM) add_digits(working->product_sum, block_partial.product_sum, PRODUCT_DIGITS);
    if (MERGING_THREAD != 0) return;
    publish_extremes(r, working);
    if (HAS_NONZERO) atomicAdd(&working->nonzero, block_partial.nonzero);
    if (HAS_BITS) {
        atomicAnd(&working->bits_and, block_partial.bits_and);
        atomicOr(&working->bits_or, block_partial.bits_or);
        atomicXor(&working->bits_xor, block_partial.bits_xor);
    }
    if (HAS_PRODUCT) publish_product(working, block_partial.product_magnitude, block_partial.product_flags);
    if (is_special) publish_special(working);
}

// Orders what is published before and what is fetched after.
static __device__ __forceinline__ u32 draw_in_order(const struct wf_kernel_arguments *r, u32 mine)
{
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(r->ticket), "r"(mine) : "memory");
    return before;
}

// Adds one.  An addition by name would be gathered from the warp's lanes first, of which there is but one.
static __device__ __forceinline__ u32 draw(const struct wf_kernel_arguments *r)
{
    u32 before;
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0xffffffff;" : "=r"(before) : "l"(r->ticket) : "memory");
    return before;
}

// Draws a ticket: true in the block that draws the last one, when all others have published.  One thread's order of
// memory is enough: the barriers before and after order what the others do; what is published needs none.  specials: how
// many blocks, this one included, have published something special.
static __device__ __forceinline__ bool is_last_block(const struct wf_kernel_arguments *r, bool is_special, u32 *specials)
{
    static __shared__ u32 drawn;
    sync_merging();
    if (MERGING_THREAD == 0) {
        u32 mine = 1 + (is_special ? 1 << 16 : 0);
        drawn = (USES_BLOCK_EXTREMES && !is_special ? draw(r) : draw_in_order(r, mine)) + mine;
        if ((drawn & 0xffff) == gridDim.x)
            asm volatile("st.relaxed.gpu.global.u32 [%0], 0;" ::"l"(r->ticket) : "memory");
    }
    sync_merging();
    *specials = drawn >> 16;
    return (drawn & 0xffff) == gridDim.x;
}

// ---- by the last block

// Fetches what all have published, and leaves nothing there.  Each word is far away: all are asked for before the first
// is needed.
static __device__ __forceinline__ void fetch(const struct wf_kernel_arguments *r, bool special)
{
    enum { ROUNDS = (PARTIAL_WORDS + MERGING_THREADS - 1) / MERGING_THREADS };
    u64 *working = (u64 *)r->working, *block = (u64 *)&block_partial, fetched[ROUNDS];
#pragma unroll
    for (u32 k = 0; k < ROUNDS; k++) {
        u32 i = MERGING_THREAD + k * MERGING_THREADS;
        if (i < PARTIAL_WORDS && is_published(i) && (special || !is_of_special(i))) fetched[k] = __ldcg(&working[i]);
    }
#pragma unroll
    for (u32 k = 0; k < ROUNDS; k++) {
        u32 i = MERGING_THREAD + k * MERGING_THREADS;
        if (i >= PARTIAL_WORDS || !is_published(i) || !(special || !is_of_special(i))) continue;
        block[i] = fetched[k];
        working[i] = identity_of(i);
    }
}

#if HAS_EXTREMES && IS_INDEXED && !USES_BLOCK_EXTREMES
static __device__ __forceinline__ void compare(lane_state *lane, const struct wf_block_extrema *partial)
{
    if (HAS_MIN && (partial->min_key < lane->min_key ||
                    (partial->min_key == lane->min_key && partial->min_index < lane->min_index))) {
        lane->min_key = partial->min_key;
        lane->min_index = partial->min_index;
    }
    if (HAS_MAX && (partial->max_key > lane->max_key ||
                    (partial->max_key == lane->max_key && partial->max_index < lane->max_index))) {
        lane->max_key = partial->max_key;
        lane->max_index = partial->max_index;
    }
}

// Compares the blocks' extremes, several at a time, because each takes a long latency to load.
static __device__ __forceinline__ void compare_extremes(const struct wf_kernel_arguments *r, lane_state *lane)
{
    enum { TOGETHER = 5 };
    const struct wf_block_extrema *partials = (const struct wf_block_extrema *)r->extrema;
    lane_clear(lane);
    for (u32 first = threadIdx.x; first < gridDim.x; first += TOGETHER * BLOCK) {
        struct wf_block_extrema partial[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) { // of those that do not exist, the first of them once more
            u32 i = first + (u32)k * BLOCK;
            const struct wf_block_extrema *from = &partials[i < gridDim.x ? i : first];
            if (HAS_MIN) {
                partial[k].min_key = __ldcg(&from->min_key);
                partial[k].min_index = __ldcg(&from->min_index);
            }
            if (HAS_MAX) {
                partial[k].max_key = __ldcg(&from->max_key);
                partial[k].max_index = __ldcg(&from->max_index);
            }
        }
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) compare(lane, &partial[k]);
    }
    merge_warps(lane);
}
#endif

#if PACKS_SUM

// The block's sum and its count of one, added to one word: the last block finds all there.
static __device__ __forceinline__ bool merge_blocks(const struct wf_kernel_arguments *r, bool is_special, u32 *specials)
{
    const int count_bits = 9; // the plan has fewer blocks than that
    u64 total = block_partial.sum[0] + (block_partial.sum[1] << 32), sum = 0;
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
    if (MERGING_THREAD < VALUE_DIGITS) block_partial.sum[MERGING_THREAD] = MERGING_THREAD == 0 ? total : 0;
    sync_merging();
    return true;
}

static __device__ __forceinline__ void collect_blocks(const struct wf_kernel_arguments *r, u32 specials)
{
    (void)r, (void)specials;
}

#else

// Merges the parts of all blocks into block_partial; called by the last block.
static __device__ __forceinline__ void collect_blocks(const struct wf_kernel_arguments *r, u32 specials)
{
#if USES_BLOCK_EXTREMES
    if (specials) __threadfence(); // what the others have published in addition
    collect_block_extremes(r);
#elif HAS_EXTREMES && IS_INDEXED
    lane_state lane;
    compare_extremes(r, &lane);
#endif
    if (!USES_BLOCK_EXTREMES || specials) fetch(r, specials != 0);
    sync_merging();
    if (IS_FLOAT && MERGING_THREAD == 0 && specials < gridDim.x)
        block_partial.special_seen = (specials ? block_partial.special_seen : 0) | PLAIN_SPECIAL;
    sync_merging();
}

// Publishes the block's parts.  Returns false where another block, the last one, will merge them.
static __device__ __forceinline__ bool merge_blocks(const struct wf_kernel_arguments *r, bool is_special, u32 *specials)
{
    publish_block(r, is_special);
    return is_last_block(r, is_special, specials);
}

#endif

// Sets what is special in block_partial to nothing.
static __device__ __forceinline__ void put_plain(void)
{
    block_partial.nan_count = 0;
    block_partial.first_nan = NO_INDEX;
    block_partial.special_seen = PLAIN_SPECIAL;
}

static __device__ __forceinline__ bool has_special(void)
{
    return IS_FLOAT && (block_partial.nan_count || block_partial.special_seen != PLAIN_SPECIAL);
}

#endif
