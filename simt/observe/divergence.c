/* Reports the simulator's own tally of conditional branches, and of those at which the lanes of a warp parted. */
#include "counts.h"

enum { BRANCHES, DIVERGENT_BRANCHES, COUNTS };

static const char *const names[COUNTS] = {"branches", "divergent_branches"};

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)block;
    const simt_tally *tally = view->tally;
    const uint64_t counts[COUNTS] = {tally->branches, tally->divergent_branches};
    counts_add(launch, counts, COUNTS);
}

static void end_launch(void *launch, simt_report *report) {
    counts_report(report, names, launch, COUNTS);
}

const struct simt_observer simt_observe_divergence = {
    .name = "divergence",
    .launch_nbytes = sizeof(uint64_t[COUNTS]),
    .block_end = end_block,
    .launch_end = end_launch,
};
