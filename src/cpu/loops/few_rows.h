/* Columns of a few floats, or a few hundred to be squared: what is asked for of each, in registers.  Lanes are columns, in place.
 *
 * A sum is an f64 and what it lost (Knuth's two-sum): of f32 and shorter types it loses nothing if their range is not too
 * wide, which a scan tells; of f64 and of products what is lost is added up, too, and what even that loses is bounded.
 * A quotient is rounded by its remainder, which is exact.  Variances are as exact as three or four f64 make them, and their
 * error has a bound: a lane fails unless all that lies within it is rounded to the same result (Ziv, "Fast evaluation of
 * elementary mathematical functions with correctly rounded last bit", 1991).  Infinities and NaNs fail. */
#ifndef WF_CPU_LOOPS_FEW_ROWS_H
#define WF_CPU_LOOPS_FEW_ROWS_H

#include "cpu/loops/few_sums.h"
#include "cpu/loops/panel_sums.h"
#include "cpu/loops/row_sums.h"

/* ---- results ---- */

INLINE bool any_lane_set(vi64 lanes) {
    int64_t any = 0;
    UNROLLED
    for (int lane = 0; lane < LANES; lane++) any |= lanes[lane];
    return any;
}

/* The means of sums that may be inexact: a lane fails there unless all that it may be is rounded alike. */
INLINE vf64 mean_within(struct few_sums *sums, const struct lane_quotient *asked) {
    vf64 n = asked->divisor;
    struct pair mean = quotient_of(two_sum(sums->value.high, sums->value.low), n);
    vf64 width = sums->bound * (1 + 0x1p-40) / n + magnitude_of_f64(mean.high) * 0x1p-97;
    sums->lost |= ~(vi64)(magnitude_of_f64(mean.high) >= 0x1p-900);
    if (!IS_F64) {
        width += magnitude_of_f64(mean.high) * 0x1p-51;
        sums->lost |= differ(mean.high - width, mean.high + width);
        return mean.high;
    }
    sums->lost |= ~(vi64)(mean.high + (mean.low - width) == mean.high + (mean.low + width));
    return mean.high + mean.low;
}

INLINE vf64 mean_of(struct few_sums *sums, const struct lane_quotient *asked) {
    vf64 n = asked->divisor, sum = sums->value.high, quotient = sum / n;
    if (IS_F64 && any_lane_set((vi64)(sums->bound != 0))) return mean_within(sums, asked);
    if (IS_F64) return mean_of_pair(&sums->lost, sums->value, n, asked->is_power);
    return round_to_odd(quotient, fused(-quotient, n, sum));
}

/* n*S2 is at least as large as S1^2, and what is added up of it loses less than N^2 * 2^-103 of it, where N is n and what lanes
 * are added up by; S1 has lost as little of the sum of magnitudes, whose square is at most n*S2.  That of one element is
 * 0, as are norms of zeros: these have the sums of magnitudes. */
INLINE vf64 variance_of(struct few_sums *sums, const struct lane_quotient *asked) {
    const vi64 is_zero = asked->is_norm ? (vi64)(sums->value.high == 0) : (vi64)(asked->count == 1);
    const vf64 additions = asked->count + 2 * LANES;
    vf64 bound = sums->square.high * (additions * additions * 0x1p-102);
    if (!asked->is_norm) bound *= asked->count;
    sums->lost = ~(vi64)(bound > 0x1p-900); /* what subnormal products lack is far below that */
    struct pair found = variance_of_pairs(sums->value, sums->square, asked, &bound);
    sums->lost = (sums->lost | ~(vi64)(found.high > 0)) & ~is_zero;
    found.high = (vf64)(((vi64)(sums->value.high - sums->value.high) & is_zero) | ((vi64)found.high & ~is_zero));
    found.low = (vf64)((vi64)found.low & ~is_zero);
    bound = (vf64)((vi64)bound & ~is_zero);
    if (!IS_F64) {
        vf64 width = found.high * 0x1p-51 + bound;
        sums->lost |= differ(found.high - width, found.high + width);
        return found.high;
    }
    sums->lost |= ~(vi64)(found.high + (found.low - bound) == found.high + (found.low + bound));
    return found.high;
}

/* ---- sums ---- */

/* Vectors of columns that are added up at a time: a line of each row, which might not stay in the cache if rows are a power
 * of two apart; but no more than there are registers for, and two, of which one is added while the other waits. */
