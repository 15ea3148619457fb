// Columns of floats: groups along an axis whose neighbours lie side by side.  A team has as many columns as 8 bytes hold, of which
// each lane loads several rows at a time to registers; what it knows of each column is as of rows (group_rows.cuh).

#ifndef GROUP_COLUMNS_CUH
#define GROUP_COLUMNS_CUH

#include "kernels/group_decide.cuh"
#include "kernels/group_walk.cuh"

#if ARE_COLUMNS_OF_LANES || ARE_TALL_COLUMNS

#define COLUMN_NBYTES 8
#define COLUMNS (COLUMN_NBYTES / (int)sizeof(unit))
#define COLUMN_ROWS 16 // that a lane has on their way
#define COLUMN_STEP 4  // of these are added at a time
#define LONG_COLUMN 256 // elements

// One element of each column, in the first words.
static __device__ __forceinline__ vector load_whole(u64 address)
{
    uint2 words = __ldg((const uint2 *)address);
    vector v = {{words.x, words.y, 0, 0}};
    return v;
}

static __device__ __forceinline__ vector load_halves(u64 address)
{
    vector v = {{__ldg((const u32 *)address), __ldg((const u32 *)(address + 4)), 0, 0}};
    return v;
}

// As wide as the addresses allow, which are `apart` from each other.
static __device__ __forceinline__ void load_rows(u64 address, i64 apart, int left, const vector *padding, vector *v)
{
    if (((u32)address | (u32)apart) % COLUMN_NBYTES == 0) {
#pragma unroll
        for (int k = 0; k < COLUMN_ROWS; k++) v[k] = k < left ? load_whole(address + (u64)(k * apart)) : *padding;
    } else {
#pragma unroll
        for (int k = 0; k < COLUMN_ROWS; k++) v[k] = k < left ? load_halves(address + (u64)(k * apart)) : *padding;
    }
}

// ---- what a lane knows of its columns: of each, or, of extremes, of two together

#if ARE_EXTREMES_BY_PAIRS

#define COLUMN_STATES (COLUMNS / 2)

static __device__ __forceinline__ void open_columns(const struct wf_group_arguments *r, row_sums *sums, const vector *first,
                                                    vector *padding)
{
    *padding = *first;
#pragma unroll
    for (int i = 0; i < COLUMN_STATES; i++) sums[i] = no_row_extremes(r, first->word[i]);
}

static __device__ __forceinline__ void add_to_columns(row_sums *sums, const vector *v)
{
#pragma unroll
    for (int i = 0; i < COLUMN_STATES; i++) add_row_pair(&sums[i], v->word[i]);
}

static __device__ __forceinline__ row_sums sums_of_column(const row_sums *sums, int c)
{
    row_sums alone = sums[c / 2];
    alone.word = (alone.word >> c % 2 * 16 & 0xffff) * 0x10001u;
#if IS_INDEXED
    alone.first[0] = alone.first[1] = alone.first[c % 2];
#endif
    return alone;
}

#else

#define COLUMN_STATES COLUMNS

static __device__ __forceinline__ void open_columns(const struct wf_group_arguments *r, row_sums *sums, const vector *first,
                                                    vector *padding)
{
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        sums[c] = no_row_sums(r, element_at(first, c));
        put_element(padding, c, row_padding(element_at(first, c)));
    }
}

static __device__ __forceinline__ void add_to_columns(row_sums *sums, const vector *v)
{
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        add_row_element(&sums[c], element_at(v, c));
        note_least_element(&sums[c], element_at(v, c));
    }
}

static __device__ __forceinline__ row_sums sums_of_column(const row_sums *sums, int c)
{
    return sums[c];
}

#endif

static __device__ __forceinline__ void add_columns(row_sums *sums, const vector *v, int left)
{
#pragma unroll
    for (int k = 0; k < COLUMN_ROWS; k++) {
        if (k % COLUMN_STEP == 0 && k >= left) break;
        add_to_columns(sums, &v[k]);
    }
}

