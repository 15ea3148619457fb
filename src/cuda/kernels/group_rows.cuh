// Rows of many floats that lie side by side, one of each team of lanes: sums, means, variances and deviations by a few f64 a lane,
// whose error has a bound that mostly leaves one result, and extrema of 16 bits.  Elements go from memory to registers, a few vectors
// at a time.

#ifndef GROUP_ROWS_CUH
#define GROUP_ROWS_CUH

#include "kernels/group_decide.cuh"
#include "kernels/group_places.cuh"
#include "kernels/group_walk.cuh"

#if ARE_ROWS_OF_TEAMS || ARE_LONG_ROWS

#define WHOLE_ROW_VECTORS (ARE_SUMS_OF_TEAMS && WIDTH >= 32 ? 8 : 4) // that a lane has on their way ...
#define ROW_VECTORS (ARE_SEGMENTS_OF_TEAMS ? 4 : WHOLE_ROW_VECTORS)                       // ... and where segments begin or end inside of vectors

#if !ARE_EXTREMES_BY_PAIRS && !IS_NARROW_INTEGER

static __device__ __forceinline__ void add_row_vector(row_sums *sums, const vector *v)
{
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) add_row_element(sums, element_at(v, e));
    note_least_of_vector(sums, v);
}

#endif

static __device__ __forceinline__ void add_row_vectors(row_sums *sums, const vector *v, const int vectors)
{
#if HAS_RESTS
    row_sums batch = none_of_row(sums), *into = &batch;
#else
    row_sums *into = sums;
#endif
#pragma unroll
    for (int i = 0; i < vectors; i++) add_row_vector(into, &v[i]);
#if HAS_RESTS
    join_plain_sums(sums, &batch);
#endif
}

// ---- vectors at 16 bytes' multiples, of which the first element is the row's `begin`th: what is outside of the row is padding

#if IS_NARROW_INTEGER

// Of the array's first vector or its last one, the elements that are the array's.
static __device__ __forceinline__ vector load_edge(const struct wf_group_arguments *r, u64 address)
{
    vector v = {{0, 0, 0, 0}};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) {
        const u64 at = address + (u64)e * sizeof(unit);
        if (at >= r->lowest && at < r->highest) put_element(&v, e, load_unit(at));
    }
    return v;
}

// With what is around the row, which is not waited for: so that others can be on their way at the same time.  Of other types that is
// more to do than to load the few elements that are the row's.
static __device__ __forceinline__ vector load_row_vector(const struct wf_group_arguments *r, u64 address, int begin, int count, unit padding)
{
    vector v = {{0, 0, 0, 0}};
    (void)padding;
    if (begin >= count) return v;
    if (address >= r->lowest && address + 16 <= r->highest) return load_vector(address, 0);
    return load_edge(r, address);
}

// The bits of a word's first elements: none if there are less than 0, all if there are more than it has.
static __device__ __forceinline__ u32 bits_of_first(int elements)
{
    return (u32)((1ull << min(max(elements, 0), PER_WORD) * WIDTH) - 1);
}

static __device__ __forceinline__ void pad_row_vector(vector *v, int begin, int count, unit padding)
{
    const u32 paddings = (u32)padding * (WIDTH == 8 ? 0x01010101u : 0x10001u);
    if (begin >= 0 && begin + PER_VECTOR <= count) return;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const u32 row = bits_of_first(count - begin - i * PER_WORD) & ~bits_of_first(-begin - i * PER_WORD);
        v->word[i] = (v->word[i] & row) | (paddings & ~row);
    }
}

#else

static __device__ __forceinline__ vector load_row_vector(const struct wf_group_arguments *r, u64 address, int begin, int count, unit padding)
{
    (void)r;
    if (begin >= 0 && begin + PER_VECTOR <= count) return load_vector(address, 0);
    vector v = {{0, 0, 0, 0}};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) {
        bool is_inside = begin + e >= 0 && begin + e < count;
        put_element(&v, e, is_inside ? load_unit(address + (u64)e * sizeof(unit)) : padding);
    }
    return v;
}

static __device__ __forceinline__ void pad_row_vector(vector *v, int begin, int count, unit padding)
{
    (void)v, (void)begin, (void)count, (void)padding;
}

#endif

#if HAS_PLACES

static_assert(WHOLE_ROW_VECTORS * PER_VECTOR <= PLACE_MAX, "an element and its place are a half of a word, or of 16 bits a word");

