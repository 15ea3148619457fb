/* Counts conditional branches, and those at which the lanes of a warp parted. */
#include "counts.h"

enum { BRANCHES, DIVERGENT_BRANCHES, COUNTS };

static const char *const names[COUNTS] = {"branches", "divergent_branches"};

static void count_branch(void *block, const simt_event *event, uint32_t taken) {
    uint64_t *counts = block;
    counts[BRANCHES]++;
    counts[DIVERGENT_BRANCHES] += taken != 0 && taken != event->active;
}

static void end_block(void *launch, void *block) {
    counts_add(launch, block, COUNTS);
}

static void end_launch(void *launch, simt_report *report) {
    counts_report(report, names, launch, COUNTS);
}

const struct simt_observer simt_observe_divergence = {
    .name = "divergence",
    .launch_nbytes = COUNTS * sizeof(uint64_t),
    .block_nbytes = COUNTS * sizeof(uint64_t),
    .branch = count_branch,
    .block_end = end_block,
    .launch_end = end_launch,
};
