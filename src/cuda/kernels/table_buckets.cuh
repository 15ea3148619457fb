// Elements brought to buckets, ranges of keys of which a block's shared memory has all words.  Where keys are in any order,
// that costs less than an atomic operation for each: the values and keys are read, written once, and read again.
//
// A sample of keys tells how much room each bucket needs; if one needs more nevertheless, all that was done does not count.  Blocks sort
// tiles of elements by bucket in shared memory, take room in each bucket for the tile's elements of it, and write these side by side:
// written one by one, to that many places at a time, they would leave the L2 cache before its lines are full.  Where in its bucket an
// element comes may differ from run to run; what is made of it does not depend on that.

#ifndef TABLE_BUCKETS_CUH
#define TABLE_BUCKETS_CUH

#include "kernels/scan.cuh"
#include "kernels/table_walk.cuh"

// A record: an element's bits and its key.
#if WIDTH == 64

typedef ulonglong2 record;

static __device__ __forceinline__ record make_record(unit bits, int key)
{
    return make_ulonglong2(bits, (u64)key);
}

static __device__ __forceinline__ unit bits_of_record(record made)
{
    return made.x;
}

static __device__ __forceinline__ int key_of_record(record made)
{
    return (int)made.y;
}

#else

typedef u64 record;

static __device__ __forceinline__ record make_record(unit bits, int key)
{
    return (u64)key << 32 | bits;
}

static __device__ __forceinline__ unit bits_of_record(record made)
{
    return (unit)made;
}

static __device__ __forceinline__ int key_of_record(record made)
{
    return (int)(made >> 32);
}

#endif

static __device__ __forceinline__ bool has_buckets(const struct wf_table_arguments *r)
{
    return r->buckets && !r->is_again && findings_of(r)->far > (u32)r->bucket_far * findings_of(r)->near;
}

// A word of a block for each bucket, in shared memory.
static __device__ __forceinline__ u32 *bucket_words(void)
{
    return (u32 *)block_table;
}

static __device__ __forceinline__ int bucket_of(const struct wf_table_arguments *r, int key)
{
    return key >> r->bucket_log2;
}

static __device__ __forceinline__ u32 place_in_bucket(const struct wf_table_arguments *r, int key)
{
    return (u32)key & ((1u << r->bucket_log2) - 1);
}

static __device__ __forceinline__ void clear_bucket_words(const struct wf_table_arguments *r)
{
    for (int i = (int)threadIdx.x; i <= r->buckets; i += TABLE_BLOCK) bucket_words()[i] = 0;
}

// ---- rooms

// An element of a sample: one of every sample_every, and not always the same one of them, as keys may be periodic.
static __device__ __forceinline__ i64 sampled_position(const struct wf_table_arguments *r, i64 i)
{
    u32 mixed = (u32)i * 2654435761u;
    return i * r->sample_every + (i64)((u64)mixed * (u32)r->sample_every >> 32);
}

// How many elements of a sample each bucket has.
static __device__ __forceinline__ void sample_buckets(const struct wf_table_arguments *r)
{
    i64 step = (i64)gridDim.x * TABLE_BLOCK, samples = r->count / r->sample_every;
    clear_bucket_words(r);
    __syncthreads();
    for (i64 first = (i64)blockIdx.x * TABLE_BLOCK + threadIdx.x; first < samples; first += EACH * step) {
        u64 bits[EACH][EACH];
#pragma unroll
        for (int k = 0; k < EACH; k++) load_key_bits(r, sampled_position(r, min(first + k * step, samples - 1)), 1, bits[k]);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            u64 key = (u64)key_of_bits(r, bits[k][0]);
            if (first + k * step < samples && key < (u64)r->table_count) atomicAdd(&bucket_words()[bucket_of(r, (int)key)], 1);
        }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < r->buckets; i += TABLE_BLOCK)
        if (bucket_words()[i]) atomicAdd((u32 *)r->bucket_begins + i, bucket_words()[i]);
}

static __device__ __forceinline__ i64 begin_of_bucket(const struct wf_table_arguments *r, int bucket)
{
    return ((const u32 *)r->bucket_begins)[bucket];
}

// Behind the last record of a bucket, once all are placed.
static __device__ __forceinline__ i64 end_of_bucket(const struct wf_table_arguments *r, int bucket)
{
    return min((i64)((const u32 *)r->bucket_nexts)[bucket], begin_of_bucket(r, bucket + 1));
}

#if IS_BUCKETS

// Where rooms begin, and where in them the next elements go, in place of counts.  By one block.
static __device__ __forceinline__ void scan_buckets(const struct wf_table_arguments *r)
{
    u32 *begins = (u32 *)r->bucket_begins;
    u64 base = 0, total;
    for (int first = 0; first < r->buckets; first += TABLE_BLOCK) {
        int i = first + (int)threadIdx.x;
        u64 room = i < r->buckets ? WF_TABLE_ROOM((u64)begins[i], (u64)r->sample_every) : 0, begin = base + scan_block(room, &total);
        if (i < r->buckets) begins[i] = ((u32 *)r->bucket_nexts)[i] = (u32)begin;
        base += total;
    }
    if (threadIdx.x == 0) begins[r->buckets] = (u32)base;
}

