/* Sums, sums of magnitudes and means of rows or segments of floats that are exact, as the processor's inexact flag tells, in one
 * pass: see exact_columns.h.  Lanes go along each row, and are added up for as many rows at a time as a vector has lanes.  Elements
 * of 4 and 8 bytes may be apart: blocks of them are placed side by side in registers. */
#ifndef WF_CPU_LOOPS_EXACT_ROWS_H
#define WF_CPU_LOOPS_EXACT_ROWS_H

#include "core/strided.h"
#include "cpu/loops/few_rows.h"
#include "cpu/loops/placed_lanes.h"
#include "cpu/loops/row_ends.h"

INLINE void join_exact(struct exact_sums *sums, const struct exact_sums *others, struct exact_kind kind) {
    sums->sum += others->sum;
    if (has_level(kind)) sums->level += others->level;
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

INLINE void add_exact_rest(struct exact_sums *sums, struct exact_rest rest, const struct exact_constants *constants,
                           struct exact_kind kind) {
    while (rest.count >= LANES) add_exact(sums, take_vector(&rest, kind.magnitudes), constants, kind);
    if (rest.count) add_exact(sums, value_of(load_left(rest.x, rest.count, rest.end), kind.magnitudes), constants, kind);
    finish_exact_sums(sums, constants, kind);
}

/* Several vectors at a time, so that additions need not wait for each other.  The processor asks for what follows by itself: to do
 * that here takes 1.6 times as long. */
INLINE struct exact_sums exact_sums_of_long_row(struct exact_rest rest, const struct exact_constants *constants,
                                                struct exact_kind kind) {
    struct exact_sums sums[ROW_UNROLL];
    UNROLLED
    for (int u = 0; u < ROW_UNROLL; u++) start_exact(&sums[u], take_vector(&rest, kind.magnitudes), constants, kind);
    while (rest.count >= ROW_UNROLL * LANES) {
        UNROLLED
        for (int u = 0; u < ROW_UNROLL; u++) add_exact(&sums[u], take_vector(&rest, kind.magnitudes), constants, kind);
    }
    add_exact_rest(&sums[0], rest, constants, kind);
    UNROLLED
    for (int u = 1; u < ROW_UNROLL; u++) {
        finish_exact_sums(&sums[u], constants, kind);
        join_exact(&sums[0], &sums[u], kind);
    }
    return sums[0];
}

INLINE struct exact_sums exact_sums_of_row(struct row row, const unsigned char *end, const struct exact_constants *constants,
                                           struct exact_kind kind) {
    struct exact_rest rest = {row.x, end, row.count};
    struct exact_sums sums;
    if (row.count >= ROW_UNROLL * LANES) return exact_sums_of_long_row(rest, constants, kind);
    const bool is_short = row.count < LANES, magnitudes = kind.magnitudes;
    const vf64 first = is_short ? value_of(load_left(row.x, row.count, end), magnitudes) : take_vector(&rest, magnitudes);
    start_exact(&sums, first, constants, kind);
    if (is_short) rest.count = 0;
    add_exact_rest(&sums, rest, constants, kind);
    return sums;
}

/* ---- all rows ---- */

/* Each row's lanes, added up in the lane of its number. */
INLINE vf64 joined_lanes(vf64 a, vf64 b, int distance) {
    return left_lanes(a, b, distance) + right_lanes(a, b, distance);
}

INLINE struct exact_sums join_exact_rows(struct exact_sums rows[LANES], struct exact_kind kind) {
    UNROLLED
    for (int distance = 1; distance < LANES; distance *= 2) {
        UNROLLED
        for (int r = 0; r < LANES; r += 2 * distance) {
            const struct exact_sums *other = &rows[r + distance];
            rows[r].sum = joined_lanes(rows[r].sum, other->sum, distance);
            if (has_level(kind)) rows[r].level = joined_lanes(rows[r].level, other->level, distance);
        }
    }
    pin(&rows[0].sum);
    if (has_level(kind)) pin(&rows[0].level);
    return rows[0];
}

typedef struct exact_sums exact_sums_function(struct row row, const unsigned char *end, const struct exact_constants *constants,
                                              struct exact_kind kind);

/* Of each row, in lanes, what a function, which is a constant, makes of its elements. */
INLINE void sum_exact_rows(struct exact_sums *all, const struct wf_rows *rows, const struct exact_constants *constants,
                           struct exact_kind kind, exact_sums_function *sums_of_row) {
    const unsigned char *end = end_of_all(rows) + (kind.apart - 1) * (rows->count - 1) * (int64_t)sizeof(uword);
    const struct exact_constants own = *constants; /* in registers, whatever is written */
    struct exact_sums sums[LANES];
    for (size_t r = 0; r < rows->rows; r += LANES) {
        const size_t taken = rows->rows - r < LANES ? rows->rows - r : LANES;
        for (size_t i = 0; i < taken; i++) {
            const struct exact_sums of_row = sums_of_row(row_at(rows, r + i), end, &own, kind);
            copy_exact_sums(&sums[i], &of_row, kind);
        }
        memset(sums + taken, 0, (LANES - taken) * sizeof *sums);
        const struct exact_sums joined = join_exact_rows(sums, kind);
        copy_exact_sums(&all[r / LANES], &joined, kind);
    }
}

typedef void sum_exact_rows_function(struct exact_sums *all, const struct wf_rows *rows, const struct exact_constants *constants,
                                     bool magnitudes);

APART void sum_exact_side_by_side(struct exact_sums *all, const struct wf_rows *rows, const struct exact_constants *constants,
                                  bool magnitudes) {
    if (magnitudes)
        sum_exact_rows(all, rows, constants, (struct exact_kind){true, false, 1}, exact_sums_of_row);
    else
        sum_exact_rows(all, rows, constants, (struct exact_kind){false, false, 1}, exact_sums_of_row);
}

/* Of types shorter than f64, whose sums are more than an f64. */
APART void sum_exact_by_level(struct exact_sums *all, const struct wf_rows *rows, const struct exact_constants *constants,
                              bool magnitudes) {
    sum_exact_rows(all, rows, constants, (struct exact_kind){magnitudes, true, 1}, exact_sums_of_row);
}

/* ---- elements that are apart ---- */

#ifdef HAS_PLACED_LANES

enum { BLOCK_VECTORS = STEP / LANES }; /* of f64, which a vector of elements becomes */

INLINE vf64 widened_part(vsword block, int part) {
    vf32 some;
    if (IS_F64) return (vf64)block;
    memcpy(&some, (const unsigned char *)&block + part * (int)sizeof some, sizeof some);
    return f64_of_f32(some);
}

INLINE void add_exact_block(struct exact_sums *sums, vsword block, const struct exact_constants *constants, struct exact_kind kind) {
    UNROLLED
    for (int v = 0; v < BLOCK_VECTORS; v++) add_exact(&sums[v], widened_part(block, v), constants, kind);
}

/* A row's last block, of that many elements; after these -0, which adds nothing. */
INLINE vsword last_block(struct row row, const unsigned char *end, const struct places *places, int apart) {
    vsword place, block = {0};
    for (int k = 0; k < (int)STEP; k++) place[k] = (sword)k;
    if ((size_t)(end - row.x) >= (size_t)apart * VECTOR_NBYTES)
        block = placed_block(row.x, places, apart);
    else
        wf_copy_strided((unsigned char *)&block, row.x, apart * (int64_t)sizeof(uword), row.count, sizeof(uword));
    return select_where(place < (sword)row.count, block, (vsword){0} + (sword)MINUS_ZERO);
}

/* Only the last block may end where nothing may be read. */
INLINE struct exact_sums exact_sums_of_row_apart(struct row row, const unsigned char *end, const struct exact_constants *constants,
                                                 struct exact_kind kind) {
    const struct places places = places_of((struct stride){1, kind.apart, false});
    const vsword kept = (vsword){0} + (sword)(kind.magnitudes ? MAGNITUDE : (uword)-1);
    struct exact_sums sums[BLOCK_VECTORS];
    UNROLLED
    for (int v = 0; v < BLOCK_VECTORS; v++) start_exact(&sums[v], -(vf64){0}, constants, kind);
    for (; row.count > STEP; row.count -= STEP, row.x += kind.apart * VECTOR_NBYTES)
        add_exact_block(sums, placed_block(row.x, &places, kind.apart) & kept, constants, kind);
    add_exact_block(sums, last_block(row, end, &places, kind.apart) & kept, constants, kind);
    UNROLLED
    for (int v = 0; v < BLOCK_VECTORS; v++) finish_exact_sums(&sums[v], constants, kind);
    UNROLLED
    for (int v = 1; v < BLOCK_VECTORS; v++) join_exact(&sums[0], &sums[v], kind);
    return sums[0];
}

APART void sum_exact_by_twos(struct exact_sums *all, const struct wf_rows *rows, const struct exact_constants *constants,
                             bool magnitudes) {
    sum_exact_rows(all, rows, constants, (struct exact_kind){magnitudes, false, 2}, exact_sums_of_row_apart);
}

APART void sum_exact_by_threes(struct exact_sums *all, const struct wf_rows *rows, const struct exact_constants *constants,
                               bool magnitudes) {
    sum_exact_rows(all, rows, constants, (struct exact_kind){magnitudes, false, 3}, exact_sums_of_row_apart);
}

APART void sum_exact_by_fours(struct exact_sums *all, const struct wf_rows *rows, const struct exact_constants *constants,
                              bool magnitudes) {
    sum_exact_rows(all, rows, constants, (struct exact_kind){magnitudes, false, 4}, exact_sums_of_row_apart);
}

/* NULL: elements that are so far apart are better copied. */
static sum_exact_rows_function *exact_rows_function_for(int64_t apart) {
    if (apart == 1) return sum_exact_side_by_side;
    if (sizeof(uword) < 4) return NULL;
    return apart == 2 ? sum_exact_by_twos : apart == 3 ? sum_exact_by_threes : apart == 4 ? sum_exact_by_fours : NULL;
}

#else

static sum_exact_rows_function *exact_rows_function_for(int64_t apart) {
    return apart == 1 ? sum_exact_side_by_side : NULL;
}

#endif

/* ---- whether that is worth a try ---- */

/* The magnitudes of the first elements of some rows; of none if a row is empty, whose sum is no -0. */
static struct magnitudes magnitudes_of_some(const struct wf_rows *rows, int64_t apart) {
    enum { SAMPLE = 2 * STEP };
    struct magnitudes found = {0, (uword)-1 >> 1};
    unsigned char copy[SAMPLE * sizeof(uword)];
    for (size_t i = 0; i < 3; i++) {
        struct row row = row_at(rows, i * (rows->rows - 1) / 2);
        if (row.count > SAMPLE) row.count = SAMPLE;
        if (apart > 1) wf_copy_strided(copy, row.x, apart * (int64_t)sizeof(uword), row.count, sizeof(uword));
        found = larger_range(found, find_bounds(apart > 1 ? copy : row.x, row.count));
    }
    return found;
}

/* Whether numbers of these magnitudes may have exact sums; those of types shorter than f64 may have them by a level. */
static bool may_be_exact(struct magnitudes found) {
    enum { LEVELS = 2 };
    if (found.max == 0 || found.max >= INFINITY_BITS) return false;
    return !IS_F64 || levels_for(range_of(found), headroom_of(kind_of(WF_PART_SUM))) <= LEVELS;
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
                             bool is_mean, bool by_level) {
    const struct exact_kind kind = {.by_level = by_level};
    vi64 all_lost = {0}, lost;
    for (size_t r = 0; r < rows; r += LANES) {
        const struct lane_quotient lanes = is_mean ? quotient_at(asked, r) : (struct lane_quotient){.is_power = false};
        const vf64 exact = exact_result(&lost, &sums[r / LANES], &lanes, is_mean ? 1 / lanes.divisor : (vf64){0}, is_mean, kind);
        vf64 found = exact;
        lost |= (vi64)(exact - exact);
        if (!IS_F64 && !by_level && asked->gives_nan) found = with_special_sums(&lost, found, sums[r / LANES].sum);
        all_lost |= lost;
        store_elements(results + r, ELEMENT == ELEMENT_F32 ? found : round_to_element(found)); /* f32 without a flag, which takes long */
    }
    return !any_lane_set(all_lost);
}

/* By a level, of types shorter than f64, rows of which some sums have rounded: above these. */
APART bool find_rows_by_level(rounded *results, struct exact_sums *all, const struct wf_rows *rows, size_t longest,
                              const struct wf_quotient *asked) {
    vi64 largest = {0};
    for (size_t r = 0; r < rows->rows; r += LANES) largest = larger_bits(largest, all[r / LANES].sum);
    const double level = level_above(largest, longest);
    if (!level) return false;
    const struct exact_constants constants = exact_constants(level);
    forget_rounding();
    sum_exact_by_level(all, rows, &constants, asked->parts == WF_PART_ABS);
    if (has_rounded()) return false;
    return asked->is_divided ? write_exact_rows(results, all, rows->rows, asked, true, true)
                             : write_exact_rows(results, all, rows->rows, asked, false, true);
}

wf_exact_rows_function WF_LOOPS_NAME(find_exact_rows, TYPE, TIER);

/* Where some of f64 are no numbers, or some where NaNs are no results, results are not exact. */
bool WF_LOOPS_NAME(find_exact_rows, TYPE, TIER)(const struct wf_rows *rows, int64_t apart, const struct wf_quotient *asked,
                                                void *results) {
    sum_exact_rows_function *sum_rows_of = exact_rows_function_for(apart);
    struct exact_sums all[WF_COLUMNS_MAX / LANES];
    size_t shortest;
    const size_t longest = longest_row(rows, &shortest);
    if (!NOTES_ROUNDING || !sum_rows_of || !shortest) return false;
    const struct magnitudes some = magnitudes_of_some(rows, apart);
    if (!may_be_exact(some)) return false;
    const struct exact_constants constants = exact_constants(IS_F64 ? exact_level(some.max, longest) : 0);
    sum_rows_of(all, rows, &constants, asked->parts == WF_PART_ABS);
    bool is_exact = !has_rounded();
    if (!IS_F64 && !is_exact && apart == 1)
        is_exact = find_rows_by_level(results, all, rows, longest, asked);
    else if (is_exact && asked->is_divided)
        is_exact = write_exact_rows(results, all, rows->rows, asked, true, false);
    else if (is_exact)
        is_exact = write_exact_rows(results, all, rows->rows, asked, false, false);
    forget_rounding();
    return is_exact;
}

wf_row_results_function WF_LOOPS_NAME(find_row_results, TYPE, TIER);

bool WF_LOOPS_NAME(find_row_results, TYPE, TIER)(const struct wf_rows *rows, enum wf_part part, void *results) {
    return part == WF_PART_NONZERO ? count_rows(rows, INFINITY_BITS, results) : find_row_sums(rows, part, results);
}

#endif
