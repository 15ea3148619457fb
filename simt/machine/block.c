/* A block while it runs: its warps take turns until all have ended, or none can continue. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "effects.h"
#include "executed.h"
#include "locks.h"
#include "undefined.h"

/* Instructions of a warp before it is first asked whether they have an end.  Warps then take other turns, and of threads
 * that wait for others this many instructions more or less are executed: a low limit that was asked for is exact, and
 * nobody is asked. */
enum { EXAMINED_FIRST = 1 << 12 };

static bool is_examined(const struct launch *launch) { return launch->limit >= SIMT_EXAMINED_LIMIT; }

static size_t round_up(size_t nbytes) { return (nbytes + 63) / 64 * 64; }

static void block_destroy(struct block *block) {
    if (!block) return;
    for (uint32_t w = 0; block->warps && w < block->warp_count; w++) {
        simt_paths_free(&block->warps[w]);
        simt_ranges_clear(&block->warps[w].harmless);
        simt_ranges_clear(&block->warps[w].deciding);
        free(block->warps[w].awaited);
    }
    free(block->warps);
    free(block->shared);
    free(block->shared_written);
    simt_undefined_forget_words(block);
    free(block->states);
    free(block->barrier_lanes);
    free(block->mbarrier_notes);
    simt_executed_destroy(&block->executed);
    free(block);
}

/* Creates a block that can run any number of the launch's blocks, one after another. */
static struct block *block_create(struct launch *launch) {
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
        (launch->needs_initialised && !block->shared_written) || !simt_executed_create(&block->executed, launch)) {
        block_destroy(block);
        return NULL;
    }
    for (uint32_t w = 0; w < block->warp_count; w++) {
        block->warps[w].block = block;
        block->warps[w].index = w;
    }
    return block;
}

void simt_block_destroy(struct block *block) {
    struct cluster *cluster = block ? block->cluster : NULL;
    for (uint32_t rank = 1; cluster && rank < cluster->count; rank++) block_destroy(cluster->blocks[rank]);
    block_destroy(block);
    free(cluster);
}

/* With the other blocks of its cluster. */
struct block *simt_block_create(struct launch *launch) {
    struct block *block = block_create(launch);
    const uint32_t count = launch->view.blocks_per_cluster;
    if (!block || count == 1) return block;
    block->cluster = calloc(1, sizeof *block->cluster);
    if (block->cluster) block->cluster->blocks[block->cluster->count++] = block;
    while (block->cluster && block->cluster->count < count) {
        struct block *other = block_create(launch);
        if (!other) break;
        other->cluster = block->cluster;
        block->cluster->blocks[block->cluster->count++] = other;
    }
    if (block->cluster && block->cluster->count == count) return block;
    simt_block_destroy(block);
    return NULL;
}

/* The block and those of its cluster. */
static struct block **members_of(struct block **block, uint32_t *count) {
    *count = (*block)->cluster ? (*block)->cluster->count : 1;
    return (*block)->cluster ? (*block)->cluster->blocks : block;
}

/* Returns how many have begun: all, unless there is no memory. */
static uint32_t observers_begin(struct block *block) {
    const struct launch *launch = block->launch;
    memset(block->states, 0, launch->states_nbytes);
    for (uint32_t o = 0; o < launch->all.count; o++) {
        const struct hook *hook = &launch->all.hooks[o];
        if (!hook->observer->block_begin) continue;
        if (!hook->observer->block_begin(launch->launch_states[o], block->states + hook->state, &block->view)) return o;
    }
    return launch->all.count;
}

/* Ends the first `count` of them; the caller holds the launch's lock. */
static void observers_end(struct block *block, uint32_t count) {
    const struct launch *launch = block->launch;
    simt_executed_tell(block, count);
    for (uint32_t o = 0; o < count; o++) {
        const struct hook *hook = &launch->all.hooks[o];
        if (hook->observer->block_end)
            hook->observer->block_end(launch->launch_states[o], block->states + hook->state, &block->view);
    }
}

