// Sums by key where words are in global memory and nearly all neighbours have keys far from each other, so that gathering what equal
// ones come to would be in vain: each element goes to two words of its key at once, as in table_direct.cuh, by an atomic
// operation that nobody waits for, or to those that its block keeps of the key.

#ifndef TABLE_SCATTERED_CUH
#define TABLE_SCATTERED_CUH

#include "kernels/table_direct.cuh"

// Where the words of an element's key are: in shared memory, by their place, or in global memory if that is negative.
typedef struct {
    int key, place;
} scattered;

// All numbers are loaded before any is looked at.
static __device__ __forceinline__ void find_places(const struct wf_table_arguments *r, const int keys[EACH], int places[EACH])
{
    u32 kept[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) kept[k] = load_shared_u32(&kept_numbers(r)[keys[k] & (r->kept - 1)]);
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        bool is_kept = keys[k] >= 0 && (kept[k] == 0 || kept[k] == (u32)keys[k] + 1);
        places[k] = is_kept ? place_of_kept(r, keys[k]) : -1;
    }
}

// To a word whose address in shared memory is that of the first place; number: which of a key's words it is.
static __device__ __forceinline__ void put_scattered(const struct wf_table_arguments *r, const direct_words *direct, const scattered *to,
                                                     u32 word_at, int number, i64 term)
{
    if (term == 0) return;
    if (to->place >= 0)
        put_at(direct, (u32)to->place * direct->key_nbytes + word_at, (u64)term);
    else
        atomicAdd(word_in(r, true, number, to->key), (u64)term);
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

// Of an element what goes to a pair of words.
typedef struct {
    i64 upper, lower;
} pair_terms;

// What two words leave goes to the lowest one, unless that is one of them.
static __device__ __forceinline__ void put_lowest(const struct wf_table_arguments *r, const direct_words *direct, const scattered *to,
                                                  double rest)
{
    if (direct->has_lowest) {
        i64 term = take_units(lowest_anchor(direct), &rest);
        put_scattered(r, direct, to, below(direct->lower_at, direct->upper_at), 0, term);
    }
    if (rest != 0) note_missed(r);
}

// All but what is left for a pair is put where it belongs.
static __device__ __forceinline__ pair_terms divide_element(const struct wf_table_arguments *r, const direct_words *direct,
                                                            const scattered *to, unit bits)
{
    pair_terms terms = {0, 0};
    if (bits == SIGN_BIT) findings_of(r)->has_negative_zero = 1;
    double value = HAS_SUM ? widen(bits) : fabs(widen(bits));
    if (!(fabs(value) < direct->limit)) {
        add_element_apart(r, direct->half_nbytes / 4, to->key, bits);
        return terms;
    }
    terms.upper = take_units(direct->upper, &value);
    if (value != 0) terms.lower = take_units(direct->lower, &value);
    if (value != 0) put_lowest(r, direct, to, value);
    if (has_counts(r)) put_scattered(r, direct, to, direct->count_at, WF_TABLE_TERMS_MAX, 1);
    if (to->place < 0) return terms;
    if (terms.upper) put_at(direct, (u32)to->place * direct->key_nbytes + direct->upper_at, (u64)terms.upper);
    if (terms.lower) put_at(direct, (u32)to->place * direct->key_nbytes + direct->lower_at, (u64)terms.lower);
    terms.upper = terms.lower = 0;
    return terms;
}

#define NEIGHBOURS (1 << 13) // pairs of which a sample tells whether keys are scattered

// By whole warps: counts how many pairs are far from each other.
static __device__ __forceinline__ void sample_neighbours(const struct wf_table_arguments *r)
{
    i64 threads = min((i64)gridDim.x * WF_TABLE_BLOCK, (i64)NEIGHBOURS), thread = (i64)blockIdx.x * WF_TABLE_BLOCK + threadIdx.x;
    u64 bits[EACH];
    if (thread >= threads) return;
    load_key_bits(r, min(thread * r->count / threads, (i64)r->count - 2), 2, bits);
    i64 difference = key_of_bits(r, bits[1]) - key_of_bits(r, bits[0]), near = r->table_count >> 8;
    u32 far = (u32)__popc(__ballot_sync(ALL_LANES, difference > near || difference < -near));
    if (lane_number()) return;
    atomicAdd(&findings_of(r)->far, far);
    atomicAdd(&findings_of(r)->near, 32 - far);
}

// Whether nearly all neighbours' keys are far from each other: neither equal ones nor what blocks keep are worth a search.
static __device__ __forceinline__ bool are_scattered(const struct wf_table_arguments *r)
{
    return findings_of(r)->far >= 7 * findings_of(r)->near;
}

// Whether what counts is in pairs of words.
static __device__ __forceinline__ bool are_paired(const struct wf_table_arguments *r)
{
    return are_scattered(r) && !findings_of(r)->missed;
}

static __device__ __forceinline__ void add_piece_scattered(const struct wf_table_arguments *r, u32 words)
{
    const direct_words direct = find_direct_words(r, words);
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
            pair_terms terms = {0, 0};
            if (keys[k] >= 0) terms = divide_element(r, &direct, &to, elements.bits[k]);
            put_pairs(r, keys[k], terms.upper, terms.lower);
        }
    }
}

#endif
