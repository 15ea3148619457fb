/* Columns of a few floats, or a few hundred to be squared: what is asked for of each, in registers.  Lanes are columns, in place.
 *
 * A sum is an f64 and what it lost (Knuth's two-sum): of f32 and shorter types it loses nothing if their range is not too
 * wide, which a scan tells; of f64 and of products what is lost is added up, too, and what even that loses is bounded.
 * A quotient is rounded by its remainder, which is exact.  Variances are as exact as three or four f64 make them, and their
 * error has a bound: a lane fails unless all that lies within it is rounded to the same result (Ziv, "Fast evaluation of
 * elementary mathematical functions with correctly rounded last bit", 1991).  Sums and means of infinities and NaNs are what
 * IEEE addition makes of them; variances fail.  A strip whose NaNs are left out is done once more without them. */
#ifndef WF_CPU_LOOPS_FEW_ROWS_H
#define WF_CPU_LOOPS_FEW_ROWS_H

#include "cpu/loops/exact_columns.h"
#include "cpu/loops/few_sums.h"
#include "cpu/loops/left_out.h"
#include "cpu/loops/panel_sums.h"
#include "cpu/loops/row_sums.h"

/* ---- sums ---- */

/* What is asked for, as a constant.  A pair is two rows: IEEE addition rounds their exact sum once, infinities included, and
 * so do f64 for narrower types, since they have more than twice their bits and two (Figueroa, "When is double rounding
 * innocuous?", 1995); half of it, their mean, is exact unless the sum is infinite.  The deviation of a pair is half its distance,
 * which is often half-way between two floats. */
enum few_asked { FEW_PAIR, FEW_PAIR_MEAN, FEW_DISTANCE, FEW_SUM, FEW_MAGNITUDES, FEW_MEAN, FEW_VARIANCE };

INLINE bool is_few_pair(enum few_asked asked) {
    return asked == FEW_PAIR || asked == FEW_PAIR_MEAN;
}

/* Whether a range tells if sums are exact. */
INLINE bool is_few_scanned(enum few_asked asked) {
    return !IS_F64 && !is_few_pair(asked) && asked != FEW_DISTANCE;
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
    } else if (!IS_F64 || is_few_pair(asked)) {
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
    case FEW_PAIR_MEAN: return sums->value.high * 0.5;
    case FEW_DISTANCE: return half_distance(sums);
    case FEW_MEAN: return mean_of(sums, quotient);
    case FEW_VARIANCE: return variance_of(sums, quotient);
    default: return IS_F64 && asked != FEW_PAIR ? rounded_sum(sums) : sums->value.high;
    }
}

/* Scans for the range of what is finite. */
INLINE void scan_finite_bounds(struct scan *scan, const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    bits &= (sword)MAGNITUDE;
    bits = select_where(bits >= (sword)INFINITY_BITS, (vsword){0}, bits);
    scan_bounds(scan, (const unsigned char *)&bits);
}

INLINE void scan_few(struct scan *scan, const unsigned char *x, bool with_specials) {
    if (with_specials)
        scan_finite_bounds(scan, x);
    else
        scan_bounds(scan, x);
}

/* Adds one more row to each vector's sums. */
INLINE void add_few_row(struct few_sums *sums, struct scan *scan, const unsigned char *x, enum few_asked asked,
                        bool is_second, bool with_specials) {
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        if (is_few_scanned(asked) && v * LANES % STEP == 0) scan_few(scan, x + v * LANES * sizeof(uword), with_specials);
        add_few(&sums[v], x + v * LANES * sizeof(uword), asked, is_second);
    }
}

/* A bound, which is NaN in lanes that have infinities or NaNs: their results are known, and others of the vector may be exact. */
INLINE vf64 known_bound(vf64 bound) {
    return (vf64)((vi64)bound & (vi64)(bound == bound));
}

INLINE vf64 with_quiet_nans(vf64 x) {
    return select_f64((vi64)(x == x), x, (vf64)((vi64){0} + (INT64_C(0x7ff8) << 48)));
}

/* Results of sums of types shorter than f64, which do not overflow, where NaNs are results: a sum that is infinite or NaN is what
 * IEEE addition makes of infinities and NaNs, whatever the order. */
