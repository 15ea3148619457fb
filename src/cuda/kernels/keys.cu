// A counting sort of positions by key: how many each group has, where these begin, and then each position in its group's
// place.  Which of a group's positions comes first may differ from run to run; what is made of them does not depend on it.

#include "kernels/chain.cuh"
#include "kernels/element.cuh"
#include "kernels/scan.cuh"
#include "kernels/warp.cuh"
#include "key_arguments.h"

#define EACH (WF_KEY_COUNTS / WF_KEY_BLOCK) // counts of a thread

// The key at a position, or -1 if it is of no group.
static __device__ __forceinline__ i64 load_key(const struct wf_key_arguments *r, i64 i)
{
    unit bits = *(const unit *)(r->keys + (u64)(i * r->stride_bytes));
    i64 key = IS_SIGNED ? (i64)((u64)bits << (64 - WIDTH)) >> (64 - WIDTH) : (i64)bits;
    return (u64)key < (u64)r->groups ? key : -1;
}

// Adds one for each lane that has a key: equal keys of a warp at once.  Gives what was there before the lane's one.
static __device__ __forceinline__ u64 count_key(u64 *counts, i64 key)
{
    u32 lanes = __match_any_sync(__activemask(), (u64)key);
    u32 before = (u32)__popc(lanes & ((1u << lane_number()) - 1)), first = (u32)__ffs((int)lanes) - 1;
    u64 count = 0;
    if (before == 0) count = atomicAdd(&counts[key], (u64)__popc(lanes));
    return __shfl_sync(lanes, count, (int)first) + before;
}

static __device__ __forceinline__ void note_bad_key(const struct wf_key_arguments *r, i64 i)
{
    if (!r->skips_bad_keys) atomicMin((u64 *)r->bad, (u64)i);
}

static __device__ __forceinline__ void put_position(const struct wf_key_arguments *r, u64 place, i64 i)
{
    if (r->positions_are_wide)
        ((u64 *)r->positions)[place] = (u64)i;
    else
        ((u32 *)r->positions)[place] = (u32)i;
}

static __device__ __forceinline__ void clear_counts(const struct wf_key_arguments *r)
{
    i64 step = (i64)gridDim.x * WF_KEY_BLOCK;
    for (i64 i = (i64)blockIdx.x * WF_KEY_BLOCK + threadIdx.x; i < r->groups; i += step) ((u64 *)r->counts)[i] = 0;
}

static __device__ __forceinline__ void take_keys(const struct wf_key_arguments *r, bool places)
{
    i64 step = (i64)gridDim.x * WF_KEY_BLOCK;
    for (i64 i = (i64)blockIdx.x * WF_KEY_BLOCK + threadIdx.x; i < r->count; i += step) {
        i64 key = load_key(r, i);
        if (key < 0) {
            note_bad_key(r, i);
            continue;
        }
        u64 place = count_key((u64 *)r->counts, key);
        if (places) put_position(r, place, i);
    }
}

// ---- few groups: each block has a piece of the keys, and a table of its own

static __device__ __forceinline__ u64 *count_of(const struct wf_key_arguments *r, i64 group)
{
    return (u64 *)r->counts + group * r->tables + blockIdx.x;
}

// Counts a key of each lane that is here.  Lanes that all have the same one do it at once; different ones are so few in a
// bank that shared memory is fast enough.  Gives what was there before the lane's one.
static __device__ __forceinline__ u64 count_in_table(u64 *table, i64 key, bool places)
{
    u32 here = __activemask(), leader = (u32)__ffs((int)here) - 1;
    if (__all_sync(here, __shfl_sync(here, key, (int)leader) == key)) {
        u64 count = 0;
        if (lane_number() == leader) count = atomicAdd(&table[key], (u64)__popc(here));
        return __shfl_sync(here, count, (int)leader) + (u32)__popc(here & ((1u << lane_number()) - 1));
    }
    return places ? atomicAdd(&table[key], 1) : atomicAdd((u32 *)&table[key], 1);
}

