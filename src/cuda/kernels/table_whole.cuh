// Sums by few keys of floats whose exponents are too far apart for grids: a word for every 32 bits of the type's whole range, or, where
// keys are many for that, of the exponents that occur, so that nothing is left out.  An element is added to two or three words of its key,
// in shared memory; where that has no room for the words of all keys, a block reads its elements again for each range of them, or, where
// these would be many, adds to global memory.

#ifndef TABLE_WHOLE_CUH
#define TABLE_WHOLE_CUH

#include "kernels/table_direct.cuh"

#define HAS_WHOLE (IS_DIRECT && IS_FLOAT && !IS_F16)
#define COLUMNS_OF_WARP (WF_TABLE_WHOLE_COLUMNS / (WF_TABLE_BLOCK / 32))
#define WHOLE_DIGITS (WIDTH == 64 ? 3 : 2) // of an element
#define WHOLE_TERMS (WIDTH == 64 ? WF_TABLE_F64_WHOLE_TERMS : WF_TABLE_WHOLE_TERMS)

// Whether what grids were added to does not count.
static __device__ __forceinline__ bool is_wide(const struct wf_table_arguments *r)
{
    return HAS_WHOLE && findings_of(r)->wide != 0;
}

static __device__ __forceinline__ u64 whole_word_at(const struct wf_table_arguments *r, int word, i64 group)
{
    return ((const u64 *)r->whole)[word * r->table_count + group];
}

// The words of a sum: which of all its first one is, and how many there are.
typedef struct {
    int base, terms;
} whole_range;

static __device__ __forceinline__ whole_range find_whole_range(const struct wf_table_arguments *r)
{
    if (!r->looks_whole) return {0, WHOLE_TERMS};
    int high = (int)max(findings_of(r)->high_of_all, 1u) - 1, depth = (int)findings_of(r)->depth_of_all;
    int low = min((int)(INFINITY_BITS >> FRACTION_BITS) - depth - 1, high), base = low / WF_TABLE_WHOLE_BITS;
    return {base, (high + FRACTION_BITS) / WF_TABLE_WHOLE_BITS - base + 1};
}

static __device__ __forceinline__ int count_whole_words(const struct wf_table_arguments *r, const whole_range *range)
{
    return range->terms + has_counts(r);
}

// Where a look is needed, which comes before anything is added.
static __device__ __forceinline__ void clear_whole(const struct wf_table_arguments *r)
{
    i64 words = (i64)(WHOLE_TERMS + has_counts(r)) * r->table_count;
    for (i64 i = (i64)blockIdx.x * WF_TABLE_BLOCK + threadIdx.x; i < words; i += (i64)gridDim.x * WF_TABLE_BLOCK) ((u64 *)r->whole)[i] = 0;
}

#if HAS_WHOLE

// A block's words: how many of each key, for how many keys at a time, or 0, in how many copies, and how far one is from the next.
typedef struct {
    whole_range range;
    u32 of_key, keys, copies, step, words;
    bool has_columns; // behind those of all keys, for one that many lanes have
} whole_table;

static __device__ __forceinline__ whole_table find_whole_table(const struct wf_table_arguments *r)
{
    whole_table to = {find_whole_range(r), 0, 0, WF_TABLE_COPIES_MAX, 0, 0, false};
    to.of_key = (u32)count_whole_words(r, &to.range);
    to.keys = min(WF_TABLE_WHOLE_KEYS((u32)r->whole_room, to.of_key), (u32)r->table_count);
    while (to.copies > 1 && to.copies * to.keys > WF_TABLE_WHOLE_KEYS((u32)r->whole_room, to.of_key)) to.copies /= 2;
    to.has_columns = WF_TABLE_WHOLE_HAS_COLUMNS((u32)r->whole_room, to.of_key) && to.copies < COLUMNS_OF_WARP;
    if ((u64)to.keys * WF_TABLE_WHOLE_RANGES < (u64)r->table_count) {
        to.keys = 0;
        to.has_columns = (u32)r->whole_room >= to.of_key * WF_TABLE_WHOLE_COLUMNS;
    }
    to.step = to.keys * to.copies + (to.has_columns ? WF_TABLE_WHOLE_COLUMNS : 0);
    to.words = to.of_key * to.step;
    return to;
}