INLINE vf64 with_special_sums(vi64 *lost, vf64 found, vf64 sum) {
    const vi64 is_number = (vi64)(sum - sum == 0);
    *lost &= is_number;
    return select_f64(is_number, found, with_quiet_nans(sum));
}

/* Stores results of f64, rounded to elements, of which f32 are rounded where they are stored; returns lanes, not all bits 0, that
 * have failed.  expects_specials: of types shorter than f64 results may be infinite or NaN; else their range fails the strip. */
INLINE vi64 store_few(rounded *results, vf64 found, const struct few_sums *sums, enum few_asked asked, bool expects_specials,
                      bool gives_nan) {
    if (IS_F64 || asked == FEW_DISTANCE || asked == FEW_VARIANCE) {
        found = round_to_element(found);
        store_elements(results, found);
        return asked == FEW_PAIR ? ~(vi64)(found == found) : sums->lost | (vi64)(found - found);
    }
    if (expects_specials && asked == FEW_MEAN)
        found = select_f64((vi64)(sums->value.high - sums->value.high == 0), found, sums->value.high);
    if (expects_specials) found = with_quiet_nans(found);
    store_elements(results, ELEMENT == ELEMENT_F32 ? found : round_to_element(found));
    return expects_specials && !gives_nan ? ~(vi64)(found == found) : (vi64){0};
}

/* So small that numbers, of which WF_EXACT_ROWS_MAX are added up, do not overflow: what is not finite comes of infinities and NaNs. */
static const double without_overflow = 0x1p-100;

/* Of f64: makes results that have failed what IEEE addition makes of their infinities and NaNs, whatever the order, as small ones show.
 * Returns those that have none, whose sums have overflowed or are not known, and, unless NaNs are results, those that are NaN. */
INLINE vi64 settle_by_small(rounded *results, vi64 lost, vf64 small, bool gives_nan) {
    const vi64 is_special = ~(vi64)(small - small == 0);
    const vf64 found = select_f64(is_special, small, widen((const unsigned char *)results));
    store_elements(results, with_quiet_nans(found));
    lost &= ~is_special;
    return gives_nan ? lost : lost | ~(vi64)(found == found);
}

INLINE vf64 add_small(vf64 sum, const unsigned char *x, bool magnitudes) {
    return quiet_multiply_add(value_of(widen(x), magnitudes), (vf64){0} + without_overflow, sum);
}

APART vi64 settle_few_specials(rounded *results, vi64 lost, struct strip strip, bool magnitudes, bool gives_nan) {
    vf64 small = {0};
    for (size_t r = 0; r < strip.rows; r++, strip.x += strip.stride_bytes) small = add_small(small, strip.x, magnitudes);
    return settle_by_small(results, lost, small, gives_nan);
}

/* Lanes that have failed, of columns that are used, the first of which is that one. */
INLINE vi64 any_used(const vi64 lost[FEW_VECTORS], size_t column, size_t used) {
    const vi64 place = {EACH_LANE(SAME_LANE, 0)};
    vi64 any = {0};
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) any |= lost[v];
    if (column + FEW_VECTORS * LANES <= used) return any;
    any = (vi64){0};
    for (size_t v = 0; v < FEW_VECTORS; v++) any |= lost[v] & (place + (int64_t)(column + v * LANES) < (int64_t)used);
    return any;
}

/* The results of some columns, the first of which is that one of a strip.  Returns lanes, not all bits 0, of columns of which some
 * has failed; `used` of the strip's matter. */
