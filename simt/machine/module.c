/* A module that the simulator may execute: read, then verified.  The verifier refuses, as ptxas would, what no compiler
 * writes: before anything of a module is decoded, every instruction has the operands that its opcode takes, and
 * everything that the simulator makes room for is of a sane size.  Decoding and executing rely on it, and check only
 * what is not known before: indices, addresses, functions' addresses. */
#include <stdio.h>
#include <string.h>

#include "verify.h"

/* ---- what a frame has to hold */

enum { LOCALS_NBYTES_MAX = SIMT_STACK_NBYTES, PASSED_NBYTES_MAX = 1 << 20 };

static uint64_t sum_of(const struct function *function, enum simt_space space) {
    uint64_t nbytes = 0;
    for (uint32_t v = 0; v < function->variable_count; v++) {
        const struct variable *variable = function->variables[v];
        if (variable->space != space) continue;
        nbytes =
            (nbytes + variable->alignment - 1) / variable->alignment * variable->alignment + variable->nbytes;
    }
    return nbytes;
}

static bool refuse_size(const struct verifier *verifier, const char *what, uint64_t nbytes, int limit) {
    if (verifier->message)
        snprintf(verifier->message->text, sizeof verifier->message->text,
                 "%.1000s: %.200s: %llu bytes of %s variables are more than the limit of %d",
                 verifier->module->name, verifier->function->name, (unsigned long long)nbytes, what, limit);
    return false;
}

static bool verify_sizes(const struct verifier *verifier) {
    uint64_t locals = sum_of(verifier->function, SIMT_LOCAL),
             passed = sum_of(verifier->function, SIMT_PARAMETER);
    if (locals > LOCALS_NBYTES_MAX) return refuse_size(verifier, ".local", locals, LOCALS_NBYTES_MAX);
    if (passed > PASSED_NBYTES_MAX) return refuse_size(verifier, ".param", passed, PASSED_NBYTES_MAX);
    return true;
}

/* ---- the whole */

static bool verify_instruction(const struct verifier *verifier) {
    if (simt_is_base(verifier->instruction, "call")) return simt_verify_call(verifier);
    return (simt_matrix_is_one(verifier->instruction) ? simt_verify_matrix : simt_verify_operands)(verifier);
}

static bool verify_function(struct verifier *verifier) {
    if (!verify_sizes(verifier)) return false;
    for (uint32_t pc = verifier->function->begin; pc < verifier->function->end; pc++) {
        verifier->pc = pc;
        verifier->instruction = &verifier->module->instructions[pc];
        if (!verify_instruction(verifier)) return false;
    }
    return true;
}

static bool verify(struct simt_module *module, simt_message *message) {
    struct verifier verifier = {.module = module, .message = message};
    for (uint32_t f = 0; f < module->function_count; f++) {
        verifier.function = module->functions[f];
        if (verifier.function->has_body && !verify_function(&verifier)) return false;
    }
    return true;
}

simt_error simt_module_parse(const char *ptx, size_t nbytes, const char *name, simt_module **module,
                             simt_message *message) {
    simt_error error = simt_ptx_parse(ptx, nbytes, name, module, message);
    if (error) return error;
    error = verify(*module, message) ? simt_ptx_analyse(*module, message) : SIMT_ERROR_SYNTAX;
    if (!error) return SIMT_OK;
    simt_module_destroy(*module);
    *module = NULL;
    return error;
}
