/* Reports the simulator's own tally: instructions, and how many of a warp's lanes took part in them. */
#include "counts.h"

enum { INSTRUCTIONS, THREAD_INSTRUCTIONS, APPROXIMATE, ACTIVE_LANES, LANE_SLOTS, COUNTS };

static const char *const names[COUNTS] = {"instructions", "thread_instructions", "approximate",
                                          "active_lanes", "lane_slots"};

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)block;
    const simt_tally *tally = view->tally;
    const uint64_t counts[COUNTS] = {tally->instructions, tally->thread_instructions, tally->approximate,
                                     tally->active_lanes, tally->instructions * view->launch->warp_size};
    counts_add(launch, counts, COUNTS);
}

static void end_launch(void *launch, simt_report *report) {
    const uint64_t *counts = launch;
    counts_report(report, names, counts, COUNTS);
    simt_report_add(report, "utilization", share((double)counts[ACTIVE_LANES], (double)counts[LANE_SLOTS]));
}

const struct simt_observer simt_observe_instructions = {
    .name = "instructions",
    .launch_nbytes = sizeof(uint64_t[COUNTS]),
    .block_end = end_block,
    .launch_end = end_launch,
};
