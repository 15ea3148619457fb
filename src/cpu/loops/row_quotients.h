/* Sums, means, variances, roots of these and 2-norms of rows or segments of floats: lanes go along each; what they have is added
 * up for as many rows at a time as a vector has lanes.  Rounded and bounded as those of few_rows.h. */
#ifndef WF_CPU_LOOPS_ROW_QUOTIENTS_H
#define WF_CPU_LOOPS_ROW_QUOTIENTS_H

#include "cpu/loops/exact_rows.h"
#include "cpu/loops/few_rows.h"
#include "cpu/loops/row_ends.h"

/* What is added up, as a constant.  are_f64: every sum of values is an f64, so that nothing is lost, or matters. */
struct powers {
    bool squares, are_f64, magnitudes;
    bool is_scaled; /* elements are multiplied first, by a power of two, which is no constant: */
    double scale;
};

INLINE vf64 power_of(vf64 element, struct powers powers) {
    const vf64 x = value_of(element, powers.magnitudes);
    return powers.is_scaled ? x * powers.scale : x;
}

INLINE void add_powers_of(struct few_sums *sums, vf64 element, struct powers powers) {
    const vf64 x = power_of(element, powers);
    struct pair sum = {sums->value.high + x, {0}};
    if (!powers.are_f64) sum = two_sum(sums->value.high, x);
    sums->value.high = sum.high;
    if (!powers.are_f64 && powers.squares) sums->value.low += sum.low;
    if (!powers.are_f64 && !powers.squares) add_lost(sums, sum.low);
    if (powers.squares) add_few_square(sums, x);
}

/* Field by field, as compilers would clear all of it by a slow instruction. */
INLINE struct few_sums start_powers(vf64 element, struct powers powers) {
    const vf64 x = power_of(element, powers);
    const vf64 none = {0};
    struct few_sums sums;
    sums.value.high = x;
    sums.value.low = sums.square.high = sums.square.low = sums.bound = none;
    sums.lost = (vi64)none;
    if (powers.squares) start_few_square(&sums);
    return sums;
}

INLINE struct few_sums powers_of_row(struct row row, const unsigned char *end, struct powers powers) {
    const size_t nbytes = LANES * sizeof(uword);
    const unsigned char *x = row.x;
    struct few_sums sums = start_powers(row.count < LANES ? load_left(x, row.count, end) : widen(x), powers);
    size_t i = LANES;
    for (; i + LANES <= row.count; i += LANES) add_powers_of(&sums, widen(x += nbytes), powers);
    if (i < row.count) add_powers_of(&sums, load_left(x + nbytes, row.count - i, end), powers);
    return sums;
}

INLINE struct few_sums join_powers(const struct few_sums *a, const struct few_sums *b, struct powers powers) {
    struct few_sums sums = *a;
    struct pair value = {a->value.high + b->value.high, {0}};
    if (!powers.are_f64) value = two_sum(a->value.high, b->value.high);
    sums.value.high = value.high;
    if (!powers.are_f64 && powers.squares) sums.value.low += b->value.low + value.low;
    if (!powers.are_f64 && !powers.squares) {
        sums.bound += b->bound;
        add_lost(&sums, b->value.low);
        add_lost(&sums, value.low);
    }
    if (!powers.squares) return sums;
    struct pair square = two_sum(a->square.high, b->square.high);
    sums.square = (struct pair){square.high, a->square.low + b->square.low + square.low};
    return sums;
}

typedef vf64 lanes_function(vf64 a, vf64 b, int distance);

/* Some lanes of both, of what is added up: what is not stays 0. */
INLINE struct few_sums lanes_of_sums(const struct few_sums *a, const struct few_sums *b, int distance, struct powers powers,
                                     lanes_function *lanes) {
    struct few_sums sums = start_powers(lanes(a->value.high, b->value.high, distance), (struct powers){.are_f64 = true});
    if (!powers.are_f64) sums.value.low = lanes(a->value.low, b->value.low, distance);
    if (!powers.are_f64 && !powers.squares) sums.bound = lanes(a->bound, b->bound, distance);
    if (!powers.squares) return sums;
    sums.square.high = lanes(a->square.high, b->square.high, distance);
    sums.square.low = lanes(a->square.low, b->square.low, distance);
    return sums;
}

