/* Calls: what is called, and whether what is passed is what it takes. */
#include <stdio.h>
#include <string.h>

#include "verify.h"

/* ---- one argument or result compared with its parameter */

/* A .param variable of the caller's body, whole: its own parameters lie elsewhere. */
static bool is_passed_variable(const struct operand *operand) {
    const struct variable *variable = operand->variable;
    return operand->kind == OPERAND_ADDRESS && variable && variable->space == SIMT_PARAMETER &&
           !variable->is_parameter && !operand->is_bracketed && !operand->bits;
}

static bool fits(const struct function *caller, const struct operand *operand, const struct variable *formal,
                 bool is_result) {
    uint32_t element_nbytes = simt_type_nbytes(formal->type);
    bool is_scalar = formal->nbytes == element_nbytes;
    switch (operand->kind) {
    case OPERAND_REGISTER:
        return is_scalar && !operand->is_negated &&
               simt_types_fit(formal->type, caller->registers[operand->index].type);
    case OPERAND_IMMEDIATE: return is_scalar && !is_result;
    case OPERAND_SINK: return is_result;
    default:
        return is_passed_variable(operand) && operand->variable->nbytes == formal->nbytes &&
               simt_type_nbytes(operand->variable->type) == element_nbytes;
    }
}

static const struct operand no_list = {.kind = OPERAND_VECTOR};

/* The lists of a call, (results), callee, (arguments): those that are not there are empty. */
struct lists {
    const struct operand *results, *callee, *arguments,
        *last;      /* last: what names the callee's type; or NULL */
    uint32_t count; /* of the operands that they are */
};

static struct lists lists_of(const struct instruction *call) {
    struct lists lists = {.results = &no_list, .arguments = &no_list};
    const struct operand *operands = call->operands;
    uint32_t count = call->operand_count, o = 0;
    if (o < count && operands[o].kind == OPERAND_VECTOR) lists.results = &operands[o++];
    if (o < count) lists.callee = &operands[o++];
    if (o < count && operands[o].kind == OPERAND_VECTOR) lists.arguments = &operands[o++];
    if (o < count) lists.last = &operands[o++];
    lists.count = o;
    return lists;
}

bool simt_call_fits(const struct function *caller, const struct instruction *call,
                    const struct function *callee, char why[SIMT_WHY]) {
    const struct lists lists = lists_of(call);
    const struct {
        const struct operand *list;
        struct variable *const *formals;
        uint32_t count;
        const char *name;
        bool is_result;
    } sides[] = {{lists.results, callee->results, callee->result_count, "result", true},
                 {lists.arguments, callee->parameters, callee->parameter_count, "argument", false}};
    const char *name = callee->name ? callee->name : "the prototype";
    if (callee->is_kernel) {
        snprintf(why, SIMT_WHY, "%.80s is a kernel", name);
        return false;
    }
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        if (sides[s].list->element_count != sides[s].count) {
            snprintf(why, SIMT_WHY, "%u %ss for %.80s, which has %u", sides[s].list->element_count,
                     sides[s].name, name, sides[s].count);
            return false;
        }
        for (uint32_t e = 0; e < sides[s].count; e++) {
            if (fits(caller, &sides[s].list->elements[e], sides[s].formals[e], sides[s].is_result)) continue;
            snprintf(why, SIMT_WHY,
                     "%s %u does not match that of %.80s: a .param variable or a register of %u bytes",
                     sides[s].name, e + 1, name, (unsigned)sides[s].formals[e]->nbytes);
            return false;
        }
    }
    if (callee->name && !callee->has_body && !simt_builtin_fits(callee)) {
        snprintf(why, SIMT_WHY, "%.80s is not declared as in the CUDA device runtime", name);
        return false;
    }
    return true;
}

/* ---- calls */

static bool verify_target(const struct verifier *verifier, const struct function *callee) {
    char why[SIMT_WHY];
    return simt_call_fits(verifier->function, verifier->instruction, callee, why) ||
           simt_verify_refuse(verifier, "%s", why);
}

static bool verify_indirect(const struct verifier *verifier, const struct lists *lists) {
    const struct reg *callee = &verifier->function->registers[lists->callee->index];
    if (!simt_types_fit(TYPE_U64, callee->type))
        return simt_verify_refuse(verifier, "a function's address must be in a register of 64 bits");
    if (lists->last && lists->last->kind == OPERAND_PROTOTYPE)
        return verify_target(verifier, lists->last->function);
    if (!lists->last || lists->last->kind != OPERAND_TABLE || !lists->last->table->functions)
        return simt_verify_refuse(verifier, "a call by address needs a .callprototype or .calltargets");
    return verify_target(verifier, lists->last->table->functions[0]); /* all take and give the same */
}

bool simt_verify_call(const struct verifier *verifier) {
    const struct lists lists = lists_of(verifier->instruction);
    verifier->instruction->is_known = true;
    if (lists.count != verifier->instruction->operand_count)
        return simt_verify_refuse(verifier, "more operands than (results), function, (arguments)");
    if (lists.callee && lists.callee->kind == OPERAND_REGISTER) return verify_indirect(verifier, &lists);
    if (!lists.callee || lists.callee->kind != OPERAND_FUNCTION || lists.last)
        return simt_verify_refuse(verifier, "a function is expected, or the register of its address");
    return verify_target(verifier, lists.callee->function);
}
