// Sums of floats in chunks whose groups are rows, or columns, of one matrix in whole vectors of 16 bytes: a warp's lanes copy the next
// chunks of its 32 groups to shared memory, neighbouring lanes neighbouring vectors, while each adds up what its own group has there.
// Lanes that load their own rows, 64 bytes apart or more, take a cycle of the first-level cache for each line, and wait for all of it
// before they add.  Addresses follow from those before, as finding them anew took more instructions than the elements.

#ifndef GROUP_CHUNKS_AHEAD_CUH
#define GROUP_CHUNKS_AHEAD_CUH

#include "kernels/group_chunks_again.cuh"

#if ARE_CHUNKS_AHEAD

#define CHUNK_VECTORS (CHUNK / PER_VECTOR)
#define ROW_VECTORS (32 / PER_VECTOR)                 // of an element of each column
#define STAGE_NBYTES (32 * CHUNK * (int)sizeof(unit)) // a chunk of each group
#define STAGES (WF_GROUP_AHEAD_NBYTES / STAGE_NBYTES)

static_assert(STAGES >= 1 && COPIES_AHEAD == STAGES - 1, "what is waited for is the oldest stage");

// The next chunk to be asked for.
typedef struct {
    u64 address; // of the lane's first vector in it
    i64 left;    // groups from the tile's first one on; less than 1: there is no tile
    int done, stage;
} chunk_request;

// How addresses differ: of the lane's vectors in a chunk, of chunks, and of what follows a tile's last chunk.
typedef struct {
    i64 between, chunk, tile;
} chunk_steps;

// A vector of a chunk: the first element that it has, of the group of a lane.
typedef struct {
    int lane, element;
} chunk_vector;

static __device__ __forceinline__ chunk_vector vector_of_chunk(int number, const bool are_rows)
{
    const chunk_vector of_rows = {number / CHUNK_VECTORS, number % CHUNK_VECTORS * PER_VECTOR};
    const chunk_vector of_columns = {number % ROW_VECTORS * PER_VECTOR, number / ROW_VECTORS};
    return are_rows ? of_rows : of_columns;
}

// In shared memory a row's vector is at other banks than those of the seven rows next to it that are read at the same time.
static __device__ __forceinline__ char *place_in_rows(const chunk_request *next, int lane, int v)
{
    const int turn = lane * CHUNK_VECTORS / 8 & (CHUNK_VECTORS - 1);
    return ring_of_warp() + next->stage * STAGE_NBYTES + (lane * CHUNK_VECTORS + (v ^ turn)) * 16;
}

static __device__ __forceinline__ char *place_in_columns(const chunk_request *next, int number)
{
    return ring_of_warp() + next->stage * STAGE_NBYTES + number * 16;
}

// Where the lane's i'th goes, which is number 32 * i and that of the first: by constants from there, as finding each anew took longer
// than adding what it has.  In rows, the turns of those differ by 4 * i.
static __device__ __forceinline__ char *place_of_vector(const chunk_request *next, int i, const bool are_rows)
{
    const int first = (int)lane_number(), turn = 4 * i & (CHUNK_VECTORS - 1);
    char *place = are_rows ? place_in_rows(next, first / CHUNK_VECTORS, first % CHUNK_VECTORS ^ turn) : place_in_columns(next, first);
    return place + 32 * 16 * i;
}

#define HAS_COLUMNS_AHEAD (WIDTH >= 32) // wf_cuda_group_find_ahead in group_ways.c
#define ARE_ROWS_AHEAD(r) (!HAS_COLUMNS_AHEAD || (r)->ahead == WF_GROUP_ROWS_AHEAD)

static __device__ __forceinline__ i64 group_stride(const struct wf_group_arguments *r)
{
    return r->dimension[0].stride[0];
}

static __device__ __forceinline__ i64 element_stride(const struct wf_group_arguments *r)
{
    return r->dimension[1].stride[0];
}

static __device__ __forceinline__ chunk_steps steps_of_chunks(const struct wf_group_arguments *r)
{
    const i64 chunks = ((int)r->reduced_count + CHUNK - 1) / CHUNK;
    chunk_steps steps = {ARE_ROWS_AHEAD(r) ? 32 / CHUNK_VECTORS * group_stride(r) : 32 / ROW_VECTORS * element_stride(r),
                         CHUNK * element_stride(r), (i64)gridDim.x * 32 * group_stride(r)};
    steps.tile -= chunks * steps.chunk;
    return steps;
}

