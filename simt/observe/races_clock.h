/* Vector clocks: for the entries that the threads of a grid have, the ticks up to which they are known.
 *
 * A clock is a tree over the entries in which one leaf represents all entries below it that share a tick, such as
 * those of a block after a barrier.  Trees share what they have in common and are copied where they part, so
 * that a clock of a whole grid is handed on by copying one pointer. */
#ifndef SIMT_RACES_CLOCK_H
#define SIMT_RACES_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct clock_node;

/* Zeroed: nothing is known. */
struct clock {
    struct clock_node *node; /* NULL: a leaf */
    uint32_t tick;           /* of a leaf */
};

enum { CLOCK_LEVEL_BITS = 3 }; /* a tree of n levels is over 8^n entries */

static inline bool simt_clock_is_empty(struct clock clock) {
    return !clock.node && !clock.tick;
}

/* Whether the two are one; others may know the same. */
static inline bool simt_clock_is_same(struct clock clock, struct clock other) {
    return clock.node == other.node && (clock.node || clock.tick == other.tick);
}

struct clock simt_clock_hold_all(struct clock clock, uint32_t owners); /* of that many other owners */
void simt_clock_drop_all(struct clock clock, uint32_t owners);

static inline struct clock simt_clock_hold(struct clock clock) {
    return clock.node ? simt_clock_hold_all(clock, 1) : clock;
}

/* Leaves it empty. */
static inline void simt_clock_drop(struct clock *clock) {
    const struct clock dropped = *clock;
    *clock = (struct clock){0};
    if (dropped.node) simt_clock_drop_all(dropped, 1);
}

uint32_t simt_clock_at(struct clock clock, uint32_t levels, uint64_t entry);

/* Raises the ticks of entries first .. last to at least `tick`.  false: no memory; the clock is then valid,
 * but knows too little. */
bool simt_clock_raise(struct clock *clock, uint32_t levels, uint64_t first, uint64_t last, uint32_t tick);

/* Adds what `other` knows.  false: as above. */
bool simt_clock_join(struct clock *clock, struct clock other);

/* What two clocks know together, of the last two that shared trees: threads that have waited for the same often know the same. */
struct clock_union {
    struct clock one, other, both;
};

/* Likewise; looks it up where it is known, and notes it where it is not. */
bool simt_clock_join_known(struct clock *clock, struct clock other, struct clock_union *known);
void simt_clock_union_clear(struct clock_union *known);

#endif
