/* Columns of a few floats, or a few hundred to be squared: what is asked for of each, in registers.  Lanes are columns, in place.
 *
 * A sum is an f64 and what it lost (Knuth's two-sum): of f32 and shorter types it loses nothing if their range is not too
 * wide, which a scan tells; of f64 and of products what is lost is added up, too, and what even that loses is bounded.
 * A quotient is rounded by its remainder, which is exact.  Variances are as exact as three or four f64 make them, and their
 * error has a bound: a lane fails unless all that lies within it is rounded to the same result (Ziv, "Fast evaluation of
 * elementary mathematical functions with correctly rounded last bit", 1991).  Infinities fail, and NaNs that do not make the
 * result one. */
#ifndef WF_CPU_LOOPS_FEW_ROWS_H
#define WF_CPU_LOOPS_FEW_ROWS_H

#include "cpu/loops/few_sums.h"
#include "cpu/loops/panel_sums.h"
#include "cpu/loops/row_sums.h"

/* ---- sums ---- */

/* What is asked for, as a constant.  A pair is two rows: IEEE addition rounds their exact sum once, infinities included, and
 * so do f64 for narrower types, since they have more than twice their bits and two (Figueroa, "When is double rounding
 * innocuous?", 1995).  The deviation of a pair is half its distance, which is often half-way between two floats. */
enum few_asked { FEW_PAIR, FEW_DISTANCE, FEW_SUM, FEW_MAGNITUDES, FEW_MEAN, FEW_VARIANCE };

/* Whether a range tells if sums are exact. */
INLINE bool is_few_scanned(enum few_asked asked) {
    return !IS_F64 && asked != FEW_PAIR && asked != FEW_DISTANCE;
}

/* The square of the first element. */
INLINE void start_few_square(struct few_sums *sums) {
    const vf64 x = sums->value.high;
    sums->square = IS_F64 ? two_product(x, x) : (struct pair){x * x, {0}};
}

INLINE void add_few_square(struct few_sums *sums, vf64 x) {
    struct pair square = {x * x, {0}};
    if (IS_F64) square = two_product(x, x);
    struct pair sum = two_sum(sums->square.high, square.high);
    sums->square = (struct pair){sum.high, sums->square.low + (IS_F64 ? sum.low + square.low : sum.low)};
}

/* Adds the elements of one more row.  is_second: nothing has been lost before. */
INLINE void add_few(struct few_sums *sums, const unsigned char *x, enum few_asked asked, bool is_second) {
    vf64 value = value_of(widen(x), asked == FEW_MAGNITUDES);
    if (asked == FEW_DISTANCE) {
        sums->value = two_sum(sums->value.high, -value);
    } else if (!IS_F64 || asked == FEW_PAIR) {
        sums->value.high += value;
    } else {
        struct pair sum = two_sum(sums->value.high, value);
        sums->value.high = sum.high;
        if (asked == FEW_VARIANCE || is_second)
            sums->value.low += sum.low;
        else
            add_lost(sums, sum.low);
    }
    if (asked == FEW_VARIANCE) add_few_square(sums, value);
}

INLINE void start_few(struct few_sums *sums, const unsigned char *x, enum few_asked asked) {
    *sums = (struct few_sums){.value = {value_of(widen(x), asked == FEW_MAGNITUDES), {0}}};
    if (asked == FEW_VARIANCE) start_few_square(sums);
}

/* Half the distance, unless it is a subnormal f64. */
INLINE vf64 half_distance(struct few_sums *sums) {
    const vf64 distance = magnitude_of_f64(sums->value.high), half = distance * 0.5;
    if (!IS_F64) return magnitude_of_f64(round_to_odd(sums->value.high, sums->value.low)) * 0.5;
    sums->lost = ~(vi64)(half + half == distance);
    return half;
}

INLINE vf64 few_result(struct few_sums *sums, const struct lane_quotient *quotient, enum few_asked asked) {
    switch (asked) {
    case FEW_DISTANCE: return half_distance(sums);
    case FEW_MEAN: return mean_of(sums, quotient);
    case FEW_VARIANCE: return variance_of(sums, quotient);
    default: return IS_F64 && asked != FEW_PAIR ? rounded_sum(sums) : sums->value.high;
    }
}

/* Adds one more row to each vector's sums. */
INLINE void add_few_row(struct few_sums *sums, struct scan *scan, const unsigned char *x, enum few_asked asked,
                        bool is_second) {
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        if (is_few_scanned(asked) && v * LANES % STEP == 0) scan_bounds(scan, x + v * LANES * sizeof(uword));
        add_few(&sums[v], x + v * LANES * sizeof(uword), asked, is_second);
    }
}

/* The results of some columns, the first of which is that one of a strip.  failed: lanes, not all bits 0, that have failed. */
INLINE void find_few(rounded *results, int64_t *failed, struct scan *scan, struct strip strip,
                     const struct wf_quotient *quotient, size_t column, enum few_asked asked) {
    struct few_sums sums[FEW_VECTORS];
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        if (is_few_scanned(asked) && v * LANES % STEP == 0) scan_bounds(scan, strip.x + v * LANES * sizeof(uword));
        start_few(&sums[v], strip.x + v * LANES * sizeof(uword), asked);
    }
    if (strip.rows > 1) add_few_row(sums, scan, strip.x += strip.stride_bytes, asked, true);
    for (size_t r = 2; r < strip.rows; r++) add_few_row(sums, scan, strip.x += strip.stride_bytes, asked, false);
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        const struct lane_quotient lanes = quotient_at(quotient, column + v * LANES);
        vf64 found = round_to_element(few_result(&sums[v], &lanes, asked));
        vi64 lost = asked == FEW_PAIR ? ~(vi64)(found == found) : sums[v].lost | (vi64)(found - found);
        store_elements(results + v * LANES, found);
        memcpy(failed + v * LANES, &lost, sizeof lost);
    }
}

