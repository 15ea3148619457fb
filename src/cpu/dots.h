/* Dot products of rows and by key: loops/float_dots.c and integer_dots.c, compiled for each tier and type. */
#ifndef WF_CPU_DOTS_H
#define WF_CPU_DOTS_H

#include "cpu/block.h"

#define WF_COLUMN_DOTS_MAX (1 << 30)
#define WF_ROW_DOTS_MAX 4096 /* elements of a row: what they lose adds up to a bound that is within 2^-40 of itself */

/* The products of each of at most WF_COLUMNS_MAX rows with one of y, added up, as wf_results_function writes them; what empty
 * ones add up to is 0, perhaps -0.  Of segments y is a vector, too.  False, and nothing of use written, if some element or result needs more. */
typedef bool wf_row_dots_function(const struct wf_rows *rows, const unsigned char *y, int64_t y_stride_bytes,
                                  void *results);

/* The same of columns of integers of 8 or 16 bits, whose products add up to less than 2^64 in magnitude. */
typedef void wf_column_dots_function(const struct wf_panel *panel, uint64_t *results);

/* Splits the products of at most WF_UNITS_MAX pairs, as wf_split_function does squares: onto a grid, of integers of 32
 * bits into halves.  Grid NULL, of floats: word 0 is an enum wf_mark of each product, 0 for a NaN. */
typedef void wf_split_products_function(struct wf_units *units, const struct wf_grid *grid, const void *x,
                                        const void *y, size_t count);

#endif
