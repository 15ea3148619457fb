// What a lane knows of its elements of a group whose extreme is sought, of any type but 16-bit floats (group_row_extremes.cuh): one
// key, which is shifted cyclically so that NaNs of either sign win or lose.

#ifndef GROUP_KEY_EXTREMES_CUH
#define GROUP_KEY_EXTREMES_CUH

#include "kernels/group_short.cuh"
#include "kernels/team.cuh"

#if HAS_EXTREMES

// Of integers 0.
static __device__ __forceinline__ narrow_key shift_of_nans(bool do_win)
{
    if (!IS_FLOAT) return 0;
    return do_win == (bool)HAS_MAX ? 0 - narrow_key_of(INFINITY_BITS | SIGN_BIT) : ~narrow_key_of(INFINITY_BITS);
}

static __device__ __forceinline__ narrow_key better_key(narrow_key a, narrow_key b)
{
    return HAS_MIN ? min(a, b) : max(a, b);
}

static __device__ __forceinline__ bool is_better_key(narrow_key a, narrow_key b)
{
    return HAS_MIN ? a < b : a > b;
}

// Of which NaNs' are better than all others, or worse, as the shift is; and its inverse.
static __device__ __forceinline__ narrow_key shifted_key(unit bits, narrow_key shift)
{
    return (narrow_key)(unit)(narrow_key_of(bits) + shift);
}

static __device__ __forceinline__ unit unit_of_shifted(narrow_key key, narrow_key shift)
{
    return unit_of_narrow(key - shift);
}

#if IS_NARROW_INTEGER

// Of the halves of words, as integers of 16 bits.
static __device__ __forceinline__ u32 better_halves(u32 a, u32 b)
{
    if (IS_SIGNED) return HAS_MIN ? __vmins2(a, b) : __vmaxs2(a, b);
    return HAS_MIN ? __vminu2(a, b) : __vmaxu2(a, b);
}

#endif

#endif

#if ARE_EXTREMES_BY_KEYS

typedef struct {
    narrow_key key;
    narrow_key shift; // NaNs win, or, where they are left out, lose
#if IS_INDEXED
    int first; // the key was first seen among some elements from this number on (note_first); with HAS_PLACES it is this one
#endif
} row_sums;

// Where an index is sought, all NaNs that win are alike, so that the first one is found.
static __device__ __forceinline__ narrow_key without_payload(narrow_key key, narrow_key shift)
{
    if (!IS_INDEXED || !IS_FLOAT || shift != shift_of_nans(true)) return key;
    return HAS_MIN ? max(key, narrow_key_of(INFINITY_BITS | SIGN_BIT) + shift - 1) : min(key, narrow_key_of(INFINITY_BITS) + shift + 1);
}

// What stands for elements that are not the group's: it changes nothing.  Narrow integers of rows are found from the worst there is,
// so that the first one is not waited for before others are asked for.
static __device__ __forceinline__ unit row_padding(unit first)
{
    return ARE_ROWS_OF_TEAMS && IS_NARROW_INTEGER ? unit_of_narrow((unit)(HAS_MIN ? ~0u : 0)) : first;
}

static __device__ __forceinline__ row_sums no_row_sums(const struct wf_group_arguments *r, unit first)
{
    narrow_key shift = shift_of_nans(r->nan != WF_NAN_OMIT);
    row_sums sums = {without_payload(narrow_key_of(row_padding(first)) + shift, shift), shift};
    return sums;
}

static __device__ __forceinline__ void add_row_element(row_sums *sums, unit element)
{
    sums->key = better_key(sums->key, narrow_key_of(element) + sums->shift);
}

#if IS_NARROW_INTEGER

// Bytes are the higher ones of halves, which decide: every other one as it is, the others shifted.
static __device__ __forceinline__ void add_row_vector(row_sums *sums, const vector *v)
{
    u32 best = v->word[0];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (i) best = better_halves(best, v->word[i]);
        if (WIDTH == 8) best = better_halves(best, v->word[i] << 8);
    }
    best = better_halves(best, best << 16 | best >> 16);
    add_row_element(sums, (unit)(best >> (16 - WIDTH)));
}

#endif

static __device__ __forceinline__ void note_least_element(row_sums *sums, unit element)
{
    (void)sums, (void)element;
}

static __device__ __forceinline__ void note_least_of_vector(row_sums *sums, const vector *v)
{
    (void)sums, (void)v;
}

#if IS_INDEXED

// What has come since `before` are elements from this number on.
static __device__ __forceinline__ void note_first(row_sums *sums, const row_sums *before, int first)
{
    sums->key = without_payload(sums->key, sums->shift);
    if (sums->key != before->key) sums->first = first;
}

static __device__ __forceinline__ int first_of_best(const row_sums *sums)
{
    return sums->first;
}

// Whether what a lane knows alone is what its team knows.
static __device__ __forceinline__ bool has_best(const row_sums *alone, const row_sums *sums)
{
    return alone->key == sums->key && alone->first == sums->first;
}

static __device__ __forceinline__ bool is_best(const row_sums *sums, unit element)
{
    return without_payload(narrow_key_of(element) + sums->shift, sums->shift) == sums->key;
}

#endif

// With those of other elements of the group.
static __device__ __forceinline__ void join_row_sums(row_sums *sums, const row_sums *other)
{
    const narrow_key best = better_key(sums->key, other->key);
#if IS_INDEXED
    if (sums->key != best || (other->key == best && other->first < sums->first)) sums->first = other->first;
#endif
    sums->key = best;
}

// By all lanes.
static __device__ __forceinline__ void merge_row_sums(row_sums *sums, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) {
        row_sums other = *sums;
        other.key = __shfl_xor_sync(ALL_LANES, sums->key, team_delta(lanes, step));
#if IS_INDEXED
        other.first = __shfl_xor_sync(ALL_LANES, sums->first, team_delta(lanes, step));
#endif
        join_row_sums(sums, &other);
    }
}

// Whether the extreme is known: a NaN decides unless it is an error, or nothing but NaNs was left out.
static __device__ __forceinline__ bool finish_row(const struct wf_group_arguments *r, const row_sums *sums, int count, double roundings,
                                                  u64 *bits)
{
    unit found = unit_of_narrow(sums->key - sums->shift);
    bool is_no_number = IS_FLOAT && is_nan(found);
    (void)count, (void)roundings;
    *bits = is_no_number ? QUIET_NAN : found;
    return !is_no_number || r->nan == WF_NAN_PROPAGATE;
}

#endif

#endif