// The lane's elements of its columns: `left` rows that are `apart` from each other.  first: what other lanes of the team have beside
// them, too, begins with this element of each column; step: how many there are each time.
static __device__ __forceinline__ void add_rows_of_columns(u64 address, i64 apart, int left, int first, int step, const vector *padding,
                                                           row_sums *sums)
{
#pragma unroll 1
    for (; left > 0; left -= COLUMN_ROWS, first += step) {
        row_sums before[COLUMN_STATES];
        vector v[COLUMN_ROWS];
        load_rows(address, apart, left, padding, v);
#pragma unroll
        for (int i = 0; i < COLUMN_STATES; i++) before[i] = sums[i];
        add_columns(sums, v, left);
#pragma unroll
        for (int i = 0; i < COLUMN_STATES; i++) note_first(&sums[i], &before[i], first);
        address += (u64)(COLUMN_ROWS * apart);
    }
}

#if IS_INDEXED

// The index of a column's extreme, among `step` elements, by the lanes that have it.  By all lanes of the warp.
static __device__ __forceinline__ i64 index_in_column(const struct wf_group_arguments *r, u64 address, i64 apart, int step,
                                                      const row_sums *sums, bool has_it, const team *lanes)
{
    const int first = first_of_best(sums), end = has_it ? min(first + step, (int)r->reduced_count) : first;
    int found = (int)r->reduced_count;
#pragma unroll 4
    for (int k = first + (int)lanes->place; k < end; k += 1 << lanes->log2)
        if (is_best(sums, load_unit(address + (u64)(k * apart)))) found = min(found, k);
    return r->first_index + least_of_team(found, lanes);
}

#endif

#if ARE_COLUMNS_OF_LANES

// address: of the first column's first element.
static __device__ __forceinline__ void sum_up_columns(const struct wf_group_arguments *r, u64 address, bool exist, const team *lanes,
                                                      row_sums *sums)
{
    const i64 step = r->dimension[r->ndim].stride[0];
    const vector first = load_halves(address);
    vector padding = {{0, 0, 0, 0}};
    int left = exist ? ((int)r->reduced_count - (int)lanes->place + (1 << lanes->log2) - 1) >> lanes->log2 : 0;
    open_columns(r, sums, &first, &padding);
    add_rows_of_columns(address + (u64)((i64)lanes->place * step), step << lanes->log2, left, 0, COLUMN_ROWS << lanes->log2, &padding, sums);
}

// The team's columns, from result `first` on, if they exist; those whose results are not found are bits of what is returned.  By all
// lanes of the warp.
static __device__ __forceinline__ u32 reduce_columns(const struct wf_group_arguments *r, i64 first, bool exist, const team *lanes)
{
    const group_place place = find_place(r, exist ? first : 0);
    const i64 step = r->dimension[r->ndim].stride[0], result_step = r->dimension[r->ndim - 1].result_stride;
    row_sums sums[COLUMN_STATES], alone[COLUMN_STATES];
    u32 left = 0;
    sum_up_columns(r, place.x, exist, lanes, sums);
#pragma unroll
    for (int i = 0; i < COLUMN_STATES; i++) {
        alone[i] = sums[i];
        merge_row_sums(&sums[i], lanes);
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        u64 bits = 0;
        const row_sums column = sums_of_column(sums, c);
        bool is_found = decide_row(r, &column, place.x + c * sizeof(unit), step, (int)r->reduced_count, exist, lanes, &bits);
#if IS_INDEXED
        const row_sums mine = sums_of_column(alone, c);
        if (IS_PLAIN_INDEX)
            bits = (u64)index_in_column(r, place.x + c * sizeof(unit), step, COLUMN_ROWS << lanes->log2, &column, has_best(&mine, &column),
                                        lanes);
#endif
        if (exist && is_found && lanes->place == 0) store_unit(place.result + (u64)(c * result_step), bits);
        left |= (u32)!is_found << c;
    }
    return left;
}

#endif

#endif

#endif
