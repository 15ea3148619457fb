// The extremes of a small array's blocks.  Each block posts its own in a word (keys of 64 bits in two) that is 0 until
// then, so that whoever reads it sees whether it has been written: nothing has to wait for a fence.

#ifndef POSTED_CUH
#define POSTED_CUH

#if IS_SMALL && HAS_EXTREMES
#define USES_POSTED 1

#define POSTED_WORDS (WIDTH == 64 ? 2 : 1)       // of an extreme
#define KEY_FLIP (KEY_IS_SIGNED ? SIGN_WORD : 0) // the lower half of a narrow key in its order
#define POSTED_BIT 0x80000000u                   // of each word's lower half: it has been posted

// An extreme, as what is largest: the order of its key, and how near the array's beginning it is, or POSTED_BIT where
// there is none.
#if WIDTH == 64
typedef u64 posted_rank;
#else
typedef u32 posted_rank;
#endif
typedef struct {
    posted_rank rank;
    u32 near;
} posted;

// Those of all blocks, one after the other.
static __device__ __forceinline__ u64 *posted_words(const struct wf_reduction *r, int word, bool is_min)
{
    return (u64 *)r->posted + (is_min ? word : 2 + word) * WF_POSTED_BLOCKS;
}

static __device__ __forceinline__ void post_word(u64 *to, u64 word)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
}

// Of two blocks.
static __device__ __forceinline__ void take_back(u64 *words)
{
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %1};" ::"l"(words), "l"((u64)0) : "memory");
}

static __device__ __forceinline__ void post(const struct wf_reduction *r, u64 key, u64 index, bool is_min)
{
    bool is_nothing = WIDTH == 64 && IS_INDEXED ? index == NO_INDEX : key == (is_min ? ~(u64)0 : 0);
    u32 near = IS_INDEXED ? ~((u32)(index - (u64)r->index) + r->head) : ~0u; // small arrays have no more elements
    posted_rank rank = WIDTH == 64 ? (posted_rank)key : (u32)key ^ KEY_FLIP;
    if (is_min) rank = ~rank;
    if (is_nothing) {
        rank = 0;
        near = POSTED_BIT;
    }
    if (WIDTH == 64) post_word(posted_words(r, 1, is_min) + blockIdx.x, (u64)rank << 32 | POSTED_BIT);
    post_word(posted_words(r, 0, is_min) + blockIdx.x, (WIDTH == 64 ? rank >> 32 << 32 : (u64)rank << 32) | near);
}

static __device__ __forceinline__ void keep_better(posted *best, u64 first, u64 second)
{
    posted_rank rank = WIDTH == 64 ? (posted_rank)(first >> 32 << 32 | second >> 32) : (posted_rank)(first >> 32);
    u32 near = (u32)first;
    if (IS_INDEXED) {
        bool is_better = rank > best->rank || (rank == best->rank && near > best->near);
        best->rank = is_better ? rank : best->rank;
        best->near = is_better ? near : best->near;
    } else { // all that exist are as near
        best->rank = max(best->rank, rank);
        best->near = max(best->near, near);
    }
}

#define ROWS 5 // that are asked for together

// The lane's of rows, in each of which it has two blocks; adds up how many words have been posted.
static __device__ __forceinline__ u32 read_posted(const u64 *first, const u64 *second, int rows, posted *best)
{
    ulonglong2 words[POSTED_WORDS][ROWS];
    u32 count = 0;
#pragma unroll
    for (int row = 0; row < rows; row++)
#pragma unroll
        for (int word = 0; word < POSTED_WORDS; word++)
            asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                         : "=l"(words[word][row].x), "=l"(words[word][row].y)
                         : "l"((word ? second : first) + 64 * row)
                         : "memory");
#pragma unroll
    for (int row = 0; row < rows; row++) {
        ulonglong2 a = words[0][row], b = {0, 0};
        if (WIDTH == 64) b = words[POSTED_WORDS - 1][row];
        count += ((u32)a.x >> 31) + ((u32)a.y >> 31) + ((u32)b.x >> 31) + ((u32)b.y >> 31);
        keep_better(best, a.x, b.x);
        keep_better(best, a.y, b.y);
    }
    return count;
}

// The best of all blocks, each of which has posted or is about to.
static __device__ __forceinline__ posted await_posted(const u64 *first, const u64 *second)
{
    posted best;
    u32 count;
    do {
        best.rank = best.near = count = 0;
        if (gridDim.x <= 64)
            count = read_posted(first, second, 1, &best);
        else
            for (u32 i = 0; i < gridDim.x; i += 64 * ROWS) count += read_posted(first + i, second + i, ROWS, &best);
    } while ((u32)warp_sum_small(count) != gridDim.x * POSTED_WORDS);
    posted_rank rank = WIDTH == 64 ? (posted_rank)warp_largest(best.rank) : (posted_rank)warp_max((u32)best.rank);
    best.near = warp_max(best.rank == rank ? best.near : 0);
    best.rank = rank;
    return best;
}

// Takes them: there are none then, as before.
static __device__ __forceinline__ void collect_posted(const struct wf_reduction *r, bool is_min, u64 *key, u64 *index)
{
    u64 *first = posted_words(r, 0, is_min) + 2 * lane_number(), *second = posted_words(r, 1, is_min) + 2 * lane_number();
    posted best = await_posted(first, second);
    posted_rank order = is_min ? ~best.rank : best.rank;
    u32 narrow = (u32)order ^ KEY_FLIP;
    *key = WIDTH == 64 ? order : ordered(KEY_IS_SIGNED ? (i64)(int)narrow : (i64)narrow);
    *index = IS_INDEXED ? (u64)r->index + ~best.near - r->head : NO_INDEX;
    if (best.near == POSTED_BIT) {
        *key = is_min ? ~(u64)0 : 0;
        *index = NO_INDEX;
    }
#pragma unroll 1
    for (u32 row = 0; 64 * row < gridDim.x; row++) {
        take_back(first + 64 * row);
        if (WIDTH == 64) take_back(second + 64 * row);
    }
}

// By one thread: the block's.
static __device__ __forceinline__ void post_extremes(const struct wf_reduction *r)
{
#ifdef PART_MIN
    post(r, block_gathered.min_key, block_gathered.min_index, true);
#endif
#ifdef PART_MAX
    post(r, block_gathered.max_key, block_gathered.max_index, false);
#endif
}

// By one warp: all blocks', in block_gathered.
static __device__ __forceinline__ void take_posted(const struct wf_reduction *r)
{
    u64 key, index;
#ifdef PART_MIN
    collect_posted(r, true, &key, &index);
    if (lane_number() == 0) {
        block_gathered.min_key = key;
        block_gathered.min_index = index;
    }
#endif
#ifdef PART_MAX
    collect_posted(r, false, &key, &index);
    if (lane_number() == 0) {
        block_gathered.max_key = key;
        block_gathered.max_index = index;
    }
#endif
}

#else
#define USES_POSTED 0
#endif

#endif
