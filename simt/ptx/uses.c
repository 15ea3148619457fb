/* What a kernel does with the memory that its parameters point to. */
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

enum { POINTER_NBYTES = 8, PARAMETERS_MAX = 64 };

/* By register: a bit for each parameter from which its value was calculated, and from whose elements it was, or from those
 * one behind the elements that a thread computes the address of; whether it was calculated from an index and 1. */
struct tracing {
    const struct function *function;
    struct origins {
        uint64_t pointers, elements, next_elements;
        bool is_of_next;
        uint8_t definitions; /* up to 2 */
    } *registers;
    bool has_changed;
};


static bool is_wide(const struct function *function, uint32_t index) {
    return simt_type_nbytes(function->registers[index].type) == POINTER_NBYTES;
}

/* Of a parameter that a load names. */
static uint64_t bit_of(const struct function *function, const struct operand *address) {
    for (uint32_t p = 0; p < function->parameter_count && p < PARAMETERS_MAX; p++)
        if (address->variable == function->parameters[p] && !address->bits && address->variable->nbytes == POINTER_NBYTES) return UINT64_C(1) << p;
    return 0;
}

static struct origins origins_of(const struct tracing *tracing, const struct operand *operand) {
    if (operand->kind == OPERAND_VECTOR) {
        struct origins all = {0};
        for (uint32_t i = 0; i < operand->element_count; i++) {
            const struct origins of = origins_of(tracing, &operand->elements[i]);
            all.pointers |= of.pointers;
            all.elements |= of.elements;
            all.next_elements |= of.next_elements;
        }
        return all;
    }
    const bool is_register = operand->kind == OPERAND_REGISTER;
    const bool has_register = is_register || (operand->kind == OPERAND_ADDRESS && operand->has_base_register);
    if (!has_register || operand->index >= tracing->function->register_count) return (struct origins){0};
    return tracing->registers[operand->index];
}

/* Of an access the operand that is its address; operand_count: it is none. */
static uint32_t address_place(const struct instruction *instruction) {
    const bool is_load = simt_is_base(instruction, "ld") || simt_is_base(instruction, "ldu"), is_atomic = simt_is_base(instruction, "atom");
    if (is_load || is_atomic) return 1;
    return simt_is_base(instruction, "st") || simt_is_base(instruction, "red") ? 0 : instruction->operand_count;
}

/* Of a register that is no counter of a loop. */
static bool has_one_definition(const struct tracing *tracing, const struct operand *operand) {
    return operand->kind == OPERAND_REGISTER && operand->index < tracing->function->register_count &&
           tracing->registers[operand->index].definitions == 1;
}

/* `row + 1`, and what is calculated from it alone, or from it and a pointer. */
static bool makes_next(const struct tracing *tracing, const struct instruction *instruction) {
    static const char *const passing[] = {"mov", "cvt", "cvta", "mul", "shl", "add", "mad"};
    if (instruction->operand_count < 2 || !has_one_definition(tracing, &instruction->operands[0])) return false;
    const struct operand *added = &instruction->operands[instruction->operand_count - 1];
    if (simt_is_base(instruction, "add") && added->kind == OPERAND_IMMEDIATE && added->bits == 1)
        return has_one_definition(tracing, &instruction->operands[1]);
    bool is_passed = false;
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) is_passed |= simt_is_base(instruction, passing[i]);
    for (uint32_t i = 1; i < instruction->operand_count && is_passed; i++)
        if (origins_of(tracing, &instruction->operands[i]).is_of_next) return true;
    return false;
}

/* `begin[row + 1]` beside `begin[row]`: the address of the one is the other's, an element further, or calculated from row + 1. */
static bool is_next(const struct tracing *tracing, const struct instruction *instruction, uint32_t address) {
    const uint64_t offset = instruction->operands[address].bits;
    return (offset && offset == simt_type_nbytes(simt_last_type(instruction))) ||
           origins_of(tracing, &instruction->operands[address]).is_of_next;
}

