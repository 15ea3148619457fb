// What a lane knows of a group whose extreme, or its index, is sought a chunk at a time (group_chunks.cuh).

#ifndef GROUP_CHUNK_EXTREMES_CUH
#define GROUP_CHUNK_EXTREMES_CUH

#include "kernels/group_key_extremes.cuh"
#include "kernels/group_row_extremes.cuh"

#if ARE_IN_CHUNKS && HAS_EXTREMES

#define CHUNK 16 // elements that a lane has on their way

#if !IS_INDEXED

#define STEP (PER_VECTOR < 8 ? PER_VECTOR : 8) // of these are added at a time

typedef row_sums chunk_state;

static __device__ __forceinline__ chunk_state begin_chunks(const struct wf_group_arguments *r, unit first)
{
    return no_row_sums(r, first);
}

#if ARE_EXTREMES_BY_PAIRS

static __device__ __forceinline__ void add_step(chunk_state *state, const unit *elements)
{
    vector v = {{0, 0, 0, 0}};
#pragma unroll
    for (int k = 0; k < STEP; k++) put_element(&v, k, elements[k]);
    add_row_vector(state, &v);
}

#else

static __device__ __forceinline__ void add_step(chunk_state *state, const unit *elements)
{
#pragma unroll
    for (int k = 0; k < STEP; k++) add_row_element(state, elements[k]);
}

#endif

// number: of the first one; left: of the group's elements, from that one on, before padding.
static __device__ __forceinline__ void add_chunk(chunk_state *state, const unit *elements, int number, int left)
{
    (void)number;
#pragma unroll
    for (int k = 0; k < CHUNK; k += STEP) {
        if (k >= left) break;
        add_step(state, elements + k);
    }
}

static __device__ __forceinline__ bool finish_chunks(const struct wf_group_arguments *r, const chunk_state *state, int count, u64 *bits)
{
    return finish_row(r, state, count, 0, bits);
}

#else

#define STEP 4

typedef struct {
    narrow_key key;   // shifted so that NaNs win, or, where they are left out, lose: the best one so far ...
    int at;           // ... and the first element that has it
    narrow_key shift;
} chunk_state;

// Whether it is a NaN's and wins.
static __device__ __forceinline__ bool is_winning_nan(narrow_key key, narrow_key shift)
{
    const unit best_number = HAS_MIN ? INFINITY_BITS | SIGN_BIT : INFINITY_BITS;
    return IS_FLOAT && is_better_key(key, shifted_key(best_number, shift));
}

// The worst key, so that the first element counts where it is no better, too.
static __device__ __forceinline__ chunk_state begin_chunks(const struct wf_group_arguments *r, unit first)
{
    const chunk_state state = {(narrow_key)(HAS_MIN ? (unit)~(unit)0 : (unit)0), 0, shift_of_nans(r->nan != WF_NAN_OMIT)};
    (void)first;
    return state;
}

#if WIDTH <= 16

// The better key wins, and of equal ones the one that comes first.  high_shift: in the upper half of a word, as the key is then.
static __device__ __forceinline__ u32 key_and_place(unit element, int k, u32 high_shift)
{
    return (narrow_key_of(element) << 16) + high_shift + (u32)(HAS_MIN ? k : CHUNK - 1 - k);
}

static __device__ __forceinline__ chunk_state best_of_chunk(const unit *elements, int left, narrow_key shift)
{
    u32 high_shift = shift << 16;
    asm("" : "+r"(high_shift)); // else the compiler adds before it shifts, which takes an instruction more for each element
    u32 best = key_and_place(elements[0], 0, high_shift);
#pragma unroll
    for (int k = 1; k < CHUNK; k++) {
        if (k % STEP == 0 && k >= left) break;
        best = better_key(best, key_and_place(elements[k], k, high_shift));
    }
    chunk_state found = {best >> 16, (int)(HAS_MIN ? best & 0xffff : CHUNK - 1 - (best & 0xffff)), shift};
    return found;
}

#else

static __device__ __forceinline__ chunk_state best_of_chunk(const unit *elements, int left, narrow_key shift)
{
    chunk_state best = {shifted_key(elements[0], shift), 0, shift};
#pragma unroll
    for (int k = 1; k < CHUNK; k++) {
        if (k % STEP == 0 && k >= left) break;
        narrow_key key = shifted_key(elements[k], shift);
        if (is_better_key(key, best.key)) best.at = k;
        best.key = better_key(best.key, key);
    }
    return best;
}

#endif

static __device__ __forceinline__ int first_nan_of_chunk(const unit *elements)
{
    int first = 0;
#pragma unroll
    for (int k = CHUNK - 1; k >= 0; k--)
        if (is_nan(elements[k])) first = k;
    return first;
}

// As above; padding is an element that the group has before it.  Of NaNs that win the first one stays, whichever it is, as what is
// known then is better than any.
static __device__ __forceinline__ void add_chunk(chunk_state *state, const unit *elements, int number, int left)
{
    const chunk_state found = best_of_chunk(elements, left, state->shift);
    if (!is_better_key(found.key, state->key)) return;
    state->key = found.key;
    state->at = number + found.at;
    if (!is_winning_nan(found.key, found.shift)) return;
    state->key = (narrow_key)(HAS_MIN ? (unit)0 : (unit)~(unit)0);
    state->at = number + first_nan_of_chunk(elements);
}

static __device__ __forceinline__ bool finish_chunks(const struct wf_group_arguments *r, const chunk_state *state, int count, u64 *bits)
{
    unit found = unit_of_shifted(state->key, state->shift);
    (void)count;
    *bits = IS_PLAIN_INDEX ? (u64)(r->first_index + state->at) : (u64)found;
    return !is_nan(found) || (IS_PLAIN_INDEX && r->nan == WF_NAN_PROPAGATE);
}

#endif

static __device__ __forceinline__ unit chunk_padding(unit first)
{
    return first;
}

#endif

#endif