static __device__ __forceinline__ void take_piece(const struct wf_key_arguments *r, u64 *table, bool places)
{
    i64 length = (r->count + r->tables - 1) / r->tables, begin = blockIdx.x * length;
    i64 end = begin + length < r->count ? begin + length : r->count;
    for (i64 i = begin + threadIdx.x; i < end; i += WF_KEY_BLOCK) {
        i64 key = load_key(r, i);
        if (key < 0) {
            note_bad_key(r, i);
            continue;
        }
        u64 place = count_in_table(table, key, places);
        if (places) put_position(r, place, i);
    }
}

static __device__ __forceinline__ void take_keys_by_table(const struct wf_key_arguments *r, bool places)
{
    extern __shared__ u64 table[];
    for (i64 group = threadIdx.x; group < r->groups; group += WF_KEY_BLOCK) table[group] = places ? *count_of(r, group) : 0;
    __syncthreads();
    take_piece(r, table, places);
    __syncthreads();
    for (i64 group = threadIdx.x; group < r->groups && !places; group += WF_KEY_BLOCK)
        *count_of(r, group) = (u32)table[group];
}

// ---- where groups begin

static __device__ __forceinline__ u64 load_counts(const struct wf_key_arguments *r, u64 counts[EACH])
{
    i64 first = (i64)blockIdx.x * WF_KEY_COUNTS + threadIdx.x * EACH, end = r->groups * r->tables;
    u64 sum = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        counts[i] = first + i < end ? ((const u64 *)r->counts)[first + i] : 0;
        sum += counts[i];
    }
    return sum;
}

static __device__ __forceinline__ void sum_blocks(const struct wf_key_arguments *r)
{
    u64 counts[EACH], total;
    (void)scan_block(load_counts(r, counts), &total);
    if (threadIdx.x == 0) ((u64 *)r->sums)[blockIdx.x] = total;
}

static __device__ __forceinline__ void scan_blocks(const struct wf_key_arguments *r)
{
    i64 blocks = r->groups * r->tables / WF_KEY_COUNTS + 1;
    u64 base = 0, *sums = (u64 *)r->sums;
    for (i64 first = 0; first < blocks; first += WF_KEY_BLOCK) {
        i64 i = first + threadIdx.x;
        u64 total, before = scan_block(i < blocks ? sums[i] : 0, &total);
        if (i < blocks) sums[i] = base + before;
        base += total;
    }
}

// What is after the last group begins where that one ends.
static __device__ __forceinline__ void write_offsets(const struct wf_key_arguments *r)
{
    i64 first = (i64)blockIdx.x * WF_KEY_COUNTS + threadIdx.x * EACH, end = r->groups * r->tables;
    u64 counts[EACH], total, offset = scan_block(load_counts(r, counts), &total) + ((const u64 *)r->sums)[blockIdx.x];
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (first + i > end) break;
        ((u64 *)r->counts)[first + i] = offset;
        if ((first + i) % r->tables == 0) ((u64 *)r->offsets)[(first + i) / r->tables] = offset;
        offset += counts[i];
    }
}

extern "C" __global__ void __launch_bounds__(WF_KEY_BLOCK) keys(const __grid_constant__ struct wf_key_arguments task)
{
    wait_for_those_before();
    if (task.condition && *(const u32 *)task.condition == 0) return;
    switch (task.stage) {
    case WF_KEYS_CLEAR: clear_counts(&task); break;
    case WF_KEYS_SUMS: sum_blocks(&task); break;
    case WF_KEYS_SCAN: scan_blocks(&task); break;
    case WF_KEYS_OFFSETS: write_offsets(&task); break;
    default:
        if (task.tables > 1)
            take_keys_by_table(&task, task.stage == WF_KEYS_PLACE);
        else
            take_keys(&task, task.stage == WF_KEYS_PLACE);
    }
}