// A key that many of a warp's lanes have, and the address of the lane's words of it.
typedef struct {
    int key;
    u32 at;
} whole_column;

static __device__ __forceinline__ u32 first_column(const whole_table *to)
{
    return to->keys * to->copies + warp_number() * COLUMNS_OF_WARP;
}

static __device__ __forceinline__ void put_in_global_whole(const struct wf_table_arguments *r, u32 word, int key, u64 value)
{
    if (value) atomicAdd((u64 *)r->whole + word * r->table_count + key, value);
}

// Brings what all lanes have of it to the table, and begins with another key.
static __device__ __forceinline__ void change_column(const struct wf_table_arguments *r, const whole_table *to, const key_range *range, int key,
                                                     whole_column *own)
{
    u32 *halves = (u32 *)block_table;
    __syncwarp();
    for (u32 i = lane_number(); i < to->of_key && own->key >= 0; i += 32) {
        u64 sum = 0;
        for (u32 column = first_column(to) + i * to->step, k = 0; k < COLUMNS_OF_WARP; column++, k++) {
            sum += shared_word(to->words, column);
            halves[column] = halves[to->words + column] = 0;
        }
        if (to->keys)
            add_to_shared(to->words, (u32)(own->key - (int)range->first) * to->copies + i * to->step, sum);
        else
            put_in_global_whole(r, i, own->key, sum);
    }
    __syncwarp();
    own->key = key;
}

// Many lanes still have it, or have that of the first lane.
static __device__ __forceinline__ void choose_column(const struct wf_table_arguments *r, const whole_table *to, const key_range *range,
                                                     int key, whole_column *own)
{
    if (!to->has_columns || __popc(__ballot_sync(ALL_LANES, key == own->key)) >= MANY_LANES) return;
    int other = __shfl_sync(ALL_LANES, key, 0);
    if (other >= 0 && __popc(__ballot_sync(ALL_LANES, key == other)) >= MANY_LANES) change_column(r, to, range, other, own);
}

// What an element adds to the lower halves of its words, or takes away: which of its key's words is the first of these, then its address.
typedef struct {
    u32 at, digit[WHOLE_DIGITS];
    bool negative;
} whole_digits;

static __device__ __forceinline__ whole_digits find_digits(const whole_table *to, unit bits)
{
    int position;
    u64 significand = significand_of(bits, &position);
    u32 shift = (u32)position % WF_TABLE_WHOLE_BITS;
    whole_digits found;
    found.at = (u32)(position / WF_TABLE_WHOLE_BITS - to->range.base);
    found.negative = HAS_SUM && is_negative(bits);
    found.digit[0] = (u32)(significand << shift);
    found.digit[1] = (u32)(significand << shift >> 32);
    if (WIDTH == 64) found.digit[WHOLE_DIGITS - 1] = (u32)(significand >> (63 - shift) >> 1);
    return found;
}

// Gives what is then to be added to the upper half.
static __device__ __forceinline__ u32 put_lower(u32 address, u32 digit, bool negative)
{
    u32 value = negative ? 0 - digit : digit, before = add_shared_if_any(address, value);
    return (u32)(before + value < before) - (u32)(negative && digit);
}

// The lower halves of all come first, so that none waits for another.
static __device__ __forceinline__ void put_digits(const whole_table *to, const whole_digits *found)
{
    u32 upper[EACH][WHOLE_DIGITS];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
#pragma unroll
        for (u32 i = 0; i < WHOLE_DIGITS; i++)
            upper[k][i] = put_lower(found[k].at + 4 * i * to->step, found[k].digit[i], found[k].negative);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
#pragma unroll
        for (u32 i = 0; i < WHOLE_DIGITS; i++) add_shared_if_any(found[k].at + 4 * (i * to->step + to->words), upper[k][i]);
    }
}

// Whether it has digits.
static __device__ __forceinline__ bool note_element(const struct wf_table_arguments *r, int key, unit bits)
{
    if (HAS_SUM && bits == SIGN_BIT) findings_of(r)->has_negative_zero = 1;
    if (!is_either_special(bits, bits)) return true;
    note_special(r, key, bits);
    return false;
}

