/* What a store makes of what its thread has read of the same element before, by the text of the kernel: which atomic would
 * do the same. */
#include <string.h>

#include "machine.h"

enum { REGISTERS_MAX = 1 << 8 }; /* that a value is traced through; of one that comes from more nothing is said */

/* A function's instructions. */
struct body {
    const struct code *codes;
    const struct function *function;
    const simt_event *event;
};

/* That of the instruction; false: it is in none. */
static bool body_of(const simt_event *event, uint32_t pc, struct body *body) {
    const struct launch *launch = event->block->machine;
    const struct simt_module *module = launch->image->module;
    *body = (struct body){.codes = launch->image->codes, .event = event};
    for (uint32_t f = 0; f < module->function_count && !body->function; f++)
        if (pc >= module->functions[f]->begin && pc < module->functions[f]->end) body->function = module->functions[f];
    return body->function != NULL;
}

/* Backwards from a register to the loads that it comes from. */
struct trace {
    const struct body *body;
    const struct operand *address;  /* of the store */
    const struct instruction *joint; /* that made the value of what was read, and maybe more; NULL: it is what was read */
    uint32_t load;                  /* at that address, or NO_PC, */
    uint32_t result;                /* its register */
    bool has_sibling;               /* and one of the same array elsewhere */
    uint32_t seen[REGISTERS_MAX], seen_count;
    bool is_lost;
};

static const struct instruction *instruction_at(const struct body *body, uint32_t pc) {
    return body->codes[pc].instruction;
}

static bool is_element(const struct operand *address) {
    return address->kind == OPERAND_ADDRESS && (address->has_base_register || address->variable);
}

static bool is_same_element(const struct operand *one, const struct operand *other) {
    return one->has_base_register == other->has_base_register && one->bits == other->bits && one->variable == other->variable &&
           (!one->has_base_register || one->index == other->index);
}

static bool has_register(const struct operand *operand, uint32_t index) {
    if (operand->kind == OPERAND_REGISTER) return operand->index == index;
    bool has = operand->kind == OPERAND_ADDRESS && operand->has_base_register && operand->index == index;
    for (uint32_t e = 0; e < operand->element_count; e++) has |= has_register(&operand->elements[e], index);
    return has;
}

/* The instructions of the kernel that may give the register its value, from pc on; the kernel's end: none. */
static uint32_t next_definition(const struct body *body, uint32_t index, uint32_t pc) {
    static const char *const without[] = {"st", "red", "bra", "brx", "call"};
    for (; pc < body->function->end; pc++) {
        const struct instruction *instruction = instruction_at(body, pc);
        if (!instruction || !instruction->operand_count || !has_register(&instruction->operands[0], index)) continue;
        bool is_result = true;
        for (size_t w = 0; w < sizeof without / sizeof *without; w++) is_result &= !simt_is_base(instruction, without[w]);
        if (is_result) return pc;
    }
    return pc;
}

static bool is_new(struct trace *trace, uint32_t index) {
    for (uint32_t i = 0; i < trace->seen_count; i++)
        if (trace->seen[i] == index) return false;
    if (trace->seen_count == REGISTERS_MAX) trace->is_lost = true;
    else trace->seen[trace->seen_count++] = index;
    return !trace->is_lost;
}

static bool is_move(const struct instruction *instruction) {
    return simt_is_base(instruction, "mov") || simt_is_base(instruction, "cvt") || simt_is_base(instruction, "cvta");
}

static void trace_register(struct trace *trace, uint32_t index, const struct instruction *joint);

static void trace_operand(struct trace *trace, const struct operand *operand, const struct instruction *joint) {
    if (operand->kind == OPERAND_REGISTER) trace_register(trace, operand->index, joint);
    for (uint32_t e = 0; e < operand->element_count; e++) trace_operand(trace, &operand->elements[e], joint);
}

