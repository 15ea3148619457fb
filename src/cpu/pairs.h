/* Sums of two rows, element by element, as of two ranks: one addition rounds the exact sum once. */
#ifndef WF_CPU_PAIRS_H
#define WF_CPU_PAIRS_H

#include "core/grouped.h"

/* Reduces if it can: returns whether it did.  If not, nothing has been written: other ops and types, more than two rows,
 * elements or results that do not lie side by side, NaNs that are left out or errors. */
bool wf_cpu_try_pairs(wf_handle *handle, const struct wf_grouped *grouped);

#endif
