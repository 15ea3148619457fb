/* Columns of a tile, whatever the type: extremes and counts, of all columns at once.  Included after any_type.h. */
#ifndef WF_CPU_LOOPS_COLUMNS_H
#define WF_CPU_LOOPS_COLUMNS_H

#include "cpu/loops/any_type.h"

INLINE uword tile_bits(const struct wf_tile *tile, size_t row, size_t column) {
    return bits_at(tile->x, row * tile->pitch + column);
}

/* ---- extremes ---- */

/* The least key of each column, and the first row that has it.  flip: 0, or all ones, which reverses the order. */
struct column_extremes {
    key least[WF_COLUMNS_MAX];
    uword row[WF_COLUMNS_MAX];
};

INLINE void find_column_extremes(struct column_extremes *found, const struct wf_tile *tile, key flip) {
    for (size_t c = 0; c < tile->pitch; c++) {
        found->least[c] = (key)(key_of(tile_bits(tile, 0, c)) ^ flip);
        found->row[c] = 0;
    }
    for (size_t r = 1; r < tile->rows; r++) {
        for (size_t c = 0; c < tile->pitch; c++) {
            key other = (key)(key_of(tile_bits(tile, r, c)) ^ flip);
            bool less = other < found->least[c];
            found->least[c] = less ? other : found->least[c];
            found->row[c] = less ? (uword)r : found->row[c];
        }
    }
}

INLINE uint64_t order_of(key found) {
    bool is_u64 = KEY_IS_UNSIGNED && sizeof(key) == 8;
    return is_u64 ? (uint64_t)found : wf_key_to_order((int64_t)found);
}

/* Whichever comes first in order, or in memory; keys are reversed for the largest. */
INLINE void merge_column_extreme(uint64_t *best, uint64_t *best_index, uint64_t found, uint64_t index, bool largest) {
    bool better = largest ? found > *best : found < *best;
    if (!better && !(found == *best && index < *best_index)) return;
    *best = found;
    *best_index = index;
}

static void add_column_extremes(struct wf_open_partial *into, const struct wf_tile *tile, bool largest) {
    struct column_extremes found;
    key flip = largest ? (key)~(key)0 : 0;
    find_column_extremes(&found, tile, flip);
    for (size_t c = 0; c < tile->columns; c++) {
        struct wf_partial *partial = into[c].partial;
        merge_column_extreme(largest ? &partial->max_key : &partial->min_key,
                             largest ? &partial->max_index : &partial->min_index,
                             order_of((key)(found.least[c] ^ flip)), (uint64_t)tile->index + found.row[c], largest);
    }
}

/* ---- counts ---- */

INLINE void count_columns(uword nonzero[WF_COLUMNS_MAX], const struct wf_tile *tile) {
    for (size_t c = 0; c < tile->pitch; c++) nonzero[c] = 0;
    for (size_t r = 0; r < tile->rows; r++)
        for (size_t c = 0; c < tile->pitch; c++) nonzero[c] += (tile_bits(tile, r, c) & NONZERO_MASK) != 0;
}

static void find_count_results(const struct wf_tile *tile, uint64_t *results) {
    uword nonzero[WF_COLUMNS_MAX];
    count_columns(nonzero, tile);
    for (size_t c = 0; c < tile->columns; c++) results[c] = nonzero[c];
}

/* The same of rows; false if there is a NaN, whose bits without the sign are above largest. */
INLINE bool count_rows(const struct wf_rows *rows, uword largest, uint64_t *results) {
    bool has_nan = false;
    for (size_t r = 0; r < rows->rows; r++) {
        const int64_t *offset = rows->offset ? rows->offset + r : NULL;
        const unsigned char *x = rows->x + (offset ? offset[0] * (int64_t)sizeof(uword) : (int64_t)r * rows->stride_bytes);
        const uint32_t count = (uint32_t)(offset ? offset[1] - offset[0] : rows->count);
        uint32_t nonzero = 0;
        for (uint32_t i = 0; i < count; i++) {
            const uword bits = bits_at(x, i) & NONZERO_MASK;
            nonzero += bits != 0;
            has_nan |= bits > largest;
        }
        results[r] = nonzero;
    }
    return !has_nan;
}

static void add_column_counts(struct wf_open_partial *into, const struct wf_tile *tile) {
    uword nonzero[WF_COLUMNS_MAX];
    count_columns(nonzero, tile);
    for (size_t c = 0; c < tile->columns; c++) into[c].partial->nonzero += nonzero[c];
}

static void add_column_extremes_and_counts(struct wf_open_partial *into, const struct wf_tile *tile) {
    if (into->parts & WF_PART_MIN) add_column_extremes(into, tile, false);
    if (into->parts & WF_PART_MAX) add_column_extremes(into, tile, true);
    if (into->parts & WF_PART_NONZERO) add_column_counts(into, tile);
}

#endif
