/* Variances of columns of floats, and their roots, whatever the range: lanes are columns, in place.
 *
 * Of elements shorter than f64 the differences from a column's first are added up as f64, with their squares: of n elements,
 * n*S2 - S1^2 then lacks less than (4n + 16) * 2^-53 of n*S2.  Columns that this leaves open, and those of f64, are added up as
 * pairs of f64, with a bound of what these lack; where they lack nothing, a quotient is rounded by its remainder.  Columns of f64
 * that this leaves open, as their squares may be no f64, are added up once more, each multiplied by a power of two of its own. */
#ifndef WF_CPU_LOOPS_COLUMN_VARIANCES_H
#define WF_CPU_LOOPS_COLUMN_VARIANCES_H

#include "cpu/loops/few_sums.h"
#include "cpu/loops/left_out.h"

#include <float.h>

/* What is added up, as a constant: at first, and, of columns that this leaves open, then. */
enum moments_of {
    OF_DIFFERENCES,
    OF_ELEMENTS,
    OF_SCALED,
    OF_FIRST = IS_F64 ? OF_ELEMENTS : OF_DIFFERENCES,
    OF_OTHER = IS_F64 ? OF_SCALED : OF_ELEMENTS,
};

/* Columns that are added up together; rows that are read of them at a time, unless these are so few that a line of each stays in
 * the first-level cache. */
enum { MOMENT_COLUMNS = IS_F64 ? 128 : 256, MOMENT_ROWS = 8, MOMENT_ROWS_FEW = 64 };

/* Of LANES columns. */
struct moments {
    vf64 base; /* what is subtracted from elements, or what they are multiplied by */
    struct pair sum, square;
    vi64 lacks; /* all ones: the pairs have lost something; of f64 not kept */
    vf64 nans;  /* how many are left out; otherwise not counted */
};

/* ---- sums ---- */

INLINE vf64 where_set(vi64 mask, vf64 x) {
    return (vf64)((vi64)x & mask);
}

/* Of each column one of the first elements, which is no NaN if there is one; 0 if it is not finite. */
INLINE vf64 some_numbers(struct strip strip) {
    vf64 found = widen(strip.x);
    for (size_t r = 1; r < strip.rows && r < MOMENT_ROWS && any_lane_set((vi64)(found != found)); r++) {
        strip.x += strip.stride_bytes;
        found = select_f64((vi64)(found == found), found, widen(strip.x));
    }
    return where_set((vi64)(found - found == 0), found);
}

INLINE void add_difference(struct moments *sums, vf64 x) {
    sums->sum.high += x;
    sums->square.high += x * x;
}

INLINE void add_element(struct moments *sums, vf64 x) {
    const struct pair product = IS_F64 ? two_product(x, x) : (struct pair){x * x, {0}};
    const struct pair sum = two_sum(sums->sum.high, x), square = two_sum(sums->square.high, product.high);
    sums->sum = (struct pair){sum.high, sums->sum.low + sum.low};
    sums->square = (struct pair){square.high, sums->square.low + (IS_F64 ? square.low + product.low : square.low)};
    if (!IS_F64) sums->lacks |= (vi64)(sum.low != 0) | (vi64)(square.low != 0);
}

INLINE void add_moment(struct moments *sums, vf64 x, enum moments_of of, bool leaves_out) {
    const vi64 is_nan = (vi64)(x != x);
    if (of == OF_DIFFERENCES) x -= sums->base;
    if (of == OF_SCALED) x *= sums->base;
    if (leaves_out) {
        x = where_set(~is_nan, x);
        sums->nans += where_set(is_nan, (vf64){0} + 1);
    }
    if (of == OF_DIFFERENCES)
        add_difference(sums, x);
    else
        add_element(sums, x);
}