// ---- placing

#define PLACED (WF_TABLE_TILE_NBYTES / (int)sizeof(record) / TABLE_BLOCK) // the most elements of a thread in a tile
#define NO_ROOM 0x80000000u // no shift: there is room for at most 2^30 + 2^28 records

// In shared memory: for each bucket where its elements begin in the tile, how far in memory a record is from its place in the tile,
// and the tile's records.  Behind the last bucket is another one, for elements of no group, which are not written.
typedef struct {
    u32 *begin, *shift;
    record *records;
} bucket_tile;

// What a thread has of a tile: which element of its bucket in the tile each is, too, two in a word, as registers are few.
typedef struct {
    unit bits[PLACED];
    int key[PLACED];
    u32 numbers[PLACED / 2];
} placed_elements;

static __device__ __forceinline__ bucket_tile tile_of_block(const struct wf_table_arguments *r)
{
    int words = r->buckets + 1;
    bucket_tile tile = {bucket_words(), bucket_words() + words, (record *)(block_table + (words + 1) / 2 * 2)};
    return tile;
}

static __device__ __forceinline__ i64 position_of_placed(i64 begin, int k)
{
    return begin + k / EACH * EACH * TABLE_BLOCK + threadIdx.x * EACH + k % EACH;
}

// Of a tile with as many elements as a block can have, which lie side by side: all loads before anything is looked at.  Gives whether each
// has a group.
static __device__ __forceinline__ bool load_full(const struct wf_table_arguments *r, i64 begin, const int key_nbytes, placed_elements *own)
{
    u64 key_bits[PLACED];
    bool are_good = true;
#pragma unroll
    for (int j = 0; j < PLACED; j += EACH) {
        u64 first = (u64)position_of_placed(begin, j), values[EACH];
        load_packed(r->keys + first * (u32)key_nbytes, key_nbytes, key_bits + j);
        load_packed(r->groups.x + first * sizeof(unit), sizeof(unit), values);
#pragma unroll
        for (int k = 0; k < EACH; k++) own->bits[j + k] = IS_BOOL ? values[k] != 0 : (unit)values[k];
    }
#pragma unroll
    for (int k = 0; k < PLACED; k++) {
        i64 key = key_nbytes == 8 ? (i64)key_bits[k] : key_of_bits(r, key_bits[k]);
        bool is_good = (u64)key < (u64)r->table_count;
        own->key[k] = is_good ? (int)key : NO_KEY;
        are_good = are_good && is_good;
    }
    return are_good;
}

// The same one by one, which notes those of no group.
static __device__ __noinline__ void note_bad_keys(const struct wf_table_arguments *r, i64 begin)
{
    const key_range all = {0, (u64)r->table_count};
#pragma unroll 1
    for (int k = 0; k < PLACED; k++) {
        u64 bits[EACH];
        load_key_bits(r, position_of_placed(begin, k), 1, bits);
        find_key(r, &all, bits[0], position_of_placed(begin, k));
    }
}

static __device__ __forceinline__ void load_tile(const struct wf_table_arguments *r, i64 begin, placed_elements *own)
{
    i64 end = min(begin + r->tile, (i64)r->count);
    if (r->are_packed && r->key_nbytes >= 4 && end - begin == PLACED * TABLE_BLOCK) {
        bool are_good = r->key_nbytes == 8 ? load_full(r, begin, 8, own) : load_full(r, begin, 4, own);
        if (!are_good) note_bad_keys(r, begin);
        return;
    }
#pragma unroll
    for (int j = 0; j < PLACED; j += EACH) {
        loaded elements;
        load_elements(r, position_of_placed(begin, j), end, &elements);
        find_keys(r, &elements, own->key + j);
#pragma unroll
        for (int k = 0; k < EACH; k++) own->bits[j + k] = elements.bits[k];
    }
}

static __device__ __forceinline__ int bucket_of_placed(const struct wf_table_arguments *r, int key)
{
    return key >= 0 ? bucket_of(r, key) : r->buckets;
}

static __device__ __forceinline__ void count_placed(const struct wf_table_arguments *r, const bucket_tile *tile, placed_elements *own)
{
#pragma unroll
    for (int k = 0; k < PLACED; k += 2) {
        u32 even = atomicAdd(&tile->begin[bucket_of_placed(r, own->key[k])], 1);
        u32 odd = atomicAdd(&tile->begin[bucket_of_placed(r, own->key[k + 1])], 1);
        own->numbers[k / 2] = odd << 16 | even;
    }
}

