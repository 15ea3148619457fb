// Short groups: a lane has several neighbours at once, whose elements are all on their way before any result is made.

#ifndef GROUP_SPANS_CUH
#define GROUP_SPANS_CUH

#include "kernels/group_short.cuh"
#include "kernels/group_walk.cuh"

#if IS_SHORT

#define ARE_SHORT_SEGMENTS (IS_SHORT == 2)
#define ARE_SHORT_ROWS (IS_SHORT == 3) // of neighbours, of segments or sorted keys
#define ARE_LABELLED (ARE_SHORT_SEGMENTS || ARE_SHORT_ROWS)

// `count` elements of a group, which begins with the axis's `begin`th, or position: `rows` with what pads them; of pairs the second
// ones are `factors`.
static __device__ __forceinline__ void load_short(const struct wf_group_arguments *r, const group_place *place, i64 begin,
                                                  const int rows, int count, unit *elements, unit *factors)
{
    const struct wf_group_dimension *dimension = &r->dimension[r->ndim];
    i64 skipped = WALK == WALK_INDEXED ? 0 : begin, at = begin - skipped;
    u64 x_begin = place->x + (u64)(skipped * dimension->stride[0]), y_begin = place->y + (u64)(skipped * dimension->stride[1]);
#pragma unroll
    for (int k = 0; k < rows; k++) {
        i64 x = 0, y = 0;
        if (k < count) find_element(r, at + k, &x, &y);
        elements[k] = k < count ? load_unit(x_begin + (u64)x) : SHORT_PADDING;
        if (OPERANDS == 2) factors[k] = k < count ? load_unit(y_begin + (u64)y) : (unit)0;
    }
}

