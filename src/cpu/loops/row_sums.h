/* The sums of rows whose elements lie side by side: lanes go along each row, and rows share a window. */
#ifndef WF_CPU_LOOPS_ROW_SUMS_H
#define WF_CPU_LOOPS_ROW_SUMS_H

#include "cpu/loops/column_sums.h"

enum { ROW_UNROLL = 4 }; /* vectors of a row that are added at a time */

/* A level holds as many additions as a lane gets, and what all lanes add up to is an f64: at most 2^11 terms of at most
 * 2^42 units. */
_Static_assert(WF_ROW_COUNT_MAX / (ROW_UNROLL * LANES) + ROW_UNROLL <= (1 << 9) - 1 && WF_ROW_COUNT_MAX <= 1 << 11,
               "levels overflow");

struct row {
    const unsigned char *x;
    size_t count;
};

INLINE struct row row_at(const struct wf_rows *rows, size_t r) {
    if (!rows->offset) return (struct row){rows->x + (int64_t)r * rows->stride_bytes, (size_t)rows->count};
    return (struct row){rows->x + rows->offset[r] * (int64_t)sizeof(uword),
                        (size_t)(rows->offset[r + 1] - rows->offset[r])};
}

/* The last vector of a row may begin in the one before. */
INLINE void scan_row(struct scan scan[2], struct row row) {
    const unsigned char *last = row.x + (row.count < STEP ? 0 : row.count - STEP) * sizeof(uword);
    unsigned char copy[VECTOR_NBYTES] = {0};
    size_t i = 0;
    for (; i + 2 * STEP <= row.count; i += 2 * STEP) {
        scan_bounds(&scan[0], row.x + i * sizeof(uword));
        scan_bounds(&scan[1], row.x + (i + STEP) * sizeof(uword));
    }
    if (i + STEP < row.count) scan_bounds(&scan[0], row.x + i * sizeof(uword));
    if (row.count < STEP) last = memcpy(copy, row.x, row.count * sizeof(uword));
    if (i < row.count) scan_bounds(&scan[1], last);
}

/* The magnitudes of all rows; in one pass if each begins where the one before ends. */
static struct magnitudes magnitudes_of_rows(const struct wf_rows *rows) {
    struct row first = row_at(rows, 0), last = row_at(rows, rows->rows - 1);
    if (rows->offset || rows->stride_bytes == rows->count * (int64_t)sizeof(uword))
        return find_bounds(first.x, (size_t)(last.x - first.x) / sizeof(uword) + last.count);
    struct scan scan[2] = {RANGE_SCAN_START, RANGE_SCAN_START};
    for (size_t r = 0; r < rows->rows; r++) scan_row(scan, row_at(rows, r));
    return larger_range(scanned_magnitudes(&scan[0]), scanned_magnitudes(&scan[1]));
}

/* The last elements of a row, fewer than LANES, at the end of a vector; zeros before them. */
INLINE vf64 load_tail(struct row row, size_t count) {
    static const int64_t mask[16] = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};
    unsigned char copy[VECTOR_NBYTES] = {0};
    vi64 kept;
    if (row.count < LANES) {
        for (size_t i = 0; i < count; i++)
            memcpy(copy + (LANES - count + i) * sizeof(uword), row.x + i * sizeof(uword), sizeof(uword));
        return widen(copy);
    }
    memcpy(&kept, mask + 8 - LANES + count, sizeof kept);
    return (vf64)((vi64)widen(row.x + (row.count - LANES) * sizeof(uword)) & kept);
}

/* What is added of elements. */
struct row_kind {
    int levels;
    bool magnitudes;
    bool scaled; /* they are multiplied first: scaled.h */
};

INLINE vf64 value_of(vf64 x, bool magnitudes) {
    return magnitudes ? (vf64)((vi64)x & INT64_MAX) : x;
}

INLINE void add_row_vector(struct sums *sums, struct row_kind kind, int u, vf64 value) {
    if (kind.scaled) value = scaled_value(value);
    extract_terms(sums->term[0], NULL, kind.levels, u, (struct terms){value_of(value, kind.magnitudes), ONES, true});
}

/* Where the next rows are, if all follow one another: while these are added, memory need not rest. */
INLINE void prefetch_next_rows(const unsigned char *x) {
    for (size_t i = 0; i < ROW_UNROLL * LANES * sizeof(uword); i += 64)
        __builtin_prefetch((const void *)((uintptr_t)x + WF_ROWS_NBYTES + i));
}

/* What each level of a row adds up to, in units of the level's grid. */
INLINE void sum_row(int64_t *units[2], const vf64 anchor[2], struct row row, struct row_kind kind) {
    const int levels = kind.levels;
    struct sums sums;
    size_t i = 0;
    for (int k = 0; k < levels; k++) start_sum(sums.term[0][k], ROW_UNROLL, anchor[k]);
    for (; i + ROW_UNROLL * LANES <= row.count; i += ROW_UNROLL * LANES) {
        prefetch_next_rows(row.x + i * sizeof(uword));
        UNROLLED
        for (int u = 0; u < ROW_UNROLL; u++)
            add_row_vector(&sums, kind, u, widen(row.x + (i + (size_t)u * LANES) * sizeof(uword)));
    }
    UNROLLED
    for (int u = 0; u < ROW_UNROLL - 1; u++) {
        if (i + LANES > row.count) break;
        add_row_vector(&sums, kind, u, widen(row.x + i * sizeof(uword)));
        i += LANES;
    }
    if (i < row.count) add_row_vector(&sums, kind, ROW_UNROLL - 1, load_tail(row, row.count - i));
    for (int k = 0; k < levels; k++) {
        vu64 collected = {0}, changed = {0};
        collect_sum(&collected, &changed, sums.term[0][k], ROW_UNROLL, anchor[k]);
        *units[k] = (int64_t)sum_of_lanes(collected);
    }
}

