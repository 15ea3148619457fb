/* Moves that are more than a copy of lanes: addresses of variables, clocks, packing and unpacking; and generic
 * addresses. */
#include <string.h>

#include "atomics.h"
#include "decoder.h"

/* ---- mov */

/* The simulator has no clock: the clock registers count the block's instructions. */
static enum outcome execute_clock(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    unsigned char *to = slot_lanes(path, code->call.slots[0]);
    uint64_t now = warp->block->tally.instructions >> code->clock.shift;
    if (code->clock.is_narrow) now = (uint32_t)now;
    SIMT_FOR_EACH_LANE (lane, mask) lane_set(to, code->widths[0], lane, now);
    return OUTCOME_NEXT;
}

static enum outcome execute_address(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    uint64_t addresses[SIMT_LANES];
    (void)warp;
    simt_addresses(path, &code->address_move.address, addresses);
    unsigned char *to = slot_lanes(path, code->call.slots[0]);
    SIMT_FOR_EACH_LANE (lane, mask)
        lane_set(to, code->widths[0], lane, addresses[lane] + code->address_move.window);
    return OUTCOME_NEXT;
}

/* operands[0] is the whole, code->parts its parts from the low end. */
static enum outcome execute_pack(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp;
    unsigned char *whole = slot_lanes(path, code->call.slots[0]);
    uint32_t bits = 8u * code->parts.element_nbytes;
    SIMT_FOR_EACH_LANE (lane, mask) {
        uint64_t value = 0;
        for (uint32_t e = 0; e < code->parts.count; e++) {
            uint64_t part = lane_get(slot_lanes(path, code->parts.slots[e]), code->parts.widths[e], lane);
            value |= (part & (UINT64_MAX >> (64 - bits))) << e * bits;
        }
        lane_set(whole, code->widths[0], lane, value);
    }
    return OUTCOME_NEXT;
}

static enum outcome execute_unpack(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp;
    unsigned char *whole = slot_lanes(path, code->call.slots[0]);
    uint32_t bits = 8u * code->parts.element_nbytes;
    SIMT_FOR_EACH_LANE (lane, mask) {
        uint64_t value = lane_get(whole, code->widths[0], lane);
        for (uint32_t e = 0; e < code->parts.count; e++)
            if (!(code->parts.sinks >> e & 1))
                lane_set(slot_lanes(path, code->parts.slots[e]), code->parts.widths[e], lane,
                         value >> e * bits & (UINT64_MAX >> (64 - bits)));
    }
    return OUTCOME_NEXT;
}

/* Parts of a register of 128 bits, which is two of 64. */
struct part_place {
    unsigned char *half;
    uint32_t shift;
};

static struct part_place place_of_part(const struct path *path, const struct code *code, uint32_t part) {
    const uint32_t at = 8u * code->parts.element_nbytes * part;
    return (struct part_place){slot_lanes(path, code->call.slots[0] + at / 64 * HALF_REGISTER), at % 64};
}

static enum outcome execute_pack_wide(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp;
    for (uint32_t e = 0; e < code->parts.count; e++) {
        const struct part_place place = place_of_part(path, code, e);
        SIMT_FOR_EACH_LANE (lane, mask) {
            const uint64_t part = lane_get(slot_lanes(path, code->parts.slots[e]), code->parts.widths[e], lane);
            const uint64_t below = place.shift ? lane_get(place.half, WIDTH_64, lane) : 0;
            lane_set(place.half, WIDTH_64, lane, part << place.shift | below);
        }
    }
    return OUTCOME_NEXT;
}

static enum outcome execute_unpack_wide(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp;
    for (uint32_t e = 0; e < code->parts.count; e++) {
        const struct part_place place = place_of_part(path, code, e);
        if (code->parts.sinks >> e & 1) continue;
        SIMT_FOR_EACH_LANE (lane, mask)
            lane_set(slot_lanes(path, code->parts.slots[e]), code->parts.widths[e], lane,
                     lane_get(place.half, WIDTH_64, lane) >> place.shift);
    }
    return OUTCOME_NEXT;
}

