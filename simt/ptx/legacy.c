/* Floating point of targets before sm_20, as later GPUs execute it: arithmetic of f32 flushes subnormal values though
 * nothing says so, `mad` is `fma`, and what has no rounding approximates. */
#include "parser.h"

enum { FIRST_IEEE_TARGET = 20 };

static void add(struct opcode *opcode, const char *modifier) {
    if (opcode->modifier_count < MODIFIERS_MAX) opcode->modifiers[opcode->modifier_count++] = modifier;
}

/* Whether it has one of the modifiers. */
static bool has(const struct opcode *opcode, const char *const *modifiers) {
    for (uint32_t m = 0; m < opcode->modifier_count; m++)
        if (simt_is_one_of(opcode->modifiers[m], modifiers)) return true;
    return false;
}

void simt_legacy_opcode(uint32_t target, struct opcode *opcode) {
    static const char *const flushing[] = {"add",  "sub",   "mul", "mad", "fma", "div", "rcp", "sqrt", "rsqrt",
                                           "sin",  "cos",   "lg2", "ex2", "abs", "neg", "min", "max",  "set",
                                           "setp", NULL};
    static const char *const approximate[] = {"div", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", NULL};
    static const char *const ways[] = {"rn", "rz", "rm", "rp", "approx", "full", NULL};
    static const char *const f32[] = {"f32", NULL}, *const ftz[] = {"ftz", NULL};
    if (!target || target >= FIRST_IEEE_TARGET) return;
    if (!has(opcode, f32) || !simt_is_one_of(opcode->base, flushing)) return;
    const bool is_open = !has(opcode, ways);
    if (is_open && simt_is_word(opcode->base, "mad")) add(opcode, "rn");
    if (is_open && simt_is_one_of(opcode->base, approximate)) add(opcode, "approx");
    if (!has(opcode, ftz)) add(opcode, "ftz");
}