/* The kernel's pointer from which the address was calculated; NULL: not known. */
static const struct variable *pointer_of(const struct body *body, const struct operand *operand, uint32_t depth) {
    enum { DEPTH_MAX = 16 };
    const bool has_base = operand->kind == OPERAND_REGISTER || (operand->kind == OPERAND_ADDRESS && operand->has_base_register);
    if (!has_base || depth == DEPTH_MAX) return operand->variable;
    const uint32_t pc = next_definition(body, operand->index, body->function->begin);
    const struct instruction *instruction = pc < body->function->end ? instruction_at(body, pc) : NULL;
    const struct variable *found = NULL;
    if (instruction && simt_is_base(instruction, "ld")) {
        const struct variable *variable = instruction->operands[1].variable;
        return variable && variable->is_parameter && variable->nbytes == sizeof(uint64_t) ? variable : NULL;
    }
    for (uint32_t o = 1; instruction && o < instruction->operand_count && !found; o++)
        found = pointer_of(body, &instruction->operands[o], depth + 1);
    return found;
}

static bool is_same_array(const struct body *body, const struct operand *one, const struct operand *other) {
    if (one->array || other->array) return one->array == other->array;
    const struct variable *pointer = pointer_of(body, one, 0);
    return pointer && pointer == pointer_of(body, other, 0);
}

static void trace_load(struct trace *trace, uint32_t pc, uint32_t index, const struct instruction *joint) {
    const struct operand *address = &instruction_at(trace->body, pc)->operands[1];
    if (is_element(address) && is_same_element(address, trace->address)) {
        trace->load = pc;
        trace->result = index;
        trace->joint = joint;
    } else trace->has_sibling |= is_element(address) && is_same_array(trace->body, address, trace->address);
}

static void trace_register(struct trace *trace, uint32_t index, const struct instruction *joint) {
    const struct body *body = trace->body;
    if (!is_new(trace, index)) return;
    for (uint32_t pc = body->function->begin; (pc = next_definition(body, index, pc)) < body->function->end; pc++) {
        const struct instruction *instruction = instruction_at(body, pc);
        if (simt_is_base(instruction, "ld")) trace_load(trace, pc, index, joint);
        else
            for (uint32_t o = 1; o < instruction->operand_count && !simt_is_base(instruction, "atom"); o++)
                trace_operand(trace, &instruction->operands[o], joint || is_move(instruction) ? joint : instruction);
    }
}

/* ---- a load ahead of a loop whose rounds add to what it read: for (...) *sum += x */

static bool comes_from(struct trace *trace, uint32_t index, uint32_t source);

static bool is_made_of(struct trace *trace, const struct instruction *instruction, uint32_t source) {
    const bool is_read = simt_is_base(instruction, "ld") || simt_is_base(instruction, "atom");
    for (uint32_t o = 1; o < instruction->operand_count && !is_read; o++)
        if (instruction->operands[o].kind == OPERAND_REGISTER && comes_from(trace, instruction->operands[o].index, source)) return true;
    return false;
}

static bool comes_from(struct trace *trace, uint32_t index, uint32_t source) {
    const struct body *body = trace->body;
    if (index == source || !is_new(trace, index)) return index == source;
    for (uint32_t pc = body->function->begin; (pc = next_definition(body, index, pc)) < body->function->end; pc++)
        if (is_made_of(trace, instruction_at(body, pc), source)) return true;
    return false;
}

/* What makes the register's next value of the one before; NULL: nothing does. */
static const struct instruction *accumulation_of(const struct body *body, uint32_t index) {
    for (uint32_t pc = body->function->begin; (pc = next_definition(body, index, pc)) < body->function->end; pc++) {
        struct trace trace = {.body = body};
        const struct instruction *instruction = instruction_at(body, pc);
        if (!is_move(instruction) && is_made_of(&trace, instruction, index)) return instruction;
    }
    return NULL;
}

/* ---- which line fills an array of shared memory */

/* Whether the instruction is of that kind and accesses the array, or may.  NULL: the one that the launch gives its size. */
static bool accesses(const struct body *body, uint32_t pc, const char *base, const struct variable *array) {
    const struct instruction *instruction = instruction_at(body, pc);
    if (!instruction || !simt_is_base(instruction, base)) return false;
    const struct memory_code *memory = &body->codes[pc].memory;
    const bool may_be_shared = memory->is_generic || memory->space == SIMT_SHARED;
    return memory->array ? memory->array == array : may_be_shared;
}

static bool is_read(const struct instruction *instruction) {
    return instruction && (simt_is_base(instruction, "ld") || simt_is_base(instruction, "atom") || simt_is_base(instruction, "red"));
}

/* Whether the line of the store reads the array, too, as a step of a tree does. */
static bool is_read_at(const struct body *body, uint32_t store, const struct variable *array) {
    const simt_place *places = body->event->block->launch->places;
    for (uint32_t pc = body->function->begin; pc < body->function->end; pc++)
        if (places[pc].line == places[store].line && accesses(body, pc, "ld", array)) return true;
    return false;
}

