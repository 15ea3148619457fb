/* Extremes of groups that lie side by side, or whose elements do: loops/minmax.c, compiled for each tier and type. */
#ifndef WF_CPU_MINMAX_H
#define WF_CPU_MINMAX_H

#include "cpu/block.h"

/* The least or the largest element of each of WF_STRIP_COLUMNS to WF_PANEL_COLUMNS_MAX columns, of one row at least.
 * results: aligned to 64 bytes, of the elements' type.  has_failed: of each strip, whether there is a NaN, so that nothing
 * of use has been written. */
typedef void wf_panel_minmax_function(const struct wf_panel *panel, bool largest, void *results, bool *has_failed);

/* The same of each row, as wf_results_function writes them, or the position of the first such element in its row.  What
 * empty rows come to has no meaning.  False: there is a NaN. */
typedef bool wf_row_minmax_function(const struct wf_rows *rows, bool largest, bool of_index, void *results);

#endif
