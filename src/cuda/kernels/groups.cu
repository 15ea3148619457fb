// Reductions by groups: along axes, over segments, and of what has been sorted by key.  Besides the options of reduce.cu
// (-DIS_SMALL=0, -DBLOCK=32, of columns 32 for each warp that shares them), -DWALK: how a group's elements are found (group_state.cuh), -DALIGNMENT: 16 if every element is
// aligned, or 1, -DIS_SHORT: 1 if all groups are a batch each at most, of one lane, 2 if segments of a vector mostly are, 3 if
// labelled groups of neighbours are, 5 if each group is one lane's, several elements at a time, 6 if each is a row of a team's that
// is tried in registers first, 7 if a team has several columns, likewise, 8 if all warps share columns, which are tried in registers,
// 9 if each team's row is a segment of a vector, likewise, 10 if all warps share rows.
//
// A block is a warp (of columns several), and its lanes are teams of 1 to 32, each of which has one group at a time.  Lanes sum up exactly by
// themselves (group_sums.cuh) and then merge, so any team gives the same bits.  Groups that are much longer than others are
// cut into pieces for several teams, which are merged in slots by integer operations that commute.
//
// Without FINISH_OP there are no results: every group is left in a slot of its own, as an accumulator takes it.

#include "group_arguments.h"
#include "kernels/chain.cuh"
#include "kernels/group_finish.cuh"
#if ARE_SHARED_BY_TEAMS
#include "kernels/group_columns.cuh"
#include "kernels/group_rows.cuh"
#include "kernels/group_tall.cuh"
#elif defined FINISH_OP
#include "kernels/group_chunks_ahead.cuh"
#include "kernels/group_spans.cuh"
#include "kernels/group_whole_rows.cuh"
#endif
#include "kernels/group_state.cuh"
#include "kernels/group_walk.cuh"
#include "kernels/team.cuh"

// A batch is on its way to registers while the one before is added, if there are registers for both.
#define OVERLAPS (!USES_GROUP_RING && !HAS_PRODUCT_SUM)

#ifdef FINISH_OP
#define KEEPS_SLOTS 0
#else
#define KEEPS_SLOTS 1 // slot i is result i's
#endif

// The elements of a team: those from begin to before end, of the group.
typedef struct {
    i64 result; // its place among the results, in the order of their dimensions
    i64 begin, end;
    i64 slot; // -1: the team has the whole group
    bool exists;
} team_task;

// ---- reducing

static __device__ __forceinline__ char *bins_of_warp(void)
{
    return group_memory + (BLOCK > 32 ? warp_number() * GROUP_SUMS_NBYTES : 0);
}

// Adds a team's elements to its lanes' groups.
static __device__ __forceinline__ void add_range(const struct wf_group_arguments *r, const group_place *place,
                                                 const team_task *task, const team *lanes, group_state *group)
{
    group_range range;
    int count = task->exists ? (int)(task->end - task->begin) : 0;
    lane_walk walk = begin_walk(r, place, ring_of_warp(), task->begin, count, lanes, &range);
    group_batch batch, next;
    bool has_any = has_more(&walk);
    load_batch(r, lanes, &walk, &range, &next);
    place_windows(group, &next, lanes);
    for (bool goes_on = has_any; goes_on;) {
        batch = next;
        goes_on = has_more(&walk);
        if (OVERLAPS && goes_on) load_batch(r, lanes, &walk, &range, &next);
        group_add_batch(group, &batch, &range);
        if (!OVERLAPS && goes_on) load_batch(r, lanes, &walk, &range, &next);
    }
    if (HAS_EXTREMES && has_any) close_extremes(group);
}

// What a launch has counted; 0 is all bits, so that all counters are cleared at once.
static __device__ __forceinline__ i64 counted(u64 counter)
{
    return (i64)(*(const u64 *)counter + 1);
}

// Adds `count` to a counter; gives how many it had counted before.
static __device__ __forceinline__ i64 count_on(u64 counter, i64 count)
{
    return (i64)(atomicAdd((u64 *)counter, (u64)count) + 1);
}

