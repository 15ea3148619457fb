/* A shuffle may give a lane an undefined value, or a load what nothing has written, and neither harms as long as it is not
 * used: in a tree the upper half of the lanes adds what nobody reads, and a merge loads a word behind its keys.  So its
 * register is marked, arithmetic hands the mark on, and a finding is recorded where the value is stored, decides about a
 * branch, is an address or leaves the lane in another way.  Only frames in which there was such an instruction are looked
 * at.  What was read and is stored in shared memory makes that unwritten again, as a warp that scans the sums of fewer warps than
 * it has lanes stores the others, too: who reads it then has what the first load read. */
#include "undefined.h"

#include <stdlib.h>
#include <string.h>

#include "deciders.h"

enum { ORIGINS_MAX = 255, NO_ORIGIN = ORIGINS_MAX };

/* An instruction that gives lanes undefined values, as it was last executed. */
struct origin {
    simt_event event;
    uint32_t lanes;        /* those that get them */
    uint32_t lane, source; /* of a shuffle: the first of them, and whose value it wants */
    simt_unwritten read;   /* of a load */
    uint32_t unsaid;       /* lanes that have read what nothing has said yet to be used */
};

/* A register, by its slot: of each of `lanes` the number of the origin. */
struct undefined_mark {
    uint32_t lanes;
    uint8_t origins[SIMT_LANES];
};

struct undefined_origins {
    struct origin *origins[ORIGINS_MAX];
    uint32_t count, latest;       /* latest: of the shuffles */
    struct undefined_mark stored; /* what the instruction stores in shared memory: origins of the block */
};

/* What undefined values a block has in its shared memory. */
struct undefined_words {
    struct origin origins[ORIGINS_MAX];
    uint32_t count;
    uint8_t numbers[]; /* of the origin of each word, from 1 on; it counts while the word is unwritten */
};

static struct undefined_mark *mark_at(const struct frame *frame, slot slot) {
    return &frame->undefined[slot / LANE_ALIGNMENT];
}

static struct undefined_mark *mark_of(const struct frame *frame, const struct operand *operand) {
    const bool has_register =
        operand->kind == OPERAND_REGISTER || (operand->kind == OPERAND_ADDRESS && operand->has_base_register);
    return has_register ? mark_at(frame, frame->layout->registers[operand->index]) : NULL;
}

static bool has_marks(struct warp *warp, struct frame *frame) {
    if (frame->undefined) return true;
    const size_t count = frame->layout->registers_nbytes / LANE_ALIGNMENT + 1;
    frame->undefined = calloc(count, sizeof *frame->undefined);
    if (!frame->undefined) simt_launch_no_memory(warp->block->launch);
    return frame->undefined != NULL;
}

void simt_undefined_forget(struct frame *frame) {
    free(frame->undefined);
    frame->undefined = NULL;
}

void simt_undefined_clear(struct warp *warp) {
    for (struct frame *frame = warp->frames; frame; frame = frame->next) simt_undefined_forget(frame);
    for (uint32_t o = 0; warp->undefined && o < warp->undefined->count; o++) free(warp->undefined->origins[o]);
    free(warp->undefined);
    warp->undefined = NULL;
}

/* ---- marks */

static void add(struct undefined_mark *to, uint32_t lanes, const struct undefined_mark *from) {
    SIMT_FOR_EACH_LANE(lane, lanes & from->lanes & ~to->lanes) to->origins[lane] = from->origins[lane];
    to->lanes |= lanes & from->lanes;
}

static void set(struct undefined_mark *to, uint32_t lanes, const struct undefined_mark *from) {
    to->lanes &= ~lanes;
    add(to, lanes, from);
}

static void add_operand(const struct frame *frame, struct undefined_mark *to, uint32_t lanes,
                        const struct operand *operand) {
    const struct undefined_mark *mark = mark_of(frame, operand);
    if (mark) add(to, lanes, mark);
    for (uint32_t e = 0; e < operand->element_count; e++)
        add_operand(frame, to, lanes, &operand->elements[e]);
}

static void set_operand(const struct frame *frame, const struct operand *operand, uint32_t lanes,
                        const struct undefined_mark *from) {
    if (operand->kind == OPERAND_REGISTER) set(mark_of(frame, operand), lanes, from);
    for (uint32_t e = 0; e < operand->element_count; e++)
        set_operand(frame, &operand->elements[e], lanes, from);
}

/* ---- arithmetic */

