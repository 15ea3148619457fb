// Extremes by key.  A group has a word, and what is larger is better: the order of the best element so far and, of types of up
// to 32 bits whose indices matter, the complement of its position below that.  Of 64-bit types these positions are found by a
// stage of its own, once the orders are known.
//
// A word is read before it is written: of elements in any order few are better than all before them, so that atomic operations,
// which wait for each other where many elements have the same key, are rare.  Where the table is in global memory, blocks
// remember what they have seen of some groups in shared memory, the often wanted ones before all, since reading the same word
// waits, too.

#ifndef TABLE_EXTREMES_CUH
#define TABLE_EXTREMES_CUH

#include "kernels/group_finish.cuh"
#include "kernels/group_state.cuh"
#include "kernels/relaxed.cuh"
#include "kernels/table_walk.cuh"

#define HAS_INDEX_STAGE (IS_INDEXED && WIDTH == 64)
#define HAS_PACKED_INDEX (IS_INDEXED && WIDTH < 64)

// The type of words is that of the atomic operations on them.
#if WIDTH == 64 || IS_INDEXED
typedef u64 table_word;
#define load_shared_word load_shared_u64
#define load_global_word load_global_u64
#else
typedef u32 table_word;
#define load_shared_word load_shared_u32
#define load_global_word load_global_u32
#endif

// Orders of elements of fewer than 32 bits begin at 1, those of floats are beyond the NaNs at one end, and an index lets no
// word be 0; so 0 is that of a group without elements except for these, where an element of that order leaves a flag.
#define FIRST_ORDER (WIDTH < 32 ? 1 : 0)
#define NEEDS_FLAG (!IS_FLOAT && WIDTH >= 32 && !HAS_PACKED_INDEX)
#define ORDER_OF_NAN ((narrow_key)(WIDTH == 64 ? ~(u64)0 : (((u64)1 << WIDTH) - 1 + FIRST_ORDER)))

static __device__ __forceinline__ narrow_key order_of(unit bits)
{
    narrow_key key = narrow_key_of(bits);
    if (is_nan(bits)) return ORDER_OF_NAN;
    return (HAS_MIN ? (narrow_key)(unit)~key : key) + FIRST_ORDER;
}

static __device__ __forceinline__ narrow_key key_of_order(narrow_key order)
{
    narrow_key key = order - FIRST_ORDER;
    return HAS_MIN ? (narrow_key)(unit)~key : key;
}

static __device__ __forceinline__ table_word word_of(narrow_key order, i64 position)
{
#if HAS_PACKED_INDEX
    return (u64)order << 32 | (u32)~(u32)position;
#else
    (void)position;
    return order;
#endif
}

static __device__ __forceinline__ narrow_key order_of_word(table_word word)
{
    return (narrow_key)(HAS_PACKED_INDEX ? (u64)word >> 32 : word);
}

// ---- words

// Those that a stage writes: of the stage that finds positions the second ones.
static __device__ __forceinline__ table_word *words_of(const struct wf_table_arguments *r)
{
    return (table_word *)r->words + (r->stage == WF_TABLE_INDEX ? r->table_count : 0);
}

static __device__ __forceinline__ void raise_shared(table_word *word, table_word value)
{
    if (load_shared_word(word) < value) atomicMax(word, value);
}

static __device__ __forceinline__ void raise_global(table_word *word, table_word value)
{
    if (load_global_word(word) < value) atomicMax(word, value);
}

static __device__ __forceinline__ void note_group(const struct wf_table_arguments *r, i64 key)
{
    u32 *flags = (u32 *)r->flags + key;
    if (!(load_global_u32(flags) & WF_TABLE_SEEN)) atomicOr(flags, WF_TABLE_SEEN);
}

// ---- what a block remembers of groups whose words are in global memory: a group's number, and 32 bits of its word

static __device__ __forceinline__ u64 *memory_of(const struct wf_table_arguments *r, i64 key)
{
    return &block_table[key & (r->kept - 1)];
}

static __device__ __forceinline__ u32 top_of(table_word word)
{
    return (u32)(sizeof word == 8 ? (u64)word >> 32 : word);
}

// Whether the group is known to have as much already.
static __device__ __forceinline__ bool is_known(const struct wf_table_arguments *r, i64 key, table_word word)
{
    u64 seen = load_shared_u64(memory_of(r, key));
    bool is_enough = sizeof word == 8 ? top_of(word) < (u32)seen : top_of(word) <= (u32)seen;
    return seen >> 32 == (u64)key + 1 && is_enough;
}

static __device__ __forceinline__ void put_in_memory(const struct wf_table_arguments *r, i64 key, table_word word)
{
    if (is_known(r, key, word)) return;
    table_word *there = words_of(r) + key, best = load_global_word(there);
    if (best < word) atomicMax(there, word);
    store_shared_u64(memory_of(r, key), (u64)(key + 1) << 32 | top_of(max(best, word)));
}

// ---- adding