static __device__ __forceinline__ struct wf_group_slot *slot_at(const struct wf_group_arguments *r, i64 slot)
{
    return (struct wf_group_slot *)r->slots + slot;
}

static __device__ __forceinline__ void leave_in_slot(const struct wf_group_arguments *r, i64 slot, group_state *group)
{
    drain_window(group);
    group_publish(slot_at(r, slot), group);
}

#ifdef FINISH_OP

static __device__ __forceinline__ void leave_group(const struct wf_group_arguments *r, const group_place *place,
                                                   const team_task *task, group_state *group, bool in_windows)
{
    i64 count = task->end - task->begin;
    if (task->slot >= 0) {
        leave_in_slot(r, task->slot, group);
        return;
    }
    if (write_plain(r, place, group, in_windows, count)) return;
    drain_window(group);
    finish_group(r, *place, *group, count);
    sum_set_empty(&group->sum);
    sum_set_empty(&group->product_sum);
}

#else

static __device__ __forceinline__ void leave_group(const struct wf_group_arguments *r, const group_place *place,
                                                   const team_task *task, group_state *group, bool in_windows)
{
    (void)place, (void)in_windows;
    leave_in_slot(r, task->slot, group);
}

#endif

static __device__ __forceinline__ void reduce_task(const struct wf_group_arguments *r, const team_task *task, const team *lanes,
                                                   group_state *group)
{
    group_place place = find_place(r, task->exists ? task->result : 0);
    group_clear(group);
    add_range(r, &place, task, lanes, group);
    bool in_windows = group_merge(group, lanes);
    if (task->exists && lanes->place == 0) leave_group(r, &place, task, group, in_windows);
}

// ---- the stages

// Lists the pieces of a group that is too long for its team, which this lane has, or of as many neighbouring results of that group.
// By all lanes.
static __device__ __forceinline__ void list_pieces(const struct wf_group_arguments *r, const team_task *task, u32 lane, i64 results)
{
    const bool is_first = lane_number() == lane;
    const i64 result = __shfl_sync(ALL_LANES, task->result, lane), begin = __shfl_sync(ALL_LANES, task->begin, lane);
    const i64 end = __shfl_sync(ALL_LANES, task->end, lane), pieces = (end - begin + r->piece - 1) / r->piece;
    const i64 at = __shfl_sync(ALL_LANES, is_first ? count_on(r->listed, pieces) : 0, lane);
    i64 slot = -1;
    if (at + pieces > r->list_count) return; // offsets fall, so that segments overlap: nothing of the list counts
    if (KEEPS_SLOTS) {
        slot = result;
    } else if (pieces > 1) {
        slot = __shfl_sync(ALL_LANES, is_first ? count_on(r->used, results) : 0, lane);
        if (slot + results > r->slot_count) return;
        for (i64 i = lane_number(); i < results; i += 32) slot_clear(slot_at(r, slot + i), (u64)(result + i), (u64)(end - begin));
    }
    for (i64 i = lane_number(); i < pieces; i += 32) {
        const i64 from = begin + i * r->piece;
        const struct wf_group_piece piece = {result, from, from + r->piece < end ? from + r->piece : end, slot};
        ((struct wf_group_piece *)r->list)[at + i] = piece;
    }
}

// The results of the last dimension, of which teams across take neighbours.
static __device__ __forceinline__ i64 last_length(const struct wf_group_arguments *r)
{
    return r->ndim ? r->dimension[r->ndim - 1].length : 1;
}

// Teams across take results of one row of the last dimension, so that all have the same segment or key.
static __device__ __forceinline__ team_task find_result(const struct wf_group_arguments *r, i64 tile, const team *lanes)
{
    i64 teams = 32 >> lanes->log2, length = last_length(r);
    team_task task = {tile * teams + lanes->number, 0, 0, -1, false};
    task.exists = task.result < r->count;
    if (!lanes->is_across) return task;
    i64 at = split_off(&tile, (length + teams - 1) / teams) * teams + lanes->number;
    task.result = tile * length + at;
    task.exists = at < length;
    return task;
}

