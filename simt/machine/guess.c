/* A plain load that begins an update by a loop with atomicCAS(), as in NVIDIA's programming guide, races with what others
 * update; but where its value is compared by an atomicCAS() of the same element, and used for nothing else than what that would
 * store, it is a guess that the atomic verifies.  The value is followed to its uses on all ways from the load to that atomic and
 * behind it, through the instructions; nothing is executed here. */
#include <stdlib.h>

#include "deciders.h"
#include "machine.h"

/* What a register may hold.  Of a way: bits of all ways that meet. */
enum holds {
    OTHER = 1,         /* nothing of what was loaded */
    COPY = 2,          /* the value, as it was loaded, */
    DERIVED = 4,       /* or computed from it */
    RESULT = 8,        /* of the atomic that verifies */
    NOT_ADDRESS = 16,  /* another address than the load's register, or variable, has, */
    NOT_PLACE = 32,    /* or than the place itself, which lies behind that by a constant */
    NOWHERE = NOT_ADDRESS | NOT_PLACE,
    GUESSED = COPY | DERIVED
};

/* How far a way is since the load: the atomic that verifies has come, and another round of the loop after it. */
enum phase { LOADED, VERIFIED, ROUND_LATER, PHASES };

enum { STEPS_MAX = 1 << 16, STATES_NBYTES_MAX = 1 << 24 };

/* By the pc and the phase: the registers' bits, before the instruction. */
struct following {
    const struct code *codes;
    const struct function *function;
    const struct operand *address; /* of the load, */
    uint32_t load;                 /* which is there */
    unsigned char *states, *is_waiting, *now;
    uint32_t *list, count;
    bool is_used; /* for something else */
};

static unsigned char *state_of(const struct following *following, uint32_t node) {
    return following->states + (size_t)node * following->function->register_count;
}

static void go_on(struct following *following, uint32_t pc, enum phase phase) {
    if (pc < following->function->begin || pc >= following->function->end) return;
    const uint32_t node = (pc - following->function->begin) * PHASES + phase;
    unsigned char *state = state_of(following, node);
    bool has_changed = false;
    for (uint32_t r = 0; r < following->function->register_count; r++) {
        has_changed |= (state[r] | following->now[r]) != state[r];
        state[r] |= following->now[r];
    }
    if (!has_changed || following->is_waiting[node]) return;
    following->is_waiting[node] = 1;
    following->list[following->count++] = node;
}

static unsigned holds(const struct following *following, const struct operand *operand) {
    const bool has_register = operand->kind == OPERAND_REGISTER || (operand->kind == OPERAND_ADDRESS && operand->has_base_register);
    unsigned bits = has_register ? following->now[operand->index] : OTHER | NOWHERE;
    for (uint32_t e = 0; e < operand->element_count; e++) bits |= holds(following, &operand->elements[e]);
    return bits;
}

/* Behind a guard the register may keep what it held. */
static void put(struct following *following, const struct operand *operand, unsigned bits, bool is_guarded) {
    if (operand->kind == OPERAND_REGISTER)
        following->now[operand->index] = (unsigned char)(bits | (is_guarded ? following->now[operand->index] : 0));
    for (uint32_t e = 0; e < operand->element_count; e++) put(following, &operand->elements[e], bits, is_guarded);
}

static bool is_same_address(const struct following *following, const struct instruction *instruction) {
    const struct operand *one = following->address, *two = &instruction->operands[1];
    const struct instruction *load = following->codes[following->load].instruction;
    enum simt_space spaces[2] = {SIMT_GLOBAL, SIMT_GLOBAL};
    const bool is_same_space = simt_named_space(load, &spaces[0]) == simt_named_space(instruction, &spaces[1]) && spaces[0] == spaces[1];
    const unsigned held = two->has_base_register ? following->now[two->index] : NOWHERE;
    const bool is_there = two->has_base_register ? (!(held & NOT_ADDRESS) && two->bits == one->bits) || (!(held & NOT_PLACE) && two->bits == 0)
                                                 : !one->has_base_register && two->variable == one->variable && two->bits == one->bits;
    return is_same_space && two->kind == OPERAND_ADDRESS && is_there &&
           simt_type_nbytes(simt_last_type(load)) == simt_type_nbytes(simt_last_type(instruction));
}