// `rows` elements that are whole vectors, from this address on.
static __device__ __forceinline__ void load_whole(u64 address, const int rows, unit *elements)
{
#pragma unroll
    for (int i = 0; i < rows / PER_VECTOR; i++) {
        const vector v = load_vector(address, (u64)i);
#pragma unroll
        for (int e = 0; e < PER_VECTOR; e++) elements[i * PER_VECTOR + e] = element_at(&v, e);
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
#define LOADS_WHOLE_SEGMENTS (OPERANDS == 1 && WALK != WALK_INDEXED && !IS_BOOL) // of bools bytes may be any

// A lane's share of some neighbours: every 32nd, as many as have SHORT_LOADS elements by `rows` each.
typedef struct {
    i64 first;
    i64 begin[SEGMENT_TILES], end[SEGMENT_TILES]; // a segment of -1 elements does not exist
} segment_span;

static __device__ __forceinline__ segment_span load_offsets(const struct wf_group_arguments *r, i64 first, const int rows)
{
    segment_span span;
    span.first = first;
#pragma unroll
    for (int t = 0; t < SHORT_LOADS / rows; t++) {
        i64 number = min(first + 32 * t, (i64)r->count - 1);
        span.begin[t] = offset_at(r, number);
        span.end[t] = offset_at(r, number + 1);
    }
#pragma unroll
    for (int t = 0; t < SHORT_LOADS / rows; t++) {
        if (first + 32 * t >= r->count)
            span.end[t] = span.begin[t] - 1;
        else if (!is_offset(r, span.begin[t]) || !is_offset(r, span.end[t]) || span.begin[t] > span.end[t])
            find_segment(r, first + 32 * t, &span.begin[t], &span.end[t]);
    }
    return span;
}

// Of those of the warp.
static __device__ __forceinline__ u32 longest_of_warp(const segment_span *span)
{
    i64 longest = 0;
#pragma unroll
    for (int t = 0; t < SEGMENT_TILES; t++) longest = max(longest, span->end[t] - span->begin[t]);
    return warp_max((u32)min(longest, (i64)LABELLED_ROWS + 1));
}

// Whether all of the warp's segments are `rows` elements in whole vectors, as those of one length mostly are.  By all lanes.
static __device__ __forceinline__ bool are_tiles_whole(const struct wf_group_arguments *r, const segment_span *span, const int rows)
{
    if (!LOADS_WHOLE_SEGMENTS || rows % PER_VECTOR) return false;
    bool are_whole = r->dimension[r->ndim].stride[0] == (i64)sizeof(unit);
#pragma unroll
    for (int t = 0; t < SHORT_LOADS / rows; t++) {
        const u32 address = (u32)r->x + (u32)span->begin[t] * (u32)sizeof(unit);
        are_whole = are_whole & (span->end[t] - span->begin[t] == rows) & (address % 16 == 0);
    }
    return __all_sync(ALL_LANES, are_whole);
}

// Gives which results have to be found otherwise: bit t, of tile t.
static __device__ __forceinline__ u32 reduce_tiles_of(const struct wf_group_arguments *r, const segment_span *span, const int rows,
                                                      const bool are_whole)
{
    const int tiles = SHORT_LOADS / rows;
    const group_place vector = {r->x, r->y, r->results, 0, 0};
    unit elements[SHORT_LOADS], factors[OPERANDS == 2 ? SHORT_LOADS : 1];
    u32 others = 0;
#pragma unroll
    for (int t = 0; t < tiles; t++) {
        i64 count = span->end[t] - span->begin[t];
        if (are_whole)
            load_whole(r->x + (u64)span->begin[t] * sizeof(unit), rows, elements + t * rows);
        else
            load_short(r, &vector, span->begin[t], rows, count <= rows ? (int)count : 0, elements + t * rows,
                       factors + (OPERANDS == 2 ? t * rows : 0));
    }
#pragma unroll
    for (int t = 0; t < tiles; t++) {
        i64 count = are_whole ? rows : span->end[t] - span->begin[t];
        u64 bits = 0;
        const spread_divisor by = divisor_of((int)count, r->ddof);
        if (count < 0) continue;
        bool is_found = (IS_ZERO_OF_NOTHING && count == 0) ||
                        (count > 0 && count <= rows && short_result(r, rows, elements + t * rows, factors + (OPERANDS == 2 ? t * rows : 0),
                                                       (int)count, &by, r->first_index + span->begin[t], &bits));
        if (is_found)
            store_unit(r->results + (u64)((span->first + 32 * t) * r->dimension[0].result_stride), bits);
        else
            others |= 1u << t;
    }
    return others;
}

static __device__ __forceinline__ u32 reduce_tiles(const struct wf_group_arguments *r, const segment_span *span, const int rows)
{
    return are_tiles_whole(r, span, rows) ? reduce_tiles_of(r, span, rows, true) : reduce_tiles_of(r, span, rows, false);
}

// Longer ones, fewer at a time, whose offsets the cache still has.
static __device__ __forceinline__ u32 reduce_longer(const struct wf_group_arguments *r, i64 first, const int rows)
{
    u32 others = 0;
#pragma unroll 1
    for (int t = 0; t < SEGMENT_TILES; t += SHORT_LOADS / rows) {
        segment_span span = load_offsets(r, first + 32 * t, rows);
        others |= reduce_tiles(r, &span, rows) << t;
    }
    return others;
}

// Those of the warp from this one on, 32 * SEGMENT_TILES.
static __device__ __forceinline__ u32 reduce_segments(const struct wf_group_arguments *r, i64 first)
{
    segment_span span = load_offsets(r, first + lane_number(), 4);
    u32 longest = longest_of_warp(&span);
    if (longest <= 4) return reduce_tiles(r, &span, 4);
    if (longest <= 8 || LABELLED_ROWS == 8) return reduce_longer(r, first + lane_number(), 8);
    return reduce_longer(r, first + lane_number(), LABELLED_ROWS);
}

#else

// ---- neighbours along axes, or of one label

// A lane's share of neighbouring results of a row of the last dimension: every 32nd, a tile being 32.
typedef struct {
    u64 x, y, result; // of the first
    i64 x_step, y_step, result_step;
    int left; // neighbours from the first on, itself included
    i64 begin; // of each result's elements
    int count;
} short_span;

// The elements of the lane's results, `rows` of each with what pads them; of pairs the second ones are `factors`.
static __device__ __forceinline__ void load_span(const struct wf_group_arguments *r, const short_span *span, const int rows,
                                                 const int tiles, unit *elements, unit *factors)
{
    int count = span->count;
#pragma unroll
    for (int k = 0; k < rows; k++) {
        i64 x = 0, y = 0;
        if (k < count) find_element(r, span->begin + k, &x, &y);
#pragma unroll
        for (int t = 0; t < tiles; t++) {
            bool exists = k < count && 32 * t < span->left;
            elements[t * rows + k] = exists ? load_unit(span->x + (u64)(x + t * span->x_step)) : SHORT_PADDING;
            if (OPERANDS == 2) factors[t * rows + k] = exists ? load_unit(span->y + (u64)(y + t * span->y_step)) : (unit)0;
        }
    }
}

// Whether vectors are faster to load than elements, by measuring: of extremes of f32, narrower types and integers they are not.
static __device__ __forceinline__ bool are_vectors_faster(const int rows)
{
    if (!IS_FLOAT || WIDTH < 32) return false;
    return WIDTH == 64 ? HAS_EXTREMES : !HAS_EXTREMES && (IS_SHORT_OF_SQUARES || rows == 8);
}

// Whether the lane's results are of `rows` elements in whole vectors, to be loaded as such.
static __device__ __forceinline__ bool is_span_whole(const struct wf_group_arguments *r, const short_span *span, const int rows)
{
    if (OPERANDS == 2 || WALK != WALK_STRAIGHT || ARE_LABELLED || rows % PER_VECTOR || !are_vectors_faster(rows)) return false;
    return r->starts_at_vectors && span->count == rows;
}

// The same elements: loads of one element each of rows that lie side by side would be as many times those of vectors.
static __device__ __forceinline__ void load_span_whole(const short_span *span, const int rows, const int tiles, unit *elements)
{
#pragma unroll
    for (int t = 0; t < tiles; t++) {
#pragma unroll
        for (int k = 0; k < rows; k++) elements[t * rows + k] = SHORT_PADDING;
        if (32 * t < span->left) load_whole(span->x + (u64)(t * span->x_step), rows, elements + t * rows);
    }
}

// Gives which results have to be found otherwise: bit t, of tile t.
static __device__ __forceinline__ u32 reduce_span(const struct wf_group_arguments *r, const short_span *span, const int rows,
                                                  const int tiles)
{
    unit elements[SHORT_LOADS], factors[OPERANDS == 2 ? SHORT_LOADS : 1];
    const spread_divisor by = divisor_of(span->count, r->ddof);
    const u32 existing = (u32)((1ull << min((max(span->left, 0) + 31) / 32, tiles)) - 1);
    u64 bits[SHORT_LOADS / 2];
    u32 found = 0;
    if (is_span_whole(r, span, rows))
        load_span_whole(span, rows, tiles, elements);
    else
        load_span(r, span, rows, tiles, elements, factors);
#pragma unroll
    for (int t = 0; t < tiles; t++) // whether they exist or not: without a branch no result waits for the one before
        found |= (u32)short_result(r, rows, elements + t * rows, factors + (OPERANDS == 2 ? t * rows : 0), span->count, &by,
                                   r->first_index + span->begin, &bits[t]) << t;
    if (span->count == 0) found = ARE_LABELLED && IS_ZERO_OF_NOTHING ? existing : 0;
#pragma unroll
    for (int t = 0; t < tiles; t++)
        if (found & existing & 1u << t) store_unit(span->result + (u64)(t * span->result_step), span->count ? bits[t] : 0);
    return existing & ~found;
}

// left: results from this one on that lanes' steps lead to; at most 0: not even this one.
static __device__ __forceinline__ short_span find_span(const struct wf_group_arguments *r, i64 result, i64 left)
{
    const struct wf_group_dimension *last = &r->dimension[max(r->ndim - 1, 0)];
    group_place place = find_place(r, left > 0 ? result : 0);
    short_span span = {place.x, place.y, place.result, 32 * last->stride[0], 32 * last->stride[1], 32 * last->result_stride,
                       0, 0, (int)r->reduced_count};
    span.left = (int)max(min(left, (i64)32 * SHORT_LOADS), (i64)0);
    return span;
}

#if ARE_SHORT_ROWS

#define ROW_TILES (SHORT_LOADS / 4)

// The span's tiles, all of one label, as many at a time as have SHORT_LOADS elements by `rows` each.
static __device__ __forceinline__ u32 reduce_parts(const struct wf_group_arguments *r, short_span span, i64 left, const int rows)
{
    const int tiles = SHORT_LOADS / rows;
    u32 others = 0;
#pragma unroll 1
    for (int t = 0; t < ROW_TILES && 32 * t < left; t += tiles) {
        others |= reduce_span(r, &span, rows, tiles) << t;
        span.x += (u64)(tiles * span.x_step);
        span.y += (u64)(tiles * span.y_step);
        span.result += (u64)(tiles * span.result_step);
        span.left -= 32 * tiles;
    }
    return others;
}

// Results from `first` on, of which there are `left` in the row: at most 32 * ROW_TILES.
static __device__ __forceinline__ u32 reduce_row(const struct wf_group_arguments *r, i64 first, i64 left)
{
    short_span span = find_span(r, first + lane_number(), left - lane_number());
    i64 end;
    find_segment(r, find_place(r, first).group, &span.begin, &end);
    i64 count = end - span.begin;
    span.count = (int)min(count, (i64)LABELLED_ROWS);
    if (count > LABELLED_ROWS) return (u32)((1ull << (max(span.left, 0) + 31) / 32) - 1) & ((1u << ROW_TILES) - 1);
    if (count <= 4) return reduce_parts(r, span, left, 4);
    if (count <= 8 || LABELLED_ROWS == 8) return reduce_parts(r, span, left, 8);
    return reduce_parts(r, span, left, LABELLED_ROWS);
}

#endif

#endif

#endif

#endif