/* Each row's lanes, added up in the lane of its number. */
INLINE struct few_sums join_rows_of_powers(struct few_sums rows[LANES], struct powers powers) {
    UNROLLED
    for (int distance = 1; distance < LANES; distance *= 2) {
        UNROLLED
        for (int r = 0; r < LANES; r += 2 * distance) {
            const struct few_sums *a = &rows[r], *b = &rows[r + distance];
            struct few_sums left = lanes_of_sums(a, b, distance, powers, left_lanes);
            struct few_sums right = lanes_of_sums(a, b, distance, powers, right_lanes);
            rows[r] = join_powers(&left, &right, powers);
        }
    }
    return rows[0];
}

INLINE vf64 row_quotient(struct few_sums *sums, const struct lane_quotient *asked, struct powers powers) {
    if (powers.squares) return variance_of(sums, asked);
    if (powers.are_f64) return mean_of(sums, asked);
    if (!IS_F64 || any_lane_set((vi64)(sums->bound != 0))) return mean_within(sums, asked);
    return mean_of_pair(&sums->lost, sums->value, asked->divisor, asked->is_power);
}

/* Results that no bound decides: of equal elements, the sums of which are those of one or of zeros, and the root of two's
 * variance, half of what they differ by. */
static bool find_plainly(rounded *result, struct row row, double divisor, const struct wf_quotient *asked) {
    unsigned char copy[LANES * sizeof(uword)] = {0};
    storage stored[LANES];
    bool squares = asked->parts & WF_PART_SQUARES, is_half = asked->is_root && row.count == 2 && divisor == 4;
    if (row.count == 0 || asked->parts == WF_PART_SQUARES) return false;
    memcpy(copy, row.x, sizeof(uword));
    if (is_half) memcpy(copy + sizeof(uword), row.x + sizeof(uword), sizeof(uword));
    for (size_t i = 1; !is_half && i < row.count; i++)
        if (bits_at(row.x, i) != bits_at(row.x, 0)) return false;
    vf64 x = widen(copy), found = squares ? x - x : value_of(x, asked->parts == WF_PART_ABS);
    if (!squares && !asked->is_divided && row.count > 1 && x[0] != 0) return false;
    if (is_half) found = magnitude_of_f64((x - swapped_lanes(x, 1)) * 0.5);
    found = round_to_element(found);
    store_elements(stored, found);
    *result = stored[0];
    return found[0] - found[0] == 0 && !(is_half && found[0] < 0x1p-900);
}

/* What was found of elements that were multiplied; fails where it might be rounded a second time, as subnormals are. */
INLINE vf64 unscaled(vi64 *lost, vf64 found, double scale, bool is_root) {
    const double back = 1 / scale, least = 0x1p-1000, nothing = 0x1p-480; /* whose product with 2^-600 is rounded to 0 */
    const vf64 once = found * back, result = is_root ? once : once * back;
    *lost |= ~(vi64)(result >= least);
    if (!is_root && back < 1) *lost &= ~(vi64)(once < nothing);
    return result;
}

/* Finds the quotients of at most LANES rows from the first on. */
INLINE void find_some_quotients(rounded *results, bool *has_failed, const struct wf_rows *rows, size_t first,
                                const unsigned char *end, const struct wf_quotient *asked, struct powers powers) {
    const size_t taken = rows->rows - first < LANES ? rows->rows - first : LANES;
    const struct lane_quotient lanes = quotient_at(asked, first);
    struct few_sums sums[LANES];
    for (size_t r = 0; r < taken; r++) sums[r] = powers_of_row(row_at(rows, first + r), end, powers);
    for (size_t r = taken; r < LANES; r++) sums[r] = start_powers((vf64){0}, powers);
    struct few_sums all = join_rows_of_powers(sums, powers);
    const vf64 exact = row_quotient(&all, &lanes, powers);
    vf64 found = ELEMENT == ELEMENT_F32 ? exact : round_to_element(exact); /* f32 are rounded where they are stored */
    vi64 lost = ELEMENT == ELEMENT_F32 ? (vi64)(exact - exact) : (vi64)(found - found); /* f32 may be rounded to infinity */
    if (powers.is_scaled) found = unscaled(&lost, found, powers.scale, asked->is_root);
    lost |= all.lost;
    if (!IS_F64 && !powers.squares && asked->gives_nan) found = with_special_sums(&lost, found, all.value.high);
    store_elements(results + first, found);
    for (size_t r = 0; r < taken; r++) {
        has_failed[first + r] = lost[r];
        if (lost[r]) has_failed[first + r] = !find_plainly(&results[first + r], row_at(rows, first + r), lanes.divisor[r], asked);
    }
}

