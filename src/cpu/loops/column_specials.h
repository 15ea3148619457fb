/* Infinities and NaNs of a tile's columns, which their sums cannot take: as in special.h, but that every lane is a
 * column's. */
#ifndef WF_CPU_LOOPS_COLUMN_SPECIALS_H
#define WF_CPU_LOOPS_COLUMN_SPECIALS_H

#include "cpu/loops/column_sums.h"
#include "cpu/loops/special.h"

/* What is not finite in a vector's columns, from x and y on, which may be NULL; cleans: it is taken out. */
INLINE struct specials look_at_columns(const struct wf_tile *tile, unsigned char *x, unsigned char *y, bool cleans) {
    const size_t pitch_nbytes = tile->pitch * sizeof(uword);
    struct specials seen = {.positive = {0}};
    for (size_t r = 0; r < tile->rows; r++, x += pitch_nbytes) {
        clean_step(&seen, cleans ? x : NULL, y, x, y);
        if (y) y += pitch_nbytes;
    }
    return seen;
}

/* The first row whose element, or pair, in a column that has one, is NaN. */
static size_t find_nan_of_column(const struct wf_tile *tile, size_t column) {
    size_t at = column;
    while (!is_nan(bits_at(tile->x, at)) && !(tile->y && is_nan(bits_at(tile->y, at)))) at += tile->pitch;
    return at / tile->pitch;
}

/* Notes what was found in the lane of a column whose elements still have it. */
static void note_column(struct wf_open_partial *into, const struct specials *seen, size_t lane, const struct wf_tile *tile,
                        size_t column) {
    const int64_t nans = -(int64_t)seen->nans.lanes[lane];
    note_infinities(into, seen->positive[lane] < 0, seen->negative[lane] < 0, seen->invalid[lane] < 0);
    if (into->parts & (WF_PART_SUM | WF_PART_DOT)) note_unless_column_of_minus_zeros(into, tile, column);
    if (!nans) return;
    into->partial->nan_count += (uint64_t)nans;
    if (into->partial->first_nan <= (uint64_t)tile->index) return;
    uint64_t first = (uint64_t)tile->index + find_nan_of_column(tile, column);
    if (first < into->partial->first_nan) into->partial->first_nan = first;
}

static bool is_lane_special(const struct specials *seen, size_t lane) {
    return seen->nans.lanes[lane] || (seen->positive[lane] | seen->negative[lane] | seen->invalid[lane]) < 0;
}

/* Notes them, and puts zeros in their place that add nothing, where the tile's elements lie: at x, and y; returns whether
 * there were any. */
static bool clean_tile(struct wf_open_partial *into, const struct wf_tile *tile, unsigned char *x, unsigned char *y) {
    bool any = false;
    for (size_t c = 0; c < tile->pitch; c += STEP) {
        unsigned char *a = x + c * sizeof(uword), *b = y ? y + c * sizeof(uword) : NULL;
        const struct specials seen = y ? look_at_columns(tile, a, b, false) : look_at_columns(tile, a, NULL, false);
        const vsword special = seen.nans.lanes | seen.positive | seen.negative | seen.invalid;
        if (!any_lane(special < 0)) continue;
        for (size_t lane = 0; lane < STEP && c + lane < tile->columns; lane++)
            if (is_lane_special(&seen, lane)) note_column(&into[c + lane], &seen, lane, tile, c + lane);
        y ? look_at_columns(tile, a, b, true) : look_at_columns(tile, a, NULL, true);
        any = true;
    }
    return any;
}

#endif