// begin: the number of the first vector's first element.  Padding is not better than what is known at first.
static __device__ __forceinline__ void add_row_vectors_at(row_sums *sums, const vector *v, const int vectors, int begin,
                                                           const team *lanes)
{
    const u32 best = best_with_place(v, vectors);
    const int place = (int)((HAS_MIN ? best : ~best) & PLACE_MAX);
    const narrow_key key = narrow_key_of((unit)(best >> WIDTH));
    if (!is_better_key(key, sums->key)) return;
    sums->key = key;
    sums->first = begin + (place / PER_VECTOR << lanes->log2) * PER_VECTOR + place % PER_VECTOR;
}

#else

static __device__ __forceinline__ void add_row_vectors_at(row_sums *sums, const vector *v, const int vectors, int begin,
                                                           const team *lanes)
{
    const row_sums before = *sums;
    add_row_vectors(sums, v, vectors);
    note_first(sums, &before, begin - (int)lanes->place * PER_VECTOR);
}

#endif

static __device__ __forceinline__ row_sums add_row(const struct wf_group_arguments *r, u64 address, int count, unit first,
                                                   const team *lanes)
{
    const int head = (int)((u32)address & 15) / (int)sizeof(unit), vectors = (head + count + PER_VECTOR - 1) / PER_VECTOR;
    const u64 base = address - (u64)head * sizeof(unit);
    const unit padding = row_padding(first);
    row_sums sums = no_row_sums(r, first);
#pragma unroll 1
    for (int j = (int)lanes->place; j < vectors; j += ROW_VECTORS << lanes->log2) {
        vector v[ROW_VECTORS];
#pragma unroll
        for (int i = 0; i < ROW_VECTORS; i++) {
            int number = j + (i << lanes->log2);
            v[i] = load_row_vector(r, base + (u64)(u32)number * 16, number * PER_VECTOR - head, count, padding);
        }
#pragma unroll
        for (int i = 0; i < ROW_VECTORS; i++) pad_row_vector(&v[i], (j + (i << lanes->log2)) * PER_VECTOR - head, count, padding);
        add_row_vectors_at(&sums, v, ROW_VECTORS, j * PER_VECTOR - head, lanes);
    }
    return sums;
}

#if ARE_SEGMENTS_OF_TEAMS

#if WIDTH == 32

// Whether each lane has a segment, or none, whose vectors lie in the array's memory as a whole.  By all lanes.
static __device__ __forceinline__ bool are_rows_of_lanes(const struct wf_group_arguments *r, u64 address, int count, const team *lanes)
{
    const u64 base = address & ~(u64)15, end = (address + (u64)(u32)count * sizeof(unit) + 15) & ~(u64)15;
    return lanes->log2 == 0 && __all_sync(ALL_LANES, count == 0 || (base >= r->lowest && end <= r->highest));
}

// By one lane, which loads vectors at its ends whole: one or another lane of the warp is at an end most of the time, and elements one
// by one took as many loads as all else.
static __device__ __forceinline__ row_sums add_row_of_lane(const struct wf_group_arguments *r, u64 address, int count, unit first,
                                                           const team *lanes)
{
    const int head = (int)((u32)address & 15) / (int)sizeof(unit), end = count ? head + count : 0;
    const u64 base = address & ~(u64)15;
    const unit padding = row_padding(first);
    row_sums sums = no_row_sums(r, first);
#pragma unroll 1
    for (int at = 0; at < end; at += ROW_VECTORS * PER_VECTOR) {
        vector v[ROW_VECTORS];
#pragma unroll
        for (int i = 0; i < ROW_VECTORS; i++) {
            v[i].word[0] = v[i].word[1] = v[i].word[2] = v[i].word[3] = 0;
            if (at + i * PER_VECTOR < end) v[i] = load_vector(base, (u64)(u32)(at / PER_VECTOR + i));
        }
#pragma unroll
        for (int e = 0; e < ROW_VECTORS * PER_VECTOR; e++)
            if (at + e >= end || (e < PER_VECTOR && at + e < head)) v[e / PER_VECTOR].word[e % PER_VECTOR] = (u32)padding;
        add_row_vectors_at(&sums, v, ROW_VECTORS, at - head, lanes);
    }
    return sums;
}

#endif

// Whether all segments of the warp's teams are whole vectors, as most of one length are, and enough for more of them to be on their way.
// By all lanes.
static __device__ __forceinline__ bool are_rows_whole(u64 address, int count, const team *lanes)
{
    const bool is_whole = (((u32)address | (u32)count * (u32)sizeof(unit)) & 15) == 0;
    const bool is_enough = WHOLE_ROW_VECTORS == ROW_VECTORS || count > (ROW_VECTORS * PER_VECTOR) << lanes->log2;
    return __all_sync(ALL_LANES, count == 0 || (is_whole && is_enough));
}

