/* Barriers of a block: named, counted, reducing. */
#include <stdio.h>
#include <string.h>

#include "decoder.h"

/* code->call.slots: */
enum { RESULT, BARRIER, THREADS, VALUE };

static uint32_t first_lane_value(const struct path *path, slot operand, uint32_t mask) {
    return ((const uint32_t *)slot_lanes(path, operand))[__builtin_ctz(mask)];
}

/* Threads that have come.  Counted barriers count whole warps: lanes that are not there have come too. */
static uint32_t threads_arrived(const struct block *block, const struct barrier *barrier) {
    uint32_t size = block->launch->view.warp_size, count = 0;
    if (!barrier->expected) return barrier->arrived;
    for (uint32_t w = 0; w < block->warp_count; w++)
        if (barrier->lanes[w]) count += size - lane_count(block->warps[w].live & ~barrier->lanes[w]);
    return count;
}

/* bar.sync is executed by all lanes of a warp at once, or its behaviour is undefined (PTX ISA, barrier.sync.aligned). */
static void check_aligned(struct block *block, uint32_t id) {
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp *warp = &block->warps[w];
        const struct path *first = NULL;
        if (!warp->leaves || !warp->leaves->next) continue;
        for (struct path *path = warp->leaves; path; path = path->next) {
            if (path->state != PATH_AT_BARRIER || path->barrier != id) continue;
            if (!block->launch->image->codes[path->pc].barrier.is_aligned) continue;
            if (!first) first = path;
            if (first->pc == path->pc) continue;
            simt_parted_say(warp, path);
            simt_launch_stop(block->launch);
            return;
        }
    }
}

/* __syncthreads() is one barrier for all, which all threads of the block execute, or none (CUDA C++ Programming Guide).  What is
 * compiled into several instructions is still one line; barriers with a number of threads are for warps that differ. */
static bool is_of_all(const struct block *block, const struct path *path) {
    const struct code *code = &block->launch->image->codes[path->pc];
    return code->barrier.is_aligned && !code->barrier.is_counted && code->barrier.reduction == REDUCE_NOTHING;
}

static bool is_apart(const struct block *block, const struct path *one, const struct path *other) {
    const simt_place *places = block->launch->view.places, *a = &places[one->pc], *b = &places[other->pc];
    if (one->pc == other->pc || !is_of_all(block, one) || !is_of_all(block, other)) return false;
    return a->line && b->line && (a->line != b->line || strcmp(a->file, b->file) != 0);
}

static void check_apart(struct block *block) {
    struct warp *warp = NULL;
    struct path *last = NULL; /* of those in different lines, in the program's text */
    bool are_apart = false;
    if (block->barriers[0].expected) return;
    for (uint32_t w = 0; w < block->warp_count; w++)
        for (struct path *path = block->warps[w].leaves; path; path = path->next) {
            if (path->state != PATH_AT_BARRIER || path->barrier != 0) continue;
            are_apart |= last && is_apart(block, last, path);
            if (last && last->pc >= path->pc) continue;
            last = path;
            warp = &block->warps[w];
        }
    if (are_apart) simt_apart_say(warp, last);
}

static void write_result(struct warp *warp, struct path *path, const struct barrier *barrier) {
    const struct code *code = &warp->block->launch->image->codes[path->pc];
    const enum barrier_reduction reduction = code->barrier.reduction;
    if (reduction == REDUCE_NOTHING) return;
    uint64_t value = reduction == REDUCE_AND  ? barrier->all
                     : reduction == REDUCE_OR ? barrier->any
                                              : barrier->count;
    unsigned char *to = slot_lanes(path, code->call.slots[RESULT]);
    SIMT_FOR_EACH_LANE (lane, path->waiting_lanes) lane_set(to, code->widths[RESULT], lane, value);
}

/* Where all say the same as all did the last time, loops that end by that have learnt nothing new: as long as each repeats
 * itself, they will say so again.  Where they disagree, another meeting of the same rounds may have another result. */
