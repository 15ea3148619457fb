/* Sums, means, variances, 2-norms and dot products of columns of floats, whatever their range: lanes are columns, in place, which
 * are added up as f64, of f64 with what is lost, and with their magnitudes, so that what is still lost has a bound; and
 * products.  Compiled for each tier and type. */
#include "cpu/loops/column_products.h"
#include "cpu/loops/column_variances.h"
#include "cpu/loops/left_out.h"

#include <float.h>
#include <string.h>

/* What is added up, as a constant. */
enum quick_term {
    QUICK_VALUES,
    QUICK_MAGNITUDES,
    QUICK_SQUARES,
    QUICK_PRODUCTS,
    QUICK_SMALL_VALUES,
    QUICK_SMALL_MAGNITUDES,
    QUICK_SMALL_SQUARES,
};

/* By what f64 are multiplied whose sums, or squares, are no f64. */
static const double make_small = 0x1p-520, make_large = 0x1p520;

/* Rows, which are far apart, are read in pieces of that many columns, a few of them at a time. */
enum { QUICK_COLUMNS = 256, QUICK_ROWS = 8 };

/* ---- sums ---- */

INLINE void add_quick_value(struct quick_sums *sums, vf64 x) {
    sums->magnitude += magnitude_of_f64(x);
    if (!IS_F64) {
        sums->sum += x;
        return;
    }
    struct pair sum = two_sum(sums->sum, x);
    sums->sum = sum.high;
    sums->lost += sum.low;
}

/* Squares, with the magnitudes of what is squared, which tell whether all of it is 0. */
INLINE void add_quick_square(struct quick_sums *sums, vf64 x) {
    sums->magnitude += magnitude_of_f64(x);
    if (!IS_F64) {
        sums->sum += x * x;
        return;
    }
    struct pair product = two_product(x, x), sum = two_sum(sums->sum, product.high);
    sums->sum = sum.high;
    sums->lost += sum.low + product.low;
}

INLINE void add_quick_term(struct quick_sums *sums, struct strip strip, size_t at, enum quick_term term) {
    const vf64 x = widen(strip.x + at);
    switch (term) {
    case QUICK_VALUES: add_quick_value(sums, x); break;
    case QUICK_MAGNITUDES: add_quick_value(sums, magnitude_of_f64(x)); break;
    case QUICK_SQUARES: add_quick_square(sums, x); break;
    case QUICK_SMALL_VALUES: add_quick_value(sums, x * make_small); break;
    case QUICK_SMALL_MAGNITUDES: add_quick_value(sums, magnitude_of_f64(x) * make_small); break;
    case QUICK_SMALL_SQUARES: add_quick_square(sums, x * make_small); break;
    case QUICK_PRODUCTS: add_quick_product(sums, x, widen(strip.y + at)); break;
    }
}

/* Copies what sums have: those of types shorter than f64 do not know what is lost. */
INLINE void copy_quick(struct quick_sums *to, const struct quick_sums *from) {
    to->sum = from->sum;
    to->magnitude = from->magnitude;
    if (IS_F64) to->lost = from->lost;
}

/* Adds some rows of a few columns.  begins: their sums begin with -0, which keeps the sign of zeros. */
INLINE void add_quick_rows(struct quick_sums *sums, struct strip strip, size_t rows, enum quick_term term, bool begins) {
    const struct quick_sums nothing = {-(vf64){0}, {0}, {0}};
    struct quick_sums some[FEW_VECTORS];
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) copy_quick(&some[v], begins ? &nothing : &sums[v]);
    for (size_t r = 0; r < rows; r++, strip.x += strip.stride_bytes) {
        UNROLLED
        for (size_t v = 0; v < FEW_VECTORS; v++) add_quick_term(&some[v], strip, v * LANES * sizeof(uword), term);
        if (term == QUICK_PRODUCTS) strip.y += strip.y_stride_bytes;
    }
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) copy_quick(&sums[v], &some[v]);
}

INLINE struct strip strip_at(struct strip strip, size_t row, size_t column) {
    strip.x += (int64_t)row * strip.stride_bytes + (int64_t)(column * sizeof(uword));
    if (strip.y) strip.y += (int64_t)row * strip.y_stride_bytes + (int64_t)(column * sizeof(uword));
    return strip;
}

/* Some of a strip's rows, of a few columns, and room for a copy of them. */
struct few_copy {
    uword bits[2 * QUICK_ROWS * FEW_VECTORS * LANES];
};

