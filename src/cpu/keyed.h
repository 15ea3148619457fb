/* Reductions of a vector by key through tables, which need no sorting. */
#ifndef WF_CPU_KEYED_H
#define WF_CPU_KEYED_H

#include "core/grouped.h"

/* Reduces if it can: returns whether it did.  If not, nothing of use has been written, and the keys must be sorted:
 * other ops and arrays, elements over so wide a range that many do not fit, results that do not fit their type, bad keys
 * that are not to be skipped, NaNs that are errors, too little memory. */
bool wf_cpu_try_keyed(wf_handle *handle, const struct wf_grouped *grouped);

/* Frees what the handle has kept for the next one. */
struct cpu;
void wf_cpu_forget_keyed(struct cpu *cpu);

#endif
