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

// Of which a NaN's is better than any other, and its inverse.
static __device__ __forceinline__ narrow_key winning_key(unit bits)
{
    return (narrow_key)(unit)(narrow_key_of(bits) + shift_of_nans(true));
}

static __device__ __forceinline__ unit unit_of_winning(narrow_key key)
{
    return unit_of_narrow(key - shift_of_nans(true));
}

#endif

#if ARE_EXTREMES_BY_KEYS

typedef struct {
    narrow_key key;
    narrow_key shift; // NaNs win, or, where they are left out, lose
} row_sums;

static __device__ __forceinline__ row_sums no_row_sums(const struct wf_group_arguments *r, unit first)
{
    narrow_key shift = shift_of_nans(r->nan != WF_NAN_OMIT);
    row_sums sums = {narrow_key_of(first) + shift, shift};
    return sums;
}

// What stands for elements that are not the group's: it changes nothing.
static __device__ __forceinline__ unit row_padding(unit first)
{
    return first;
}

static __device__ __forceinline__ void add_row_element(row_sums *sums, unit element)
{
    sums->key = better_key(sums->key, narrow_key_of(element) + sums->shift);
}

static __device__ __forceinline__ void note_least_element(row_sums *sums, unit element)
{
    (void)sums, (void)element;
}

static __device__ __forceinline__ void note_least_of_vector(row_sums *sums, const vector *v)
{
    (void)sums, (void)v;
}

// With those of other elements of the group.
static __device__ __forceinline__ void join_row_sums(row_sums *sums, const row_sums *other)
{
    sums->key = better_key(sums->key, other->key);
}

// By all lanes.
static __device__ __forceinline__ void merge_row_sums(row_sums *sums, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++)
        sums->key = better_key(sums->key, __shfl_xor_sync(ALL_LANES, sums->key, team_delta(lanes, step)));
}

// Whether the result is known: a NaN decides unless it is an error, or nothing but NaNs was left out.
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
