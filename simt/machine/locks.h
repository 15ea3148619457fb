/* Who holds a lock that others wait for: a word that atomicCAS or atomicExch took from 0 to something else, and that is
 * not 0 again. */
#ifndef SIMT_LOCKS_H
#define SIMT_LOCKS_H

#include "machine.h"

struct request;

/* After an atomic that may take a lock. */
void simt_locks_note(struct warp *warp, const struct path *path, const struct request *request);

/* What a thread waits for in its loop, and the words for it. */
struct lock_wait {
    struct warp *warp;
    const struct path *path;
    uint32_t lane;
    char because[512]; /* who holds it, and what to do; "": who holds it waits in a loop of another kind, told of instead */
};

/* Why a path of the warp waits for a lock for ever, where it does; of threads that wait for each other's locks, one of
 * those.  others: blocks that have begun and not ended, besides the warp's own.  false: nobody is known to hold it. */
bool simt_locks_explain(struct warp *warp, const struct path *path, struct block *others, struct lock_wait *wait);

void simt_locks_clear(struct launch *launch);

#endif
