/* The sums of a tile's columns, floats, through a window that all of them share: as in extract.h, but that every lane
 * is a column's. */
#ifndef WF_CPU_LOOPS_COLUMN_SUMS_H
#define WF_CPU_LOOPS_COLUMN_SUMS_H

#include "cpu/loops/sums.h"
#include "cpu/loops/columns.h"
#include "cpu/loops/special.h"
#include "cpu/loops/two_sum.h"

enum { COLUMN_LEVELS_MAX = 4 };

/* headroom_of's: a level holds as many additions as a tile has rows. */
_Static_assert(WF_TILE_ROWS_OF_PRODUCTS_MAX <= (1 << 6) - 1 && WF_TILE_ROWS_MAX <= (1 << 9) - 1 &&
                   WF_WHOLE_TILE_ROWS_MAX <= (1 << 9) - 1,
               "levels overflow");

/* What each level of each term adds up to, in units of the level's grid. */
struct column_units {
    int64_t term[TERMS_MAX][COLUMN_LEVELS_MAX][WF_COLUMNS_MAX];
};

INLINE void store_units(int64_t *units, vf64 *sum, int unroll, vf64 anchor) {
    UNROLLED
    for (int u = 0; u < unroll; u++) {
        pin(&sum[u]);
        vi64 found = (vi64)sum[u] - (vi64)anchor;
        memcpy(units + u * LANES, &found, sizeof found);
    }
}

/* As many neighbouring columns as there are registers for. */
INLINE void extract_some_columns(struct column_units *units, const struct window *window, struct shape shape,
                                 struct kind kind, const struct wf_tile *tile, size_t first) {
    int unroll = unroll_of(shape, kind);
    struct source row = {tile->x + first * sizeof(uword), (tile->y ? tile->y : tile->x) + first * sizeof(uword),
                         tile->pitch, sizeof(uword), {0, 0}};
    struct sums sums;
    start_sums(&sums, window, shape, kind);
    for (size_t r = 0; r < tile->rows; r++) {
        UNROLLED
        for (int u = 0; u < unroll; u++) extract_vector(&sums, shape, row, (size_t)u * LANES, kind, u);
        row.x += tile->pitch * sizeof(uword);
        row.y += tile->pitch * sizeof(uword);
    }
    EACH_LEVEL(t, k, shape, kind)
    store_units(units->term[t][k] + first, sums.term[t][k], unroll, anchor_of(window, t, k));
}

INLINE void extract_columns(struct column_units *units, const struct window *window, struct shape shape,
                            struct kind kind, const struct wf_tile *tile) {
    for (size_t first = 0; first < tile->pitch; first += (size_t)(unroll_of(shape, kind) * LANES))
        extract_some_columns(units, window, shape, kind, tile, first);
}

/* Fewer shapes than for blocks, since tiles are short and code is expensive; returns whether one of them covers the
 * ranges. */
INLINE bool make_column_window(struct window *window, const struct range *range, struct kind kind) {
    int levels = 1;
    for (int t = 0; t < kind.terms; t++)
        if (levels_for(range[t], headroom_of(kind)) > levels) levels = levels_for(range[t], headroom_of(kind));
    window->shape = levels <= 2 ? (struct shape){2, 2} : (struct shape){COLUMN_LEVELS_MAX, COLUMN_LEVELS_MAX};
    for (int t = 0; t < kind.terms; t++)
        if (!set_levels(window, t, range[t], kind, headroom_of(kind))) return false;
    return levels <= COLUMN_LEVELS_MAX;
}

INLINE bool extract_columns_of_kind(struct column_units *units, struct window *window, const struct range *range,
                                    struct kind kind, const struct wf_tile *tile) {
    if (!make_column_window(window, range, kind)) return false;
    if (window->shape.first == 2)
        extract_columns(units, window, (struct shape){2, 2}, kind, tile);
    else
        extract_columns(units, window, (struct shape){COLUMN_LEVELS_MAX, COLUMN_LEVELS_MAX}, kind, tile);
    return true;
}