INLINE vi64 find_few(rounded *results, struct scan *scan, struct strip strip, size_t used, const struct wf_quotient *quotient,
                     size_t column, enum few_asked asked, bool with_specials) {
    const bool are_expected = with_specials || is_few_pair(asked);
    struct strip own = strip;
    struct few_sums sums[FEW_VECTORS];
    vi64 lost[FEW_VECTORS], any = {0};
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        if (is_few_scanned(asked) && v * LANES % STEP == 0) scan_few(scan, strip.x + v * LANES * sizeof(uword), with_specials);
        start_few(&sums[v], strip.x + v * LANES * sizeof(uword), asked);
    }
    if (strip.rows > 1) add_few_row(sums, scan, strip.x += strip.stride_bytes, asked, true, with_specials);
    for (size_t r = 2; r < strip.rows; r++) add_few_row(sums, scan, strip.x += strip.stride_bytes, asked, false, with_specials);
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        const struct lane_quotient lanes = quotient_at(quotient, column + v * LANES);
        if (IS_F64 && with_specials) sums[v].bound = known_bound(sums[v].bound);
        const vf64 found = few_result(&sums[v], &lanes, asked);
        lost[v] = store_few(results + v * LANES, found, &sums[v], asked, are_expected, quotient->gives_nan);
        any |= lost[v];
    }
    if (!IS_F64 || !are_expected || !any_lane_set(any)) return any_used(lost, column, used);
    for (size_t v = 0; v < FEW_VECTORS; v++, own.x += LANES * sizeof(uword))
        lost[v] = settle_few_specials(results + v * LANES, lost[v], own, asked == FEW_MAGNITUDES, quotient->gives_nan);
    return any_used(lost, column, used);
}

/* Whether the elements are finite, and the sums of that many are f64. */
INLINE bool are_sums_f64(const struct scan *scan, size_t rows) {
    const int sum_bits = 64 - wf_leading_zeros_u64(rows);
    struct magnitudes found = scanned_magnitudes(scan);
    struct range range = range_of(found);
    return found.max < INFINITY_BITS && range.top - range.low <= 53 - sum_bits;
}

INLINE bool find_few_of_strip(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient,
                              enum few_asked asked, bool with_specials) {
    vi64 failed = {0};
    struct scan scan = RANGE_SCAN_START;
    for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES) {
        struct strip part = strip;
        part.x += c * sizeof(uword);
        failed |= find_few(results + c, &scan, part, used, quotient, c, asked, with_specials);
    }
    return !any_lane_set(failed) && (!is_few_scanned(asked) || are_sums_f64(&scan, strip.rows));
}

/* What is asked for is a constant in each. */
#define FIND_FEW(name, asked, with_specials)                                                                         \
    APART bool name(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient) {         \
        return find_few_of_strip(results, strip, used, quotient, asked, with_specials);                              \
    }
FIND_FEW(find_few_pairs, FEW_PAIR, false)
FIND_FEW(find_few_pair_means, FEW_PAIR_MEAN, false)
FIND_FEW(find_few_distances, FEW_DISTANCE, false)
FIND_FEW(find_few_sums, FEW_SUM, false)
FIND_FEW(find_few_magnitudes, FEW_MAGNITUDES, false)
FIND_FEW(find_few_means, FEW_MEAN, false)
FIND_FEW(find_few_variances, FEW_VARIANCE, false)
/* Where elements may be infinite or NaN. */
FIND_FEW(find_few_special_sums, FEW_SUM, true)
FIND_FEW(find_few_special_magnitudes, FEW_MAGNITUDES, true)
FIND_FEW(find_few_special_means, FEW_MEAN, true)

/* ---- sums that are exact ---- */

/* The small sums of a strip of f64, a few rows at a time: all rows of a few columns may push each other out of the cache. */
APART void add_small_rows(vf64 *small, struct strip strip, bool magnitudes) {
    memset(small, 0, strip.columns / LANES * sizeof *small);
    for (size_t r = 0; r < strip.rows; r += EXACT_ROWS) {
        const size_t rows = strip.rows - r < EXACT_ROWS ? strip.rows - r : EXACT_ROWS;
        for (size_t c = 0; c < strip.columns; c += LANES) {
            const unsigned char *x = strip.x + (int64_t)r * strip.stride_bytes + c * sizeof(uword);
            vf64 sum = small[c / LANES];
            for (size_t i = 0; i < rows; i++, x += strip.stride_bytes) sum = add_small(sum, x, magnitudes);
            small[c / LANES] = sum;
        }
    }
}

