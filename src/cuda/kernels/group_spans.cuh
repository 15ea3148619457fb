// Short groups: a lane has several neighbours at once, whose elements are all on their way before any result is made.

#ifndef GROUP_SPANS_CUH
#define GROUP_SPANS_CUH

#include "kernels/group_short.cuh"
#include "kernels/group_walk.cuh"

#if IS_SHORT

#define ARE_SHORT_SEGMENTS (IS_SHORT == 2)

// `count` elements of a group from its `begin`th on, where that is the first but in segments: `rows` with what pads them; of pairs
// the second ones are `factors`.
static __device__ __forceinline__ void load_short(const struct wf_group_arguments *r, const group_place *place, i64 begin,
                                                  const int rows, int count, unit *elements, unit *factors)
{
    const struct wf_group_dimension *dimension = &r->dimension[r->ndim];
    u64 x_begin = place->x + (u64)(begin * dimension->stride[0]), y_begin = place->y + (u64)(begin * dimension->stride[1]);
#pragma unroll
    for (int k = 0; k < rows; k++) {
        i64 x = 0, y = 0;
        if (k < count) find_element(r, k, &x, &y);
        elements[k] = k < count ? load_unit(x_begin + (u64)x) : SHORT_PADDING;
        if (OPERANDS == 2) factors[k] = k < count ? load_unit(y_begin + (u64)y) : (unit)0;
    }
}

// A result that took more to find; false if it has to be found as those of longer groups are.
static __device__ __forceinline__ bool reduce_rare(const struct wf_group_arguments *r, i64 result, i64 begin, i64 end)
{
    unit elements[SHORT_ROWS], factors[OPERANDS == 2 ? SHORT_ROWS : 1];
    u64 bits;
    if (end - begin > SHORT_ROWS) return false;
    group_place place = find_place(r, result);
    load_short(r, &place, begin, SHORT_ROWS, (int)(end - begin), elements, factors);
    if (!rare_result(r, (int)(end - begin), elements, factors, &bits)) return false;
    store_unit(place.result, bits);
    return true;
}

#if ARE_SHORT_SEGMENTS

// ---- segments of a vector

#define SEGMENT_TILES (SHORT_LOADS / 4)

// Of nothing these are 0.
#define IS_ZERO_OF_NOTHING                                                                                               \
    (FINISH_OP == WF_SUM || FINISH_OP == WF_NORM1 || FINISH_OP == WF_NORM2 || FINISH_OP == WF_DOT)

// A lane's share of 32 * SEGMENT_TILES neighbours: every 32nd.
typedef struct {
    i64 first;
    i64 begin[SEGMENT_TILES], end[SEGMENT_TILES]; // a segment of -1 elements does not exist
} segment_span;

static __device__ __forceinline__ segment_span load_offsets(const struct wf_group_arguments *r, i64 first)
{
    segment_span span;
    span.first = first;
#pragma unroll
    for (int t = 0; t < SEGMENT_TILES; t++) {
        i64 number = min(first + 32 * t, (i64)r->count - 1);
        span.begin[t] = offset_at(r, number);
        span.end[t] = offset_at(r, number + 1);
    }
#pragma unroll
    for (int t = 0; t < SEGMENT_TILES; t++) {
        if (first + 32 * t >= r->count)
            span.end[t] = span.begin[t] - 1;
        else if (!is_offset(r, span.begin[t]) || !is_offset(r, span.end[t]) || span.begin[t] > span.end[t])
            find_segment(r, first + 32 * t, &span.begin[t], &span.end[t]);
    }
    return span;
}

static __device__ __forceinline__ u32 longest_of_warp(const segment_span *span)
{
    i64 longest = 0;
#pragma unroll
    for (int t = 0; t < SEGMENT_TILES; t++) longest = max(longest, span->end[t] - span->begin[t]);
    return warp_max((u32)min(longest, (i64)SHORT_ROWS + 1));
}

// Tiles from `from` on, as many as have SHORT_LOADS elements by `rows` each.  Gives which results have to be found otherwise: bit t,
// of tile t.
static __device__ __forceinline__ u32 reduce_tiles(const struct wf_group_arguments *r, const segment_span *span, const int from,
                                                   const int rows)
{
    const int tiles = SHORT_LOADS / rows;
    const group_place vector = {r->x, r->y, r->results, 0, 0};
    unit elements[SHORT_LOADS], factors[OPERANDS == 2 ? SHORT_LOADS : 1];
    u32 others = 0;
#pragma unroll
    for (int t = 0; t < tiles; t++) {
        i64 begin = span->begin[from + t], count = span->end[from + t] - begin;
        load_short(r, &vector, begin, rows, count <= rows ? (int)count : 0, elements + t * rows,
                   factors + (OPERANDS == 2 ? t * rows : 0));
    }
#pragma unroll
    for (int t = 0; t < tiles; t++) {
        i64 begin = span->begin[from + t], count = span->end[from + t] - begin, number = span->first + 32 * (from + t);
        u64 bits = 0;
        if (count < 0) continue;
        bool is_found = (IS_ZERO_OF_NOTHING && count == 0) ||
                        (count <= rows && short_result(r, rows, elements + t * rows, factors + (OPERANDS == 2 ? t * rows : 0),
                                                       (int)count, r->first_index + begin, &bits));
        if (is_found)
            store_unit(r->results + (u64)(number * r->dimension[0].result_stride), bits);
        else
            others |= 1u << (from + t);
    }
    return others;
}

// Those of the warp from this one on.
static __device__ __forceinline__ u32 reduce_segments(const struct wf_group_arguments *r, i64 first)
{
    segment_span span = load_offsets(r, first + lane_number());
    if (longest_of_warp(&span) <= 4) return reduce_tiles(r, &span, 0, 4);
    return reduce_tiles(r, &span, 0, 8) | reduce_tiles(r, &span, SEGMENT_TILES / 2, 8);
}

#else

// ---- along axes

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
    const int count = (int)r->reduced_count;
    unit elements[SHORT_LOADS], factors[OPERANDS == 2 ? SHORT_LOADS : 1];
    u32 others = 0;
    load_span(r, span, rows, tiles, elements, factors);
#pragma unroll
    for (int t = 0; t < tiles; t++) {
        u64 bits;
        if (32 * t >= span->left) break;
        if (short_result(r, rows, elements + t * rows, factors + (OPERANDS == 2 ? t * rows : 0), count, r->first_index, &bits))
            store_unit(span->result + (u64)(t * span->result_step), bits);
        else
            others |= 1u << t;
    }
    return others;
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

#endif

#endif

#endif