/* Adds rows of a few columns. */
INLINE void add_some_moments(struct moments *sums, struct strip strip, enum moments_of of, bool leaves_out) {
    for (size_t r = 0; r < strip.rows; r++, strip.x += strip.stride_bytes) {
        UNROLLED
        for (size_t v = 0; v < FEW_VECTORS; v++) add_moment(&sums[v], widen(strip.x + v * LANES * sizeof(uword)), of, leaves_out);
    }
}

INLINE struct strip part_of_strip(struct strip strip, size_t row, size_t rows, size_t column, size_t columns) {
    strip.x += (int64_t)row * strip.stride_bytes + (int64_t)(column * sizeof(uword));
    strip.rows = strip.rows - row < rows ? strip.rows - row : rows;
    strip.columns = columns;
    return strip;
}

/* ---- columns of f64 by powers of two of their own ---- */

/* Of LANES columns, before they are added up: the largest magnitude of a number, unless there is an infinity, or a
 * NaN that is not left out; whether all numbers are alike. */
struct spread {
    vi64 largest, are_alike;
};

INLINE struct spread spread_of(struct strip strip, bool leaves_out) {
    const vf64 first = some_numbers(strip);
    struct spread found = {{0}, ~(vi64){0}};
    for (size_t r = 0; r < strip.rows; r++, strip.x += strip.stride_bytes) {
        const vf64 x = widen(strip.x);
        const vi64 is_left_out = leaves_out ? (vi64)(x != x) : (vi64){0}, magnitude = (vi64)x & INT64_MAX & ~is_left_out;
        const vi64 is_larger = magnitude > found.largest;
        found.are_alike &= (vi64)(x == first) | is_left_out;
        found.largest = (magnitude & is_larger) | (found.largest & ~is_larger);
    }
    return found;
}

#define EXPONENT_ONE (INT64_C(1) << 52)

/* The power of two that the largest magnitude is next above, but at least the least normal one, and at most one whose inverse
 * is normal. */
INLINE vf64 power_below(vi64 largest) {
    vi64 exponent = largest & INT64_C(0x7ff) << 52;
    const vi64 is_least = exponent == 0, is_most = exponent > 2045 * EXPONENT_ONE;
    exponent = (exponent & ~is_least & ~is_most) | (is_least & EXPONENT_ONE) | (is_most & 2045 * EXPONENT_ONE);
    return (vf64)exponent;
}

INLINE vf64 inverse_of_power(vf64 power) {
    return (vf64)(2046 * EXPONENT_ONE - (vi64)power);
}

/* The factor that brings elements near to 1; NaN where some are none. */
INLINE vf64 scale_of(const struct spread *spread) {
    const vi64 is_special = spread->largest >= 2047 * EXPONENT_ONE;
    return (vf64)((vi64)inverse_of_power(power_below(spread->largest)) | is_special);
}

/* What elements have that were not multiplied.  *lost: what is subnormal would be rounded twice; what is far smaller is 0. */
INLINE vf64 unscaled(vi64 *lost, vf64 found, vf64 scale, const struct spread *spread, bool is_root) {
    const vf64 power = inverse_of_power(scale);
    const vi64 is_nothing = spread->are_alike | (is_root ? (vi64){0} : (vi64)(power < 0x1p-540));
    found *= power;
    if (!is_root) found *= power;
    *lost = (*lost | ~(vi64)(found >= DBL_MIN)) & ~is_nothing;
    return where_set(~is_nothing, found);
}

/* ---- results ---- */

/* What is asked for of LANES columns.  *without: those that have too few numbers for a value. */
INLINE struct lane_quotient moments_quotient(vi64 *without, const struct moments *sums, const struct wf_quotient *asked,
                                             bool leaves_out) {
    struct lane_quotient lanes = quotient_at(asked, 0);
    *without = (vi64){0};
    if (!leaves_out) return lanes;
    lanes.count -= sums->nans;
    *without = (vi64)(lanes.count <= asked->ddof);
    lanes.divisor = select_f64(*without, (vf64){0} + 1, lanes.count * (lanes.count - asked->ddof));
    return lanes;
}