static bool warps_begin(struct block *block) {
    const simt_launch_view *view = &block->launch->view;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp *warp = &block->warps[w];
        uint32_t rest = view->threads_per_block - w * view->warp_size;
        uint32_t count = rest < view->warp_size ? rest : view->warp_size;
        warp->live = UINT32_MAX >> (32 - count);
        warp->spinning = warp->polls = 0;
        warp->polled = 0;
        memset(warp->last_polls, 0, sizeof warp->last_polls);
        warp->executed = 0;
        warp->examine_at = is_examined(block->launch) ? EXAMINED_FIRST : UINT64_MAX;
        warp->repeats_itself = warp->meets_block = false;
        simt_ranges_clear(&warp->harmless);
        simt_ranges_clear(&warp->deciding);
        warp->waits_for = 0;
        if (warp->awaited) warp->awaited->lanes = 0;
        warp->cluster_arrived = warp->cluster_released = 0;
        if (!simt_paths_start(warp, warp->live)) return false;
    }
    return true;
}

/* Which block of the grid it is: that of the rank in the cluster of that number. */
static void place(struct block *block, uint64_t cluster, uint32_t rank) {
    const simt_launch_view *view = &block->launch->view;
    const uint32_t *grid = view->grid, *size = view->cluster;
    const uint32_t x = grid[0] / size[0], y = grid[1] / size[1];
    block->view = (simt_block_view){.launch = view,
                                    .tally = &block->tally,
                                    .machine = block->launch,
                                    .cluster = cluster,
                                    .rank = rank};
    block->view.block[0] = (uint32_t)(cluster % x) * size[0] + rank % size[0];
    block->view.block[1] = (uint32_t)(cluster / x % y) * size[1] + rank / size[0] % size[1];
    block->view.block[2] = (uint32_t)(cluster / x / y) * size[2] + rank / size[0] / size[1];
    block->view.index =
        block->view.block[0] + grid[0] * (block->view.block[1] + (uint64_t)grid[1] * block->view.block[2]);
}

static bool block_begin(struct block *block, uint64_t cluster, uint32_t rank) {
    struct launch *launch = block->launch;
    place(block, cluster, rank);
    const uint64_t index = block->view.index;
    block->has_ended = block->has_cluster_barrier = block->has_examined = block->is_still_alone = false;
    block->idle_waits = 0;
    free(block->mbarrier_notes);
    block->mbarrier_notes = NULL;
    block->waited_polls = 0;
    block->live_threads = launch->view.threads_per_block;
    block->tally = (simt_tally){0};
    block->allowed = block->polls = block->changes = block->slow = 0;
    block->random = launch->request->seed ^ index * UINT64_C(0xd1342543de82ef95);
    memset(block->barrier_lanes, 0, BARRIERS * block->warp_count * sizeof *block->barrier_lanes);
    for (uint32_t b = 0; b < BARRIERS; b++)
        block->barriers[b] = (struct barrier){.lanes = block->barrier_lanes + (size_t)b * block->warp_count};
    memset(block->shared, 0, launch->view.shared_nbytes);
    simt_undefined_forget_words(block);
    if (block->shared_written) {
        const uint32_t reserved = simt_reserved_nbytes(launch), others = launch->view.shared_nbytes - reserved;
        memset(block->shared_written, 0, others);
        memset(block->shared_written + others, 0xff, reserved);
    }
    const uint32_t begun = observers_begin(block);
    if (begun == launch->all.count && warps_begin(block)) return true;
    pthread_mutex_lock(&launch->lock);
    observers_end(block, begun);
    pthread_mutex_unlock(&launch->lock);
    simt_launch_no_memory(launch);
    return false;
}

static uint32_t count_exited(const struct block *block) {
    uint32_t exited = block->launch->view.threads_per_block;
    for (uint32_t w = 0; w < block->warp_count; w++) exited -= lane_count(block->warps[w].live);
    return exited;
}

static void block_end(struct block *block) {
    struct launch *launch = block->launch;
    for (uint32_t w = 0; w < block->warp_count; w++) simt_paths_clear(&block->warps[w]);
    pthread_mutex_lock(&launch->lock);
    launch->exited += count_exited(block);
    observers_end(block, launch->all.count);
    pthread_mutex_unlock(&launch->lock);
}