INLINE void sum_rows_of_kind(struct column_units *units, const struct window *window, const struct wf_rows *rows,
                             struct row_kind kind) {
    vf64 anchor[2] = {anchor_of(window, 0, 0), kind.levels > 1 ? anchor_of(window, 0, 1) : ONES};
    for (size_t r = 0; r < rows->rows; r++) {
        int64_t *found[2] = {&units->term[0][0][r], &units->term[0][1][r]};
        sum_row(found, anchor, row_at(rows, r), kind);
    }
    for (size_t r = rows->rows; r % LANES; r++) units->term[0][0][r] = units->term[0][1][r] = 1; /* to fill a vector */
}

/* Sums up rows of small elements; through two levels, since such rows are rare. */
APART void sum_small_rows(struct column_units *units, struct window *window, const struct wf_rows *rows, bool magnitudes) {
    if (magnitudes)
        sum_rows_of_kind(units, window, rows, (struct row_kind){2, true, true});
    else
        sum_rows_of_kind(units, window, rows, (struct row_kind){2, false, true});
    move_down(window);
}

/* False if some element is an infinity or a NaN, or two levels do not cover the range. */
APART bool sum_rows(struct column_units *units, struct window *window, const struct wf_rows *rows, bool magnitudes) {
    struct magnitudes found = magnitudes_of_rows(rows);
    struct range range = range_of(found);
    struct kind kind = kind_of(magnitudes ? WF_PART_ABS : WF_PART_SUM);
    bool is_small = moves_up(&range);
    int levels = is_small && levels_for(range, headroom_of(kind)) < 2 ? 2 : levels_for(range, headroom_of(kind));
    window->shape = (struct shape){levels, levels};
    if (is_small) kind.floor[0] += SHIFT_OF_GROUPS;
    if (found.max >= INFINITY_BITS || levels > 2 || !set_levels(window, 0, range, kind, headroom_of(kind))) return false;
    if (is_small)
        sum_small_rows(units, window, rows, magnitudes);
    else if (levels == 1 && magnitudes)
        sum_rows_of_kind(units, window, rows, (struct row_kind){1, true, false});
    else if (levels == 1)
        sum_rows_of_kind(units, window, rows, (struct row_kind){1, false, false});
    else if (magnitudes)
        sum_rows_of_kind(units, window, rows, (struct row_kind){2, true, false});
    else
        sum_rows_of_kind(units, window, rows, (struct row_kind){2, false, false});
    forget_rounding();
    return true;
}

static bool is_row_of_minus_zeros(struct row row) {
    size_t i = 0;
    while (i < row.count && bits_at(row.x, i) == MINUS_ZERO) i++;
    return row.count && i == row.count;
}

/* What may be read of rows. */
static const unsigned char *end_of_all(const struct wf_rows *rows) {
    const struct row one = row_at(rows, 0), last = row_at(rows, rows->rows - 1), far = last.x > one.x ? last : one;
    return far.x + far.count * sizeof(uword);
}

/* The sums of values or magnitudes of rows that share a window; false if there is none. */
static bool find_row_sums(const struct wf_rows *rows, enum wf_part part, rounded *found) {
    struct column_units units;
    struct window window;
    double sum[WF_COLUMNS_MAX];
    if (!ADDER_ROUNDS || !sum_rows(&units, &window, rows, part == WF_PART_ABS) || !are_levels_f64(&window)) return false;
    bool has_zero = add_column_levels(sum, &units, &window, rows->rows, true);
    for (size_t r = 0; has_zero && part == WF_PART_SUM && r < rows->rows; r++)
        if (sum[r] == 0 && is_row_of_minus_zeros(row_at(rows, r))) sum[r] = -0.0;
    for (size_t r = 0; r < rows->rows; r++) found[r] = (rounded)sum[r];
    forget_rounding();
    return true;
}

wf_row_totals_function WF_LOOPS_NAME(find_row_totals, TYPE, TIER);

bool WF_LOOPS_NAME(find_row_totals, TYPE, TIER)(const struct wf_rows *rows, enum wf_part part,
                                                struct wf_column_totals *totals) {
    struct column_units units;
    struct window window = {.shape = {1, 1}}; /* for gcc, which cannot see that it is set */
    if (!sum_rows(&units, &window, rows, part == WF_PART_ABS) || !find_value_totals(totals, &units, &window, rows->rows))
        return false;
    for (size_t r = 0; part == WF_PART_SUM && r < rows->rows; r++)
        totals->is_minus_zero[r] = totals->sum[r] == 0 && is_row_of_minus_zeros(row_at(rows, r));
    return true;
}

#endif