/* Extracts columns of small elements, values or magnitudes. */
APART bool extract_small_columns(struct column_units *units, struct window *window, struct range range,
                                 const struct wf_tile *tile, bool magnitudes) {
    const struct shape shape = {2, 2};
    struct kind values = {1, false, {load_scaled_value}, {LOW_EXPONENT + SHIFT_OF_GROUPS}, NULL, false, NULL, false};
    struct kind absolute = {1, false, {load_scaled_magnitude}, {LOW_EXPONENT + SHIFT_OF_GROUPS}, NULL, false, NULL, false};
    if (!make_column_window(window, &range, values) || window->shape.first != 2) return false;
    if (magnitudes)
        extract_columns(units, window, shape, absolute, tile);
    else
        extract_columns(units, window, shape, values, tile);
    move_down(window);
    return true;
}

/* The sums that are compiled, each in a function of its own. */
APART bool extract_column_values(struct column_units *units, struct window *window, const struct range *range,
                                 const struct wf_tile *tile) {
    struct range moved = *range;
    if (moves_up(&moved)) return extract_small_columns(units, window, moved, tile, false);
    return extract_columns_of_kind(units, window, range, kind_of(WF_PART_SUM), tile);
}

APART bool extract_column_magnitudes(struct column_units *units, struct window *window, const struct range *range,
                                     const struct wf_tile *tile) {
    struct range moved = *range;
    if (moves_up(&moved)) return extract_small_columns(units, window, moved, tile, true);
    return extract_columns_of_kind(units, window, range, kind_of(WF_PART_ABS), tile);
}

APART bool extract_column_squares(struct column_units *units, struct window *window, const struct range *range,
                                  const struct wf_tile *tile) {
    return extract_columns_of_kind(units, window, range, kind_of(WF_PART_SQUARES), tile);
}

APART bool extract_column_products(struct column_units *units, struct window *window, const struct range *range,
                                   const struct wf_tile *tile) {
    return extract_columns_of_kind(units, window, range, kind_of(WF_PART_DOT), tile);
}

APART bool extract_column_moments(struct column_units *units, struct window *window, const struct range *range,
                                  const struct wf_tile *tile) {
    return extract_columns_of_kind(units, window, range, kind_of(MOMENTS), tile);
}

typedef bool extract_columns_function(struct column_units *units, struct window *window, const struct range *range,
                                      const struct wf_tile *tile);

static extract_columns_function *const extract_columns_functions[SUMS + 1] = {
    [WF_PART_SUM] = extract_column_values,      [WF_PART_ABS] = extract_column_magnitudes,
    [WF_PART_SQUARES] = extract_column_squares, [WF_PART_DOT] = extract_column_products,
    [MOMENTS] = extract_column_moments,
};

static void add_units(const struct wf_exact *into, const struct column_units *units, const struct window *window,
                      int term, size_t column) {
    for (int k = 0; k < levels_of(window->shape, term); k++)
        wf_exact_add_i64(into, units->term[term][k][column], window->exponent[term][k] - 52);
}

/* Notes whether any term of a column is neither -0 nor NaN: see note_unless_minus_zeros. */
static void note_unless_column_of_minus_zeros(struct wf_open_partial *into, const struct wf_tile *tile,
                                              size_t column) {
    for (size_t r = 0; r < tile->rows && !(into->partial->special_seen & WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO); r++) {
        size_t at = (r * tile->pitch + column) * sizeof(uword);
        note_unless_minus_zeros(into, tile->x + at, tile->y ? tile->y + at : NULL, 1);
    }
}