INLINE void find_quotients_of(rounded *results, bool *has_failed, const struct wf_rows *rows, const struct wf_quotient *asked,
                              struct powers powers) {
    const unsigned char *end = end_of_all(rows);
    for (size_t r = 0; r < rows->rows; r += LANES) find_some_quotients(results, has_failed, rows, r, end, asked, powers);
}

/* What is asked for is a constant in each. */
APART void find_row_means(rounded *results, bool *has_failed, const struct wf_rows *rows, const struct wf_quotient *asked) {
    find_quotients_of(results, has_failed, rows, asked, (struct powers){.squares = false});
}

APART void find_row_magnitudes(rounded *results, bool *has_failed, const struct wf_rows *rows, const struct wf_quotient *asked) {
    find_quotients_of(results, has_failed, rows, asked, (struct powers){.magnitudes = true});
}

APART void find_row_norms(rounded *results, bool *has_failed, const struct wf_rows *rows, const struct wf_quotient *asked) {
    find_quotients_of(results, has_failed, rows, asked, (struct powers){.squares = true, .are_f64 = true, .magnitudes = true});
}

APART void find_row_variances(rounded *results, bool *has_failed, const struct wf_rows *rows, const struct wf_quotient *asked) {
    find_quotients_of(results, has_failed, rows, asked, (struct powers){.squares = true});
}

/* Finds means of types shorter than f64 whose range is not too wide. */
APART void find_near_row_means(rounded *results, bool *has_failed, const struct wf_rows *rows, const struct wf_quotient *asked) {
    find_quotients_of(results, has_failed, rows, asked, (struct powers){.are_f64 = true});
}

APART void find_near_row_variances(rounded *results, bool *has_failed, const struct wf_rows *rows,
                                   const struct wf_quotient *asked) {
    find_quotients_of(results, has_failed, rows, asked, (struct powers){.squares = true, .are_f64 = true});
}

/* Whether every sum of as many elements as a row may have is an f64, if all are of these magnitudes. */
static bool are_sums_of_f64(struct magnitudes found) {
    const int sum_bits = 11;
    struct range range = range_of(found);
    return found.max < INFINITY_BITS && range.top - range.low <= 53 - sum_bits;
}

/* The same of rows, which are not scanned if the first row's beginning is beyond that already. */
static bool are_row_sums_f64(const struct wf_rows *rows) {
    enum { SAMPLE = 4 * STEP };
    const struct row first = row_at(rows, 0);
    if (IS_F64 || !are_sums_of_f64(find_bounds(first.x, first.count < SAMPLE ? first.count : SAMPLE))) return false;
    return are_sums_of_f64(magnitudes_of_rows(rows));
}
_Static_assert(WF_ROW_COUNT_MAX <= 1 << 11, "sums of rows have more bits");

typedef void row_quotients_function(rounded *results, bool *has_failed, const struct wf_rows *rows,
                                    const struct wf_quotient *asked);

static row_quotients_function *row_quotients_for(const struct wf_rows *rows, const struct wf_quotient *asked) {
    const bool squares = asked->parts & WF_PART_SQUARES;
    if (asked->parts == WF_PART_SQUARES) return find_row_norms;
    if (asked->parts == WF_PART_ABS) return find_row_magnitudes;
    if (are_row_sums_f64(rows)) return squares ? find_near_row_variances : find_near_row_means;
    return squares ? find_row_variances : find_row_means;
}

/* ---- means of f64, whose rows share a window ---- */

/* Means of nothing but -0, which the window makes 0. */
static void restore_minus_zeros(rounded *results, const struct wf_rows *rows) {
    for (size_t r = 0; r < rows->rows; r++)
        if (results[r] == 0 && is_row_of_minus_zeros(row_at(rows, r))) results[r] = (rounded)-0.0;
}

