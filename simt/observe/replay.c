/* Keeps the last instructions of every warp, and adds those before a finding to the report. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "span.h"

/* Instructions kept of a warp; findings replayed; warps watched at a time, for the memory that it takes: blocks
 * that wait for each other may all be alive. */
enum { ENTRIES = 200, FINDINGS_MAX = 16, RINGS_MAX = 4096 };
enum { REPLAYED_WARPS = 2 }; /* of a finding: its own, and that of the other access of a race */

/* The latest is that before `next`. */
struct ring {
    simt_trace_entry entries[ENTRIES];
    uint32_t next, count;
};

struct replays {
    const simt_launch_view *view;
    pthread_mutex_t lock; /* of all below */
    uint32_t ring_count;
    bool out_of_memory;
    simt_replay found[FINDINGS_MAX][REPLAYED_WARPS];
};

struct watch {
    struct replays *replays;
    struct ring **rings; /* of the block's warps; NULL: not watched */
    uint64_t time;
    bool has_begun;
};

/* ---- what a warp does ---------------------------------------------------------------------------------------- */

/* NULL: there are enough, or no memory. */
static struct ring *ring_create(struct replays *replays) {
    struct ring *ring = NULL;
    pthread_mutex_lock(&replays->lock);
    bool is_wanted = replays->ring_count < RINGS_MAX;
    if (is_wanted) ring = calloc(1, sizeof *ring);
    replays->ring_count += ring != NULL;
    replays->out_of_memory |= is_wanted && !ring;
    pthread_mutex_unlock(&replays->lock);
    return ring;
}

static void lose(struct replays *replays) {
    pthread_mutex_lock(&replays->lock);
    replays->out_of_memory = true;
    pthread_mutex_unlock(&replays->lock);
}

static void begin_watch(struct watch *watch, uint32_t warps) {
    watch->has_begun = true;
    watch->rings = calloc(warps, sizeof *watch->rings);
    if (!watch->rings) lose(watch->replays);
    for (uint32_t warp = 0; watch->rings && warp < warps; warp++) watch->rings[warp] = ring_create(watch->replays);
}

static void note_instruction(void *state, const simt_event *event) {
    struct watch *watch = state;
    const simt_launch_view *view = event->block->launch;
    const simt_place *place = &view->places[event->pc];
    watch->time++;
    if (!watch->has_begun) begin_watch(watch, view->warps_per_block);
    struct ring *ring = watch->rings ? watch->rings[event->warp] : NULL;
    if (!ring) return;
    simt_trace_entry *entry = &ring->entries[ring->next];
    ring->next = (ring->next + 1) % ENTRIES;
    ring->count += ring->count < ENTRIES;
    entry->file = place->file;
    entry->line = place->line;
    entry->ptx_line = place->ptx_line;
    entry->time = watch->time;
    entry->active = event->active;
    entry->mask = event->mask;
    entry->is_branch = entry->has_addresses = false;
    entry->taken = entry->lanes = 0;
}

/* The entry of the event, if it is kept: the warp's latest. */
static simt_trace_entry *entry_of(const struct watch *watch, const simt_event *event) {
    struct ring *ring = watch->rings ? watch->rings[event->warp] : NULL;
    if (!ring || !ring->count) return NULL;
    simt_trace_entry *entry = &ring->entries[(ring->next + ENTRIES - 1) % ENTRIES];
    return entry->ptx_line == event->block->launch->places[event->pc].ptx_line ? entry : NULL;
}

static void note_branch(void *watch, const simt_event *event, uint32_t taken) {
    simt_trace_entry *entry = entry_of(watch, event);
    if (!entry) return;
    entry->is_branch = true;
    entry->taken = taken;
}

static void note_access(void *watch, const simt_event *event, const simt_access *access) {
    simt_trace_entry *entry = entry_of(watch, event);
    if (!entry || (access->space != SIMT_SHARED && access->space != SIMT_GLOBAL)) return;
    entry->has_addresses = true;
    entry->is_shared = access->space == SIMT_SHARED;
    entry->nbytes = lane_nbytes(access);
    entry->lanes = access->lanes;
    memcpy(entry->addresses, access->addresses, sizeof entry->addresses);
}

/* ---- what is found ------------------------------------------------------------------------------------------- */

