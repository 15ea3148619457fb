/* The sums of a panel's columns: lanes are columns, which are read where they lie, a few rows of a strip at a time, so
 * that the rows are still in the first-level cache when their range is known. */
#ifndef WF_CPU_LOOPS_PANEL_SUMS_H
#define WF_CPU_LOOPS_PANEL_SUMS_H

#include "cpu/loops/column_sums.h"
#include "cpu/loops/panel_rows.h"
#include "cpu/loops/strip.h"

enum {
    PANEL_LEVELS = 2,
    STRIP_COLUMNS_MAX = 128, /* enough that rows are read in long pieces, which the processor prefetches */
    PANEL_ADDITIONS = 511    /* that a level holds: headroom_of */
};

static struct window window_of_panel(const struct wf_panel_sums *sums) {
    struct window window = {.shape = {PANEL_LEVELS, PANEL_LEVELS}, .exponent = {{sums->exponent[0], sums->exponent[1]}}};
    if (sums->is_scaled) move_down(&window);
    return window;
}

/* ---- the window ---- */

/* What finite rows have: a part of each, by turns another one, since of few rows all are looked at. */
static struct magnitudes sample_row(struct magnitudes found, const struct wf_panel *panel, size_t row,
                                    size_t turn) {
    enum { TURNS = 4, LEAST = 64 };
    size_t part = panel->columns / TURNS < LEAST ? panel->columns : panel->columns / TURNS;
    size_t first = part < panel->columns ? turn % TURNS * part : 0;
    struct magnitudes of_row = find_bounds(part_of_row(panel, row, first, part), part);
    return of_row.max < INFINITY_BITS ? larger_range(found, of_row) : found;
}

/* The range of the first rows, which are read next in any case, and of some others. */
static struct range sample_panel(const struct wf_panel *panel) {
    enum { FIRST = 16, OTHERS = 4, WORTHWHILE = 256 };
    struct magnitudes found = {0, MAGNITUDE};
    for (size_t r = 0; r < FIRST && r < panel->rows; r++) found = sample_row(found, panel, r, r);
    for (size_t i = 1; panel->rows >= WORTHWHILE && i <= OTHERS; i++)
        found = sample_row(found, panel, i * (panel->rows / OTHERS) - 1, i);
    return range_of(found);
}

/* Levels with a little room above what the sample has, and all the rest below. */
static bool choose_panel_window(struct wf_panel_sums *sums, struct window *window, const struct wf_panel *panel,
                                struct kind kind) {
    enum { ABOVE = 2 };
    struct range range = sample_panel(panel);
    sums->is_scaled = moves_up(&range);
    if (sums->is_scaled) kind.floor[0] += SHIFT_OF_GROUPS;
    int spare = PANEL_LEVELS * bits_of_level(headroom_of(kind)) - (range.top - range.low);
    if (spare < 0) return false;
    range.top += spare < 2 * ABOVE ? spare / 2 : ABOVE;
    window->shape = (struct shape){PANEL_LEVELS, PANEL_LEVELS};
    if (!set_levels(window, 0, range, kind, headroom_of(kind))) return false;
    for (int k = 0; k < PANEL_LEVELS; k++) sums->exponent[k] = window->exponent[0][k];
    return true;
}

/* ---- strips ---- */

INLINE struct range scan_strip(struct strip strip, bool *is_finite) {
    struct scan scan[2] = {RANGE_SCAN_START, RANGE_SCAN_START};
    for (size_t r = 0; r < strip.rows; r++) {
        const unsigned char *row = strip.x + (int64_t)r * strip.stride_bytes;
        for (size_t i = 0; i < strip.columns; i += 2 * STEP) {
            scan_bounds(&scan[0], row + i * sizeof(uword));
            if (2 * STEP <= WF_STRIP_COLUMNS) scan_bounds(&scan[1], row + (i + STEP) * sizeof(uword));
        }
    }
    struct magnitudes found = larger_range(scanned_magnitudes(&scan[0]), scanned_magnitudes(&scan[1]));
    *is_finite = found.max < INFINITY_BITS;
    return range_of(found);
}

