/* A wait for an mbarrier may return before the phase is over, as its result tells.  Code that makes nothing of the result has not waited.
 * What becomes of it is followed through the function's text, in any order, so that a result counts as heeded where that is not sure. */
#include <stdlib.h>

#include "decoder.h"

static bool names(const struct operand *operand, const bool *is_result) {
    const bool has_register = operand->kind == OPERAND_REGISTER || (operand->kind == OPERAND_ADDRESS && operand->has_base_register);
    if (has_register && is_result[operand->index]) return true;
    for (uint32_t e = 0; e < operand->element_count; e++)
        if (names(&operand->elements[e], is_result)) return true;
    return false;
}

static bool reads(const struct instruction *instruction, uint32_t from, const bool *is_result) {
    if (instruction->guard >= 0 && is_result[instruction->guard]) return true;
    for (uint32_t o = from; o < instruction->operand_count; o++)
        if (names(&instruction->operands[o], is_result)) return true;
    return false;
}

/* What makes a number of a predicate: asm() has no other outputs. */
static bool passes_on(const struct instruction *instruction) {
    static const char *const bases[] = {"selp", "mov", "cvt", NULL};
    return simt_is_one_of(instruction->base, bases) && instruction->operand_count && instruction->operands[0].kind == OPERAND_REGISTER;
}

static bool is_wait(const struct instruction *instruction) {
    return simt_is_base(instruction, "mbarrier") && (simt_has(instruction, "try_wait") || simt_has(instruction, "test_wait"));
}

/* Once through the function.  false: something is made of it. */
static bool follow(const struct decoder *decoder, bool *is_result, bool *has_grown) {
    const struct function *function = decoder->function;
    const struct instruction *first = &decoder->image->module->instructions[function->begin];
    *has_grown = false;
    for (uint32_t i = 0; i < function->end - function->begin; i++) {
        const bool is_passed = passes_on(&first[i]);
        if (!reads(&first[i], is_passed || is_wait(&first[i]), is_result)) continue;
        if (!is_passed || first[i].guard >= 0) return false;
        bool *is_known = &is_result[first[i].operands[0].index];
        *has_grown |= !*is_known;
        *is_known = true;
    }
    return true;
}

bool simt_is_unheeded(const struct decoder *decoder) {
    const struct operand *result = &decoder->instruction->operands[0];
    if (result->kind != OPERAND_REGISTER) return true;
    bool *is_result = calloc(decoder->function->register_count, sizeof *is_result), has_grown = true, is_unheeded = is_result != NULL;
    if (is_result) is_result[result->index] = true;
    while (is_unheeded && has_grown) is_unheeded = follow(decoder, is_result, &has_grown);
    free(is_result);
    return is_unheeded;
}
