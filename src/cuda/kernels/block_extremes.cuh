// The extremes of a small array's blocks.  Each block publishes its own in a word (keys of 64 bits in two) that is 0 until
// then, so the reader sees whether it has been written: nothing has to wait for a fence.

#ifndef BLOCK_EXTREMES_CUH
#define BLOCK_EXTREMES_CUH

#include "kernels/digits.cuh"
#include "kernels/lane.cuh"
#include "kernels/parts.cuh"
#include "kernels/warp.cuh"
#include "arguments.h"

#if IS_SMALL && HAS_EXTREMES
#define USES_BLOCK_EXTREMES 1

#define EXTREME_WORDS (WIDTH == 64 ? 2 : 1)      // in which an extreme is published
#define KEY_FLIP (KEY_IS_SIGNED ? SIGN_WORD : 0) // the lower half of a narrow key in its order
#define PUBLISHED_BIT 0x80000000u                // of each word's lower half: it has been published

// An extreme, as numbers of which the largest wins: the rank of its key, and for equal keys a tie break, which is larger
// the nearer the element is to the array's beginning, or PUBLISHED_BIT where there is no extreme.
#if WIDTH == 64
typedef u64 extreme_rank;
#else
typedef u32 extreme_rank;
#endif
typedef struct {
    extreme_rank rank;
    u32 tie_break;
} block_extreme;

// The words of all blocks, one after the other.
static __device__ __forceinline__ u64 *block_extremes(const struct wf_kernel_arguments *r, int word, bool is_min)
{
    return (u64 *)r->published + (is_min ? word : 2 + word) * WF_PUBLISHED_BLOCKS;
}

static __device__ __forceinline__ void publish_word(u64 *to, u64 word)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

// Clears the words of two blocks.
static __device__ __forceinline__ void clear_words(u64 *words)
{
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %1};" ::"l"(words), "l"((u64)0) : "memory");
}

static __device__ __forceinline__ void publish_extreme(const struct wf_kernel_arguments *r, u64 key, u64 index,
                                                       bool is_min)
{
    bool is_nothing = WIDTH == 64 && IS_INDEXED ? index == NO_INDEX : key == (is_min ? ~(u64)0 : 0);
    u32 tie_break = IS_INDEXED ? ~((u32)(index - (u64)r->index) + r->head) : ~0u; // small arrays have no more elements
    extreme_rank rank = WIDTH == 64 ? (extreme_rank)key : (u32)key ^ KEY_FLIP;
    if (is_min) rank = ~rank;
    if (is_nothing) {
        rank = 0;
        tie_break = PUBLISHED_BIT;
    }
    if (WIDTH == 64) publish_word(block_extremes(r, 1, is_min) + blockIdx.x, (u64)rank << 32 | PUBLISHED_BIT);
    publish_word(block_extremes(r, 0, is_min) + blockIdx.x,
                 (WIDTH == 64 ? rank >> 32 << 32 : (u64)rank << 32) | tie_break);
}

static __device__ __forceinline__ void keep_better(block_extreme *best, u64 first, u64 second)
{
    extreme_rank rank = WIDTH == 64 ? (extreme_rank)(first >> 32 << 32 | second >> 32) : (extreme_rank)(first >> 32);
    u32 tie_break = (u32)first;
    if (IS_INDEXED) {
        bool is_better = rank > best->rank || (rank == best->rank && tie_break > best->tie_break);
        best->rank = is_better ? rank : best->rank;
        best->tie_break = is_better ? tie_break : best->tie_break;
    } else { // without an index, all extremes have the same tie break
        best->rank = max(best->rank, rank);
        best->tie_break = max(best->tie_break, tie_break);
    }
}

#define ROWS 5 // loaded together, so that their latencies overlap