static bool decode_parts(struct decoder *decoder, struct code *code, const struct operand *whole,
                         const struct operand *parts) {
    static const enum type types[] = {[1] = TYPE_B8, [2] = TYPE_B16, [4] = TYPE_B32, [8] = TYPE_B64};
    uint32_t nbytes = simt_type_nbytes(simt_last_type(decoder->instruction));
    uint32_t count = parts->element_count;
    if (nbytes == 16) {
        if (whole->kind != OPERAND_REGISTER) return false;
        code->execute = code->execute == execute_pack ? execute_pack_wide : execute_unpack_wide;
    }
    code->parts.count = (uint8_t)count;
    code->parts.element_nbytes = (uint8_t)(nbytes / count);
    code->widths[0] = simt_operand_width(decoder, whole, simt_width(simt_last_type(decoder->instruction)));
    if (!simt_operand(decoder, whole, simt_last_type(decoder->instruction), &code->call.slots[0])) return false;
    for (uint32_t e = 0; e < count; e++) {
        enum type type = types[code->parts.element_nbytes];
        if (parts->elements[e].kind == OPERAND_SINK) code->parts.sinks |= (uint8_t)(1u << e);
        code->parts.widths[e] = simt_operand_width(decoder, &parts->elements[e], simt_width(type));
        if (!simt_operand(decoder, &parts->elements[e], type, &code->parts.slots[e])) return false;
    }
    return true;
}

static bool decode_address_of(struct decoder *decoder, struct code *code, uint64_t window) {
    const struct operand *operands = decoder->instruction->operands;
    struct operand bracketed = operands[1];
    bracketed.is_bracketed = true;
    code->execute = execute_address;
    code->address_move.window = window;
    code->widths[0] = simt_operand_width(decoder, &operands[0], WIDTH_64);
    if (!simt_address(decoder, &bracketed, &code->address_move.address)) return false;
    if (decoder->layout->copies_inputs && operands[1].variable->is_parameter) {
        code->address_move.address.is_local = true;
        code->address_move.address.offset += decoder->layout->copy_offset;
    }
    return simt_operand(decoder, &operands[0], TYPE_B64, &code->call.slots[0]);
}

struct clock {
    const char *name;
    enum width width;
    uint8_t shift;
};

static const struct clock *find_clock(const struct operand *operand) {
    static const struct clock clocks[] = {
        {"clock", WIDTH_32, 0},          {"clock_hi", WIDTH_32, 32},       {"clock64", WIDTH_64, 0},
        {"globaltimer_lo", WIDTH_32, 0}, {"globaltimer_hi", WIDTH_32, 32}, {"globaltimer", WIDTH_64, 0}};
    for (size_t c = 0; operand->kind == OPERAND_SPECIAL && c < sizeof clocks / sizeof *clocks; c++)
        if (strcmp(clocks[c].name, operand->special) == 0) return &clocks[c];
    return NULL;
}

static bool decode_clock(struct decoder *decoder, struct code *code, const struct clock *clock) {
    const struct operand *to = &decoder->instruction->operands[0];
    code->execute = execute_clock;
    code->clock.shift = clock->shift;
    code->clock.is_narrow = clock->width == WIDTH_32;
    code->widths[0] = simt_operand_width(decoder, to, WIDTH_64);
    return simt_operand(decoder, to, TYPE_B64, &code->call.slots[0]);
}

/* A special register as a predicate: %is_explicit_cluster. */
static enum outcome execute_truth(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp;
    SIMT_FOR_EACH_LANE (lane, mask)
        lane_set(slot_lanes(path, code->call.slots[0]), WIDTH_PREDICATE, lane,
                 lane_get(slot_lanes(path, code->call.slots[1]), WIDTH_32, lane) != 0);
    return OUTCOME_NEXT;
}

static bool decode_truth(struct decoder *decoder, struct code *code) {
    const struct operand *operands = decoder->instruction->operands;
    code->execute = execute_truth;
    return !strcmp(operands[1].special, "is_explicit_cluster") &&
           simt_operand(decoder, &operands[1], TYPE_U32, &code->call.slots[1]) &&
           simt_operand(decoder, &operands[0], TYPE_PRED, &code->call.slots[0]);
}

static bool is_in_frame(const struct operand *operand) {
    return operand->kind == OPERAND_ADDRESS && operand->variable &&
           (operand->variable->space == SIMT_LOCAL || operand->variable->space == SIMT_PARAMETER);
}

