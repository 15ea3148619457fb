/* Counts instructions, and how many of a warp's lanes took part in them. */
#include "counts.h"

enum { INSTRUCTIONS, THREAD_INSTRUCTIONS, APPROXIMATE, ACTIVE_LANES, LANE_SLOTS, COUNTS };

static const char *const names[COUNTS] = {"instructions", "thread_instructions", "approximate",
                                          "active_lanes", "lane_slots"};

struct tally {
    uint64_t counts[COUNTS];
    const simt_place *places;
    uint32_t warp_size;
};

static bool begin_block(void *launch, void *block, const simt_block_view *view) {
    (void)launch;
    struct tally *tally = block;
    tally->places = view->launch->places;
    tally->warp_size = view->launch->warp_size;
    return true;
}

static void count_instruction(void *block, const simt_event *event) {
    struct tally *tally = block;
    uint32_t active = lane_count(event->active);
    tally->counts[INSTRUCTIONS]++;
    tally->counts[THREAD_INSTRUCTIONS] += event->mask == event->active ? active : lane_count(event->mask);
    tally->counts[ACTIVE_LANES] += active;
    tally->counts[APPROXIMATE] += tally->places[event->pc].approximate;
}

static void end_block(void *launch, void *block) {
    struct tally *tally = block;
    tally->counts[LANE_SLOTS] = tally->counts[INSTRUCTIONS] * tally->warp_size;
    counts_add(((struct tally *)launch)->counts, tally->counts, COUNTS);
}

static void end_launch(void *launch, simt_report *report) {
    const uint64_t *counts = ((const struct tally *)launch)->counts;
    counts_report(report, names, counts, COUNTS);
    simt_report_add(report, "utilization", share((double)counts[ACTIVE_LANES], (double)counts[LANE_SLOTS]));
}

const struct simt_observer simt_observe_instructions = {
    .name = "instructions",
    .launch_nbytes = sizeof(struct tally),
    .block_nbytes = sizeof(struct tally),
    .block_begin = begin_block,
    .instruction = count_instruction,
    .block_end = end_block,
    .launch_end = end_launch,
};
