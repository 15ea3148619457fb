/* Clusters: the barrier of their threads, and the addresses of each other's shared memory. */
#include <stdio.h>

#include "access.h"
#include "decoder.h"

/* code->call.slots: */
enum { RESULT, ADDRESS, RANK };

/* ---- the barrier */

static void stop(struct warp *warp, struct path *path, uint32_t lanes, const char *what) {
    simt_event event = simt_event_of(warp, path, lanes);
    simt_record_finding(&event, SIMT_FINDING_BARRIER, (uint32_t)__builtin_ctz(lanes), 0, "%s", what);
    simt_stop(&event);
}

static void notify(struct warp *warp, const struct path *path, uint32_t lanes, bool completes) {
    const struct code *code = &warp->block->launch->image->codes[path->pc];
    simt_event event = simt_event_of(warp, path, lanes);
    SIMT_NOTIFY(warp->block->launch, warp->block, cluster_barrier, &event, code->cluster_barrier.is_arrival,
                code->cluster_barrier.order, completes);
}

/* A block without a cluster is one of its own. */
static struct block **members_of(struct block **block, uint32_t *count) {
    struct cluster *cluster = (*block)->cluster;
    *count = cluster ? cluster->count : 1;
    return cluster ? cluster->blocks : block;
}

/* The paths that wait continue. */
static void release(struct warp *warp) {
    warp->cluster_released |= warp->cluster_arrived;
    warp->cluster_arrived = 0;
    for (struct path *path = warp->leaves; path; path = path->next) {
        if (path->state != PATH_AT_CLUSTER_BARRIER) continue;
        notify(warp, path, path->waiting_lanes, false);
        warp->cluster_released &= ~path->waiting_lanes;
        path->state = PATH_READY;
        path->pc++;
    }
}

/* Whether the threads that have not exited have all arrived, and one at least. */
static bool is_complete(struct block **members, uint32_t count, uint32_t coming) {
    uint32_t missing = 0, arrived = coming;
    for (uint32_t b = 0; b < count; b++)
        for (uint32_t w = 0; w < members[b]->warp_count; w++) {
            const struct warp *warp = &members[b]->warps[w];
            missing += lane_count(warp->live & ~warp->cluster_arrived);
            arrived += lane_count(warp->cluster_arrived);
        }
    return arrived && missing == coming;
}

void simt_cluster_barrier_check(struct block *block) {
    uint32_t count;
    struct block **members = members_of(&block, &count);
    if (!is_complete(members, count, 0)) return;
    for (uint32_t b = 0; b < count; b++)
        for (uint32_t w = 0; w < members[b]->warp_count; w++) release(&members[b]->warps[w]);
}

static enum outcome execute_arrive(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)code;
    struct block *block = warp->block;
    uint32_t count;
    struct block **members = members_of(&block, &count);
    if ((warp->cluster_arrived | warp->cluster_released) & mask) {
        stop(warp, path, mask, "arrives at the cluster's barrier again without having waited there");
        return OUTCOME_LEFT;
    }
    notify(warp, path, mask, is_complete(members, count, lane_count(mask)));
    warp->cluster_arrived |= mask;
    block->has_cluster_barrier = true;
    path->pc++;
    simt_cluster_barrier_check(block);
    return OUTCOME_LEFT; /* others may continue */
}

static enum outcome execute_wait(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)code;
    if (mask & ~(warp->cluster_arrived | warp->cluster_released)) {
        stop(warp, path, mask & ~(warp->cluster_arrived | warp->cluster_released),
             "waits at the cluster's barrier without having arrived there");
        return OUTCOME_LEFT;
    }
    if (mask & warp->cluster_arrived) {
        path->state = PATH_AT_CLUSTER_BARRIER;
        path->waiting_lanes = mask;
        return OUTCOME_LEFT;
    }
    notify(warp, path, mask, false);
    warp->cluster_released &= ~mask;
    return OUTCOME_NEXT;
}