/* The lanes in which a predicate or number, which is not undefined itself, is 0. */
static uint32_t zero_lanes(const struct path *path, const struct operand *operand, uint32_t lanes) {
    if (operand->kind == OPERAND_IMMEDIATE) return operand->bits ? 0 : lanes;
    if (operand->kind != OPERAND_REGISTER) return 0;
    const struct frame *frame = path->frame;
    const enum width width = simt_width(frame->function->registers[operand->index].type);
    const unsigned char *row = slot_lanes(path, frame->layout->registers[operand->index]);
    uint32_t zeros = 0;
    SIMT_FOR_EACH_LANE(lane, lanes & ~mark_of(frame, operand)->lanes)
    zeros |= (uint32_t)((lane_get(row, width, lane) != 0) == operand->is_negated) << lane;
    return zeros;
}

static uint32_t true_lanes(const struct path *path, const struct operand *operand, uint32_t lanes) {
    struct operand opposite = *operand;
    opposite.is_negated = !operand->is_negated;
    return operand->kind == OPERAND_REGISTER ? zero_lanes(path, &opposite, lanes) : 0;
}

/* The lanes in which the result of `and` or `or` does not depend on the other operand. */
static uint32_t decided_lanes(const struct path *path, const struct instruction *instruction,
                              const struct operand *operand, uint32_t lanes) {
    const bool is_comparison = simt_is_base(instruction, "setp");
    const bool is_and = is_comparison ? simt_has(instruction, "and") : simt_is_base(instruction, "and");
    const bool is_or = is_comparison ? simt_has(instruction, "or")
                                     : simt_is_base(instruction, "or") && simt_has(instruction, "pred");
    return is_and ? zero_lanes(path, operand, lanes) : is_or ? true_lanes(path, operand, lanes) : 0;
}

/* selp d, a, b, p: what was not selected is not used. */
static void choose(const struct path *path, const struct instruction *instruction, uint32_t mask,
                   struct undefined_mark *result) {
    const struct operand *operands = instruction->operands;
    const uint32_t chosen = true_lanes(path, &operands[3], mask);
    add_operand(path->frame, result, mask, &operands[3]);
    add_operand(path->frame, result, chosen, &operands[1]);
    add_operand(path->frame, result, mask & ~chosen, &operands[2]);
}

static void compute(const struct path *path, const struct code *code, uint32_t mask,
                    struct undefined_mark *result) {
    const struct instruction *instruction = code->instruction;
    const struct operand *operands = instruction->operands;
    const uint32_t count = instruction->operand_count;
    const bool is_comparison = simt_is_base(instruction, "setp");
    if (simt_is_base(instruction, "selp") && count == 4) {
        choose(path, instruction, mask, result);
        return;
    }
    uint32_t open = mask; /* the lanes in which all operands matter */
    for (uint32_t o = is_comparison ? 3 : 1; o < count; o++)
        open &= ~decided_lanes(path, instruction, &operands[o], mask);
    for (uint32_t o = 1; o < count; o++) add_operand(path->frame, result, open, &operands[o]);
    if (code->reads_carry) add(result, mask, mark_at(path->frame, path->frame->layout->carry));
}

/* ---- uses */

static void say_shuffle(const struct warp *warp, const struct path *path, const struct origin *origin) {
    const simt_place *places = warp->block->launch->view.places;
    const simt_place *shuffle = &places[origin->event.pc], *use = &places[path->pc];
    const struct lane_text here = lane_text(origin->event.mask);
    char where[48] = "";
    if (use->line != shuffle->line) snprintf(where, sizeof where, " at line %u", use->line);
    simt_record_finding_of_lanes(&origin->event, SIMT_FINDING_SHUFFLE, origin->lanes, 0,
                                 "lane %u shuffles in the value of lane %u, which does not take part: the "
                                 "value is undefined, and used%s; of the warp "
                                 "only %s %s here: let all come to the shuffle, those without a value with a "
                                 "neutral one (0 for a sum), or read from "
                                 "these alone",
                                 origin->lane, origin->source, where, here.text, here.be);
}

/* Each lane's read once.  Lanes that use what others have read got it by shuffles: whose it was is not known. */
static void say_read(struct origin *origin, uint32_t users) {
    const uint32_t readers = users & origin->lanes ? users & origin->unsaid : origin->unsaid;
    origin->unsaid &= ~readers;
    if (readers) origin->read.say(&origin->event, &origin->read, readers);
}

