/* Sums, sums of magnitudes and means of rows or segments of floats that are exact, as the processor's inexact flag tells, in one
 * pass: see exact_columns.h.  Lanes go along each row, and are added up for as many rows at a time as a vector has lanes. */
#ifndef WF_CPU_LOOPS_EXACT_ROWS_H
#define WF_CPU_LOOPS_EXACT_ROWS_H

#include "cpu/loops/exact_columns.h"
#include "cpu/loops/row_ends.h"

/* What is asked for, as a constant. */
struct exact_row_kind {
    bool magnitudes, is_mean;
};

INLINE void join_exact(struct exact_sums *sums, const struct exact_sums *others) {
    sums->sum[0] += others->sum[0];
    if (IS_F64) sums->sum[OF_REST] += others->sum[OF_REST];
}

/* The elements of a row that are left, up to where memory may be read. */
struct exact_rest {
    const unsigned char *x, *end;
    size_t count;
};

INLINE vf64 take_vector(struct exact_rest *rest, bool magnitudes) {
    const vf64 x = widen(rest->x);
    rest->x += LANES * sizeof(uword);
    rest->count -= LANES;
    return value_of(x, magnitudes);
}

INLINE void add_exact_rest(struct exact_sums *sums, struct exact_rest rest, const struct exact_constants *constants, bool magnitudes) {
    while (rest.count >= LANES) add_exact(sums, take_vector(&rest, magnitudes), constants);
    if (rest.count) add_exact(sums, value_of(load_left(rest.x, rest.count, rest.end), magnitudes), constants);
    finish_exact_sums(sums, constants);
}

/* Several vectors at a time, so that additions need not wait for each other.  The processor asks for what follows by itself: to do
 * that here takes 1.6 times as long. */
INLINE struct exact_sums exact_sums_of_long_row(struct exact_rest rest, const struct exact_constants *constants, bool magnitudes) {
    struct exact_sums sums[ROW_UNROLL];
    UNROLLED
    for (int u = 0; u < ROW_UNROLL; u++) start_exact(&sums[u], take_vector(&rest, magnitudes), constants);
    while (rest.count >= ROW_UNROLL * LANES) {
        UNROLLED
        for (int u = 0; u < ROW_UNROLL; u++) add_exact(&sums[u], take_vector(&rest, magnitudes), constants);
    }
    add_exact_rest(&sums[0], rest, constants, magnitudes);
    UNROLLED
    for (int u = 1; u < ROW_UNROLL; u++) {
        finish_exact_sums(&sums[u], constants);
        join_exact(&sums[0], &sums[u]);
    }
    return sums[0];
}

INLINE struct exact_sums exact_sums_of_row(struct row row, const unsigned char *end, const struct exact_constants *constants,
                                           bool magnitudes) {
    struct exact_rest rest = {row.x, end, row.count};
    struct exact_sums sums;
    if (row.count >= ROW_UNROLL * LANES) return exact_sums_of_long_row(rest, constants, magnitudes);
    const bool is_short = row.count < LANES;
    start_exact(&sums, is_short ? value_of(load_left(row.x, row.count, end), magnitudes) : take_vector(&rest, magnitudes), constants);
    if (is_short) rest.count = 0;
    add_exact_rest(&sums, rest, constants, magnitudes);
    return sums;
}

/* Each row's lanes, added up in the lane of its number. */
INLINE struct exact_sums join_exact_rows(struct exact_sums rows[LANES]) {
    UNROLLED
    for (int distance = 1; distance < LANES; distance *= 2) {
        UNROLLED
        for (int r = 0; r < LANES; r += 2 * distance) {
            UNROLLED
            for (int k = 0; k <= OF_REST; k++) {
                const vf64 a = rows[r].sum[k], b = rows[r + distance].sum[k];
                rows[r].sum[k] = left_lanes(a, b, distance) + right_lanes(a, b, distance);
            }
        }
    }
    pin(&rows[0].sum[0]);
    pin(&rows[0].sum[OF_REST]);
    return rows[0];
}

/* ---- whether that is worth a try ---- */

/* The magnitudes of the first elements of some rows; of none if a row is empty, whose sum is no -0. */
static struct magnitudes magnitudes_of_some(const struct wf_rows *rows) {
    enum { SAMPLE = 2 * STEP };
    struct magnitudes found = {0, (uword)-1 >> 1};
    for (size_t i = 0; i < 3; i++) {
        const struct row row = row_at(rows, i * (rows->rows - 1) / 2);
        found = larger_range(found, find_bounds(row.x, row.count < SAMPLE ? row.count : SAMPLE));
    }
    return found;
}