static __device__ __forceinline__ void cut_piece(const struct wf_group_arguments *r, i64 part, team_task *task)
{
    i64 end = task->end;
    task->begin += part * r->piece;
    task->end = task->begin + r->piece < end ? task->begin + r->piece : end;
    task->slot = task->result;
    task->exists = task->begin < end;
}

// teams: of the warp that have a task.  By all lanes.
static __device__ __forceinline__ void list_if_long(const struct wf_group_arguments *r, team_task *task, const team *lanes,
                                                    u32 teams)
{
    const bool is_long = r->list && task->exists && task->end - task->begin > r->longest;
    u32 first = __ballot_sync(ALL_LANES, is_long && (lanes->is_across ? lane_number() : lanes->place) == 0);
#pragma unroll 1
    for (; first; first &= first - 1) list_pieces(r, task, (u32)__ffs((int)first) - 1, lanes->is_across ? teams : 1);
    if (is_long) task->exists = false;
}

static __device__ __forceinline__ team_task find_task(const struct wf_group_arguments *r, i64 tile, i64 part, const team *lanes)
{
    team_task task = find_result(r, tile, lanes);
#if ARE_TALL_COLUMNS
    task.exists = task.exists && *column_state(r, task.result) != COLUMN_KNOWN;
#endif
    const u32 teams = (u32)__popc(__ballot_sync(ALL_LANES, task.exists)) >> lanes->log2;
    if (task.exists) {
        group_place place = find_place(r, task.result);
        find_range(r, &place, &task.begin, &task.end);
        if (KEEPS_SLOTS) task.slot = task.result;
        if (r->pieces > 1) cut_piece(r, part, &task);
    }
    list_if_long(r, &task, lanes, teams);
    return task;
}

#if ARE_ROWS_OF_TEAMS

// ---- rows

// As many lanes at a time as have bins, the same number for each row of the warp's, if there are as many.  By all lanes.
static __device__ __forceinline__ void reduce_rows_in_turns(const struct wf_group_arguments *r, const team_task *task, const team *lanes,
                                                            group_state *group)
{
    const team few = team_of(max(lanes->log2 - (5 - BIN_LANES_LOG2), 0), 0);
    const int rows = BIN_LANES >> few.log2;
#pragma unroll 1
    for (int first = 0; first < 32 >> lanes->log2; first += rows) {
        u32 from = ((first + few.number) << lanes->log2) & 31;
        team_task row = *task;
        row.result = __shfl_sync(ALL_LANES, task->result, from);
        row.exists = __shfl_sync(ALL_LANES, (int)task->exists, from) && (int)few.number < rows;
        if (row.slot >= 0) row.slot = row.result;
        if (__any_sync(ALL_LANES, row.exists)) reduce_task(r, &row, &few, group);
        if (BIN_LANES < 32) __syncwarp();
    }
}

// Of few long rows, whose extrema are sought, a piece; of segments the offsets, which may be wrong.
static __device__ __forceinline__ team_task find_row(const struct wf_group_arguments *r, i64 tile, const team *lanes)
{
    i64 part = r->pieces > 1 ? split_off(&tile, r->pieces) : 0;
    team_task task = find_result(r, tile, lanes);
    bool exists = task.exists;
#if ARE_SEGMENTS_OF_TEAMS
    if (exists) task.begin = offset_at(r, task.result);
    if (exists) task.end = offset_at(r, task.result + 1);
#else
    task.end = r->reduced_count;
    if (r->pieces > 1) cut_piece(r, part, &task);
    task.exists = task.exists && exists;
#endif
    return task;
}

// By the first lane of a team.
static __device__ __forceinline__ void leave_row(const struct wf_group_arguments *r, const group_place *place, const team_task *task,
                                                 u64 bits, i64 index, group_state *group)
{
#if HAS_EXTREMES
    if (task->slot >= 0) {
        group_clear(group);
        group_add(group, (unit)bits, 0, (u64)index);
        close_extremes(group);
        leave_in_slot(r, task->slot, group);
        return;
    }
#endif
    store_unit(place->result, IS_PLAIN_INDEX ? (u64)index : bits);
}