INLINE void add_some_columns(double *upper, double *lower, struct strip strip, int levels, int unroll, load_terms *load) {
    double *sum[PANEL_LEVELS] = {upper, lower};
    vf64 level[LEVELS_MAX][UNROLL_MAX];
    UNROLLED
    for (int u = 0; u < unroll * levels; u++)
        level[u / unroll][u % unroll] = load_f64((const unsigned char *)(sum[u / unroll] + u % unroll * LANES));
    for (size_t r = 0; r < strip.rows; r++, strip.x += strip.stride_bytes) {
        prefetch_next_strip(strip.x, strip.next, (size_t)(unroll * LANES) * sizeof(uword));
        UNROLLED
        for (int u = 0; u < unroll; u++)
            extract_terms(level, NULL, levels, u, load(strip.x + (size_t)(u * LANES) * sizeof(uword), NULL, levels, NULL));
    }
    UNROLLED
    for (int u = 0; u < unroll * levels; u++)
        memcpy(sum[u / unroll] + u % unroll * LANES, &level[u / unroll][u % unroll], sizeof(vf64));
}

/* As many levels as the rows need. */
INLINE void add_strip(double *upper, double *lower, struct strip strip, int levels, load_terms *load) {
    const int unroll = levels == 1 ? UNROLL_MAX : UNROLL_MAX / 2;
    for (size_t c = 0; c < strip.columns; c += (size_t)(unroll * LANES)) {
        struct strip part = {strip.x + c * sizeof(uword), strip.stride_bytes, strip.rows, 0, strip.next, NULL, 0};
        add_some_columns(upper + c, lower + c, part, levels, unroll, load);
    }
}

/* Adds a strip of small elements; through two levels, since such strips are rare. */
APART void add_small_strip(double *upper, double *lower, struct strip strip, enum wf_part part) {
    if (part == WF_PART_ABS)
        add_strip(upper, lower, strip, 2, load_scaled_magnitude);
    else
        add_strip(upper, lower, strip, 2, load_scaled_value);
}

INLINE void add_strip_of_part(double *upper, double *lower, struct strip strip, int levels, enum wf_part part) {
    if (part == WF_PART_ABS && levels == 1)
        add_strip(upper, lower, strip, 1, load_magnitude);
    else if (part == WF_PART_ABS)
        add_strip(upper, lower, strip, 2, load_magnitude);
    else if (levels == 1)
        add_strip(upper, lower, strip, 1, load_value);
    else
        add_strip(upper, lower, strip, 2, load_value);
}

/* Adds rows of a strip; false if the window does not cover them. */
static bool try_strip(struct wf_panel_sums *sums, const struct window *window, struct strip strip, size_t first,
                      enum wf_part part) {
    bool is_finite;
    struct range range = scan_strip(strip, &is_finite);
    if (sums->is_scaled) range = (struct range){range.top + SHIFT_OF_GROUPS, range.low + SHIFT_OF_GROUPS};
    if (!is_finite || range.top > window->covered[0].top || range.low < window->covered[0].low) return false;
    int levels = range.low >= window->exponent[0][0] - 52 ? 1 : 2;
    if (sums->is_scaled)
        add_small_strip(sums->sum[0] + first, sums->sum[1] + first, strip, part);
    else
        add_strip_of_part(sums->sum[0] + first, sums->sum[1] + first, strip, levels, part);
    return true;
}

/* ---- panels ---- */

static void start_panel(struct wf_panel_sums *sums, const struct window *window, size_t columns) {
    for (int k = 0; k < PANEL_LEVELS; k++) {
        vf64 anchor = anchor_of(window, 0, k);
        for (size_t c = 0; c < columns; c += LANES) memcpy(&sums->sum[k][c], &anchor, sizeof anchor);
    }
}