enum {
    FEW_OF_LINE = 64 / (int)sizeof(uword) / LANES,
    FEW_VECTORS = FEW_OF_LINE < 2 ? 2 : FEW_OF_LINE > UNROLL_MAX ? UNROLL_MAX : FEW_OF_LINE,
};

/* What is asked for, as a constant.  A pair is two rows: IEEE addition rounds their exact sum once, infinities included, and
 * so do f64 for narrower types, since they have more than twice their bits and two (Figueroa, "When is double rounding
 * innocuous?", 1995). */
enum few_asked { FEW_PAIR, FEW_SUM, FEW_MAGNITUDES, FEW_MEAN, FEW_VARIANCE };

/* Whether a range tells if sums are exact. */
INLINE bool is_few_scanned(enum few_asked asked) {
    return !IS_F64 && asked != FEW_PAIR;
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
    if (!IS_F64 || asked == FEW_PAIR) {
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

INLINE vf64 few_result(struct few_sums *sums, const struct lane_quotient *quotient, enum few_asked asked) {
    switch (asked) {
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

/* The dot products of some columns, in functions of their own: with both, clang does not unroll the loops above. */
INLINE void find_some_dots(rounded *results, int64_t *failed, struct strip strip) {
    struct few_sums sums[FEW_VECTORS];
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        const size_t at = v * LANES * sizeof(uword);
        sums[v] = (struct few_sums){.bound = {0}};
        sums[v].value = few_product(&sums[v], widen(strip.x + at), widen(strip.y + at));
    }
    for (size_t r = 1; r < strip.rows; r++) {
        strip.x += strip.stride_bytes;
        strip.y += strip.y_stride_bytes;
        UNROLLED
        for (size_t v = 0; v < FEW_VECTORS; v++)
            add_few_product(&sums[v], widen(strip.x + v * LANES * sizeof(uword)),
                            widen(strip.y + v * LANES * sizeof(uword)));
    }
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        vf64 found = round_to_element(rounded_sum(&sums[v]));
        vi64 lost = sums[v].lost | (vi64)(found - found);
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

/* The strip after the next one: rows are too far apart for the processor to expect all of them. */
INLINE void prefetch_few(struct strip strip) {
    enum { FEW_ENOUGH = 8 }; /* that they do not push each other out of the cache */
    size_t nbytes = strip.columns * sizeof(uword);
    for (size_t r = 0; r < strip.rows && strip.rows <= FEW_ENOUGH; r++)
        prefetch_next_strip(strip.x + (int64_t)r * strip.stride_bytes, (int64_t)(2 * nbytes), nbytes);
    for (size_t r = 0; r < strip.rows && strip.rows <= FEW_ENOUGH && strip.y != strip.x; r++)
        prefetch_next_strip(strip.y + (int64_t)r * strip.y_stride_bytes, (int64_t)(2 * nbytes), nbytes);
}

/* ---- dot products ---- */

/* Rows, which are far apart, are read in pieces of that many columns, a few of them at a time. */
enum { QUICK_COLUMNS = 256, QUICK_ROWS = 8 };

/* Adds some rows of a few columns. */
INLINE void add_quick_rows(struct quick_sums *sums, struct strip strip, size_t rows) {
    struct quick_sums some[FEW_VECTORS];
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) some[v] = sums[v];
    for (size_t r = 0; r < rows; r++, strip.x += strip.stride_bytes, strip.y += strip.y_stride_bytes) {
        UNROLLED
        for (size_t v = 0; v < FEW_VECTORS; v++)
            add_quick_product(&some[v], widen(strip.x + v * LANES * sizeof(uword)),
                              widen(strip.y + v * LANES * sizeof(uword)));
    }
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) sums[v] = some[v];
}

INLINE struct strip strip_at(struct strip strip, size_t row, size_t column) {
    strip.x += (int64_t)row * strip.stride_bytes + (int64_t)(column * sizeof(uword));
    strip.y += (int64_t)row * strip.y_stride_bytes + (int64_t)(column * sizeof(uword));
    return strip;
}

/* With a bound that is known beforehand, of at most QUICK_COLUMNS columns. */
APART void find_quick_dots(rounded *results, int64_t *failed, struct strip strip) {
    struct quick_sums sums[QUICK_COLUMNS / LANES];
    memset(sums, 0, strip.columns / LANES * sizeof *sums);
    for (size_t r = 0; r < strip.rows; r += QUICK_ROWS) {
        size_t rows = strip.rows - r < QUICK_ROWS ? strip.rows - r : QUICK_ROWS;
        for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES)
            add_quick_rows(sums + c / LANES, strip_at(strip, r, c), rows);
    }
    for (size_t c = 0; c < strip.columns; c += LANES) {
        vi64 lost;
        store_elements(results + c, rounded_quick(&lost, &sums[c / LANES], strip.rows));
        memcpy(failed + c, &lost, sizeof lost);
    }
}

static bool any_failed(const int64_t *failed, size_t used) {
    int64_t any = 0;
    for (size_t c = 0; c < used; c++) any |= failed[c];
    return any;
}

/* Finds the dot products of a strip by the longer way. */
APART bool find_few_dots(rounded *results, struct strip strip, size_t used) {
    int64_t failed[WF_STRIP_COLUMNS];
    for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES)
        find_some_dots(results + c, failed + c, strip_at(strip, 0, c));
    return !any_failed(failed, used);
}