static void use(const struct warp *warp, const struct path *path, const struct undefined_mark *mark) {
    uint32_t users[ORIGINS_MAX] = {0};
    SIMT_FOR_EACH_LANE(lane, mark->lanes) users[mark->origins[lane]] |= UINT32_C(1) << lane;
    SIMT_FOR_EACH_LANE(lane, mark->lanes) {
        const uint8_t number = mark->origins[lane];
        struct origin *origin = warp->undefined->origins[number];
        if (!users[number]) continue;
        if (origin->read.say) say_read(origin, users[number]);
        else say_shuffle(warp, path, origin);
        users[number] = 0;
    }
}

/* ---- what is stored in shared memory */

static bool has_words(struct block *block) {
    if (block->undefined_words) return true;
    block->undefined_words = calloc(1, sizeof *block->undefined_words + block->launch->view.shared_nbytes / sizeof(uint32_t) + 1);
    if (!block->undefined_words) simt_launch_no_memory(block->launch);
    return block->undefined_words != NULL;
}

void simt_undefined_forget_words(struct block *block) {
    free(block->undefined_words);
    block->undefined_words = NULL;
}

/* The block's number of a warp's origin; NO_ORIGIN: of a shuffle, or there are too many. */
static uint32_t block_origin(struct block *block, const struct origin *origin) {
    if (!origin->read.say || !has_words(block)) return NO_ORIGIN;
    struct undefined_words *words = block->undefined_words;
    uint32_t number = 0;
    while (number < words->count &&
           (words->origins[number].event.pc != origin->event.pc || words->origins[number].event.warp != origin->event.warp))
        number++;
    if (number == NO_ORIGIN) return number;
    words->count += number == words->count;
    words->origins[number] = *origin;
    return number;
}

/* Of a store whether it leaves a register's values in the block's own shared memory. */
static bool stays_in_block(const struct block *block, const struct code *code) {
    const struct instruction *instruction = code->instruction;
    return block->shared_written && block->launch->view.blocks_per_cluster <= 1 && simt_is_base(instruction, "st") &&
           code->memory.space == SIMT_SHARED && !code->memory.is_generic && instruction->operands[1].kind == OPERAND_REGISTER;
}

/* Those of the values that the block's memory takes are stored, and the others used. */
static void store_values(struct warp *warp, const struct undefined_mark *values, struct undefined_mark *used) {
    struct undefined_mark *stored = &warp->undefined->stored;
    SIMT_FOR_EACH_LANE(lane, values->lanes & ~used->lanes) {
        const uint32_t number = block_origin(warp->block, warp->undefined->origins[values->origins[lane]]);
        stored->lanes |= (uint32_t)(number != NO_ORIGIN) << lane;
        stored->origins[lane] = (uint8_t)number;
    }
    struct undefined_mark others = *values;
    others.lanes &= ~stored->lanes;
    add(used, others.lanes, &others);
}

void simt_undefined_stored(struct warp *warp, const struct path *path, const struct code *code) {
    struct block *block = warp->block;
    const uint32_t nbytes = code->memory.vector.element_nbytes, lanes = warp->undefined ? warp->undefined->stored.lanes : 0;
    uint64_t addresses[SIMT_LANES];
    if (!lanes || simt_is_stopped(block->launch)) return;
    simt_addresses(path, &code->memory.address, addresses);
    SIMT_FOR_EACH_LANE(lane, lanes) {
        const uint64_t address = addresses[lane];
        if (address + nbytes > block->launch->view.shared_nbytes) continue; /* of another window */
        memset(block->shared_written + address, 0, nbytes);
        for (uint64_t word = address / sizeof(uint32_t); word <= (address + nbytes - 1) / sizeof(uint32_t); word++)
            block->undefined_words->numbers[word] = (uint8_t)(warp->undefined->stored.origins[lane] + 1);
    }
    warp->undefined->stored.lanes = 0;
}

bool simt_is_arithmetic(const struct code *code) {
    static const char *const names[] = {"mov", "cvta", NULL};
    return code->is_lane_operation || simt_is_one_of(code->instruction->base, names);
}

/* Its result is undefined where that of the guard is, too. */
static void follow_arithmetic(const struct path *path, const struct code *code, uint32_t mask,
                              const struct undefined_mark *guard) {
    const struct frame *frame = path->frame;
    struct undefined_mark result = {0};
    compute(path, code, mask, &result);
    add(&result, guard->lanes, guard);
    set_operand(frame, &code->instruction->operands[0], mask | guard->lanes, &result);
    if (code->writes_carry) set(mark_at(frame, frame->layout->carry), mask | guard->lanes, &result);
}

