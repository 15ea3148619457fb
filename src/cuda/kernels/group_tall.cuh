// Tall columns: the groups along the first axis of a matrix of few columns and so many rows that all warps share each column.  Rows
// lie one behind the other, so that as many as fill whole warps, rows_joined, are taken for one row of that many more columns: these
// are virtual columns, of which a lane has as many as 8 bytes hold.  What it finds of them goes to memory, where what is of the same
// column is rows_joined times the shares elements of a column again; it is joined by several warps, and then by one.
//
// Few long rows are shared and joined likewise, one element of a row being one of a column (ARE_LONG_ROWS): rows_joined is 1, and a share
// is some elements of a row.
//
// f64 whose sums leave the range in which their error has a bound are added up once more, scaled; what is open then is a longer group.

#ifndef GROUP_TALL_CUH
#define GROUP_TALL_CUH

#include "kernels/group_columns.cuh"
#include "kernels/group_rows.cuh"

#if ARE_TALL_COLUMNS

static_assert(sizeof(row_sums) <= WF_GROUP_COLUMN_NBYTES, "there is memory for it");

#define COLUMN_KNOWN 0 // the column's result
#define COLUMN_OPEN 1  // it is a longer group's; other states: the power of two times which it is added up again
#define WARP_COLUMNS (32 * COLUMNS)
#define ARE_ADDED_AGAIN (ARE_SUMS_OF_TEAMS && WIDTH == 64)

static __device__ __forceinline__ int *column_state(const struct wf_group_arguments *r, i64 column)
{
    return (int *)r->open + 1 + column;
}

static __device__ __forceinline__ u64 address_of_column(const struct wf_group_arguments *r, i64 column)
{
    return ARE_LONG_ROWS ? find_place(r, column).x : r->x + (u64)column * sizeof(unit);
}

// What is known of each virtual column of each share; by rows of the real ones, too.
static __device__ __forceinline__ row_sums *sums_of_shares(const struct wf_group_arguments *r)
{
    return (row_sums *)r->sums;
}

static __device__ __forceinline__ i64 virtual_rows(const struct wf_group_arguments *r)
{
    return r->shares * r->rows_joined;
}

static __device__ __forceinline__ row_sums *joined_sums(const struct wf_group_arguments *r)
{
    return sums_of_shares(r) + virtual_rows(r) * r->count;
}

static __device__ __forceinline__ i64 joined_rows(const struct wf_group_arguments *r)
{
    return (virtual_rows(r) + WF_GROUP_COLUMNS_JOINED - 1) / WF_GROUP_COLUMNS_JOINED;
}

#if !ARE_LONG_ROWS

// ---- a lane's elements

// The first elements of the columns that virtual ones are of.
static __device__ __forceinline__ vector first_elements(const struct wf_group_arguments *r, i64 virtual_column)
{
    vector first = {{0, 0, 0, 0}};
    i64 column = virtual_column;
    column = split_off(&column, r->count);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        put_element(&first, c, load_unit(r->x + (u64)column * sizeof(unit)));
        column = column + 1 < r->count ? column + 1 : 0;
    }
    return first;
}

static __device__ __forceinline__ void leave_columns(row_sums *sums, const row_sums *found)
{
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) sums[c] = sums_of_column(found, c);
}

// Elements of a column that a share's warps have at a time.
static __device__ __forceinline__ int tall_step(const struct wf_group_arguments *r)
{
    return COLUMN_ROWS * (int)r->rows_joined;
}

// first: the number of the share's first element in each column.
static __device__ __forceinline__ void add_share(const struct wf_group_arguments *r, i64 virtual_column, u64 address, i64 apart, int rows,
                                                 int first, row_sums *into)
{
    const vector elements = first_elements(r, virtual_column);
    vector padding = {{0, 0, 0, 0}};
    row_sums sums[COLUMN_STATES];
    open_columns(r, sums, &elements, &padding);
    add_rows_of_columns(address, apart, rows, first, tall_step(r), &padding, sums);
    leave_columns(into, sums);
}

#if ARE_ADDED_AGAIN

static __device__ __forceinline__ void add_share_again(const struct wf_group_arguments *r, i64 virtual_column, u64 address, i64 apart,
                                                       int rows, row_sums *into)
{
    i64 column = virtual_column;
    column = split_off(&column, r->count);
    const int state = *column_state(r, column);
    const lane_share share = {address, apart, rows};
    if (state != COLUMN_KNOWN && state != COLUMN_OPEN) *into = add_scaled(r, share, state);
}

#endif