// Whether it is found; by all lanes of the warp.
static __device__ __forceinline__ bool try_row(const struct wf_group_arguments *r, const team_task *task, const team *lanes,
                                               group_state *group)
{
    const group_place place = find_place(r, task->exists ? task->result : 0);
    const bool is_empty = ARE_SEGMENTS_OF_TEAMS && task->exists && task->begin == task->end, has_any = task->exists && !is_empty;
    const u64 address = place.x + (has_any ? (u64)task->begin * sizeof(unit) : 0);
    u64 bits = 0;
    int number;
    bool is_found = reduce_row_of_team(r, address, (int)(task->end - task->begin), has_any, lanes, &bits, &number);
    if (is_empty) is_found = IS_ZERO_OF_NOTHING;
    if (is_found && task->exists && lanes->place == 0)
        leave_row(r, &place, task, bits, r->first_index + task->begin + number, group);
    return is_found;
}

// Segments whose offsets are right and that are not too long for a team.  By all lanes.
static __device__ __forceinline__ void check_segment(const struct wf_group_arguments *r, team_task *task, const team *lanes)
{
    bool is_right = is_offset(r, task->begin) && is_offset(r, task->end) && task->begin <= task->end;
    if (task->exists && !is_right) find_segment(r, task->result, &task->begin, &task->end);
    list_if_long(r, task, lanes, 1);
}

static __device__ __forceinline__ void reduce_short(const struct wf_group_arguments *r, const team *lanes, group_state *group)
{
    team_task next = find_row(r, blockIdx.x, lanes);
    for (i64 i = blockIdx.x; i < r->tiles * r->pieces; i += gridDim.x) {
        team_task task = ARE_SEGMENTS_OF_TEAMS ? next : find_row(r, i, lanes);
        if (ARE_SEGMENTS_OF_TEAMS) next = find_row(r, i + gridDim.x, lanes); // whose offsets are on their way
        if (ARE_SEGMENTS_OF_TEAMS) check_segment(r, &task, lanes);
        task.exists = !try_row(r, &task, lanes, group);
        if (__any_sync(ALL_LANES, task.exists)) reduce_rows_in_turns(r, &task, lanes, group);
    }
}

#elif IS_SHORT && !ARE_TALL_COLUMNS

// ---- short groups

// As many lanes at a time as have bins.  By all lanes.
static __device__ __forceinline__ void reduce_in_turns(const struct wf_group_arguments *r, const team_task *task, const team *lanes,
                                                       group_state *group)
{
#pragma unroll 1
    for (u32 turn = 0; turn < 32 / BIN_LANES; turn++) {
        team_task mine = *task;
        mine.exists = task->exists && lane_number() / BIN_LANES == turn;
        if (BIN_LANES < 32 && !__any_sync(ALL_LANES, mine.exists)) continue;
        reduce_task(r, &mine, lanes, group);
        if (BIN_LANES < 32) __syncwarp();
    }
}

#if ARE_COLUMNS_OF_LANES

// One after the other, by as many lanes as have bins.  By all lanes.
static __device__ __forceinline__ void reduce_by_team(const struct wf_group_arguments *r, const team_task *task, group_state *group)
{
    const team few = team_of(BIN_LANES_LOG2, 0);
#pragma unroll 1
    for (u32 others = __ballot_sync(ALL_LANES, task->exists); others; others &= others - 1) {
        team_task column = *task;
        column.result = __shfl_sync(ALL_LANES, task->result, __ffs((int)others) - 1);
        column.exists = few.number == 0;
        reduce_task(r, &column, &few, group);
        if (BIN_LANES < 32) __syncwarp();
    }
}

