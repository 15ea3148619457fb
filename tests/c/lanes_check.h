/* What the tests of lane operations share: instructions from text, registers, random operands, counting. */
#ifndef LANES_CHECK_H
#define LANES_CHECK_H

#include <stdio.h>
#include <string.h>

#include "machine/lanes.h"

enum { LANES = SIMT_LANES, ROUNDS = 300 };

static int failures, checks;

/* ---- instructions, registers */

struct instruction_text {
    char words[64];
    struct instruction instruction;
    struct operand pair[2];
};

/* Cuts the opcode; operands are registers, or immediates, whose widths do not count. */
static const struct instruction *parse(struct instruction_text *text, const char *opcode, uint32_t count,
                                       bool is_pair, enum operand_kind kind) {
    memset(text, 0, sizeof *text);
    snprintf(text->words, sizeof text->words, "%s", opcode);
    struct instruction *instruction = &text->instruction;
    instruction->opcode = opcode;
    instruction->guard = -1;
    instruction->base = strtok(text->words, ".");
    for (char *word; (word = strtok(NULL, "."));)
        instruction->modifiers[instruction->modifier_count++] = word;
    instruction->operand_count = count - is_pair;
    for (uint32_t o = 0; o < instruction->operand_count; o++) instruction->operands[o].kind = kind;
    if (is_pair) {
        text->pair[0].kind = text->pair[1].kind = kind;
        instruction->operands[0].kind = OPERAND_PAIR;
        instruction->operands[0].elements = text->pair;
        instruction->operands[0].element_count = 2;
    }
    return instruction;
}

static bool find_with(const char *opcode, uint32_t count, bool is_pair, const enum width *widths,
                      struct lane_operation *operation) {
    struct instruction_text text;
    enum operand_kind kind = widths ? OPERAND_REGISTER : OPERAND_IMMEDIATE;
    return simt_lanes_find(parse(&text, opcode, count, is_pair, kind), widths, operation);
}

/* Finds an operation, and finds it again for registers of the widths that it says. */
static bool find(const char *opcode, uint32_t count, bool is_pair, struct lane_operation *operation) {
    enum width widths[LANE_OPERANDS_MAX];
    bool is_found = find_with(opcode, count, is_pair, NULL, operation);
    for (uint32_t o = 0; is_found && o < count; o++) widths[o] = simt_width(operation->types[o]);
    if (is_found)
        is_found = find_with(opcode, count, is_pair, widths, operation) && operation->count == count;
    if (!is_found) failures++, fprintf(stderr, "lanes: %s is not known\n", opcode);
    return is_found;
}

static void put(void *lanes, enum width width, uint32_t lane, uint64_t value) {
    uint32_t bit = (uint32_t)1 << lane;
    if (width == WIDTH_PREDICATE) *(uint32_t *)lanes = (*(uint32_t *)lanes & ~bit) | (value & 1 ? bit : 0);
    if (width == WIDTH_16) ((uint16_t *)lanes)[lane] = (uint16_t)value;
    if (width == WIDTH_32) ((uint32_t *)lanes)[lane] = (uint32_t)value;
    if (width == WIDTH_64) ((uint64_t *)lanes)[lane] = value;
}

static uint64_t get(const void *lanes, enum width width, uint32_t lane) {
    if (width == WIDTH_PREDICATE) return *(const uint32_t *)lanes >> lane & 1;
    if (width == WIDTH_16) return ((const uint16_t *)lanes)[lane];
    if (width == WIDTH_32) return ((const uint32_t *)lanes)[lane];
    return ((const uint64_t *)lanes)[lane];
}

enum { VALUES = LANE_SLOTS_MAX, REGISTER_NBYTES = LANES * sizeof(uint64_t) };

/* values[o][lane] of the operands, and behind them of the carry flags: those of the destinations are
 * replaced.  `same`: the source whose array is the destination's too; 0: none. */
