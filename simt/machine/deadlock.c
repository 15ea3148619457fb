/* Who waits where, and where those are for whom they wait, by their numbers in the block. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"

enum { GROUPS_MAX = 6, RANGES_MAX = 4, TEXT_NBYTES = 400 };

enum whereabouts { WAITS, SKIPPED, ENDED };

struct group {
    enum whereabouts whereabouts;
    uint32_t line; /* where they wait, or parted from those that do not come; 0: nobody knows */
    uint64_t threads[FINDING_THREADS_MAX / 64];
};

struct groups {
    struct group items[GROUPS_MAX];
    uint32_t count;
};

static void add(struct groups *groups, enum whereabouts whereabouts, uint32_t line, uint32_t thread) {
    uint32_t i = 0;
    while (i < groups->count && (groups->items[i].whereabouts != whereabouts || groups->items[i].line != line)) i++;
    if (i == GROUPS_MAX) return;
    if (i == groups->count) groups->items[groups->count++] = (struct group){.whereabouts = whereabouts, .line = line};
    groups->items[i].threads[thread / 64] |= UINT64_C(1) << thread % 64;
}

static uint32_t line_at(const struct warp *warp, uint32_t pc) { return warp->block->launch->view.places[pc].line; }

/* The leaf that the lane is in; NULL: it has arrived where others of its warp do not come. */
static const struct path *leaf_of(const struct warp *warp, uint32_t lane) {
    const struct path *path = warp->leaves;
    while (path && !(path->mask >> lane & 1)) path = path->next;
    return path;
}

/* Where the lane parted from the path. */
static uint32_t parted_line(const struct warp *warp, const struct path *path, uint32_t lane) {
    const struct path *node = path->parent;
    while (node && !(node->mask >> lane & 1)) node = node->parent;
    return node && node->has_parted ? line_at(warp, node->parted_at) : 0;
}

static void add_lane(struct groups *groups, const struct warp *warp, uint32_t lane) {
    const uint32_t thread = warp->index * warp->block->launch->view.warp_size + lane;
    const struct path *path = leaf_of(warp, lane);
    if (!(warp->live >> lane & 1)) add(groups, ENDED, 0, thread);
    else if (path) add(groups, WAITS, line_at(warp, path->pc), thread);
    else add(groups, SKIPPED, warp->leaves ? parted_line(warp, warp->leaves, lane) : 0, thread);
}

static void add_warp(struct groups *groups, const struct warp *warp) {
    const simt_launch_view *view = &warp->block->launch->view;
    for (uint32_t lane = 0; lane < view->warp_size; lane++)
        if (warp->index * view->warp_size + lane < view->threads_per_block) add_lane(groups, warp, lane);
}

/* "0-15, 32 and 34", or the first of many. */
static size_t put_threads(char *text, size_t nbytes, const uint64_t *threads) {
    size_t length = 0;
    uint32_t ranges = 0, t = 0;
    while (t < FINDING_THREADS_MAX) {
        uint32_t first = t;
        while (t < FINDING_THREADS_MAX && threads[t / 64] >> t % 64 & 1) t++;
        if (first == t++) continue;
        const uint32_t last = t - 2;
        if (ranges++ == RANGES_MAX) return length + (size_t)snprintf(text + length, nbytes - length, ", ...");
        length += (size_t)snprintf(text + length, nbytes - length, first == last ? "%s%" PRIu32 : "%s%" PRIu32 "-%" PRIu32,
                                   ranges > 1 ? ", " : "", first, last);
    }
    return length;
}

/* "threads 0-15 wait at line 9; 16-31 skipped it at line 7" */
static void put_groups(char *text, size_t nbytes, const struct groups *groups) {
    size_t length = 0;
    for (uint32_t i = 0; i < groups->count && length + 128 < nbytes; i++) {
        const struct group *group = &groups->items[i];
        length += (size_t)snprintf(text + length, nbytes - length, i ? "; " : "threads ");
        length += put_threads(text + length, nbytes - length, group->threads);
        if (group->whereabouts == WAITS)
            length += (size_t)snprintf(text + length, nbytes - length, " wait at line %" PRIu32, group->line);
        else if (group->whereabouts == ENDED) length += (size_t)snprintf(text + length, nbytes - length, " have ended");
        else if (group->line)
            length += (size_t)snprintf(text + length, nbytes - length, " skipped it at line %" PRIu32, group->line);
        else length += (size_t)snprintf(text + length, nbytes - length, " have gone another way");
    }
}

