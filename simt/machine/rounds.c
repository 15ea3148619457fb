/* How long a loop goes on whose deciders change by the same step in each round.
 *
 * If every register that decides, at the begin of a round, is what it was a round before plus its step, and each
 * instruction on the way makes its result's step from those of its operands (0 from 0, the sum for an addition), then
 * the next round does the same, and so on by induction, as long as comparisons come out as before.  For how long they
 * do follows from the distance to the number that is compared with, or to the type's last one, where numbers wrap. */
#include "rounds.h"

#include <string.h>

enum { NONE = UINT32_MAX };

struct tracing {
    const struct round *round;
    bool is_written[DECIDERS_MAX + 1];
    uint64_t left;
};

static uint32_t place_of(const struct round *round, uint32_t index) {
    for (uint32_t r = 0; r < round->register_count; r++)
        if (round->registers[r] == index) return r;
    return NONE;
}

static uint32_t place_of_operand(const struct round *round, const struct operand *operand) {
    return operand->kind == OPERAND_REGISTER ? place_of(round, operand->index) : NONE;
}

/* Modulo the type's width: compared after truncation. */
static uint64_t step_of(const struct round *round, uint32_t place, uint32_t lane) {
    return place == NONE ? 0 : round->end[place][lane] - round->begin[place][lane];
}

static bool is_constant(const struct round *round, uint32_t place) {
    bool is_same = true;
    SIMT_FOR_EACH_LANE (lane, round->lanes) is_same &= step_of(round, place, lane) == 0;
    return is_same;
}

static bool are_constant(const struct round *round, const struct operand *operand) {
    bool has_register = operand->kind == OPERAND_REGISTER || (operand->kind == OPERAND_ADDRESS && operand->has_base_register);
    bool are = !has_register || is_constant(round, place_of(round, operand->index));
    for (uint32_t e = 0; e < operand->element_count; e++) are &= are_constant(round, &operand->elements[e]);
    return are;
}