// All places are found before the first record is put there.
static __device__ __forceinline__ void put_placed(const struct wf_table_arguments *r, const bucket_tile *tile, placed_elements *own)
{
#pragma unroll
    for (int k = 0; k < PLACED; k += 2)
        own->numbers[k / 2] +=
            tile->begin[bucket_of_placed(r, own->key[k + 1])] << 16 | tile->begin[bucket_of_placed(r, own->key[k])];
#pragma unroll
    for (int k = 0; k < PLACED; k++) {
        u32 at = k % 2 ? own->numbers[k / 2] >> 16 : own->numbers[k / 2] & 0xffff;
        if (own->key[k] >= 0) tile->records[at] = make_record(own->bits[k], own->key[k]);
    }
}

// How far the tile's `count` records of a bucket go from their places in the tile, where `room` is what was taken for them;
// NO_ROOM: there is too little.
static __device__ __forceinline__ u32 find_shift(const struct wf_table_arguments *r, u32 room, u32 count, u32 behind, u32 begin)
{
    if (room + count <= behind) return room - begin;
    store_global_u32(&findings_of(r)->crowded, 1);
    store_global_u32(&findings_of(r)->missed, 1);
    return NO_ROOM;
}

// Takes room for the tile's records of each bucket, and puts in place of counts where buckets begin in the tile; gives how many records
// it has.
static __device__ __forceinline__ int scan_tile(const struct wf_table_arguments *r, const bucket_tile *tile)
{
    u64 base = 0, total;
    for (int first = 0; first < r->buckets; first += TABLE_BLOCK) {
        int i = first + (int)threadIdx.x;
        u32 count = i < r->buckets ? tile->begin[i] : 0;
        u32 room = count ? atomicAdd((u32 *)r->bucket_nexts + i, count) : 0; // on its way meanwhile
        u32 behind = count ? (u32)begin_of_bucket(r, i + 1) : 0;
        u32 begin = (u32)(base + scan_block(count, &total));
        if (i < r->buckets) {
            tile->begin[i] = begin;
            tile->shift[i] = find_shift(r, room, count, behind, begin);
        }
        base += total;
    }
    if (threadIdx.x == 0) tile->begin[r->buckets] = (u32)base;
    return (int)base;
}

#define WRITTEN 4 // records that a thread has at a time

static __device__ __forceinline__ void write_tile(const struct wf_table_arguments *r, const bucket_tile *tile, int count)
{
    for (int first = (int)threadIdx.x; first < count; first += WRITTEN * TABLE_BLOCK) {
        record made[WRITTEN];
        u32 shift[WRITTEN];
#pragma unroll
        for (int k = 0; k < WRITTEN; k++) made[k] = tile->records[min(first + k * TABLE_BLOCK, count - 1)];
#pragma unroll
        for (int k = 0; k < WRITTEN; k++) shift[k] = tile->shift[bucket_of(r, key_of_record(made[k]))];
#pragma unroll
        for (int k = 0; k < WRITTEN; k++) {
            u32 i = (u32)(first + k * TABLE_BLOCK);
            if (i < (u32)count && shift[k] != NO_ROOM) ((record *)r->records)[shift[k] + i] = made[k];
        }
    }
}

static __device__ __forceinline__ void place_tile(const struct wf_table_arguments *r, const bucket_tile *tile, i64 begin)
{
    placed_elements own;
    load_tile(r, begin, &own);
    clear_bucket_words(r);
    __syncthreads();
    count_placed(r, tile, &own);
    __syncthreads();
    int count = scan_tile(r, tile);
    __syncthreads();
    put_placed(r, tile, &own);
    __syncthreads();
    write_tile(r, tile, count);
    __syncthreads();
}

static __device__ __forceinline__ void place_elements(const struct wf_table_arguments *r)
{
    const bucket_tile tile = tile_of_block(r);
    for (i64 begin = (i64)blockIdx.x * r->tile; begin < r->count; begin += (i64)gridDim.x * r->tile) place_tile(r, &tile, begin);
}

// ---- blocks' shares of the rooms, which are as large for each, of whatever buckets they are

static __device__ __forceinline__ i64 room_of_share(const struct wf_table_arguments *r)
{
    return (begin_of_bucket(r, r->buckets) + gridDim.x - 1) / gridDim.x;
}

// Whether one block has all records of a bucket.
static __device__ __forceinline__ bool is_in_one_share(const struct wf_table_arguments *r, int bucket, i64 of_share)
{
    i64 begin = begin_of_bucket(r, bucket), end = begin_of_bucket(r, bucket + 1);
    return begin / of_share == (end - 1) / of_share;
}

// The last bucket that begins at a record or before it.
static __device__ __forceinline__ int find_bucket(const struct wf_table_arguments *r, i64 at)
{
    int bucket = 0, behind = r->buckets;
    while (behind - bucket > 1) {
        int middle = (bucket + behind) / 2;
        if (begin_of_bucket(r, middle) <= at)
            bucket = middle;
        else
            behind = middle;
    }
    return bucket;
}

static __device__ __forceinline__ int keys_of_bucket(const struct wf_table_arguments *r, int bucket)
{
    return (int)min(r->table_count - ((i64)bucket << r->bucket_log2), (i64)1 << r->bucket_log2);
}

#endif

#endif
