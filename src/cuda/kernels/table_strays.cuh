// Sums by keys that mostly rise, or fall: each run of equal keys, as they come, takes its key if no other run has, and makes the
// result.  Other runs of a key are listed, and each key of which any is listed is added up once more at the end, from memory.
// Which run comes first does not matter, as sums are exact.
//
// Keys out of place cost most where they cut a run in two.  So a stray, a key alone between two equal ones, does not end their
// run: in that its element is no term, and it is listed by itself.

#ifndef TABLE_STRAYS_CUH
#define TABLE_STRAYS_CUH

#include "kernels/table_runs.cuh"

#define HAS_STRAYS (HAS_RUNS && IS_FLOAT && HAS_VALUE_SUM && !HAS_SQUARES) // of means nothing is launched

#if HAS_STRAYS

#define RUNS_OF_KEY 64 // more take too long to be added up by one thread

static __device__ __forceinline__ u32 *takers(const struct wf_table_arguments *r)
{
    return (u32 *)r->flags; // of each key: 0, 1 and where its first run begins, or WF_TABLE_LISTED and the last of its listed runs
}

static __device__ __forceinline__ struct wf_table_run *listed_runs(const struct wf_table_arguments *r)
{
    return (struct wf_table_run *)r->records;
}

static __device__ __forceinline__ void abandon(const struct wf_table_arguments *r)
{
    store_global_u32(&findings_of(r)->abandoned, 1);
}

// ---- strays

#define STRAYS_ROUND (32 * EACH) // elements of which the two at either end are no strays, so that other rounds need not be known

// The key in the middle of five; the second condition: keys next to strays are none.  What is added for a key with nothing but
// NaNs that are left out is not the result of no elements, so these have no strays.
static __device__ __forceinline__ bool is_stray(const struct wf_table_arguments *r, const int *key)
{
    bool is_alone = key[-1] == key[1] && key[0] != key[1];
    return is_alone && key[-2] != key[0] && key[2] != key[0] && r->groups.nan != WF_NAN_OMIT;
}

// Of a lane's keys of a round, by bits.
static __device__ __forceinline__ u32 find_strays(const struct wf_table_arguments *r, const int keys[EACH])
{
    int near[EACH + 4];
    u32 strays = 0;
#pragma unroll
    for (int k = 0; k < EACH; k++) near[k + 2] = keys[k];
#pragma unroll
    for (int k = 0; k < 2; k++) {
        near[k] = __shfl_up_sync(ALL_LANES, keys[EACH - 2 + k], 1);
        near[EACH + 2 + k] = __shfl_down_sync(ALL_LANES, keys[k], 1);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) strays |= (u32)is_stray(r, near + k + 2) << k;
    if (lane_number() == 0) strays &= ~3u;
    if (lane_number() == 31) strays &= ~(3u << (EACH - 2));
    return strays;
}

// ---- the list

// A warp's room in it.
typedef struct {
    u32 next, left;
} list_room;

static __device__ __forceinline__ void leave_room(const struct wf_table_arguments *r, const list_room *room)
{
    for (u32 i = lane_number(); i < room->left; i += 32) listed_runs(r)[room->next + i].length = 0;
}

// Whether the list has room for more, which is taken.
static __device__ __forceinline__ bool take_list_room(const struct wf_table_arguments *r, list_room *room)
{
    leave_room(r, room);
    room->left = WF_TABLE_RUNS_CHUNK;
    if (lane_number() == 0) room->next = atomicAdd(&findings_of(r)->runs, WF_TABLE_RUNS_CHUNK);
    room->next = __shfl_sync(ALL_LANES, room->next, 0);
    if (room->next + WF_TABLE_RUNS_CHUNK <= (u32)r->runs) return true;
    room->left = 0;
    abandon(r);
    return false;
}

// Lists what some lanes have for each k, of as many as they have keys, by all of them.
static __device__ __forceinline__ void list_more(const struct wf_table_arguments *r, list_room *room, const int each, u32 which, i64 first,
                                                 const int *keys, int length)
{
#pragma unroll
    for (int k = 0; k < each; k++) {
        u32 lanes = __ballot_sync(ALL_LANES, which >> k & 1), count = (u32)__popc(lanes);
        if (count == 0 || (room->left < count && !take_list_room(r, room))) continue;
        uint4 run = make_uint4((u32)first + (u32)k, 0, (u32)keys[k], (u32)length);
        if (which >> k & 1) *(uint4 *)(listed_runs(r) + room->next + __popc(lanes & ((1u << lane_number()) - 1))) = run;
        room->next += count;
        room->left -= count;
    }
}

// ---- a tile

// Elements from `position` on, and which of their keys begin a run.
static __device__ __forceinline__ u32 put_runs(run_tile *tile, int position, loaded *elements, const int keys[EACH], int before, u32 strays)
{
    u32 behind_strays = strays << 1 | (u32)(lane_number() != 0) * (__shfl_up_sync(ALL_LANES, strays, 1) >> (EACH - 1));
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (strays >> k & 1) elements->bits[k] = SHORT_PADDING;
    return put_elements(tile, position, elements, keys, before) & ~strays & ~behind_strays;
}

