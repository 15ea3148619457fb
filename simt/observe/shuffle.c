/* Finds shuffles that give a lane the value of one which takes no part: PTX leaves that value undefined.  It is a finding
 * where the value is used. */
#include "counts.h"

static void check_shuffle(void *block, const simt_event *event, const uint8_t *sources) {
    uint32_t strays = 0;
    for (uint32_t lanes = event->mask; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        strays |= (uint32_t)!(event->mask >> sources[lane] & 1) << lane;
    }
    if (!strays) return;
    *(uint64_t *)block += lane_count(strays);
    simt_follow_undefined(event, strays, sources);
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    counts_add(launch, block, 1);
}

static void end_launch(void *launch, simt_report *report) {
    static const char *const names[] = {"undefined_shuffles"};
    counts_report(report, names, launch, 1);
}

const struct simt_observer simt_observe_shuffle = {
    .name = "shuffle",
    .launch_nbytes = sizeof(uint64_t),
    .block_nbytes = sizeof(uint64_t),
    .shuffle = check_shuffle,
    .block_end = end_block,
    .launch_end = end_launch,
};
