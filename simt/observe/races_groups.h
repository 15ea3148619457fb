/* Groups of asynchronous copies: when they were closed, and what the last wait leaves out. */
#ifndef SIMT_RACES_GROUPS_H
#define SIMT_RACES_GROUPS_H

#include "races.h"

/* The ticks at which the latest groups of a thread were closed; of older ones that nobody waited for, the last. */
enum { GROUPS_MAX = 32, GROUP_KINDS = 2 };
struct groups {
    uint32_t ticks[GROUPS_MAX], pcs[GROUPS_MAX];
    uint32_t count;
    struct {
        uint32_t pc, pending, tick;
        bool is_any;
    } waited; /* the thread's last wait: for all but `pending` of those that were closed before that tick */
};

/* Groups of wgmma, which belong to its first thread: the ticks of the latest, by number. */
struct warp_groups {
    uint32_t ticks[GROUPS_MAX];
    uint64_t count;
};

struct races_async {
    struct groups (*threads)[GROUP_KINDS]; /* of each thread, by its engine */
    struct warp_groups *warps;             /* NULL until needed */
};

/* Of the thread's last wait behind its copy at that tick: how many groups it leaves, and how many it may. */
struct wait_told {
    uint32_t pc, pending, needed, commit_pc;
    bool is_committed; /* the copy is, before the wait */
};
/* Whether the wait leaves the copy out. */
bool simt_groups_wait(const struct races_block *block, uint32_t thread, bool is_bulk, uint32_t tick, struct wait_told *told);

#endif