static void execute(const struct lane_operation *operation, uint32_t mask, uint64_t values[][LANES],
                    uint32_t same) {
    _Alignas(LANE_ALIGNMENT) unsigned char frame[VALUES * REGISTER_NBYTES] = {0};
    struct lane_call call = {.context = operation->context};
    unsigned char *operands[VALUES] = {NULL};
    enum width widths[VALUES] = {WIDTH_PREDICATE};
    uint32_t count = operation->count + operation->reads_carry + operation->writes_carry;
    for (uint32_t o = 0; o < count; o++) {
        call.slots[o] = o * REGISTER_NBYTES;
        widths[o] = o < operation->count ? simt_width(operation->types[o]) : WIDTH_PREDICATE;
    }
    if (operation->reads_carry && operation->writes_carry) call.slots[count - 1] = call.slots[count - 2];
    if (same) call.slots[0] = call.slots[same];
    for (uint32_t o = 0; o < count; o++) operands[o] = frame + call.slots[o];
    for (uint32_t o = 0; o < count; o++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            if (!same || o) put(operands[o], widths[o], lane, values[o][lane]);
    operation->function((struct lane_operands){frame, &call}, mask);
    for (uint32_t o = 0; o < count; o++)
        for (uint32_t lane = 0; lane < LANES; lane++) values[o][lane] = get(operands[o], widths[o], lane);
}

static void expect(const char *opcode, const uint64_t *sources, uint64_t expected, uint64_t got) {
    checks++;
    if (expected == got) return;
    if (failures++ < 40)
        fprintf(stderr, "lanes: %s of 0x%llx, 0x%llx, 0x%llx, ...: 0x%llx, should be 0x%llx\n", opcode,
                (unsigned long long)sources[0], (unsigned long long)sources[1],
                (unsigned long long)sources[2], (unsigned long long)got, (unsigned long long)expected);
}

/* ---- operands: edges and random bits */

static uint64_t state = 1;

static uint64_t random_bits(void) {
    state = state * 6364136223846793005 + 1442695040888963407;
    uint64_t high = state >> 32;
    state = state * 6364136223846793005 + 1442695040888963407;
    return high << 32 | state >> 32;
}

static uint64_t edge(const uint64_t *edges, size_t count) {
    return edges[random_bits() >> 33 & (count - 1)];
}

static uint64_t random_integer(int bits) {
    static const uint64_t edges[8] = {0, 1, 2, 7, UINT64_MAX, 31, 32, 255};
    uint64_t choice = random_bits() >> 60, value = random_bits();
    if (choice < 4) value = edge(edges, 8);
    else if (choice < 6) value = ((uint64_t)1 << (bits - 1)) - (choice & 1);
    else if (choice < 9) value >>= random_bits() >> 58;
    return bits < 64 ? value & (((uint64_t)1 << bits) - 1) : value;
}

static uint64_t random_f32(void) {
    static const uint64_t edges[32] = {
        0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x00800001,
        0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x40000000, 0x3f000000, 0x40200000, 0x4b000001,
        0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000,
        0x7fc00000, 0xffc00001, 0x7f800001, 0x33800000, 0x477fe000, 0x33000000, 0x42fe0000, 0x7e800001};
    uint64_t choice = random_bits() >> 61, bits = random_bits() & 0xffffffff;
    if (choice < 3) return edge(edges, 32);
    if (choice < 6) bits = (bits & 0x807fffff) | (uint64_t)(110 + (random_bits() >> 59)) << 23;
    return choice & 1 ? bits & 0xfffff000 : bits;
}

static uint64_t random_f64(void) {
    static const uint64_t edges[32] = {0,
                                       0x8000000000000000,
                                       1,
                                       0x8000000000000001,
                                       0x000fffffffffffff,
                                       0x0010000000000000,
                                       0x8010000000000000,
                                       0x0010000000000001,
                                       0x3ff0000000000000,
                                       0xbff0000000000000,
                                       0x3ff0000000000001,
                                       0x3fefffffffffffff,
                                       0x4000000000000000,
                                       0x3fe0000000000000,
                                       0x4004000000000000,
                                       0x4330000000000001,
                                       0x41e0000000000000,
                                       0xc1e0000000000000,
                                       0x41f0000000000000,
                                       0x43e0000000000000,
                                       0xc3e0000000000000,
                                       0x43f0000000000000,
                                       0x7fefffffffffffff,
                                       0xffefffffffffffff,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff8000000000000,
                                       0xfff8000000001234,
                                       0x7ff0000000000001,
                                       0x3ca0000000000000,
                                       0x47efffffefffffff,
                                       0x36a0000000000000};
    uint64_t choice = random_bits() >> 61, bits = random_bits();
    if (choice < 3) return edge(edges, 32);
    if (choice < 6) bits = (bits & 0x800fffffffffffff) | (1000 + (random_bits() >> 58)) << 52;
    return choice & 1 ? bits & 0xffffffffe0000000 : bits;
}

static uint64_t random_of(enum type type) {
    switch (type) {
    case TYPE_F32: return random_f32();
    case TYPE_F64: return random_f64();
    default: return random_integer((int)simt_width_nbytes(simt_width(type)) / LANES * 8);
    }
}

static void fill(const struct lane_operation *operation, uint64_t values[][LANES]) {
    for (uint32_t o = 0; o < VALUES; o++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            values[o][lane] = o >= operation->count || operation->types[o] == TYPE_PRED
                                  ? random_bits() >> 63
                                  : random_of(operation->types[o]);
}

#endif
