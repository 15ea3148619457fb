/* A block while it runs: its warps take turns until all have ended, or none can go on. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

static size_t round_up(size_t nbytes) { return (nbytes + 63) / 64 * 64; }

void simt_block_destroy(struct block *block) {
    if (!block) return;
    for (uint32_t w = 0; block->warps && w < block->warp_count; w++) simt_paths_free(&block->warps[w]);
    free(block->warps);
    free(block->shared);
    free(block->shared_written);
    free(block->states);
    free(block->barrier_lanes);
    free(block);
}

/* Creates a block that can run any number of the launch's blocks, one after another. */
struct block *simt_block_create(struct launch *launch) {
    const simt_launch_view *view = &launch->view;
    struct block *block = calloc(1, sizeof *block);
    if (!block) return NULL;
    block->launch = launch;
    block->warp_count = view->warps_per_block;
    block->warps = calloc(block->warp_count, sizeof *block->warps);
    block->barrier_lanes = calloc((size_t)(BARRIERS + 1) * block->warp_count, sizeof *block->barrier_lanes);
    block->shared = aligned_alloc(64, round_up(view->shared_nbytes + 1));
    block->states = aligned_alloc(64, round_up(launch->states_nbytes + 1));
    if (launch->needs_initialised) block->shared_written = malloc(view->shared_nbytes + 1);
    if (!block->warps || !block->barrier_lanes || !block->shared || !block->states ||
        (launch->needs_initialised && !block->shared_written)) {
        simt_block_destroy(block);
        return NULL;
    }
    for (uint32_t w = 0; w < block->warp_count; w++) {
        block->warps[w].block = block;
        block->warps[w].index = w;
    }
    return block;
}

static bool observers_begin(struct block *block) {
    const struct launch *launch = block->launch;
    memset(block->states, 0, launch->states_nbytes);
    for (uint32_t o = 0; o < launch->all.count; o++) {
        const struct hook *hook = &launch->all.hooks[o];
        if (!hook->observer->block_begin) continue;
        if (!hook->observer->block_begin(launch->launch_states[o], block->states + hook->state, &block->view))
            return false;
    }
    return true;
}

static bool warps_begin(struct block *block) {
    const simt_launch_view *view = &block->launch->view;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp *warp = &block->warps[w];
        uint32_t rest = view->threads_per_block - w * view->warp_size;
        uint32_t count = rest < view->warp_size ? rest : view->warp_size;
        warp->live = UINT32_MAX >> (32 - count);
        warp->spinning = warp->polls = 0;
        if (!simt_paths_start(warp, warp->live)) return false;
    }
    return true;
}

bool simt_block_begin(struct block *block, uint64_t index) {
    const struct launch *launch = block->launch;
    const uint32_t *grid = launch->view.grid;
    block->view = (simt_block_view){
        .launch = &launch->view, .index = index, .tally = &block->tally, .machine = block->launch};
    block->view.block[0] = (uint32_t)(index % grid[0]);
    block->view.block[1] = (uint32_t)(index / grid[0] % grid[1]);
    block->view.block[2] = (uint32_t)(index / grid[0] / grid[1]);
    block->live_threads = launch->view.threads_per_block;
    block->tally = (simt_tally){0};
    block->allowed = block->polls = 0;
    block->random = launch->request->seed ^ index * UINT64_C(0xd1342543de82ef95);
    memset(block->barrier_lanes, 0, BARRIERS * block->warp_count * sizeof *block->barrier_lanes);
    for (uint32_t b = 0; b < BARRIERS; b++)
        block->barriers[b] = (struct barrier){.lanes = block->barrier_lanes + (size_t)b * block->warp_count};
    memset(block->shared, 0, launch->view.shared_nbytes);
    if (block->shared_written) memset(block->shared_written, 0, launch->view.shared_nbytes);
    if (observers_begin(block) && warps_begin(block)) return true;
    simt_launch_no_memory(block->launch);
    return false;
}

