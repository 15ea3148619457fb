// Columns of floats: groups along an axis whose neighbours lie side by side.  A team has as many columns as 8 bytes hold, of which
// each lane loads several rows at a time to registers; what it knows of each column is as of rows (group_rows.cuh).
//
// The lanes of a warp load 256 bytes of a row, as less of rows that are far apart keeps memory busy with little.  So that lanes of a
// team share columns, as many warps are a block, each of which loads other rows; then they exchange what they know, through shared
// memory, until each team has what all warps know of its columns.

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

// What a batch's rows add to what is known: one by one, or, where rests are kept, all at once.
static __device__ __forceinline__ void add_batch_to_columns(row_sums *sums, const vector *v, int left)
{
#if HAS_RESTS
    row_sums batch[COLUMN_STATES];
#pragma unroll
    for (int i = 0; i < COLUMN_STATES; i++) batch[i] = none_of_row(&sums[i]);
    add_columns(batch, v, left);
#pragma unroll
    for (int i = 0; i < COLUMN_STATES; i++) join_plain_sums(&sums[i], &batch[i]);
#else
    add_columns(sums, v, left);
#endif
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
        add_batch_to_columns(sums, v, left);
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

// The columns that a lane loads, or that its team has: the first one's result, if they exist.
typedef struct {
    i64 first;
    bool exist;
} column_span;

// The columns of the block's tile that are the number'th of 8 bytes.  Where a row's last columns are fewer, they are some that their
// neighbour has, too.
static __device__ __forceinline__ column_span columns_of_tile(i64 tile, i64 spans, i64 length, int number)
{
    const i64 at = split_off(&tile, spans) * (32 * COLUMNS) + COLUMNS * number;
    const column_span span = {tile * length + min(at, length - COLUMNS), at < length};
    return span;
}

// What the lane's warp adds up: every row, or, of n warps that share the columns, every nth.
static __device__ __forceinline__ void sum_up_columns(const struct wf_group_arguments *r, const column_span *span, const team *lanes,
                                                      row_sums *sums)
{
    const u64 address = find_place(r, span->exist ? span->first : 0).x;
    const i64 step = r->dimension[r->ndim].stride[0];
    const int warp = (int)warp_number(), warps_log2 = lanes->log2;
    const vector first = load_halves(address);
    vector padding = {{0, 0, 0, 0}};
    int left = span->exist ? ((int)r->reduced_count - warp + (1 << warps_log2) - 1) >> warps_log2 : 0;
    open_columns(r, sums, &first, &padding);
    add_rows_of_columns(address + (u64)(warp * step), step << warps_log2, left, 0, COLUMN_ROWS << warps_log2, &padding, sums);
}

static_assert(sizeof(row_sums) % sizeof(u32) == 0, "it is exchanged by words");

// Each lane's sums become those that the warp whose number is the lane's place in its team has of the team's columns.  By all threads
// of the block.
static __device__ __forceinline__ void exchange_sums(u32 *memory, const team *lanes, row_sums *sums)
{
    const u32 given = warp_number() * WF_GROUP_EXCHANGED_WORDS + lane_number();
    const u32 taken = lanes->place * WF_GROUP_EXCHANGED_WORDS + (warp_number() << (5 - lanes->log2)) + lanes->number;
    u32 words[COLUMN_STATES * sizeof(row_sums) / sizeof(u32)];
    memcpy(words, sums, sizeof words);
#pragma unroll
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        __syncthreads();
        memory[given] = words[i];
        __syncthreads();
        words[i] = memory[taken];
    }
    memcpy(sums, words, sizeof words);
}

// The team's columns; those whose results are not found are bits of what is returned.  loaded: the lane's.  By all threads of the block.
static __device__ __forceinline__ u32 reduce_columns(const struct wf_group_arguments *r, const column_span *span, const column_span *loaded,
                                                     u32 *memory, const team *lanes)
{
    const bool exist = span->exist;
    const group_place place = find_place(r, exist ? span->first : 0);
    const i64 step = r->dimension[r->ndim].stride[0], result_step = r->dimension[r->ndim - 1].result_stride;
    row_sums sums[COLUMN_STATES], alone[COLUMN_STATES];
    u32 left = 0;
    sum_up_columns(r, loaded, lanes, sums);
    if (lanes->log2) exchange_sums(memory, lanes, sums);
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
