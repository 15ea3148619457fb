// Reductions by groups: along axes, over segments, and of what has been sorted by key.  Besides the options of reduce.cu
// (-DIS_SMALL=0, -DBLOCK=32), -DWALK: how a group's elements are found (group_state.cuh), -DALIGNMENT: 16 if every element is
// aligned, or 1, -DIS_SHORT: whether all groups are a batch each at most, of one lane.
//
// A block is a warp, and its lanes are teams of 1 to 32, each of which has one group at a time.  Lanes sum up exactly by
// themselves (group_sums.cuh) and then merge, so any team gives the same bits.  Groups that are much longer than others are
// cut into pieces for several teams, which are merged in slots by integer operations that commute.
//
// Without FINISH_OP there are no results: every group is left in a slot of its own, as an accumulator takes it.

#include "group_arguments.h"
#include "kernels/group_finish.cuh"
#ifdef FINISH_OP
#include "kernels/group_short.cuh"
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

// ---- finding

static __device__ __forceinline__ i64 offset_at(const struct wf_group_arguments *r, i64 i)
{
    u64 address = r->offsets + (u64)(i * r->offset_stride);
    return r->offsets_are_wide ? *(const i64 *)address : *(const int *)address;
}

static __device__ __forceinline__ bool is_offset(const struct wf_group_arguments *r, i64 offset)
{
    return offset >= 0 && offset <= r->reduced_count;
}

// The elements of a segment; none where an offset is wrong, which is noted.
static __device__ __forceinline__ void find_segment(const struct wf_group_arguments *r, i64 group, i64 *begin, i64 *end)
{
    *begin = offset_at(r, group);
    *end = offset_at(r, group + 1);
    bool begins = is_offset(r, *begin);
    if (begins && is_offset(r, *end) && *begin <= *end) return;
    if (begins || group == 0) atomicMin((u64 *)r->bad, (u64)(begins ? group + 1 : group));
    *begin = *end = 0;
}

static __device__ __forceinline__ void find_range(const struct wf_group_arguments *r, const group_place *place, i64 *begin,
                                                  i64 *end)
{
    *begin = 0;
    *end = r->reduced_count;
    if (r->offsets) find_segment(r, place->group, begin, end);
}

// ---- reducing

extern __shared__ __align__(16) char group_memory[]; // bins, then the ring