static void observers_tell_over(struct block *block) {
    const struct launch *launch = block->launch;
    for (uint32_t o = 0; o < launch->all.count; o++) {
        const struct hook *hook = &launch->all.hooks[o];
        if (hook->observer->block_over) hook->observer->block_over(block->states + hook->state, &block->view);
    }
}

static void members_end(struct block **members, uint32_t count) {
    for (uint32_t rank = 0; rank < count; rank++)
        members[rank]->view.is_cut = count_exited(members[rank]) < members[rank]->launch->view.threads_per_block;
    for (uint32_t rank = 0; rank < count; rank++) observers_tell_over(members[rank]);
    for (uint32_t rank = 0; rank < count; rank++) block_end(members[rank]);
}

bool simt_block_begin(struct block *block, uint64_t index) {
    uint32_t count, begun = 0;
    struct block **members = members_of(&block, &count);
    while (begun < count && block_begin(members[begun], index, begun)) begun++;
    if (begun == count) return true;
    members_end(members, begun);
    return false;
}

void simt_block_end(struct block *block) {
    uint32_t count;
    struct block **members = members_of(&block, &count);
    members_end(members, count);
}

/* ---- running */

static bool waits(const struct path *path) {
    return path->state == PATH_AT_BARRIER || path->state == PATH_AT_WARP_BARRIER ||
           path->state == PATH_AT_COLLECTIVE || path->state == PATH_AT_MBARRIER ||
           path->state == PATH_AT_CLUSTER_BARRIER || path->state == PATH_AT_WARPGROUP;
}

static void say_deadlock(struct warp *warp, struct path *path) {
    simt_event event = simt_event_of(warp, path, path->waiting_lanes);
    if (path->state == PATH_AT_MBARRIER) simt_mbarrier_deadlock(warp, path);
    else simt_deadlock_say(warp, path);
    simt_stop(&event);
}

/* Of warps that wait, the smaller the more likely one is the cause of the deadlock: those that wait for an mbarrier before
 * all others, and first those whose mbarrier lacks bytes or few arrivals. */
static uint64_t remoteness(struct warp *warp, struct path *path) {
    return path->state == PATH_AT_MBARRIER ? simt_mbarrier_missing(warp, path) : UINT64_MAX - 1;
}

/* Nothing can continue: says who waits for whom. */
static void deadlock(struct block **members, uint32_t count) {
    struct warp *cause = NULL;
    struct path *held = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t b = 0; b < count; b++)
        for (uint32_t w = 0; w < members[b]->warp_count; w++)
            for (struct path *path = members[b]->warps[w].leaves; path; path = path->next) {
                if (!waits(path)) continue;
                uint64_t distance = remoteness(&members[b]->warps[w], path);
                if (distance >= least) continue;
                least = distance;
                held = path;
                cause = &members[b]->warps[w];
            }
    if (held) {
        say_deadlock(cause, held);
        return;
    }
    atomic_store(&members[0]->launch->is_lost, true);
    simt_launch_stop(members[0]->launch);
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

static bool warp_has_ready(const struct warp *warp) {
    const struct path *path = warp->leaves;
    while (path && path->state != PATH_READY) path = path->next;
    return path != NULL;
}

/* Where the kernel itself is, though the path may be in what it calls. */
static uint32_t kernel_pc(const struct path *path) {
    while (path->frame->caller) path = path->parent;
    return path->pc;
}

/* The lanes of the warp that are in the path's loop: split ones may be anywhere in it.  Of one that passes barriers it is
 * known that all are. */
static uint32_t lanes_of_loop(const struct warp *warp, const struct path *path) {
    const simt_event event = simt_event_of(warp, path, path->mask);
    const uint32_t pc = kernel_pc(path);
    uint32_t lanes = path->mask;
    for (const struct path *other = warp->leaves; other; other = other->next) {
        const uint32_t there = kernel_pc(other);
        if (other->state == PATH_READY &&
            (there == pc || (simt_may_follow(&event, pc, there, true) && simt_may_follow(&event, there, pc, true))))
            lanes |= other->mask;
    }
    return warp->meets_block ? warp->live : lanes;
}

