#include "races_clock.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { CHILDREN = 1 << CLOCK_LEVEL_BITS };

struct clock_node {
    atomic_uint owners; /* blocks on several host threads share trees */
    struct clock children[CHILDREN];
};

struct clock simt_clock_hold_all(struct clock clock, uint32_t owners) {
    if (clock.node) atomic_fetch_add_explicit(&clock.node->owners, owners, memory_order_relaxed);
    return clock;
}

void simt_clock_drop_all(struct clock clock, uint32_t owners) {
    struct clock_node *node = clock.node;
    if (!node || atomic_fetch_sub_explicit(&node->owners, owners, memory_order_acq_rel) != owners) return;
    for (uint32_t i = 0; i < CHILDREN; i++) simt_clock_drop(&node->children[i]);
    free(node);
}

uint32_t simt_clock_at(struct clock clock, uint32_t levels, uint64_t entry) {
    while (clock.node) {
        levels--;
        clock = clock.node->children[entry >> levels * CLOCK_LEVEL_BITS & (CHILDREN - 1)];
    }
    return clock.tick;
}

/* What the clock says of its i-th part: a leaf says the same of all. */
static struct clock child(struct clock clock, uint32_t i) {
    return clock.node ? clock.node->children[i] : clock;
}

/* Gives the clock a node of its own, which may be changed. */
static bool part(struct clock *clock) {
    if (clock->node && atomic_load_explicit(&clock->node->owners, memory_order_acquire) == 1) return true;
    struct clock_node *node = malloc(sizeof *node);
    if (!node) return false;
    atomic_init(&node->owners, 1);
    for (uint32_t i = 0; i < CHILDREN; i++) node->children[i] = simt_clock_hold(child(*clock, i));
    simt_clock_drop(clock);
    clock->node = node;
    return true;
}

/* Makes a leaf of a node whose children are leaves of one tick. */
static void unite(struct clock *clock) {
    const struct clock *children = clock->node->children;
    for (uint32_t i = 0; i < CHILDREN; i++)
        if (children[i].node || children[i].tick != children[0].tick) return;
    uint32_t tick = children[0].tick;
    simt_clock_drop(clock);
    clock->tick = tick;
}

/* Entries are children here: none has a node. */
static void raise_entries(struct clock *children, uint64_t first, uint64_t last, uint32_t tick) {
    for (uint64_t i = first; i <= last; i++)
        if (children[i].tick < tick) children[i].tick = tick;
}

bool simt_clock_raise(struct clock *clock, uint32_t levels, uint64_t first, uint64_t last, uint32_t tick) {
    if (!clock->node && clock->tick >= tick) return true;
    const uint32_t bits = levels ? (levels - 1) * CLOCK_LEVEL_BITS : 0; /* of an entry's number below a child */
    const uint64_t entries = UINT64_C(1) << levels * CLOCK_LEVEL_BITS, each = UINT64_C(1) << bits;
    if (!clock->node && first == 0 && last == entries - 1) {
        clock->tick = tick;
        return true;
    }
    if (!part(clock)) return false;
    bool is_done = true;
    if (levels == 1) raise_entries(clock->node->children, first, last, tick);
    for (uint64_t i = first >> bits; levels > 1 && i <= last >> bits; i++) {
        uint64_t begin = i << bits, end = begin + each - 1;
        is_done &=
            simt_clock_raise(&clock->node->children[i], levels - 1, (first > begin ? first : begin) - begin,
                             (last < end ? last : end) - begin, tick);
    }
    unite(clock);
    return is_done;
}

static bool covers(struct clock clock, struct clock other) {
    if (clock.node == other.node) return clock.node || clock.tick >= other.tick;
    if (simt_clock_is_empty(other)) return true;
    for (uint32_t i = 0; i < CHILDREN; i++)
        if (!covers(child(clock, i), child(other, i))) return false;
    return true;
}

bool simt_clock_join(struct clock *clock, struct clock other) {
    if (covers(*clock, other)) return true;
    if (covers(other, *clock)) {
        struct clock more = simt_clock_hold(other);
        simt_clock_drop(clock);
        *clock = more;
        return true;
    }
    if (!part(clock)) return false;
    bool is_done = true;
    for (uint32_t i = 0; i < CHILDREN; i++)
        is_done &= simt_clock_join(&clock->node->children[i], child(other, i));
    unite(clock);
    return is_done;
}
