// Elements brought to buckets, ranges of keys of which a block's shared memory has all words.  Where keys are in any order and
// their words do not stay in the L2 cache, that is what costs least: the values and keys are read twice, and written once.
//
// Each block counts its elements of each bucket, and places them by these counts, each with its key: first those of the first
// block.  Where in its bucket an element comes may differ from run to run; what is made of it does not depend on that.

#ifndef TABLE_BUCKETS_CUH
#define TABLE_BUCKETS_CUH

#include "kernels/scan.cuh"
#include "kernels/table_walk.cuh"

// An element's bits and its key.
#if WIDTH == 64
typedef ulonglong2 record;
#else
typedef u64 record;
#endif

static __device__ __forceinline__ record make_record(unit bits, int key)
{
#if WIDTH == 64
    return make_ulonglong2(bits, (u64)key);
#else
    return (u64)key << 32 | bits;
#endif
}

static __device__ __forceinline__ unit bits_of_record(record made)
{
#if WIDTH == 64
    return made.x;
#else
    return (unit)made;
#endif
}

static __device__ __forceinline__ int key_of_record(record made)
{
#if WIDTH == 64
    return (int)made.y;
#else
    return (int)(made >> 32);
#endif
}

static __device__ __forceinline__ bool has_buckets(const struct wf_table_arguments *r)
{
    return r->buckets && are_keys_scattered(r);
}

static __device__ __forceinline__ u32 *counts_of_bucket(const struct wf_table_arguments *r, int bucket)
{
    return (u32 *)r->bucket_counts + (i64)bucket * r->blocks;
}

// A block's words in shared memory, one for each bucket.
static __device__ __forceinline__ u32 *bucket_words(void)
{
    return (u32 *)block_table;
}

// ---- counting

static __device__ __forceinline__ void count_piece(const struct wf_table_arguments *r)
{
    key_range all = {0, (u64)r->table_count};
    i64 begin, end;
    find_piece(r, &begin, &end);
    for (i64 first = begin + lane_number() * EACH; first < end; first += 32 * EACH) {
        loaded elements;
        load_elements(r, first, end, &elements);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            int key = k < elements.count ? find_key(r, &all, elements.key_bits[k], first + k) : NO_KEY;
            if (key >= 0) atomicAdd(&bucket_words()[key >> r->bucket_log2], 1);
        }
    }
}

static __device__ __forceinline__ void count_buckets(const struct wf_table_arguments *r)
{
    for (int i = (int)threadIdx.x; i < r->buckets; i += WF_TABLE_BLOCK) bucket_words()[i] = 0;
    __syncthreads();
    count_piece(r);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < r->buckets; i += WF_TABLE_BLOCK) counts_of_bucket(r, i)[blockIdx.x] = bucket_words()[i];
}

// ---- where each block's elements go

// Puts the sums of what is before them in place of counts; gives the sum of all.
static __device__ __forceinline__ u32 scan_counts(u32 *counts, int n)
{
    u64 base = 0, total;
    for (int first = 0; first < n; first += WF_TABLE_BLOCK) {
        int i = first + (int)threadIdx.x;
        u64 before = scan_block(i < n ? counts[i] : 0, &total);
        if (i < n) counts[i] = (u32)(base + before);
        base += total;
    }
    return (u32)base;
}

static __device__ __forceinline__ void scan_bucket(const struct wf_table_arguments *r)
{
    if (!has_buckets(r)) return;
    u32 total = scan_counts(counts_of_bucket(r, (int)blockIdx.x), r->blocks);
    if (threadIdx.x == 0) ((u32 *)r->bucket_begins)[blockIdx.x] = total;
}

static __device__ __forceinline__ void scan_begins(const struct wf_table_arguments *r)
{
    if (!has_buckets(r)) return;
    u32 total = scan_counts((u32 *)r->bucket_begins, r->buckets);
    if (threadIdx.x == 0) ((u32 *)r->bucket_begins)[r->buckets] = total;
}

// ---- placing

static __device__ __forceinline__ void place_piece(const struct wf_table_arguments *r)
{
    key_range all = {0, (u64)r->table_count};
    i64 begin, end;
    find_piece(r, &begin, &end);
    for (i64 first = begin + lane_number() * EACH; first < end; first += 32 * EACH) {
        loaded elements;
        load_elements(r, first, end, &elements);
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            int key = k < elements.count ? find_key(r, &all, elements.key_bits[k], first + k) : NO_KEY;
            if (key < 0) continue;
            u32 place = atomicAdd(&bucket_words()[key >> r->bucket_log2], 1);
            ((record *)r->records)[place] = make_record(elements.bits[k], key);
        }
    }
}

static __device__ __forceinline__ void place_elements(const struct wf_table_arguments *r)
{
    for (int i = (int)threadIdx.x; i < r->buckets; i += WF_TABLE_BLOCK)
        bucket_words()[i] = ((const u32 *)r->bucket_begins)[i] + counts_of_bucket(r, i)[blockIdx.x];
    __syncthreads();
    place_piece(r);
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
