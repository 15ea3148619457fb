// How elements and their keys are loaded for tables.

#ifndef TABLE_WALK_CUH
#define TABLE_WALK_CUH

#include "kernels/element.cuh"
#include "kernels/group_place.cuh"
#include "kernels/relaxed.cuh"
#include "kernels/warp.cuh"
#include "table_arguments.h"

#define EACH 4 // elements of a lane that follow each other
#define NO_KEY (-1)
#define IS_BUCKETS (WALK == 5) // the kernel of what buckets alone need: a larger block, of which a multiprocessor has one
#define REREADS (IS_BUCKETS && IS_SHORT == 8) // the same where elements are read again for each bucket instead of being brought there
#define TABLE_BLOCK (IS_BUCKETS ? WF_TABLE_BUCKETS_BLOCK : WF_TABLE_BLOCK)

static __device__ __forceinline__ struct wf_table_findings *findings_of(const struct wf_table_arguments *r)
{
    return (struct wf_table_findings *)r->findings;
}

static __device__ __forceinline__ unit load_value(const struct wf_table_arguments *r, i64 i)
{
    unit bits = __ldg((const unit *)(r->groups.x + (u64)(i * r->groups.dimension[r->groups.ndim].stride[0])));
    return IS_BOOL ? bits != 0 : bits;
}

#define LOAD_KEYS(type)                                                                                                  \
    for (int k = 0; k < EACH; k++)                                                                                      \
        if (k < count) bits[k] = __ldg((const type *)(r->keys + (u64)((first + k) * r->key_stride)))

// All at once, before any is looked at.
static __device__ __forceinline__ void load_key_bits(const struct wf_table_arguments *r, i64 first, int count, u64 bits[EACH])
{
    switch (r->key_nbytes) {
    case 1: LOAD_KEYS(unsigned char); break;
    case 2: LOAD_KEYS(unsigned short); break;
    case 4: LOAD_KEYS(u32); break;
    default: LOAD_KEYS(u64);
    }
}

static __device__ __forceinline__ i64 key_of_bits(const struct wf_table_arguments *r, u64 bits)
{
    if (r->key_nbytes == 8) return (i64)bits;
    int unused = 64 - 8 * r->key_nbytes;
    return r->key_is_signed ? (i64)(bits << unused) >> unused : (i64)bits;
}

// EACH units of that many bytes, which lie side by side at a multiple of their size or of 16 bytes, by as few loads as that takes.
static __device__ __forceinline__ void load_packed(u64 address, const int nbytes, u64 bits[EACH])
{
    u32 word[2 * EACH];
    if (nbytes == 1)
        word[0] = __ldg((const u32 *)address);
    else if (nbytes == 2)
        *(uint2 *)word = __ldg((const uint2 *)address);
    else
        *(uint4 *)word = __ldg((const uint4 *)address);
    if (nbytes == 8) *(uint4 *)(word + 4) = __ldg((const uint4 *)address + 1);
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        if (nbytes == 8)
            bits[k] = (u64)word[2 * k + 1] << 32 | word[2 * k];
        else
            bits[k] = word[k * nbytes / 4] >> k * nbytes % 4 * 8 & (nbytes == 4 ? ~0u : (1u << 8 * nbytes % 32) - 1);
    }
}

static __device__ __forceinline__ void load_packed_keys(const struct wf_table_arguments *r, i64 first, u64 bits[EACH])
{
    u64 address = r->keys + (u64)(first * r->key_nbytes);
    switch (r->key_nbytes) {
    case 1: load_packed(address, 1, bits); break;
    case 2: load_packed(address, 2, bits); break;
    case 4: load_packed(address, 4, bits); break;
    default: load_packed(address, 8, bits);
    }
}

// The keys of a pass.
typedef struct {
    i64 first;
    u64 count;
} key_range;

// The key at a position, or NO_KEY if it is of another pass, or of no group, which is noted.
static __device__ __forceinline__ int find_key(const struct wf_table_arguments *r, const key_range *range, u64 bits, i64 position)
{
    i64 key = key_of_bits(r, bits);
    if ((u64)(key - range->first) < range->count) return (int)key;
    if ((u64)key >= (u64)r->table_count && !r->skips_bad_keys) atomicMin((u64 *)r->groups.bad, (u64)position);
    return NO_KEY;
}

