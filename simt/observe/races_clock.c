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

static bool are_leaves_of_one_tick(const struct clock children[CHILDREN]) {
    uint32_t i = 0;
    while (i < CHILDREN && !children[i].node && children[i].tick == children[0].tick) i++;
    return i == CHILDREN;
}

/* Makes a leaf of a node whose children are leaves of one tick. */
static void unite(struct clock *clock) {
    const struct clock *children = clock->node->children;
    if (!are_leaves_of_one_tick(children)) return;
    uint32_t tick = children[0].tick;
    simt_clock_drop(clock);
    clock->tick = tick;
}

/* Whether the ticks of entries first .. last are at least `tick` already. */
static bool knows(struct clock clock, uint32_t levels, uint64_t first, uint64_t last, uint32_t tick) {
    if (!clock.node) return clock.tick >= tick;
    const uint32_t bits = (levels - 1) * CLOCK_LEVEL_BITS;
    bool is_known = true;
    for (uint64_t i = first >> bits; is_known && i <= last >> bits; i++) {
        const uint64_t begin = i << bits, end = begin + (UINT64_C(1) << bits) - 1;
        const struct clock part = clock.node->children[i];
        is_known = part.node ? knows(part, levels - 1, (first > begin ? first : begin) - begin, (last < end ? last : end) - begin, tick)
                             : part.tick >= tick;
    }
    return is_known;
}

/* Entries are children here: none has a node. */
static void raise_entries(struct clock *children, uint64_t first, uint64_t last, uint32_t tick) {
    for (uint64_t i = first; i <= last; i++)
        if (children[i].tick < tick) children[i].tick = tick;
}