/* Of f64: what is not finite becomes what IEEE addition makes of it: in many vectors by a pass over all rows. */
static void settle_exact_specials(rounded *results, vi64 *lost, struct strip strip, bool magnitudes, bool gives_nan) {
    enum { OFTEN = 4 };
    vf64 small[EXACT_COLUMNS_MAX / LANES];
    const size_t vectors = strip.columns / LANES;
    size_t special = 0;
    for (size_t v = 0; v < vectors; v++) special += any_lane_set(lost[v]);
    const bool are_many = special > vectors / OFTEN;
    if (are_many) add_small_rows(small, strip, magnitudes);
    for (size_t v = 0; v < vectors; v++, results += LANES, strip.x += LANES * sizeof(uword)) {
        if (!any_lane_set(lost[v])) continue;
        lost[v] = are_many ? settle_by_small(results, lost[v], small[v], gives_nan)
                           : settle_few_specials(results, lost[v], strip, magnitudes, gives_nan);
    }
}

/* Results of exact sums, of which some have failed.  Returns whether any that is used stays so. */
APART bool settle_exact(rounded *results, vi64 *lost, struct strip strip, size_t used, enum few_asked asked, bool gives_nan) {
    vi64 any = {0};
    if (IS_F64) settle_exact_specials(results, lost, strip, asked == FEW_MAGNITUDES, gives_nan);
    for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES) any |= any_used(lost + c / LANES, c, used);
    return any_lane_set(any);
}

/* By a level, what is not finite is not known. */
INLINE vi64 store_exact(rounded *results, vf64 found, const struct few_sums *sums, struct exact_kind kind, bool gives_nan) {
    const vi64 lost = store_few(results, found, sums, FEW_SUM, true, gives_nan);
    return kind.by_level ? lost | (vi64)(found - found) : lost;
}

/* The results of exact sums; whether all are found. */
INLINE bool finish_exact(rounded *results, const struct exact_sums *sums, struct strip strip, size_t used,
                         const struct wf_quotient *quotient, enum few_asked asked, struct exact_kind kind) {
    vi64 lost[EXACT_COLUMNS_MAX / LANES], any = {0};
    struct lane_quotient lanes = quotient_at(quotient, 0);
    vf64 reciprocal = 1 / lanes.divisor;
    for (size_t c = 0; c < strip.columns; c += LANES) {
        struct few_sums told = {.lost = {0}};
        if (quotient->counts) lanes = quotient_at(quotient, c);
        if (quotient->counts) reciprocal = 1 / lanes.divisor;
        const vf64 found = exact_result(&told.lost, &sums[c / LANES], &lanes, reciprocal, asked == FEW_MEAN, kind);
        any |= lost[c / LANES] = store_exact(results + c, found, &told, kind, quotient->gives_nan);
    }
    if (has_rounded()) forget_rounding();
    return !any_lane_set(any) || !settle_exact(results, lost, strip, used, asked, quotient->gives_nan);
}

/* Whether results are made without a flag: those of f16 and bf16, and most means of f64, take more operations. */
INLINE bool are_made_quietly(const struct wf_quotient *quotient, enum few_asked asked) {
    if (IS_F64) return asked != FEW_MEAN || (quotient->is_power && !quotient->counts);
    return ELEMENT == ELEMENT_F32 && !quotient->counts;
}

/* The results of some columns, the first of which is that one of a strip, from their sums.  Returns lanes as find_few does. */
INLINE vi64 make_exact_few(rounded *results, const struct exact_sums sums[FEW_VECTORS], struct strip some, size_t column, size_t used,
                           const struct lane_quotient *lanes, vf64 reciprocal, enum few_asked asked, struct exact_kind kind,
                           bool gives_nan) {
    vi64 lost[FEW_VECTORS];
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++, results += LANES, some.x += LANES * sizeof(uword)) {
        struct few_sums told = {.lost = {0}};
        const vf64 found = exact_result(&told.lost, &sums[v], lanes, reciprocal, asked == FEW_MEAN, kind);
        lost[v] = store_exact(results, found, &told, kind, gives_nan);
        if (IS_F64 && any_lane_set(lost[v])) lost[v] = settle_few_specials(results, lost[v], some, asked == FEW_MAGNITUDES, gives_nan);
    }
    return any_used(lost, column, used);
}

/* The results of columns of a few rows, which are made while their sums are in registers, without a flag, which then tells whether
 * these were exact. */
