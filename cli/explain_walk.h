/* The walk: what the warps of one block did, event by event, as `explain` retells it. */
#ifndef CLI_EXPLAIN_WALK_H
#define CLI_EXPLAIN_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observer.h"

enum walk_kind {
    WALK_INSTRUCTION,
    WALK_BRANCH,
    WALK_ACCESS,
    WALK_SHUFFLE,
    WALK_WARP_BARRIER,
    WALK_BARRIER /* of the block: of no warp */
};

struct walk_event {
    enum walk_kind kind;
    uint32_t warp, pc;
    uint32_t active, mask;
    uint32_t taken; /* of a branch: the lanes that jump */
    /* Of an access. */
    enum simt_space space;
    enum simt_access_kind access;
    uint32_t element_nbytes, elements;
    size_t words; /* of accesses and shuffles: where their lanes' words begin */
};

struct walk {
    simt_launch_view launch; /* places: the walk's own copy; their strings belong to the module */
    simt_place *places;
    struct walk_event *events;
    size_t count, capacity;
    uint64_t *words;
    size_t word_count, word_capacity;
    bool out_of_memory;
};

/* Fills the walk that is the launch's context, zeroed before, with all that a launch of one block does. */
extern const struct simt_observer walk_observer;
void walk_clear(struct walk *walk);

/* The lanes' addresses, and of a store the values: element e of lane l is at e * SIMT_LANES + l. */
const uint64_t *walk_addresses(const struct walk *walk, const struct walk_event *event);
const uint64_t *walk_values(const struct walk *walk, const struct walk_event *event);
/* Of a shuffle: the lane whose value each lane gets. */
const uint64_t *walk_sources(const struct walk *walk, const struct walk_event *event);

/* Does it reduce the lanes of a warp by itself (redux)? */
bool walk_is_warp_reduction(const struct walk *walk, const struct walk_event *event);

/* The access as the machine's own counting functions take it. */
simt_access walk_access(const struct walk *walk, const struct walk_event *event);

#endif