static bool decode_move(struct decoder *decoder, struct code *code) {
    const struct operand *operands = decoder->instruction->operands;
    if (decoder->instruction->operand_count != 2) return false;
    if (operands[0].kind == OPERAND_VECTOR) {
        code->execute = execute_unpack;
        return decode_parts(decoder, code, &operands[1], &operands[0]);
    }
    if (operands[1].kind == OPERAND_VECTOR) {
        code->execute = execute_pack;
        return decode_parts(decoder, code, &operands[0], &operands[1]);
    }
    if (operands[1].kind == OPERAND_SPECIAL && simt_last_type(decoder->instruction) == TYPE_PRED)
        return decode_truth(decoder, code);
    if (is_in_frame(&operands[1])) return decode_address_of(decoder, code, 0);
    const struct clock *clock = find_clock(&operands[1]);
    return clock ? decode_clock(decoder, code, clock) : simt_decode_lanes(decoder, code);
}

/* ---- generic addresses */

static bool window_of(const struct instruction *instruction, uint64_t *window) {
    *window = 0;
    for (uint32_t m = 0; m < instruction->modifier_count; m++) {
        const char *modifier = instruction->modifiers[m];
        if (strncmp(modifier, "shared", 6) == 0) *window = SIMT_SHARED_WINDOW;
        else if (strcmp(modifier, "local") == 0) *window = SIMT_LOCAL_WINDOW;
        else if (strncmp(modifier, "param", 5) == 0) *window = SIMT_PARAMETER_WINDOW;
        else if (strcmp(modifier, "global") && strcmp(modifier, "const") && strcmp(modifier, "to") &&
                 strcmp(modifier, "u64"))
            return false;
    }
    return true;
}

/* An addition of what the window begins at. */
static bool decode_to_generic(struct decoder *decoder, struct code *code) {
    const struct operand *operands = decoder->instruction->operands;
    uint64_t window;
    if (decoder->instruction->operand_count != 2 || !window_of(decoder->instruction, &window)) return false;
    if (is_in_frame(&operands[1])) return decode_address_of(decoder, code, window);
    struct preset offset = {.kind = PRESET_CONSTANT,
                           .width = WIDTH_64,
                           .bits = simt_has(decoder->instruction, "to") ? -window : window};
    code->lanes = window ? simt_lanes_plain("add", "u64", 3) : simt_lanes_plain("mov", "u64", 2);
    return simt_operand_width(decoder, &operands[0], WIDTH_64) == WIDTH_64 &&
           simt_operand_width(decoder, &operands[1], WIDTH_64) == WIDTH_64 &&
           simt_operand(decoder, &operands[0], TYPE_U64, &code->call.slots[0]) &&
           simt_operand(decoder, &operands[1], TYPE_U64, &code->call.slots[1]) &&
           (!window || simt_preset(decoder, offset, &code->call.slots[2]));
}

static bool is_window(uint64_t address) {
    return address >> 32 == SIMT_SHARED_WINDOW >> 32 || address >> 32 == SIMT_LOCAL_WINDOW >> 32 ||
           address >> 32 == SIMT_PARAMETER_WINDOW >> 32;
}

static enum outcome execute_is_space(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    unsigned char *to = slot_lanes(path, code->call.slots[0]), *from = slot_lanes(path, code->call.slots[1]);
    const struct memory *memory = &warp->block->launch->machine->memory;
    SIMT_FOR_EACH_LANE (lane, mask) {
        uint64_t address = lane_get(from, code->widths[1], lane);
        const struct allocation *allocation = is_window(address) ? NULL : simt_memory_find(memory, address);
        bool is_constant = allocation && allocation->is_constant;
        bool is_it = code->space_test.window ? address >> 32 == code->space_test.window >> 32
                                             : !is_window(address) && is_constant == code->space_test.is_constant;
        lane_set(to, WIDTH_PREDICATE, lane, is_it);
    }
    return OUTCOME_NEXT;
}

static bool decode_is_space(struct decoder *decoder, struct code *code) {
    const struct operand *operands = decoder->instruction->operands;
    uint64_t *window = &code->space_test.window;
    if (decoder->instruction->operand_count != 2 || !window_of(decoder->instruction, window)) return false;
    code->execute = execute_is_space;
    code->space_test.is_constant = simt_has(decoder->instruction, "const");
    code->widths[1] = simt_operand_width(decoder, &operands[1], WIDTH_64);
    return simt_operand(decoder, &operands[0], TYPE_PRED, &code->call.slots[0]) &&
           simt_operand(decoder, &operands[1], TYPE_U64, &code->call.slots[1]);
}

const struct instruction_kind simt_move_kinds[] = {
    {"mov", decode_move}, {"cvta", decode_to_generic}, {"isspacep", decode_is_space}, {NULL, NULL}};
