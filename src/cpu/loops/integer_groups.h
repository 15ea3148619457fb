/* Sums and means of columns of integers; integer_products.h has what takes products.  Lanes are columns, which are read where they lie: a few rows are added in lanes of
 * twice their width, then to totals, which have room for all rows. */
#ifndef WF_CPU_LOOPS_INTEGER_GROUPS_H
#define WF_CPU_LOOPS_INTEGER_GROUPS_H

#include "cpu/loops/integer_products.h"

typedef int16_t lane_BOOL, lane_I8, lane_U8;
typedef int32_t lane_I16, lane_U16;
typedef int64_t lane_I32, lane_U32, lane_I64, lane_U64;
typedef PASTE(lane_, TYPE) lane;

enum {
    WIDE_LANES = VECTOR_NBYTES / (int)sizeof(lane),
    WIDE_MOST = IS_64 ? 4 : 8, /* vectors of columns that are added at a time: there are 16 registers */
    WIDE_VECTORS = WF_COLUMNS_STEP / WIDE_LANES < WIDE_MOST ? WF_COLUMNS_STEP / WIDE_LANES : WIDE_MOST,
    WIDE_COLUMNS = WIDE_VECTORS * WIDE_LANES,
};
_Static_assert(WF_COLUMNS_STEP % WIDE_COLUMNS == 0 && WF_PANEL_ROWS <= 128, "columns are left, or lanes overflow");

typedef lane vlanes __attribute__((vector_size(VECTOR_NBYTES)));
typedef uword vnarrow __attribute__((vector_size(WIDE_LANES * sizeof(uword))));
typedef sword vnarrow_signed __attribute__((vector_size(WIDE_LANES * sizeof(uword))));
typedef lane vfour __attribute__((vector_size(LANES * sizeof(lane)))); /* as many as a vi64 has */

/* The sums of that many rows of each column: of 64 bits the sums of the lower and of the upper halves. */
struct totals {
    int64_t low[WF_PANEL_COLUMNS_MAX], high[IS_64 ? WF_PANEL_COLUMNS_MAX : WIDE_COLUMNS];
};

INLINE vlanes widen_integers(const unsigned char *x, bool is_signed, bool magnitudes) {
    vnarrow bits;
    memcpy(&bits, x, sizeof bits);
    if (IS_BOOL) bits = (vnarrow)(bits != 0) & 1;
    if (is_signed) return __builtin_convertvector((vnarrow_signed)bits, vlanes);
    vnarrow negative = magnitudes && IS_SIGNED ? (vnarrow)((vnarrow_signed)bits < 0) : (vnarrow){0};
    return __builtin_convertvector((bits ^ negative) - negative, vlanes);
}

/* Adds lanes, of 64 bits by halves: the sign bit is flipped, so that the upper half has no sign either. */
INLINE void add_lanes(vlanes *low, vlanes *high, vlanes x, bool is_signed) {
    const vu64 flip = (vu64){0} + (is_signed ? UINT64_C(1) << 63 : 0);
    *low += IS_64 ? x & (lane)UINT32_MAX : x;
    if (IS_64) *high = (vlanes)((vu64)*high + (((vu64)x ^ flip) >> 32));
}

/* Adds lanes to totals, or, if there are none yet, makes them these. */
INLINE void total_lanes(int64_t *totals, const vlanes *lanes, bool is_first) {
    UNROLLED
    for (size_t c = 0; c < WIDE_COLUMNS; c += LANES) {
        vfour some;
        vi64 total = {0};
        memcpy(&some, (const lane *)lanes + c, sizeof some);
        if (!is_first) memcpy(&total, totals + c, sizeof total);
        total += __builtin_convertvector(some, vi64);
        memcpy(totals + c, &total, sizeof total);
    }
}

INLINE void add_wide_columns(int64_t *low, int64_t *high, const unsigned char *x, int64_t stride_bytes, size_t rows,
                             bool is_first, bool magnitudes) {
    const bool is_signed = IS_SIGNED && !magnitudes;
    vlanes lows[WIDE_VECTORS] = {0}, highs[WIDE_VECTORS] = {0};
    for (size_t r = 0; r < rows; r++, x += stride_bytes) {
        UNROLLED
        for (size_t v = 0; v < WIDE_VECTORS; v++)
            add_lanes(&lows[v], &highs[v], widen_integers(x + v * WIDE_LANES * sizeof(uword), is_signed, magnitudes),
                      is_signed);
    }
    total_lanes(low, lows, is_first);
    if (IS_64) total_lanes(high, highs, is_first);
}

