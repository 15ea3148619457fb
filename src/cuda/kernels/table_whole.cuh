// Sums by few keys of floats whose exponents are too far apart for grids: a word for every 32 bits of the type's whole range, or, where
// keys are many for that, of the exponents that occur, so that nothing is left out.  An element is added to two or three words of its key,
// in shared memory.  Where that has no room for the words of all keys, it is added in global memory, at once: to one word, of which
// narrow types have more, or, of f64, to words that lie side by side in a sector of 32 bytes, by neighbouring lanes.  There an addition
// costs what the GPU has to do for each sector that lanes of a warp touch.

#ifndef TABLE_WHOLE_CUH
#define TABLE_WHOLE_CUH

#include "kernels/table_direct.cuh"

#define HAS_WHOLE (IS_DIRECT && IS_FLOAT && !IS_F16)
#define COLUMNS_OF_WARP (WF_TABLE_WHOLE_COLUMNS / (WF_TABLE_BLOCK / 32))
#define WHOLE_DIGITS (WIDTH == 64 ? 3 : 2) // of an element
#define SPREAD_BITS (WIDTH == 32 ? WF_TABLE_SPREAD_BITS : WF_TABLE_SPREAD_SHORT_BITS)
#define SPREAD_OF_NARROW (WF_TABLE_WHOLE_TERMS * WF_TABLE_WHOLE_BITS / SPREAD_BITS)
#define SPREAD_TERMS (WIDTH == 64 ? WF_TABLE_SECTORS * WF_TABLE_SECTOR_WORDS : SPREAD_OF_NARROW)
#define WHOLE_TERMS (WIDTH == 64 ? WF_TABLE_F64_WHOLE_TERMS : WF_TABLE_WHOLE_TERMS)

// Whether what grids were added to does not count.
static __device__ __forceinline__ bool is_wide(const struct wf_table_arguments *r)
{
    return HAS_WHOLE && findings_of(r)->wide != 0;
}

// The words of a sum: which of all its first one is, and how many there are; and how many it has in global memory if they are spread.
typedef struct {
    int base, terms, spread;
} whole_range;

static __device__ __forceinline__ whole_range find_whole_range(const struct wf_table_arguments *r)
{
    if (!r->is_spread || WIDTH < 64) return {0, WHOLE_TERMS, SPREAD_TERMS};
    int high = (int)max(findings_of(r)->high_of_all, 1u) - 1, depth = (int)findings_of(r)->depth_of_all;
    int low = min((int)(INFINITY_BITS >> FRACTION_BITS) - depth - 1, high), base = low / WF_TABLE_WHOLE_BITS;
    int sectors = high / WF_TABLE_SECTOR_BITS - low / WF_TABLE_SECTOR_BITS + 1;
    return {base, (high + FRACTION_BITS) / WF_TABLE_WHOLE_BITS - base + 1, WF_TABLE_SECTOR_WORDS * sectors};
}

// ---- words in global memory: each of all keys after the other, or, if they are spread, those of a key side by side

static __device__ __forceinline__ int first_sector(const whole_range *range)
{
    return range->base / (WF_TABLE_SECTOR_BITS / WF_TABLE_WHOLE_BITS);
}

static __device__ __forceinline__ int count_global_words(const struct wf_table_arguments *r, const whole_range *range)
{
    return r->is_spread ? range->spread : range->terms;
}

// The position of a word's unit.
static __device__ __forceinline__ int position_of_word(const struct wf_table_arguments *r, const whole_range *range, int word)
{
    if (!r->is_spread) return WF_TABLE_WHOLE_BITS * (range->base + word);
    if (WIDTH < 64) return SPREAD_BITS * word;
    int sector = first_sector(range) + word / WF_TABLE_SECTOR_WORDS;
    return WF_TABLE_SECTOR_BITS * sector + WF_TABLE_WHOLE_BITS * (word % WF_TABLE_SECTOR_WORDS);
}

static __device__ __forceinline__ i64 index_of_word(const struct wf_table_arguments *r, const whole_range *range, int word, i64 key)
{
    return r->is_spread ? key * range->spread + word : word * r->table_count + key;
}

static __device__ __forceinline__ i64 index_of_count(const struct wf_table_arguments *r, const whole_range *range, i64 key)
{
    return (r->is_spread ? SPREAD_TERMS : range->terms) * r->table_count + key;
}

static __device__ __forceinline__ u64 whole_word(const struct wf_table_arguments *r, i64 index)
{
    return ((const u64 *)r->whole)[index];
}

static __device__ __forceinline__ void add_to_whole(const struct wf_table_arguments *r, i64 index, u64 value)
{
    if (value) atomicAdd((u64 *)r->whole + index, value);
}

