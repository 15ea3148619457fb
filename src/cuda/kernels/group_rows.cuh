// Rows of many floats that lie side by side, one of each team of lanes: sums, means, variances and deviations by a few f64 a lane,
// whose error has a bound that mostly leaves one result, and extrema of 16 bits.  Elements go from memory to registers, a few vectors
// at a time.

#ifndef GROUP_ROWS_CUH
#define GROUP_ROWS_CUH

#include "kernels/group_decide.cuh"
#include "kernels/group_walk.cuh"

#if ARE_ROWS_OF_TEAMS || ARE_LONG_ROWS

#define ROW_VECTORS (ARE_ROWS_OF_TEAMS && !ARE_SEGMENTS_OF_TEAMS && ARE_SUMS_OF_TEAMS && WIDTH >= 32 ? 8 : 4) // that a lane has on their way

#if !ARE_EXTREMES_BY_PAIRS

static __device__ __forceinline__ void add_row_vector(row_sums *sums, const vector *v)
{
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) add_row_element(sums, element_at(v, e));
    note_least_of_vector(sums, v);
}

#endif

static __device__ __forceinline__ void add_row_vectors(row_sums *sums, const vector *v)
{
#if HAS_RESTS
    row_sums batch = none_of_row(sums), *into = &batch;
#else
    row_sums *into = sums;
#endif
#pragma unroll
    for (int i = 0; i < ROW_VECTORS; i++) add_row_vector(into, &v[i]);
#if HAS_RESTS
    join_plain_sums(sums, &batch);
#endif
}

// A vector at 16 bytes' multiples, of which the first element is the row's `begin`th: what is outside of the row is padding.
static __device__ __forceinline__ vector load_row_vector(u64 address, int begin, int count, unit padding)
{
    vector v = {{0, 0, 0, 0}};
    if (begin >= 0 && begin + PER_VECTOR <= count) return load_vector(address, 0);
#pragma unroll
    for (int e = 0; e < PER_VECTOR; e++) {
        bool is_inside = begin + e >= 0 && begin + e < count;
        put_element(&v, e, is_inside ? load_unit(address + (u64)e * sizeof(unit)) : padding);
    }
    return v;
}

static __device__ __forceinline__ row_sums add_row(const struct wf_group_arguments *r, u64 address, int count, unit first,
                                                   const team *lanes)
{
    const int head = (int)((u32)address & 15) / (int)sizeof(unit), vectors = (head + count + PER_VECTOR - 1) / PER_VECTOR;
    const u64 base = address - (u64)head * sizeof(unit);
    const unit padding = row_padding(first);
    row_sums sums = no_row_sums(r, first);
#pragma unroll 1
    for (int j = (int)lanes->place; j < vectors; j += ROW_VECTORS << lanes->log2) {
        const row_sums before = sums;
        vector v[ROW_VECTORS];
#pragma unroll
        for (int i = 0; i < ROW_VECTORS; i++) {
            int number = j + (i << lanes->log2);
            v[i] = load_row_vector(base + (u64)(u32)number * 16, number * PER_VECTOR - head, count, padding);
        }
        add_row_vectors(&sums, v);
        note_first(&sums, &before, (j - (int)lanes->place) * PER_VECTOR - head);
    }
    return sums;
}

#if ARE_ROWS_OF_TEAMS

#if IS_INDEXED

// The number of the row's extreme, among the elements that lanes have loaded at a time.  alone: what the lane knew of these.  By all
// lanes of the warp.
static __device__ __forceinline__ int find_in_row(u64 address, int count, const row_sums *sums, const row_sums *alone, const team *lanes)
{
    const int head = (int)((u32)address & 15) / (int)sizeof(unit), from = (first_of_best(sums) + head) / PER_VECTOR;
    int found = count;
#pragma unroll
    for (int i = 0; i < ROW_VECTORS; i++) {
        if (!has_best(alone, sums)) break;
        const int number = from + (int)lanes->place + (i << lanes->log2), begin = number * PER_VECTOR - head;
        const vector v = load_row_vector(address - (u64)head * sizeof(unit) + (u64)(u32)number * 16, begin, count, 0);
#pragma unroll
        for (int e = 0; e < PER_VECTOR; e++)
            if (begin + e >= 0 && is_best(sums, element_at(&v, e))) found = min(found, begin + e);
    }
    return least_of_team(found, lanes);
}

#endif

// Whether the row's result is found: its bits, or the extreme and its number.  Of extrema it may be a piece of a row.  By all lanes of
// the warp.
static __device__ __forceinline__ bool reduce_row_of_team(const struct wf_group_arguments *r, u64 address, int count, bool exists,
                                                          const team *lanes, u64 *bits, int *number)
{
    row_sums sums = add_row(r, address, exists ? count : 0, load_unit(address), lanes);
    const row_sums alone = sums;
    merge_row_sums(&sums, lanes);
    *number = 0;
#if IS_INDEXED
    if (IS_PLAIN_INDEX) *number = find_in_row(address, exists ? count : 0, &sums, &alone, lanes);
#endif
    (void)alone;
    return decide_row(r, &sums, address, sizeof(unit), count, exists, lanes, bits);
}

#endif

#endif

#endif