/* The variance lies between two numbers that are rounded alike. */
INLINE vf64 variance_of_differences(vi64 *lost, const struct moments *sums, const struct lane_quotient *asked) {
    const vf64 n = asked->count, minuend = n * sums->square.high;
    const vf64 numerator = minuend - sums->sum.high * sums->sum.high;
    const vf64 width = minuend * ((4 * n + 16) * 0x1p-53) + magnitude_of_f64(numerator) * 0x1p-50;
    vf64 low = (numerator - width) / asked->divisor, high = (numerator + width) / asked->divisor;
    if (asked->is_root) {
        low = root_of(where_set((vi64)(low > 0), low));
        high = root_of(high);
    }
    *lost = differ(low, high);
    return high;
}

/* Of pairs that lack nothing: rounded to odd, which another rounding, to a type of half as many bits, does not show.  *is_exact:
 * where that is so. */
INLINE vf64 exact_variance(vi64 *is_exact, const struct moments *sums, const struct lane_quotient *asked) {
    const struct pair minuend = two_product(asked->count, sums->square.high), square = two_product(sums->sum.high, sums->sum.high);
    const struct pair numerator = two_sum(minuend.high, -square.high);
    *is_exact = ~sums->lacks & (vi64)(minuend.low == 0) & (vi64)(square.low == 0) & (vi64)(numerator.low == 0) &
                (vi64)(asked->divisor < 0x1p26);
    const vf64 quotient = numerator.high / asked->divisor;
    const vf64 found = round_to_odd(quotient, fused(-quotient, asked->divisor, numerator.high));
    if (!asked->is_root) return found;
    const vf64 root = root_of(where_set((vi64)(found > 0), found));
    return round_to_odd(root, fused(-root, root, found));
}

INLINE vf64 variance_of_elements(vi64 *lost, const struct moments *sums, const struct lane_quotient *asked) {
    struct few_sums few = {.value = sums->sum, .square = sums->square};
    const vf64 found = variance_of(&few, asked);
    *lost = few.lost;
    if (IS_F64) return found;
    vi64 is_exact;
    const vf64 exact = exact_variance(&is_exact, sums, asked);
    *lost &= ~is_exact;
    return select_f64(is_exact, exact, found);
}

/* Whether there is an infinity, or a NaN that is not left out, as far as the sums tell: those of f64 may become infinite. */
INLINE vi64 are_special(const struct moments *sums, enum moments_of of) {
    const vf64 told = IS_F64 && of == OF_ELEMENTS ? sums->sum.high : sums->square.high;
    return IS_F64 ? (vi64)(told != told) : ~(vi64)(told - told == 0);
}

/* The results of LANES columns.  *lost: lanes, not all bits 0, that need more; *without: that have no value. */
INLINE vf64 moments_result(vi64 *lost, vi64 *without, const struct moments *sums, const struct wf_quotient *asked,
                           const struct spread *spread, enum moments_of of, bool leaves_out) {
    const struct lane_quotient lanes = moments_quotient(without, sums, asked, leaves_out);
    const vf64 quiet = (vf64)((vi64){0} + (INT64_C(0x7ff8) << 48));
    const vi64 special = are_special(sums, of);
    vf64 found = of == OF_DIFFERENCES ? variance_of_differences(lost, sums, &lanes) : variance_of_elements(lost, sums, &lanes);
    if (of == OF_SCALED) found = unscaled(lost, found, sums->base, spread, lanes.is_root);
    found = select_f64(special, quiet, round_to_element(found));
    *lost = asked->gives_nan || leaves_out ? *lost & ~special : *lost | special;
    *lost |= *without;
    return found;
}

/* ---- strips ---- */

/* A few columns: their sums, which stay in registers while all rows are added, or some. */
struct few_moments {
    struct moments sums[FEW_VECTORS];
    struct spread spread[FEW_VECTORS]; /* OF_SCALED */
};