INLINE bool find_exactly_at_once(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient, double level,
                                 enum few_asked asked, struct exact_kind kind) {
    const struct exact_constants constants = exact_constants(level);
    const struct lane_quotient lanes = quotient_at(quotient, 0);
    vf64 reciprocal = 1 / lanes.divisor;
    vi64 any = {0};
    pin(&reciprocal);
    if (asked == FEW_MEAN && !lanes.is_power) forget_rounding();
    for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES, strip.x += FEW_VECTORS * LANES * sizeof(uword)) {
        struct exact_sums sums[FEW_VECTORS];
        add_exact_rows(sums, strip, &constants, kind, true, true);
        any |= make_exact_few(results + c, sums, strip, c, used, &lanes, reciprocal, asked, kind, quotient->gives_nan);
    }
    const bool is_exact = !has_rounded();
    if (!is_exact) forget_rounding();
    return is_exact && !any_lane_set(any);
}

/* The results of at most EXACT_COLUMNS_MAX columns; if they have rounded, what they are about. */
INLINE bool find_exactly_of_strip(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient,
                                  double level, enum few_asked asked, bool by_level) {
    const struct exact_kind kind = {asked == FEW_MAGNITUDES, by_level, 1};
    if (strip.rows <= EXACT_ROWS && are_made_quietly(quotient, asked))
        return find_exactly_at_once(results, strip, used, quotient, level, asked, kind);
    struct exact_sums sums[EXACT_COLUMNS_MAX / LANES];
    const bool is_exact = find_exact_sums(sums, strip, level, kind);
    return (is_exact || !IS_F64) && finish_exact(results, sums, strip, used, quotient, asked, kind) && is_exact;
}

typedef bool find_exactly_function(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient, double level);

#define FIND_EXACTLY(name, asked, by_level)                                                                         \
    APART bool name(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient, double level) { \
        return find_exactly_of_strip(results, strip, used, quotient, level, asked, by_level);                        \
    }
FIND_EXACTLY(find_exact_few_sums, FEW_SUM, IS_F64)
FIND_EXACTLY(find_exact_few_magnitudes, FEW_MAGNITUDES, IS_F64)
FIND_EXACTLY(find_exact_few_means, FEW_MEAN, IS_F64)
/* Of types shorter than f64, whose sums are more than an f64. */
FIND_EXACTLY(find_level_few_sums, FEW_SUM, true)
FIND_EXACTLY(find_level_few_magnitudes, FEW_MAGNITUDES, true)
FIND_EXACTLY(find_level_few_means, FEW_MEAN, true)

/* ---- strips ---- */

typedef bool find_few_function(rounded *results, struct strip strip, size_t used, const struct wf_quotient *quotient);

static find_few_function *few_function(const struct wf_quotient *asked, size_t rows) {
    const bool is_deviation = asked->parts & WF_PART_SUM && asked->is_root;
    if (is_deviation && rows == 2 && asked->divisor == 4 && !asked->counts) return find_few_distances;
    if (asked->parts & WF_PART_SQUARES) return find_few_variances;
    if (asked->is_divided && rows == 2 && !asked->counts) return find_few_pair_means;
    if (asked->is_divided) return find_few_means;
    if (asked->parts & WF_PART_ABS) return find_few_magnitudes;
    return rows == 2 ? find_few_pairs : find_few_sums;
}

/* The same where elements may be infinite or NaN; NULL: there is no other. */
static find_few_function *few_special_function(find_few_function *find) {
    if (find == find_few_sums) return find_few_special_sums;
    if (find == find_few_magnitudes) return find_few_special_magnitudes;
    return find == find_few_means ? find_few_special_means : NULL;
}

/* The same where the tier tells that sums are exact; NULL: there is no other. */
static find_exactly_function *exact_function(find_few_function *find) {
    if (!NOTES_ROUNDING) return NULL;
    if (find == find_few_sums) return find_exact_few_sums;
    if (find == find_few_magnitudes) return find_exact_few_magnitudes;
    return find == find_few_means ? find_exact_few_means : NULL;
}

/* The same by a level, if there is another. */
static find_exactly_function *level_function(find_exactly_function *exactly) {
    if (IS_F64) return NULL;
    if (exactly == find_exact_few_sums) return find_level_few_sums;
    return exactly == find_exact_few_magnitudes ? find_level_few_magnitudes : find_level_few_means;
}