INLINE struct strip few_at(struct strip strip, size_t row, size_t column) {
    const size_t left = strip.rows - row;
    strip = strip_at(strip, row, column);
    strip.rows = left < QUICK_ROWS ? left : QUICK_ROWS;
    strip.columns = FEW_VECTORS * LANES;
    return strip;
}

/* Adds a strip from copies of its rows, in which nothing stands in place of NaNs. */
INLINE void add_strip_without_nans(struct quick_sums *sums, struct strip strip, enum quick_term term, uword *nans) {
    struct few_copy copy;
    for (size_t r = 0; r < strip.rows; r += QUICK_ROWS)
        for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES) {
            const struct strip some = few_at(strip, r, c);
            const uword nothing = term == QUICK_VALUES ? MINUS_ZERO : 0;
            add_quick_rows(sums + c / LANES, strip_without_nans(copy.bits, nans + c, some, nothing), some.rows, term, r == 0);
        }
}

/* Adds up at most QUICK_COLUMNS columns.  nans: NaNs are left out and counted there; or NULL. */
INLINE void add_quick_strip(struct quick_sums *sums, struct strip strip, enum quick_term term, uword *nans) {
    if (nans) {
        add_strip_without_nans(sums, strip, term, nans);
        return;
    }
    for (size_t r = 0; r < strip.rows; r += QUICK_ROWS) {
        const size_t rows = strip.rows - r < QUICK_ROWS ? strip.rows - r : QUICK_ROWS;
        for (size_t c = 0; c < strip.columns; c += FEW_VECTORS * LANES)
            add_quick_rows(sums + c / LANES, strip_at(strip, r, c), rows, term, r == 0);
    }
}

/* ---- results ---- */

/* What the sum may lack, of that many terms: see rounded_quick. */
INLINE vf64 quick_bound(const struct quick_sums *sums, size_t count) {
    const double terms = (double)(count + 2 * LANES);
    return sums->magnitude * (IS_F64 ? terms * terms * 0x1p-104 : terms * 0x1p-52);
}

INLINE struct pair quick_pair(const struct quick_sums *sums) {
    return (struct pair){sums->sum, IS_F64 ? sums->lost : (vf64){0}};
}

INLINE vf64 quick_mean(vi64 *lost, const struct quick_sums *sums, size_t count, const struct lane_quotient *asked) {
    struct few_sums few = {.value = quick_pair(sums), .bound = quick_bound(sums, count)};
    vf64 found = round_to_element(mean_within(&few, asked));
    *lost = few.lost | (vi64)(found - found);
    return found;
}

/* The root of f64's squares has a bound as variances have one; others have squares that are f64, and results of fewer
 * bits. */
INLINE vf64 quick_norm(vi64 *lost, const struct quick_sums *sums, size_t count, const struct lane_quotient *asked) {
    struct few_sums few = {.value = {sums->magnitude, {0}}, .square = quick_pair(sums)};
    if (IS_F64) {
        vf64 found = variance_of(&few, asked);
        *lost = few.lost | (vi64)(found - found);
        return found;
    }
    vf64 root = root_of(magnitude_of_f64(sums->sum)), width = root * ((double)(count + 2 * LANES) * 0x1p-52);
    vf64 found = round_to_element(root);
    *lost = differ(root - width, root + width) | (vi64)(found - found);
    return found;
}

INLINE bool is_small(enum quick_term term) {
    return term >= QUICK_SMALL_VALUES;
}

INLINE bool is_square(enum quick_term term) {
    return term == QUICK_SQUARES || term == QUICK_SMALL_SQUARES;
}

INLINE vf64 quick_result(vi64 *lost, const struct quick_sums *sums, size_t count, const struct lane_quotient *asked,
                         enum quick_term term, bool is_divided) {
    if (is_square(term)) return quick_norm(lost, sums, count, asked);
    vf64 found = is_divided ? quick_mean(lost, sums, count, asked) : rounded_quick(lost, sums, count);
    if (IS_F64 && term == QUICK_PRODUCTS) return found; /* those that are 0 may be of small factors */
    const vi64 is_zero = (vi64)(sums->magnitude == 0);
    *lost &= ~is_zero;
    return (vf64)(((vi64)sums->sum & is_zero) | ((vi64)found & ~is_zero));
}

