/* Counts asynchronous copies, and what threads wait at for them.  Copies in bulk pass by the registers and the paths of
 * loads and stores: no other observer counts their bytes. */
#include "counts.h"

enum { COPIES, SENDS, BULK_COPIES, BULK_BYTES, ARRIVALS, WAITS, PROXY_FENCES, CLUSTER_BARRIERS, COUNTS };

static const char *const names[COUNTS] = {"asynchronous_copies", "asynchronous_stores", "bulk_copies",  "bulk_bytes",
                                          "mbarrier_arrivals",   "mbarrier_waits",      "proxy_fences", "cluster_barriers"};

static void count_copy(void *block, const simt_event *event, const simt_copy *copy) {
    (void)event;
    uint64_t *counts = block;
    if (copy->engine == SIMT_ENGINE_WGMMA) return;
    if (copy->engine == SIMT_ENGINE_GROUP) counts[COPIES]++;
    else if (copy->is_generic) counts[SENDS]++;
    else {
        counts[BULK_COPIES] += !copy->is_part;
        counts[BULK_BYTES] += copy->to.nbytes;
    }
}

/* A wait is counted once, when its phase is over: how often it is tried before is a matter of time. */
static void count_mbarrier(void *block, const simt_event *event, const simt_mbarrier *operation) {
    (void)event;
    uint64_t *counts = block;
    counts[ARRIVALS] += operation->operation == SIMT_MBARRIER_ARRIVE ||
                        operation->operation == SIMT_MBARRIER_ARRIVE_COPIES;
    counts[WAITS] += operation->operation == SIMT_MBARRIER_WAIT;
}

static void count_proxy_fence(void *block, const simt_event *event, bool of_shared, bool of_global) {
    (void)event, (void)of_shared, (void)of_global;
    ((uint64_t *)block)[PROXY_FENCES]++;
}

/* Counts the phases of the cluster's barrier, each of which is ended by one arrival. */
static void count_cluster_barrier(void *block, const simt_event *event, bool is_arrival, enum simt_order order,
                                  bool completes) {
    (void)event, (void)is_arrival, (void)order;
    ((uint64_t *)block)[CLUSTER_BARRIERS] += completes;
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    counts_add(launch, block, COUNTS);
}

static void end_launch(void *launch, simt_report *report) { counts_report(report, names, launch, COUNTS); }

const struct simt_observer simt_observe_copies = {
    .name = "copies",
    .launch_nbytes = COUNTS * sizeof(uint64_t),
    .block_nbytes = COUNTS * sizeof(uint64_t),
    .copy = count_copy,
    .mbarrier = count_mbarrier,
    .proxy_fence = count_proxy_fence,
    .cluster_barrier = count_cluster_barrier,
    .block_end = end_block,
    .launch_end = end_launch,
};
