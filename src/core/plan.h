/* The plan: how a reduction is divided among threads.  A pure function of the array and of the processor. */
#ifndef WF_CORE_PLAN_H
#define WF_CORE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct wf_plan {
    int threads;
    int64_t chunk; /* elements that a thread takes at a time */
};

/* count elements of nbytes each, for at most `threads` threads; in_order: every thread must get one range
 * of neighbours (prod). */
struct wf_plan wf_plan_make(int64_t count, int64_t nbytes, bool in_order, int threads);

#endif