static __device__ __forceinline__ void copy_chunk(const chunk_request *next, i64 between, int count, const bool are_rows)
{
    const int left = count - next->done;
    u64 address = next->address;
    if (left >= CHUNK && next->left >= 32) {
#pragma unroll
        for (int i = 0; i < CHUNK_VECTORS; i++, address += (u64)between) copy_to_shared(place_of_vector(next, i, are_rows), address);
        return;
    }
#pragma unroll
    for (int i = 0; i < CHUNK_VECTORS; i++, address += (u64)between) {
        const chunk_vector v = vector_of_chunk((int)lane_number() + 32 * i, are_rows);
        if (v.lane < next->left && v.element < left) copy_to_shared(place_of_vector(next, i, are_rows), address);
    }
}

// By all lanes.
static __device__ __forceinline__ void ask_for_chunk(chunk_request *next, const chunk_steps *steps, int count, const bool are_rows)
{
    if (next->left > 0) {
        copy_chunk(next, steps->between, count, are_rows);
        next->done += CHUNK;
        next->address += (u64)steps->chunk;
        if (next->done >= count) {
            next->address += (u64)steps->tile;
            next->left -= (i64)gridDim.x * 32;
            next->done = 0;
        }
    }
    next->stage = (next->stage + 1) % STAGES;
    end_copies();
}

// What is read behind a row's end, or where a tile has no group, and then not used, has been written.
static __device__ __forceinline__ void clear_stages(void)
{
#pragma unroll 1
    for (int i = (int)lane_number(); i < WF_GROUP_AHEAD_NBYTES / 16; i += 32) ((uint4 *)ring_of_warp())[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
}

// All that there is room for is on its way.
static __device__ __forceinline__ chunk_request begin_requests(const struct wf_group_arguments *r, const chunk_steps *steps)
{
    const i64 first = (i64)blockIdx.x * 32;
    const chunk_vector v = vector_of_chunk((int)lane_number(), ARE_ROWS_AHEAD(r));
    chunk_request next = {r->x + (u64)((first + v.lane) * group_stride(r) + v.element * element_stride(r)), r->count - first, 0, 0};
    if (!r->ahead) return next;
    clear_stages();
#pragma unroll 1
    for (int i = 0; i < STAGES; i++) ask_for_chunk(&next, steps, (int)r->reduced_count, ARE_ROWS_AHEAD(r));
    return next;
}

static __device__ __forceinline__ void read_rows(const chunk_request *next, unit *elements)
{
#pragma unroll
    for (int v = 0; v < CHUNK_VECTORS; v++) {
        const uint4 words = *(const uint4 *)place_in_rows(next, (int)lane_number(), v);
        const vector bits = {{words.x, words.y, words.z, words.w}};
#pragma unroll
        for (int e = 0; e < PER_VECTOR; e++) elements[v * PER_VECTOR + e] = element_at(&bits, e);
    }
}

static __device__ __forceinline__ void read_columns(const chunk_request *next, unit *elements)
{
    const unit *column = (const unit *)place_in_columns(next, 0) + lane_number();
#pragma unroll
    for (int k = 0; k < CHUNK; k++) elements[k] = column[32 * k];
}

// Adds up a tile's groups while the chunks behind them are on their way.  By all lanes.
static __device__ __forceinline__ chunk_state add_chunks_ahead(const struct wf_group_arguments *r, chunk_request *next,
                                                               const chunk_steps *steps, const bool are_rows)
{
    const int count = (int)r->reduced_count;
    chunk_state state = begin_chunks(r, 0);
    unit padding = 0;
#pragma unroll 1
    for (int done = 0; done < count; done += CHUNK) {
        unit elements[CHUNK];
        wait_for_copies();
        __syncwarp(); // other lanes have copied what this one reads
        if (are_rows)
            read_rows(next, elements);
        else
            read_columns(next, elements);
        __syncwarp(); // all have read
        ask_for_chunk(next, steps, count, are_rows);
        if (done == 0) {
            state = begin_chunks(r, elements[0]);
            padding = chunk_padding(elements[0]);
        }
        pad_chunk(count - done, padding, elements);
        add_chunk(&state, elements, done, count - done);
    }
    return state;
}

// Whether the lane's result, of the tile that was asked for first, is found, or it has none.  By all lanes.
static __device__ __forceinline__ bool reduce_chunks_ahead(const struct wf_group_arguments *r, i64 result, chunk_request *next,
                                                           const chunk_steps *steps)
{
    chunk_state state;
    if (ARE_ROWS_AHEAD(r))
        state = add_chunks_ahead(r, next, steps, true);
    else
        state = add_chunks_ahead(r, next, steps, false);
    const u64 address = r->x + (u64)(result * group_stride(r)), place = r->results + (u64)(result * r->dimension[0].result_stride);
    return result >= r->count || leave_chunks(r, address, place, &state);
}

#endif

#endif