/* Whether the first elements of a row are too far apart for two levels, so that there is no need to scan all rows. */
static bool is_beginning_wide(struct row row) {
    enum { LEVELS = 2, SAMPLE = 2 * STEP };
    const struct magnitudes found = find_bounds(row.x, row.count < SAMPLE ? row.count : SAMPLE);
    return found.max >= INFINITY_BITS || levels_for(range_of(found), headroom_of(kind_of(WF_PART_SUM))) > LEVELS;
}

/* Two levels take fewer additions than a sum, what it lost and a bound of that.  False if the window does not cover the elements,
 * or a mean is not known. */
APART bool find_row_means_by_levels(rounded *results, const struct wf_rows *rows, const struct wf_quotient *asked) {
    struct column_units units;
    struct window window;
    vi64 lost = {0}, has_zero = {0};
    if (is_beginning_wide(row_at(rows, 0)) || !sum_rows(&units, &window, rows, false) || !are_levels_f64(&window)) return false;
    for (size_t r = 0; r < rows->rows; r += LANES) {
        const struct lane_quotient lanes = quotient_at(asked, r);
        const vf64 mean = mean_of_pair(&lost, sum_of_levels(&units, &window, r, true), lanes.divisor, lanes.is_power);
        has_zero |= (vi64)(mean == 0);
        store_elements(results + r, mean);
    }
    if (any_lane_set(lost)) return false;
    if (any_lane_set(has_zero)) restore_minus_zeros(results, rows);
    return true;
}

/* ---- f64 whose squares are no f64, or next to nothing ---- */

/* Finds the norms or variances of at most LANES rows by elements that are multiplied first. */
APART void find_scaled_quotients(rounded *results, bool *has_failed, const struct wf_rows *rows, size_t first,
                                 const struct wf_quotient *asked, double scale) {
    const unsigned char *end = end_of_all(rows);
    if (asked->parts == WF_PART_SQUARES)
        find_some_quotients(results, has_failed, rows, first, end, asked, (struct powers){true, true, true, true, scale});
    else
        find_some_quotients(results, has_failed, rows, first, end, asked, (struct powers){true, false, false, true, scale});
}

/* By what a row's elements are best multiplied; 1: that would not help. */
static double scale_of_row(struct row row) {
    const uint64_t large = (uint64_t)(BIAS + 400) << FRACTION_BITS, small = (uint64_t)(BIAS - 400) << FRACTION_BITS;
    const uint64_t most = row.count ? find_bounds(row.x, row.count).max : INFINITY_BITS;
    if (most >= INFINITY_BITS) return 1;
    return most > large ? 0x1p-600 : most < small ? 0x1p600 : 1;
}

/* The results of LANES rows, from the first on, some of which have failed. */
static void find_far_quotients(rounded *results, bool *has_failed, const struct wf_rows *rows, size_t first,
                               const struct wf_quotient *asked) {
    const size_t end = rows->rows - first < LANES ? rows->rows : first + LANES;
    rounded found[WF_COLUMNS_MAX];
    bool again[WF_COLUMNS_MAX];
    for (size_t r = first; r < end; r++) {
        const double scale = has_failed[r] ? scale_of_row(row_at(rows, r)) : 1;
        if (scale == 1) continue;
        find_scaled_quotients(found, again, rows, first, asked, scale);
        for (size_t i = r; i < end; i++) {
            if (!has_failed[i] || again[i]) continue;
            results[i] = found[i];
            has_failed[i] = false;
        }
    }
}

wf_row_quotients_function WF_LOOPS_NAME(find_row_quotients, TYPE, TIER);

void WF_LOOPS_NAME(find_row_quotients, TYPE, TIER)(const struct wf_rows *rows, const struct wf_quotient *asked, void *results,
                                                   bool *has_failed) {
    memset(has_failed, 0, rows->rows * sizeof *has_failed);
    const bool are_means = asked->parts == WF_PART_SUM && asked->is_divided;
    const bool is_found = IS_F64 && are_means && find_row_means_by_levels(results, rows, asked);
    if (!is_found) row_quotients_for(rows, asked)(results, has_failed, rows, asked);
    for (size_t r = 0; IS_F64 && asked->parts & WF_PART_SQUARES && r < rows->rows; r += LANES)
        if (memchr(has_failed + r, true, rows->rows - r < LANES ? rows->rows - r : LANES))
            find_far_quotients(results, has_failed, rows, r, asked);
    forget_rounding();
}

#endif
