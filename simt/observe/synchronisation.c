/* Counts what threads wait for and what they do together: barriers, fences, atomic operations, shuffles. */
#include "counts.h"

enum { BARRIERS, WARP_BARRIERS, FENCES, ATOMICS, GLOBAL_ATOMICS, SHARED_ATOMICS, SHUFFLES, COUNTS };

static const char *const names[COUNTS] = {"barriers",       "warp_barriers",  "fences",  "atomics",
                                          "global_atomics", "shared_atomics", "shuffles"};

static void count_barrier(void *block, const simt_block_view *view, uint32_t barrier, uint32_t pc,
                          const uint32_t *lanes) {
    (void)view, (void)barrier, (void)pc, (void)lanes;
    ((uint64_t *)block)[BARRIERS]++;
}

static void count_warp_barrier(void *block, const simt_event *event, uint32_t lanes) {
    (void)event, (void)lanes;
    ((uint64_t *)block)[WARP_BARRIERS]++;
}

static void count_fence(void *block, const simt_event *event, bool beyond_block) {
    (void)event, (void)beyond_block;
    ((uint64_t *)block)[FENCES]++;
}

static void count_shuffle(void *block, const simt_event *event, const uint8_t *sources) {
    (void)event, (void)sources;
    ((uint64_t *)block)[SHUFFLES]++;
}

/* Atomics are counted by the lane: each waits for those at the same address, wherever its warp is. */
static void count_atomics(void *block, const simt_event *event, const simt_access *access) {
    (void)event;
    if (access->kind != SIMT_ATOMIC) return;
    uint64_t *counts = block, operations = (uint64_t)lane_count(access->lanes) * access->elements;
    counts[ATOMICS] += operations;
    if (access->space == SIMT_GLOBAL) counts[GLOBAL_ATOMICS] += operations;
    if (access->space == SIMT_SHARED) counts[SHARED_ATOMICS] += operations;
}

static void end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    counts_add(launch, block, COUNTS);
}

static void end_launch(void *launch, simt_report *report) {
    counts_report(report, names, launch, COUNTS);
}

const struct simt_observer simt_observe_synchronisation = {
    .name = "synchronisation",
    .launch_nbytes = COUNTS * sizeof(uint64_t),
    .block_nbytes = COUNTS * sizeof(uint64_t),
    .barrier = count_barrier,
    .warp_barrier = count_warp_barrier,
    .fence = count_fence,
    .shuffle = count_shuffle,
    .access = count_atomics,
    .block_end = end_block,
    .launch_end = end_launch,
};
