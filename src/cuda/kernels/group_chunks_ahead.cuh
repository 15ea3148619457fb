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

// Tiles are 32 neighbouring results, of one row of the last dimension unless that is short and nothing is copied ahead.
typedef struct {
    i64 length, spans, all;
} chunk_tiles;

// Where the first one's elements and its result are, and how many there are; 0: no tile.
typedef struct {
    u64 x, result;
    i64 first;
    int groups;
} chunk_tile;

// The next chunk to be asked for, of a tile.
typedef struct {
    chunk_tile tile;
    i64 number;
    int done, stage;
} chunk_request;

static __device__ __forceinline__ chunk_tiles tiles_in_chunks(const struct wf_group_arguments *r, i64 last_length)
{
    chunk_tiles tiles = {last_length < 128 ? r->count : last_length, 0, 0};
    tiles.spans = (tiles.length + 31) / 32;
    tiles.all = tiles.spans * (r->count / tiles.length);
    return tiles;
}

// Most often there is one row, and a division would take longer than all else but the elements.
static __device__ __forceinline__ chunk_tile find_tile(const struct wf_group_arguments *r, const chunk_tiles *tiles, i64 number)
{
    chunk_tile tile = {0, 0, 0, 0};
    if (number >= tiles->all) return tile;
    const i64 at = (tiles->spans == tiles->all ? number : split_off(&number, tiles->spans)) * 32;
    if (tiles->spans == tiles->all) number = 0;
    tile.first = number * tiles->length + at;
    tile.groups = (int)min(tiles->length - at, (i64)32);
    const group_place place = find_place(r, tile.first);
    tile.x = place.x;
    tile.result = place.result;
    return tile;
}

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

// Where the lane's i'th goes.
static __device__ __forceinline__ char *place_of_vector(const chunk_request *next, int i, const bool are_rows)
{
    const int number = (int)lane_number() + 32 * i;
    return are_rows ? place_in_rows(next, number / CHUNK_VECTORS, number % CHUNK_VECTORS) : place_in_columns(next, number);
}

// From one group of a tile to the next.
static __device__ __forceinline__ i64 group_stride(const struct wf_group_arguments *r)
{
    return r->ndim ? r->dimension[r->ndim - 1].stride[0] : 0;
}

// A lane copies every 32nd vector, which are as far from each other.
static __device__ __forceinline__ void copy_chunk(const struct wf_group_arguments *r, const chunk_request *next, const bool are_rows)
{
    const i64 step = are_rows ? (i64)sizeof(unit) : r->dimension[r->ndim].stride[0];
    const i64 apart = are_rows ? group_stride(r) : (i64)sizeof(unit), between = are_rows ? 32 / CHUNK_VECTORS * apart : 32 / ROW_VECTORS * step;
    const int left = (int)r->reduced_count - next->done;
    const bool is_whole = left >= CHUNK && next->tile.groups == 32;
    const chunk_vector first = vector_of_chunk((int)lane_number(), are_rows);
    u64 address = next->tile.x + (u64)(first.lane * apart + first.element * step);
    if (is_whole) {
#pragma unroll
        for (int i = 0; i < CHUNK_VECTORS; i++, address += (u64)between) copy_to_shared(place_of_vector(next, i, are_rows), address);
        return;
    }
#pragma unroll
    for (int i = 0; i < CHUNK_VECTORS; i++, address += (u64)between) {
        const chunk_vector v = vector_of_chunk((int)lane_number() + 32 * i, are_rows);
        if (v.lane < next->tile.groups && v.element < left) copy_to_shared(place_of_vector(next, i, are_rows), address);
    }
}

// By all lanes.
static __device__ __forceinline__ void ask_for_chunk(const struct wf_group_arguments *r, const chunk_tiles *tiles, chunk_request *next,
                                                     const bool are_rows)
{
    if (next->tile.groups) {
        copy_chunk(r, next, are_rows);
        next->done += CHUNK;
        next->tile.x += (u64)(CHUNK * r->dimension[r->ndim].stride[0]);
        if (next->done >= (int)r->reduced_count) {
            next->number += gridDim.x;
            next->tile = find_tile(r, tiles, next->number);
            next->done = 0;
        }
    }
    next->stage = (next->stage + 1) % STAGES;
    end_copies();
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

static __device__ __forceinline__ void read_chunk(const chunk_request *next, const bool are_rows, unit *elements)
{
    if (are_rows)
        read_rows(next, elements);
    else
        read_columns(next, elements);
}

// left: elements of the group from the chunk on; behind them is what earlier chunks have left.
static __device__ __forceinline__ void pad_chunk(int left, unit padding, unit *elements)
{
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
    chunk_state state = begin_chunks(r, 0);
    unit padding = 0;
#pragma unroll 1
    for (int done = 0; done < count; done += CHUNK) {
        unit elements[CHUNK];
        wait_for_copies();
        __syncwarp(); // other lanes have copied what this one reads
        read_chunk(next, are_rows, elements);
        __syncwarp(); // all have read
        ask_for_chunk(r, tiles, next, are_rows);
        if (done == 0) {
            state = begin_chunks(r, elements[0]);
            padding = chunk_padding(elements[0]);
        }
        pad_chunk(count - done, padding, elements);
        add_chunk(&state, elements, done, count - done);
    }
    return state;
}

#define ARE_ROWS_AHEAD(r) (!IS_BOOL && (r)->ahead == WF_GROUP_ROWS_AHEAD)

// All that there is room for is on its way.
static __device__ __forceinline__ chunk_request begin_requests(const struct wf_group_arguments *r, const chunk_tiles *tiles)
{
    chunk_request next = {{0, 0, 0, 0}, blockIdx.x, 0, 0};
    if (r->ahead == WF_GROUP_NONE_AHEAD) return next;
    next.tile = find_tile(r, tiles, next.number);
#pragma unroll 1
    for (int i = 0; i < STAGES; i++) ask_for_chunk(r, tiles, &next, ARE_ROWS_AHEAD(r));
    return next;
}

// Whether the lane's result of the tile that was asked for first is found, or it has none.  By all lanes.
static __device__ __forceinline__ bool reduce_tile_ahead(const struct wf_group_arguments *r, const chunk_tiles *tiles, const chunk_tile *tile,
                                                         chunk_request *next)
{
    const int lane = (int)lane_number();
    const chunk_state state = WIDTH != 32 || ARE_ROWS_AHEAD(r) ? add_chunks_ahead(r, tiles, next, true)
                                                                  : add_chunks_ahead(r, tiles, next, false);
    const i64 result_stride = r->ndim ? r->dimension[r->ndim - 1].result_stride : 0;
    return lane >= tile->groups ||
           leave_chunks(r, tile->x + (u64)(lane * group_stride(r)), tile->result + (u64)(lane * result_stride), &state);
}

static __device__ __forceinline__ bool reduce_tile(const struct wf_group_arguments *r, const chunk_tile *tile)
{
    if ((int)lane_number() >= tile->groups) return true;
    const group_place place = find_place(r, tile->first + lane_number());
    const chunk_state state = add_chunks(r, place.x);
    return leave_chunks(r, place.x, place.result, &state);
}

#endif

#endif