static void note_verdict(struct block *block, struct barrier *barrier, const struct barrier *done, uint32_t pc) {
    const enum verdict verdict = done->all ? VERDICT_YES : done->any ? VERDICT_NONE : VERDICT_NO;
    const bool is_reduced = block->launch->image->codes[pc].barrier.reduction != REDUCE_NOTHING;
    if (is_reduced && (verdict == VERDICT_NONE || verdict != done->verdict)) block->changes++;
    barrier->verdict = is_reduced ? verdict : done->verdict;
}

static void complete(struct block *block, uint32_t id, uint32_t pc) {
    struct barrier *barrier = &block->barriers[id], done = *barrier;
    const size_t row = block->warp_count * sizeof *barrier->lanes;
    check_aligned(block, id);
    if (id == 0 && barrier->has_several && !simt_is_stopped(block->launch)) check_apart(block);
    done.lanes = block->barrier_lanes + (size_t)BARRIERS * block->warp_count;
    memcpy(done.lanes, barrier->lanes, row);
    memset(barrier->lanes, 0, row);
    *barrier = (struct barrier){.lanes = barrier->lanes};
    note_verdict(block, barrier, &done, pc);
    SIMT_NOTIFY(block->launch, block, barrier, &block->view, id, pc, done.lanes);
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp *warp = &block->warps[w];
        for (struct path *path = warp->leaves; path; path = path->next) {
            if (path->state != PATH_AT_BARRIER || path->barrier != id) continue;
            write_result(warp, path, &done);
            path->state = PATH_READY;
            path->barrier = 0;
            path->pc++;
        }
        if (done.lanes[w] && warp->leaves && warp->leaves->next)
            for (struct path *path = warp->leaves; path; path = path->next)
                if (path->state == PATH_READY) simt_path_merge(warp, path);
    }
}

static bool is_complete(const struct block *block, const struct barrier *barrier) {
    if (!barrier->is_used) return false;
    return threads_arrived(block, barrier) >= (barrier->expected ? barrier->expected : block->live_threads);
}

void simt_barriers_check(struct block *block) {
    for (uint32_t id = 0; id < BARRIERS; id++)
        if (is_complete(block, &block->barriers[id])) complete(block, id, block->barriers[id].pc);
}

static void accumulate(struct barrier *barrier, const struct path *path, const struct code *code, uint32_t mask) {
    uint32_t yes = *(const uint32_t *)slot_lanes(path, code->call.slots[VALUE]);
    if (code->barrier.is_negated) yes = ~yes;
    yes &= mask;
    barrier->all = (barrier->is_used ? barrier->all : 1) && yes == mask;
    barrier->any = barrier->any || yes;
    barrier->count += lane_count(yes);
}

/* A number of threads is one of whole warps, and not of more than the block has; *why says what it is instead. */
static bool is_count(const struct block *block, uint32_t threads, char why[SIMT_WHY]) {
    const simt_launch_view *view = &block->launch->view;
    const uint32_t most = view->warps_per_block * view->warp_size;
    bool is_whole = threads && threads % view->warp_size == 0;
    if (!is_whole)
        snprintf(why, SIMT_WHY, "a barrier for %u threads: the number must be a multiple of the warp size, %u", threads,
                 view->warp_size);
    else if (threads > most)
        snprintf(why, SIMT_WHY, "a barrier for %u threads in a block of %u", threads, view->threads_per_block);
    return is_whole && threads <= most;
}

/* Whether the barrier exists, and the number of threads (0: all) is the one that those who already wait there
 * gave. */
static bool is_sound(const struct block *block, uint32_t id, uint32_t threads, bool is_counted, char why[SIMT_WHY]) {
    if (id >= BARRIERS) {
        snprintf(why, SIMT_WHY, "there is no barrier %u, only 0 to %d", id, BARRIERS - 1);
        return false;
    }
    if (!is_counted) return true;
    const struct barrier *barrier = &block->barriers[id];
    if (!is_count(block, threads, why)) return false;
    if (!barrier->is_used || !barrier->expected || barrier->expected == threads) return true;
    snprintf(why, SIMT_WHY, "barrier %u expects %u threads here, but %u where others wait at it", id, threads,
             barrier->expected);
    return false;
}