INLINE void start_moments(struct few_moments *few, struct strip strip, enum moments_of of, bool leaves_out) {
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        const struct strip lanes = part_of_strip(strip, 0, strip.rows, v * LANES, LANES);
        few->sums[v] = (struct moments){.base = {0}};
        if (of == OF_DIFFERENCES) few->sums[v].base = some_numbers(lanes);
        if (of != OF_SCALED) continue;
        few->spread[v] = spread_of(lanes, leaves_out);
        few->sums[v].base = scale_of(&few->spread[v]);
    }
}

/* The results of some columns, and which of them are not known. */
struct moments_found {
    int64_t failed[MOMENT_COLUMNS], without[MOMENT_COLUMNS];
    vi64 any_failed, any_without;
};

INLINE void finish_moments(storage *results, struct moments_found *found, size_t column, const struct few_moments *few,
                           const struct wf_quotient *asked, enum moments_of of, bool leaves_out) {
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        const size_t c = column + v * LANES;
        vi64 lost, without;
        store_elements(results + c, moments_result(&lost, &without, &few->sums[v], asked, &few->spread[v], of, leaves_out));
        memcpy(found->failed + c, &lost, sizeof lost);
        memcpy(found->without + c, &without, sizeof without);
        found->any_failed |= lost;
        found->any_without |= without;
    }
}

/* The results of columns that have no value: the fill, if there is one. */
static void settle_without(storage *results, bool *has_failed, const int64_t *without, size_t columns,
                           const struct wf_quotient *asked) {
    for (size_t c = 0; c < columns; c++) {
        uword bits;
        if (without[c] && is_known_of_few(&bits, &has_failed[c], asked, 0)) memcpy(&results[c], &bits, sizeof bits);
    }
}

/* Of few rows: some columns after others. */
INLINE void find_of_few_rows(storage *results, struct moments_found *found, struct strip strip, const struct wf_quotient *asked,
                             enum moments_of of, bool leaves_out) {
    for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES) {
        const struct strip part = part_of_strip(strip, 0, strip.rows, c, FEW_VECTORS * LANES);
        struct few_moments few;
        start_moments(&few, part, of, leaves_out);
        add_some_moments(few.sums, part, of, leaves_out);
        finish_moments(results, found, c, &few, asked, of, leaves_out);
    }
}

/* Copies what rows change. */
INLINE void copy_sums(struct moments *to, const struct moments *from, enum moments_of of, bool leaves_out) {
    to->sum.high = from->sum.high;
    to->square.high = from->square.high;
    if (leaves_out) to->nans = from->nans;
    if (of == OF_DIFFERENCES) return;
    to->sum.low = from->sum.low;
    to->square.low = from->square.low;
    if (!IS_F64) to->lacks = from->lacks;
}

/* Of many rows: some after others, of all columns. */
INLINE void find_of_many_rows(storage *results, struct moments_found *found, struct strip strip, const struct wf_quotient *asked,
                              enum moments_of of, bool leaves_out) {
    enum { WIDTH = FEW_VECTORS * LANES };
    struct few_moments few[MOMENT_COLUMNS / WIDTH];
    for (size_t c = 0; c < strip.columns; c += WIDTH)
        start_moments(&few[c / WIDTH], part_of_strip(strip, 0, strip.rows, c, WIDTH), of, leaves_out);
    for (size_t r = 0; r < strip.rows; r += MOMENT_ROWS)
        for (size_t c = 0; c < strip.columns; c += WIDTH) {
            struct moments some[FEW_VECTORS], *all = few[c / WIDTH].sums;
            UNROLLED
            for (size_t v = 0; v < FEW_VECTORS; v++) some[v] = all[v];
            add_some_moments(some, part_of_strip(strip, r, MOMENT_ROWS, c, WIDTH), of, leaves_out);
            UNROLLED
            for (size_t v = 0; v < FEW_VECTORS; v++) copy_sums(&all[v], &some[v], of, leaves_out);
        }
    for (size_t c = 0; c < strip.columns; c += WIDTH)
        finish_moments(results, found, c, &few[c / WIDTH], asked, of, leaves_out);
}