/* Whether numbers of these magnitudes may have exact sums. */
static bool may_be_exact(struct magnitudes found) {
    enum { LEVELS = 2, BITS = 53 };
    if (found.max == 0 || found.max >= INFINITY_BITS) return false;
    const struct range range = range_of(found);
    return IS_F64 ? levels_for(range, headroom_of(kind_of(WF_PART_SUM))) <= LEVELS : range.top - range.low <= BITS;
}

static size_t longest_row(const struct wf_rows *rows, size_t *shortest) {
    size_t longest = *shortest = row_at(rows, 0).count;
    for (size_t r = 1; rows->offset && r < rows->rows; r++) {
        const size_t count = row_at(rows, r).count;
        if (count > longest) longest = count;
        if (count < *shortest) *shortest = count;
    }
    return longest;
}

/* ---- results ---- */

INLINE bool write_exact_rows(rounded *results, const struct exact_sums *sums, size_t rows, const struct wf_quotient *asked,
                             struct exact_row_kind kind) {
    vi64 all_lost = {0}, lost;
    for (size_t r = 0; r < rows; r += LANES) {
        const struct lane_quotient lanes = kind.is_mean ? quotient_at(asked, r) : (struct lane_quotient){.is_power = false};
        const vf64 exact = exact_result(&lost, &sums[r / LANES], &lanes, kind.is_mean ? 1 / lanes.divisor : (vf64){0}, kind.is_mean);
        all_lost |= lost | (vi64)(exact - exact);
        store_elements(results + r, round_to_element(exact));
    }
    return !any_lane_set(all_lost);
}

/* False if not all are exact, as where some are no numbers. */
INLINE bool find_exact_rows_of_kind(rounded *results, const struct wf_rows *rows, const struct wf_quotient *asked,
                                    struct exact_row_kind kind) {
    const struct magnitudes some = magnitudes_of_some(rows);
    const unsigned char *end = end_of_all(rows);
    struct exact_sums all[WF_COLUMNS_MAX / LANES], sums[LANES];
    size_t shortest;
    const size_t longest = longest_row(rows, &shortest);
    if (!shortest || !may_be_exact(some)) return false;
    const struct exact_constants constants = exact_constants(IS_F64 ? exact_level(some.max, longest) : 0);
    for (size_t r = 0; r < rows->rows; r += LANES) {
        const size_t taken = rows->rows - r < LANES ? rows->rows - r : LANES;
        for (size_t i = 0; i < taken; i++) sums[i] = exact_sums_of_row(row_at(rows, r + i), end, &constants, kind.magnitudes);
        memset(sums + taken, 0, (LANES - taken) * sizeof *sums);
        all[r / LANES] = join_exact_rows(sums);
    }
    const bool is_exact = !has_rounded() && write_exact_rows(results, all, rows->rows, asked, kind);
    forget_rounding();
    return is_exact;
}

/* What is asked for is a constant in each. */
APART bool find_exact_row_sums(rounded *results, const struct wf_rows *rows) {
    return find_exact_rows_of_kind(results, rows, NULL, (struct exact_row_kind){false, false});
}

APART bool find_exact_row_magnitudes(rounded *results, const struct wf_rows *rows) {
    return find_exact_rows_of_kind(results, rows, NULL, (struct exact_row_kind){true, false});
}

APART bool find_exact_row_means(rounded *results, const struct wf_rows *rows, const struct wf_quotient *asked) {
    return NOTES_ROUNDING && find_exact_rows_of_kind(results, rows, asked, (struct exact_row_kind){false, true});
}

wf_row_results_function WF_LOOPS_NAME(find_row_results, TYPE, TIER);

bool WF_LOOPS_NAME(find_row_results, TYPE, TIER)(const struct wf_rows *rows, enum wf_part part, void *results) {
    if (part == WF_PART_NONZERO) return count_rows(rows, INFINITY_BITS, results);
    if (NOTES_ROUNDING && part == WF_PART_SUM && find_exact_row_sums(results, rows)) return true;
    if (NOTES_ROUNDING && part == WF_PART_ABS && find_exact_row_magnitudes(results, rows)) return true;
    return find_row_sums(rows, part, results);
}

#endif
