// Sums by key where each block has a table of all keys in shared memory, or of a bucket's: elements of any keys go there one by one,
// those of one key that many lanes have are added up in registers.  Most need one or two of their key's words, which are all that is added
// to here; what does not fit these is added apart.

#ifndef TABLE_DIRECT_CUH
#define TABLE_DIRECT_CUH

#include "kernels/integers.cuh"
#include "kernels/relaxed.cuh"
#include "kernels/specials.cuh"
#include "kernels/table_words.cuh"
#include "kernels/team.cuh"

#define IS_DIRECT (HAS_VALUE_SUM && !HAS_SQUARES)
#define HAS_LOWER (IS_FLOAT || WIDTH == 64)
#define MANY_LANES 8 // have one key: more than wait for each other anyway where keys are few and random

// The two words that most elements need, of integers of up to 32 bits one, the upper: of floats their anchors, and what magnitudes
// the upper one holds; and where those of the first key are in shared memory: the lower halves' addresses.
typedef struct {
    double upper, lower, limit;
    u32 upper_at, lower_at, count_at;
    u32 key_nbytes, half_nbytes; // from one key to the next, and to the upper half of a word
    u32 last;                    // of a bucket's keys, by their places
} direct_words;

// What a lane has added up of the key that many have: its words, and how many elements.
typedef struct {
    int key;
    i64 upper, lower, count;
} frequent;

static __device__ __forceinline__ void place_direct(const struct wf_table_arguments *r, int upper, direct_words *direct)
{
    int unit = LOW_EXPONENT + find_base(r), upper_unit = unit + upper * r->term_bits;
    note_unplaced(r, WF_TABLE_TERMS_MAX, unit);
    direct->upper = anchor_of(upper_unit);
    direct->lower = anchor_of(upper_unit - r->term_bits);
    direct->limit = power_of_2(upper_unit + r->term_bits);
}

static __device__ __forceinline__ int find_upper(const struct wf_table_arguments *r)
{
    if (!IS_FLOAT) return WIDTH == 64;
    return r->is_sampled ? upper_of_sample(r) : WF_TABLE_TERMS_MAX - 1;
}

static __device__ __forceinline__ direct_words find_direct_words(const struct wf_table_arguments *r, u32 words)
{
    int upper = find_upper(r);
    u32 copies = IS_BUCKETS ? 1 : (u32)r->copies, step = 4 * (IS_BUCKETS ? 1u << r->bucket_log2 : (u32)r->table_count * copies);
    u32 first = (u32)__cvta_generic_to_shared(block_table) + 4 * (lane_number() & (copies - 1));
    direct_words direct;
    if (IS_FLOAT) place_direct(r, upper, &direct);
    direct.upper_at = first + (u32)upper * step;
    direct.lower_at = direct.upper_at - step;
    direct.count_at = first + (u32)count_terms(r) * step;
    direct.key_nbytes = 4 * copies;
    direct.half_nbytes = 4 * words;
    direct.last = (1u << r->bucket_log2) - 1;
    asm volatile("" : "+r"(direct.upper_at), "+r"(direct.lower_at)); // not found again for each element
    return direct;
}

// How far a key's words are behind those of the first.
static __device__ __forceinline__ u32 bytes_to(const direct_words *direct, int key)
{
    return (IS_BUCKETS ? (u32)key & direct->last : (u32)key) * direct->key_nbytes;
}

// ---- what does not fit the two words

// To add an element so takes a hundred times as long: where they are many, words of all exponents are better.  Many are one in 256, of as
// many blocks as a GPU has, about.
static __device__ __forceinline__ void note_apart(const struct wf_table_arguments *r)
{
    const u32 few = 64;
    if ((!IS_BUCKETS || REREADS) && r->whole && atomicAdd(&block_seen.added_apart, 1) == (u32)(r->count >> 16) + few) note_wide(r);
}