/* The results of at most MOMENT_COLUMNS columns; returns whether any has failed. */
INLINE bool find_some_moments(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked,
                              enum moments_of of, bool leaves_out) {
    struct moments_found found;
    found.any_failed = found.any_without = (vi64){0};
    if (strip.rows <= MOMENT_ROWS_FEW)
        find_of_few_rows(results, &found, strip, asked, of, leaves_out);
    else
        find_of_many_rows(results, &found, strip, asked, of, leaves_out);
    memset(has_failed, 0, strip.columns * sizeof *has_failed);
    if (!any_lane_set(found.any_failed)) return false;
    for (size_t c = 0; c < strip.columns; c++) has_failed[c] = found.failed[c];
    if (any_lane_set(found.any_without)) settle_without(results, has_failed, found.without, strip.columns, asked);
    return memchr(has_failed, true, strip.columns);
}

/* What is asked for is a constant in each. */
APART bool find_first_moments(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked) {
    return find_some_moments(results, has_failed, strip, asked, OF_FIRST, false);
}

APART bool find_first_without_nans(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked) {
    return find_some_moments(results, has_failed, strip, asked, OF_FIRST, true);
}

APART bool find_other_moments(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked) {
    return find_some_moments(results, has_failed, strip, asked, OF_OTHER, false);
}

APART bool find_other_without_nans(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked) {
    return find_some_moments(results, has_failed, strip, asked, OF_OTHER, true);
}

/* Whether the squares of some numbers of a row of f64 may be no f64, or so small that their errors are none. */
static bool has_far_squares(const unsigned char *row, size_t columns) {
    vi64 any = {0};
    for (size_t c = 0; c < columns; c += LANES) {
        const vf64 magnitude = magnitude_of_f64(widen(row + c * sizeof(uword)));
        any |= (vi64)(magnitude > 0x1p500) & (vi64)(magnitude <= DBL_MAX);
        any |= (vi64)(magnitude < 0x1p-380) & (vi64)(magnitude > 0);
    }
    return any_lane_set(any);
}

/* The results of at most MOMENT_COLUMNS columns, as find_some_moments has them. */
static bool find_variances_of_part(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked) {
    const size_t width = FEW_VECTORS * LANES;
    const unsigned char *last = strip.x + (int64_t)(strip.rows - 1) * strip.stride_bytes;
    const bool is_far = IS_F64 && (has_far_squares(strip.x, strip.columns) || has_far_squares(last, strip.columns));
    if (is_far) return (asked->omits_nan ? find_other_without_nans : find_other_moments)(results, has_failed, strip, asked);
    if (!(asked->omits_nan ? find_first_without_nans : find_first_moments)(results, has_failed, strip, asked)) return false;
    for (size_t c = 0; c < strip.columns; c += width) {
        storage found[FEW_VECTORS * LANES];
        bool again[FEW_VECTORS * LANES];
        const struct strip few = part_of_strip(strip, 0, strip.rows, c, width);
        if (!memchr(has_failed + c, true, width)) continue;
        (asked->omits_nan ? find_other_without_nans : find_other_moments)(found, again, few, asked);
        for (size_t i = 0; i < width; i++) {
            if (!has_failed[c + i] || again[i]) continue;
            results[c + i] = found[i];
            has_failed[c + i] = false;
        }
    }
    return memchr(has_failed, true, strip.columns);
}

/* The same of any number of columns; nans is not used. */
static bool find_variances(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked, uword *nans) {
    bool any = false;
    (void)nans;
    for (size_t c = 0; c < strip.columns; c += MOMENT_COLUMNS) {
        const size_t left = strip.columns - c;
        const struct strip part = part_of_strip(strip, 0, strip.rows, c, left < MOMENT_COLUMNS ? left : MOMENT_COLUMNS);
        any |= find_variances_of_part(results + c, has_failed + c, part, asked);
    }
    return any;
}

#endif
