/* Results of one element each, or the sums and means of two, as of two ranks: element by element, in one pass. */
#ifndef WF_CPU_ELEMENTWISE_H
#define WF_CPU_ELEMENTWISE_H

#include "core/grouped.h"

/* Reduces if it can: returns whether it did.  If not, nothing has been written: results that do not lie side by side, or do
 * not have the op's type, NaNs that are left out or errors; two elements, of which each is the others' neighbour in memory,
 * unless floats are added up or their mean is taken. */
bool wf_cpu_try_elementwise(wf_handle *handle, const struct wf_grouped *grouped);

#endif
