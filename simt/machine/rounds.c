/* How long a loop goes on whose deciders change by the same step in each round.
 *
 * If every register that decides, at the begin of a round, is what it was a round before plus its step, and each
 * instruction on the way makes its result's step from those of its operands (0 from 0, the sum for an addition), then
 * the next round does the same, and so on by induction, as long as comparisons come out as before.  For how long they
 * do follows from the distance to the number that is compared with, or to the type's last one, where numbers wrap.
 *
 * A clock goes on by other steps in each round, but by no more in all than the limit of instructions, as it counts them.
 * What is added to it or taken from it stays the same, so the distance tells whether a comparison can come out otherwise. */
#include "rounds.h"

#include <string.h>

enum { NONE = UINT32_MAX };

struct tracing {
    const struct round *round;
    bool is_written[DECIDERS_MAX + 1];
    uint32_t clocked[DECIDERS_MAX + 1]; /* how many instructions lead there from the clock; 0: it does not go on with that, */
    bool falls[DECIDERS_MAX + 1];       /* or it goes back as the clock goes on */
    bool waits_for_clock;
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

static bool is_clocked(const struct tracing *tracing, uint32_t place) { return place != NONE && tracing->clocked[place]; }

/* Whether a comparison is known to come out as before for as many rounds as are left, in which `moving` makes its steps. */
static bool stays_away(struct tracing *tracing, uint32_t place, uint32_t lane, uint64_t moving, uint64_t fixed, uint32_t bits) {
    const uint64_t step = truncated(step_of(tracing->round, place, lane), bits);
    if (is_clocked(tracing, place)) {
        tracing->waits_for_clock = true;
        return steps_before(moving, fixed, truncated(tracing->falls[place] ? UINT64_MAX : 1, bits), bits) > tracing->round->limit;
    }
    if (step) tracing->left = min_of(tracing->left, steps_before(moving, fixed, step, bits));
    return true;
}

static bool moves(const struct tracing *tracing, uint32_t place, uint32_t lane, uint32_t bits) {
    return is_clocked(tracing, place) || truncated(step_of(tracing->round, place, lane), bits);
}

static bool compares(struct tracing *tracing, const struct instruction *instruction) {
    const struct round *round = tracing->round;
    if (!simt_is_base(instruction, "setp") || instruction->modifier_count != 2) return false;
    const struct operand *a = &instruction->operands[1], *b = &instruction->operands[2];
    const char *type = instruction->modifiers[1];
    const uint32_t bits = bits_of(type);
    if (!bits || (a->kind != OPERAND_REGISTER && a->kind != OPERAND_IMMEDIATE) ||
        (b->kind != OPERAND_REGISTER && b->kind != OPERAND_IMMEDIATE))
        return false;
    const uint32_t place_a = place_of_operand(round, a), place_b = place_of_operand(round, b);
    const uint64_t bias = *type == 's' ? (uint64_t)1 << (bits - 1) : 0; /* in whose order signed numbers are unsigned ones */
    bool is_known = true;
    SIMT_FOR_EACH_LANE (lane, round->lanes) {
        const uint64_t of_a = truncated(value_of(tracing, a, lane), bits) ^ bias;
        const uint64_t of_b = truncated(value_of(tracing, b, lane), bits) ^ bias;
        is_known &= !moves(tracing, place_a, lane, bits) || !moves(tracing, place_b, lane, bits);
        is_known = is_known && stays_away(tracing, place_a, lane, of_a, of_b, bits) && stays_away(tracing, place_b, lane, of_b, of_a, bits);
    }
    return is_known;
}

/* The clock plus or minus what stays, or a part of it: the register that follows the clock; NONE: it is none of these.  *turns:
 * the result goes back as that goes on. */
static uint32_t followed(const struct tracing *tracing, const struct instruction *instruction, bool *turns) {
    const bool subtracts = simt_is_base(instruction, "sub"), converts = simt_is_base(instruction, "cvt");
    const bool is_unary = converts || simt_is_base(instruction, "mov");
    if (!(is_unary || subtracts || simt_is_base(instruction, "add")) || instruction->modifier_count != (converts ? 2 : 1)) return NONE;
    for (uint32_t m = 0; m < instruction->modifier_count; m++)
        if (!bits_of(instruction->modifiers[m])) return NONE;
    const uint32_t a = place_of_operand(tracing->round, &instruction->operands[1]);
    const uint32_t b = is_unary ? NONE : place_of_operand(tracing->round, &instruction->operands[2]);
    const bool is_first = is_clocked(tracing, a);
    if (is_first == is_clocked(tracing, b) || !is_constant(tracing->round, is_first ? b : a)) return NONE;
    *turns = subtracts && !is_first;
    return is_first ? a : b;
}

/* Finds the registers that follow the clock, by way of others, in whatever order: the round may begin between them.  false: in
 * a circle, as where readings are added up. */
static bool follow_clock(struct tracing *tracing) {
    const struct round *round = tracing->round;
    bool has_changed = true;
    for (uint32_t pass = 0; has_changed && pass <= round->register_count + 1; pass++) {
        has_changed = false;
        for (uint32_t i = 0; i < round->count; i++) {
            const struct instruction *instruction = round->codes[round->pcs[i]].instruction;
            const uint32_t place = instruction->operand_count ? place_of_operand(round, &instruction->operands[0]) : NONE;
            if (place == NONE) continue;
            bool turns = false;
            const uint32_t from = followed(tracing, instruction, &turns);
            if (from == NONE && !simt_reads_clock(instruction)) continue;
            const uint32_t length = from == NONE ? 1 : tracing->clocked[from] + 1;
            has_changed |= tracing->clocked[place] != length;
            tracing->clocked[place] = length;
            tracing->falls[place] = from != NONE && tracing->falls[from] != turns;
        }
    }
    return !has_changed;
}

/* Whether a part of the clock that is made longer does not wrap. */
static bool is_widened_before_it_wraps(struct tracing *tracing, const struct instruction *instruction) {
    const uint32_t place = place_of_operand(tracing->round, &instruction->operands[1]);
    if (!simt_is_base(instruction, "cvt") || bits_of(instruction->modifiers[0]) == bits_of(instruction->modifiers[1])) return true;
    const uint32_t bits = bits_of(instruction->modifiers[1]);
    if (bits == 64) return true;
    const uint64_t bias = *instruction->modifiers[1] == 's' ? (uint64_t)1 << (bits - 1) : 0;
    const uint64_t last = tracing->falls[place] ? 0 : truncated(UINT64_MAX, bits);
    bool is = true;
    SIMT_FOR_EACH_LANE (lane, tracing->round->lanes)
        is &= stays_away(tracing, place, lane, truncated(value_of(tracing, &instruction->operands[1], lane), bits) ^ bias, last, bits);
    return is;
}

static bool has_clock(const struct tracing *tracing, const struct operand *operand) {
    const bool has_register = operand->kind == OPERAND_REGISTER || (operand->kind == OPERAND_ADDRESS && operand->has_base_register);
    bool has = has_register && is_clocked(tracing, place_of(tracing->round, operand->index));
    for (uint32_t e = 0; e < operand->element_count; e++) has |= has_clock(tracing, &operand->elements[e]);
    return has;
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

/* Whether it reads the clock, or what follows it. */
static bool reads_clock(const struct tracing *tracing, const struct code *code, bool *leads_to_memory) {
    const struct instruction *instruction = code->instruction;
    bool reads = simt_reads_clock(instruction);
    for (uint32_t o = result_count(code); o < instruction->operand_count; o++) {
        const bool has = has_clock(tracing, &instruction->operands[o]);
        *leads_to_memory |= has && instruction->operands[o].is_bracketed;
        reads |= has;
    }
    return reads;
}

/* Whether what decides of its results follows the clock, too, or is a comparison that comes out as before. */
static bool keeps_clock(struct tracing *tracing, const struct code *code) {
    const struct instruction *instruction = code->instruction;
    bool decides = false;
    const bool is_comparison = compares(tracing, instruction);
    const bool is_first = write_results(tracing, code, &decides);
    if (!decides) return true;
    if (is_comparison) return is_first && writes_constants(tracing->round, code);
    return is_first && is_clocked(tracing, place_of_operand(tracing->round, &instruction->operands[0])) &&
           is_widened_before_it_wraps(tracing, instruction);
}

/* Whether the instruction does in each round what it did in the last one, with its operands' steps added. */
static bool keeps_steps(struct tracing *tracing, uint32_t pc) {
    const struct round *round = tracing->round;
    const struct code *code = &round->codes[pc];
    bool addresses_move = false, decides = false;
    if (simt_is_base(code->instruction, "call") || simt_is_base(code->instruction, "brx") || code->reads_carry ||
        code->writes_carry || !is_guard_constant(round, code->instruction))
        return false;
    const bool is_valued = round->deciders->marks[pc - round->deciders->function->begin] & MARK_IS_VALUED;
    if (reads_clock(tracing, code, &addresses_move)) return !addresses_move && !is_valued && keeps_clock(tracing, code);
    const bool are_same = reads_constants(round, code, &addresses_move);
    if (addresses_move || (is_valued && !are_same)) return false;
    const bool is_sum = !are_same && adds_steps(round, code->instruction);
    const bool is_known = are_same || is_sum || compares(tracing, code->instruction);
    const bool is_first = write_results(tracing, code, &decides);
    return !decides || (is_first && is_known && (is_sum || writes_constants(round, code)));
}

uint64_t simt_rounds_left(const struct round *round) {
    struct tracing tracing = {.round = round, .left = UINT64_MAX};
    if (round->count > ROUND_MAX || !follow_clock(&tracing)) return 0;
    for (uint32_t i = 0; i < round->count; i++)
        if (!keeps_steps(&tracing, round->pcs[i])) return 0;
    for (uint32_t r = 0; r < round->register_count; r++)
        if (!tracing.is_written[r] && !is_constant(round, r)) return 0;
    if (tracing.left != UINT64_MAX) return tracing.left;
    return tracing.waits_for_clock ? ROUNDS_BY_CLOCK : 0;
}
