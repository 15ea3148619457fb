// Columns of floats: groups along an axis whose neighbours lie side by side.  A team has as many columns as 8 bytes hold, of which
// each lane loads several rows at a time to registers; what it knows of each column is as of rows (group_rows.cuh).

#ifndef GROUP_COLUMNS_CUH
#define GROUP_COLUMNS_CUH

#include "kernels/group_row_pairs.cuh"
#include "kernels/group_row_sums.cuh"
#include "kernels/group_walk.cuh"

#if ARE_COLUMNS_OF_LANES

#define COLUMN_NBYTES 8
#define COLUMNS (COLUMN_NBYTES / (int)sizeof(unit))
#define COLUMN_ROWS 16 // that a lane has on their way
#define COLUMN_STEP 4  // of these are added at a time
#define LONG_COLUMN 256 // elements

// As far as they have been loaded: two words, and of 16-bit elements at odd multiples of 2 the element after these.
typedef struct {
    u32 word[2];
    unit last;
} column_words;

static __device__ __forceinline__ column_words load_whole(u64 address)
{
    uint2 words = __ldg((const uint2 *)address);
    column_words loaded = {{words.x, words.y}, 0};
    return loaded;
}

static __device__ __forceinline__ u32 odd_bytes(u64 address)
{
    return WIDTH == 16 ? (u32)address & 2 : 0;
}

// From addresses that are multiples of 4, or of 2: then the first word begins before it, in memory that no other allocation shares.
// Nothing depends on which, so that all rows' loads are on their way at once.
static __device__ __forceinline__ column_words load_words(u64 address)
{
    const u64 from = address & ~(u64)3;
    column_words loaded = {{__ldg((const u32 *)from), __ldg((const u32 *)(from + 4))}, 0};
    if (WIDTH == 16) loaded.last = load_unit(from + 4 * odd_bytes(address));
    return loaded;
}

// One element of each column, in the first words.
static __device__ __forceinline__ vector columns_of(const column_words *loaded, u64 address)
{
    const u32 odd = 8 * odd_bytes(address);
    vector v = {{(u32)(((u64)loaded->word[1] << 32 | loaded->word[0]) >> odd), (u32)(((u64)loaded->last << 32 | loaded->word[1]) >> odd), 0, 0}};
    return v;
}

// As wide as the addresses allow, which are `apart` from each other; behind the last of `left` rows, that one again.
static __device__ __forceinline__ void load_rows(u64 address, i64 apart, int left, column_words *loaded)
{
    if (((u32)address | (u32)apart) % COLUMN_NBYTES == 0) {
#pragma unroll
        for (int k = 0; k < COLUMN_ROWS; k++) loaded[k] = load_whole(address + (u64)(min(k, left - 1) * apart));
    } else {
#pragma unroll
        for (int k = 0; k < COLUMN_ROWS; k++) loaded[k] = load_words(address + (u64)(min(k, left - 1) * apart));
    }
}

static __device__ __forceinline__ void add_columns(row_sums *sums, u64 address, i64 apart, int left, const vector *padding,
                                                   const column_words *loaded)
{
    const u32 is_split = ((u32)address | (u32)apart) % COLUMN_NBYTES;
#pragma unroll
    for (int k = 0; k < COLUMN_ROWS; k++) {
        if (k % COLUMN_STEP == 0 && k >= left) break;
        vector v = columns_of(&loaded[k], is_split ? address + (u64)(k * apart) : 0);
        if (k >= left) v = *padding;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            add_row_element(&sums[c], element_at(&v, c));
            note_least_element(&sums[c], element_at(&v, c));
        }
    }
}

// address: of the first column's first element.
static __device__ __forceinline__ void sum_up_columns(const struct wf_group_arguments *r, u64 address, bool exist, const team *lanes,
                                                      row_sums *sums)
{
    const i64 step = r->dimension[r->ndim].stride[0], apart = step << lanes->log2;
    const column_words loaded_first = load_words(address);
    const vector first = columns_of(&loaded_first, address);
    vector padding = {{0, 0, 0, 0}};
    int left = exist ? ((int)r->reduced_count - (int)lanes->place + (1 << lanes->log2) - 1) >> lanes->log2 : 0;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        sums[c] = no_row_sums(element_at(&first, c));
        put_element(&padding, c, row_padding(element_at(&first, c)));
    }
    address += (u64)((i64)lanes->place * step);
#pragma unroll 1
    for (; left > 0; left -= COLUMN_ROWS) {
        column_words loaded[COLUMN_ROWS];
        load_rows(address, apart, left, loaded);
        add_columns(sums, address, apart, left, &padding, loaded);
        address += (u64)(COLUMN_ROWS * apart);
    }
}

// The team's columns, from result `first` on, if they exist; those whose results are not found are bits of what is returned.  By all
// lanes of the warp.
static __device__ __forceinline__ u32 reduce_columns(const struct wf_group_arguments *r, i64 first, bool exist, const team *lanes)
{
    const group_place place = find_place(r, exist ? first : 0);
    const i64 step = r->dimension[r->ndim].stride[0], result_step = r->dimension[r->ndim - 1].result_stride;
    row_sums sums[COLUMNS];
    u32 left = 0;
    sum_up_columns(r, place.x, exist, lanes, sums);
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        u64 bits = 0;
        merge_row_sums(&sums[c], lanes);
        bool is_found = decide_row(r, &sums[c], place.x + c * sizeof(unit), step, exist, lanes, &bits);
        if (exist && is_found && lanes->place == 0) store_unit(place.result + (u64)(c * result_step), bits);
        left |= (u32)!is_found << c;
    }
    return left;
}

#endif

#endif
