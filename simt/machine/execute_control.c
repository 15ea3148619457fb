/* Branches, calls, returns, exits, traps. */
#include <stdio.h>
#include <string.h>

#include "decoder.h"

static enum outcome part(struct warp *warp, struct path *path, uint32_t taken, uint32_t target, uint32_t next,
                         const struct code *code) {
    simt_path_part(warp, path, taken, target, next, code->reconvergence);
    return OUTCOME_LEFT;
}

static __attribute__((noinline)) void notify_branch(struct warp *warp, const struct path *path, uint32_t mask,
                                                    uint32_t taken) {
    simt_event event = simt_event_of(warp, path, mask);
    SIMT_NOTIFY(warp->block->launch, warp->block, branch, &event, taken);
}

/* A branch under a condition: of the lanes `mask` those of `taken` go elsewhere. */
static inline void count_branch(struct warp *warp, const struct path *path, uint32_t mask, uint32_t taken) {
    simt_tally *tally = &warp->block->tally;
    tally->branches++;
    tally->divergent_branches += taken != 0 && taken != path->mask;
    if (warp->block->launch->branch.count) notify_branch(warp, path, mask, taken);
}

/* `taken`: the lanes whose guard holds. */
static enum outcome execute_branch(struct warp *warp, struct path *path, const struct code *code, uint32_t taken) {
    if (code->has_guard) count_branch(warp, path, taken, taken);
    if (!taken) return OUTCOME_NEXT;
    bool parts = taken != path->mask && code->target != path->pc + 1;
    if (parts) return part(warp, path, taken, code->target, path->pc + 1, code);
    path->pc = code->target;
    return OUTCOME_MOVED;
}

static bool decode_branch(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    if (instruction->operand_count != 1 || instruction->operands[0].kind != OPERAND_LABEL) return false;
    code->execute = execute_branch;
    code->is_branch = true;
    code->target = instruction->operands[0].index;
    return true;
}

/* The lanes of `mask` whose value is that of its lowest lane. */
static uint32_t lanes_alike(const unsigned char *lanes, enum width width, uint32_t mask, uint64_t *value) {
    uint32_t alike = 0;
    *value = lane_get(lanes, width, (uint32_t)__builtin_ctz(mask));
    SIMT_FOR_EACH_LANE (lane, mask)
        if (lane_get(lanes, width, lane) == *value) alike |= UINT32_C(1) << lane;
    return alike;
}

/* Lanes of one index part from the rest, which execute the branch again. */
static enum outcome execute_branch_indexed(struct warp *warp, struct path *path, const struct code *code,
                                           uint32_t mask) {
    const struct table *table = code->instruction->operands[1].table;
    uint64_t index;
    uint32_t alike = lanes_alike(slot_lanes(path, code->call.slots[0]), code->widths[0], mask, &index);
    count_branch(warp, path, mask, alike);
    if (index >= table->count) {
        simt_event event = simt_event_of(warp, path, mask);
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, (uint32_t)__builtin_ctz(mask), 0,
                            "branches to entry %llu of a table of %u", (unsigned long long)index,
                            table->count);
        simt_stop(&event);
        return OUTCOME_LEFT;
    }
    if (alike != path->mask) return part(warp, path, alike, table->targets[index], path->pc, code);
    path->pc = table->targets[index];
    return OUTCOME_MOVED;
}

static bool decode_branch_indexed(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    if (instruction->operand_count != 2 || instruction->operands[1].kind != OPERAND_TABLE) return false;
    code->execute = execute_branch_indexed;
    code->widths[0] = simt_operand_width(decoder, &instruction->operands[0], WIDTH_32);
    return simt_operand(decoder, &instruction->operands[0], TYPE_U32, &code->call.slots[0]);
}

static enum outcome call(struct warp *warp, struct path *path, const struct code *code, uint32_t mask,
                         const struct function *function) {
    if (function->has_body) {
        simt_path_call(warp, path, code, mask, function);
        return OUTCOME_LEFT;
    }
    builtin_function *builtin = simt_builtin_find(function->name);
    warp->block->changes += strcmp(function->name, "vprintf") != 0; /* what is printed is read by nobody here */
    if (builtin) return builtin(warp, path, code, mask) ? OUTCOME_NEXT : OUTCOME_LEFT;
    simt_event event = simt_event_of(warp, path, mask);
    simt_record_finding(&event, SIMT_FINDING_UNSUPPORTED, (uint32_t)__builtin_ctz(mask), 0,
                        "calls %s, which the module declares but does not define", function->name);
    simt_stop(&event);
    return OUTCOME_LEFT;
}

static enum outcome execute_call(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    return call(warp, path, code, mask, code->callee.function);
}