/* If the message contains the address, reports append the argument and its element. */
static void note_endless_of(struct warp *warp, const struct path *path, uint32_t lane, const char *because, uint64_t address) {
    simt_event event = simt_event_of(warp, path, path->mask);
    const struct lane_text lanes = lane_text(lanes_of_loop(warp, path));
    char read[64] = "", duration[128] = "never ends";
    if (warp->rounds == ROUNDS_BY_CLOCK)
        snprintf(duration, sizeof duration, "waits for a clock, longer than the limit of %llu warp instructions",
                 (unsigned long long)warp->block->launch->limit);
    else if (warp->rounds)
        snprintf(duration, sizeof duration, "goes on for at least %llu more rounds, longer than the limit of %llu warp instructions",
                 (unsigned long long)warp->rounds, (unsigned long long)warp->block->launch->limit);
    if (address) snprintf(read, sizeof read, "; it reads global memory at 0x%llx", (unsigned long long)address);
    simt_record_finding(&event, SIMT_FINDING_RUNAWAY, lane, address,
                        "%s of warp %u %s in a loop that %s: %s%s",
                        lanes.text, warp->index, lanes.be, duration, because, read);
    simt_stop(&event);
}

static void note_endless(struct warp *warp, const struct path *path, const char *because, uint64_t address) {
    note_endless_of(warp, path, first_lane(path->mask), because, address);
}

static uint64_t changes_of(const struct launch *launch) {
    return atomic_load_explicit(&launch->changes, memory_order_relaxed);
}

/* Where it is only uncertain because other host threads run, the block is left for the one that runs alone in the end. */
static void leave_to_one(struct warp *warp) {
    enum { PATIENCE = 1 << 16 };
    warp->block->is_starved |= warp->block->is_still_alone && warp->executed > PATIENCE && !warp->block->launch->is_alone;
}

/* A path that goes round a loop from which no way leads out, whatever it reads and writes there.  Not asked at once: an address
 * that soon leaves its memory says more, and for whom a warp waits that only waits. */
static const struct path *path_without_end(const struct warp *warp, bool only_waits) {
    enum { EXECUTED_MIN = 1 << 16, WAITED_MIN = 1 << 18 };
    const struct path *path = warp->executed < (only_waits ? WAITED_MIN : EXECUTED_MIN) ? NULL : warp->leaves;
    while (path && (path->state != PATH_READY || simt_path_may_end(warp, path))) path = path->next;
    return path;
}

/* What has not come back to where it was goes on for ever all the same if nothing leads out. */
static enum recurrence find_recurrence(struct warp *warp, uint32_t steps, const struct path **where) {
    const enum recurrence found = simt_recurrence_find(warp, steps, where);
    const bool only_waits = found == RECURRENCE_UNLESS_CHANGED;
    if ((found != RECURRENCE_NONE && !only_waits) || simt_is_stopped(warp->block->launch)) return found;
    const struct path *path = path_without_end(warp, only_waits);
    if (path) *where = path;
    return path ? RECURRENCE_FOREVER_UNASKED : found;
}

/* What decides comes from registers alone, or from memory that was read before the loop. */
static void note_repeated(struct warp *warp, const struct path *path, const char *because) {
    enum { ROUNDS_FEW = 8 };
    char circle[192];
    snprintf(circle, sizeof circle, "after %u rounds what decides about its end is what it was before, and so on for ever: none of the "
             "numbers that are compared in these rounds ends it", (unsigned)warp->circle);
    note_endless(warp, path, warp->circle > ROUNDS_FEW ? circle : because, 0);
}

