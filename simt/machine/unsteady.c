/* What follows from a special register that differs from run to run.
 *
 * A value is unsteady if it is computed from such a register, or in instructions that an unsteady branch leads to or not.
 * Nothing follows from unsteady values as long as they meet only arithmetic, whose results are unsteady then, the time of
 * nanosleep, and branches whose sides meet again after no more than that.  These may not go back: whether a loop ends is
 * more than a wait.  It goes by registers, not by what they hold at a time, and so errs on one side only. */
#include "unsteady.h"

#include <stdlib.h>
#include <string.h>

#include "lanes.h"

struct following {
    const struct simt_module *module;
    const struct function *function;
    const char *special;
    bool *is_unsteady; /* of each of the function's registers */
    bool *is_between;  /* of each of its instructions: an unsteady branch decides whether it is executed */
    uint32_t *reached; /* likewise: the last of the branches that were looked at from which it is reached, */
    uint32_t part_count; /* by their number */
    bool has_grown, follows;
};

static bool is_read(const struct operand *operand, const char *special) {
    if (operand->kind == OPERAND_SPECIAL && strncmp(operand->special, special, strlen(special)) == 0) return true;
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (is_read(&operand->elements[e], special)) return true;
    return false;
}

static bool reads(const struct instruction *instruction, const char *special) {
    for (uint32_t o = 0; o < instruction->operand_count; o++)
        if (is_read(&instruction->operands[o], special)) return true;
    return false;
}

static bool has_unsteady(const struct following *following, const struct operand *operand) {
    bool has_register = operand->kind == OPERAND_REGISTER ||
                        (operand->kind == OPERAND_ADDRESS && operand->has_base_register);
    if (has_register && following->is_unsteady[operand->index]) return true;
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (has_unsteady(following, &operand->elements[e])) return true;
    return false;
}

static bool is_arithmetic(const struct instruction *instruction) {
    struct lane_operation operation;
    uint32_t count = instruction->operand_count;
    for (uint32_t o = 0; o < instruction->operand_count; o++)
        if (instruction->operands[o].kind == OPERAND_PAIR) count += instruction->operands[o].element_count - 1;
    return simt_is_base(instruction, "mov") || (simt_lanes_shape(instruction, count, &operation) && !operation.reads_carry &&
                                      !operation.writes_carry);
}

/* The first operand of arithmetic is what it writes. */
static bool is_touched(const struct following *following, const struct instruction *instruction) {
    bool is_touched = instruction->guard >= 0 && following->is_unsteady[instruction->guard];
    for (uint32_t o = is_arithmetic(instruction) ? 1 : 0; o < instruction->operand_count; o++)
        is_touched |= has_unsteady(following, &instruction->operands[o]);
    return is_touched || reads(instruction, following->special);
}

static void set(struct following *following, bool *flag) {
    following->has_grown |= !*flag;
    *flag = true;
}

static void spoil(struct following *following, const struct operand *operand) {
    if (operand->kind == OPERAND_REGISTER) set(following, &following->is_unsteady[operand->index]);
    for (uint32_t e = 0; e < operand->element_count; e++) spoil(following, &operand->elements[e]);
}

static void reach(struct following *following, uint32_t pc, uint32_t *last) {
    following->reached[pc - following->function->begin] = following->part_count;
    if (pc > *last) *last = pc;
}

/* Marks what an unsteady branch leads to before its sides meet, which is forward of it except for where they do. */
static void part(struct following *following, uint32_t pc) {
    const struct function *function = following->function;
    const struct instruction *instructions = following->module->instructions;
    const uint32_t meeting = instructions[pc].reconvergence;
    uint32_t last = pc;
    following->follows |= meeting == NO_PC;
    following->part_count++;
    reach(following, pc, &last);
    for (uint32_t at = pc; at <= last && at < function->end && !following->follows; at++) {
        const struct instruction *instruction = &instructions[at];
        if (following->reached[at - function->begin] != following->part_count) continue;
        if (at != pc) set(following, &following->is_between[at - function->begin]);
        const bool is_branch = simt_is_base(instruction, "bra");
        const uint32_t target = is_branch ? instruction->operands[0].index : meeting;
        following->follows |= target != meeting && target <= at;
        if (target != meeting) reach(following, target, &last);
        if ((!is_branch || instruction->guard >= 0) && at + 1 != meeting) reach(following, at + 1, &last);
    }
}

static void follow(struct following *following, uint32_t pc) {
    const struct instruction *instruction = &following->module->instructions[pc];
    const bool is_between = following->is_between[pc - following->function->begin];
    if (!is_between && !is_touched(following, instruction)) return;
    if (is_arithmetic(instruction)) spoil(following, &instruction->operands[0]);
    else if (!simt_is_base(instruction, "bra")) following->follows |= !simt_is_base(instruction, "nanosleep");
    else if (is_touched(following, instruction)) part(following, pc);
}

static bool is_sought(const struct following *following, uint32_t *pc) {
    for (*pc = following->function->begin; *pc < following->function->end; ++*pc)
        if (reads(&following->module->instructions[*pc], following->special)) return true;
    return false;
}

/* false: no memory. */
static bool follow_all(struct following *following) {
    const struct function *function = following->function;
    following->is_unsteady = calloc((size_t)function->register_count + 1, sizeof *following->is_unsteady);
    following->is_between = calloc((size_t)(function->end - function->begin) + 1, sizeof *following->is_between);
    following->reached = calloc((size_t)(function->end - function->begin) + 1, sizeof *following->reached);
    const bool is_done = following->is_unsteady && following->is_between && following->reached;
    do {
        following->has_grown = false;
        for (uint32_t pc = function->begin; is_done && pc < function->end && !following->follows; pc++) follow(following, pc);
    } while (following->has_grown && !following->follows);
    free(following->is_unsteady);
    free(following->is_between);
    free(following->reached);
    return is_done;
}

simt_error simt_module_follows(const simt_module *module, const char *special, const simt_place **place) {
    *place = NULL;
    for (uint32_t f = 0; f < module->function_count && !*place; f++) {
        struct following following = {.module = module, .function = module->functions[f], .special = special};
        uint32_t pc;
        if (!following.function->has_body || !is_sought(&following, &pc)) continue;
        if (!follow_all(&following)) return SIMT_ERROR_MEMORY;
        if (following.follows) *place = &module->places[pc];
    }
    return SIMT_OK;
}
