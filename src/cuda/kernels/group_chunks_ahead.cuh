// Rows or columns in chunks, where they are whole vectors of 16 bytes: a warp's lanes copy the next chunks of its 32 groups to shared
// memory, neighbouring lanes neighbouring vectors, while each adds up what its own group has there.  Lanes that load their own rows, 64
// bytes apart or more, take a cycle of the first-level cache for each line, and wait for all of it before they add.

#ifndef GROUP_CHUNKS_AHEAD_CUH
#define GROUP_CHUNKS_AHEAD_CUH

#include "kernels/group_chunks_again.cuh"

#if ARE_IN_CHUNKS

#define CHUNK_VECTORS (CHUNK / PER_VECTOR)
#define ROW_VECTORS (32 / PER_VECTOR)                  // of an element of each column
#define STAGE_NBYTES (32 * CHUNK * (int)sizeof(unit)) // a chunk of each group
#define STAGES (WF_GROUP_AHEAD_NBYTES / STAGE_NBYTES)

static_assert(STAGES >= 1 && COPIES_AHEAD == STAGES - 1, "what is waited for is the oldest stage");

// The next chunk to be asked for, of the groups of a tile.
typedef struct {
    i64 tile;
    u64 address; // of the lane's first element in the chunk
    int groups;  // how many lanes have one
    int done, stage;
} chunk_request;

// Tiles are 32 neighbouring results, of one row of the last dimension unless that is short.
typedef struct {
    i64 length, spans, all;
} chunk_tiles;

static __device__ __forceinline__ chunk_tiles tiles_in_chunks(const struct wf_group_arguments *r, i64 last_length)
{
    chunk_tiles tiles = {last_length < 128 ? r->count : last_length, 0, 0};
    tiles.spans = (tiles.length + 31) / 32;
    tiles.all = tiles.spans * (r->count / tiles.length);
    return tiles;
}

// The lane's result; -1: none.  Most often there is one row, and a division would take longer than all else but the elements.
static __device__ __forceinline__ i64 result_of_tile(const chunk_tiles *tiles, i64 tile)
{
    i64 number = tile;
    if (tiles->spans == tiles->all)
        tile = 0;
    else
        number = split_off(&tile, tiles->spans);
    const i64 at = number * 32 + lane_number();
    return at < tiles->length ? tile * tiles->length + at : -1;
}

static __device__ __forceinline__ void find_groups(const struct wf_group_arguments *r, const chunk_tiles *tiles, chunk_request *next)
{
    const i64 result = next->tile < tiles->all ? result_of_tile(tiles, next->tile) : -1;
    next->address = find_place(r, max(result, (i64)0)).x;
    next->groups = __popc(__ballot_sync(ALL_LANES, result >= 0));
    next->done = 0;
}

// A vector of a chunk: the first element that it has, of the group of a lane.
typedef struct {
    int lane, element;
} chunk_vector;

static __device__ __forceinline__ chunk_vector vector_of_rows(int number)
{
    const chunk_vector v = {number / CHUNK_VECTORS, number % CHUNK_VECTORS * PER_VECTOR};
    return v;
}