/* Asks now and then whether the warp is in an endless loop: ever more rarely, while it is not. */
static void examine(struct warp *warp) {
    enum { STEPS_SHARE = 64, STEPS_MIN = 128, SOON = 97, LONG = 1 << 18 };
    const struct launch *launch = warp->block->launch;
    const uint64_t changes = changes_of(launch);
    const uint32_t share = (uint32_t)(warp->executed / STEPS_SHARE), steps = share > STEPS_MIN ? share : STEPS_MIN;
    const struct path *path = NULL;
    const enum recurrence found = find_recurrence(warp, steps, &path);
    if (warp->executed >= LONG) simt_executed_begin(&warp->block->executed, launch);
    warp->examine_at = warp->executed + SOON;
    if (found == RECURRENCE_LATER) return;
    warp->repeats_itself = found == RECURRENCE_UNLESS_CHANGED;
    warp->own_changes = warp->block->changes;
    warp->all_changes = changes;
    warp->examine_at = warp->executed + (warp->repeats_itself ? EXAMINED_FIRST : warp->executed);
    if (simt_is_stopped(launch)) return;
    if (found == RECURRENCE_NONE) leave_to_one(warp);
    else if (found == RECURRENCE_FOREVER_UNASKED)
        note_endless(warp, path, "nothing in it can end it: its condition is always true, as i >= 0 is of an unsigned i, or "
                    "does not change in the loop, or it has none and no break", 0);
    else if (found == RECURRENCE_BEYOND_LIMIT && warp->rounds == ROUNDS_BY_CLOCK)
        note_endless(warp, path, "the clocks count the warp instructions of the block here, and are compared with a number that these do "
                    "not reach: a time that is too long, or in another unit, say (--limit N)", 0);
    else if (found == RECURRENCE_BEYOND_LIMIT)
        note_endless(warp, path, "what decides about its end changes by the same step in each round: a step of the wrong sign or "
                    "one that jumps over the end, say, or too much work for the limit (--limit N)", 0);
    else if (found == RECURRENCE_FOREVER)
        note_repeated(warp, path, "what decides about its end is the same in every round: a step of 0, say, or a condition "
                      "that nothing in the loop changes");
    else if (found == RECURRENCE_FOREVER_AS_READ)
        note_repeated(warp, path, "what decides about its end is the same in every round (a flag that others set must be "
                      "volatile or atomic, or it is read once)");
}

/* As far as is known. */
static bool repeats_itself(const struct warp *warp) {
    return warp->repeats_itself && warp->own_changes == warp->block->changes;
}

/* Whether a warp of the block passes barriers in its loop, so that those that wait there continue, too. */
static bool frees_others(const struct block *block) {
    bool frees = false;
    for (uint32_t w = 0; w < block->warp_count; w++) frees |= block->warps[w].live && block->warps[w].meets_block;
    return frees;
}

bool simt_block_repeats_itself(struct block *block, bool in_launch) {
    uint32_t count;
    struct block **members = members_of(&block, &count);
    for (uint32_t b = 0; b < count; b++) {
        const bool are_all = frees_others(members[b]);
        for (uint32_t w = 0; w < members[b]->warp_count; w++) {
            const struct warp *warp = &members[b]->warps[w];
            if (!warp->live || (!are_all && !warp_has_ready(warp))) continue;
            if (!repeats_itself(warp) || (in_launch && warp->all_changes != changes_of(block->launch))) return false;
        }
    }
    return true;
}

/* A line of the block where threads wait at a barrier; 0: none do. */
static uint32_t barrier_line(const struct block *block) {
    for (uint32_t w = 0; w < block->warp_count; w++)
        for (const struct path *path = block->warps[w].leaves; path; path = path->next)
            if (path->state == PATH_AT_BARRIER) return block->launch->view.places[path->pc].line;
    return 0;
}

/* The lanes of the warp that run nowhere, and the line where some of them wait; 0: not known. */
static uint32_t waiting_lanes(const struct warp *warp, uint32_t *line) {
    uint32_t lanes = warp->live;
    *line = 0;
    for (const struct path *path = warp->leaves; path; path = path->next) {
        if (path->state == PATH_READY) lanes &= ~path->mask;
        else if (waits(path)) *line = warp->block->launch->view.places[path->pc].line;
    }
    return lanes;
}