/* The number of elements of each column, and what its sums are divided by: 1 where there is no value. */
struct few_counts {
    double count[WF_STRIP_COLUMNS], divisor[WF_STRIP_COLUMNS];
};

/* Sets them to those of the elements that are not NaN. */
static void set_few_counts(struct wf_quotient *asked, struct few_counts *counts, const uword *nans, size_t columns) {
    for (size_t c = 0; c < columns; c++) {
        const double others = (asked->counts ? asked->counts[c] : asked->count) - (double)nans[c];
        const bool has_value = others > asked->ddof;
        counts->count[c] = has_value ? others : 1;
        counts->divisor[c] = !has_value ? 1 : asked->parts & WF_PART_SQUARES ? others * (others - asked->ddof) : others;
    }
    asked->is_power = false;
    asked->counts = counts->count;
    asked->divisors = counts->divisor;
}

/* The result of a column that has NaNs; false if it has no value. */
static bool settle_few_nans(rounded *result, const struct wf_quotient *asked, double others) {
    uword bits = INFINITY_BITS | HIDDEN_BIT >> 1;
    bool fails = false;
    if (asked->gives_nan || is_known_of_few(&bits, &fails, asked, others)) memcpy(result, &bits, sizeof bits);
    return !fails;
}

enum { FEW_COPY_NBYTES = 1 << 15 };

/* The results of some columns from a copy with what adds nothing in place of their NaNs.  *has_nans: whether there are any. */
APART bool find_few_of_copy(rounded *results, struct strip strip, size_t used, const struct wf_quotient *of_all, bool *has_nans) {
    uword copy[FEW_COPY_NBYTES / sizeof(uword)], nans[WF_STRIP_COLUMNS] = {0};
    struct few_counts counts;
    struct wf_quotient asked = *of_all;
    strip = strip_without_nans(copy, nans, strip, asked.parts & WF_PART_SUM ? MINUS_ZERO : 0);
    const bool is_counted = asked.omits_nan && asked.is_divided && asked.parts & WF_PART_SUM;
    if (is_counted) set_few_counts(&asked, &counts, nans, strip.columns);
    for (size_t c = 0; c < used; c++) *has_nans |= nans[c] != 0;
    if (!few_function(&asked, strip.rows)(results, strip, used, &asked)) return false;
    for (size_t c = 0; c < used; c++) {
        const double count = of_all->counts ? of_all->counts[c] : of_all->count;
        if (nans[c] && !settle_few_nans(&results[c], &asked, count - (double)nans[c])) return false;
    }
    return true;
}

/* The same of a strip, as many columns at a time as there is room for; false if it fails. */
static bool find_few_with_nans(rounded *results, struct strip strip, size_t used, const struct wf_quotient *asked, bool *has_nans) {
    size_t width = strip.columns;
    *has_nans = false;
    while (strip.rows * width * sizeof(uword) > FEW_COPY_NBYTES) width /= 2;
    if (width < FEW_VECTORS * LANES) return false;
    for (size_t c = 0; c < used; c += width) {
        struct strip part = strip;
        struct wf_quotient of_part = *asked;
        part.x += c * sizeof(uword);
        part.columns = width;
        if (asked->counts) of_part.counts += c;
        if (!find_few_of_copy(results + c, part, used - c < width ? used - c : width, &of_part, has_nans)) return false;
    }
    return true;
}

/* How strips are done, one after the other. */
struct few_way {
    find_few_function *find, *specially;
    bool takes_nans, has_nans, has_specials; /* has_: the strip before: this one will have some, too */
};

/* The results of a strip; false if it fails, as one of many rows does that is not exact: bounds read its rows in longer pieces. */
static bool find_few_strip(struct few_way *way, rounded *results, struct strip strip, size_t used, const struct wf_quotient *asked) {
    if (strip.rows > WF_FEW_ROWS_MAX && !(asked->parts & WF_PART_SQUARES)) return false;
    prefetch_few(strip);
    bool is_found = !way->has_nans && !way->has_specials && way->find(results, strip, used, asked);
    if (!is_found && !way->has_nans && way->specially) is_found = way->has_specials = way->specially(results, strip, used, asked);
    if (!is_found && way->takes_nans && (way->has_nans || has_nan_result((const unsigned char *)results, used)))
        is_found = find_few_with_nans(results, strip, used, asked, &way->has_nans);
    return is_found;
}