bool simt_is_never_stored(const simt_event *event, uint32_t *line) {
    struct body body;
    const simt_place *places = event->block->launch->places;
    bool is_updated = false, is_stored = false, is_several = false;
    *line = 0;
    if (!body_of(event, event->pc, &body) || !is_read(instruction_at(&body, event->pc))) return false;
    const struct variable *array = body.codes[event->pc].memory.array;
    for (uint32_t pc = body.function->begin; pc < body.function->end; pc++) {
        is_updated |= accesses(&body, pc, "atom", array) || accesses(&body, pc, "red", array);
        if (!accesses(&body, pc, "st", array)) continue;
        is_stored = true;
        if (is_read_at(&body, pc, array)) continue;
        is_several |= body.codes[pc].memory.is_generic || (*line && *line != places[pc].line);
        *line = places[pc].line;
    }
    if (is_several) *line = 0;
    return is_updated && !is_stored;
}

/* ---- a store under a condition: if (x > *best) *best = x */

struct condition {
    const struct instruction *compare; /* NULL: none that compares what was read with what is stored */
    bool is_negated;
};

/* Where the branch leads around the store, it is executed only if the branch is not taken; if it leads to it, only if it is, where a
 * jump behind the branch leads around it. */
static bool leads_around(const struct body *body, uint32_t branch, uint32_t store, bool *is_taken) {
    const struct code *code = &body->codes[branch], *next = code + 1;
    *is_taken = code->target > branch && code->target <= store;
    if (!*is_taken) return code->target > store;
    return next->instruction && next->is_branch && !next->has_guard && next->target > store;
}

/* Whether the store is executed only where the predicate has one value: which. */
static bool is_guarded_by(const struct body *body, uint32_t store, uint32_t predicate, bool *is_negated) {
    const struct instruction *instruction = instruction_at(body, store);
    *is_negated = instruction->guard_is_negated;
    if (instruction->guard == (int32_t)predicate) return true;
    for (uint32_t pc = body->function->begin; pc < store; pc++) {
        const struct code *code = &body->codes[pc];
        bool is_taken;
        if (!code->instruction || !code->is_branch || code->instruction->guard != (int32_t)predicate) continue;
        if (!leads_around(body, pc, store, &is_taken)) continue;
        *is_negated = code->instruction->guard_is_negated == is_taken;
        return true;
    }
    return false;
}

static uint32_t load_of(const struct body *body, const struct operand *operand, const struct operand *address) {
    struct trace trace = {.body = body, .address = address, .load = NO_PC};
    trace_operand(&trace, operand, NULL);
    return trace.is_lost ? NO_PC : trace.load;
}

/* The register of which this one is but a copy, as the bits of a float are; itself, if it is none. */
static uint32_t origin_of(const struct body *body, uint32_t index) {
    enum { MOVES_MAX = 4 };
    for (uint32_t moves = 0; moves < MOVES_MAX; moves++) {
        const uint32_t pc = next_definition(body, index, body->function->begin);
        const struct instruction *move = pc < body->function->end ? instruction_at(body, pc) : NULL;
        const bool is_copy = move && simt_is_base(move, "mov") && move->operands[1].kind == OPERAND_REGISTER;
        if (!is_copy || next_definition(body, index, pc + 1) < body->function->end) break;
        index = move->operands[1].index;
    }
    return index;
}

/* Whether the operand is the register, or has it as an element, or a copy of it or of what it copies. */
static bool has_copy(const struct body *body, const struct operand *operand, uint32_t index) {
    if (operand->kind == OPERAND_REGISTER) return origin_of(body, operand->index) == origin_of(body, index);
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (has_copy(body, &operand->elements[e], index)) return true;
    return false;
}

/* The comparison at pc, if its result decides about the store; else NULL. */
static const struct instruction *compare_for(const struct body *body, uint32_t pc, uint32_t store, bool *is_negated) {
    const struct instruction *compare = instruction_at(body, pc);
    const bool is_compare = compare && simt_is_base(compare, "setp") && compare->operands[0].kind == OPERAND_REGISTER;
    return is_compare && is_guarded_by(body, store, compare->operands[0].index, is_negated) ? compare : NULL;
}