/* Of a shuffle the value is handed on where it is executed (simt_undefined_shuffle). */
static void follow_other(struct warp *warp, const struct path *path, const struct code *code, uint32_t mask,
                         struct undefined_mark *used) {
    const struct instruction *instruction = code->instruction;
    const bool has_result = !simt_has_no_result(instruction),
               is_shuffle = simt_is_base(instruction, "shfl"), stays = warp->undefined && stays_in_block(warp->block, code);
    struct undefined_mark values = {0};
    for (uint32_t o = has_result; o < instruction->operand_count; o++)
        if (!is_shuffle || o != 1) add_operand(path->frame, stays && o == 1 ? &values : used, mask, &instruction->operands[o]);
    if (stays) store_values(warp, &values, used);
    use(warp, path, used);
    if (has_result && instruction->operand_count && !is_shuffle)
        set_operand(path->frame, &instruction->operands[0], mask, &(struct undefined_mark){0});
}

void simt_undefined_follow(struct warp *warp, const struct path *path, const struct code *code,
                           uint32_t mask) {
    struct undefined_mark guard = {0};
    if (code->has_guard) add(&guard, path->mask, mark_at(path->frame, code->guard));
    if (simt_is_arithmetic(code))
        follow_arithmetic(path, code, mask, &guard);
    else
        follow_other(warp, path, code, mask, &guard);
}

/* ---- where undefined values come from */

static struct warp *warp_of(const simt_event *event) {
    const struct block *block = (const struct block *)(const void *)event->block;
    return &block->warps[event->warp];
}

static bool has_origins(struct warp *warp) {
    if (!warp->undefined) warp->undefined = calloc(1, sizeof *warp->undefined);
    if (!warp->undefined) simt_launch_no_memory(warp->block->launch);
    return warp->undefined != NULL;
}

/* NO_ORIGIN: there are too many, or memory is out. */
static uint32_t origin_number(struct warp *warp, uint32_t pc) {
    if (!has_origins(warp)) return NO_ORIGIN;
    struct undefined_origins *origins = warp->undefined;
    uint32_t number = 0;
    while (number < origins->count && origins->origins[number]->event.pc != pc) number++;
    if (number < origins->count || number == ORIGINS_MAX) return number;
    origins->origins[number] = calloc(1, sizeof **origins->origins);
    if (!origins->origins[number]) {
        simt_launch_no_memory(warp->block->launch);
        return NO_ORIGIN;
    }
    return origins->count++;
}

/* ---- shuffles */

void simt_follow_undefined(const simt_event *event, uint32_t lanes, const uint8_t *sources) {
    struct warp *warp = warp_of(event);
    const uint32_t lane = first_lane(lanes), number = origin_number(warp, event->pc);
    if (warp->undefined) warp->undefined->latest = number;
    if (number != NO_ORIGIN)
        *warp->undefined->origins[number] =
            (struct origin){.event = *event, .lanes = lanes, .lane = lane, .source = sources[lane]};
}

/* The mark of the value that the lane gets. */
static void take(const struct collective *collective, slot value, uint32_t lane, uint32_t source,
                 struct undefined_mark *result) {
    if (!(collective->lanes >> source & 1)) {
        if (collective->warp->undefined->latest == NO_ORIGIN) return;
        result->lanes |= UINT32_C(1) << lane;
        result->origins[lane] = (uint8_t)collective->warp->undefined->latest;
        return;
    }
    const struct frame *frame = simt_path_of(collective, source)->frame;
    const struct undefined_mark *from = frame->undefined ? mark_at(frame, value) : NULL;
    if (!from || !(from->lanes >> source & 1)) return;
    result->lanes |= UINT32_C(1) << lane;
    result->origins[lane] = from->origins[source];
}

void simt_undefined_shuffle(const struct collective *collective, slot value,
                            const uint8_t sources[SIMT_LANES]) {
    const struct operand *to = &collective->code->instruction->operands[0];
    struct undefined_mark result = {0};
    if (to->kind == OPERAND_PAIR) to = &to->elements[0];
    SIMT_FOR_EACH_LANE(lane, collective->lanes) take(collective, value, lane, sources[lane], &result);
    SIMT_FOR_EACH_LANE(lane, collective->lanes) {
        struct frame *frame = simt_path_of(collective, lane)->frame;
        const bool is_marked = result.lanes >> lane & 1;
        if (is_marked ? has_marks(collective->warp, frame) : frame->undefined != NULL)
            set_operand(frame, to, UINT32_C(1) << lane, &result);
    }
}