/* Whether the elements are finite, and the sums of that many are f64. */
INLINE bool are_sums_f64(const struct scan *scan, size_t rows) {
    const int sum_bits = 64 - wf_leading_zeros_u64(rows);
    struct magnitudes found = scanned_magnitudes(scan);
    struct range range = range_of(found);
    return found.max < INFINITY_BITS && range.top - range.low <= 53 - sum_bits;
}
INLINE bool find_few_of_strip(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient,
                              enum few_asked asked) {
    int64_t failed[WF_STRIP_COLUMNS], any = 0;
    struct scan scan = RANGE_SCAN_START;
    for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES) {
        struct strip part = strip;
        part.x += c * sizeof(uword);
        find_few(results + c, failed + c, &scan, part, quotient, c, asked);
    }
    for (size_t c = 0; c < used; c++) any |= failed[c];
    return any == 0 && (!is_few_scanned(asked) || are_sums_f64(&scan, strip.rows));
}

/* What is asked for is a constant in each. */
APART bool find_few_pairs(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient) {
    return find_few_of_strip(results, strip, used, quotient, FEW_PAIR);
}

APART bool find_few_distances(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient) {
    return find_few_of_strip(results, strip, used, quotient, FEW_DISTANCE);
}

APART bool find_few_sums(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient) {
    return find_few_of_strip(results, strip, used, quotient, FEW_SUM);
}

APART bool find_few_magnitudes(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient) {
    return find_few_of_strip(results, strip, used, quotient, FEW_MAGNITUDES);
}

APART bool find_few_means(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient) {
    return find_few_of_strip(results, strip, used, quotient, FEW_MEAN);
}

APART bool find_few_variances(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient) {
    return find_few_of_strip(results, strip, used, quotient, FEW_VARIANCE);
}

typedef bool find_few_function(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient);

static find_few_function *few_function(const struct wf_quotient *asked, size_t rows) {
    const bool is_deviation = asked->parts & WF_PART_SUM && asked->is_root;
    if (is_deviation && rows == 2 && asked->divisor == 4 && !asked->counts) return find_few_distances;
    if (asked->parts & WF_PART_SQUARES) return find_few_variances;
    if (asked->is_divided) return find_few_means;
    if (asked->parts & WF_PART_ABS) return find_few_magnitudes;
    return rows == 2 ? find_few_pairs : find_few_sums;
}

/* The same of a strip that has failed, if there are NaNs among the results, as NaNs make them: of a copy with 0 in their place.
 * False if it fails again. */
APART bool find_few_with_nans(rounded *results, struct strip strip, size_t used, const struct wf_quotient *asked,
                              find_few_function *find) {
    const uword nan = INFINITY_BITS | HIDDEN_BIT >> 1;
    uword copy[WF_FEW_ROWS_MAX * WF_STRIP_COLUMNS], nans[WF_STRIP_COLUMNS] = {0}, any = 0;
    for (size_t c = 0; c < used; c++) any |= is_nan(bits_at((const unsigned char *)results, c));
    if (!any) return false;
    for (size_t r = 0; r < strip.rows; r++)
        for (size_t c = 0; c < strip.columns; c++) {
            const uword bits = bits_at(strip.x + (int64_t)r * strip.stride_bytes, c), is_nan = (uword)-((bits & MAGNITUDE) > INFINITY_BITS);
            copy[r * strip.columns + c] = (uword)(bits & ~is_nan);
            nans[c] |= is_nan;
        }
    strip.x = (const unsigned char *)copy;
    strip.stride_bytes = (int64_t)(strip.columns * sizeof(uword));
    if (!find(results, strip, used, asked)) return false;
    for (size_t c = 0; c < strip.columns; c++)
        if (nans[c]) memcpy(&results[c], &nan, sizeof nan);
    return true;
}

wf_few_rows_function WF_LOOPS_NAME(find_few_rows, TYPE, TIER);

void WF_LOOPS_NAME(find_few_rows, TYPE, TIER)(const struct wf_panel *rows, size_t used, const struct wf_quotient *asked,
                                              void *results, bool *has_failed) {
    find_few_function *find = few_function(asked, rows->rows);
    const size_t columns = rows->columns, width = columns < WF_STRIP_COLUMNS ? columns : WF_STRIP_COLUMNS;
    for (size_t first = 0; first < columns; first += width) {
        size_t begin = columns - first < width ? columns - width : first; /* the last strip may begin in the one before, */
        struct strip strip = {rows->x + begin * sizeof(uword), rows->stride_bytes, rows->rows, width, 0, NULL, 0};
        size_t left = used - begin < width ? used - begin : width;
        rounded found[WF_STRIP_COLUMNS], *own = begin == first ? (rounded *)results + begin : found;
        prefetch_few(strip);
        bool is_found = find(own, strip, left, asked);
        if (!is_found && asked->gives_nan && strip.rows <= WF_FEW_ROWS_MAX)
            is_found = find_few_with_nans(own, strip, left, asked, find);
        has_failed[first / WF_STRIP_COLUMNS] = !is_found;
        /* whose results stay: where this one fails, they may be others, as which of two ways is taken depends on a vector's lanes */
        if (begin != first) memcpy((rounded *)results + first, found + (first - begin), (columns - first) * sizeof *found);
    }
    forget_rounding();
}

#endif