static __device__ __noinline__ void add_element_apart(const struct wf_table_arguments *r, u32 words, int key, unit bits)
{
    const grids placed = place_grids(r);
    pending sum;
    note_apart(r);
    clear_pending(&sum, key);
    add_value(r, &placed, bits, &sum);
    put_words(r, words, &sum);
}

// Of a magnitude, too, the rest may be negative.
static __device__ __noinline__ void add_rest_apart(const struct wf_table_arguments *r, u32 words, int key, double rest)
{
    const grids placed = place_grids(r);
    pending sum;
    note_apart(r);
    clear_pending(&sum, key);
    if (add_float(&placed.values, WF_TABLE_TERMS_MAX, rest, sum.word) != 0) note_missed(r);
    put_words(r, words, &sum);
}

// ---- one element

static __device__ __forceinline__ void put_at(const direct_words *direct, u32 address, u64 value)
{
    u32 low = (u32)value, before = add_shared_u32(address, low), high = (u32)(value >> 32) + (before + low < before);
    if (high) add_shared_u32(address + direct->half_nbytes, high);
}

// To what a lane has of the frequent key, or to a word whose address is that of key 0.
static __device__ __forceinline__ void put_term(const direct_words *direct, int key, u32 word_at, i64 term, bool is_own, i64 *own)
{
    if (is_own)
        *own += term;
    else
        put_at(direct, bytes_to(direct, key) + word_at, (u64)term);
}

// What is rounded to the unit of an anchor when it is added to that, in units; *value: what is left of it.
static __device__ __forceinline__ i64 take_units(double anchor, double *value)
{
    double rounded = __dadd_rn(*value, anchor);
    *value = __dsub_rn(*value, __dsub_rn(rounded, anchor));
    return __double_as_longlong(rounded) - __double_as_longlong(anchor);
}

// As far below the lower word as that is below the upper one; found when it is needed, as registers are few.
static __device__ __forceinline__ u32 below(u32 lower, u32 upper)
{
    asm volatile("" : "+r"(lower));
    return 2 * lower - upper;
}

static __device__ __forceinline__ double lowest_anchor(const direct_words *direct)
{
    return __hiloint2double((int)below((u32)__double2hiint(direct->lower), (u32)__double2hiint(direct->upper)), 0);
}

// What two words leave: of f64, whose upper one is the uppermost, the lowest one takes it, which many elements may need.
static __device__ __forceinline__ void add_rest(const struct wf_table_arguments *r, const direct_words *direct, int key, double rest)
{
    if (WIDTH < 64) {
        add_rest_apart(r, direct->half_nbytes / 4, key, rest);
    } else {
        u32 lowest_at = below(direct->lower_at, direct->upper_at);
        put_at(direct, bytes_to(direct, key) + lowest_at, (u64)take_units(lowest_anchor(direct), &rest));
        if (rest != 0) note_missed(r);
    }
}

static __device__ __forceinline__ void add_float_directly(const struct wf_table_arguments *r, const direct_words *direct, int key,
                                                          unit bits, frequent *own)
{
    see_negative_zero(bits);
    double value = HAS_SUM ? widen(bits) : fabs(widen(bits));
    if (!(fabs(value) < direct->limit)) {
        add_element_apart(r, direct->half_nbytes / 4, key, bits);
        return;
    }
    bool is_own = key == own->key;
    put_term(direct, key, direct->upper_at, take_units(direct->upper, &value), is_own, &own->upper);
    if (has_counts(r)) put_term(direct, key, direct->count_at, 1, is_own, &own->count);
    if (value == 0) return;
    put_term(direct, key, direct->lower_at, take_units(direct->lower, &value), is_own, &own->lower);
    if (value != 0) add_rest(r, direct, key, value);
}