// A key, and the best word of it that is not yet in the table.
typedef struct {
    i64 key;
    table_word word;
} best_of_key;

static __device__ __forceinline__ void put_word(const struct wf_table_arguments *r, const best_of_key *best)
{
    if (best->key < 0) return;
    if (NEEDS_FLAG && best->word == 0) {
        note_group(r, best->key);
    } else if (r->copies) {
        raise_shared((table_word *)block_table + best->key, best->word);
    } else {
        put_in_memory(r, best->key, best->word);
    }
}

// What an element means to its group; false: nothing.
static __device__ __forceinline__ bool find_word(const struct wf_table_arguments *r, i64 key, unit bits, i64 position,
                                                 table_word *word)
{
    narrow_key order = order_of(bits);
    if (is_nan(bits) && r->groups.nan == WF_NAN_OMIT) return false;
    if (is_nan(bits) && r->groups.nan == WF_NAN_ERROR) findings_of(r)->failed = 1;
    *word = word_of(order, position);
    if (!HAS_INDEX_STAGE || r->stage != WF_TABLE_INDEX) return true;
    *word = (table_word)~(u64)position;
    return order == __ldg((const narrow_key *)r->words + key);
}

// Equal keys that follow each other are compared before anything goes to the table.
static __device__ __forceinline__ void add_elements(const struct wf_table_arguments *r, const key_range *range,
                                                    const loaded *elements, best_of_key *best)
{
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        if (k >= elements->count) break;
        i64 position = elements->first + k, key = find_key(r, range, elements->key_bits[k], position);
        table_word word;
        if (key < 0 || !find_word(r, key, elements->bits[k], position, &word)) continue;
        if (key == best->key) {
            best->word = max(best->word, word);
            continue;
        }
        put_word(r, best);
        best->key = key;
        best->word = word;
    }
}

static __device__ __forceinline__ void add_piece(const struct wf_table_arguments *r, const key_range *range)
{
    const i64 of_warp = 32 * EACH;
    i64 begin, end;
    find_piece(r, &begin, &end);
    i64 first = begin + lane_number() * EACH;
    best_of_key best = {NO_KEY, 0};
    loaded elements, next;
    load_elements(r, first, end, &next);
    for (i64 at = begin; at < end; at += of_warp) {
        elements = next;
        first += of_warp;
        load_elements(r, first, end, &next);
        add_elements(r, range, &elements, &best);
    }
    put_word(r, &best);
}

static __device__ __forceinline__ void add_to_tables(const struct wf_table_arguments *r)
{
    i64 groups = r->copies ? r->table_count : 0;
    key_range range = range_of_pass(r);
    if (range.count == 0) return;
    for (i64 i = threadIdx.x; i < groups; i += WF_TABLE_BLOCK) ((table_word *)block_table)[i] = 0;
    for (i64 i = threadIdx.x; i < r->kept; i += WF_TABLE_BLOCK) block_table[i] = 0;
    __syncthreads();
    add_piece(r, &range);
    __syncthreads();
    for (i64 i = threadIdx.x; i < groups; i += WF_TABLE_BLOCK) raise_global(words_of(r) + i, ((const table_word *)block_table)[i]);
}

#ifdef FINISH_OP

// ---- results

static __device__ __forceinline__ void set_extreme(const struct wf_table_arguments *r, narrow_key order, i64 position,
                                                   group_state *group)
{
    u64 index = (u64)(r->groups.first_index + position), key = key_of_narrow(key_of_order(order));
    if (IS_FLOAT && order == ORDER_OF_NAN) {
        group->nan_count = 1;
        group->first_nan = index;
        return;
    }
    group->min_key = group->max_key = key;
    group->min_index = group->max_index = index;
}

static __device__ __forceinline__ i64 position_of(const struct wf_table_arguments *r, i64 number, table_word word)
{
    if (HAS_INDEX_STAGE) return (i64)~((const u64 *)r->words)[r->table_count + number];
    return HAS_PACKED_INDEX ? (i64)(u32)~(u32)word : 0;
}

static __device__ __forceinline__ void finish_key(const struct wf_table_arguments *r, i64 number)
{
    table_word word = ((const table_word *)r->words)[number];
    bool exists = word != 0 || (NEEDS_FLAG && ((const u32 *)r->flags)[number] != 0);
    group_place place = place_of_key(r, number);
    group_state group;
    group_clear(&group);
    if (exists) set_extreme(r, order_of_word(word), position_of(r, number, word), &group);
    if (!write_plain(&r->groups, &place, &group, false, exists)) finish_group(&r->groups, place, group, exists);
}

static __device__ __forceinline__ void finish_tables(const struct wf_table_arguments *r, char *unused)
{
    (void)unused;
    if (findings_of(r)->failed) return;
    for (i64 i = (i64)blockIdx.x * 32 + threadIdx.x; i < r->table_count; i += (i64)gridDim.x * 32) finish_key(r, i);
}

#endif

#endif