/* Why nobody changes what the path waits for. */
static void note_waiting(struct warp *warp, const struct path *path) {
    uint32_t meeting;
    const uint32_t line = barrier_line(warp->block), others = waiting_lanes(warp, &meeting);
    const bool are_held = !warp->meets_block; /* those that wait for it */
    char because[256], where[32] = "";
    const struct lane_text lanes = lane_text(others);
    if (meeting) snprintf(where, sizeof where, " at line %u", (unsigned)meeting);
    if (others && are_held)
        snprintf(because, sizeof because,
                 "it waits for memory to change, and %s of its warp wait%s for these%s: what changes it must come "
                 "before that", lanes.text, lanes.s, where);
    else if (line && are_held)
        snprintf(because, sizeof because,
                 "it waits for memory to change, and other threads of the block wait at the barrier of line %u, which these "
                 "must reach: what changes it must come before that", (unsigned)line);
    else if (warp->undoes_changes)
        snprintf(because, sizeof because,
                 "it changes memory and changes it back, so that it finds what it found before, and no thread is left to change it "
                 "otherwise: all others have ended or wait in such loops, too");
    else
        snprintf(because, sizeof because,
                 "it waits for memory to change, and no thread is left to change it: all others have ended or wait in such "
                 "loops, too; one must write first and wait then");
    note_endless(warp, path, because, warp->waits_for);
}

/* A path of the block, or of those of its cluster, that runs in its loop; `is_locked`: that waits there for a lock, of which
 * *wait tells.  false: there is none. */
static bool find_endless(struct block *block, struct block *others, bool is_locked, struct lock_wait *wait) {
    uint32_t count;
    struct block **members = members_of(&block, &count);
    for (uint32_t b = 0; b < count; b++)
        for (uint32_t w = 0; w < members[b]->warp_count; w++) {
            struct warp *warp = &members[b]->warps[w];
            for (const struct path *path = warp->leaves; path; path = path->next) {
                *wait = (struct lock_wait){.warp = warp, .path = path};
                if (path->state == PATH_READY && (!is_locked || simt_locks_explain(warp, path, others, wait))) return true;
            }
        }
    return false;
}

void simt_block_endless(struct block *block, struct block *others) {
    struct lock_wait wait;
    if (!find_endless(block, others, true, &wait) && !find_endless(block, others, false, &wait)) return;
    if (wait.because[0]) note_endless_of(wait.warp, wait.path, wait.lane, wait.because, 0);
    else note_waiting(wait.warp, wait.path);
}

uint64_t simt_block_changes(struct block *block) {
    uint32_t count;
    uint64_t changes = 0;
    struct block **members = members_of(&block, &count);
    for (uint32_t b = 0; b < count; b++) changes += members[b]->changes;
    return changes;
}

enum round { ROUND_OVER, ROUND_STUCK, ROUND_GOES_ON };

static enum progress run_some(struct warp *warp, uint64_t budget) {
    const uint64_t before = warp->block->tally.instructions;
    enum progress progress = simt_warp_run(warp, budget);
    warp->executed += warp->block->tally.instructions - before;
    return progress;
}

/* A turn is short for who only repeats himself. */
static enum progress run_turn(struct warp *warp, uint64_t budget) {
    enum { SHORT = 1 << 8 };
    enum progress progress = PROGRESS_YES;
    while (budget && progress == PROGRESS_YES) {
        if (repeats_itself(warp) && budget > SHORT) budget = SHORT;
        const uint64_t begin = warp->executed, rest = warp->examine_at > begin ? warp->examine_at - begin : 1;
        progress = run_some(warp, rest < budget ? rest : budget);
        if (warp->executed < warp->examine_at) return progress;
        const uint64_t done = warp->executed - begin;
        budget -= done < budget ? done : budget;
        if (progress == PROGRESS_YES) examine(warp);
        if (simt_is_stopped(warp->block->launch) || warp->block->is_starved) return progress;
    }
    return progress;
}