// Loads a tile and lists its strays; gives how many other runs begin there, or -1 if a key is
// of no group, or all has been abandoned.  last: its last key.
static __device__ __forceinline__ int load_mostly_sorted(const struct wf_table_arguments *r, run_tile *tile, i64 first, list_room *room,
                                                         int *last)
{
    loaded elements[KEY_ROUNDS];
    int runs = 0, before;
#pragma unroll
    for (int j = 0; j < KEY_ROUNDS; j++)
        load_elements(r, first + j * STRAYS_ROUND + lane_number() * EACH, r->count, &elements[j]);
    before = key_before(r, first);
    bool are_keys = load_global_u32(&findings_of(r)->abandoned) == 0;
#pragma unroll
    for (int j = 0; j < KEY_ROUNDS; j++) {
        int keys[EACH], position = j * STRAYS_ROUND + (int)lane_number() * EACH;
        order_keys(r, elements[j].key_bits, elements[j].count, keys);
        int next = __shfl_sync(ALL_LANES, keys[EACH - 1], 31), lower = __shfl_up_sync(ALL_LANES, keys[EACH - 1], 1);
        u32 strays = find_strays(r, keys);
        if (lane_number()) before = lower;
#pragma unroll
        for (int k = 0; k < EACH; k++) are_keys = are_keys && keys[k] >= 0;
        if (__any_sync(ALL_LANES, strays != 0)) list_more(r, room, EACH, strays, first + position, keys, 1);
        runs = list_runs(tile, position, put_runs(tile, position, &elements[j], keys, before, strays), keys, runs);
        before = next;
    }
    *last = before;
    return __all_sync(ALL_LANES, are_keys) ? runs : -1;
}

// As find_end, with strays.
static __device__ __forceinline__ int find_end_of_run(const struct wf_table_arguments *r, run_tile *tile, i64 first, int key)
{
    const u32 unknown = 3u << 30; // whether these are strays
    u64 bits[EACH];
    i64 position = first + RUN_TILE + lane_number();
    bool exists = position < r->count;
    int near[5] = {0, 0, NO_KEY, 0, 0};
    if (exists) load_key_bits(r, position, 1, bits);
    if (exists) near[2] = (int)key_of_bits(r, bits[0]);
    near[0] = __shfl_up_sync(ALL_LANES, near[2], 2);
    near[1] = __shfl_up_sync(ALL_LANES, near[2], 1);
    near[3] = __shfl_down_sync(ALL_LANES, near[2], 1);
    near[4] = __shfl_down_sync(ALL_LANES, near[2], 2);
    bool strays = lane_number() >= 2 && is_stray(r, near + 2);
    tile->elements[RUN_TILE + lane_number()] = exists && !strays ? load_value(r, position) : SHORT_PADDING;
    u32 others = __ballot_sync(ALL_LANES, near[2] != key && !strays) & ~unknown;
    return others ? RUN_TILE + __ffs((int)others) - 1 : 0;
}

// The tile's runs, of which the last one ends with the bound after it.
static __device__ __forceinline__ bool take_runs(const struct wf_table_arguments *r, const run_tile *tile, i64 first, int runs,
                                                 list_room *room)
{
    bool are_right = true;
    for (int i = (int)lane_number(); i - (int)lane_number() < runs; i += 32) {
        int at = min(i, runs - 1), key = tile->keys[at], begin = tile->begins[at], count = tile->begins[at + 1] - begin;
        bool exists = i == at && key < r->table_count, is_first = false;
        u64 bits;
        are_right = are_right && (!exists || count > 0);
        if (exists && count > 0) {
            u32 taker = atomicCAS(&takers(r)[key], 0, (u32)(first + begin) + 1);
            bool is_found = run_result(r, tile->elements + begin, count, first + begin, &bits);
            is_first = taker == 0;
            if (is_first && is_found) store_unit(address_of_key(r, key), bits);
            are_right = are_right && (is_found || !is_first);
        }
        bool is_listed = exists && !is_first;
        if (__any_sync(ALL_LANES, is_listed)) list_more(r, room, 1, is_listed, first + begin, &key, count);
    }
    return are_right;
}

// Gives whether all is as it is expected.
static __device__ __forceinline__ bool reduce_mostly_sorted_tile(const struct wf_table_arguments *r, i64 first, list_room *room)
{
    run_tile *tile = tile_of_warp();
    int last, runs = load_mostly_sorted(r, tile, first, room, &last);
    if (runs <= 0) return runs == 0;
    int end = find_end_of_run(r, tile, first, last);
    if (lane_number() == 0) tile->begins[runs] = (unsigned short)end;
    __syncwarp();
    bool are_right = take_runs(r, tile, first, runs, room);
    __syncwarp();
    return are_right;
}