static __device__ __forceinline__ void add_integer_directly(const struct wf_table_arguments *r, const direct_words *direct, int key,
                                                            unit bits, frequent *own)
{
    bool is_own = key == own->key, is_negated = HAS_SUM && is_negative(bits);
    u64 magnitude = magnitude_of(bits);
    i64 upper = (i64)(WIDTH == 64 ? magnitude >> r->term_bits : magnitude);
    i64 lower = (i64)(magnitude & (((u64)1 << r->term_bits) - 1));
    put_term(direct, key, direct->upper_at, is_negated ? -upper : upper, is_own, &own->upper);
    if (WIDTH == 64) put_term(direct, key, direct->lower_at, is_negated ? -lower : lower, is_own, &own->lower);
    if (has_counts(r)) put_term(direct, key, direct->count_at, 1, is_own, &own->count);
}

static __device__ __forceinline__ void add_directly(const struct wf_table_arguments *r, const direct_words *direct, int key,
                                                    unit bits, frequent *own)
{
    if (IS_FLOAT)
        add_float_directly(r, direct, key, bits, own);
    else
        add_integer_directly(r, direct, key, bits, own);
}

// ---- the frequent key

static __device__ __forceinline__ void add_up(i64 *term)
{
    for (u32 delta = 16; delta; delta /= 2) *term += (i64)from_other((u64)*term, delta);
}

// Brings what all lanes have to the table, and begins with another key.
static __device__ __forceinline__ void change_frequent(const struct wf_table_arguments *r, const direct_words *direct, int key,
                                                       frequent *own)
{
    add_up(&own->upper);
    if (HAS_LOWER) add_up(&own->lower);
    if (has_counts(r)) add_up(&own->count);
    if (own->key >= 0 && lane_number() == 0) {
        u32 at = bytes_to(direct, own->key);
        put_at(direct, at + direct->upper_at, (u64)own->upper);
        if (HAS_LOWER) put_at(direct, at + direct->lower_at, (u64)own->lower);
        if (has_counts(r)) put_at(direct, at + direct->count_at, (u64)own->count);
    }
    own->key = key;
    own->upper = own->lower = own->count = 0;
}

// Many lanes still have it, or have that of the first lane.
static __device__ __forceinline__ void choose_frequent(const struct wf_table_arguments *r, const direct_words *direct, int key,
                                                       frequent *own)
{
    if (own->key >= 0 && __popc(__ballot_sync(ALL_LANES, key == own->key)) >= MANY_LANES) return;
    int other = __shfl_sync(ALL_LANES, key, 0);
    if (other >= 0 && __popc(__ballot_sync(ALL_LANES, key == other)) >= MANY_LANES) change_frequent(r, direct, other, own);
}

// ---- all of a warp's elements

// By all lanes: whether what is added does not count any more.  It is asked rarely, as all warps ask for the same word.
static __device__ __forceinline__ bool is_in_vain(const struct wf_table_arguments *r, int round)
{
    const int every = 16;
    return r->is_sampled && round % every == 0 && __any_sync(ALL_LANES, load_global_u32(&findings_of(r)->missed) != 0);
}

// The next ones are on their way while those before them are added.
static __device__ __forceinline__ void add_piece_directly(const struct wf_table_arguments *r, const key_range *range, u32 words)
{
    const direct_words direct = find_direct_words(r, words);
    const int of_warp = 32 * EACH;
    i64 begin, behind;
    find_piece(r, &begin, &behind);
    int first = (int)begin + (int)lane_number() * EACH, end = (int)behind, rounds = (int)((behind - begin + of_warp - 1) / of_warp);
    frequent own = {NO_KEY, 0, 0, 0};
    loaded elements, next;
    load_elements(r, first, end, &next);
    for (; rounds > 0 && !is_in_vain(r, rounds); rounds--) {
        int keys[EACH];
        elements = next;
        first += of_warp;
        load_elements(r, first, end, &next);
        if (IS_BUCKETS)
            find_keys_of_range(r, range, &elements, keys);
        else
            find_keys(r, &elements, keys);
        choose_frequent(r, &direct, keys[0], &own);
#pragma unroll
        for (int k = 0; k < EACH; k++)
            if (keys[k] >= 0) add_directly(r, &direct, keys[k], elements.bits[k], &own);
    }
    change_frequent(r, &direct, NO_KEY, &own);
}

#endif