static uint32_t mask_of(const struct warp *warp, const struct path *path) {
    const struct code *code = &warp->block->launch->image->codes[path->pc];
    const uint32_t *members = (const uint32_t *)slot_lanes(path, code->call.slots[COLLECTIVE_MEMBERS]);
    return members[__builtin_ctz(path->waiting_lanes)];
}

static void say_mask(uint32_t mask, uint32_t here, char *text, size_t nbytes) {
    const struct lane_text absent = lane_text(mask & ~here);
    snprintf(text, nbytes, "the mask 0x%08" PRIx32 " names %s, which never come%s: name only those that do, or let all come", mask,
             absent.text, absent.s);
}

void simt_deadlock_say(struct warp *warp, struct path *path) {
    simt_event event = simt_event_of(warp, path, path->waiting_lanes);
    const uint32_t lane = (uint32_t)__builtin_ctz(path->waiting_lanes | UINT32_C(1) << (SIMT_LANES - 1));
    const uint32_t first = warp->index * warp->block->launch->view.warp_size;
    struct groups groups = {.count = 0};
    char who[TEXT_NBYTES], why[TEXT_NBYTES];
    add(&groups, WAITS, line_at(warp, path->pc), first + lane); /* it comes first */
    if (path->state == PATH_AT_BARRIER || path->state == PATH_AT_CLUSTER_BARRIER)
        for (uint32_t w = 0; w < warp->block->warp_count; w++) add_warp(&groups, &warp->block->warps[w]);
    else if (path->state == PATH_AT_WARPGROUP)
        for (uint32_t w = warp->index & ~3u; w < warp->block->warp_count && w <= (warp->index | 3u); w++)
            add_warp(&groups, &warp->block->warps[w]);
    else add_warp(&groups, warp);
    put_groups(who, sizeof who, &groups);
    if (path->state == PATH_AT_CLUSTER_BARRIER)
        snprintf(why, sizeof why, "at the cluster's barrier, which other threads never reach");
    else if (path->state == PATH_AT_WARPGROUP)
        snprintf(why, sizeof why, "all four warps of a warpgroup must execute the same wgmma instructions");
    else if (path->state != PATH_AT_BARRIER)
        say_mask(mask_of(warp, path), path->waiting_lanes, why, sizeof why);
    else if (path->barrier == 0)
        snprintf(why, sizeof why, "all threads of the block that have not ended must come to __syncthreads()");
    else snprintf(why, sizeof why, "at barrier %" PRIu32 ", which other threads never reach", path->barrier);
    simt_record_finding_of_lanes(&event, SIMT_FINDING_BARRIER, path->waiting_lanes | UINT32_C(1) << lane, 0, "%s: %s",
                                 who, why);
}

/* Lanes of other warps that have ended, or are on their way elsewhere, are none of this barrier's. */
static void add_waiting(struct groups *groups, const struct block *block) {
    for (uint32_t w = 0; w < block->warp_count; w++)
        for (const struct path *path = block->warps[w].leaves; path; path = path->next)
            for (uint32_t lanes = path->state == PATH_AT_BARRIER && path->barrier == 0 ? path->waiting_lanes : 0; lanes; lanes &= lanes - 1)
                add(groups, WAITS, line_at(&block->warps[w], path->pc), w * block->launch->view.warp_size + (uint32_t)__builtin_ctz(lanes));
}

void simt_apart_say(struct warp *warp, struct path *path) {
    simt_event event = simt_event_of(warp, path, path->waiting_lanes);
    struct groups groups = {.count = 0};
    char who[TEXT_NBYTES];
    add_waiting(&groups, warp->block);
    put_groups(who, sizeof who, &groups);
    simt_record_finding_of_launch(&event, SIMT_FINDING_BARRIER, path->waiting_lanes, 0,
                                 "%s: warps that wait at different __syncthreads() are counted together here, which CUDA leaves undefined: all "
                                 "must come to the same one, behind the branch", who);
}

void simt_parted_say(struct warp *warp, struct path *path) {
    simt_event event = simt_event_of(warp, path, path->waiting_lanes);
    struct groups groups = {.count = 0};
    char who[TEXT_NBYTES];
    for (uint32_t w = 0; w < warp->block->warp_count; w++) add_warp(&groups, &warp->block->warps[w]);
    put_groups(who, sizeof who, &groups);
    simt_record_finding_of_lanes(&event, SIMT_FINDING_BARRIER, path->waiting_lanes, 0,
                                 "%s: the threads of a warp must come to one __syncthreads() together, so it belongs where their "
                                 "ways meet again", who);
}