bool simt_clock_raise(struct clock *clock, uint32_t levels, uint64_t first, uint64_t last, uint32_t tick) {
    if (knows(*clock, levels, first, last, tick)) return true; /* what others have, too, is not copied for nothing */
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

/* ---- joining: each part of the two trees is visited once */

enum joined {
    JOINED_MINE = 1,   /* the first knows all that is known, */
    JOINED_OTHER = 2,  /* or the second; both: they know the same */
    JOINED_NEITHER = 0 /* a third clock was made */
};

static unsigned compare_ticks(uint32_t mine, uint32_t other) {
    return (mine >= other ? JOINED_MINE : 0u) | (other >= mine ? JOINED_OTHER : 0u);
}

/* Of clocks that have the same node, or both none. */
static unsigned compare_shared(struct clock mine, struct clock other) {
    return mine.node ? JOINED_MINE | JOINED_OTHER : compare_ticks(mine.tick, other.tick);
}

static struct clock joined_child(unsigned joined, struct clock mine, struct clock other, struct clock made) {
    return joined & JOINED_MINE ? mine : joined & JOINED_OTHER ? other : made;
}

/* For one more owner; what was made has no other. */
static struct clock hold_child(unsigned joined, struct clock part) {
    return joined ? simt_clock_hold(part) : part;
}

/* Puts the joined parts into a node that nobody else has. */
static void set_children(struct clock_node *node, const unsigned joined[CHILDREN], const struct clock parts[CHILDREN]) {
    for (uint32_t i = 0; i < CHILDREN; i++) {
        if (joined[i] & JOINED_MINE) continue;
        simt_clock_drop(&node->children[i]);
        node->children[i] = hold_child(joined[i], parts[i]);
    }
}

/* Where both know the same, one tree is enough: the next join of the two need not walk it. */
static void share(struct clock *mine, struct clock other) {
    if (!other.node || mine->node == other.node) return;
    simt_clock_drop(mine);
    *mine = simt_clock_hold(other);
}

static void share_children(struct clock_node *node, const unsigned joined[CHILDREN], struct clock other) {
    for (uint32_t i = 0; i < CHILDREN; i++)
        if (joined[i] == (JOINED_MINE | JOINED_OTHER)) share(&node->children[i], child(other, i));
}

static struct clock_node *make_node(const unsigned joined[CHILDREN], struct clock parts[CHILDREN]) {
    struct clock_node *node = malloc(sizeof *node);
    for (uint32_t i = 0; !node && i < CHILDREN; i++)
        if (!joined[i]) simt_clock_drop(&parts[i]);
    if (!node) return NULL;
    atomic_init(&node->owners, 1);
    for (uint32_t i = 0; i < CHILDREN; i++) node->children[i] = hold_child(joined[i], parts[i]);
    return node;
}

/* `is_own`: what is above `mine` belongs to the caller alone: it may be changed where it is, and is still JOINED_MINE.
 * *is_done: false where there was no memory. */
static unsigned merge(struct clock mine, struct clock other, bool is_own, struct clock *result, bool *is_done) {
    struct clock parts[CHILDREN];
    unsigned joined[CHILDREN], all = JOINED_MINE | JOINED_OTHER;
    if (mine.node == other.node) return compare_shared(mine, other);
    if (simt_clock_is_empty(other)) return JOINED_MINE;
    if (simt_clock_is_empty(mine)) return JOINED_OTHER;
    is_own = is_own && mine.node && atomic_load_explicit(&mine.node->owners, memory_order_acquire) == 1;
    for (uint32_t i = 0; i < CHILDREN; i++) {
        const struct clock one = child(mine, i), two = child(other, i);
        parts[i] = (struct clock){0};
        joined[i] = one.node == two.node ? compare_shared(one, two) : merge(one, two, is_own, &parts[i], is_done);
        all &= joined[i];
    }
    if (is_own && !(all & JOINED_OTHER)) share_children(mine.node, joined, other);
    if (all) return all;
    for (uint32_t i = 0; i < CHILDREN; i++) parts[i] = joined_child(joined[i], child(mine, i), child(other, i), parts[i]);
    *result = (struct clock){.tick = parts[0].tick};
    if (are_leaves_of_one_tick(parts)) return JOINED_NEITHER;
    if (is_own) {
        set_children(mine.node, joined, parts);
        return JOINED_MINE;
    }
    *result = (struct clock){.node = make_node(joined, parts)};
    *is_done &= result->node != NULL;
    return result->node ? JOINED_NEITHER : JOINED_MINE;
}

bool simt_clock_join(struct clock *clock, struct clock other) {
    struct clock result = {0};
    bool is_done = true;
    const unsigned joined = merge(*clock, other, true, &result, &is_done);
    if (joined == (JOINED_MINE | JOINED_OTHER)) share(clock, other);
    if (joined & JOINED_MINE) return is_done;
    if (joined & JOINED_OTHER) result = simt_clock_hold(other);
    simt_clock_drop(clock);
    *clock = result;
    return is_done;
}

void simt_clock_union_clear(struct clock_union *known) {
    simt_clock_drop(&known->one);
    simt_clock_drop(&known->other);
    simt_clock_drop(&known->both);
}

/* A tree with one owner, which may be changed where it is, is nobody else's and does not come again. */
static bool may_come_again(struct clock clock, struct clock other) {
    return clock.node && other.node && clock.node != other.node &&
           atomic_load_explicit(&clock.node->owners, memory_order_relaxed) > 1;
}

bool simt_clock_join_known(struct clock *clock, struct clock other, struct clock_union *known) {
    if (!may_come_again(*clock, other)) return simt_clock_join(clock, other);
    if (known->one.node == clock->node && known->other.node == other.node) {
        simt_clock_drop(clock);
        *clock = simt_clock_hold(known->both);
        return true;
    }
    const struct clock one = simt_clock_hold(*clock);
    const bool is_done = simt_clock_join(clock, other);
    simt_clock_union_clear(known);
    *known = (struct clock_union){one, simt_clock_hold(other), simt_clock_hold(*clock)};
    return is_done;
}