/* What an instruction makes its result of.  What an atomic returns is no element that was there before. */
static struct origins origins_of_result(const struct tracing *tracing, const struct instruction *instruction) {
    struct origins origins = {0};
    if (simt_is_base(instruction, "atom")) return origins;
    const uint32_t address = address_place(instruction);
    for (uint32_t i = 1; i < instruction->operand_count; i++) {
        const struct origins of = origins_of(tracing, &instruction->operands[i]);
        if (address < instruction->operand_count) origins.pointers |= bit_of(tracing->function, &instruction->operands[i]);
        else origins.pointers |= of.pointers;
        if (address == instruction->operand_count) {
            origins.elements |= of.elements;
            origins.next_elements |= of.next_elements;
        } else if (is_next(tracing, instruction, address)) origins.next_elements |= of.pointers;
        else origins.elements |= of.pointers;
    }
    origins.is_of_next = address == instruction->operand_count && makes_next(tracing, instruction);
    return origins;
}

static void add_origins(struct tracing *tracing, const struct operand *result, struct origins origins) {
    if (result->kind == OPERAND_VECTOR) {
        for (uint32_t i = 0; i < result->element_count; i++) add_origins(tracing, &result->elements[i], origins);
        return;
    }
    if (result->kind != OPERAND_REGISTER || tracing->function->registers[result->index].type == TYPE_PRED) return;
    struct origins *known = &tracing->registers[result->index];
    if (!is_wide(tracing->function, result->index)) origins.pointers = 0;
    tracing->has_changed |= origins.pointers & ~known->pointers || origins.elements & ~known->elements ||
                            origins.next_elements & ~known->next_elements || origins.is_of_next > known->is_of_next;
    known->is_of_next |= origins.is_of_next;
    known->pointers |= origins.pointers;
    known->elements |= origins.elements;
    known->next_elements |= origins.next_elements;
}

static void trace(struct tracing *tracing, const struct instruction *instruction) {
    if (instruction->operand_count) add_origins(tracing, &instruction->operands[0], origins_of_result(tracing, instruction));
}

/* Of a parameter's elements: are those that are loaded first, and those one behind them, indices; are there such behind; are they
 * indices of themselves? */
struct indices {
    bool are_first, are_next, has_next, are_links;
};

static void note(const struct tracing *tracing, const struct instruction *instruction, uint32_t parameter, simt_parameter_use *use,
                 struct indices *indices) {
    const bool is_load = simt_is_base(instruction, "ld") || simt_is_base(instruction, "ldu"), is_store = simt_is_base(instruction, "st");
    const bool is_atomic = simt_is_base(instruction, "atom"), is_reduction = simt_is_base(instruction, "red");
    const uint32_t place = address_place(instruction);
    if (place >= instruction->operand_count) return;
    const struct origins address = origins_of(tracing, &instruction->operands[place]);
    const bool is_first = address.elements >> parameter & 1, is_second = address.next_elements >> parameter & 1;
    indices->are_first |= is_first;
    indices->are_next |= is_second;
    use->is_index |= is_first || is_second;
    indices->are_links |= is_load && is_first && address.pointers >> parameter & 1;
    if (!(address.pointers >> parameter & 1)) return;
    const enum type type = simt_last_type(instruction);
    const uint32_t nbytes = simt_type_nbytes(type);
    use->is_loaded |= is_load;
    indices->has_next |= is_load && is_next(tracing, instruction, place);
    use->is_stored |= is_store;
    use->is_updated |= is_atomic || is_reduction;
    use->is_float |= type == TYPE_F32 || type == TYPE_F64;
    if (nbytes && (!use->element_nbytes || nbytes < use->element_nbytes)) use->element_nbytes = nbytes;
}

static void count_definitions(struct tracing *tracing, const struct instruction *instruction) {
    const struct operand *result = &instruction->operands[0];
    if (!instruction->operand_count || address_place(instruction) == 0) return;
    if (result->kind != OPERAND_REGISTER || result->index >= tracing->function->register_count) return;
    uint8_t *definitions = &tracing->registers[result->index].definitions;
    *definitions += *definitions < 2;
}