/* Fills in the load that the condition compares; the store's value is the other side. */
static struct condition condition_of(const struct body *body, uint32_t store, uint32_t *load) {
    const struct operand *operands = instruction_at(body, store)->operands;
    struct condition condition = {NULL, false};
    for (uint32_t pc = body->function->begin; pc < store && !condition.compare; pc++) {
        bool is_negated;
        const struct instruction *compare = compare_for(body, pc, store, &is_negated);
        if (!compare) continue;
        for (uint32_t side = 1; side <= 2; side++) {
            const struct operand *other = &compare->operands[3 - side];
            const uint32_t read = load_of(body, &compare->operands[side], &operands[0]);
            const bool is_stored = other->kind == OPERAND_REGISTER && has_copy(body, &operands[1], other->index);
            if (read == NO_PC || !is_stored) continue;
            *load = read;
            condition = (struct condition){compare, is_negated != (side == 1)};
        }
    }
    return condition;
}

/* ---- the atomic */

static bool is_float(const struct instruction *instruction) {
    return simt_has(instruction, "f32") || simt_has(instruction, "f64") || simt_has(instruction, "f16");
}

#define SUCH_AS "atomic operation such as "
#define A_LOOP SUCH_AS "a loop with atomicCAS()"

static const char *greatest(bool is_least, bool is_of_float, bool is_beside_other) {
    if (is_beside_other) return is_least ? SUCH_AS "atomicMin() of value and index in one word of 64 bits"
                                         : SUCH_AS "atomicMax() of value and index in one word of 64 bits";
    if (is_of_float) return is_least ? A_LOOP " (atomicMin() takes no float)" : A_LOOP " (atomicMax() takes no float)";
    return is_least ? SUCH_AS "atomicMin()" : SUCH_AS "atomicMax()";
}

static const char *atomic_of_joint(const struct instruction *joint) {
    static const struct {
        const char *base, *of_integers, *of_floats;
    } atomics[] = {{"add", SUCH_AS "atomicAdd()", SUCH_AS "atomicAdd()"},
                   {"fma", SUCH_AS "atomicAdd()", SUCH_AS "atomicAdd()"},
                   {"mad", SUCH_AS "atomicAdd()", SUCH_AS "atomicAdd()"},
                   {"sub", SUCH_AS "atomicSub()", SUCH_AS "atomicAdd() of the negative"},
                   {"and", SUCH_AS "atomicAnd()", A_LOOP},
                   {"or", SUCH_AS "atomicOr()", A_LOOP},
                   {"xor", SUCH_AS "atomicXor()", A_LOOP}};
    for (size_t a = 0; a < sizeof atomics / sizeof *atomics; a++)
        if (simt_is_base(joint, atomics[a].base)) return is_float(joint) ? atomics[a].of_floats : atomics[a].of_integers;
    const bool is_max = simt_is_base(joint, "max");
    return is_max || simt_is_base(joint, "min") ? greatest(!is_max, is_float(joint), false) : A_LOOP;
}

/* Whether under the same condition another element is stored, too, as an index beside a value. */
static bool is_beside_other(const struct body *body, uint32_t store, const struct condition *condition) {
    const uint32_t predicate = condition->compare->operands[0].index;
    const struct operand *address = &instruction_at(body, store)->operands[0];
    for (uint32_t pc = store > 8 ? store - 8 : 0; pc < store + 8 && pc < body->function->end; pc++) {
        const struct instruction *instruction = instruction_at(body, pc);
        bool is_negated;
        if (pc == store || !instruction || !simt_is_base(instruction, "st") || is_same_element(&instruction->operands[0], address)) continue;
        if (is_guarded_by(body, pc, predicate, &is_negated)) return true;
    }
    return false;
}

static const char *atomic_of_condition(const struct body *body, uint32_t store, const struct condition *condition) {
    static const char *const greater[] = {"gt", "ge", "gtu", "geu", "hi", "hs"}, *const less[] = {"lt", "le", "ltu", "leu", "lo", "ls"};
    int sense = 0; /* of what is stored beside what was read */
    for (size_t i = 0; i < sizeof greater / sizeof *greater; i++)
        sense += (int)simt_has(condition->compare, greater[i]) - (int)simt_has(condition->compare, less[i]);
    if (!sense) return NULL;
    return greatest((sense < 0) != condition->is_negated, is_float(condition->compare), is_beside_other(body, store, condition));
}

