/* Finds shuffles that give a lane the value of one which takes no part: PTX leaves that value undefined. */
#include "counts.h"

static void check_shuffle(void *block, const simt_event *event, const uint8_t *sources) {
    uint32_t strays = 0;
    for (uint32_t lanes = event->mask; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        strays |= (uint32_t)!(event->mask >> sources[lane] & 1) << lane;
    }
    if (!strays) return;
    *(uint64_t *)block += lane_count(strays);
    uint32_t lane = (uint32_t)__builtin_ctz(strays);
    const struct lane_text here = lane_text(event->mask);
    simt_record_finding_of_lanes(
        event, SIMT_FINDING_SHUFFLE, strays, 0,
        "lane %u shuffles in the value of lane %u, which does not take part: the value is undefined; of the warp only "
        "%s %s here: let all come to the shuffle, those without a value with a neutral one (0 for a sum), or read from these "
        "alone", lane, sources[lane], here.text, here.be);
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
