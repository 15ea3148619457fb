// Elements brought to buckets, ranges of keys of which a block's shared memory has all words.  Where keys are in any order and
// their words do not stay in the L2 cache, that is what costs least: the values and keys are read twice, and written once.
//
// First the elements of each bucket are counted.  Then blocks sort tiles of elements by bucket in shared memory, take room in
// each bucket for the tile's elements of it, and write these side by side: written one by one, to that many places at a time, they would
// leave the L2 cache before its lines are full.  Where in its bucket an element comes may differ from run to run; what is made
// of it does not depend on that.

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
    return r->buckets && are_keys_scattered(r);
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

static __device__ __forceinline__ void clear_bucket_words(const struct wf_table_arguments *r)
{
    for (int i = (int)threadIdx.x; i < r->buckets; i += WF_TABLE_BLOCK) bucket_words()[i] = 0;
}

// ---- counting

static __device__ __forceinline__ void count_keys(const struct wf_table_arguments *r, i64 first, i64 end)
{
    loaded elements;
    int keys[EACH];
    load_elements(r, first, end, &elements);
    find_keys(r, &elements, keys);
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (keys[k] >= 0) atomicAdd(&bucket_words()[bucket_of(r, keys[k])], 1);
}

static __device__ __forceinline__ void count_buckets(const struct wf_table_arguments *r)
{
    i64 begin, end;
    find_piece(r, &begin, &end);
    clear_bucket_words(r);
    __syncthreads();
    for (i64 first = begin + lane_number() * EACH; first < end; first += 32 * EACH) count_keys(r, first, end);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < r->buckets; i += WF_TABLE_BLOCK)
        if (bucket_words()[i]) atomicAdd((u32 *)r->bucket_begins + i, bucket_words()[i]);
}

// Where buckets begin, and where in them the next elements go, in place of counts.  By one block.
static __device__ __forceinline__ void scan_buckets(const struct wf_table_arguments *r)
{
    u32 *begins = (u32 *)r->bucket_begins;
    u64 base = 0, total;
    if (!has_buckets(r)) return;
    for (int first = 0; first < r->buckets; first += WF_TABLE_BLOCK) {
        int i = first + (int)threadIdx.x;
        u64 begin = base + scan_block(i < r->buckets ? begins[i] : 0, &total);
        if (i < r->buckets) begins[i] = ((u32 *)r->bucket_nexts)[i] = (u32)begin;
        base += total;
    }
    if (threadIdx.x == 0) begins[r->buckets] = (u32)base;
}

// ---- placing

// In shared memory: for each bucket where its next element goes in the tile, how far in memory a record is from its place in the
// tile, and the tile's records.
typedef struct {
    u32 *next, *shift;
    record *records;
} bucket_tile;

static __device__ __forceinline__ bucket_tile tile_of_block(const struct wf_table_arguments *r)
{
    u32 *shift = bucket_words() + r->buckets;
    bucket_tile tile = {bucket_words(), shift, (record *)(block_table + (r->buckets + 1) / 2 * 2)};
    return tile;
}

// Puts in place of counts where buckets begin in the tile; gives how many records it has.
static __device__ __forceinline__ int scan_tile(const struct wf_table_arguments *r, const bucket_tile *tile)
{
    u64 base = 0, total;
    for (int first = 0; first < r->buckets; first += WF_TABLE_BLOCK) {
        int i = first + (int)threadIdx.x;
        u32 count = i < r->buckets ? tile->next[i] : 0, begin = (u32)(base + scan_block(count, &total));
        if (i < r->buckets) {
            tile->next[i] = begin;
            tile->shift[i] = count;
        }
        base += total;
    }
    return (int)base;
}

// Takes room for the tile's records of each bucket, of several at a time, as each has to be waited for.
static __device__ __forceinline__ void take_room(const struct wf_table_arguments *r, const bucket_tile *tile)
{
    const int rooms = 4;
    for (int first = (int)threadIdx.x; first < r->buckets; first += rooms * WF_TABLE_BLOCK) {
        u32 room[rooms];
#pragma unroll
        for (int k = 0; k < rooms; k++) {
            int i = first + k * WF_TABLE_BLOCK;
            room[k] = i < r->buckets && tile->shift[i] ? atomicAdd((u32 *)r->bucket_nexts + i, tile->shift[i]) : 0;
        }
#pragma unroll
        for (int k = 0; k < rooms; k++) {
            int i = first + k * WF_TABLE_BLOCK;
            if (i < r->buckets) tile->shift[i] = room[k] - tile->next[i];
        }
    }
}

static __device__ __forceinline__ void put_in_tile(const struct wf_table_arguments *r, const bucket_tile *tile, i64 first, i64 end)
{
    loaded elements;
    int keys[EACH];
    load_elements(r, first, end, &elements);
    find_keys(r, &elements, keys);
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (keys[k] >= 0) tile->records[atomicAdd(&tile->next[bucket_of(r, keys[k])], 1)] = make_record(elements.bits[k], keys[k]);
}

// The keys are loaded again, when the cache still has them.
static __device__ __forceinline__ void place_tile(const struct wf_table_arguments *r, const bucket_tile *tile, i64 begin, i64 end)
{
    clear_bucket_words(r);
    __syncthreads();
    for (i64 first = begin + threadIdx.x * EACH; first < end; first += WF_TABLE_BLOCK * EACH) count_keys(r, first, end);
    __syncthreads();
    int count = scan_tile(r, tile);
    take_room(r, tile);
    __syncthreads();
    for (i64 first = begin + threadIdx.x * EACH; first < end; first += WF_TABLE_BLOCK * EACH) put_in_tile(r, tile, first, end);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < count; i += WF_TABLE_BLOCK) {
        record made = tile->records[i];
        ((record *)r->records)[tile->shift[bucket_of(r, key_of_record(made))] + (u32)i] = made;
    }
    __syncthreads();
}

static __device__ __forceinline__ void place_elements(const struct wf_table_arguments *r)
{
    const bucket_tile tile = tile_of_block(r);
    for (i64 begin = (i64)blockIdx.x * r->tile; begin < r->count; begin += (i64)r->blocks * r->tile)
        place_tile(r, &tile, begin, min(begin + r->tile, (i64)r->count));
}

// ---- blocks' shares of the records, which are as many for each, of whatever buckets they are

static __device__ __forceinline__ i64 begin_of_bucket(const struct wf_table_arguments *r, int bucket)
{
    return ((const u32 *)r->bucket_begins)[bucket];
}

static __device__ __forceinline__ i64 records_of_share(const struct wf_table_arguments *r)
{
    return (begin_of_bucket(r, r->buckets) + r->blocks - 1) / r->blocks;
}

// Whether one block has all records of a bucket, which has any.
static __device__ __forceinline__ bool is_in_one_share(const struct wf_table_arguments *r, int bucket, i64 of_share)
{
    i64 begin = begin_of_bucket(r, bucket), end = begin_of_bucket(r, bucket + 1);
    return begin < end && begin / of_share == (end - 1) / of_share;
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