/* The last columns may begin among those before them: their totals are kept apart. */
INLINE size_t first_of_columns(const struct wf_panel *panel, size_t c) {
    return c + WIDE_COLUMNS > panel->columns ? panel->columns - WIDE_COLUMNS : c;
}

INLINE void add_integer_rows(struct totals *totals, const struct wf_panel *panel, bool magnitudes) {
    for (size_t r = 0; r < panel->rows; r += WF_PANEL_ROWS) {
        const unsigned char *x = panel->x + (int64_t)r * panel->stride_bytes;
        size_t rows = panel->rows - r < WF_PANEL_ROWS ? panel->rows - r : WF_PANEL_ROWS;
        for (size_t c = 0; c < panel->columns; c += WIDE_COLUMNS)
            add_wide_columns(totals->low + c, totals->high + (IS_64 ? c : 0),
                             x + first_of_columns(panel, c) * sizeof(uword), panel->stride_bytes, rows, r == 0, magnitudes);
    }
}

/* ---- results ---- */

/* The mean of each lane.  *lost: see mean_of_pair. */
INLINE vf64 mean_of_integers(vi64 *lost, vi64 low, vi64 high, const struct lane_quotient *asked) {
    vf64 n = asked->divisor;
    if (!IS_64) return f64_of_integers(low) / n;
    return mean_of_pair(lost, two_sum(f64_of_integers(high) * 0x1p32, f64_of_integers(low)), n, asked->is_power);
}

/* Writes results of LANES columns, from that one on; returns lanes, not all bits 0, that have failed: a sum that does not fit, or a mean that
 * mean_of_pair does not find. */
INLINE vi64 write_totals(uint64_t *results, vi64 low, vi64 high, const struct wf_quotient *asked, size_t column,
                         bool is_signed) {
    const struct lane_quotient lanes = quotient_at(asked, column);
    vi64 lost = {0};
    high += (vi64)((vu64)low >> 32);
    vi64 sum = IS_64 ? (vi64)((vu64)high << 32) | (low & UINT32_MAX) : low;
    if (asked->is_divided)
        sum = (vi64)mean_of_integers(&lost, IS_64 ? low & UINT32_MAX : low, high, &lanes);
    else if (IS_64)
        lost = (vi64)((vu64)(is_signed ? high + (INT64_C(1) << 31) : high) >> 32);
    memcpy(results, &sum, sizeof sum);
    return lost;
}

/* Writes results of WIDE_COLUMNS columns, from that one on; returns whether any has failed. */
INLINE bool write_columns(uint64_t *results, const int64_t *low, const int64_t *high, size_t rows,
                          const struct wf_quotient *asked, size_t column) {
    const bool is_signed = IS_SIGNED && !(asked->parts & WF_PART_ABS);
    const int64_t flipped = is_signed ? (int64_t)rows << 31 : 0;
    vi64 lows, highs = {0}, lost = {0};
    int64_t any = 0;
    for (size_t c = 0; c < WIDE_COLUMNS; c += LANES) {
        memcpy(&lows, low + c, sizeof lows);
        if (IS_64) memcpy(&highs, high + c, sizeof highs);
        lost |= write_totals(results + c, lows, highs - flipped, asked, column + c, is_signed);
    }
    for (int i = 0; i < LANES; i++) any |= lost[i];
    return any;
}

/* ---- rows ---- */

/* low + high * 2^32; high is 0 except for 64 bits. */
struct total {
    int64_t low, high;
};

INLINE int64_t sum_of_wide(const vlanes *lanes) {
    int64_t totals[WIDE_COLUMNS], sum = 0;
    total_lanes(totals, lanes, true);
    for (int c = 0; c < WIDE_COLUMNS; c++) sum += totals[c];
    return sum;
}

_Static_assert(!IS_8 || WF_ROW_COUNT_MAX / WIDE_COLUMNS + WIDE_VECTORS <= 128, "lanes overflow");