/* Whether the .calltargets of the call, if it has them, have the function. */
static bool is_listed(const struct instruction *instruction, const struct function *function, char why[SIMT_WHY]) {
    const struct operand *last = &instruction->operands[instruction->operand_count - 1];
    if (last->kind != OPERAND_TABLE) return true;
    for (uint32_t f = 0; f < last->table->count; f++)
        if (last->table->functions[f] == function) return true;
    snprintf(why, SIMT_WHY, "%.80s is not among its .calltargets", function->name);
    return false;
}

static enum outcome execute_call_indirect(struct warp *warp, struct path *path, const struct code *code,
                                          uint32_t mask) {
    uint64_t address;
    uint32_t alike = lanes_alike(slot_lanes(path, code->call.slots[0]), code->widths[0], mask, &address);
    if (alike != mask) {
        simt_path_part(warp, path, alike, path->pc, path->pc, path->pc + 1);
        return OUTCOME_LEFT;
    }
    const struct function *function = simt_function_at(warp->block->launch->image, address);
    char why[SIMT_WHY] = "no function is there";
    if (function && simt_call_fits(path->frame->function, code->instruction, function, why) &&
        is_listed(code->instruction, function, why))
        return call(warp, path, code, mask, function);
    simt_event event = simt_event_of(warp, path, mask);
    simt_record_finding(&event, SIMT_FINDING_BOUNDS, (uint32_t)__builtin_ctz(mask), address,
                        "calls 0x%llx: %s", (unsigned long long)address, why);
    simt_stop(&event);
    return OUTCOME_LEFT;
}

static bool decode_call(struct decoder *decoder, struct code *code) {
    const struct operand *operands = decoder->instruction->operands;
    code->callee.place = operands[0].kind == OPERAND_VECTOR;
    const struct operand *callee = &operands[code->callee.place];
    code->callee.function = callee->function;
    code->execute = callee->kind == OPERAND_FUNCTION ? execute_call : execute_call_indirect;
    code->widths[0] = WIDTH_64;
    return callee->kind == OPERAND_FUNCTION || simt_operand(decoder, callee, TYPE_U64, &code->call.slots[0]);
}

static enum outcome execute_return(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)code;
    path->pc++; /* of the lanes that stay; those that others waited for may let it merge with them */
    simt_path_return(warp, path, mask);
    return OUTCOME_LEFT;
}

static bool decode_return(struct decoder *decoder, struct code *code) {
    (void)decoder;
    code->execute = execute_return;
    return true;
}

static enum outcome execute_exit(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)code;
    path->pc++; /* of the lanes that stay; those that others waited for may let it merge with them */
    simt_path_exit(warp, path, mask);
    return OUTCOME_LEFT;
}

static bool decode_exit(struct decoder *decoder, struct code *code) {
    (void)decoder;
    code->execute = execute_exit;
    return true;
}

/* Whether a function that leads here, or this one, looks for the grid's barrier. */
static bool wants_grid_barrier(const struct frame *frame) {
    for (; frame; frame = frame->caller)
        for (uint32_t p = 0; p < frame->layout->preset_count; p++) {
            const struct preset *preset = &frame->layout->presets[p];
            if (preset->kind == PRESET_SPECIAL && simt_special_is_of_grid_barrier(preset->bits)) return true;
        }
    return false;
}

static enum outcome execute_trap(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    simt_event event = simt_event_of(warp, path, mask);
    const bool misses_barrier = warp->block->launch->request->lacks_grid_barrier && wants_grid_barrier(path->frame);
    simt_record_finding(&event, SIMT_FINDING_TRAP, (uint32_t)__builtin_ctz(mask), 0, "the kernel executes %s%s",
                        code->instruction->opcode, misses_barrier ? ", as grid.sync() does in a launch that is not cooperative: launch it by "
                        "cudaLaunchCooperativeKernel()" : "");
    simt_stop(&event);
    return OUTCOME_LEFT;
}

static bool decode_trap(struct decoder *decoder, struct code *code) {
    (void)decoder;
    code->execute = execute_trap;
    return true;
}

/* Hints to hardware, which change no result. */
static enum outcome execute_nothing(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp, (void)path, (void)code, (void)mask;
    return OUTCOME_NEXT;
}

static bool decode_nothing(struct decoder *decoder, struct code *code) {
    (void)decoder;
    code->execute = execute_nothing;
    return true;
}

const struct instruction_kind simt_control_kinds[] = {
    {"bra", decode_branch},        {"brx", decode_branch_indexed}, {"call", decode_call},
    {"ret", decode_return},        {"exit", decode_exit},          {"trap", decode_trap},
    {"brkpt", decode_trap},        {"nanosleep", decode_nothing},  {"prefetch", decode_nothing},
    {"prefetchu", decode_nothing}, {"discard", decode_nothing},    {"applypriority", decode_nothing},
    {"pmevent", decode_nothing},   {"setmaxnreg", decode_nothing}, {"griddepcontrol", decode_nothing},
    {NULL, NULL}};
