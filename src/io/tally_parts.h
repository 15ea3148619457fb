/* What the files of a tally share. */
#ifndef WF_IO_TALLY_PARTS_H
#define WF_IO_TALLY_PARTS_H

#include <string.h>

#include "io/tally.h"

/* What the engine computes for op; groups without a value give 0, and keys below 0 are no group's. */
wf_reduction wf_tally_reduction(const struct wf_tally *tally, wf_op op);

/* Whether an accumulator of carrier tells the results of op. */
bool wf_tally_carries(wf_op carrier, wf_op op);

/* Grows the memory to that many keys; false: out of memory, and the contents are unchanged. */
bool wf_tally_grow_keys(int32_t **keys, int64_t count);

/* Whether no row may be forgotten. */
bool wf_tally_keeps_rows(const struct wf_tally *tally);

/* The type and the results of an op that depends on the order; the column's counts are known. */
wf_type wf_tally_order_type(const struct wf_tally *tally, wf_op op);
wf_error wf_tally_order_results(wf_handle *handle, struct wf_tally *tally, size_t column, wf_op op, void *results);

/* Values of the tally's type, of which the i-th segment begins at the i-th offset; there is an offset of the end, too. */
struct wf_segments {
    const unsigned char *values;
    const int64_t *offset;
    int64_t count;
};

/* The same of each segment; 0 of one without values. */
wf_error wf_tally_order_segments(wf_handle *handle, const struct wf_tally *tally, wf_op op, const struct wf_segments *segments,
                                 void *results);

void wf_ordered_clear(struct wf_ordered *ordered);
void wf_classes_clear(struct wf_classes *classes);

/* A copy of a known size is no call. */
static inline void wf_copy_element(void *to, const void *from, size_t nbytes) {
    if (nbytes == 8) memcpy(to, from, 8);
    else if (nbytes == 4) memcpy(to, from, 4);
    else memcpy(to, from, nbytes);
}

/* Has tally->ordered be the column's; its counts are known. */
wf_error wf_tally_sort_values(wf_handle *handle, struct wf_tally *tally, size_t column);

/* Whether the rows that are kept are so few for each group that wf_tally_short_results pays; op is the engine's. */
bool wf_tally_has_short_groups(const struct wf_tally *tally, wf_op op);

/* The results of such an op for a column, of the output's type.  After an error, the engine's message tells no group. */
wf_error wf_tally_short_results(wf_handle *handle, struct wf_tally *tally, size_t column, wf_op op, const wf_output *output);

/* Whether the rows that are kept are better added to pairs, as those that follow. */
bool wf_tally_is_for_pairs(const struct wf_tally *tally);

/* Adds the rows that are kept and have not been counted to the groups' pairs, and counts them: what remains are rows that
 * pairs cannot be exact with. */
wf_error wf_tally_add_to_pairs(wf_handle *handle, struct wf_tally *tally);

/* Has rows be kept, instead of the pairs, that are as many and have the same sums. */
wf_error wf_tally_expand_pairs(wf_handle *handle, struct wf_tally *tally);

/* The results of op, which is none that depends on the order; false: the pairs have to be expanded for them. */
bool wf_tally_pair_results(wf_handle *handle, const struct wf_tally *tally, wf_op op, double *results);

/* Has memory for more rows that are kept. */
wf_error wf_tally_reserve_rows(wf_handle *handle, struct wf_tally *tally, int64_t more);

/* Has the columns' counts have the rows that are kept. */
wf_error wf_tally_count_kept(wf_handle *handle, struct wf_tally *tally);

/* Has the columns' counts be of all groups. */
wf_error wf_tally_reserve_counts(wf_handle *handle, struct wf_tally *tally);

/* The same, and of any size: column->count is there. */
wf_error wf_tally_widen_counts(wf_handle *handle, struct wf_tally *tally);

#endif