// The columns in bits c that could not be found in registers: by lanes, or, where few long ones would keep others waiting, by teams.
static __device__ __forceinline__ void reduce_columns_left(const struct wf_group_arguments *r, i64 first, u32 left, const team *lanes,
                                                           group_state *group)
{
    const team alone = team_of(0, 0);
#pragma unroll 1
    for (int c = 0; c < COLUMNS; c++) {
        team_task task = {first + c, 0, r->reduced_count, -1, lanes->place == 0 && (left >> c & 1)};
        if (!__any_sync(ALL_LANES, task.exists)) continue;
        if (r->reduced_count >= LONG_COLUMN)
            reduce_by_team(r, &task, group);
        else
            reduce_in_turns(r, &task, &alone, group);
    }
}

static __device__ __forceinline__ void reduce_short(const struct wf_group_arguments *r, const team *lanes, group_state *group)
{
    const int width = 32 * COLUMNS, number = (int)((warp_number() << (5 - lanes->log2)) + lanes->number);
    const i64 length = last_length(r), spans = (length + width - 1) / width, all = spans * (r->count / length);
    u32 *exchanged = (u32 *)(group_memory + (BLOCK / 32) * GROUP_SUMS_NBYTES);
    for (i64 i = blockIdx.x; i < all; i += gridDim.x) {
        const column_span span = columns_of_tile(i, spans, length, number);
        const column_span loaded = columns_of_tile(i, spans, length, (int)lane_number());
        u32 left = reduce_columns(r, &span, &loaded, exchanged, lanes);
        if (__any_sync(ALL_LANES, left != 0)) reduce_columns_left(r, span.first, left, lanes, group);
    }
}

#elif ARE_IN_CHUNKS

static __device__ __forceinline__ void reduce_short(const struct wf_group_arguments *r, const team *lanes, group_state *group)
{
    const i64 length = last_length(r) < 128 ? r->count : last_length(r), spans = (length + 31) / 32, all = spans * (r->count / length);
#if ARE_WHOLE_ROWS_OF_LANES
    if (r->starts_at_vectors) {
        reduce_whole_rows(r);
        return;
    }
#endif
#if ARE_CHUNKS_AHEAD
    const chunk_steps steps = steps_of_chunks(r);
    chunk_request next = begin_requests(r, &steps);
#endif
    for (i64 i = blockIdx.x; i < all; i += gridDim.x) {
        i64 row = 0, at = i * 32 + lane_number();
        if (spans != all) row = i, at = split_off(&row, spans) * 32 + lane_number(); // a division takes longer than most else
        team_task task = {row * length + at, 0, r->reduced_count, -1, at < length};
#if ARE_CHUNKS_AHEAD
        if (r->ahead)
            task.exists = !reduce_chunks_ahead(r, task.result, &next, &steps);
        else
#endif
            if (task.exists) task.exists = !reduce_in_chunks(r, task.result);
        if (__any_sync(ALL_LANES, task.exists)) reduce_in_turns(r, &task, lanes, group);
    }
}

#else

// The results from `first` on that could not be found in registers: those in bits t of the tiles, of 32 each.  Each lane has its next
// one, of whichever tile, so that as few rounds as may be do; but labelled ones, which may be listed for several neighbours, a tile's.
static __device__ __forceinline__ void reduce_others(const struct wf_group_arguments *r, i64 first, u32 others,
                                                     const team *lanes, group_state *group)
{
#pragma unroll 1
    while (__any_sync(ALL_LANES, others != 0)) {
        const u32 next = ARE_LABELLED ? warp_or(others) : others, lowest = next & -next;
        const int t = max(__ffs((int)next) - 1, 0);
        team_task task = {first + 32 * t + lane_number(), 0, ARE_LABELLED ? 0 : r->reduced_count, -1, (others & lowest) != 0};
        others &= ~lowest;
        if (ARE_LABELLED && task.exists) find_segment(r, find_place(r, task.result).group, &task.begin, &task.end);
        if (HAS_RARE_RESULT && task.exists) task.exists = !reduce_rare(r, task.result, task.begin, task.end);
        if (!__any_sync(ALL_LANES, task.exists)) continue;
        if (ARE_LABELLED) list_if_long(r, &task, lanes, (u32)__popc(__ballot_sync(ALL_LANES, task.exists)));
        reduce_in_turns(r, &task, lanes, group);
    }
}

