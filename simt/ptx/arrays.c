/* Which array of shared memory an address was derived from: that of its variable, moved by numbers.  An access outside
 * of it is out of bounds, though another array lies there.  Each register has one answer for the whole function, which
 * all its definitions must share; what is not understood (two arrays, arithmetic on bits, memory, calls) has none. */
#include "parser.h"

#include <string.h>

enum { PASSES_MAX = 8 }; /* loops that pass pointers on to each other take more, and then no register has an answer */

/* What a register holds besides an address in one variable. */
static const struct variable number, mixture;

struct derivation {
    const struct variable **of; /* each register's; NULL: not defined yet */
    bool has_changed;
};

static void join(struct derivation *derivation, const struct operand *result, const struct variable *value) {
    for (uint32_t e = 0; e < result->element_count; e++) join(derivation, &result->elements[e], value);
    if (result->kind != OPERAND_REGISTER || !value) return;
    const struct variable **held = &derivation->of[result->index];
    const struct variable *joined = !*held || *held == value ? value : &mixture;
    derivation->has_changed |= *held != joined;
    *held = joined;
}

/* NULL: defined by nothing so far. */
static const struct variable *source(const struct derivation *derivation, const struct operand *operand) {
    if (operand->kind == OPERAND_REGISTER) return derivation->of[operand->index];
    if (operand->element_count) return &mixture;
    if (operand->kind != OPERAND_ADDRESS || operand->is_bracketed) return &number;
    const struct variable *variable = operand->variable;
    return variable && variable->space == SIMT_SHARED && variable->nbytes ? variable : &mixture;
}

/* Whether the source of that place may be an address which the result moves. */
static bool is_moved(const struct instruction *instruction, uint32_t place) {
    static const struct {
        const char *base;
        uint32_t first, last;
    } moves[] = {{"mov", 1, 1}, {"cvta", 1, 1}, {"cvt", 1, 1}, {"add", 1, 2}, {"sub", 1, 1}, {"mad", 3, 3}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (simt_is_base(instruction, moves[i].base)) return place >= moves[i].first && place <= moves[i].last;
    return false;
}

static const struct variable *result_of(const struct derivation *derivation, const struct instruction *instruction) {
    const struct variable *result = &number;
    for (uint32_t i = 1; i < instruction->operand_count; i++) {
        const struct operand *operand = &instruction->operands[i];
        if (operand->is_bracketed) continue; /* what memory holds is a number */
        const struct variable *value = source(derivation, operand);
        if (!value) return NULL;
        if (value == &number) continue;
        result = result == &number && is_moved(instruction, i) ? value : &mixture;
    }
    return result;
}

static void name_arrays(const struct derivation *derivation, struct instruction *instruction) {
    for (uint32_t i = 0; i < instruction->operand_count; i++) {
        struct operand *operand = &instruction->operands[i];
        if (!operand->is_bracketed || operand->kind != OPERAND_ADDRESS) continue;
        const struct variable *value = operand->has_base_register ? derivation->of[operand->index] : operand->variable;
        const bool is_array = value && value->space == SIMT_SHARED && value->nbytes;
        operand->array = is_array ? value : NULL;
    }
}

static bool has_shared_array(struct variable *const *variables, uint32_t count) {
    for (uint32_t v = 0; v < count; v++)
        if (variables[v]->space == SIMT_SHARED && variables[v]->nbytes) return true;
    return false;
}

bool simt_arrays(struct simt_module *module, const struct function *function) {
    if (!has_shared_array(function->variables, function->variable_count) &&
        !has_shared_array(module->variables, module->variable_count))
        return true;
    struct arena *scratch = simt_arena_create();
    struct derivation derivation = {.has_changed = true};
    if (scratch) derivation.of = simt_arena_allocate(scratch, function->register_count * sizeof *derivation.of);
    for (int pass = 0; derivation.of && derivation.has_changed && pass < PASSES_MAX; pass++) {
        derivation.has_changed = false;
        for (uint32_t pc = function->begin; pc < function->end; pc++)
            if (module->instructions[pc].operand_count)
                join(&derivation, &module->instructions[pc].operands[0], result_of(&derivation, &module->instructions[pc]));
    }
    for (uint32_t pc = function->begin; derivation.of && !derivation.has_changed && pc < function->end; pc++)
        name_arrays(&derivation, &module->instructions[pc]);
    if (scratch) simt_arena_destroy(scratch);
    return derivation.of != NULL;
}
