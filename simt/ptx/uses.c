/* What a kernel does with the memory that its parameters point to. */
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

enum { POINTER_NBYTES = 8, PARAMETERS_MAX = 64 };

/* By register: a bit for each parameter from which its value was calculated. */
struct tracing {
    const struct function *function;
    uint64_t *registers;
    bool has_changed;
};

static bool is_base(const struct instruction *instruction, const char *base) { return !strcmp(instruction->base, base); }

static bool is_wide(const struct function *function, uint32_t index) {
    return simt_type_nbytes(function->registers[index].type) == POINTER_NBYTES;
}

/* Of a parameter that a load names. */
static uint64_t bit_of(const struct function *function, const struct operand *address) {
    for (uint32_t p = 0; p < function->parameter_count && p < PARAMETERS_MAX; p++)
        if (address->variable == function->parameters[p] && !address->bits && address->variable->nbytes == POINTER_NBYTES) return UINT64_C(1) << p;
    return 0;
}

static uint64_t bits_of(const struct tracing *tracing, const struct operand *operand) {
    const bool is_register = operand->kind == OPERAND_REGISTER;
    if (!is_register && !(operand->kind == OPERAND_ADDRESS && operand->has_base_register)) return 0;
    return operand->index < tracing->function->register_count && is_wide(tracing->function, operand->index)
               ? tracing->registers[operand->index] : 0;
}

static void trace(struct tracing *tracing, const struct instruction *instruction) {
    const struct operand *result = &instruction->operands[0];
    uint64_t bits = 0;
    if (!instruction->operand_count || result->kind != OPERAND_REGISTER || !is_wide(tracing->function, result->index)) return;
    const bool is_load = is_base(instruction, "ld");
    if (is_load && instruction->operand_count > 1) bits = bit_of(tracing->function, &instruction->operands[1]);
    else if (!is_base(instruction, "atom"))
        for (uint32_t i = 1; i < instruction->operand_count; i++) bits |= bits_of(tracing, &instruction->operands[i]);
    uint64_t *known = &tracing->registers[result->index];
    tracing->has_changed |= (*known | bits) != *known;
    *known |= bits;
}

static void note(const struct tracing *tracing, const struct instruction *instruction, uint32_t parameter, simt_parameter_use *use) {
    const bool is_load = is_base(instruction, "ld") || is_base(instruction, "ldu"), is_store = is_base(instruction, "st");
    const bool is_atomic = is_base(instruction, "atom"), is_reduction = is_base(instruction, "red");
    const uint32_t place = is_load || is_atomic;
    if ((!is_load && !is_store && !is_atomic && !is_reduction) || instruction->operand_count <= place) return;
    if (!(bits_of(tracing, &instruction->operands[place]) >> parameter & 1)) return;
    const enum type type = simt_last_type(instruction);
    const uint32_t nbytes = simt_type_nbytes(type);
    use->is_loaded |= is_load;
    use->is_stored |= is_store;
    use->is_updated |= is_atomic || is_reduction;
    use->is_float |= type == TYPE_F32 || type == TYPE_F64;
    if (nbytes && (!use->element_nbytes || nbytes < use->element_nbytes)) use->element_nbytes = nbytes;
}

/* false: no memory. */
static bool trace_all(struct tracing *tracing, const struct simt_module *module, const struct function *function) {
    *tracing = (struct tracing){.function = function, .has_changed = true};
    tracing->registers = calloc(function->register_count + 1u, sizeof *tracing->registers);
    while (tracing->registers && tracing->has_changed) {
        tracing->has_changed = false;
        for (uint32_t pc = function->begin; pc < function->end; pc++) trace(tracing, &module->instructions[pc]);
    }
    return tracing->registers != NULL;
}

bool simt_module_parameter_use(const simt_module *module, size_t kernel, size_t parameter, simt_parameter_use *use) {
    struct tracing tracing;
    const struct function *function = module->kernels[kernel];
    *use = (simt_parameter_use){0};
    if (parameter >= PARAMETERS_MAX) return true;
    if (!trace_all(&tracing, module, function)) return false;
    for (uint32_t pc = function->begin; pc < function->end; pc++) note(&tracing, &module->instructions[pc], (uint32_t)parameter, use);
    free(tracing.registers);
    return true;
}

bool simt_ptx_parameter_of(const simt_module *module, const struct function *function, uint32_t pc, uint32_t *parameter) {
    struct tracing tracing;
    const struct instruction *instruction = &module->instructions[pc];
    const uint32_t place = is_base(instruction, "ld") || is_base(instruction, "ldu") || is_base(instruction, "atom");
    if (pc < function->begin || pc >= function->end || instruction->operand_count <= place) return false;
    if (!trace_all(&tracing, module, function)) return false;
    const uint64_t bits = bits_of(&tracing, &instruction->operands[place]);
    free(tracing.registers);
    if (bits) *parameter = (uint32_t)__builtin_ctzll(bits);
    return bits && !(bits & (bits - 1));
}
