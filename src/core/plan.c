#include "core/plan.h"

/* Below this a second thread costs more (a wake-up is some 10 us) than it saves. */
#define THREAD_NBYTES (INT64_C(1) << 19)

/* Chunks that are small compared with a thread's share balance the load when other processes take processor time; chunks
 * that are large compared with a page keep the prefetchers busy. */
#define CHUNK_NBYTES (INT64_C(1) << 18)

struct wf_plan wf_plan_make(int64_t count, int64_t nbytes, bool in_order, int threads) {
    int64_t useful = count / (THREAD_NBYTES / nbytes);
    struct wf_plan plan = {.threads = useful < 1 ? 1 : useful < threads ? (int)useful : threads};
    int64_t share = count / plan.threads + 1;
    plan.chunk = plan.threads == 1 ? count : in_order ? share : CHUNK_NBYTES / nbytes;
    return plan;
}
