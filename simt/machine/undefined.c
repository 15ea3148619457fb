/* A shuffle may give a lane an undefined value, which harms nothing as long as it is not used: in a tree the
 * upper half of the lanes adds what nobody reads.  So its register is marked, arithmetic hands the mark on,
 * and a finding is recorded where the value is stored, decides about a branch, is an address or leaves the
 * lane in another way.  Only frames in which there was such a shuffle are looked at. */
#include "undefined.h"

#include <stdlib.h>

#include "deciders.h"

enum { ORIGINS_MAX = 255 };

/* A shuffle, as it was last executed. */
struct origin {
    simt_event event;
    uint32_t strays;       /* lanes that get undefined values */
    uint32_t lane, source; /* the first of them, and whose value it wants */
};

struct undefined_origins {
    struct origin origins[ORIGINS_MAX];
    uint32_t count, latest;
};

/* A register, by its slot: of each of `lanes` the number of the origin. */
struct undefined_mark {
    uint32_t lanes;
    uint8_t origins[SIMT_LANES];
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

static void say(const struct warp *warp, const struct path *path, const struct origin *origin) {
    const simt_place *places = warp->block->launch->view.places;
    const simt_place *shuffle = &places[origin->event.pc], *use = &places[path->pc];
    const struct lane_text here = lane_text(origin->event.mask);
    char where[48] = "";
    if (use->line != shuffle->line) snprintf(where, sizeof where, " at line %u", use->line);
    simt_record_finding_of_lanes(&origin->event, SIMT_FINDING_SHUFFLE, origin->strays, 0,
                                 "lane %u shuffles in the value of lane %u, which does not take part: the "
                                 "value is undefined, and used%s; of the warp "
                                 "only %s %s here: let all come to the shuffle, those without a value with a "
                                 "neutral one (0 for a sum), or read from "
                                 "these alone",
                                 origin->lane, origin->source, where, here.text, here.be);
}

static void use(const struct warp *warp, const struct path *path, const struct undefined_mark *mark) {
    bool is_said[ORIGINS_MAX] = {false};
    SIMT_FOR_EACH_LANE(lane, mark->lanes) {
        bool *is_first = &is_said[mark->origins[lane]];
        if (!*is_first) say(warp, path, &warp->undefined->origins[mark->origins[lane]]);
        *is_first = true;
    }
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
               is_shuffle = simt_is_base(instruction, "shfl");
    for (uint32_t o = has_result; o < instruction->operand_count; o++)
        if (!is_shuffle || o != 1) add_operand(path->frame, used, mask, &instruction->operands[o]);
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

/* ---- shuffles */

static uint32_t origin_number(struct undefined_origins *origins, uint32_t pc) {
    uint32_t number = 0;
    while (number < origins->count && origins->origins[number].event.pc != pc) number++;
    if (number == ORIGINS_MAX) return number - 1;
    if (number == origins->count) origins->count++;
    return number;
}

void simt_follow_undefined(const simt_event *event, uint32_t lanes, const uint8_t *sources) {
    const struct block *block = (const struct block *)(const void *)event->block;
    struct warp *warp = &block->warps[event->warp];
    if (!warp->undefined) warp->undefined = calloc(1, sizeof *warp->undefined);
    if (!warp->undefined) {
        simt_launch_no_memory(block->launch);
        return;
    }
    const uint32_t lane = first_lane(lanes), number = origin_number(warp->undefined, event->pc);
    warp->undefined->origins[number] = (struct origin){*event, lanes, lane, sources[lane]};
    warp->undefined->latest = number;
}

/* The mark of the value that the lane gets. */
static void take(const struct collective *collective, slot value, uint32_t lane, uint32_t source,
                 struct undefined_mark *result) {
    if (!(collective->lanes >> source & 1)) {
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