/* Finds results of lanes that are lost which follow from infinities and NaNs, and infinities that sums of numbers are rounded to;
 * f64 that are not small may have overflowed.  large: a sum above it has an infinite result.  Returns the lanes that stay lost. */
INLINE vi64 settle_specials(storage *results, vi64 lost, const struct quick_sums *sums, enum quick_term term, double large,
                            bool gives_nan) {
    const vf64 quiet = (vf64)((vi64){0} + (INT64_C(0x7ff8) << 48)), infinite = (vf64){0} + HUGE_VAL;
    const vi64 has_nan = (vi64)(sums->magnitude != sums->magnitude);
    vi64 is_known = gives_nan ? has_nan : (vi64){0};
    if (!IS_F64 || is_small(term)) is_known |= (vi64)(sums->magnitude == HUGE_VAL);
    if (!IS_F64) is_known |= (vi64)(magnitude_of_f64(sums->sum) - sums->magnitude * 0x1p-30 > large) & ~has_nan;
    is_known &= (vi64)(lost != 0);
    if (!any_lane_set(is_known)) return lost;
    const vf64 signed_infinity = (vf64)((vi64)infinite | ((vi64)sums->sum & INT64_MIN));
    const vf64 known = select_f64((vi64)(sums->sum != sums->sum), quiet, signed_infinity);
    store_elements(results, select_f64(is_known, known, widen((const unsigned char *)results)));
    return lost & ~is_known;
}
_Static_assert(WF_BOUNDED_ROWS_MAX <= 1 << 20, "sums lack more than 2^-30 of the magnitudes");

/* How many elements LANES columns have besides their NaNs; 1 where there are none. */
INLINE vf64 others_of(const uword *nans, size_t rows) {
    vshort left_out;
    memcpy(&left_out, nans, sizeof left_out);
    const vf64 others = (double)rows - __builtin_convertvector(left_out, vf64);
    return select_f64((vi64)(others == 0), (vf64){0} + 1, others);
}

/* Finds the results of at most QUICK_COLUMNS columns; returns whether any has failed.  nans: they are left out, and counted there;
 * or NULL. */
INLINE bool find_quick_columns(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked, uword *nans,
                               enum quick_term term, bool is_divided) {
    struct quick_sums sums[QUICK_COLUMNS / LANES];
    struct lane_quotient lanes = quotient_at(asked, 0);
    lanes.count = (vf64){0} + (double)strip.rows; /* bounds are those of at most that many elements */
    const double most = ldexp(1, IS_F64 ? 0 : BIAS + 1), large = is_divided ? HUGE_VAL : is_square(term) ? most * most : most;
    const bool gives_nan = asked->gives_nan || nans; /* what is NaN without them is so because of infinities */
    vi64 lost[QUICK_COLUMNS / LANES], any = {0};
    add_quick_strip(sums, strip, term, nans);
    for (size_t c = 0; c < strip.columns; c += LANES) {
        if (is_divided && nans) lanes.divisor = others_of(nans + c, strip.rows);
        const vf64 found = quick_result(&lost[c / LANES], &sums[c / LANES], strip.rows, &lanes, term, is_divided);
        store_elements(results + c, is_small(term) ? found * make_large : found);
        any |= lost[c / LANES];
    }
    memset(has_failed, 0, strip.columns * sizeof *has_failed);
    if (!any_lane_set(any)) return false;
    for (size_t c = 0; c < strip.columns; c += LANES) {
        if (!any_lane_set(lost[c / LANES])) continue;
        const vi64 failed = settle_specials(results + c, lost[c / LANES], &sums[c / LANES], term, large, gives_nan);
        for (size_t lane = 0; lane < LANES; lane++) has_failed[c + lane] = failed[lane];
    }
    return memchr(has_failed, true, strip.columns);
}

typedef bool find_quick_function(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked,
                                 uword *nans);

/* What is asked for is a constant in each. */
#define FIND_QUICK(name, term, is_divided)                                                                           \
    APART bool name(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked, uword *nans) { \
        return find_quick_columns(results, has_failed, strip, asked, nans, term, is_divided);                        \
    }
