/* The results of several ops for each row of a table, over the row's columns. */
#ifndef WF_IO_TABLE_PER_ROW_H
#define WF_IO_TABLE_PER_ROW_H

#include "io/tally.h"

struct wf_row_results {
    int64_t count, capacity;         /* rows */
    void *result[WF_TALLY_OPS_MAX];  /* of each op of the tally: one of each row, or 0; indices are columns, from 0 */
};

void wf_row_results_clear(struct wf_row_results *results);

/* Reads all rows that the reader has left.  The tally has begun; it gets the columns' names, and the count of values of
 * each row, as if rows were the groups of its first column (wf_tally_has_result). */
wf_error wf_table_reduce_rows(wf_handle *handle, struct wf_tally *tally, wf_reader *reader,
                              const struct wf_table_plan *plan, struct wf_row_results *results);

#endif
