#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include "deciders.h"

#include <stdlib.h>
#include <string.h>

/* ---- what an instruction reads and writes */

bool simt_has_no_result(const struct instruction *instruction) {
    static const char *const names[] = {"st",     "sust",  "sured", "red",       "bra",       "brx",     "ret",      "exit", "trap",
                                        "fence",  "membar", "nanosleep", "prefetch", "prefetchu", "discard", "cp",
                                        "applypriority", "pmevent", "setmaxnreg", "griddepcontrol", "stmatrix", NULL};
    static const char *const barriers[] = {"bar", "barrier", NULL};
    return simt_is_one_of(instruction->base, names) ||
           (simt_is_one_of(instruction->base, barriers) && !simt_has(instruction, "red"));
}

typedef void register_function(struct deciders *deciders, uint32_t index);

static void add(struct deciders *deciders, uint32_t index) {
    deciders->has_grown |= !deciders->is_decider[index];
    deciders->is_decider[index] = true;
}

static void add_registers(struct deciders *deciders, const struct operand *operand) {
    bool has_register = operand->kind == OPERAND_REGISTER ||
                        (operand->kind == OPERAND_ADDRESS && operand->has_base_register);
    if (has_register) add(deciders, operand->index);
    for (uint32_t e = 0; e < operand->element_count; e++) add_registers(deciders, &operand->elements[e]);
}

static void add_guard(struct deciders *deciders, const struct instruction *instruction) {
    if (instruction->guard >= 0) add(deciders, (uint32_t)instruction->guard);
}

static bool has_decider(const struct deciders *deciders, const struct operand *operand) {
    if (operand->kind == OPERAND_REGISTER && deciders->is_decider[operand->index]) return true;
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (has_decider(deciders, &operand->elements[e])) return true;
    return false;
}

bool simt_reads_clock(const struct instruction *instruction) {
    const struct operand *source = &instruction->operands[1];
    return simt_is_base(instruction, "mov") && source->kind == OPERAND_SPECIAL &&
           (strstr(source->special, "clock") || strstr(source->special, "timer"));
}

/* What a result that decides comes from, besides registers. */
static void note_origin(struct deciders *deciders, const struct instruction *instruction) {
    static const char *const plain[] = {"cvta", "isspacep", "mapa", "getctarank", NULL};
    static const char *const of_warp[] = {"shfl", "vote", "match", "redux", "elect", NULL};
    static const char *const of_block[] = {"bar", "barrier", NULL};
    enum simt_space space = SIMT_GLOBAL;
    const char *base = instruction->base;
    if (simt_is_one_of(base, plain)) return;
    if (simt_is_word(base, "mov")) deciders->depends_on_clock |= simt_reads_clock(instruction);
    else if (simt_is_one_of(base, of_warp)) deciders->depends_on_warp = true;
    else if (simt_is_word(base, "ld") || simt_is_word(base, "ldu") || simt_is_word(base, "atom")) {
        bool is_named = !simt_is_word(base, "atom") && simt_named_space(instruction, &space);
        const struct variable *variable = instruction->operands[1].variable;
        bool is_own = deciders->function->is_kernel && variable && variable->is_parameter;
        bool is_passed = is_named && space == SIMT_PARAMETER && !is_own;
        bool is_constant = (is_named && !is_passed && (space == SIMT_CONSTANT || space == SIMT_PARAMETER)) ||
                           (!simt_is_word(base, "atom") && simt_has(instruction, "nc"));
        deciders->depends_on_memory |= !is_constant;
        deciders->is_unknown |= is_passed && deciders->prints; /* what printf returns */
    } else if (simt_is_one_of(base, of_block)) deciders->depends_on_memory = true; /* of all that the others read (execute_barrier.c) */
    else deciders->is_unknown = true;
}

/* The operands of a lane operation: registers from registers. */
struct traced {
    const struct operand *operands[LANE_OPERANDS_MAX];
    uint32_t count;
};

static void flatten(const struct instruction *instruction, struct traced *traced) {
    traced->count = 0;
    for (uint32_t o = 0; o < instruction->operand_count; o++) {
        const struct operand *operand = &instruction->operands[o];
        bool is_pair = operand->kind == OPERAND_PAIR;
        for (uint32_t e = 0; e < (is_pair ? operand->element_count : 1) && traced->count < LANE_OPERANDS_MAX; e++)
            traced->operands[traced->count++] = is_pair ? &operand->elements[e] : operand;
    }
}

static void trace_lanes(struct deciders *deciders, const struct code *code) {
    const uint32_t carry = deciders->function->register_count;
    struct traced traced;
    flatten(code->instruction, &traced);
    bool decides = code->writes_carry && deciders->is_decider[carry];
    for (uint32_t o = 0; o < code->destinations; o++) decides |= has_decider(deciders, traced.operands[o]);
    if (!decides) return;
    for (uint32_t o = code->destinations; o < traced.count; o++) add_registers(deciders, traced.operands[o]);
    if (code->reads_carry) add(deciders, carry);
    add_guard(deciders, code->instruction);
}