/* `at != -1`, `at >= 0`, `at`: where a list of links ends. */
static void note_end(const struct tracing *tracing, const struct instruction *instruction, uint32_t parameter,
                     simt_parameter_links *links) {
    if (!simt_is_base(instruction, "setp") || instruction->operand_count < 3) return;
    const struct operand *left = &instruction->operands[1], *right = &instruction->operands[2];
    if (right->kind != OPERAND_IMMEDIATE || !(origins_of(tracing, left).elements >> parameter & 1)) return;
    const bool is_equality = simt_has(instruction, "eq") || simt_has(instruction, "ne");
    const int64_t number = simt_type_nbytes(simt_last_type(instruction)) == 4 ? (int32_t)right->bits : (int64_t)right->bits;
    links->has_end = true;
    links->end = is_equality ? number : -1;
}

/* false: no memory. */
static bool trace_all(struct tracing *tracing, const struct simt_module *module, const struct function *function) {
    *tracing = (struct tracing){.function = function, .has_changed = true};
    tracing->registers = calloc(function->register_count + 1u, sizeof *tracing->registers);
    for (uint32_t pc = function->begin; tracing->registers && pc < function->end; pc++) count_definitions(tracing, &module->instructions[pc]);
    while (tracing->registers && tracing->has_changed) {
        tracing->has_changed = false;
        for (uint32_t pc = function->begin; pc < function->end; pc++) trace(tracing, &module->instructions[pc]);
    }
    return tracing->registers != NULL;
}

static void note_all(const struct tracing *tracing, const struct simt_module *module, uint32_t parameter, simt_parameter_use *use,
                     struct indices *indices) {
    *use = (simt_parameter_use){0};
    *indices = (struct indices){0};
    for (uint32_t pc = tracing->function->begin; pc < tracing->function->end; pc++)
        note(tracing, &module->instructions[pc], parameter, use, indices);
}

bool simt_module_parameter_use(const simt_module *module, size_t kernel, size_t parameter, simt_parameter_use *use) {
    struct tracing tracing;
    struct indices indices;
    *use = (simt_parameter_use){0};
    if (parameter >= PARAMETERS_MAX) return true;
    if (!trace_all(&tracing, module, module->kernels[kernel])) return false;
    note_all(&tracing, module, (uint32_t)parameter, use, &indices);
    use->are_offsets = indices.are_first && indices.has_next && !indices.are_next;
    free(tracing.registers);
    return true;
}

bool simt_module_parameter_links(const simt_module *module, size_t kernel, size_t parameter, simt_parameter_links *links) {
    struct tracing tracing;
    struct indices indices;
    simt_parameter_use use;
    *links = (simt_parameter_links){0};
    if (parameter >= PARAMETERS_MAX) return true;
    if (!trace_all(&tracing, module, module->kernels[kernel])) return false;
    note_all(&tracing, module, (uint32_t)parameter, &use, &indices);
    links->are_links = indices.are_links;
    for (uint32_t pc = tracing.function->begin; links->are_links && pc < tracing.function->end; pc++)
        note_end(&tracing, &module->instructions[pc], (uint32_t)parameter, links);
    free(tracing.registers);
    return true;
}

bool simt_ptx_parameter_of(const simt_module *module, const struct function *function, uint32_t pc, uint32_t *parameter) {
    struct tracing tracing;
    const struct instruction *instruction = &module->instructions[pc];
    const uint32_t place = address_place(instruction);
    if (pc < function->begin || pc >= function->end || place >= instruction->operand_count) return false;
    if (!trace_all(&tracing, module, function)) return false;
    const uint64_t bits = origins_of(&tracing, &instruction->operands[place]).pointers;
    free(tracing.registers);
    if (bits) *parameter = (uint32_t)__builtin_ctzll(bits);
    return bits && !(bits & (bits - 1));
}