/* The address of that load or store; NULL: it is none. */
static const struct operand *address_of(const struct body *body, uint32_t pc, const char *base) {
    const struct instruction *instruction = instruction_at(body, pc);
    if (!instruction || !simt_is_base(instruction, base)) return NULL;
    const struct operand *address = &instruction->operands[simt_is_base(instruction, "ld")];
    return is_element(address) ? address : NULL;
}

static simt_update update_of(const struct body *body, uint32_t store) {
    simt_update update = {.load = NO_PC};
    struct trace trace = {.body = body, .address = address_of(body, store, "st"), .load = NO_PC};
    if (!trace.address) return update;
    trace_operand(&trace, &instruction_at(body, store)->operands[1], NULL);
    if (trace.is_lost) return update;
    if (trace.load != NO_PC) {
        if (!trace.joint) trace.joint = accumulation_of(body, trace.result);
        if (trace.joint) update = (simt_update){trace.load, atomic_of_joint(trace.joint), trace.has_sibling};
        return update;
    }
    uint32_t load = NO_PC;
    const struct condition condition = condition_of(body, store, &load);
    const char *how = condition.compare ? atomic_of_condition(body, store, &condition) : NULL;
    if (how) update = (simt_update){load, how, trace.has_sibling};
    return update;
}

/* ---- a store where nobody seems to have stored yet: if (!seen[i]) seen[i] = 1 */

/* Whether the two, without a barrier between them, are of one line or of neighbouring ones, and nothing else of the array is read there. */
static bool is_claim(const struct body *body, uint32_t load, uint32_t store) {
    enum { LINES_APART = 2 };
    const simt_place *places = body->event->block->launch->places, *read = &places[load], *written = &places[store];
    if (!read->line || strcmp(read->file, written->file) || read->line > written->line || written->line - read->line > LINES_APART) return false;
    for (uint32_t pc = body->function->begin; pc < body->function->end; pc++) {
        const struct operand *other = address_of(body, pc, "ld"), *own = address_of(body, store, "st");
        const bool is_here = places[pc].line >= read->line && places[pc].line <= written->line;
        if (other && is_here && !is_same_element(other, own) && is_same_array(body, other, own)) return false;
    }
    return simt_may_follow(body->event, load, store, false);
}

/* How many instructions use the register. */
static uint32_t uses_of(const struct body *body, uint32_t index) {
    uint32_t uses = 0;
    for (uint32_t pc = body->function->begin; pc < body->function->end; pc++) {
        const struct instruction *instruction = instruction_at(body, pc);
        bool is_used = instruction && instruction->guard == (int32_t)index;
        const bool has_result = instruction && !simt_is_base(instruction, "st") && !simt_is_base(instruction, "red");
        for (uint32_t o = has_result; instruction && o < instruction->operand_count; o++)
            is_used |= has_register(&instruction->operands[o], index);
        uses += is_used;
    }
    return uses;
}

static bool is_number(const struct body *body, const struct operand *operand) {
    while (operand->kind == OPERAND_VECTOR && operand->element_count == 1) operand = &operand->elements[0];
    if (operand->kind != OPERAND_REGISTER) return operand->kind == OPERAND_IMMEDIATE;
    const uint32_t pc = next_definition(body, operand->index, body->function->begin);
    return pc < body->function->end && simt_is_base(instruction_at(body, pc), "mov") &&
           instruction_at(body, pc)->operands[1].kind == OPERAND_IMMEDIATE &&
           next_definition(body, operand->index, pc + 1) == body->function->end;
}

/* Whether the store is all that the condition is for, and stores one number: then it does not matter who was first. */
static bool is_alone(const struct body *body, uint32_t load, uint32_t store, const struct instruction *compare) {
    const struct instruction *instruction = instruction_at(body, store);
    const uint32_t predicate = compare->operands[0].index;
    if (!is_number(body, &instruction->operands[1]) || uses_of(body, predicate) != 1) return false;
    if (instruction_at(body, load)->operands[0].kind != OPERAND_REGISTER || uses_of(body, instruction_at(body, load)->operands[0].index) != 1)
        return false;
    if (instruction->guard == (int32_t)predicate) return true;
    uint32_t pc = store;
    while (pc > body->function->begin && instruction_at(body, pc) && instruction_at(body, pc)->guard != (int32_t)predicate) pc--;
    const uint32_t end = body->codes[pc].target;
    for (uint32_t at = pc + 1; at < end && at < body->function->end; at++) {
        const struct instruction *other = instruction_at(body, at);
        if (at != store && other && !simt_is_base(other, "mov") && !simt_is_base(other, "bra")) return false;
    }
    return true;
}