/* Adds the sums of all columns if no element is an infinity or a NaN, and a window covers the range of all. */
static bool add_column_sums(struct wf_open_partial *into, const struct wf_tile *tile, struct magnitudes x) {
    unsigned sums = into->parts & SUMS;
    size_t count = tile->rows * tile->pitch;
    struct magnitudes y = tile->y ? find_magnitudes(tile->y, count) : x;
    struct range element[2] = {range_of(x), range_of(y)}, range[TERMS_MAX] = {{0, 0}};
    struct column_units units;
    struct window window;
    if (x.max >= INFINITY_BITS || y.max >= INFINITY_BITS || !extract_columns_functions[sums]) return false;
    if (!ranges_of(sums, element, range) || !extract_columns_functions[sums](&units, &window, range, tile)) return false;
    bool of_elements = sums & ~(unsigned)PRODUCTS;
    for (size_t c = 0; c < tile->columns; c++) {
        if (sums & WF_PART_SUM) add_units(&into[c].sum, &units, &window, 0, c);
        if (sums & WF_PART_ABS) add_units(&into[c].abs, &units, &window, 0, c);
        for (int t = 0; sums & PRODUCTS && t < PRODUCT_TERMS; t++)
            add_units(&into[c].product_sum, &units, &window, of_elements + t, c);
        if (sums & (WF_PART_SUM | WF_PART_DOT)) note_unless_column_of_minus_zeros(&into[c], tile, c);
    }
    return true;
}

/* ---- results ---- */

/* The type of results: of f32 and f64 C's own, whose sums the adder and a conversion round; of others the bits. */
typedef storage rounded;

enum { ADDER_ROUNDS = ELEMENT == ELEMENT_F32 || ELEMENT == ELEMENT_F64 };

static bool is_column_of_minus_zeros(const struct wf_tile *tile, size_t column) {
    size_t r = 0;
    while (r < tile->rows && tile_bits(tile, r, column) == MINUS_ZERO) r++;
    return r == tile->rows;
}

/* The unit of a level's grid, which is a normal number. */
INLINE vf64 unit_of(const struct window *window, int level) {
    return (vf64)((vi64){0} + ((int64_t)(window->exponent[0][level] - 52 + 1023) << 52));
}

/* What a level adds up to, LANES columns from the first on.  are_long: it may be more than an anchor takes, but is a f64. */
INLINE vf64 level_sum(const struct column_units *units, const struct window *window, int level, size_t first,
                      bool are_long) {
    vf64 anchor = anchor_of(window, 0, level);
    vi64 found;
    memcpy(&found, units->term[0][level] + first, sizeof found);
    if (are_long) return __builtin_convertvector(found, vf64) * unit_of(window, level);
    return (vf64)(found + (vi64)anchor) - anchor;
}

/* What one level or two add up to, LANES columns from the first on, exactly. */
INLINE struct pair sum_of_levels(const struct column_units *units, const struct window *window, size_t first, bool are_long) {
    const vf64 upper = level_sum(units, window, 0, first, are_long);
    if (window->shape.first == 1) return (struct pair){upper, {0}};
    return two_sum(upper, level_sum(units, window, 1, first, are_long));
}

/* The sums of one level or two, rounded as another conversion needs; returns whether any is 0. */
INLINE bool add_column_levels(double sum[WF_COLUMNS_MAX], const struct column_units *units, const struct window *window,
                              size_t columns, bool are_long) {
    vi64 zeros = {0};
    for (size_t c = 0; c < columns; c += LANES) {
        const struct pair exact = sum_of_levels(units, window, c, are_long);
        vf64 added = exact.high;
        if (!IS_F64 && window->shape.first > 1) added = round_to_odd(exact.high, exact.low);
        zeros |= (vi64)(added == 0);
        memcpy(sum + c, &added, sizeof added);
    }
    int64_t any = 0;
    for (int lane = 0; lane < LANES; lane++) any |= zeros[lane];
    return any;
}

/* Whether the sums of all levels are f64. */
static bool are_levels_f64(const struct window *window) {
    int levels = window->shape.first;
    return levels <= 2 && window->exponent[0][levels - 1] >= -1022 + 52;
}