static __device__ __forceinline__ void reduce_mostly_sorted(const struct wf_table_arguments *r)
{
    const i64 of_block = WF_TABLE_ORDER_BLOCK / 32 * RUN_TILE;
    list_room room = {0, 0};
    for (i64 first = blockIdx.x * of_block + warp_number() * RUN_TILE; first < r->count; first += gridDim.x * of_block) {
        if (__all_sync(ALL_LANES, reduce_mostly_sorted_tile(r, first, &room))) continue;
        abandon(r);
        break;
    }
    leave_room(r, &room);
}

// ---- keys of several runs

static __device__ __forceinline__ u32 runs_in_list(const struct wf_table_arguments *r)
{
    return min(findings_of(r)->runs, (u32)r->runs); // of a list that is too long nothing counts
}

static __device__ __forceinline__ void link_runs(const struct wf_table_arguments *r)
{
    u32 step = gridDim.x * WF_TABLE_BLOCK, runs = runs_in_list(r);
    for (u32 i = blockIdx.x * WF_TABLE_BLOCK + threadIdx.x; i < runs; i += step) {
        struct wf_table_run *run = listed_runs(r) + i;
        if (run->length) run->before = atomicExch(&takers(r)[run->key], WF_TABLE_LISTED | i);
    }
}

#define RUN_LOADS 8 // elements that are on their way at a time

// Which elements from a position on are of a run that has begun there or before, by bits: all but strays up to its end, which
// is after them if *goes_on.
static __device__ __forceinline__ u32 find_run(const struct wf_table_arguments *r, i64 first, int key, bool *goes_on)
{
    int near[RUN_LOADS + 4], in_round = (int)(first % STRAYS_ROUND);
    u32 own = 0;
#pragma unroll
    for (int k = 0; k < RUN_LOADS + 4; k++) {
        u64 bits[EACH];
        i64 position = first + k - 2;
        bool exists = position >= 0 && position < r->count;
        if (exists) load_key_bits(r, position, 1, bits);
        near[k] = exists ? (int)key_of_bits(r, bits[0]) : NO_KEY;
    }
    *goes_on = true;
#pragma unroll
    for (int k = 0; k < RUN_LOADS; k++) {
        bool is_own = near[k + 2] == key, is_inner = (u32)((in_round + k) % STRAYS_ROUND - 2) < STRAYS_ROUND - 4;
        *goes_on = *goes_on && (is_own || (is_inner && is_stray(r, near + k + 2)));
        own |= (u32)(*goes_on && is_own) << k;
    }
    return own;
}

static __device__ __forceinline__ void add_run(const struct wf_table_arguments *r, i64 first, int key, int length, careful_sum *sum)
{
    bool goes_on = false;
    do {
        u32 own = length == 1 ? 1 : find_run(r, first, key, &goes_on);
        unit elements[RUN_LOADS];
#pragma unroll
        for (int k = 0; k < RUN_LOADS; k++)
            if (own >> k & 1) elements[k] = load_value(r, first + k);
#pragma unroll
        for (int k = 0; k < RUN_LOADS; k++)
            if (own >> k & 1) add_careful(sum, elements[k]);
        first += RUN_LOADS;
    } while (goes_on);
}

// False if the result is not found.
static __device__ __forceinline__ bool add_all_runs(const struct wf_table_arguments *r, struct wf_table_run run, u64 *bits)
{
    careful_sum sum;
    clear_careful(&sum);
    for (int i = 0; i < RUNS_OF_KEY; i++) {
        add_run(r, run.begin, run.key, (int)run.length, &sum);
        if (run.before == 0) return finish_careful(r, &sum, bits);
        bool is_listed = run.before & WF_TABLE_LISTED;
        struct wf_table_run first = {run.before - 1, 0, run.key, 0};
        run = is_listed ? listed_runs(r)[run.before & ~WF_TABLE_LISTED] : first;
    }
    return false;
}

// By the last one that was listed for its key.
static __device__ __forceinline__ void mend_results(const struct wf_table_arguments *r)
{
    i64 step = (i64)gridDim.x * WF_TABLE_BLOCK, thread = (i64)blockIdx.x * WF_TABLE_BLOCK + threadIdx.x;
    u64 bits;
    for (i64 i = thread; i < runs_in_list(r); i += step) {
        struct wf_table_run run = listed_runs(r)[i];
        if (run.length == 0 || takers(r)[run.key] != (WF_TABLE_LISTED | (u32)i)) continue;
        if (add_all_runs(r, run, &bits))
            store_unit(address_of_key(r, run.key), bits);
        else
            abandon(r);
    }
    for (i64 key = thread; key < r->table_count; key += step)
        if (takers(r)[key] == 0) write_nothing(r, key);
}

static __device__ __forceinline__ void take_mostly_sorted(const struct wf_table_arguments *r)
{
    if (are_segments(r) || !are_mostly_sorted(r)) return;
    if (r->stage == WF_TABLE_STRAYS)
        reduce_mostly_sorted(r);
    else if (load_global_u32(&findings_of(r)->abandoned))
        return;
    else if (r->stage == WF_TABLE_LINK)
        link_runs(r);
    else
        mend_results(r);
}

#endif

#endif