/* Sums up one row: lanes go along it, and its last elements are added one by one. */
INLINE struct total sum_integer_row(const unsigned char *x, size_t count, bool magnitudes) {
    const bool is_signed = IS_SIGNED && !magnitudes;
    vlanes low[WIDE_VECTORS] = {0}, high[WIDE_VECTORS] = {0};
    size_t i = 0;
    for (; i + WIDE_COLUMNS <= count; i += WIDE_COLUMNS) {
        UNROLLED
        for (size_t v = 0; v < WIDE_VECTORS; v++)
            add_lanes(&low[v], &high[v], widen_integers(x + (i + v * WIDE_LANES) * sizeof(uword), is_signed, magnitudes),
                      is_signed);
    }
    for (; i + WIDE_LANES <= count; i += WIDE_LANES)
        add_lanes(&low[0], &high[0], widen_integers(x + i * sizeof(uword), is_signed, magnitudes), is_signed);
    struct total total = {sum_of_wide(low), 0};
    if (IS_64) total.high = sum_of_wide(high) - (is_signed ? (int64_t)i << 31 : 0);
    for (; i < count; i++) {
        uword bits = bits_at(x, i);
        uint64_t value = magnitudes ? magnitude_of(bits) : (uint64_t)key_of(bits);
        total.low += IS_64 ? (int64_t)(uint32_t)value : (int64_t)value;
        if (IS_64) total.high += is_signed ? (int64_t)value >> 32 : (int64_t)(value >> 32);
    }
    return total;
}

INLINE void sum_each_row(struct total *totals, const struct wf_rows *rows, bool magnitudes) {
    for (size_t r = 0; r < rows->rows; r++) {
        const int64_t *offset = rows->offset ? rows->offset + r : NULL;
        int64_t begin = offset ? offset[0] * (int64_t)sizeof(uword) : (int64_t)r * rows->stride_bytes;
        totals[r] = sum_integer_row(rows->x + begin, (size_t)(offset ? offset[1] - offset[0] : rows->count), magnitudes);
    }
}

APART void sum_integer_rows(struct total *totals, const struct wf_rows *rows, enum wf_part part) {
    if (IS_SIGNED && part == WF_PART_ABS)
        sum_each_row(totals, rows, true);
    else
        sum_each_row(totals, rows, false);
}

wf_row_results_function WF_LOOPS_NAME(find_row_results, TYPE, TIER);

bool WF_LOOPS_NAME(find_row_results, TYPE, TIER)(const struct wf_rows *rows, enum wf_part part, void *results) {
    const bool is_signed = IS_SIGNED && part != WF_PART_ABS;
    struct total totals[WF_COLUMNS_MAX];
    uint64_t *sums = results, lost = 0;
    if (part == WF_PART_NONZERO) return count_rows(rows, (uword)-1, results);
    sum_integer_rows(totals, rows, part);
    for (size_t r = 0; r < rows->rows; r++) {
        int64_t high = totals[r].high + (IS_64 ? totals[r].low >> 32 : 0);
        sums[r] = IS_64 ? (uint64_t)high << 32 | (uint32_t)totals[r].low : (uint64_t)totals[r].low;
        lost |= (uint64_t)(is_signed ? high + (INT64_C(1) << 31) : high) >> 32;
    }
    return !lost;
}

wf_row_totals_function WF_LOOPS_NAME(find_row_totals, TYPE, TIER);

bool WF_LOOPS_NAME(find_row_totals, TYPE, TIER)(const struct wf_rows *rows, enum wf_part part,
                                                struct wf_column_totals *totals) {
    struct total found[WF_COLUMNS_MAX];
    sum_integer_rows(found, rows, part);
    totals->sum_exponent = totals->squares_exponent = 0;
    for (size_t r = 0; r < rows->rows; r++) {
        totals->sum[r] = (wf_i128)((wf_u128)(wf_i128)found[r].high << 32) + found[r].low;
        totals->is_minus_zero[r] = false;
    }
    return true;
}

/* ---- columns ---- */

wf_few_rows_function WF_LOOPS_NAME(find_few_rows, TYPE, TIER);

void WF_LOOPS_NAME(find_few_rows, TYPE, TIER)(const struct wf_panel *rows, size_t used, const struct wf_quotient *asked,
                                              void *results, bool *has_failed) {
    struct totals totals;
    (void)used;
    if (asked->parts & (WF_PART_SQUARES | WF_PART_DOT)) {
        find_integer_products(results, has_failed, rows, asked);
        return;
    }
    if (IS_SIGNED && asked->parts & WF_PART_ABS)
        add_integer_rows(&totals, rows, true);
    else
        add_integer_rows(&totals, rows, false);
    for (size_t c = 0; c < rows->columns; c += WIDE_COLUMNS) {
        bool *failed = &has_failed[c / WF_STRIP_COLUMNS];
        *failed = c % WF_STRIP_COLUMNS && *failed;
        const size_t first = first_of_columns(rows, c);
        *failed |= write_columns((uint64_t *)results + first, totals.low + c, totals.high + (IS_64 ? c : 0), rows->rows, asked,
                                 first);
    }
    forget_rounding();
}

#endif