static __device__ __forceinline__ void add_tall_columns(const struct wf_group_arguments *r)
{
    const i64 columns = r->rows_joined * r->count, rows = r->reduced_count / r->rows_joined, apart = columns * (i64)sizeof(unit);
    const i64 tiles = columns / WARP_COLUMNS;
    if (blockIdx.x == 0 && lane_number() == 0 && !r->is_second) *(u32 *)r->open = 0;
    for (i64 i = blockIdx.x; i < tiles * r->shares; i += gridDim.x) {
        i64 share = i, column = split_off(&share, tiles) * WARP_COLUMNS + COLUMNS * (i64)lane_number();
        u64 address = r->x + (u64)(share * r->share * apart) + (u64)column * sizeof(unit);
        row_sums *into = sums_of_shares(r) + share * columns + column;
        int count = (int)min(r->share, rows - share * r->share);
#if ARE_ADDED_AGAIN
        if (r->is_second) {
            add_share_again(r, column, address, apart, count, into);
            continue;
        }
#endif
        add_share(r, column, address, apart, count, (int)(share * r->share * r->rows_joined), into);
    }
}

#else

// ---- a warp's elements

static __device__ __forceinline__ row_sums sums_of_piece(const struct wf_group_arguments *r, i64 row, u64 address, int count)
{
    const team warp = team_of(5, 0);
    row_sums sums;
#if ARE_ADDED_AGAIN
    if (r->is_second)
        sums = add_scaled(r, share_of_lane(address, sizeof(unit), count, &warp), *column_state(r, row));
    else
#endif
        sums = add_row(r, address, count, load_unit(address_of_column(r, row)), &warp);
    merge_row_sums(&sums, &warp);
    return sums;
}

static __device__ __forceinline__ void add_tall_columns(const struct wf_group_arguments *r)
{
    if (blockIdx.x == 0 && lane_number() == 0 && !r->is_second) *(u32 *)r->open = 0;
    for (i64 i = blockIdx.x; i < r->count * r->shares; i += gridDim.x) {
        i64 share = i, row = split_off(&share, r->count), begin = share * r->share;
        const int state = r->is_second ? *column_state(r, row) : COLUMN_OPEN;
        if (r->is_second && (state == COLUMN_KNOWN || state == COLUMN_OPEN)) continue;
        const u64 address = address_of_column(r, row) + (u64)begin * sizeof(unit);
        const row_sums sums = sums_of_piece(r, row, address, (int)min(r->share, r->reduced_count - begin));
        if (lane_number() == 0) sums_of_shares(r)[i] = sums;
    }
}

#endif

// ---- joining

static __device__ __forceinline__ row_sums no_sums_of_column(const struct wf_group_arguments *r, i64 column)
{
    return no_row_sums(r, load_unit(address_of_column(r, column)));
}

// What is in rows from begin to before end, of which each lane has some.
static __device__ __forceinline__ void join_rows(const struct wf_group_arguments *r, const row_sums *from, i64 column, i64 begin, i64 end,
                                                 row_sums *sums)
{
#pragma unroll 4
    for (i64 row = begin + lane_number(); row < end; row += 32) join_row_sums(sums, &from[row * r->count + column]);
}

static __device__ __forceinline__ void join_tall_columns(const struct wf_group_arguments *r)
{
    const team warp = team_of(5, 0);
    for (i64 i = blockIdx.x; i < joined_rows(r) * r->count; i += gridDim.x) {
        i64 row = i, column = split_off(&row, r->count), begin = row * WF_GROUP_COLUMNS_JOINED;
        if (r->is_second && *column_state(r, column) == COLUMN_KNOWN) continue;
        row_sums sums = no_sums_of_column(r, column);
        join_rows(r, sums_of_shares(r), column, begin, min(begin + WF_GROUP_COLUMNS_JOINED, virtual_rows(r)), &sums);
        merge_row_sums(&sums, &warp);
        if (lane_number() == 0) joined_sums(r)[i] = sums;
    }
}

// ---- results

// Rows that are too few to be one.
static __device__ __forceinline__ void add_last_rows(const struct wf_group_arguments *r, i64 column, row_sums *sums)
{
    const i64 step = r->count * (i64)sizeof(unit), begin = r->reduced_count / r->rows_joined * r->rows_joined;
    const u64 address = address_of_column(r, column) + (u64)(begin * step);
    const row_sums before = *sums;
#if HAS_RESTS
    row_sums plain = none_of_row(sums), *into = &plain;
#else
    row_sums *into = sums;
#endif
    for (i64 row = lane_number(); row < r->reduced_count - begin; row += 32) {
        unit element = load_unit(address + (u64)(row * step));
#if ARE_EXTREMES_BY_PAIRS
        add_row_pair(into, (u32)element * 0x10001u);
#else
        add_row_element(into, element);
        note_least_element(into, element);
#endif
    }
#if HAS_RESTS
    join_plain_sums(sums, &plain);
#endif
    note_first(sums, &before, (int)begin);
}

