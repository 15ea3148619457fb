// Short rows of integers of 1 and 2 bytes that are whole vectors, one of each lane.  Elements of a word are added, or compared, by one
// instruction, as one by one they took longer than loading them, and the next row's first vectors are on their way meanwhile.

#ifndef GROUP_WHOLE_ROWS_CUH
#define GROUP_WHOLE_ROWS_CUH

#include "kernels/group_chunks.cuh"
#include "kernels/group_places.cuh"

#define ARE_WHOLE_ROWS_OF_LANES (ARE_IN_CHUNKS && IS_NARROW_INTEGER && !IS_BOOL)

#if ARE_WHOLE_ROWS_OF_LANES

#define VECTORS_AHEAD 3 // longer rows are teams': are_rows_in_chunks in group_ways.c

typedef struct {
    group_place place;
    vector v[VECTORS_AHEAD];
} row_ahead;

// As many as there are.
static __device__ __forceinline__ void load_whole_vectors(u64 address, int vectors, vector *v)
{
#pragma unroll
    for (int i = 0; i < VECTORS_AHEAD; i++)
        if (i < vectors) v[i] = load_vector(address, (u64)i);
}

// vectors: of a row.
static __device__ __forceinline__ row_ahead ask_for_row(const struct wf_group_arguments *r, i64 result, int vectors)
{
    const bool exists = result < r->count;
    row_ahead row = {find_place(r, exists ? result : 0), {{{0, 0, 0, 0}}}};
    load_whole_vectors(row.place.x, exists ? vectors : 0, row.v);
    return row;
}

// number: of the vector's first element.
static __device__ __forceinline__ void add_whole_vector(chunk_state *state, const vector *v, int number)
{
#if HAS_PLACES
    const u32 best = best_with_place(v, 1);
    const narrow_key key = narrow_key_of((unit)(best >> WIDTH));
    if (!is_better_key(key, state->key)) return;
    state->key = key;
    state->at = number + (int)((HAS_MIN ? best : ~best) & PLACE_MAX);
#else
    (void)number;
    add_row_vector(state, v);
#endif
}

static __device__ __forceinline__ chunk_state add_whole_row(const struct wf_group_arguments *r, const row_ahead *row, int vectors)
{
    chunk_state state = begin_chunks(r, element_at(&row->v[0], 0));
#pragma unroll
    for (int i = 0; i < VECTORS_AHEAD; i++)
        if (i < vectors) add_whole_vector(&state, &row->v[i], i * PER_VECTOR);
    return state;
}

// All results are found so: an f64 holds the sum that a mean is made of.
static __device__ __forceinline__ void reduce_whole_rows(const struct wf_group_arguments *r)
{
    const int vectors = (int)r->reduced_count / PER_VECTOR;
    const i64 step = (i64)gridDim.x * 32;
    i64 result = (i64)blockIdx.x * 32 + lane_number();
    row_ahead next = ask_for_row(r, result, vectors);
    for (; result < r->count; result += step) {
        const row_ahead row = next;
        u64 bits = 0;
        next = ask_for_row(r, result + step, vectors);
        const chunk_state state = add_whole_row(r, &row, vectors);
        finish_chunks(r, &state, (int)r->reduced_count, &bits);
        store_unit(row.place.result, bits);
    }
}

#endif

#endif