static simt_update claim_of(const struct body *body, uint32_t store) {
    const struct operand *operands = instruction_at(body, store)->operands;
    for (uint32_t pc = body->function->begin; pc < store; pc++) {
        bool is_negated;
        const struct instruction *compare = compare_for(body, pc, store, &is_negated);
        if (!compare) continue;
        for (uint32_t side = 1; side <= 2; side++) {
            const uint32_t load = load_of(body, &compare->operands[side], &operands[0]);
            if (load == NO_PC || !is_claim(body, load, store)) continue;
            const bool is_any = is_alone(body, load, store, compare);
            return (simt_update){load, is_any ? SUCH_AS "atomicExch() (or leave the test out: all store the same value)"
                                              : SUCH_AS "atomicCAS(), which tells who is first,", false};
        }
    }
    return (simt_update){.load = NO_PC};
}

simt_update simt_update_of(const simt_event *event, uint32_t store) {
    struct body body;
    if (!body_of(event, store, &body)) return (simt_update){.load = NO_PC};
    const simt_update update = update_of(&body, store);
    return update.missing || !address_of(&body, store, "st") ? update : claim_of(&body, store);
}

/* ---- what follows from an update: where another store goes, or whether */

/* Whether the instruction is an atomic on that element. */
static bool is_atomic_on(const struct body *body, uint32_t pc, const struct operand *element) {
    const struct instruction *instruction = instruction_at(body, pc);
    if (!instruction || !(simt_is_base(instruction, "atom") || simt_is_base(instruction, "red"))) return false;
    return is_same_element(&instruction->operands[simt_is_base(instruction, "atom")], element);
}

/* The store, or the atomic behind it, by which what is read there is updated; NO_PC: there is none. */
static uint32_t updating_store(const struct body *body, uint32_t load) {
    const struct operand *read = address_of(body, load, "ld");
    for (uint32_t pc = body->function->begin; read && pc < body->function->end; pc++) {
        if (pc > load && is_atomic_on(body, pc, read)) return pc;
        const struct operand *written = address_of(body, pc, "st");
        if (!written || !is_same_element(read, written)) continue;
        const simt_update update = update_of(body, pc);
        if (update.missing && update.load == load) return pc;
    }
    return NO_PC;
}

/* The first of the updates from whose reads the register comes. */
static uint32_t cause_of(struct trace *trace, uint32_t index) {
    const struct body *body = trace->body;
    uint32_t cause = NO_PC;
    if (!is_new(trace, index)) return cause;
    for (uint32_t pc = body->function->begin; cause == NO_PC; pc++) {
        pc = next_definition(body, index, pc);
        if (pc >= body->function->end) break;
        const struct instruction *instruction = instruction_at(body, pc);
        const bool is_read = simt_is_base(instruction, "ld");
        if (is_read) cause = updating_store(body, pc);
        for (uint32_t o = 1; o < instruction->operand_count && cause == NO_PC && !is_read; o++)
            if (instruction->operands[o].kind == OPERAND_REGISTER) cause = cause_of(trace, instruction->operands[o].index);
    }
    return cause;
}

uint32_t simt_update_before(const simt_event *event, uint32_t store) {
    struct body body;
    const struct operand *address = body_of(event, store, &body) ? address_of(&body, store, "st") : NULL;
    if (!address) return NO_PC;
    struct trace trace = {.body = &body, .address = address};
    uint32_t cause = address->has_base_register ? cause_of(&trace, address->index) : NO_PC;
    for (uint32_t pc = body.function->begin; pc < store && cause == NO_PC; pc++) {
        const struct instruction *compare = instruction_at(&body, pc);
        bool is_negated;
        if (compare && simt_is_base(compare, "setp") && compare->operands[0].kind == OPERAND_REGISTER &&
            is_guarded_by(&body, store, compare->operands[0].index, &is_negated))
            cause = cause_of(&trace, compare->operands[0].index);
    }
    return cause == store ? NO_PC : cause;
}

/* ---- a loop that waits */