// Which word has the unit of one of WF_TABLE_WHOLE_BITS; the last sector has those that are above the largest exponent, too.
static __device__ __forceinline__ int spread_word(const whole_range *range, int word)
{
    if (WIDTH < 64) return word * (WF_TABLE_WHOLE_BITS / SPREAD_BITS);
    const int of_sector = WF_TABLE_SECTOR_BITS / WF_TABLE_WHOLE_BITS;
    int behind_first = range->base % of_sector + word, sector = min(behind_first / of_sector, range->spread / WF_TABLE_SECTOR_WORDS - 1);
    return sector * WF_TABLE_SECTOR_WORDS + behind_first - sector * of_sector;
}

// What a block has of a key: a word of WF_TABLE_WHOLE_BITS, or behind these its count.
static __device__ __forceinline__ void bring_to_whole(const struct wf_table_arguments *r, const whole_range *range, int word, i64 key, u64 value)
{
    bool is_count = word == range->terms;
    int there = r->is_spread && !is_count ? spread_word(range, word) : word;
    add_to_whole(r, is_count ? index_of_count(r, range, key) : index_of_word(r, range, there, key), value);
}

static __device__ __forceinline__ int count_whole_words(const struct wf_table_arguments *r, const whole_range *range)
{
    return range->terms + has_counts(r);
}

// Where they are spread, before anything is added.
static __device__ __forceinline__ void clear_whole(const struct wf_table_arguments *r)
{
    i64 words = (i64)(SPREAD_TERMS + has_counts(r)) * r->table_count;
    for (i64 i = (i64)blockIdx.x * WF_TABLE_BLOCK + threadIdx.x; i < words; i += (i64)gridDim.x * WF_TABLE_BLOCK) ((u64 *)r->whole)[i] = 0;
}

#if HAS_WHOLE

// A block's words: how many of each key, for how many keys, all or none, in how many copies, and how far one is from the next.
typedef struct {
    whole_range range;
    u32 of_key, keys, copies, step, words;
    bool has_columns; // behind those of all keys, for one that many lanes have
} whole_table;