static void trace_other(struct deciders *deciders, const struct instruction *instruction) {
    if (!instruction->operand_count || !has_decider(deciders, &instruction->operands[0])) return;
    note_origin(deciders, instruction);
    for (uint32_t o = 1; o < instruction->operand_count; o++) add_registers(deciders, &instruction->operands[o]);
    add_guard(deciders, instruction);
}

/* Whether it reads registers and writes others, as most do: what these meet is nobody. */
static bool is_of_registers(const struct code *code) {
    return code->is_lane_operation && !simt_is_base(code->instruction, "mov");
}

static void note_meeting(struct deciders *deciders, const struct instruction *instruction) {
    static const char *const of_block[] = {"bar", "barrier", NULL}, *const of_others[] = {"mbarrier", "cp", NULL};
    bool is_barrier = simt_is_one_of(instruction->base, of_block) && !simt_has(instruction, "warp");
    bool is_of_others = simt_is_one_of(instruction->base, of_others) || (is_barrier && simt_has(instruction, "cluster"));
    deciders->meets_block |= is_barrier;
    deciders->meets_others |= is_of_others;
    deciders->meets_warp |= !is_barrier && !is_of_others && (simt_has(instruction, "sync") || simt_has(instruction, "warp"));
}

/* What a store leaves where something is read that decides. */
static void trace_stored(struct deciders *deciders, const struct instruction *instruction) {
    for (uint32_t o = 0; o < instruction->operand_count; o++) add_registers(deciders, &instruction->operands[o]);
}

/* Whether all that the function does follows from its arguments and from memory, as far as it calls no other. */
static bool is_plain_function(const struct function *function, const struct code *codes) {
    static const char *const plain[] = {"ld", "st", "atom", "red", "mov", "cvta", "isspacep", "bra", "ret", "fence", "membar",
                                        "nanosleep", NULL};
    bool is_plain = function->has_body;
    for (uint32_t pc = function->begin; is_plain && pc < function->end; pc++) {
        const struct instruction *instruction = codes[pc].instruction;
        is_plain = simt_is_one_of(instruction->base, plain) ? !simt_reads_clock(instruction) : codes[pc].is_lane_operation;
    }
    return is_plain;
}

/* What is passed to a function decides, as all in it does; what it prints decides nothing, but may what that returns. */
static void trace_call(struct deciders *deciders, const struct code *code, const struct code *codes) {
    const struct function *callee = code->callee.function;
    const struct instruction *instruction = code->instruction;
    const bool prints = callee && !callee->has_body && strcmp(callee->name, "vprintf") == 0;
    deciders->prints |= prints;
    deciders->depends_on_memory |= !prints;
    deciders->is_unknown |= !callee || (!prints && !is_plain_function(callee, codes)) ||
                            (prints && has_decider(deciders, &instruction->operands[0]));
    for (uint32_t o = code->callee.place + 1; o < instruction->operand_count; o++)
        add_registers(deciders, &instruction->operands[o]);
    add_guard(deciders, instruction);
}

/* Adds what the instruction makes decide: its guard and its addresses, where they may lead elsewhere or to a finding,
 * and its sources, where its result decides. */
static void trace(struct deciders *deciders, const struct code *code, const struct code *codes) {
    const struct instruction *instruction = code->instruction;
    if (is_of_registers(code)) {
        if (!deciders->is_unknown) trace_lanes(deciders, code);
        return;
    }
    bool has_none = simt_has_no_result(instruction);
    enum simt_space space;
    for (uint32_t o = 0; o < instruction->operand_count; o++) {
        const struct operand *operand = &instruction->operands[o];
        if (operand->kind == OPERAND_ADDRESS && operand->is_bracketed) {
            add_registers(deciders, operand);
            add_guard(deciders, instruction);
        }
    }
    if (has_none) add_guard(deciders, instruction);
    if (simt_is_base(instruction, "brx")) add_registers(deciders, &instruction->operands[0]);
    if (simt_is_base(instruction, "st") && simt_named_space(instruction, &space) && space == SIMT_PARAMETER)
        trace_stored(deciders, instruction); /* it passes an argument */
    const bool is_call = simt_is_base(instruction, "call");
    if (is_call) trace_call(deciders, code, codes);
    if (has_none || is_call || deciders->is_unknown) return;
    trace_other(deciders, instruction);
}

static size_t length_of(const struct function *function) { return function->end - function->begin; }

/* Takes *at, an instruction of the function, back to the last before it that was executed, mostly one of few of a long function.
 * NULL: there is none. */
static const struct code *executed_before(const struct deciders *deciders, const struct code *codes, size_t *at) {
    const unsigned char *found = memrchr(deciders->is_executed, 1, *at);
    if (!found) return NULL;
    *at = (size_t)(found - deciders->is_executed);
    return &codes[deciders->function->begin + *at];
}

