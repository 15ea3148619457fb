/* Extremes of groups that lie side by side, or whose elements do: loops/minmax.c, compiled for each tier and type. */
#ifndef WF_CPU_MINMAX_H
#define WF_CPU_MINMAX_H

#include "cpu/block.h"

/* The least or the largest element is asked for, or the index of the first such.  nan_wins: a NaN is beyond all others,
 * else none is chosen where there is anything else. */
struct wf_extremum {
    bool largest, of_index, nan_wins;
};

/* That of each of WF_STRIP_COLUMNS to WF_PANEL_COLUMNS_MAX columns, of one row at least: an element, or the number of its row
 * in 64 bits.  results: aligned to 64 bytes.  Returns whether it is a NaN in any column, and sets are_nans of each if so. */
typedef bool wf_panel_minmax_function(const struct wf_panel *panel, struct wf_extremum asked, void *results, bool *are_nans);

/* The same of each row, as wf_results_function writes them; indices are positions in the row.  What empty rows come to has no
 * meaning.  Returns whether it is a NaN in any row. */
typedef bool wf_row_minmax_function(const struct wf_rows *rows, struct wf_extremum asked, void *results);

#endif