INLINE size_t lesser(size_t a, size_t b) {
    return a < b ? a : b;
}

/* As find_few_rows. */
static void find_all_dots(rounded *results, const struct wf_panel *panel, size_t used, bool *has_failed) {
    const struct strip all = {panel->x, panel->stride_bytes, panel->rows, 0, 0, panel->y, panel->y_stride_bytes};
    const size_t columns = panel->columns, one = lesser(columns, WF_STRIP_COLUMNS);
    const size_t most = panel->rows > QUICK_ROWS ? QUICK_COLUMNS : one;
    int64_t failed[QUICK_COLUMNS];
    for (size_t first = 0, width; first < columns; first += width) {
        width = lesser(columns - first < one ? one : (columns - first) / one * one, most);
        const size_t begin = lesser(first, columns - width); /* the last strip may begin in the one before */
        struct strip strip = strip_at(all, 0, begin);
        strip.columns = width;
        prefetch_few(strip);
        find_quick_dots(results + begin, failed, strip);
        strip.columns = one;
        for (size_t c = 0; c < width; c += one) {
            size_t left = lesser(used - begin - c, one);
            has_failed[(first + c) / WF_STRIP_COLUMNS] =
                any_failed(failed + c, left) && !find_few_dots(results + begin + c, strip_at(strip, 0, c), left);
        }
    }
}

typedef bool find_few_function(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient);

static find_few_function *few_function(const struct wf_quotient *asked, size_t rows) {
    if (asked->parts & WF_PART_SQUARES) return find_few_variances;
    if (asked->is_divided) return find_few_means;
    if (asked->parts & WF_PART_ABS) return find_few_magnitudes;
    return rows == 2 ? find_few_pairs : find_few_sums;
}

wf_few_rows_function WF_LOOPS_NAME(find_few_rows, TYPE, TIER);

void WF_LOOPS_NAME(find_few_rows, TYPE, TIER)(const struct wf_panel *rows, size_t used, const struct wf_quotient *asked,
                                              void *results, bool *has_failed) {
    find_few_function *find = few_function(asked, rows->rows);
    if (asked->parts & WF_PART_DOT) {
        find_all_dots(results, rows, used, has_failed);
        forget_rounding();
        return;
    }
    const unsigned char *y = rows->y ? rows->y : rows->x;
    const size_t columns = rows->columns, width = columns < WF_STRIP_COLUMNS ? columns : WF_STRIP_COLUMNS;
    for (size_t first = 0; first < columns; first += width) {
        size_t begin = columns - first < width ? columns - width : first; /* the last strip may begin in the one before, */
        struct strip strip = {rows->x + begin * sizeof(uword), rows->stride_bytes, rows->rows, width, 0,
                              y + begin * sizeof(uword), rows->y_stride_bytes};
        size_t left = used - begin < width ? used - begin : width;
        rounded found[WF_STRIP_COLUMNS], *own = begin == first ? (rounded *)results + begin : found;
        prefetch_few(strip);
        has_failed[first / WF_STRIP_COLUMNS] = !find(own, strip, left, asked);
        /* whose results stay: where this one fails, they may be others, as which of two ways is taken depends on a vector's lanes */
        if (begin != first) memcpy((rounded *)results + first, found + (first - begin), (columns - first) * sizeof *found);
    }
    forget_rounding();
}

#endif