// ---- passes

// Whether more elements than that have the same key, somewhere.
static __device__ __forceinline__ bool is_in_long_run(const struct wf_table_arguments *r, i64 thread, i64 threads)
{
    u64 first[EACH], last[EACH];
    i64 position = thread * (r->count - WF_TABLE_RUN_MAX) / threads;
    load_key_bits(r, position, 1, first);
    load_key_bits(r, position + WF_TABLE_RUN_MAX, 1, last);
    return first[0] == last[0];
}

// Whether one of two keys is what others have come with.
static __device__ __forceinline__ u32 note_seen(u32 *seen, const i64 keys[2])
{
    u32 alike = 0;
#pragma unroll
    for (int k = 0; k < 2; k++) {
        u32 kept = (u32)keys[k] + 1;
        alike += atomicExch(&seen[kept % WF_TABLE_STRAYS_SEEN], kept) == kept;
    }
    return alike;
}

// How many neighbours' keys fall or rise; where few do, those that do not go with the others are strays, mostly.
static __device__ __forceinline__ void sample_order(const struct wf_table_arguments *r, const i64 keys[2])
{
    struct wf_table_findings *findings = findings_of(r);
    bool falls = keys[1] < keys[0], rises = keys[1] > keys[0];
    u32 falling = __ballot_sync(ALL_LANES, falls), rising = __ballot_sync(ALL_LANES, rises);
    u32 falls_alike = falls ? note_seen(findings->seen_falling, keys) : 0;
    u32 rises_alike = rises ? note_seen(findings->seen_rising, keys) : 0;
    if (falls_alike) atomicAdd(&findings->falls_alike, falls_alike);
    if (rises_alike) atomicAdd(&findings->rises_alike, rises_alike);
    if (lane_number()) return;
    if (falling) atomicOr(&findings->unsorted, 1);
    atomicAdd(&findings->falls, (u32)__popc(falling));
    atomicAdd(&findings->rises, (u32)__popc(rising));
}

// Each thread compares the keys of two neighbours somewhere.
static __device__ __forceinline__ void sample_keys(const struct wf_table_arguments *r)
{
    i64 threads = (i64)gridDim.x * WF_TABLE_BLOCK, thread = (i64)blockIdx.x * WF_TABLE_BLOCK + threadIdx.x;
    u64 bits[EACH];
    load_key_bits(r, min(thread * r->count / threads, (i64)r->count - 2), 2, bits);
    i64 keys[2] = {key_of_bits(r, bits[0]), key_of_bits(r, bits[1])}, difference = keys[1] - keys[0], near = r->table_count >> 8;
    u32 far = (u32)__popc(__ballot_sync(ALL_LANES, difference > near || difference < -near));
    bool has_long_run = __any_sync(ALL_LANES, is_in_long_run(r, thread, threads));
    sample_order(r, keys);
    if (lane_number()) return;
    if (has_long_run) findings_of(r)->left = 1;
    atomicAdd(&findings_of(r)->far, far);
    atomicAdd(&findings_of(r)->near, 32 - far);
}

// Words that are near each other stay in the cache anyway.
static __device__ __forceinline__ bool are_keys_scattered(const struct wf_table_arguments *r)
{
    return findings_of(r)->far > findings_of(r)->near;
}

static __device__ __forceinline__ key_range range_of_pass(const struct wf_table_arguments *r)
{
    key_range all = {0, r->pass == 0 ? (u64)r->table_count : 0};
    if (r->passes == 1 || !are_keys_scattered(r)) return all;
    i64 length = (r->table_count + r->passes - 1) / r->passes, first = min(r->pass * length, (i64)r->table_count);
    key_range part = {first, (u64)min(length, r->table_count - first)};
    return part;
}

// ---- sorted keys

#define KEY_ROUNDS 2      // of EACH keys of a lane, loaded at a time
#define GAP_MAX (1 << 16) // groups without elements, one after the other, of which there may be more if keys go to tables