static __device__ __forceinline__ whole_table find_whole_table(const struct wf_table_arguments *r)
{
    whole_table to = {find_whole_range(r), 0, 0, WF_TABLE_COPIES_MAX, 0, 0, false};
    to.of_key = (u32)count_whole_words(r, &to.range);
    to.keys = (u32)r->table_count;
    while (to.copies > 1 && to.copies * to.keys > WF_TABLE_WHOLE_KEYS((u32)r->whole_room, to.of_key)) to.copies /= 2;
    to.has_columns = WF_TABLE_WHOLE_HAS_COLUMNS((u32)r->whole_room, to.of_key) && to.copies < COLUMNS_OF_WARP;
    if (to.keys > WF_TABLE_WHOLE_KEYS((u32)r->whole_room, to.of_key)) {
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

// Brings what all lanes have of it to the table, and begins with another key.
static __device__ __forceinline__ void change_column(const struct wf_table_arguments *r, const whole_table *to, int key,
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
            add_to_shared(to->words, (u32)own->key * to->copies + i * to->step, sum);
        else
            bring_to_whole(r, &to->range, (int)i, own->key, sum);
    }
    __syncwarp();
    own->key = key;
}

// Many lanes still have it, or have that of the first lane.
static __device__ __forceinline__ void choose_column(const struct wf_table_arguments *r, const whole_table *to, int key, whole_column *own)
{
    if (!to->has_columns || __popc(__ballot_sync(ALL_LANES, key == own->key)) >= MANY_LANES) return;
    int other = __shfl_sync(ALL_LANES, key, 0);
    if (other >= 0 && __popc(__ballot_sync(ALL_LANES, key == other)) >= MANY_LANES) change_column(r, to, other, own);
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
    see_negative_zero(bits);
    if (!is_either_special(bits, bits)) return true;
    note_special(r, key, bits);
    return false;
}

static __device__ __forceinline__ bool is_counted(const struct wf_table_arguments *r, unit bits)
{
    return has_counts(r) && (!is_nan(bits) || r->groups.nan != WF_NAN_OMIT);
}

// A digit of what is this many binades above the digit's unit, or below it.
static __device__ __forceinline__ u32 digit_of(u64 significand, int above)
{
    return above >= 0 ? (u32)(significand << above) : above > -64 ? (u32)(significand >> -above) : 0;
}

// Of narrow types: each lane's element, or 0.
static __device__ __forceinline__ void put_in_word(const struct wf_table_arguments *r, int key, unit bits)
{
    int position;
    u64 value = significand_of(bits, &position) << position % SPREAD_BITS;
    add_to_whole(r, (i64)key * SPREAD_TERMS + position / SPREAD_BITS, HAS_SUM && is_negative(bits) ? 0 - value : value);
}

// Of f64, by all lanes, neighbours of which have the words of an element: each lane's element, or 0.
static __device__ __forceinline__ void put_in_sectors(const struct wf_table_arguments *r, const whole_range *range, int key, unit bits)
{
    const u32 lanes = WF_TABLE_SECTOR_WORDS, word = lane_number() % lanes;
    int position;
    u64 significand = significand_of(bits, &position);
    u32 at = (u32)(key * range->spread + (position / WF_TABLE_SECTOR_BITS - first_sector(range)) * WF_TABLE_SECTOR_WORDS);
    u32 above = (u32)(position % WF_TABLE_SECTOR_BITS) << 1 | (HAS_SUM && is_negative(bits));
#pragma unroll
    for (u32 i = 0; i < lanes; i++) {
        u32 from = (i * 32 + lane_number()) / lanes, its_at = __shfl_sync(ALL_LANES, at, from), its_above = __shfl_sync(ALL_LANES, above, from);
        u64 its_significand = __shfl_sync(ALL_LANES, significand, from);
        u64 digit = digit_of(its_significand, (int)(its_above >> 1) - (int)(word * WF_TABLE_WHOLE_BITS));
        add_to_whole(r, its_at + word, its_above & 1 ? 0 - digit : digit);
    }
}

static __device__ __forceinline__ void add_elements_to_whole(const struct wf_table_arguments *r, const whole_table *to, const bool is_shared,
                                                             u32 first_at, const whole_column *own, const int keys[EACH],
                                                             const unit bits[EACH])
{
    whole_digits found[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        u32 at = keys[k] == own->key ? own->at : first_at + 4 * (u32)keys[k] * to->copies;
        bool has_digits = keys[k] >= 0 && note_element(r, keys[k], bits[k]), is_here = is_shared || keys[k] == own->key;
        bool is_there = keys[k] >= 0 && !is_here;
        if (!is_shared && WIDTH < 64) put_in_word(r, keys[k], has_digits && is_there ? bits[k] : 0);
        if (!is_shared && WIDTH == 64) put_in_sectors(r, &to->range, keys[k], has_digits && is_there ? bits[k] : 0);
        if (is_there && is_counted(r, bits[k])) add_to_whole(r, index_of_count(r, &to->range, keys[k]), 1);
        found[k] = find_digits(to, has_digits && is_here ? bits[k] : 0);
        found[k].at = at + 4 * found[k].at * to->step;
        if (keys[k] >= 0 && is_here && is_counted(r, bits[k])) add_shared_u32(at + 4 * (u32)to->range.terms * to->step, 1);
    }
    put_digits(to, found);
}

// The next elements are on their way while those before them are added.  is_shared: the block has words of all keys.
static __device__ __forceinline__ void add_piece_to_whole(const struct wf_table_arguments *r, const whole_table *to, const bool is_shared)
{
    const i64 of_warp = 32 * EACH;
    const u32 table = (u32)__cvta_generic_to_shared(block_table), copy = lane_number() & (to->copies - 1);
    const u32 first_at = table + 4 * copy;
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
        find_keys(r, &elements, keys);
        choose_column(r, to, keys[0], &own);
        add_elements_to_whole(r, to, is_shared, first_at, &own, keys, elements.bits);
    }
    change_column(r, to, NO_KEY, &own);
}

// Adds a block's words to those of all.
static __device__ __forceinline__ void merge_whole(const struct wf_table_arguments *r, const whole_table *of)
{
    for (u32 i = threadIdx.x; i < of->of_key * of->keys; i += TABLE_BLOCK) {
        u32 word = i / of->keys, key = i % of->keys;
        u64 sum = 0;
        for (u32 copy = 0; copy < of->copies; copy++) sum += shared_word(of->words, word * of->step + key * of->copies + copy);
        bring_to_whole(r, &of->range, (int)word, key, sum);
    }
}

static __device__ __forceinline__ void add_whole(const struct wf_table_arguments *r)
{
    const whole_table words = find_whole_table(r);
    clear_shared(words.words);
    clear_seen();
    __syncthreads();
    if (words.keys)
        add_piece_to_whole(r, &words, true);
    else
        add_piece_to_whole(r, &words, false);
    __syncthreads();
    note_seen_zero(r);
    merge_whole(r, &words);
}

#endif

#endif