/* ---- loads of what nothing has written */

/* The path that executes the instruction: a lane is on one alone. */
static struct path *path_of(const struct warp *warp, const simt_event *event) {
    struct path *path = warp->leaves;
    while (path && (path->pc != event->pc || !(path->mask & event->mask))) path = path->next;
    return path;
}

static const struct operand *element_of(const struct operand *operand, uint32_t element) {
    return operand->kind == OPERAND_VECTOR ? &operand->elements[element] : operand;
}

static void mark_element(const struct frame *frame, const struct operand *to, uint32_t lanes, uint32_t number) {
    if (to->kind != OPERAND_REGISTER) return;
    struct undefined_mark *mark = mark_of(frame, to);
    mark->lanes |= lanes;
    SIMT_FOR_EACH_LANE(lane, lanes) mark->origins[lane] = (uint8_t)number;
}

/* Lanes that have read before, and use it later, keep their addresses. */
static void keep_read(simt_unwritten *to, const simt_unwritten *read) {
    simt_unwritten kept = *read;
    SIMT_FOR_EACH_LANE(lane, ~read->lanes) kept.addresses[lane] = to->addresses[lane];
    *to = kept;
}

/* false: what it reads does not go to registers alone. */
static bool follow_load(struct warp *warp, const simt_event *event, const simt_unwritten *read) {
    const struct instruction *instruction = warp->block->launch->image->codes[event->pc].instruction;
    const struct path *path = simt_is_base(instruction, "ld") ? path_of(warp, event) : NULL;
    const uint32_t number = path && has_marks(warp, path->frame) ? origin_number(warp, event->pc) : NO_ORIGIN;
    if (number == NO_ORIGIN) return false;
    struct origin *origin = warp->undefined->origins[number];
    origin->event = *event;
    origin->lanes |= read->lanes;
    origin->unsaid |= read->lanes;
    keep_read(&origin->read, read);
    for (uint32_t e = 0; e < read->element_count; e++)
        mark_element(path->frame, element_of(&instruction->operands[0], e), read->elements[e], number);
    return true;
}

/* The warp's number of a block's origin. */
static uint32_t warp_origin(struct warp *warp, const struct origin *from) {
    const uint32_t number = origin_number(warp, from->event.pc);
    if (number != NO_ORIGIN && !warp->undefined->origins[number]->read.say) *warp->undefined->origins[number] = *from;
    return number;
}

/* The lane reads what was undefined when it was stored. */
static void follow_word(struct warp *warp, const simt_event *event, struct origin *from, uint32_t element, uint32_t lane) {
    const struct instruction *instruction = warp->block->launch->image->codes[event->pc].instruction;
    const struct path *path = simt_is_base(instruction, "ld") ? path_of(warp, event) : NULL;
    const uint32_t number = path && has_marks(warp, path->frame) ? warp_origin(warp, from) : NO_ORIGIN;
    if (number == NO_ORIGIN) say_read(from, from->lanes);
    else mark_element(path->frame, element_of(&instruction->operands[0], element), UINT32_C(1) << lane, number);
}

/* Takes the elements of the lane that were undefined when they were stored. */
static void follow_words(struct warp *warp, const simt_event *event, simt_unwritten *read, uint32_t lane) {
    struct undefined_words *words = warp->block->undefined_words;
    uint64_t address = read->addresses[lane];
    uint32_t left = 0;
    for (uint32_t e = 0, seen = 0; e < read->element_count; e++, address += seen ? read->element_nbytes : 0) {
        if (!(read->elements[e] >> lane & 1)) continue;
        seen = 1;
        const uint32_t number = words->numbers[address / sizeof(uint32_t)];
        if (!number && !left++) read->addresses[lane] = address;
        if (!number) continue;
        read->elements[e] &= ~(UINT32_C(1) << lane);
        follow_word(warp, event, &words->origins[number - 1], e, lane);
    }
    if (!left) read->lanes &= ~(UINT32_C(1) << lane);
}

void simt_follow_unwritten(const simt_event *event, simt_unwritten *read) {
    struct warp *warp = warp_of(event);
    if (read->space == SIMT_SHARED && warp->block->undefined_words)
        SIMT_FOR_EACH_LANE(lane, read->lanes) follow_words(warp, event, read, lane);
    if (read->lanes && !follow_load(warp, event, read)) read->say(event, read, read->lanes);
}