#if ARE_SHORT_SEGMENTS

static __device__ __forceinline__ void reduce_short(const struct wf_group_arguments *r, const team *lanes, group_state *group)
{
    for (i64 first = (i64)blockIdx.x * (32 * SEGMENT_TILES); first < r->count; first += (i64)gridDim.x * (32 * SEGMENT_TILES))
        reduce_others(r, first, reduce_segments(r, first), lanes, group);
}

#elif ARE_SHORT_ROWS

static __device__ __forceinline__ void reduce_short(const struct wf_group_arguments *r, const team *lanes, group_state *group)
{
    const int width = 32 * ROW_TILES;
    i64 length = last_length(r), spans = (length + width - 1) / width, all = spans * (r->count / length);
    for (i64 i = blockIdx.x; i < all; i += gridDim.x) {
        i64 row = i, at = split_off(&row, spans) * width, first = row * length + at;
        reduce_others(r, first, reduce_row(r, first, length - at), lanes, group);
    }
}

#else

static __device__ __forceinline__ u32 reduce_span_of(const struct wf_group_arguments *r, const short_span *span, int rows, const bool is_flat)
{
    if (rows == 2) return reduce_span(r, span, 2, is_flat ? 1 : SHORT_LOADS / 2);
    if (rows == 4) return reduce_span(r, span, 4, is_flat ? 1 : SHORT_LOADS / 4);
    return reduce_span(r, span, 8, is_flat ? 1 : SHORT_LOADS / 8);
}

// Spans of as many tiles as have SHORT_LOADS elements; where the last dimension is short, of one, whose lanes may have results
// of several rows.
static __device__ __forceinline__ void reduce_short(const struct wf_group_arguments *r, const team *lanes, group_state *group)
{
    bool is_flat = last_length(r) < 128;
    int rows = r->reduced_count <= 2 ? 2 : r->reduced_count <= 4 ? 4 : 8, width = is_flat ? 32 : 32 * SHORT_LOADS / rows;
    i64 length = is_flat ? r->count : last_length(r), spans = (length + width - 1) / width, all = spans * (r->count / length);
    for (i64 i = blockIdx.x; i < all; i += gridDim.x) {
        i64 row = i, at = split_off(&row, spans) * width, first = row * length + at, left = length - at - lane_number();
        short_span span = find_span(r, first + lane_number(), is_flat ? min(left, (i64)1) : left);
        u32 others = is_flat ? reduce_span_of(r, &span, rows, true) : reduce_span_of(r, &span, rows, false);
        reduce_others(r, first, others, lanes, group);
    }
}

#endif

#endif

#endif

static __device__ __forceinline__ void reduce_groups(const struct wf_group_arguments *r, const team *lanes, group_state *group)
{
#if IS_SHORT && !ARE_TALL_COLUMNS
    reduce_short(r, lanes, group);
#else
    for (i64 i = blockIdx.x; i < r->tiles * r->pieces; i += gridDim.x) {
        team_task task = find_task(r, i / r->pieces, i % r->pieces, lanes);
        reduce_task(r, &task, lanes, group);
    }
#endif
}

// A piece that was listed for a row of neighbouring results is for each of them.
static __device__ __forceinline__ void take_neighbour(const struct wf_group_arguments *r, const team *lanes, team_task *task)
{
    i64 left = last_length(r) - task->result % last_length(r);
    task->exists = (i64)lanes->number < left;
    task->result += lanes->number;
    if (task->slot >= 0) task->slot += lanes->number;
}

static __device__ __forceinline__ void reduce_listed(const struct wf_group_arguments *r, const team *lanes, group_state *group)
{
    const i64 listed = has_bad_labels(r) ? 0 : counted(r->listed);
    for (i64 i = blockIdx.x; i < listed; i += gridDim.x) {
        const struct wf_group_piece *piece = (const struct wf_group_piece *)r->list + i;
        team_task task = {piece->result, piece->begin, piece->end, piece->slot, true};
        if (lanes->is_across) take_neighbour(r, lanes, &task);
        reduce_task(r, &task, lanes, group);
    }
}

