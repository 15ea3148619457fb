// Groups along one axis, of more elements than are loaded at once, one of each lane: several elements at a time are added to a
// few numbers in registers, by the operations of group_short.cuh, which show whether the result is right.

#ifndef GROUP_CHUNKS_CUH
#define GROUP_CHUNKS_CUH

#include "kernels/group_chunk_extremes.cuh"
#include "kernels/group_integer_sums.cuh"
#include "kernels/group_row_pairs.cuh"
#include "kernels/group_row_sums.cuh"
#include "kernels/group_spans.cuh"

#if ARE_IN_CHUNKS

#if !HAS_EXTREMES

#define CHUNK 16 // elements that a lane has on their way
#define STEP 4   // of these are added at a time

typedef row_sums chunk_state;

static __device__ __forceinline__ chunk_state begin_chunks(const struct wf_group_arguments *r, unit first)
{
    return no_row_sums(r, first);
}

#if !(IS_FLOAT && WIDTH == 64)

// Without a branch between them: more are converted at the same time.
static __device__ __forceinline__ void add_elements(chunk_state *state, const unit *elements, const int count)
{
#pragma unroll
    for (int k = 0; k < count; k++) {
        add_row_element(state, elements[k]);
        note_least_element(state, elements[k]);
    }
}

#endif

// number: of the first one; left: of the group's elements, from that one on, before padding.
static __device__ __forceinline__ void add_chunk(chunk_state *state, const unit *elements, int number, int left)
{
    (void)number;
#if IS_FLOAT && WIDTH == 64
    static_assert(CHUNK == BATCH_ELEMENTS, "as add_row_batch takes them");
    add_row_batch(state, elements, left);
#else
    if (left >= CHUNK) {
        add_elements(state, elements, CHUNK);
        return;
    }
#pragma unroll
    for (int k = 0; k < CHUNK; k += STEP) {
        if (k >= left) break;
        add_elements(state, elements + k, STEP);
    }
#endif
}

// How often, at most, a number has been rounded, or what f64 lose in batches is as if it had been (add_row_batch).
static __device__ __forceinline__ double roundings_of_chunks(int count)
{
    return (double)(count + (WIDTH == 64 ? 64 : 32));
}

static __device__ __forceinline__ bool finish_chunks(const struct wf_group_arguments *r, const chunk_state *state, int count, u64 *bits)
{
    chunk_state known = *state;
#if IS_FLOAT && WIDTH < 64
    if (IS_SUM_HELD && !IS_SHORT_OF_SQUARES) known.largest = fabs(known.sum);
#endif
    return finish_row(r, &known, count, roundings_of_chunks(count), bits);
}

static __device__ __forceinline__ unit chunk_padding(unit first)
{
    return row_padding(first);
}

#endif

// The last chunk has fewer elements than there is room for; pad_chunk follows.
static __device__ __forceinline__ void load_chunk(u64 address, i64 step, int left, unit *elements)
{
    if (left >= CHUNK) {
#pragma unroll
        for (int k = 0; k < CHUNK; k++, address += (u64)step) elements[k] = load_unit(address);
        return;
    }
#pragma unroll
    for (int k = 0; k < CHUNK; k++, address += (u64)step) elements[k] = k < left ? load_unit(address) : (unit)0;
}

// The same of groups that are whole vectors: neighbouring lanes' elements are far apart, so that what a load costs is its addresses.
static __device__ __forceinline__ void load_vectors_of_chunk(u64 address, int left, unit *elements)
{
#pragma unroll
    for (int i = 0; i < CHUNK / PER_VECTOR; i++) {
        vector v = {{0, 0, 0, 0}};
        if (i * PER_VECTOR < left) v = load_vector(address, (u64)i);
#pragma unroll
        for (int e = 0; e < PER_VECTOR; e++) elements[i * PER_VECTOR + e] = element_at(&v, e);
    }
}

// left: elements of the group from the chunk on; behind them is anything.
static __device__ __forceinline__ void pad_chunk(int left, unit padding, unit *elements)
{
    if (left >= CHUNK) return;
#pragma unroll
    for (int k = 0; k < CHUNK; k++)
        if (k >= left) elements[k] = padding;
}

// All of the first chunk is on its way before the group's first element is looked at.
static __device__ __forceinline__ chunk_state add_chunks(const struct wf_group_arguments *r, u64 address)
{
    const i64 step = r->dimension[r->ndim].stride[0];
    const int count = (int)r->reduced_count;
    chunk_state state = begin_chunks(r, 0);
    unit padding = 0;
#pragma unroll 1
    for (int done = 0; done < count; done += CHUNK) {
        unit elements[CHUNK];
        if (!IS_BOOL && r->starts_at_vectors)
            load_vectors_of_chunk(address, count - done, elements);
        else
            load_chunk(address, step, count - done, elements);
        if (done == 0) {
            state = begin_chunks(r, elements[0]);
            padding = chunk_padding(elements[0]);
        }
        pad_chunk(count - done, padding, elements);
        add_chunk(&state, elements, done, count - done);
        address += (u64)(CHUNK * step);
    }
    return state;
}

#endif

#endif
