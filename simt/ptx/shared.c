/* Which variables of shared memory the blocks of a kernel have: its own, those of functions that it may call, and those of
 * the module that one of them names.  A call through a register may be one of any function. */
#include <stdlib.h>
#include <string.h>

#include "parser.h"

/* What a function names itself. */
struct uses {
    const struct variable **variables;
    const struct function **functions;
    uint32_t variable_count, function_count;
    bool calls_any;
};

struct finder {
    struct simt_module *module;
    struct arena *scratch;
    const struct variable **sorted; /* the module's, by their addresses */
    bool *is_named;                 /* by whom the kernel reaches: each of these */
    struct uses *uses;              /* of each function */
    bool *is_reached;               /* each function */
    const struct function **stack;
};

static int compare(const void *a, const void *b) {
    const struct variable *const *x = a, *const *y = b;
    return (*x > *y) - (*x < *y);
}

/* -1: it is no static one of the module's. */
static ptrdiff_t number_of(const struct finder *finder, const struct variable *variable) {
    const struct variable *const *found =
        bsearch(&variable, finder->sorted, finder->module->variable_count, sizeof variable, compare);
    return found ? found - finder->sorted : -1;
}

/* A list in the arena, which doubles; false: no memory. */
static bool append(struct finder *finder, const void ***list, uint32_t *count, const void *item) {
    if (*count && (*list)[*count - 1] == item) return true;
    if (!(*count & (*count - 1))) {
        const void **grown = simt_arena_allocate(finder->scratch, (*count ? 2 * (size_t)*count : 1) * sizeof *grown);
        if (!grown) return false;
        if (*count) memcpy(grown, *list, *count * sizeof *grown);
        *list = grown;
    }
    (*list)[(*count)++] = item;
    return true;
}

static bool note_function(struct finder *finder, struct uses *uses, const struct function *function) {
    return !function || function->is_kernel ||
           append(finder, (const void ***)&uses->functions, &uses->function_count, function);
}

static bool note(struct finder *finder, struct uses *uses, const struct operand *operand) {
    bool is_noted = true;
    for (uint32_t e = 0; e < operand->element_count; e++) is_noted = is_noted && note(finder, uses, &operand->elements[e]);
    if (operand->kind == OPERAND_ADDRESS && operand->variable && operand->variable->space == SIMT_SHARED)
        return is_noted && append(finder, (const void ***)&uses->variables, &uses->variable_count, operand->variable);
    if (operand->kind == OPERAND_FUNCTION) return is_noted && note_function(finder, uses, operand->function);
    return is_noted;
}

static bool note_all(struct finder *finder, struct uses *uses, const struct function *function) {
    for (uint32_t pc = function->begin; pc < function->end; pc++) {
        const struct instruction *instruction = &finder->module->instructions[pc];
        const bool is_call = simt_is_base(instruction, "call");
        bool names_one = false;
        for (uint32_t o = 0; o < instruction->operand_count; o++) {
            if (!note(finder, uses, &instruction->operands[o])) return false;
            names_one |= instruction->operands[o].kind == OPERAND_FUNCTION;
        }
        uses->calls_any |= is_call && !names_one;
    }
    return true;
}

/* ---- a kernel */

static void reach(struct finder *finder, const struct function *function, uint32_t *depth) {
    if (finder->is_reached[function->index]) return;
    finder->is_reached[function->index] = true;
    finder->stack[(*depth)++] = function;
}

static void reach_all(struct finder *finder, const struct function *kernel) {
    const struct simt_module *module = finder->module;
    uint32_t depth = 0;
    memset(finder->is_reached, 0, module->function_count * sizeof *finder->is_reached);
    memset(finder->is_named, 0, module->variable_count * sizeof *finder->is_named);
    reach(finder, kernel, &depth);
    while (depth) {
        const struct uses *uses = &finder->uses[finder->stack[--depth]->index];
        for (uint32_t f = 0; f < uses->function_count; f++) reach(finder, uses->functions[f], &depth);
        for (uint32_t f = 0; uses->calls_any && f < module->function_count; f++)
            if (!module->functions[f]->is_kernel) reach(finder, module->functions[f], &depth);
        for (uint32_t v = 0; v < uses->variable_count; v++) {
            const ptrdiff_t number = number_of(finder, uses->variables[v]);
            if (number >= 0) finder->is_named[number] = true;
        }
    }
}

static bool is_static(const struct variable *variable) { return variable->space == SIMT_SHARED && variable->nbytes; }

/* Lists those that the kernel has: the module's, its functions', its own.  Returns their number; NULL: counts alone. */
static uint32_t list(const struct finder *finder, const struct function *kernel, const struct variable **list) {
    const struct simt_module *module = finder->module;
    uint32_t count = 0;
    for (uint32_t v = 0; v < module->variable_count; v++) {
        const struct variable *variable = module->variables[v];
        if (is_static(variable) && finder->is_named[number_of(finder, variable)] && list) list[count] = variable;
        count += is_static(variable) && finder->is_named[number_of(finder, variable)];
    }
    for (uint32_t f = 0; f <= module->function_count; f++) {
        const struct function *function = f < module->function_count ? module->functions[f] : kernel;
        if (f < module->function_count && (function->is_kernel || !finder->is_reached[f])) continue;
        for (uint32_t v = 0; v < function->variable_count; v++) {
            if (is_static(function->variables[v]) && list) list[count] = function->variables[v];
            count += is_static(function->variables[v]);
        }
    }
    return count;
}

static bool find_of(struct finder *finder, struct function *kernel) {
    reach_all(finder, kernel);
    const uint32_t count = list(finder, kernel, NULL);
    const struct variable **shared = count ? simt_arena_allocate(finder->module->arena, count * sizeof *shared) : NULL;
    if (count && !shared) return false;
    list(finder, kernel, shared);
    kernel->shared = shared;
    kernel->shared_count = count;
    return true;
}

/* ---- all of a module */

/* At least one byte: an arena gives nothing for nothing. */
static void *make(struct finder *finder, size_t count, size_t nbytes) {
    return simt_arena_allocate(finder->scratch, (count + 1) * nbytes);
}

static bool prepare(struct finder *finder) {
    const struct simt_module *module = finder->module;
    finder->sorted = make(finder, module->variable_count, sizeof *finder->sorted);
    finder->is_named = make(finder, module->variable_count, sizeof *finder->is_named);
    finder->uses = make(finder, module->function_count, sizeof *finder->uses);
    finder->is_reached = make(finder, module->function_count, sizeof *finder->is_reached);
    finder->stack = make(finder, module->function_count, sizeof *finder->stack);
    if (!finder->sorted || !finder->is_named || !finder->uses || !finder->is_reached || !finder->stack) return false;
    for (uint32_t v = 0; v < module->variable_count; v++) finder->sorted[v] = module->variables[v];
    qsort(finder->sorted, module->variable_count, sizeof *finder->sorted, compare);
    for (uint32_t f = 0; f < module->function_count; f++)
        if (!note_all(finder, &finder->uses[f], module->functions[f])) return false;
    return true;
}

bool simt_shared(struct simt_module *module) {
    struct finder finder = {.module = module, .scratch = simt_arena_create()};
    bool is_found = finder.scratch && prepare(&finder);
    for (uint32_t f = 0; f < module->function_count && is_found; f++)
        if (module->functions[f]->is_kernel) is_found = find_of(&finder, module->functions[f]);
    if (finder.scratch) simt_arena_destroy(finder.scratch);
    return is_found;
}