#ifdef FINISH_OP

static __device__ __forceinline__ void finish_slots(const struct wf_group_arguments *r, group_state *group)
{
    const i64 used = has_bad_labels(r) ? 0 : r->used ? counted(r->used) : r->count;
    for (i64 i = (i64)blockIdx.x * 32 + lane_number(); i < used; i += (i64)gridDim.x * 32) {
        const struct wf_group_slot *slot = slot_at(r, i);
#if ARE_TALL_COLUMNS
        if (*column_state(r, i) == COLUMN_KNOWN) continue;
#endif
        group_place place = find_place(r, slot->result);
        struct wf_finish finish;
        totals_memory memory;
        group_of_slot(group, &slot->partial);
        open_totals(&finish, &memory);
        read_totals(&finish, &slot->partial);
        write_group(r, &finish, group, &place, slot->count);
    }
}

#endif

static __device__ __forceinline__ void clear_slots(const struct wf_group_arguments *r)
{
    for (i64 i = (i64)blockIdx.x * 32 + lane_number(); i < r->count; i += (i64)gridDim.x * 32) {
        group_place place = find_place(r, i);
        i64 begin, end;
        find_range(r, &place, &begin, &end);
        slot_clear(slot_at(r, i), (u64)(KEEPS_SLOTS ? place.number : i), (u64)(end - begin));
    }
}

#if ARE_TALL_COLUMNS

// What is left open is reduced as longer groups are, to slots.
static __device__ __forceinline__ void settle_columns(const struct wf_group_arguments *r)
{
    for (i64 i = blockIdx.x; i < r->count; i += gridDim.x)
        if (!settle_column(r, i) && lane_number() == 0) slot_clear(slot_at(r, i), (u64)i, (u64)r->reduced_count);
}

// Whether the stage is one of theirs.
static __device__ __forceinline__ bool reduce_tall(const struct wf_group_arguments *r)
{
    if (r->stage == WF_GROUPS_ADD_COLUMNS) add_tall_columns(r);
    if (r->stage == WF_GROUPS_JOIN_COLUMNS) join_tall_columns(r);
    if (r->stage == WF_GROUPS_SETTLE_COLUMNS) settle_columns(r);
    return r->stage >= WF_GROUPS_ADD_COLUMNS;
}

#endif

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) groups(const __grid_constant__ struct wf_group_arguments task)
{
    const team lanes = team_of(task.lanes_log2, task.is_across);
    group_state group;
    wait_for_those_before();
    if (task.stage == WF_GROUPS_STATUS) {
        if (threadIdx.x == 0) leave_status(&task);
        return;
    }
    if ((task.condition && *(const u32 *)task.condition == 0) || (task.unless && *(const u32 *)task.unless)) return;
    if (task.stage == WF_GROUPS_CLEAR) {
        clear_slots(&task);
        return;
    }
#if ARE_TALL_COLUMNS
    if (reduce_tall(&task)) return;
#endif
#ifdef FINISH_OP
    if (task.stage == WF_GROUPS_FINISH) {
        finish_slots(&task, &group);
        return;
    }
#endif
    if (task.stage == WF_GROUPS_LISTED && (i64)blockIdx.x >= counted(task.listed)) return; // before memory is cleared
    if (HAS_VALUE_SUM) sum_open(&group.sum, bins_of_warp(), GROUP_VALUE_ROWS);
    if (HAS_PRODUCT_SUM) sum_open(&group.product_sum, bins_of_warp() + (HAS_VALUE_SUM ? 16 * BIN_LANES * GROUP_VALUE_ROWS : 0),
                                  GROUP_PRODUCT_ROWS);
    if (BIN_LANES < 32) __syncwarp(); // lanes have cleared the same columns
    if (task.stage == WF_GROUPS_REDUCE) reduce_groups(&task, &lanes, &group);
#if !IS_SHORT || ARE_LABELLED || ARE_SEGMENTS_OF_TEAMS // of short groups along axes none is longer than others
    else reduce_listed(&task, &lanes, &group);
#endif
}