static __device__ __forceinline__ chunk_vector vector_of_columns(int number)
{
    const chunk_vector v = {number % ROW_VECTORS * PER_VECTOR, number / ROW_VECTORS};
    return v;
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

static __device__ __forceinline__ void copy_chunk(const struct wf_group_arguments *r, const chunk_request *next, const bool are_rows)
{
    const int left = (int)r->reduced_count - next->done;
    const i64 step = are_rows ? (i64)sizeof(unit) : r->dimension[r->ndim].stride[0];
#pragma unroll
    for (int i = 0; i < CHUNK_VECTORS; i++) {
        const int number = (int)lane_number() + 32 * i;
        const chunk_vector v = are_rows ? vector_of_rows(number) : vector_of_columns(number);
        const u64 address = __shfl_sync(ALL_LANES, next->address, v.lane) + (u64)(v.element * step);
        char *place = are_rows ? place_in_rows(next, v.lane, v.element / PER_VECTOR) : place_in_columns(next, number);
        if (v.lane < next->groups && v.element < left) copy_to_shared(place, address);
    }
}

// By all lanes.
static __device__ __forceinline__ void ask_for_chunk(const struct wf_group_arguments *r, const chunk_tiles *tiles, chunk_request *next,
                                                     const bool are_rows)
{
    if (next->tile < tiles->all) {
        copy_chunk(r, next, are_rows);
        next->done += CHUNK;
        next->address += (u64)(CHUNK * r->dimension[r->ndim].stride[0]);
        if (next->done >= (int)r->reduced_count) {
            next->tile += gridDim.x;
            find_groups(r, tiles, next);
        }
    }
    next->stage = (next->stage + 1) % STAGES;
    end_copies();
}

static __device__ __forceinline__ unit first_of_chunk(const chunk_request *next, const bool are_rows)
{
    const int lane = (int)lane_number();
    return *(const unit *)(are_rows ? place_in_rows(next, lane, 0) : place_in_columns(next, 0) + lane * sizeof(unit));
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

// left: elements of the groups from the chunk on; behind them is what earlier chunks have left.
static __device__ __forceinline__ void read_chunk(const chunk_request *next, const bool are_rows, int left, unit padding, unit *elements)
{
    if (are_rows)
        read_rows(next, elements);
    else
        read_columns(next, elements);
    if (left >= CHUNK) return;
#pragma unroll
    for (int k = 0; k < CHUNK; k++)
        if (k >= left) elements[k] = padding;
}

// Adds up a tile's groups while the chunks behind them are on their way.  By all lanes.
static __device__ __forceinline__ chunk_state add_chunks_ahead(const struct wf_group_arguments *r, const chunk_tiles *tiles,
                                                               chunk_request *next, const bool are_rows)
{
    const int count = (int)r->reduced_count;
    wait_for_copies();
    __syncwarp(); // other lanes have copied what this one reads
    const unit first = first_of_chunk(next, are_rows), padding = chunk_padding(first);
    chunk_state state = begin_chunks(r, first);
#pragma unroll 1
    for (int done = 0; done < count; done += CHUNK) {
        unit elements[CHUNK];
        wait_for_copies();
        __syncwarp();
        read_chunk(next, are_rows, count - done, padding, elements);
        __syncwarp(); // all have read
        ask_for_chunk(r, tiles, next, are_rows);
        add_chunk(&state, elements, done, count - done);
    }
    return state;
}

#define ARE_ROWS_AHEAD(r) (!IS_BOOL && (r)->ahead == WF_GROUP_ROWS_AHEAD)
#define ARE_COLUMNS_AHEAD(r) (WIDTH >= 32 && (r)->ahead == WF_GROUP_COLUMNS_AHEAD)

// All that there is room for is on its way.
static __device__ __forceinline__ chunk_request begin_requests(const struct wf_group_arguments *r, const chunk_tiles *tiles)
{
    chunk_request next = {blockIdx.x, 0, 0, 0, 0};
    if (r->ahead == WF_GROUP_NONE_AHEAD) return next;
    find_groups(r, tiles, &next);
#pragma unroll 1
    for (int i = 0; i < STAGES; i++) ask_for_chunk(r, tiles, &next, ARE_ROWS_AHEAD(r));
    return next;
}

// Whether the lane's result of the tile that was asked for first is found.  By all lanes.
static __device__ __forceinline__ bool reduce_tile_in_chunks(const struct wf_group_arguments *r, const chunk_tiles *tiles, i64 result,
                                                             chunk_request *next)
{
    const group_place place = find_place(r, max(result, (i64)0));
    chunk_state state;
    if (ARE_ROWS_AHEAD(r))
        state = add_chunks_ahead(r, tiles, next, true);
    else if (ARE_COLUMNS_AHEAD(r))
        state = add_chunks_ahead(r, tiles, next, false);
    else
        state = add_chunks(r, place.x);
    return result >= 0 && leave_chunks(r, &place, &state);
}

#endif

#endif