static __device__ __forceinline__ char *ring_of_warp(void)
{
    return group_memory + GROUP_SUMS_NBYTES;
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

// Lists the pieces of a group that is too long for its team, or of as many neighbouring results of that group.  By one lane.
static __device__ __forceinline__ void list_pieces(const struct wf_group_arguments *r, const team_task *first, i64 results)
{
    i64 count = first->end - first->begin, pieces = (count + r->piece - 1) / r->piece, slot = -1;
    i64 at = (i64)atomicAdd((u64 *)r->listed, (u64)pieces);
    struct wf_group_piece *piece = (struct wf_group_piece *)r->list + at;
    if (at + pieces > r->list_count) return; // offsets fall, so that segments overlap: nothing of the list counts
    if (KEEPS_SLOTS) {
        slot = first->result;
    } else if (pieces > 1) {
        slot = (i64)atomicAdd((u64 *)r->used, (u64)results);
        if (slot + results > r->slot_count) return;
        for (i64 i = 0; i < results; i++) slot_clear(slot_at(r, slot + i), (u64)(first->result + i), (u64)count);
    }
    for (i64 begin = first->begin; begin < first->end; begin += r->piece, piece++) {
        piece->result = first->result;
        piece->begin = begin;
        piece->end = begin + r->piece < first->end ? begin + r->piece : first->end;
        piece->slot = slot;
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

static __device__ __forceinline__ team_task find_task(const struct wf_group_arguments *r, i64 tile, i64 part, const team *lanes)
{
    team_task task = find_result(r, tile, lanes);
    u32 teams = (u32)__popc(__ballot_sync(ALL_LANES, task.exists)) >> lanes->log2;
    if (!task.exists) return task;
    group_place place = find_place(r, task.result);
    find_range(r, &place, &task.begin, &task.end);
    if (KEEPS_SLOTS) task.slot = task.result;
    if (r->pieces > 1) cut_piece(r, part, &task);
    if (r->list && task.end - task.begin > WF_GROUP_LISTED_ELEMENTS << lanes->log2) {
        if (lanes->is_across ? lane_number() == 0 : lanes->place == 0) list_pieces(r, &task, lanes->is_across ? teams : 1);
        task.exists = false;
    }
    return task;
}

#if IS_SHORT

// ---- short groups

// A lane's share of neighbouring results of a row of the last dimension: every 32nd, a tile being 32.
typedef struct {
    u64 x, y, result; // of the first
    i64 x_step, y_step, result_step;
    int left; // neighbours from the first on, itself included
} short_span;

// The elements of the lane's results, `rows` of each with what pads them; of pairs the second ones are `factors`.
static __device__ __forceinline__ void load_span(const struct wf_group_arguments *r, const short_span *span, const int rows,
                                                 const int tiles, unit *elements, unit *factors)
{
    int count = (int)r->reduced_count;
#pragma unroll
    for (int k = 0; k < rows; k++) {
        i64 x = 0, y = 0;
        if (k < count) find_element(r, k, &x, &y);
#pragma unroll
        for (int t = 0; t < tiles; t++) {
            bool exists = k < count && 32 * t < span->left;
            elements[t * rows + k] = exists ? load_unit(span->x + (u64)(x + t * span->x_step)) : SHORT_PADDING;
            if (OPERANDS == 2) factors[t * rows + k] = exists ? load_unit(span->y + (u64)(y + t * span->y_step)) : (unit)0;
        }
    }
}

// Gives which results have to be found otherwise: bit t, of tile t.
static __device__ __forceinline__ u32 reduce_span(const struct wf_group_arguments *r, const short_span *span, const int rows,
                                                  const int tiles)
{
    unit elements[SHORT_LOADS], factors[OPERANDS == 2 ? SHORT_LOADS : 1];
    u32 others = 0;
    load_span(r, span, rows, tiles, elements, factors);
#pragma unroll
    for (int t = 0; t < tiles; t++) {
        u64 bits;
        if (32 * t >= span->left) break;
        if (short_result(r, rows, elements + t * rows, factors + (OPERANDS == 2 ? t * rows : 0), &bits))
            store_unit(span->result + (u64)(t * span->result_step), bits);
        else
            others |= 1u << t;
    }
    return others;
}

// A result that took more to find; false if it has to be found as those of longer groups are.
static __device__ __forceinline__ bool reduce_rare(const struct wf_group_arguments *r, i64 result)
{
    unit elements[SHORT_ROWS], factors[OPERANDS == 2 ? SHORT_ROWS : 1];
    u64 bits;
    group_place place = find_place(r, result);
    short_span span = {place.x, place.y, place.result, 0, 0, 0, 1};
    load_span(r, &span, SHORT_ROWS, 1, elements, factors);
    if (!rare_result(r, elements, factors, &bits)) return false;
    store_unit(place.result, bits);
    return true;
}

// The results from `first` on that could not be found so: those in bits t of the tiles.
static __device__ __forceinline__ void reduce_others(const struct wf_group_arguments *r, i64 first, u32 others,
                                                     const team *lanes, group_state *group)
{
    if (!__any_sync(ALL_LANES, others != 0)) return;
#pragma unroll 1
    for (int t = 0; t < SHORT_LOADS / 2; t++) {
        i64 result = first + 32 * t + lane_number();
        bool is_wanted = others >> t & 1;
        if (HAS_RARE_RESULT && is_wanted) is_wanted = !reduce_rare(r, result);
        if (!__any_sync(ALL_LANES, is_wanted)) continue;
        team_task task = {result, 0, r->reduced_count, -1, is_wanted};
        reduce_task(r, &task, lanes, group);
    }
}

// left: results from this one on that lanes' steps lead to; at most 0: not even this one.
static __device__ __forceinline__ short_span find_span(const struct wf_group_arguments *r, i64 result, i64 left)
{
    const struct wf_group_dimension *last = &r->dimension[max(r->ndim - 1, 0)];
    group_place place = find_place(r, left > 0 ? result : 0);
    short_span span = {place.x, place.y, place.result, 32 * last->stride[0], 32 * last->stride[1], 32 * last->result_stride,
                       0};
    span.left = (int)max(min(left, (i64)32 * SHORT_LOADS), (i64)0);
    return span;
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
        u32 others = rows == 2   ? reduce_span(r, &span, 2, SHORT_LOADS / 2)
                     : rows == 4 ? reduce_span(r, &span, 4, SHORT_LOADS / 4)
                                 : reduce_span(r, &span, 8, SHORT_LOADS / 8);
        reduce_others(r, first, others, lanes, group);
    }
}

#endif

static __device__ __forceinline__ void reduce_groups(const struct wf_group_arguments *r, const team *lanes, group_state *group)
{
#if IS_SHORT
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
    i64 listed = has_bad_labels(r) ? 0 : *(const i64 *)r->listed;
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
    i64 used = has_bad_labels(r) ? 0 : r->used ? *(const i64 *)r->used : r->count;
    for (i64 i = (i64)blockIdx.x * 32 + lane_number(); i < used; i += (i64)gridDim.x * 32) {
        const struct wf_group_slot *slot = slot_at(r, i);
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

extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT) groups(const __grid_constant__ struct wf_group_arguments task)
{
    const team lanes = team_of(task.lanes_log2, task.is_across);
    group_state group;
    if (task.stage == WF_GROUPS_STATUS) {
        if (lane_number() == 0) leave_status(&task);
        return;
    }
    if (task.condition && *(const u32 *)task.condition == 0) return;
    if (task.stage == WF_GROUPS_CLEAR) {
        clear_slots(&task);
        return;
    }
#ifdef FINISH_OP
    if (task.stage == WF_GROUPS_FINISH) {
        finish_slots(&task, &group);
        return;
    }
#endif
    if (HAS_VALUE_SUM) sum_open(&group.sum, group_memory, GROUP_VALUE_ROWS);
    if (HAS_PRODUCT_SUM) sum_open(&group.product_sum, group_memory + (HAS_VALUE_SUM ? 512 * GROUP_VALUE_ROWS : 0), GROUP_PRODUCT_ROWS);
    if (task.stage == WF_GROUPS_REDUCE)
        reduce_groups(&task, &lanes, &group);
    else
        reduce_listed(&task, &lanes, &group);
}