/* Whether each round loads from where the round before did: a loop that goes through an array waits for nobody. */
static bool keeps_addresses(const struct body *body, uint32_t begin, uint32_t end) {
    for (uint32_t pc = begin; pc < end; pc++) {
        const struct instruction *instruction = instruction_at(body, pc);
        if (!instruction || !simt_is_base(instruction, "ld") || instruction->operand_count < 2) continue;
        const struct operand *address = &instruction->operands[1];
        if (address->has_base_register && next_definition(body, address->index, begin) < end) return false;
    }
    return true;
}

/* Whether nothing but the load's own loop is executed from there on, if the branch is not left. */
static bool goes_round(const struct body *body, uint32_t begin, uint32_t load, uint32_t branch) {
    static const char *const others[] = {"ld", "st", "atom", "red", "bar", "barrier", "call", "ret", "exit"};
    enum { STEPS_MAX = 64 };
    uint32_t pc = begin, first = load;
    for (uint32_t step = 0; step < STEPS_MAX && pc < body->function->end; step++) {
        const struct code *code = &body->codes[pc];
        if (pc < first) first = pc;
        if (pc == load || pc == branch || (step && pc == begin)) return keeps_addresses(body, first, branch);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (!code->instruction || simt_is_base(code->instruction, others[i])) return false;
        pc = code->is_branch && (!code->has_guard || code->target <= pc) ? code->target : pc + 1;
    }
    return false;
}

uint32_t simt_awaiting_branch(const simt_event *event, uint32_t load) {
    struct body body;
    const struct operand *address = body_of(event, load, &body) ? address_of(&body, load, "ld") : NULL;
    for (uint32_t pc = load; address && pc < body.function->end; pc++) {
        const struct code *code = &body.codes[pc];
        if (!code->instruction || !code->is_branch || code->instruction->guard < 0) continue;
        struct trace trace = {.body = &body, .address = address, .load = NO_PC};
        trace_register(&trace, (uint32_t)code->instruction->guard, NULL);
        if (trace.load != load || trace.is_lost) continue;
        if (goes_round(&body, code->target, load, pc) || goes_round(&body, pc + 1, load, pc)) return pc;
    }
    return NO_PC;
}

/* ---- an exchange: of two elements each gets what the other had, or the smaller and the larger of the two */

static bool is_choice(const struct instruction *joint) {
    return !joint || simt_is_base(joint, "min") || simt_is_base(joint, "max") || simt_is_base(joint, "selp");
}

/* Whether what the store stores is what was loaded from the element. */
static bool stores_what_is_in(const struct body *body, uint32_t store, const struct operand *element) {
    struct trace trace = {.body = body, .address = element, .load = NO_PC};
    trace_operand(&trace, &instruction_at(body, store)->operands[1], NULL);
    return !trace.is_lost && trace.load != NO_PC && is_choice(trace.joint);
}

static bool is_exchange(const struct body *body, uint32_t first, uint32_t second) {
    const struct operand *one = address_of(body, first, "st"), *other = address_of(body, second, "st");
    return one && other && !is_same_element(one, other) && stores_what_is_in(body, first, other) && stores_what_is_in(body, second, one);
}

/* Whether the access is one of the stores, or a load of one of the elements in front of both and not behind them. */
static bool is_of_exchange(const struct body *body, uint32_t pc, uint32_t first, uint32_t second) {
    const struct operand *read = address_of(body, pc, "ld");
    if (pc == first || pc == second) return true;
    return read && pc < first && !simt_may_follow(body->event, second, pc, false) &&
           (is_same_element(read, address_of(body, first, "st")) || is_same_element(read, address_of(body, second, "st")));
}

uint32_t simt_exchange_of(const simt_event *event, uint32_t pc, uint32_t other_pc, uint32_t *second) {
    enum { APART_MAX = 64 };
    struct body body;
    if (!body_of(event, pc, &body)) return NO_PC;
    for (uint32_t first = body.function->begin; first < body.function->end; first++)
        for (*second = first + 1; *second < body.function->end && *second < first + APART_MAX && address_of(&body, first, "st"); ++*second)
            if (address_of(&body, *second, "st") && is_of_exchange(&body, pc, first, *second) &&
                is_of_exchange(&body, other_pc, first, *second) && is_exchange(&body, first, *second))
                return first;
    return NO_PC;
}
