/* An access on its way over the shadow: the whole of it by races.c, where nothing is to be said by races_rows.c. */
#ifndef SIMT_RACES_VISIT_H
#define SIMT_RACES_VISIT_H

#include "races.h"
#include "span.h"

enum { RIVALS_MAX = 2 * HISTORIES };

struct visit {
    struct races_block *block;
    const simt_event *event;
    const simt_access *access;
    enum history history;
    struct shadow_page *page;
    const uint64_t *rivals[RIVALS_MAX]; /* planes of the page with which the access conflicts */
    enum history rival_histories[RIVALS_MAX];
    uint32_t rival_count;
    uint32_t scoped_from; /* of the rivals: with those after it only where one of the two is of block scope */
    uint64_t pc_and_tick; /* of its stamps, with the block: all but the thread */
    uint64_t same_thread; /* the bits in which stamps of one thread agree */
    uint32_t racing;      /* lanes */
    uint32_t looked_at;   /* the pc of which it is known whether it takes a lock, */
    bool has_looked, is_lock; /* if any */
};

static inline bool races_is_settled(const struct races_block *block, uint64_t stamp) {
    return stamp - block->first_stamp < block->settled_span || !stamp;
}

/* How far from each other two threads run. */
static inline uint32_t races_distance(const struct races *races, uint64_t stamp, uint64_t other) {
    const uint64_t differing = stamp ^ other, threads = stamp_field(differing, races->thread_shift, races->tick_shift);
    if (differing >> races->block_shift) return 3;
    return threads >= races->view->warp_size ? 2 : threads != 0; /* a warp's size is a power of two */
}

static inline uint64_t visit_stamp_of(const struct visit *visit, uint32_t thread) {
    return visit->pc_and_tick + ((uint64_t)thread << visit->block->races->thread_shift);
}

static inline uint64_t visit_stamp(const struct visit *visit, uint32_t lane) {
    return visit_stamp_of(visit, visit->event->warp * visit->block->races->view->warp_size + lane);
}

/* The value that a store writes to the cell that begins at the lane's byte. */
static inline uint64_t visit_stored(const simt_access *access, uint32_t lane, uint32_t byte, uint32_t cell_bits) {
    uint32_t element_bits = (uint32_t)__builtin_ctz(access->element_nbytes);
    if (element_bits > 3 || !access->values) return VALUE_MIXED; /* the value is not known */
    uint64_t element = access->values[(byte >> element_bits) * SIMT_LANES + lane];
    return element >> (byte & (access->element_nbytes - 1)) * 8 & ((UINT64_C(1) << (8u << cell_bits)) - 1);
}

/* Sets out the planes to be looked at; again whenever the page has got one more. */
void simt_visit_list_rivals(struct visit *visit);

/* Makes the page ready for the access; false: no memory. */
bool simt_visit_prepare(struct visit *visit);

/* Handles as much as it can of an access of neighbouring lanes at neighbouring words.  Returns the lanes that take a closer
 * look, for which nothing is done: all, if it is none. */
uint32_t simt_visit_row(struct visit *visit);
/* The same for lanes that read or update one address; false: nothing is done. */
bool simt_visit_one(struct visit *visit);

#endif
