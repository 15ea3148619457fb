// Rows in chunks that are whole vectors of 16 bytes: a warp's lanes copy the next chunks of its 32 rows to shared memory, neighbouring
// lanes neighbouring vectors, while each adds up what its own row has there.  Lanes that load their own rows, 64 bytes apart or more,
// take a cycle of the first-level cache for each line, and wait for all of it before they add.

#ifndef GROUP_CHUNKS_AHEAD_CUH
#define GROUP_CHUNKS_AHEAD_CUH

#include "kernels/group_chunks_again.cuh"

#if ARE_IN_CHUNKS

#define CHUNK_VECTORS (CHUNK / PER_VECTOR)
#define STAGE_NBYTES (32 * CHUNK * (int)sizeof(unit)) // a chunk of each row
#define STAGES (WF_GROUP_AHEAD_NBYTES / STAGE_NBYTES)

static_assert(STAGES >= 1 && COPIES_AHEAD == STAGES - 1, "what is waited for is the oldest stage");

// The next chunk to be asked for, of the rows of a tile.
typedef struct {
    i64 tile;
    u64 row; // the address of the lane's; 0: it has none
    int done, stage;
    char *ring;
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

// The lane's result; -1: none.
static __device__ __forceinline__ i64 result_of_tile(const chunk_tiles *tiles, i64 tile)
{
    i64 at = split_off(&tile, tiles->spans) * 32 + lane_number();
    return at < tiles->length ? tile * tiles->length + at : -1;
}

static __device__ __forceinline__ void find_rows(const struct wf_group_arguments *r, const chunk_tiles *tiles, chunk_request *next)
{
    i64 result = next->tile < tiles->all ? result_of_tile(tiles, next->tile) : -1;
    next->row = result < 0 ? 0 : find_place(r, result).x;
    next->done = 0;
}

// A vector of a row: at other banks than those of the seven rows next to it that are read at the same time.
static __device__ __forceinline__ char *place_in_stage(const chunk_request *next, int row, int v)
{
    const int turn = row * CHUNK_VECTORS / 8 & (CHUNK_VECTORS - 1);
    return next->ring + next->stage * STAGE_NBYTES + (row * CHUNK_VECTORS + (v ^ turn)) * 16;
}

// By all lanes.
static __device__ __forceinline__ void ask_for_chunk(const struct wf_group_arguments *r, const chunk_tiles *tiles, chunk_request *next)
{
    const int count = (int)r->reduced_count;
    if (next->tile < tiles->all) {
#pragma unroll
        for (int i = 0; i < CHUNK_VECTORS; i++) {
            const int number = (int)lane_number() + 32 * i, row = number / CHUNK_VECTORS, v = number % CHUNK_VECTORS;
            const u64 address = __shfl_sync(ALL_LANES, next->row, row);
            const int begin = next->done + v * PER_VECTOR;
            if (address && begin < count) copy_to_shared(place_in_stage(next, row, v), address + (u64)begin * sizeof(unit));
        }
        next->done += CHUNK;
        if (next->done >= count) {
            next->tile += gridDim.x;
            find_rows(r, tiles, next);
        }
    }
    next->stage = (next->stage + 1) % STAGES;
    end_copies();
}

static __device__ __forceinline__ void read_vector(const chunk_request *next, int v, unit *elements)
{
    const uint4 words = *(const uint4 *)place_in_stage(next, (int)lane_number(), v);
    const vector bits = {{words.x, words.y, words.z, words.w}};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) elements[e] = element_at(&bits, e);
}

// left: elements of the rows from the chunk on.
static __device__ __forceinline__ void read_chunk(const chunk_request *next, int left, unit padding, unit *elements)
{
#pragma unroll
    for (int v = 0; v < CHUNK_VECTORS; v++) {
        if (v * PER_VECTOR < left)
            read_vector(next, v, elements + v * PER_VECTOR);
        else
#pragma unroll
            for (int e = 0; e < PER_VECTOR; e++) elements[v * PER_VECTOR + e] = padding;
    }
}

// Adds up a tile's rows while the chunks behind them are on their way.  By all lanes.
static __device__ __forceinline__ chunk_state add_rows_of_tile(const struct wf_group_arguments *r, const chunk_tiles *tiles,
                                                               chunk_request *next)
{
    const int count = (int)r->reduced_count;
    unit first[PER_VECTOR];
    wait_for_copies();
    __syncwarp(); // other lanes have copied what this one reads
    read_vector(next, 0, first);
    chunk_state state = begin_chunks(r, first[0]);
#pragma unroll 1
    for (int done = 0; done < count; done += CHUNK) {
        unit elements[CHUNK];
        wait_for_copies();
        __syncwarp();
        read_chunk(next, count - done, chunk_padding(first[0]), elements);
        __syncwarp(); // all have read
        ask_for_chunk(r, tiles, next);
        add_chunk(&state, elements, done, count - done);
    }
    return state;
}

// All that there is room for is on its way.
static __device__ __forceinline__ chunk_request begin_requests(const struct wf_group_arguments *r, const chunk_tiles *tiles, char *ring)
{
    chunk_request next = {blockIdx.x, 0, 0, 0, ring};
    find_rows(r, tiles, &next);
    for (int i = 0; i < STAGES; i++) ask_for_chunk(r, tiles, &next);
    return next;
}

// The lane's result of the tile that was asked for first, if it has one: whether it is found.  By all lanes.
static __device__ __forceinline__ bool reduce_chunks_ahead(const struct wf_group_arguments *r, const chunk_tiles *tiles, i64 result,
                                                           chunk_request *next)
{
    const chunk_state state = add_rows_of_tile(r, tiles, next);
    if (result < 0) return false;
    const group_place place = find_place(r, result);
    return leave_chunks(r, &place, &state);
}

#endif

#endif