/* atom.cas d, [a], compared, stored */
static bool verifies(const struct following *following, const struct code *code) {
    const struct instruction *instruction = code->instruction;
    return simt_is_base(instruction, "atom") && simt_has(instruction, "cas") && !code->has_guard && instruction->operand_count == 4 &&
           (holds(following, &instruction->operands[2]) & (OTHER | COPY | DERIVED | RESULT)) == COPY &&
           is_same_address(following, instruction);
}

/* `assumed != old`: whether the atomic has found what was loaded. */
static bool tells_of_success(const struct following *following, const struct instruction *instruction) {
    if (!simt_is_base(instruction, "setp") || instruction->operand_count != 3 ||
        !(simt_has(instruction, "ne") || simt_has(instruction, "eq")))
        return false;
    unsigned one = holds(following, &instruction->operands[1]), two = holds(following, &instruction->operands[2]);
    one &= ~(unsigned)NOWHERE;
    two &= ~(unsigned)NOWHERE;
    return (one == COPY && two == RESULT) || (one == RESULT && two == COPY);
}

/* add r, address, offset: the place of the load. */
static bool adds_offset(const struct following *following, const struct instruction *instruction) {
    const struct operand *address = following->address;
    if (!simt_is_base(instruction, "add") || instruction->operand_count != 3) return false;
    const struct operand *base = &instruction->operands[1], *offset = &instruction->operands[2];
    return base->kind == OPERAND_REGISTER && !(following->now[base->index] & NOT_ADDRESS) && offset->kind == OPERAND_IMMEDIATE &&
           offset->bits == address->bits;
}

static void compute(struct following *following, const struct code *code, unsigned read) {
    const struct instruction *instruction = code->instruction;
    const bool is_move = simt_is_base(instruction, "mov") && instruction->operand_count == 2 && !instruction->operands[0].element_count &&
                         !instruction->operands[1].element_count;
    const bool is_guess = read & GUESSED && !tells_of_success(following, instruction);
    following->is_used |= is_guess && (code->reads_carry || code->writes_carry);
    const struct operand *source = &instruction->operands[1], *address = following->address;
    const bool is_address = is_move && source->kind == OPERAND_ADDRESS && address->variable && source->variable == address->variable &&
                            !source->has_base_register;
    const unsigned of_variable = OTHER | (source->bits ? NOT_ADDRESS : 0) | (source->bits == address->bits ? 0 : NOT_PLACE);
    const unsigned computed = (is_guess ? DERIVED : OTHER) | (adds_offset(following, instruction) ? NOT_ADDRESS : NOWHERE);
    const unsigned bits = is_address ? of_variable : is_move ? holds(following, source) : computed;
    put(following, &instruction->operands[0], bits, code->has_guard);
}

/* Of an instruction that the way comes to; returns the phase behind it. */
static enum phase execute(struct following *following, const struct code *code, enum phase phase) {
    const struct instruction *instruction = code->instruction;
    const bool has_result = !simt_has_no_result(instruction) && instruction->operand_count;
    unsigned read = code->has_guard ? following->now[instruction->guard] & GUESSED : 0;
    following->is_used |= read;
    for (uint32_t o = has_result; o < instruction->operand_count; o++) read |= holds(following, &instruction->operands[o]);
    if (simt_is_arithmetic(code)) {
        compute(following, code, read);
        return phase;
    }
    const bool is_verifying = phase == LOADED && read & GUESSED && verifies(following, code);
    following->is_used |= read & GUESSED && !is_verifying;
    if (has_result) put(following, &instruction->operands[0], (is_verifying ? RESULT : OTHER) | NOWHERE, code->has_guard);
    if (is_verifying) return VERIFIED;
    return phase == VERIFIED && simt_is_base(instruction, "atom") ? ROUND_LATER : phase;
}