/* 32 or 64; 0: no integer that is compared, added or moved as a whole. */
static uint32_t bits_of(const char *type) {
    static const struct {
        const char *name;
        uint32_t bits;
    } types[] = {{"s32", 32}, {"u32", 32}, {"b32", 32}, {"s64", 64}, {"u64", 64}, {"b64", 64}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        if (simt_is_word(type, types[t].name)) return types[t].bits;
    return 0;
}

static uint64_t truncated(uint64_t value, uint32_t bits) { return bits == 64 ? value : value & UINT32_MAX; }

/* Of an addition, a subtraction, a move. */
static bool adds_steps(const struct round *round, const struct instruction *instruction) {
    const bool is_move = simt_is_base(instruction, "mov"), subtracts = simt_is_base(instruction, "sub");
    if (instruction->modifier_count != 1 || !(is_move || subtracts || simt_is_base(instruction, "add"))) return false;
    const uint32_t bits = bits_of(instruction->modifiers[0]);
    const uint32_t result = place_of_operand(round, &instruction->operands[0]);
    const uint32_t a = place_of_operand(round, &instruction->operands[1]);
    const uint32_t b = is_move ? NONE : place_of_operand(round, &instruction->operands[2]);
    bool does = bits != 0;
    SIMT_FOR_EACH_LANE (lane, round->lanes) {
        const uint64_t of_b = step_of(round, b, lane);
        const uint64_t step = step_of(round, a, lane) + (subtracts ? 0 - of_b : of_b);
        does &= truncated(step_of(round, result, lane) - step, bits) == 0;
    }
    return does;
}

/* In the round that is known: a register is written once in it, if at all. */
static uint64_t value_of(const struct tracing *tracing, const struct operand *operand, uint32_t lane) {
    const struct round *round = tracing->round;
    const uint32_t place = place_of_operand(round, operand);
    if (place == NONE) return operand->bits;
    return (tracing->is_written[place] ? round->end : round->begin)[place][lane];
}

/* How many steps `moving` takes before it reaches `fixed`, or wraps. */
static uint64_t steps_before(uint64_t moving, uint64_t fixed, uint64_t step, uint32_t bits) {
    const bool falls = step >> (bits - 1) & 1;
    const uint64_t last = falls ? 0 : truncated(UINT64_MAX, bits), size = falls ? truncated(0 - step, bits) : step;
    const bool is_ahead = falls ? fixed <= moving : fixed >= moving;
    const uint64_t end = is_ahead ? fixed : last, distance = falls ? moving - end : end - moving;
    return distance ? (distance - 1) / size : 0;
}

static uint64_t min_of(uint64_t a, uint64_t b) { return a < b ? a : b; }

static bool compares(struct tracing *tracing, const struct instruction *instruction) {
    const struct round *round = tracing->round;
    if (!simt_is_base(instruction, "setp") || instruction->modifier_count != 2) return false;
    const struct operand *a = &instruction->operands[1], *b = &instruction->operands[2];
    const char *type = instruction->modifiers[1];
    const uint32_t bits = bits_of(type);
    if (!bits || (a->kind != OPERAND_REGISTER && a->kind != OPERAND_IMMEDIATE) ||
        (b->kind != OPERAND_REGISTER && b->kind != OPERAND_IMMEDIATE))
        return false;
    const uint64_t bias = *type == 's' ? (uint64_t)1 << (bits - 1) : 0; /* in whose order signed numbers are unsigned ones */
    bool is_known = true;
    SIMT_FOR_EACH_LANE (lane, round->lanes) {
        const uint64_t of_a = truncated(value_of(tracing, a, lane), bits) ^ bias;
        const uint64_t of_b = truncated(value_of(tracing, b, lane), bits) ^ bias;
        const uint64_t step_a = truncated(step_of(round, place_of_operand(round, a), lane), bits);
        const uint64_t step_b = truncated(step_of(round, place_of_operand(round, b), lane), bits);
        is_known &= !step_a || !step_b;
        if (step_a && is_known) tracing->left = min_of(tracing->left, steps_before(of_a, of_b, step_a, bits));
        if (step_b && is_known) tracing->left = min_of(tracing->left, steps_before(of_b, of_a, step_b, bits));
    }
    return is_known;
}

/* Marks the registers of a result; false: one of them was written before in this round.  Predicates may be, by lane
 * operations, as all of these come out as before. */
static bool write(struct tracing *tracing, const struct code *code, const struct operand *operand, bool *decides) {
    bool is_first = true;
    for (uint32_t e = 0; e < operand->element_count; e++) is_first &= write(tracing, code, &operand->elements[e], decides);
    const uint32_t place = place_of_operand(tracing->round, operand);
    if (place == NONE) return is_first;
    const struct function *function = tracing->round->deciders->function;
    const bool may_be_again = code->is_lane_operation && function->registers[operand->index].type == TYPE_PRED;
    is_first &= !tracing->is_written[place] || may_be_again;
    *decides = tracing->is_written[place] = true;
    return is_first;
}

static uint32_t result_count(const struct code *code) {
    if (simt_has_no_result(code->instruction)) return 0;
    return code->is_lane_operation ? code->destinations : 1;
}

/* Whether all operands that it reads stay; *addresses_move: some that lead to memory do not. */
static bool reads_constants(const struct round *round, const struct code *code, bool *addresses_move) {
    const struct instruction *instruction = code->instruction;
    bool are = true;
    for (uint32_t o = result_count(code); o < instruction->operand_count; o++) {
        const bool is_same = are_constant(round, &instruction->operands[o]);
        *addresses_move |= !is_same && instruction->operands[o].is_bracketed;
        are &= is_same;
    }
    return are;
}

static bool writes_constants(const struct round *round, const struct code *code) {
    bool are = true;
    for (uint32_t o = 0; o < result_count(code); o++) are &= are_constant(round, &code->instruction->operands[o]);
    return are;
}

static bool write_results(struct tracing *tracing, const struct code *code, bool *decides) {
    bool is_first = true;
    for (uint32_t o = 0; o < result_count(code); o++)
        is_first &= write(tracing, code, &code->instruction->operands[o], decides);
    return is_first;
}

static bool is_guard_constant(const struct round *round, const struct instruction *instruction) {
    return instruction->guard < 0 || is_constant(round, place_of(round, (uint32_t)instruction->guard));
}

/* Whether the instruction does in each round what it did in the last one, with its operands' steps added. */
static bool keeps_steps(struct tracing *tracing, uint32_t pc) {
    const struct round *round = tracing->round;
    const struct code *code = &round->codes[pc];
    bool addresses_move = false, decides = false;
    if (simt_is_base(code->instruction, "call") || simt_is_base(code->instruction, "brx") || code->reads_carry ||
        code->writes_carry || !is_guard_constant(round, code->instruction))
        return false;
    const bool are_same = reads_constants(round, code, &addresses_move);
    const bool is_valued = round->deciders->marks[pc - round->deciders->function->begin] & MARK_IS_VALUED;
    if (addresses_move || (is_valued && !are_same)) return false;
    const bool is_sum = !are_same && adds_steps(round, code->instruction);
    const bool is_known = are_same || is_sum || compares(tracing, code->instruction);
    const bool is_first = write_results(tracing, code, &decides);
    return !decides || (is_first && is_known && (is_sum || writes_constants(round, code)));
}

uint64_t simt_rounds_left(const struct round *round) {
    struct tracing tracing = {.round = round, .left = UINT64_MAX};
    if (round->count > ROUND_MAX) return 0;
    for (uint32_t i = 0; i < round->count; i++)
        if (!keeps_steps(&tracing, round->pcs[i])) return 0;
    for (uint32_t r = 0; r < round->register_count; r++)
        if (!tracing.is_written[r] && !is_constant(round, r)) return 0;
    return tracing.left == UINT64_MAX ? 0 : tracing.left;
}