/* The sums of values, magnitudes or products where two levels hold them: what each level adds up to is a f64. */
static bool find_sum_results(const struct wf_tile *tile, enum wf_part part, rounded *results) {
    struct magnitudes x = find_magnitudes(tile->x, tile->rows * tile->pitch), y = x;
    if (tile->y) y = find_magnitudes(tile->y, tile->rows * tile->pitch);
    struct range element[2] = {range_of(x), range_of(y)}, range[TERMS_MAX] = {{0, 0}};
    struct column_units units;
    struct window window;
    double sum[WF_COLUMNS_MAX];
    if (!ADDER_ROUNDS || (IS_F64 && part == WF_PART_DOT) || x.max >= INFINITY_BITS || y.max >= INFINITY_BITS) return false;
    if (!ranges_of(part, element, range) || !extract_columns_functions[part](&units, &window, range, tile)) return false;
    if (!are_levels_f64(&window)) return false;
    bool has_zero = add_column_levels(sum, &units, &window, tile->columns, false);
    if (has_zero && part == WF_PART_DOT) return false;
    for (size_t c = 0; has_zero && part == WF_PART_SUM && c < tile->columns; c++)
        if (sum[c] == 0 && is_column_of_minus_zeros(tile, c)) sum[c] = -0.0;
    for (size_t c = 0; c < tile->columns; c++) results[c] = (rounded)sum[c];
    forget_rounding();
    return true;
}

/* ---- exact sums ---- */

/* What the levels of a term add up to; false if that takes more than 126 bits. */
static bool total_of(wf_i128 *total, const struct column_units *units, const struct window *window, int term,
                     size_t column) {
    *total = 0;
    for (int k = 0; k < levels_of(window->shape, term); k++) {
        int distance = k ? window->exponent[term][k - 1] - window->exponent[term][k] : 0;
        wf_i128 most = (wf_i128)1 << (126 - distance);
        if (*total >= most || *total <= -most) return false;
        *total = *total * ((wf_i128)1 << distance) + units->term[term][k][column];
    }
    return true;
}

static int32_t finest_exponent(const struct window *window, int term) {
    return window->exponent[term][levels_of(window->shape, term) - 1] - 52;
}

/* Finds the totals of one term. */
static bool find_value_totals(struct wf_column_totals *totals, const struct column_units *units,
                              const struct window *window, size_t columns) {
    totals->sum_exponent = finest_exponent(window, 0);
    for (size_t c = 0; c < columns; c++) {
        if (!total_of(&totals->sum[c], units, window, 0, c)) return false;
        totals->is_minus_zero[c] = false;
    }
    return true;
}

/* The sums of values and of squares that are one term; of squares the second of the terms. */
static bool find_column_totals(const struct wf_tile *tile, unsigned parts, struct wf_column_totals *totals) {
    struct magnitudes x = find_magnitudes(tile->x, tile->rows * tile->pitch);
    struct range element[2] = {range_of(x), range_of(x)}, range[TERMS_MAX] = {{0, 0}};
    bool squares = parts & WF_PART_SQUARES;
    struct column_units units;
    struct window window;
    if ((squares && PRODUCT_TERMS > 1) || x.max >= INFINITY_BITS || !extract_columns_functions[parts]) return false;
    if (!ranges_of(parts, element, range) || !extract_columns_functions[parts](&units, &window, range, tile)) return false;
    totals->sum_exponent = finest_exponent(&window, 0);
    if (squares) totals->squares_exponent = finest_exponent(&window, 1);
    for (size_t c = 0; c < tile->columns; c++) {
        if (!total_of(&totals->sum[c], &units, &window, 0, c)) return false;
        if (squares && !total_of(&totals->squares[c], &units, &window, 1, c)) return false;
        totals->is_minus_zero[c] = totals->sum[c] == 0 && is_column_of_minus_zeros(tile, c);
    }
    forget_rounding();
    return true;
}

#endif