/* The ring's entries in order of time; a replay without any where there is no memory. */
static simt_replay unroll(const struct ring *ring, const simt_event *event, uint32_t warp) {
    simt_trace_entry *entries = ring->count ? malloc(ring->count * sizeof *entries) : NULL;
    simt_replay replay = {.warp = warp, .entry_count = entries ? ring->count : 0, .entries = entries};
    uint32_t first = (ring->next + ENTRIES - ring->count) % ENTRIES;
    for (uint32_t i = 0; i < replay.entry_count; i++) entries[i] = ring->entries[(first + i) % ENTRIES];
    memcpy(replay.block, event->block->block, sizeof replay.block);
    return replay;
}

static void keep(struct watch *watch, const simt_event *event, uint32_t warp, size_t finding, bool is_other) {
    const struct ring *ring = watch->rings ? watch->rings[warp] : NULL;
    if (!ring) return;
    simt_replay replay = unroll(ring, event, warp);
    if (ring->count && !replay.entries) lose(watch->replays);
    replay.finding = finding;
    replay.is_other = is_other;
    pthread_mutex_lock(&watch->replays->lock);
    watch->replays->found[finding][is_other] = replay;
    pthread_mutex_unlock(&watch->replays->lock);
}

/* What an earlier meeting of the finding left, in whose place a stronger one comes. */
static void forget(struct replays *replays, size_t finding) {
    pthread_mutex_lock(&replays->lock);
    for (int i = 0; i < REPLAYED_WARPS; i++) {
        free((void *)replays->found[finding][i].entries);
        replays->found[finding][i] = (simt_replay){0};
    }
    pthread_mutex_unlock(&replays->lock);
}

static void keep_finding(void *state, const simt_event *event, size_t index, const simt_finding *finding) {
    struct watch *watch = state;
    const simt_launch_view *view = event->block->launch;
    if (index >= FINDINGS_MAX) return;
    forget(watch->replays, index);
    keep(watch, event, event->warp, index, false);
    if (!finding->has_other || memcmp(finding->block, finding->other_block, sizeof finding->block)) return;
    const uint32_t *thread = finding->other_thread;
    uint32_t other = thread[0] + view->block[0] * (thread[1] + view->block[1] * thread[2]);
    if (other / view->warp_size != event->warp) keep(watch, event, other / view->warp_size, index, true);
}

/* ---- hooks --------------------------------------------------------------------------------------------------- */

static bool begin_launch(void *state, const simt_launch_view *view) {
    struct replays *replays = state;
    replays->view = view;
    return !pthread_mutex_init(&replays->lock, NULL);
}

static bool begin_block(void *launch, void *state, const simt_block_view *view) {
    (void)view;
    ((struct watch *)state)->replays = launch;
    return true;
}

static void end_block(void *launch, void *state, const simt_block_view *view) {
    (void)view;
    struct replays *replays = launch;
    struct watch *watch = state;
    uint32_t count = 0;
    for (uint32_t warp = 0; watch->rings && warp < replays->view->warps_per_block; warp++) {
        count += watch->rings[warp] != NULL;
        free(watch->rings[warp]);
    }
    free(watch->rings);
    watch->rings = NULL;
    pthread_mutex_lock(&replays->lock);
    replays->ring_count -= count;
    pthread_mutex_unlock(&replays->lock);
}

static void end_launch(void *launch, simt_report *report) {
    struct replays *replays = launch;
    if (replays->out_of_memory) simt_report_lose(report);
    for (int i = 0; i < FINDINGS_MAX * REPLAYED_WARPS; i++) {
        const simt_replay *replay = &replays->found[i / REPLAYED_WARPS][i % REPLAYED_WARPS];
        if (replay->entry_count && !simt_report_add_replay(report, replay)) free((void *)replay->entries);
    }
    pthread_mutex_destroy(&replays->lock);
}

const struct simt_observer simt_observe_replay = {
    .name = "replay",
    .launch_nbytes = sizeof(struct replays),
    .block_nbytes = sizeof(struct watch),
    .launch_begin = begin_launch,
    .launch_end = end_launch,
    .block_begin = begin_block,
    .block_end = end_block,
    .instruction = note_instruction,
    .branch = note_branch,
    .access = note_access,
    .finding = keep_finding,
};