// What keys between that of an element and the one before it, itself included, begin with.  By all lanes.
static __device__ __forceinline__ void fill_offsets(const struct wf_table_arguments *r, int before, int key, u32 position)
{
    u32 *offsets = (u32 *)r->offsets;
    bool is_wide = key - before > 32;
    for (int i = before + 1; i <= key && !is_wide; i++) offsets[i] = position;
    for (u32 wide = __ballot_sync(ALL_LANES, is_wide); wide; wide &= wide - 1) {
        int lane = __ffs((int)wide) - 1, last = __shfl_sync(ALL_LANES, key, lane);
        u32 value = __shfl_sync(ALL_LANES, position, lane);
        for (int i = __shfl_sync(ALL_LANES, before, lane) + 1 + (int)lane_number(); i <= last; i += 32) offsets[i] = value;
    }
}

// The keys of a lane's elements; -2: of no group; after the last element as many as there are groups.
static __device__ __forceinline__ void order_keys(const struct wf_table_arguments *r, const u64 bits[EACH], int count,
                                                  int keys[EACH])
{
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        i64 key = k < count ? key_of_bits(r, bits[k]) : (i64)r->table_count;
        keys[k] = (u64)key <= (u64)r->table_count - (k < count) ? (int)key : -2;
    }
}

static __device__ __forceinline__ void load_keys(const struct wf_table_arguments *r, i64 first, int keys[EACH])
{
    u64 bits[EACH];
    int count = (int)min(max(r->count - first, (i64)0), (i64)EACH);
    if (r->are_packed && count == EACH)
        load_packed_keys(r, first, bits);
    else
        load_key_bits(r, first, count, bits);
    order_keys(r, bits, count, keys);
}

// The key before an element: -1 before the first one.
static __device__ __forceinline__ int key_before(const struct wf_table_arguments *r, i64 position)
{
    u64 bits[EACH];
    if (position == 0) return -1;
    load_key_bits(r, position - 1, 1, bits);
    i64 key = key_of_bits(r, bits[0]);
    return (u64)key < (u64)r->table_count ? (int)key : -2;
}

// Whether no key falls, nor leaves too wide a gap.
static __device__ __forceinline__ bool is_in_order(const int keys[EACH], int before)
{
    bool rises = true;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        int previous = k ? keys[k - 1] : before;
        rises = rises && keys[k] >= previous && previous != -2 && keys[k] - previous <= GAP_MAX;
    }
    return rises;
}

// What follows on `before`, by all lanes; gives whether no key falls.
static __device__ __forceinline__ bool add_offsets(const struct wf_table_arguments *r, i64 first, const int keys[EACH], int before)
{
    int last = __shfl_up_sync(ALL_LANES, keys[EACH - 1], 1);
    if (lane_number()) before = last;
    if (!__all_sync(ALL_LANES, is_in_order(keys, before))) return false;
#pragma unroll
    for (int k = 0; k < EACH; k++) fill_offsets(r, k ? keys[k - 1] : before, keys[k], (u32)first + lane_number() * EACH + (u32)k);
    return true;
}

// Where each group's elements begin, while keys do not fall.
static __device__ __forceinline__ void find_offsets(const struct wf_table_arguments *r)
{
    const i64 of_round = 32 * EACH, of_block = WF_TABLE_ORDER_BLOCK / 32 * KEY_ROUNDS * of_round;
    const u32 *unsorted = &findings_of(r)->unsorted;
    i64 first = blockIdx.x * of_block + warp_number() * KEY_ROUNDS * of_round;
    bool is_sorted = true;
    for (; first <= r->count && is_sorted && load_global_u32(unsorted) == 0; first += gridDim.x * of_block) {
        int keys[KEY_ROUNDS][EACH];
#pragma unroll
        for (int j = 0; j < KEY_ROUNDS; j++) load_keys(r, first + j * of_round + lane_number() * EACH, keys[j]);
        int before = key_before(r, first);
#pragma unroll
        for (int j = 0; j < KEY_ROUNDS; j++) {
            is_sorted = is_sorted && add_offsets(r, first + j * of_round, keys[j], before);
            before = __shfl_sync(ALL_LANES, keys[j][EACH - 1], 31);
        }
    }
    if (!is_sorted && lane_number() == 0) atomicOr(&findings_of(r)->unsorted, 1);
}

static __device__ __forceinline__ bool are_segments(const struct wf_table_arguments *r)
{
    return r->offsets && findings_of(r)->unsorted == 0;
}

// ---- keys that are mostly sorted