static enum outcome execute_barrier(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct block *block = warp->block;
    char why[SIMT_WHY];
    uint32_t id = first_lane_value(path, code->call.slots[BARRIER], mask);
    bool is_counted = code->barrier.is_counted;
    uint32_t threads = is_counted ? first_lane_value(path, code->call.slots[THREADS], mask) : 0;
    if (!is_sound(block, id, threads, is_counted, why)) {
        simt_event event = simt_event_of(warp, path, mask);
        simt_record_finding(&event, SIMT_FINDING_BARRIER, (uint32_t)__builtin_ctz(mask), 0, "%s", why);
        simt_stop(&event);
        return OUTCOME_LEFT;
    }
    struct barrier *barrier = &block->barriers[id];
    if (code->barrier.reduction != REDUCE_NOTHING) accumulate(barrier, path, code, mask);
    barrier->has_several |= barrier->is_used && barrier->pc != path->pc;
    barrier->is_used = true;
    barrier->pc = path->pc;
    barrier->lanes[warp->index] |= mask;
    barrier->arrived += lane_count(mask);
    block->slow += SLOW_BARRIER;
    if (is_counted) barrier->expected = threads;
    if (code->barrier.is_arrival) path->pc++;
    else {
        path->state = PATH_AT_BARRIER;
        path->waiting_lanes = mask;
        path->barrier = id;
    }
    if (is_complete(block, barrier)) complete(block, id, barrier->pc);
    return OUTCOME_LEFT; /* it may have merged with others */
}

static bool decode_operand(struct decoder *decoder, struct code *code, uint32_t place, uint32_t operand,
                           enum type type) {
    const struct operand *from = &decoder->instruction->operands[operand];
    code->widths[place] = simt_operand_width(decoder, from, simt_width(type));
    return simt_operand(decoder, from, type, &code->call.slots[place]);
}

/* bar.red.OP d, a{, b}, {!}p */
static bool decode_reduction(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    uint32_t count = instruction->operand_count;
    if (count != 3 && count != 4) return false;
    code->barrier.reduction = simt_has(instruction, "and")  ? REDUCE_AND
                              : simt_has(instruction, "or") ? REDUCE_OR
                                                            : REDUCE_COUNT;
    code->barrier.is_negated = instruction->operands[count - 1].is_negated;
    if (count == 4) {
        code->barrier.is_counted = true;
        if (!decode_operand(decoder, code, THREADS, 2, TYPE_U32)) return false;
    }
    return decode_operand(decoder, code, RESULT, 0, simt_has(instruction, "popc") ? TYPE_U32 : TYPE_PRED) &&
           decode_operand(decoder, code, BARRIER, 1, TYPE_U32) &&
           decode_operand(decoder, code, VALUE, count - 1, TYPE_PRED);
}

static bool decode_barrier(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    if (simt_has(instruction, "warp")) return simt_decode_warp_barrier(decoder, code);
    if (simt_has(instruction, "cluster")) return simt_decode_cluster_barrier(decoder, code);
    code->execute = execute_barrier;
    code->is_synchronising = true;
    code->barrier.is_aligned = simt_is_base(instruction, "bar") || simt_has(instruction, "aligned");
    if (simt_has(instruction, "red")) return decode_reduction(decoder, code);
    if (simt_has(instruction, "arrive")) code->barrier.is_arrival = true;
    else if (!simt_has(instruction, "sync")) return false;
    uint32_t count = instruction->operand_count;
    if (count != 1 && count != 2) return false;
    if (count == 2) {
        code->barrier.is_counted = true;
        if (!decode_operand(decoder, code, THREADS, 1, TYPE_U32)) return false;
    }
    return decode_operand(decoder, code, BARRIER, 0, TYPE_U32);
}

const struct instruction_kind simt_barrier_kinds[] = {
    {"bar", decode_barrier}, {"barrier", decode_barrier}, {NULL, NULL}};
