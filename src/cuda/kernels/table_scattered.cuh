// Sums by key where words are in global memory and nearly all neighbours have keys far from each other, so that gathering what equal
// ones come to would be in vain: each element goes to one or two words of its key at once, as in table_direct.cuh, by an atomic
// operation that nobody waits for, or to those that its block keeps of the key.

#ifndef TABLE_SCATTERED_CUH
#define TABLE_SCATTERED_CUH

#include "kernels/table_direct.cuh"

// Where the words of an element's key are: in shared memory, by their place, or in global memory if that is negative.
typedef struct {
    int key, place;
} scattered;

static __device__ __forceinline__ void find_places(const struct wf_table_arguments *r, const int keys[EACH], int places[EACH])
{
    u32 kept[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) kept[k] = number_at_place(r, keys[k]);
#pragma unroll
    for (int k = 0; k < EACH; k++) places[k] = keys[k] < 0 ? -1 : place_of_number(r, keys[k], kept[k]);
}

// To a word whose address in shared memory is that of the first place; number: which of a key's words it is.
static __device__ __forceinline__ void put_scattered(const struct wf_table_arguments *r, const direct_words *direct, const scattered *to,
                                                     u32 word_at, int number, i64 term)
{
    if (term == 0) return;
    if (to->place >= 0)
        put_at(direct, (u32)to->place * direct->key_nbytes + word_at, (u64)term);
    else
        atomicAdd(global_word(r, number, to->key), (u64)term);
}

// By all lanes, to pairs of words: each two lanes bring what first the even one and then the odd one has, so that one operation has
// both words of a key.
static __device__ __forceinline__ void put_pairs(const struct wf_table_arguments *r, int key, i64 upper, i64 lower)
{
    bool is_odd = lane_number() & 1;
    int other = __shfl_xor_sync(ALL_LANES, key, 1);
    i64 given = (i64)from_other((u64)(is_odd ? upper : lower), 1);
    i64 of_even = is_odd ? given : upper, of_odd = is_odd ? lower : given;
    u64 *words = (u64 *)r->words + !is_odd;
    if (of_even) atomicAdd(words + 2 * (i64)(is_odd ? other : key), (u64)of_even);
    if (of_odd) atomicAdd(words + 2 * (i64)(is_odd ? key : other), (u64)of_odd);
}

// The two words' terms, which pairs are put to together by all lanes.
static __device__ __forceinline__ void put_both(const struct wf_table_arguments *r, const direct_words *direct, const scattered *to,
                                                int upper, direct_terms terms)
{
    if (!HAS_PAIRS || to->place >= 0) {
        put_scattered(r, direct, to, direct->upper_at, upper, terms.upper);
        if (HAS_LOWER) put_scattered(r, direct, to, direct->lower_at, upper - 1, terms.lower);
        terms.upper = terms.lower = 0;
    }
    if (HAS_PAIRS) put_pairs(r, to->key, terms.upper, terms.lower);
}

static __device__ __forceinline__ void put_lowest(const struct wf_table_arguments *r, const direct_words *direct, const scattered *to,
                                                  double rest)
{
    if (WIDTH < 64) {
        add_rest_apart(r, direct->half_nbytes / 4, to->key, rest);
    } else {
        i64 term = take_units(lowest_anchor(direct), &rest);
        put_scattered(r, direct, to, below(direct->lower_at, direct->upper_at), 0, term);
        if (rest != 0) note_missed(r);
    }
}

// What of an element the two words take; all else is put where it belongs.
static __device__ __forceinline__ direct_terms divide_float(const struct wf_table_arguments *r, const direct_words *direct,
                                                             const scattered *to, unit bits)
{
    direct_terms terms = {0, 0};
    if (bits == SIGN_BIT) findings_of(r)->has_negative_zero = 1;
    double value = HAS_SUM ? widen(bits) : fabs(widen(bits));
    if (!(fabs(value) < direct->limit)) {
        add_element_apart(r, direct->half_nbytes / 4, to->key, bits);
        return terms;
    }
    terms.upper = take_units(direct->upper, &value);
    if (value != 0) terms.lower = take_units(direct->lower, &value);
    if (value != 0) put_lowest(r, direct, to, value);
    if (has_counts(r)) put_scattered(r, direct, to, direct->count_at, count_terms(r), 1);
    return terms;
}

static __device__ __forceinline__ direct_terms divide_element(const struct wf_table_arguments *r, const direct_words *direct,
                                                               const scattered *to, unit bits)
{
    if (IS_FLOAT) return divide_float(r, direct, to, bits);
    if (has_counts(r)) put_scattered(r, direct, to, direct->count_at, count_terms(r), 1);
    return divide_integer(r, bits);
}

static __device__ __forceinline__ void add_piece_scattered(const struct wf_table_arguments *r, u32 words)
{
    const direct_words direct = find_direct_words(r, words);
    const int upper = find_upper(r);
    i64 begin, end;
    find_piece(r, &begin, &end);
    for (int first = (int)begin, round = 0; first < (int)end && !is_in_vain(r, round); first += 32 * EACH, round++) {
        loaded elements;
        int keys[EACH], places[EACH];
        load_elements(r, first + (int)lane_number() * EACH, end, &elements);
        find_keys(r, &elements, keys);
        find_places(r, keys, places);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const scattered to = {keys[k], places[k]};
            direct_terms terms = {0, 0};
            if (keys[k] >= 0) terms = divide_element(r, &direct, &to, elements.bits[k]);
            put_both(r, &direct, &to, upper, terms);
        }
    }
}

#endif