/* How columns are found exactly, some after the others. */
struct exact_way {
    find_exactly_function *exactly, *by_level;
    double level;
    bool rounds; /* as columns before have: these will, too */
};

/* A level above results that are about those of that many rows; 0 if some are no numbers. */
static double level_above_results(const rounded *results, size_t columns, size_t rows, const struct wf_quotient *asked) {
    vi64 largest = {0};
    for (size_t c = 0; c < columns; c += LANES) largest = larger_bits(largest, widen((const unsigned char *)(results + c)));
    return level_above(largest, asked->is_divided ? rows * (size_t)asked->divisor : rows);
}

/* Finds the results of some columns: of types shorter than f64 that have rounded by a level, that of the columns before or, if that
 * fails, one above what they are about. */
static bool find_some_exactly(struct exact_way *way, rounded *results, struct strip strip, size_t used, const struct wf_quotient *asked) {
    if (!way->rounds && way->exactly(results, strip, used, asked, way->level)) return true;
    if (!way->by_level || asked->counts) return false;
    if (way->rounds && way->by_level(results, strip, used, asked, way->level)) return true;
    way->rounds = true;
    way->level = level_above_results(results, strip.columns, strip.rows, asked);
    return way->level && way->by_level(results, strip, used, asked, way->level);
}

/* Results from the first columns on, as many as are found exactly. */
static size_t find_first_exactly(find_exactly_function *exactly, rounded *results, struct strip strip, size_t used, size_t width,
                                 const struct wf_quotient *of_all) {
    const size_t columns = strip.columns / width * width, most = strip.rows > EXACT_ROWS ? EXACT_COLUMNS_MAX : EXACT_COLUMNS;
    struct exact_way way = {exactly, level_function(exactly), choose_exact_level(strip), false};
    struct wf_quotient asked = *of_all;
    for (size_t c = 0; c < columns; c += strip.columns, strip.x += strip.columns * sizeof(uword)) {
        strip.columns = columns - c < most ? columns - c : most;
        if (!find_some_exactly(&way, results + c, strip, used - c < strip.columns ? used - c : strip.columns, &asked)) return c;
        if (asked.counts) asked.counts += strip.columns, asked.divisors += strip.columns;
    }
    return columns;
}

wf_few_rows_function WF_LOOPS_NAME(find_few_rows, TYPE, TIER);

void WF_LOOPS_NAME(find_few_rows, TYPE, TIER)(const struct wf_panel *rows, size_t used, const struct wf_quotient *asked,
                                              void *results, bool *has_failed) {
    struct few_way way = {.find = few_function(asked, rows->rows),
                          .takes_nans = asked->omits_nan || (asked->gives_nan && asked->parts & WF_PART_SQUARES)};
    find_exactly_function *exactly = exact_function(way.find);
    const size_t columns = rows->columns, width = columns < WF_STRIP_COLUMNS ? columns : WF_STRIP_COLUMNS;
    struct strip strip = {rows->x, rows->stride_bytes, rows->rows, columns, 0, NULL, 0};
    const size_t exact = exactly ? find_first_exactly(exactly, results, strip, used, width, asked) : 0;
    memset(has_failed, false, exact / width);
    way.specially = few_special_function(way.find);
    strip.columns = width;
    for (size_t first = exact; first < columns; first += width) {
        size_t begin = columns - first < width ? columns - width : first; /* the last strip may begin in the one before, */
        size_t left = used - begin < width ? used - begin : width;
        rounded found[WF_STRIP_COLUMNS], *own = begin == first ? (rounded *)results + begin : found;
        strip.x = rows->x + begin * sizeof(uword);
        has_failed[first / WF_STRIP_COLUMNS] = !find_few_strip(&way, own, strip, left, asked);
        /* whose results stay: where this one fails, they may be others, as which of two ways is taken depends on a vector's lanes */
        if (begin != first) memcpy((rounded *)results + first, found + (first - begin), (columns - first) * sizeof *found);
    }
    if (has_rounded()) forget_rounding();
}

#endif
