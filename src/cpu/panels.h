/* Sums of many neighbouring columns at once, whose rows are read where they lie. */
#ifndef WF_CPU_PANELS_H
#define WF_CPU_PANELS_H

#include "core/view.h"
#include "cpu/tier.h"

/* How many groups of `count` elements a panel takes, whose elements are the view's and adjacent to their neighbours'. */
size_t wf_panel_groups(const struct wf_view *view, int64_t groups);

/* Adds up values or magnitudes (part) of that many neighbouring groups, the first of which the view shows; false if their
 * elements are too many, or no window covers them.  Where groups are few, several rows are taken together as one.
 * apart: as a panel has it. */
bool wf_panel_sum(struct wf_panel_sums *sums, const struct wf_tier *tier, wf_type type, enum wf_part part,
                  const struct wf_view *view, size_t groups, const struct wf_apart *apart);

/* Sets which of the groups first <= g < first + count (at most WF_COLUMNS_MAX) have no element but -0; it need be known
 * only where is_asked.
 * stride_bytes: from one group's elements to the next one's. */
void wf_panel_find_minus_zeros(bool *are_minus_zeros, const bool *is_asked, const struct wf_view *view, int64_t stride_bytes,
                               size_t first, size_t count);

#endif