/* What the load gives: of what an earlier one gave nothing may be used any more. */
static void begin(struct following *following) {
    const struct instruction *load = following->codes[following->load].instruction;
    for (uint32_t r = 0; r < following->function->register_count; r++) {
        const unsigned old = following->now[r] & GUESSED ? DERIVED : OTHER;
        following->now[r] = (unsigned char)(old | (following->address->has_base_register ? NOWHERE : following->now[r] & NOWHERE));
    }
    if (following->address->has_base_register) following->now[following->address->index] = OTHER | (following->address->bits ? NOT_PLACE : 0);
    put(following, &load->operands[0], COPY | NOWHERE, false);
}

static void step(struct following *following, uint32_t node) {
    const uint32_t pc = following->function->begin + node / PHASES;
    const struct code *code = &following->codes[pc];
    enum phase phase = node % PHASES;
    following->is_waiting[node] = 0;
    for (uint32_t r = 0; r < following->function->register_count; r++) following->now[r] = state_of(following, node)[r];
    if (!code->instruction || simt_is_base(code->instruction, "brx")) {
        following->is_used = true;
        return;
    }
    if (pc == following->load) {
        begin(following);
        phase = LOADED;
    } else phase = execute(following, code, phase);
    static const char *const ends[] = {"ret", "exit", "trap", NULL};
    const bool ends_here = simt_is_one_of(code->instruction->base, ends) || code->is_branch;
    if (code->is_branch) go_on(following, code->target, phase);
    if (!ends_here || code->has_guard) go_on(following, pc + 1, phase);
}

static bool allocate(struct following *following) {
    const size_t nodes = PHASES * (size_t)(following->function->end - following->function->begin),
                 registers = following->function->register_count;
    if (nodes * registers > STATES_NBYTES_MAX) return false;
    following->states = calloc(nodes * registers + 1, 1);
    following->is_waiting = calloc(nodes, 1);
    following->now = calloc(registers + 1, 1);
    following->list = calloc(nodes, sizeof *following->list);
    return following->states && following->is_waiting && following->now && following->list;
}

/* A guess is the whole of one register; a load with a guard may leave there what was before. */
static bool is_whole(const struct code *code) {
    const struct instruction *load = code->instruction;
    return load && simt_is_base(load, "ld") && !code->has_guard && load->operand_count == 2 &&
           load->operands[0].kind == OPERAND_REGISTER && load->operands[1].kind == OPERAND_ADDRESS;
}

static const struct function *function_at(const struct simt_module *module, uint32_t pc) {
    for (uint32_t f = 0; f < module->function_count; f++)
        if (pc >= module->functions[f]->begin && pc < module->functions[f]->end) return module->functions[f];
    return NULL;
}

bool simt_is_guess(const simt_event *event, uint32_t load) {
    const struct launch *launch = event->block->machine;
    const struct code *codes = launch->image->codes;
    struct following following = {.codes = codes, .function = function_at(launch->image->module, load), .load = load};
    if (!following.function || !is_whole(&codes[load])) return false;
    following.address = &codes[load].instruction->operands[1];
    bool is_known = allocate(&following);
    if (is_known) {
        for (uint32_t r = 0; r < following.function->register_count; r++) following.now[r] = OTHER | NOWHERE;
        go_on(&following, following.address->has_base_register ? load : following.function->begin, LOADED);
    }
    for (uint32_t steps = 0; is_known && following.count && !following.is_used; steps++) {
        is_known = steps < STEPS_MAX;
        step(&following, following.list[--following.count]);
    }
    free(following.states);
    free(following.is_waiting);
    free(following.now);
    free(following.list);
    return is_known && !following.is_used;
}