FIND_QUICK(find_quick_sums, QUICK_VALUES, false)
FIND_QUICK(find_quick_magnitudes, QUICK_MAGNITUDES, false)
FIND_QUICK(find_quick_means, QUICK_VALUES, true)
FIND_QUICK(find_quick_norms, QUICK_SQUARES, false)
FIND_QUICK(find_small_norms, QUICK_SMALL_SQUARES, false)
FIND_QUICK(find_small_sums, QUICK_SMALL_VALUES, false)
FIND_QUICK(find_small_magnitudes, QUICK_SMALL_MAGNITUDES, false)
FIND_QUICK(find_small_means, QUICK_SMALL_VALUES, true)
FIND_QUICK(find_quick_dots, QUICK_PRODUCTS, false)

/* ---- products, which lose nothing that matters ---- */

APART bool find_products(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked, uword *nans) {
    (void)nans;
    struct column_products products[QUICK_COLUMNS / LANES];
    int64_t failed[QUICK_COLUMNS];
    vi64 lost, any = {0};
    for (size_t c = 0; c < strip.columns; c += LANES) products[c / LANES].seen = (struct factors_seen){.exponents = {0}};
    for (size_t r = 0; r < strip.rows; r += PRODUCT_ROWS)
        for (size_t c = 0; c < strip.columns; c += LANES) {
            struct column_products *of = &products[c / LANES];
            join_node(of, multiply_some_rows(&of->seen, strip_at(strip, r, c), strip.rows - r), r);
        }
    for (size_t c = 0; c < strip.columns; c += LANES) {
        store_elements(results + c, column_products(&lost, &products[c / LANES], strip.rows, asked));
        memcpy(failed + c, &lost, sizeof lost);
        any |= lost;
    }
    memset(has_failed, 0, strip.columns * sizeof *has_failed);
    if (!any_lane_set(any)) return false;
    for (size_t c = 0; c < strip.columns; c++) has_failed[c] = failed[c];
    return true;
}

static find_quick_function *quick_function(const struct wf_quotient *asked) {
    if (asked->parts == WF_PART_PRODUCT) return find_products;
    if (asked->parts == WF_PART_DOT) return find_quick_dots;
    if (asked->parts == WF_PART_SQUARES) return find_quick_norms;
    if (asked->parts & WF_PART_SQUARES) return find_variances;
    if (asked->parts == WF_PART_ABS) return find_quick_magnitudes;
    return asked->is_divided ? find_quick_means : find_quick_sums;
}

/* ---- by the longer way, in which a bound is 0 where nothing is lost ---- */

INLINE void add_few_value(struct few_sums *sums, vf64 x) {
    const struct pair sum = two_sum(sums->value.high, x);
    sums->value.high = sum.high;
    add_lost(sums, sum.low);
}

INLINE void add_few_rows(struct few_sums *sums, struct strip strip, enum quick_term term) {
    for (size_t r = 0; r < strip.rows; r++, strip.x += strip.stride_bytes) {
        UNROLLED
        for (size_t v = 0; v < FEW_VECTORS; v++) {
            const vf64 x = widen(strip.x + v * LANES * sizeof(uword));
            if (term == QUICK_PRODUCTS)
                add_few_product(&sums[v], x, widen(strip.y + v * LANES * sizeof(uword)));
            else
                add_few_value(&sums[v], term == QUICK_MAGNITUDES ? magnitude_of_f64(x) : x);
        }
        if (term == QUICK_PRODUCTS) strip.y += strip.y_stride_bytes;
    }
}

/* Of types shorter than f64: all ones where high + low, of which high is what is rounded to f64, is rounded to the element that
 * round_to_odd(high, low) is, as low lacks less than itself.  That is so half-way between two elements, too, where a width around
 * high fails. */
INLINE vi64 is_told_by_rest(struct pair x, vf64 lacks) {
    return IS_F64 ? (vi64){0} : (vi64)(magnitude_of_f64(x.low) > lacks);
}

INLINE vf64 few_sum(struct few_sums *sums) {
    const vf64 found = rounded_sum(sums);
    sums->lost &= ~is_told_by_rest(two_sum(sums->value.high, sums->value.low), sums->bound * (1 + 0x1p-40));
    return found;
}

/* The mean within a bound.  What the quotient by the sum's high part leaves is divided with at most 2^-51 of it lost. */
INLINE vf64 few_mean_within(struct few_sums *sums, const struct lane_quotient *asked) {
    const vf64 n = asked->divisor, found = mean_within(sums, asked);
    const struct pair sum = two_sum(sums->value.high, sums->value.low);
    const vf64 quotient = sum.high / n, rest = (fused(-quotient, n, sum.high) + sum.low) / n;
    const struct pair mean = two_sum(quotient, rest);
    const vi64 is_told = is_told_by_rest(mean, sums->bound * (1 + 0x1p-40) / n + magnitude_of_f64(rest) * 0x1p-50);
    sums->lost &= ~is_told;
    return select_f64(is_told, round_to_odd(mean.high, mean.low), found);
}

