/* What the files of a tally share. */
#ifndef WF_IO_TALLY_PARTS_H
#define WF_IO_TALLY_PARTS_H

#include "io/tally.h"

/* What the engine computes for op; groups without a value give 0, and keys below 0 are no group's. */
wf_reduction wf_tally_reduction(const struct wf_tally *tally, wf_op op);

/* Whether an accumulator of carrier tells the results of op. */
bool wf_tally_carries(wf_op carrier, wf_op op);

/* Whether no row may be forgotten. */
bool wf_tally_keeps_rows(const struct wf_tally *tally);

/* The type and the results of an op that depends on the order; the column's counts are known. */
wf_type wf_tally_order_type(const struct wf_tally *tally, wf_op op);
wf_error wf_tally_order_results(wf_handle *handle, const struct wf_tally *tally, const struct wf_tally_column *column, wf_op op,
                                void *results);

/* Has the columns' counts be of all groups. */
wf_error wf_tally_reserve_counts(wf_handle *handle, struct wf_tally *tally);

#endif