// How often, at most, a number has been rounded: in its lane, two times for each time that it has been joined, among the last rows,
// of which each lane has up to four, and a few times more.
static __device__ __forceinline__ double roundings_of_tall(const struct wf_group_arguments *r)
{
#if HAS_RESTS
    (void)r;
    return ROUNDINGS_WITH_RESTS;
#else
    const i64 joined = WF_GROUP_COLUMNS_JOINED / 32 + 5 + (joined_rows(r) + 31) / 32 + 5;
    return (double)(r->share / (ARE_LONG_ROWS ? 32 : 1) + 2 * joined + 64);
#endif
}

static __device__ __forceinline__ row_sums sums_of_tall(const struct wf_group_arguments *r, i64 column)
{
    const team warp = team_of(5, 0);
    row_sums sums = no_sums_of_column(r, column);
    join_rows(r, joined_sums(r), column, 0, joined_rows(r), &sums);
    if (!r->is_second) add_last_rows(r, column, &sums);
    merge_row_sums(&sums, &warp);
    return sums;
}

#if ARE_ADDED_AGAIN

// What becomes of a column that its sums do not decide.
static __device__ __forceinline__ int state_of_open(const struct wf_group_arguments *r, const row_sums *sums, u64 *bits)
{
    if (settle_nan(r, sums, bits)) return COLUMN_KNOWN;
    const int scale = scale_of_sums(sums);
    return scale ? scale : COLUMN_OPEN;
}

static __device__ __forceinline__ int settle_again(const struct wf_group_arguments *r, i64 column, int scale, u64 *bits)
{
    const team warp = team_of(5, 0);
    const i64 step = r->count * (i64)sizeof(unit), begin = r->reduced_count / r->rows_joined * r->rows_joined;
    const u64 address = address_of_column(r, column) + (u64)(begin * step);
    row_sums sums = add_scaled(r, share_of_lane(address, step, (int)(r->reduced_count - begin), &warp), scale);
    join_rows(r, joined_sums(r), column, 0, joined_rows(r), &sums);
    merge_row_sums(&sums, &warp);
    return settle_scaled(r, &sums, scale, roundings_of_tall(r), bits) ? COLUMN_KNOWN : COLUMN_OPEN;
}

#else

static __device__ __forceinline__ int state_of_open(const struct wf_group_arguments *r, const row_sums *sums, u64 *bits)
{
    (void)r, (void)sums, (void)bits;
    return COLUMN_OPEN;
}

#endif

static __device__ __forceinline__ int settle_first(const struct wf_group_arguments *r, i64 column, u64 *bits)
{
    const row_sums sums = sums_of_tall(r, column);
    bool is_found = finish_row(r, &sums, (int)r->reduced_count, roundings_of_tall(r), bits);
#if IS_INDEXED
    const team warp = team_of(5, 0);
    if (IS_PLAIN_INDEX)
        *bits = (u64)index_in_column(r, r->x + (u64)column * sizeof(unit), r->count * (i64)sizeof(unit), tall_step(r), &sums, true, &warp);
#endif
    return is_found ? COLUMN_KNOWN : state_of_open(r, &sums, bits);
}

// Whether the column is known now, or was; by all lanes.
static __device__ __forceinline__ bool settle_column(const struct wf_group_arguments *r, i64 column)
{
    u64 bits = 0;
    int before = r->is_second ? *column_state(r, column) : COLUMN_OPEN, state = before;
    if (!r->is_second) state = settle_first(r, column, &bits);
#if ARE_ADDED_AGAIN
    else if (before != COLUMN_KNOWN && before != COLUMN_OPEN) state = settle_again(r, column, before, &bits);
#endif
    if (before == COLUMN_KNOWN) return true;
    __syncwarp(); // all have read the state
    if (lane_number() == 0) {
        *column_state(r, column) = state;
        if (state == COLUMN_KNOWN) store_unit(find_place(r, column).result, bits);
        if (!r->is_second && state != COLUMN_KNOWN) atomicAdd((u32 *)r->open, 1u);
        if (r->is_second && state == COLUMN_KNOWN) atomicAdd((u32 *)r->open, ~0u);
    }
    return state == COLUMN_KNOWN;
}

#endif

#endif