void simt_block_end(struct block *block) {
    struct launch *launch = block->launch;
    uint32_t exited = launch->view.threads_per_block;
    for (uint32_t w = 0; w < block->warp_count; w++) exited -= lane_count(block->warps[w].live);
    for (uint32_t w = 0; w < block->warp_count; w++) simt_paths_clear(&block->warps[w]);
    pthread_mutex_lock(&launch->lock);
    launch->exited += exited;
    for (uint32_t o = 0; o < launch->all.count; o++) {
        const struct hook *hook = &launch->all.hooks[o];
        if (hook->observer->block_end)
            hook->observer->block_end(launch->launch_states[o], block->states + hook->state, &block->view);
    }
    pthread_mutex_unlock(&launch->lock);
}

/* ---- running */

static bool waits(const struct path *path) {
    return path->state == PATH_AT_BARRIER || path->state == PATH_AT_WARP_BARRIER ||
           path->state == PATH_AT_COLLECTIVE;
}

/* Nothing can go on: says who waits for whom. */
static void deadlock(struct block *block) {
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp *warp = &block->warps[w];
        struct path *path = warp->leaves;
        while (path && !waits(path)) path = path->next;
        if (!path) continue;
        simt_event event = simt_event_of(warp, path, path->waiting_lanes);
        uint32_t lane = (uint32_t)__builtin_ctz(path->waiting_lanes | UINT32_C(1) << (SIMT_LANES - 1));
        uint32_t others = warp->live & ~path->waiting_lanes;
        if (path->state == PATH_AT_BARRIER)
            simt_record_finding(
                &event, SIMT_FINDING_BARRIER, lane, 0,
                "lanes 0x%08x of warp %u wait at barrier %u, which other threads never reach",
                (unsigned)path->waiting_lanes, w, path->barrier);
        else
            simt_record_finding(
                &event, SIMT_FINDING_BARRIER, lane, 0,
                "lanes 0x%08x of warp %u wait for all lanes of their mask; lanes 0x%08x never arrive",
                (unsigned)path->waiting_lanes, w, (unsigned)others);
        simt_stop(&event);
        return;
    }
    atomic_store(&block->launch->is_lost, true);
    simt_launch_stop(block->launch);
}

/* Lanes that have nothing left to do but return need not wait for others to return with them: a barrier that those
 * wait at counts only threads that have not. */
static bool release_returning(struct block *block) {
    bool is_any = false;
    for (uint32_t w = 0; w < block->warp_count; w++)
        is_any |= simt_path_release_waiting(&block->warps[w], true);
    return is_any;
}

static uint64_t turn_length(const struct block *block, uint64_t budget, uint64_t *random) {
    if (block->launch->request->schedule != SIMT_RANDOM) return budget;
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return 1 + (*random >> 33) % 64;
}

/* One turn of each warp.  true: the block goes on. */
static bool run_round(struct block *block, uint64_t budget, uint64_t *random) {
    uint32_t first = block->launch->request->schedule == SIMT_RANDOM ? (uint32_t)(*random >> 40) : 0;
    bool goes_on = false;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp *warp = &block->warps[(w + first) % block->warp_count];
        if (!warp->live) continue;
        enum progress progress = simt_warp_run(warp, turn_length(block, budget, random));
        if (simt_is_stopped(block->launch) || block->is_starved) return false;
        if (progress != PROGRESS_WAITING) goes_on = true;
    }
    if (!block->live_threads) return false;
    if (goes_on || release_returning(block)) return true;
    deadlock(block);
    return false;
}

/* Runs the warps in turns until about `budget` instructions are over, or most that they do is to poll.  true: the
 * block has ended, or was stopped. */
bool simt_block_run(struct block *block, uint64_t budget) {
    const uint64_t begin = block->tally.instructions;
    const uint64_t polls = block->polls + 2 * (uint64_t)POLLS_TURN * block->warp_count;
    uint64_t random = block->random;
    bool goes_on = true;
    block->is_starved = false;
    while (goes_on && block->tally.instructions - begin < budget && block->polls < polls)
        goes_on = run_round(block, budget, &random);
    simt_block_give_back(block);
    return !goes_on && !block->is_starved;
}