static void note_meetings(struct deciders *deciders, const struct code *codes) {
    size_t at = length_of(deciders->function);
    for (const struct code *code; (code = executed_before(deciders, codes, &at));)
        if (!is_of_registers(code)) note_meeting(deciders, code->instruction);
}

/* Once through what was executed; backwards, as what decides comes from what was before. */
static void trace_executed(struct deciders *deciders, const struct code *codes) {
    size_t at = length_of(deciders->function);
    for (const struct code *code; (code = executed_before(deciders, codes, &at));) {
        trace(deciders, code, codes);
        if (deciders->marks[at] & MARK_IS_VALUED) trace_stored(deciders, code->instruction);
    }
}

static void mark_reads(struct deciders *deciders, const struct code *codes) {
    size_t at = length_of(deciders->function);
    for (const struct code *code; (code = executed_before(deciders, codes, &at));) {
        if (!code->instruction->operand_count) continue;
        if (has_decider(deciders, &code->instruction->operands[0]) && !simt_has_no_result(code->instruction))
            deciders->marks[at] |= MARK_DECIDES;
    }
}

void simt_deciders_trace(struct deciders *deciders, const struct code *codes) {
    note_meetings(deciders, codes); /* once: they do not depend on what decides */
    do {
        deciders->has_grown = false;
        trace_executed(deciders, codes);
    } while (deciders->has_grown && !deciders->is_unknown);
    mark_reads(deciders, codes);
}

/* From memory that may change. */
static bool reads_memory(const struct instruction *instruction) {
    enum simt_space space;
    const bool is_fixed = simt_named_space(instruction, &space) && (space == SIMT_CONSTANT || space == SIMT_PARAMETER);
    return (simt_is_base(instruction, "ld") || simt_is_base(instruction, "atom")) && !is_fixed;
}

bool simt_deciders_read_memory(struct deciders *deciders, const struct code *codes) {
    const struct function *function = deciders->function;
    bool is_read = false;
    memset(deciders->is_executed, 1, function->end - function->begin);
    simt_deciders_trace(deciders, codes);
    for (uint32_t pc = function->begin; pc < function->end; pc++)
        is_read |= deciders->marks[pc - function->begin] & MARK_DECIDES && reads_memory(codes[pc].instruction);
    return is_read;
}

/* Marks what the guard of the loop's exit comes from, among the instructions between its begin and its end. */
static void trace_exit(struct deciders *deciders, const struct code *codes, const struct loop *loop) {
    add_guard(deciders, codes[loop->exit].instruction);
    do {
        deciders->has_grown = false;
        for (uint32_t pc = loop->back + 1; pc-- > loop->begin;) {
            const struct code *code = &codes[pc];
            if (is_of_registers(code)) trace_lanes(deciders, code);
            else if (code->instruction && !simt_has_no_result(code->instruction)) trace_other(deciders, code->instruction);
        }
    } while (deciders->has_grown);
}

uint32_t simt_loop_reads(const struct launch *launch, const struct loop *loop) {
    const struct simt_module *module = launch->image->module;
    const struct code *codes = launch->image->codes;
    struct deciders deciders;
    uint32_t f = 0, read = NO_PC;
    while (f < module->function_count && (loop->begin < module->functions[f]->begin || loop->begin >= module->functions[f]->end)) f++;
    if (f == module->function_count || loop->exit == NO_PC) return NO_PC;
    const bool has_memory = simt_deciders_create(&deciders, module->functions[f]);
    if (has_memory) trace_exit(&deciders, codes, loop);
    for (uint32_t pc = loop->begin; has_memory && pc <= loop->back && read == NO_PC; pc++) {
        const struct instruction *instruction = codes[pc].instruction;
        if (instruction && reads_memory(instruction) && has_decider(&deciders, &instruction->operands[0])) read = pc;
    }
    simt_deciders_destroy(&deciders);
    return read;
}

bool simt_deciders_create(struct deciders *deciders, const struct function *function) {
    const size_t count = function->end - function->begin;
    *deciders = (struct deciders){.function = function,
                                  .is_executed = calloc(count + UINT8_MAX, 1),
                                  .is_decider = calloc((size_t)function->register_count + 1, 1),
                                  .marks = calloc(count + 1, 1)};
    return deciders->is_executed && deciders->is_decider && deciders->marks;
}

void simt_deciders_destroy(struct deciders *deciders) {
    free(deciders->is_executed);
    free(deciders->is_decider);
    free(deciders->marks);
}

bool simt_may_end_by_memory(const struct warp *warp, const struct path *path) {
    struct deciders deciders;
    bool may = !simt_deciders_create(&deciders, path->frame->function) ||
               simt_deciders_read_memory(&deciders, warp->block->launch->image->codes) || deciders.depends_on_clock || deciders.is_unknown;
    simt_deciders_destroy(&deciders);
    return may;
}