// Whether so few of a sample's pairs do not go with the others, and not mostly with the same keys.
static __device__ __forceinline__ bool are_strays_few(const struct wf_table_arguments *r, u32 strays, u32 alike)
{
    const u32 every = WIDTH == 64 ? 48 : 512; // more cost more than tables do, of which those of f64 cost more
    return strays * every <= findings_of(r)->near + findings_of(r)->far && 4 * alike <= strays;
}

// Whether keys mostly rise, or fall, in short runs.
static __device__ __forceinline__ bool are_mostly_sorted(const struct wf_table_arguments *r)
{
    const struct wf_table_findings *findings = findings_of(r);
    bool mostly_rise = are_strays_few(r, findings->falls, findings->falls_alike);
    bool mostly_fall = are_strays_few(r, findings->rises, findings->rises_alike);
    return r->runs && findings->left == 0 && (mostly_rise || mostly_fall);
}

// Whether there are results, so that nothing is left to do for tables.
static __device__ __forceinline__ bool is_settled(const struct wf_table_arguments *r)
{
    return are_segments(r) || (are_mostly_sorted(r) && load_global_u32(&findings_of(r)->abandoned) == 0);
}

// ---- elements

// What a lane loads at a time: elements that follow each other, as they lie in memory.
typedef struct {
    u64 key_bits[EACH];
    unit bits[EACH];
    int first; // of at most 2^30
    int count;
} loaded;

static __device__ __forceinline__ void load_elements(const struct wf_table_arguments *r, i64 first, i64 end, loaded *elements)
{
    elements->first = (int)first;
    elements->count = (int)min(max(end - first, (i64)0), (i64)EACH);
    if (r->are_packed && elements->count == EACH) {
        u64 bits[EACH];
        load_packed_keys(r, first, elements->key_bits);
        load_packed(r->groups.x + (u64)first * sizeof(unit), sizeof(unit), bits);
#pragma unroll
        for (int k = 0; k < EACH; k++) elements->bits[k] = IS_BOOL ? bits[k] != 0 : (unit)bits[k];
        return;
    }
    load_key_bits(r, first, elements->count, elements->key_bits);
#pragma unroll
    for (int k = 0; k < EACH; k++) elements->bits[k] = k < elements->count ? load_value(r, first + k) : 0;
}

// A thread's keys of those that it loads at a time, or NO_KEY.
static __device__ __forceinline__ void find_keys_of_range(const struct wf_table_arguments *r, const key_range *range, const loaded *elements,
                                                          int keys[EACH])
{
#pragma unroll
    for (int k = 0; k < EACH; k++)
        keys[k] = k < elements->count ? find_key(r, range, elements->key_bits[k], elements->first + k) : NO_KEY;
}

static __device__ __forceinline__ void find_keys(const struct wf_table_arguments *r, const loaded *elements, int keys[EACH])
{
    const key_range all = {0, (u64)r->table_count};
    find_keys_of_range(r, &all, elements, keys);
}

// Each warp has a piece of the elements, whole rounds of EACH for each lane: where it begins and ends.
static __device__ __forceinline__ void find_piece(const struct wf_table_arguments *r, i64 *begin, i64 *end)
{
    const i64 of_warp = 32 * EACH, warps = (i64)gridDim.x * (TABLE_BLOCK / 32);
    i64 rounds = ((r->count + of_warp - 1) / of_warp + warps - 1) / warps;
    *begin = ((i64)blockIdx.x * (TABLE_BLOCK / 32) + warp_number()) * rounds * of_warp;
    *end = min(*begin + rounds * of_warp, (i64)r->count);
}

static __device__ __forceinline__ void clear_flags(const struct wf_table_arguments *r)
{
    i64 step = (i64)gridDim.x * blockDim.x;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < r->table_count; i += step) ((u32 *)r->flags)[i] = 0;
}

static __device__ __forceinline__ group_place place_of_key(const struct wf_table_arguments *r, i64 number)
{
    u64 at = r->groups.ndim > 0 ? (u64)(number * r->groups.dimension[0].result_stride) : 0;
    group_place place = {r->groups.x, 0, r->groups.results + at, number, number};
    return place;
}

extern __shared__ __align__(16) u64 block_table[]; // records may have 16 bytes

#endif