static __device__ __forceinline__ bool is_counted(const struct wf_table_arguments *r, unit bits)
{
    return has_counts(r) && (!is_nan(bits) || r->groups.nan != WF_NAN_OMIT);
}

static __device__ __forceinline__ void add_to_global_whole(const struct wf_table_arguments *r, const whole_table *to, int key, unit bits,
                                                           bool has_digits)
{
    const whole_digits found = find_digits(to, has_digits ? bits : 0);
#pragma unroll
    for (u32 i = 0; i < WHOLE_DIGITS; i++)
        put_in_global_whole(r, found.at + i, key, found.negative ? 0 - (u64)found.digit[i] : found.digit[i]);
    if (is_counted(r, bits)) put_in_global_whole(r, (u32)to->range.terms, key, 1);
}

static __device__ __forceinline__ void add_elements_to_whole(const struct wf_table_arguments *r, const whole_table *to, u32 first_at,
                                                             const whole_column *own, const int keys[EACH], const unit bits[EACH])
{
    whole_digits found[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        u32 at = keys[k] == own->key ? own->at : first_at + 4 * (u32)keys[k] * to->copies;
        bool has_digits = keys[k] >= 0 && note_element(r, keys[k], bits[k]), is_here = to->keys || keys[k] == own->key;
        if (keys[k] >= 0 && !is_here) add_to_global_whole(r, to, keys[k], bits[k], has_digits);
        found[k] = find_digits(to, has_digits && is_here ? bits[k] : 0);
        found[k].at = at + 4 * found[k].at * to->step;
        if (keys[k] >= 0 && is_here && is_counted(r, bits[k])) add_shared_u32(at + 4 * (u32)to->range.terms * to->step, 1);
    }
    put_digits(to, found);
}

// The next elements are on their way while those before them are added.
static __device__ __forceinline__ void add_piece_to_whole(const struct wf_table_arguments *r, const key_range *range, const whole_table *to)
{
    const i64 of_warp = 32 * EACH;
    const u32 table = (u32)__cvta_generic_to_shared(block_table), copy = lane_number() & (to->copies - 1);
    const u32 first_at = table + 4 * (copy - (u32)range->first * to->copies);
    i64 begin, end;
    find_piece(r, &begin, &end);
    i64 first = begin + lane_number() * EACH;
    whole_column own = {NO_KEY, table + 4 * (first_column(to) + lane_number() % COLUMNS_OF_WARP)};
    loaded elements, next;
    load_elements(r, first, end, &next);
    for (i64 at = begin; at < end; at += of_warp) {
        int keys[EACH];
        elements = next;
        first += of_warp;
        load_elements(r, first, end, &next);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            keys[k] = k < elements.count ? find_key(r, range, elements.key_bits[k], elements.first + k) : NO_KEY;
        choose_column(r, to, range, keys[0], &own);
        add_elements_to_whole(r, to, first_at, &own, keys, elements.bits);
    }
    change_column(r, to, range, NO_KEY, &own);
}

// Adds a block's words of a range to those of all.
static __device__ __forceinline__ void merge_whole(const struct wf_table_arguments *r, const key_range *range, const whole_table *of)
{
    for (u32 i = threadIdx.x; i < of->of_key * of->keys; i += TABLE_BLOCK) {
        u32 word = i / of->keys, key = i % of->keys;
        u64 sum = 0;
        for (u32 copy = 0; copy < of->copies; copy++) sum += shared_word(of->words, word * of->step + key * of->copies + copy);
        if (sum) atomicAdd((u64 *)r->whole + word * r->table_count + range->first + key, sum);
    }
}

static __device__ __forceinline__ void add_whole(const struct wf_table_arguments *r)
{
    const whole_table words = find_whole_table(r);
    const i64 of_range = words.keys ? (i64)words.keys : r->table_count;
    for (i64 first = 0; first < r->table_count; first += of_range) {
        const key_range range = {first, (u64)min(of_range, (i64)r->table_count - first)};
        clear_shared(words.words);
        __syncthreads();
        add_piece_to_whole(r, &range, &words);
        __syncthreads();
        merge_whole(r, &range, &words);
        __syncthreads();
    }
}

#endif

#endif