static __device__ __forceinline__ vector vector_of(unit element)
{
    vector v = {{0, 0, 0, 0}};
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) put_element(&v, e, element);
    return v;
}

// Of whole vectors, of which nothing is looked at before they are loaded: so more of them are on their way.
static __device__ __forceinline__ row_sums add_whole_row(const struct wf_group_arguments *r, u64 address, int count, unit first,
                                                         const team *lanes)
{
    const int vectors = count / PER_VECTOR;
    const vector padding = vector_of(row_padding(first));
    row_sums sums = no_row_sums(r, first);
#pragma unroll 1
    for (int j = (int)lanes->place; j < vectors; j += WHOLE_ROW_VECTORS << lanes->log2) {
        vector v[WHOLE_ROW_VECTORS];
#pragma unroll
        for (int i = 0; i < WHOLE_ROW_VECTORS; i++) {
            const int number = j + (i << lanes->log2);
            v[i] = padding;
            if (number < vectors) v[i] = load_vector(address, (u64)(u32)number);
        }
        add_row_vectors_at(&sums, v, WHOLE_ROW_VECTORS, j * PER_VECTOR, lanes);
    }
    return sums;
}

// By all lanes.
static __device__ __forceinline__ row_sums add_segment(const struct wf_group_arguments *r, u64 address, int count, unit first,
                                                       const team *lanes)
{
    if (are_rows_whole(address, count, lanes)) return add_whole_row(r, address, count, first, lanes);
#if WIDTH == 32
    if (are_rows_of_lanes(r, address, count, lanes)) return add_row_of_lane(r, address, count, first, lanes);
#endif
    return add_row(r, address, count, first, lanes);
}

#endif

#if ARE_ROWS_OF_TEAMS

#if IS_INDEXED

#if HAS_PLACES

static __device__ __forceinline__ int find_in_row(const struct wf_group_arguments *r, u64 address, int count, const row_sums *sums,
                                                  const row_sums *alone, const team *lanes)
{
    (void)r, (void)address, (void)count, (void)alone, (void)lanes;
    return first_of_best(sums);
}

#else

static __device__ __forceinline__ int first_best(const row_sums *sums, const vector *v, int from)
{
    int first = 1 << 30;
#pragma unroll
    for (int e = PER_VECTOR - 1; e >= 0; e--)
        if (e >= from && is_best(sums, element_at(v, e))) first = e;
    return first;
}

// The number of the row's extreme, among the elements that lanes have loaded at a time.  alone: what the lane knew of these.  By all
// lanes of the warp.
static __device__ __forceinline__ int find_in_row(const struct wf_group_arguments *r, u64 address, int count, const row_sums *sums,
                                                  const row_sums *alone, const team *lanes)
{
    const int head = (int)((u32)address & 15) / (int)sizeof(unit), from = (first_of_best(sums) + head) / PER_VECTOR;
    int found = count;
#pragma unroll
    for (int i = 0; i < ROW_VECTORS; i++) {
        if (!has_best(alone, sums)) break;
        const int number = from + (int)lanes->place + (i << lanes->log2), begin = number * PER_VECTOR - head;
        const vector v = load_row_vector(r, address - (u64)head * sizeof(unit) + (u64)(u32)number * 16, begin, count, 0);
        found = min(found, begin + first_best(sums, &v, -begin));
    }
    return least_of_team(found, lanes);
}

#endif

#endif

// Whether the row's result is found: its bits, or the extreme and its number.  Of extrema it may be a piece of a row.  By all lanes of
// the warp.
static __device__ __forceinline__ bool reduce_row_of_team(const struct wf_group_arguments *r, u64 address, int count, bool exists,
                                                          const team *lanes, u64 *bits, int *number)
{
    const int left = exists ? count : 0;
    const unit first = load_unit(address);
#if ARE_SEGMENTS_OF_TEAMS
    row_sums sums = add_segment(r, address, left, first, lanes);
#else
    row_sums sums = add_row(r, address, left, first, lanes);
#endif
    const row_sums alone = sums;
    merge_row_sums(&sums, lanes);
    *number = 0;
#if IS_INDEXED
    if (IS_PLAIN_INDEX) *number = find_in_row(r, address, left, &sums, &alone, lanes);
#endif
    (void)alone;
    return decide_row(r, &sums, address, sizeof(unit), count, exists, lanes, bits);
}

#endif

#endif

#endif