/* The mean, by what tells it where the sum is exact. */
INLINE vf64 few_mean(struct few_sums *sums, const struct lane_quotient *asked) {
    struct few_sums within = *sums, exact = *sums;
    vi64 is_exact = (vi64)(sums->bound == 0);
    if (!IS_F64) is_exact &= (vi64)(sums->value.low == 0);
    exact.bound = (vf64){0};
    const vf64 bounded = few_mean_within(&within, asked), told = mean_of(&exact, asked);
    sums->lost = (exact.lost & is_exact) | (within.lost & ~is_exact);
    return select_f64(is_exact, told, bounded);
}

/* Of FEW_VECTORS of columns; from -0 on.  Returns whether any may have failed. */
INLINE bool find_few_columns(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked, uword *nans,
                             enum quick_term term, bool is_divided) {
    struct few_sums sums[FEW_VECTORS];
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) sums[v] = (struct few_sums){.value = {-(vf64){0}, {0}}};
    for (size_t r = 0; r < strip.rows; r += QUICK_ROWS) {
        struct few_copy copy;
        struct strip some = few_at(strip, r, 0);
        if (nans) some = strip_without_nans(copy.bits, nans, some, term == QUICK_VALUES ? MINUS_ZERO : 0);
        add_few_rows(sums, some, term);
    }
    UNROLLED
    for (size_t v = 0; v < FEW_VECTORS; v++) {
        struct lane_quotient lanes = quotient_at(asked, 0);
        if (is_divided && nans) lanes.divisor = others_of(nans + v * LANES, strip.rows);
        if (nans) lanes.is_power = false;
        const vf64 found = round_to_element(is_divided ? few_mean(&sums[v], &lanes) : few_sum(&sums[v]));
        const vi64 lost = sums[v].lost | (vi64)(found - found);
        store_elements(results + v * LANES, found);
        for (size_t lane = 0; lane < LANES; lane++) has_failed[v * LANES + lane] = lost[lane];
    }
    return true;
}

APART bool find_few_sums(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked, uword *nans) {
    return find_few_columns(results, has_failed, strip, asked, nans, QUICK_VALUES, false);
}

APART bool find_few_magnitudes(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked, uword *nans) {
    return find_few_columns(results, has_failed, strip, asked, nans, QUICK_MAGNITUDES, false);
}

APART bool find_few_means(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked, uword *nans) {
    return find_few_columns(results, has_failed, strip, asked, nans, QUICK_VALUES, true);
}

APART bool find_few_dots(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked, uword *nans) {
    return find_few_columns(results, has_failed, strip, asked, nans, QUICK_PRODUCTS, false);
}

/* ---- panels ---- */