/* One turn of each warp. */
static enum round run_round(struct block *block, uint64_t budget, uint64_t *random) {
    uint32_t first = block->launch->request->schedule == SIMT_RANDOM ? (uint32_t)(*random >> 40) : 0;
    bool goes_on = false;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp *warp = &block->warps[(w + first) % block->warp_count];
        if (!warp->live) continue;
        enum progress progress = run_turn(warp, turn_length(block, budget, random));
        if (simt_is_stopped(block->launch) || block->is_starved) return ROUND_OVER;
        if (progress != PROGRESS_WAITING) goes_on = true;
    }
    block->has_ended = !block->live_threads;
    if (block->has_ended) return ROUND_OVER;
    return goes_on || release_returning(block) ? ROUND_GOES_ON : ROUND_STUCK;
}

/* Of those that the schedule has held the ones that are furthest behind, as those in front of them wait at another barrier. */
static bool let_go(struct block *block) {
    uint32_t first = UINT32_MAX;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        const uint32_t held = simt_warp_first_held(&block->warps[w]);
        if (held < first) first = held;
    }
    for (uint32_t w = 0; first != UINT32_MAX && w < block->warp_count; w++) simt_warp_let_go(&block->warps[w], first);
    return first != UINT32_MAX;
}

/* Whether another block has let a path continue since the block's turn. */
static bool has_ready(const struct block *block) {
    for (uint32_t w = 0; w < block->warp_count; w++)
        if (warp_has_ready(&block->warps[w])) return true;
    return false;
}

/* One turn of each block of a cluster, or of the only one. */
static enum round run_members(struct block **members, uint32_t count, uint64_t budget, uint64_t *randoms) {
    enum round round = ROUND_OVER;
    for (uint32_t b = 0; b < count; b++) {
        if (members[b]->has_ended) continue;
        enum round own = run_round(members[b], budget, &randoms[b]);
        if (members[b]->is_starved) members[0]->is_starved = true;
        if (simt_is_stopped(members[b]->launch) || members[b]->is_starved) return ROUND_OVER;
        if (own > round) round = own;
    }
    for (uint32_t b = 0; round == ROUND_STUCK && count > 1 && b < count; b++)
        if (has_ready(members[b])) round = ROUND_GOES_ON;
    if (round != ROUND_STUCK) return round;
    for (uint32_t b = 0; b < count; b++)
        if (!members[b]->has_ended && (let_go(members[b]) || simt_mbarrier_waits_resume(members[b]))) round = ROUND_GOES_ON;
    if (round == ROUND_STUCK) deadlock(members, count);
    return round == ROUND_STUCK ? ROUND_OVER : round;
}

static void add_up(struct block *const *members, uint32_t count, uint64_t *instructions, uint64_t *polls) {
    *instructions = *polls = 0;
    for (uint32_t b = 0; b < count; b++) {
        *instructions += members[b]->tally.instructions;
        *polls += members[b]->polls;
    }
}

/* Runs the warps in turns until about `budget` instructions are over, or most that they do is to poll, or all repeat
 * themselves.  true: the block has ended, or was stopped. */
bool simt_block_run(struct block *block, uint64_t budget) {
    uint32_t count;
    struct block **members = members_of(&block, &count);
    uint64_t randoms[CLUSTER_BLOCKS_MAX], begin, instructions, polls_begin, polls;
    const uint64_t polls_most = 2 * (uint64_t)POLLS_TURN * block->warp_count * count;
    enum round round = ROUND_GOES_ON;
    for (uint32_t b = 0; b < count; b++) {
        randoms[b] = members[b]->random;
        members[b]->is_starved = false;
    }
    add_up(members, count, &begin, &polls_begin);
    do {
        round = run_members(members, count, budget, randoms);
        add_up(members, count, &instructions, &polls);
    } while (round == ROUND_GOES_ON && instructions - begin < budget && polls - polls_begin < polls_most &&
             !simt_block_repeats_itself(block, false));
    for (uint32_t b = 0; b < count; b++) simt_block_give_back(members[b]);
    return round != ROUND_GOES_ON && !block->is_starved;
}