bool simt_decode_cluster_barrier(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    code->is_synchronising = true;
    code->cluster_barrier.is_arrival = simt_has(instruction, "arrive");
    code->cluster_barrier.order = simt_has(instruction, "relaxed")        ? SIMT_RELAXED
                                  : code->cluster_barrier.is_arrival ? SIMT_RELEASE
                                                                     : SIMT_ACQUIRE;
    code->execute = code->cluster_barrier.is_arrival ? execute_arrive : execute_wait;
    return code->cluster_barrier.is_arrival || simt_has(instruction, "wait");
}

/* ---- addresses */

static bool say_bounds(struct warp *warp, struct path *path, uint32_t mask, uint32_t lane, uint64_t address,
                       const char *what) {
    simt_event event = simt_event_of(warp, path, mask);
    simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address, "%s", what);
    simt_stop(&event);
    return false;
}

/* Where the block of that rank has what is at the address. */
static bool map(struct warp *warp, struct path *path, const struct code *code, uint32_t mask, uint32_t lane) {
    uint64_t address = lane_get(slot_lanes(path, code->call.slots[ADDRESS]), code->widths[ADDRESS], lane);
    uint64_t offset = address;
    uint32_t rank = ((const uint32_t *)slot_lanes(path, code->call.slots[RANK]))[lane];
    const struct memory *memory = &warp->block->launch->machine->memory;
    const struct cluster *cluster = warp->block->cluster;
    if (rank >= (cluster ? cluster->count : 1))
        return say_bounds(warp, path, mask, lane, address, "maps an address to a block that the cluster does not have");
    if (!code->is_of_shared && simt_space_of(memory, &offset) != SIMT_SHARED)
        return say_bounds(warp, path, mask, lane, address, "maps an address that is not in shared memory");
    uint64_t window = address - offset;
    offset &= (UINT64_C(1) << SIMT_RANK_SHIFT) - 1;
    if (cluster) offset |= (uint64_t)(rank + 1) << SIMT_RANK_SHIFT;
    lane_set(slot_lanes(path, code->call.slots[RESULT]), code->widths[RESULT], lane, window + offset);
    return true;
}

static enum outcome execute_map(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    SIMT_FOR_EACH_LANE (lane, mask)
        if (!map(warp, path, code, mask, lane)) return OUTCOME_LEFT;
    return OUTCOME_NEXT;
}

static enum outcome execute_rank(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    const struct memory *memory = &warp->block->launch->machine->memory;
    SIMT_FOR_EACH_LANE (lane, mask) {
        uint64_t address = lane_get(slot_lanes(path, code->call.slots[ADDRESS]), code->widths[ADDRESS], lane);
        if (!code->is_of_shared) simt_space_of(memory, &address);
        uint64_t rank = address >> SIMT_RANK_SHIFT;
        lane_set(slot_lanes(path, code->call.slots[RESULT]), WIDTH_32, lane, rank ? rank - 1 : warp->block->view.rank);
    }
    return OUTCOME_NEXT;
}

static bool decode_address(struct decoder *decoder, struct code *code) {
    const struct operand *operands = decoder->instruction->operands;
    enum type type = simt_has(decoder->instruction, "u64") ? TYPE_U64 : TYPE_U32;
    code->is_of_shared = simt_has(decoder->instruction, "shared::cluster");
    code->widths[RESULT] = simt_operand_width(decoder, &operands[0], WIDTH_32);
    code->widths[ADDRESS] = simt_operand_width(decoder, &operands[1], simt_width(type));
    return simt_operand(decoder, &operands[0], type, &code->call.slots[RESULT]) &&
           simt_operand(decoder, &operands[1], type, &code->call.slots[ADDRESS]);
}

static bool decode_map(struct decoder *decoder, struct code *code) {
    code->execute = execute_map;
    return decode_address(decoder, code) &&
           simt_operand(decoder, &decoder->instruction->operands[2], TYPE_U32, &code->call.slots[RANK]);
}

static bool decode_rank(struct decoder *decoder, struct code *code) {
    code->execute = execute_rank;
    return decode_address(decoder, code);
}

const struct instruction_kind simt_cluster_kinds[] = {
    {"mapa", decode_map}, {"getctarank", decode_rank}, {NULL, NULL}};