INLINE size_t lesser(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Where sums are not finite, of f64: the same of small elements; NULL: there is none. */
static find_quick_function *small_function(find_quick_function *find) {
    if (!IS_F64) return NULL;
    if (find == find_quick_sums) return find_small_sums;
    if (find == find_quick_magnitudes) return find_small_magnitudes;
    if (find == find_quick_means) return find_small_means;
    return find == find_quick_norms ? find_small_norms : NULL;
}

/* Where they are finite: by the longer way. */
static find_quick_function *longer_function(find_quick_function *find) {
    if (find == find_quick_sums) return find_few_sums;
    if (find == find_quick_magnitudes) return find_few_magnitudes;
    if (find == find_quick_means) return find_few_means;
    return find == find_quick_dots ? find_few_dots : NULL;
}

INLINE bool is_finite_result(const storage *result) {
    uword bits;
    memcpy(&bits, result, sizeof bits);
    return (bits & MAGNITUDE) < INFINITY_BITS;
}

/* Whether a few columns have one that has failed with a result that is finite, or with one that is not. */
static bool is_worth_again(const storage *results, const bool *has_failed, size_t columns, bool finite) {
    if (!memchr(has_failed, true, columns)) return false;
    for (size_t c = 0; c < columns; c++)
        if (has_failed[c] && is_finite_result(&results[c]) == finite) return true;
    return false;
}

/* Columns of a strip that have failed, by the longer way, or of small elements: then, results that are so large that nothing was
 * lost that matters, infinite, or NaN.  Of them `used` matter.  nans: NULL, or what is written once more. */
static void find_again(find_quick_function *find, storage *results, bool *has_failed, struct strip strip, size_t used,
                       const struct wf_quotient *asked, uword *nans, bool of_small) {
    enum { WIDTH = FEW_VECTORS * LANES };
    const double least = 0x1p400;
    storage found[WIDTH];
    bool again[WIDTH];
    for (size_t c = 0; find && c < used; c += WIDTH) {
        struct strip few = strip_at(strip, 0, c);
        few.columns = WIDTH;
        if (!is_worth_again(results + c, has_failed + c, used - c < WIDTH ? used - c : WIDTH, !of_small)) continue;
        if (nans) memset(nans + c, 0, WIDTH * sizeof *nans);
        find(found, again, few, asked, nans ? nans + c : NULL);
        for (size_t i = 0; i < WIDTH; i++) {
            if (!has_failed[c + i] || again[i] || (of_small && fabs((double)found[i]) < least)) continue;
            results[c + i] = found[i];
            has_failed[c + i] = false;
        }
    }
}

static void find_failed(find_quick_function *find, storage *results, bool *has_failed, struct strip strip, size_t used,
                        const struct wf_quotient *asked, uword *nans) {
    find_again(longer_function(find), results, has_failed, strip, used, asked, nans, false);
    find_again(small_function(find), results, has_failed, strip, used, asked, nans, true);
}

/* The results of columns that have nothing but NaNs, which are left out; returns whether any has NaNs. */
static bool settle_all_nans(storage *results, bool *has_failed, struct strip strip, const struct wf_quotient *asked,
                            const uword *nans) {
    bool any = false;
    for (size_t c = 0; c < strip.columns; c++) {
        uword bits;
        const double count = asked->counts ? asked->counts[c] : (double)strip.rows;
        const bool is_nothing = nans[c] && (double)nans[c] == count;
        if (is_nothing && is_known_of_few(&bits, &has_failed[c], asked, 0)) memcpy(&results[c], &bits, sizeof bits);
        any |= nans[c] != 0;
    }
    return any;
}

/* The same of a strip whose NaNs are left out; returns whether there are any. */
APART bool find_without_nans(find_quick_function *find, storage *results, bool *has_failed, struct strip strip, size_t used,
                             const struct wf_quotient *asked) {
    uword nans[QUICK_COLUMNS] = {0};
    if (find(results, has_failed, strip, asked, nans)) find_failed(find, results, has_failed, strip, used, asked, nans);
    return settle_all_nans(results, has_failed, strip, asked, nans);
}

wf_column_bounds_function WF_LOOPS_NAME(bound_columns, TYPE, TIER);

void WF_LOOPS_NAME(bound_columns, TYPE, TIER)(const struct wf_panel *panel, size_t used,
                                              const struct wf_quotient *asked, void *results, bool *has_failed) {
    const struct strip all = {panel->x, panel->stride_bytes, panel->rows, 0, 0, panel->y, panel->y_stride_bytes};
    const size_t columns = panel->columns, one = lesser(columns, WF_STRIP_COLUMNS);
    const size_t most = panel->rows > QUICK_ROWS ? QUICK_COLUMNS : one;
    find_quick_function *find = quick_function(asked);
    const bool leaves_out = asked->omits_nan && find != find_products && find != find_variances && panel->rows <= (uword)-1;
    bool has_nans = false; /* the strip before: this one will have some, too */
    for (size_t first = 0, width; first < columns; first += width) {
        width = lesser(columns - first < one ? one : (columns - first) / one * one, most);
        const size_t begin = lesser(first, columns - width); /* the last strip may begin in the one before */
        struct strip strip = strip_at(all, 0, begin);
        storage *found = (storage *)results + begin;
        strip.columns = width;
        prefetch_few(strip);
        const size_t left = lesser(used - begin, width);
        if (!has_nans && !find(found, has_failed + begin, strip, asked, NULL)) continue;
        if (leaves_out && (has_nans || has_nan_result((const unsigned char *)found, width)))
            has_nans = find_without_nans(find, found, has_failed + begin, strip, left, asked);
        else
            find_failed(find, found, has_failed + begin, strip, left, asked, NULL);
    }
    forget_rounding();
}
