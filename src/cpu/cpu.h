/* The CPU on its own, without a handle: for calls that have none. */
#ifndef WF_CPU_CPU_H
#define WF_CPU_CPU_H

#include "core/accumulator.h"
#include "cpu/tier.h"

/* Adds count contiguous elements (pairs, where y is not NULL) on the caller's thread, with no memory but some 8 KiB of
 * the stack. */
void wf_cpu_add_alone(struct wf_accumulator *into, const struct wf_tier *tier, const void *x, const void *y,
                      int64_t count);

#endif
