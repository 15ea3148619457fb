#include "cures.h"

#include <stdlib.h>

#include "counts.h"

/* ---- branches */

enum { ROUNDS_MAX = 1 << 12 }; /* kept for each warp; later ones count without a cure */

struct round {
    uint32_t active, taken;
};

struct packed_branch {
    struct round *rounds;
    uint32_t count, capacity;
    uint64_t later;        /* divergent branches after the rounds that are kept */
    uint32_t executions[]; /* of each warp */
};

static bool grow_rounds(struct packed_branch *branch) {
    const uint32_t capacity = branch->capacity ? 2 * branch->capacity : 8;
    struct round *grown = realloc(branch->rounds, capacity * sizeof *grown);
    if (!grown) return false;
    branch->rounds = grown;
    branch->capacity = capacity;
    return true;
}

bool simt_packed_branch_note(struct packed_branch **made, const simt_event *event, uint32_t taken) {
    const uint32_t warps = event->block->launch->warps_per_block;
    if (!*made) *made = calloc(1, sizeof **made + warps * sizeof *(*made)->executions);
    struct packed_branch *branch = *made;
    if (!branch) return false;
    const uint32_t number = branch->executions[event->warp];
    if (number == ROUNDS_MAX) {
        branch->later += taken != 0 && taken != event->active;
        return true;
    }
    if (number == branch->capacity && !grow_rounds(branch)) return false;
    if (number == branch->count) branch->rounds[branch->count++] = (struct round){0, 0};
    branch->rounds[number].active += lane_count(event->active);
    branch->rounds[number].taken += lane_count(taken);
    branch->executions[event->warp]++;
    return true;
}

uint64_t simt_packed_branch_count(const struct packed_branch *branch, uint32_t warp_size) {
    uint64_t count = branch ? branch->later : 0;
    for (uint32_t i = 0; branch && i < branch->count; i++) {
        const struct round *round = &branch->rounds[i];
        count += round->taken % warp_size && round->taken < round->active;
    }
    return count;
}

void simt_packed_branch_destroy(struct packed_branch *branch) {
    if (branch) free(branch->rounds);
    free(branch);
}

/* ---- atomics */

enum { ADDRESSES_MAX = 1 << 10 }; /* kept for each block; updates of others count without a cure */

struct block_atomics {
    uint32_t count;
    uint64_t others;
    uint64_t addresses[2 * ADDRESSES_MAX]; /* a hash table of addresses + 1 */
};

/* Whether the address is another than those before it. */
static bool is_new(struct block_atomics *atomics, uint64_t address) {
    const size_t mask = 2 * ADDRESSES_MAX - 1;
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 40) & mask;
    for (; atomics->addresses[at]; at = (at + 1) & mask)
        if (atomics->addresses[at] == address + 1) return false;
    if (atomics->count == ADDRESSES_MAX) return true;
    atomics->addresses[at] = address + 1;
    atomics->count++;
    return false;
}

bool simt_block_atomics_note(struct block_atomics **made, const simt_access *access) {
    if (!*made) *made = calloc(1, sizeof **made);
    if (!*made) return false;
    for (uint32_t lanes = access->lanes; lanes; lanes &= lanes - 1)
        (*made)->others += is_new(*made, access->addresses[first_lane(lanes)]);
    return true;
}

uint64_t simt_block_atomics_count(const struct block_atomics *atomics) {
    return atomics ? atomics->count + atomics->others : 0;
}

void simt_block_atomics_destroy(struct block_atomics *atomics) { free(atomics); }