// Compares the lane's words of several rows, in each of which it has two blocks; returns how many have been published.
static __device__ __forceinline__ u32 read_block_extremes(const u64 *first, const u64 *second, int rows,
                                                          block_extreme *best)
{
    ulonglong2 words[EXTREME_WORDS][ROWS];
    u32 count = 0;
#pragma unroll
    for (int row = 0; row < rows; row++)
#pragma unroll
        for (int word = 0; word < EXTREME_WORDS; word++)
            asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                         : "=l"(words[word][row].x), "=l"(words[word][row].y)
                         : "l"((word ? second : first) + 64 * row)
                         : "memory");
#pragma unroll
    for (int row = 0; row < rows; row++) {
        ulonglong2 a = words[0][row], b = {0, 0};
        if (WIDTH == 64) b = words[EXTREME_WORDS - 1][row];
        count += ((u32)a.x >> 31) + ((u32)a.y >> 31) + ((u32)b.x >> 31) + ((u32)b.y >> 31);
        keep_better(best, a.x, b.x);
        keep_better(best, a.y, b.y);
    }
    return count;
}

// The best of all blocks, each of which has published or is about to.
static __device__ __forceinline__ block_extreme await_block_extremes(const u64 *first, const u64 *second)
{
    block_extreme best;
    u32 count;
    do {
        best.rank = best.tie_break = count = 0;
        if (gridDim.x <= 64)
            count = read_block_extremes(first, second, 1, &best);
        else
            for (u32 i = 0; i < gridDim.x; i += 64 * ROWS) count += read_block_extremes(first + i, second + i, ROWS, &best);
    } while ((u32)warp_sum_small(count) != gridDim.x * EXTREME_WORDS);
    extreme_rank rank = WIDTH == 64 ? (extreme_rank)warp_largest(best.rank) : (extreme_rank)warp_max((u32)best.rank);
    best.tie_break = warp_max(best.rank == rank ? best.tie_break : 0);
    best.rank = rank;
    return best;
}

// Reads the extreme of all blocks and clears its words, so that the next launch finds none published.
static __device__ __forceinline__ void collect_extreme(const struct wf_kernel_arguments *r, bool is_min, u64 *key, u64 *index)
{
    u64 *first = block_extremes(r, 0, is_min) + 2 * lane_number(), *second = block_extremes(r, 1, is_min) + 2 * lane_number();
    block_extreme best = await_block_extremes(first, second);
    extreme_rank order = is_min ? ~best.rank : best.rank;
    u32 narrow = (u32)order ^ KEY_FLIP;
    *key = WIDTH == 64 ? order : ordered(KEY_IS_SIGNED ? (i64)(int)narrow : (i64)narrow);
    *index = IS_INDEXED ? (u64)r->index + ~best.tie_break - r->head : NO_INDEX;
    if (best.tie_break == PUBLISHED_BIT) {
        *key = is_min ? ~(u64)0 : 0;
        *index = NO_INDEX;
    }
#pragma unroll 1
    for (u32 row = 0; 64 * row < gridDim.x; row++) {
        clear_words(first + 64 * row);
        if (WIDTH == 64) clear_words(second + 64 * row);
    }
}

// Publishes the block's extremes; called by one thread.
static __device__ __forceinline__ void publish_block_extremes(const struct wf_kernel_arguments *r)
{
    if (HAS_MIN) publish_extreme(r, block_partial.min_key, block_partial.min_index, true);
    if (HAS_MAX) publish_extreme(r, block_partial.max_key, block_partial.max_index, false);
}

// Puts the extremes of all blocks into block_partial; called by one warp.
static __device__ __forceinline__ void collect_block_extremes(const struct wf_kernel_arguments *r)
{
    u64 key, index;
    if (HAS_MIN) {
        collect_extreme(r, true, &key, &index);
        if (lane_number() == 0) {
            block_partial.min_key = key;
            block_partial.min_index = index;
        }
    }
    if (HAS_MAX) {
        collect_extreme(r, false, &key, &index);
        if (lane_number() == 0) {
            block_partial.max_key = key;
            block_partial.max_index = index;
        }
    }
}

#else
#define USES_BLOCK_EXTREMES 0
#endif

#endif