/* Moves the sums to integers, and starts again. */
static void collect_panel(struct wf_panel_sums *sums, const struct window *window, size_t columns) {
    for (int k = 0; k < PANEL_LEVELS; k++) {
        int64_t anchor = anchor_bits(window->exponent[0][k]);
        for (size_t c = 0; c < columns; c++) {
            int64_t bits;
            memcpy(&bits, &sums->sum[k][c], sizeof bits);
            sums->unit[k][c] += bits - anchor;
        }
    }
    start_panel(sums, window, columns);
}

/* Rows of that many of a strip's columns, filled up with zeros. */
static struct strip fill_strip(struct wf_panel_sums *sums, struct strip strip, size_t columns) {
    struct strip filled = {sums->copy, WF_STRIP_COLUMNS * sizeof(uword), strip.rows, WF_STRIP_COLUMNS, 0, NULL, 0};
    for (size_t r = 0; r < strip.rows; r++) {
        unsigned char *row = sums->copy + r * WF_STRIP_COLUMNS * sizeof(uword);
        memset(row, 0, WF_STRIP_COLUMNS * sizeof(uword));
        memcpy(row, strip.x + (int64_t)r * strip.stride_bytes, columns * sizeof(uword));
    }
    return filled;
}

/* The columns of the strip that begins at one: what has not failed of it, or nothing. */
static size_t strip_columns(const struct wf_panel_sums *sums, size_t first, size_t columns) {
    const bool *has_failed = sums->has_failed + first / WF_STRIP_COLUMNS;
    size_t left = columns - first, taken = 0;
    if (left < WF_STRIP_COLUMNS) return *has_failed ? 0 : left;
    while (taken < STRIP_COLUMNS_MAX && taken + WF_STRIP_COLUMNS <= left && !*has_failed++) taken += WF_STRIP_COLUMNS;
    return taken;
}

/* Adds rows of a strip; returns whether it has not failed, that many columns of it as fail together. */
static bool add_strip_rows(struct wf_panel_sums *sums, const struct window *window, struct strip rows, size_t first,
                           size_t columns, enum wf_part part) {
    struct strip strip = {rows.x + first * sizeof(uword), rows.stride_bytes, rows.rows, columns,
                          (int64_t)(columns * sizeof(uword)), NULL, 0};
    if (first + columns >= rows.columns) /* the next rows' */
        strip.next = (int64_t)rows.rows * rows.stride_bytes - (int64_t)(first * sizeof(uword));
    if (columns % WF_STRIP_COLUMNS) strip = fill_strip(sums, strip, columns);
    if (try_strip(sums, window, strip, first, part)) return true;
    if (columns <= WF_STRIP_COLUMNS) sums->has_failed[first / WF_STRIP_COLUMNS] = true;
    bool any = false;
    for (size_t c = 0; columns > WF_STRIP_COLUMNS && c < columns; c += WF_STRIP_COLUMNS) {
        strip = (struct strip){rows.x + (first + c) * sizeof(uword), rows.stride_bytes, rows.rows, WF_STRIP_COLUMNS, 0, NULL,
                               0};
        bool is_covered = try_strip(sums, window, strip, first + c, part);
        sums->has_failed[(first + c) / WF_STRIP_COLUMNS] = !is_covered;
        any |= is_covered;
    }
    return any;
}

/* Adds rows of all strips; returns whether any has not failed. */
static bool add_panel_rows(struct wf_panel_sums *sums, const struct window *window, struct strip rows, enum wf_part part) {
    bool any = false;
    for (size_t first = 0, taken; first < rows.columns; first += taken ? taken : WF_STRIP_COLUMNS) {
        taken = strip_columns(sums, first, rows.columns);
        any |= taken && add_strip_rows(sums, window, rows, first, taken, part);
    }
    return any;
}

/* Adds all rows; returns whether any strip has not failed. */
static bool add_panel(struct wf_panel_sums *sums, const struct window *window, const struct wf_panel *panel, size_t columns,
                      enum wf_part part) {
    struct strip last = {panel->x + (int64_t)panel->rows * panel->stride_bytes, panel->stride_bytes, 1, panel->rest, 0, NULL, 0};
    size_t added = 0;
    for (size_t r = 0; r < panel->rows; r += WF_PANEL_ROWS, added += WF_PANEL_ROWS) {
        const size_t left = panel->rows - r, taken = left < WF_PANEL_ROWS ? left : WF_PANEL_ROWS;
        const struct panel_rows at = rows_of_panel(panel, r, taken);
        struct strip rows = {at.x, at.stride_bytes, taken, panel->columns, 0, NULL, 0};
        if (added + WF_PANEL_ROWS >= PANEL_ADDITIONS) {
            collect_panel(sums, window, columns);
            added = 0;
        }
        if (!add_panel_rows(sums, window, rows, part)) return false;
    }
    return !panel->rest || add_panel_rows(sums, window, last, part);
}

wf_sum_panel_function WF_LOOPS_NAME(sum_panel, TYPE, TIER);

bool WF_LOOPS_NAME(sum_panel, TYPE, TIER)(struct wf_panel_sums *sums, const struct wf_panel *panel, enum wf_part part) {
    size_t columns = (panel->columns + WF_STRIP_COLUMNS - 1) / WF_STRIP_COLUMNS * WF_STRIP_COLUMNS;
    struct window window = {.shape = {PANEL_LEVELS, PANEL_LEVELS}};
    if (!choose_panel_window(sums, &window, panel, kind_of(part))) return false;
    memset(sums->has_failed, 0, sizeof sums->has_failed);
    for (int k = 0; k < PANEL_LEVELS; k++) memset(sums->unit[k], 0, columns * sizeof *sums->unit[k]);
    start_panel(sums, &window, columns);
    sums->count = (int64_t)panel->rows + 1;
    bool is_added = add_panel(sums, &window, panel, columns, part);
    collect_panel(sums, &window, columns);
    forget_rounding();
    return is_added;
}

static void read_panel(struct column_units *units, const struct wf_panel_sums *sums, size_t first, size_t columns) {
    for (int k = 0; k < PANEL_LEVELS; k++) {
        memcpy(units->term[0][k], sums->unit[k] + first, columns * sizeof(int64_t));
        for (size_t c = columns; c % LANES; c++) units->term[0][k][c] = 1; /* to fill a vector */
    }
}

wf_panel_results_function WF_LOOPS_NAME(find_panel_results, TYPE, TIER);

bool WF_LOOPS_NAME(find_panel_results, TYPE, TIER)(const struct wf_panel_sums *sums, size_t first, size_t columns,
                                                   void *results, bool *has_zero) {
    struct window window = window_of_panel(sums);
    struct column_units units;
    double sum[WF_COLUMNS_MAX];
    rounded *found = results;
    if (!ADDER_ROUNDS || sums->count > WF_ROW_COUNT_MAX || !are_levels_f64(&window)) return false;
    read_panel(&units, sums, first, columns);
    *has_zero = add_column_levels(sum, &units, &window, columns, sums->count > PANEL_ADDITIONS);
    for (size_t c = 0; c < columns; c++) found[c] = (rounded)sum[c];
    forget_rounding();
    return true;
}

wf_panel_totals_function WF_LOOPS_NAME(find_panel_totals, TYPE, TIER);

bool WF_LOOPS_NAME(find_panel_totals, TYPE, TIER)(const struct wf_panel_sums *sums, size_t first, size_t columns,
                                                  struct wf_column_totals *totals) {
    struct window window = window_of_panel(sums);
    struct column_units units;
    read_panel(&units, sums, first, columns);
    return find_value_totals(totals, &units, &window, columns);
}

#endif
