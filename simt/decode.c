/* From instructions as the text has them to what the machine executes: operands become places in frames, constants
 * are filled over the lanes, and each instruction finds the function that does it. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

bool simt_has(const struct instruction *instruction, const char *modifier) {
    for (uint32_t m = 0; m < instruction->modifier_count; m++)
        if (strcmp(instruction->modifiers[m], modifier) == 0) return true;
    return false;
}

enum type simt_last_type(const struct instruction *instruction) {
    for (uint32_t m = instruction->modifier_count; m-- > 0;) {
        enum type type = simt_type_find(instruction->modifiers[m]);
        if (type != TYPE_NONE) return type;
    }
    return TYPE_NONE;
}

/* ---- operands */

bool simt_given(struct decoder *decoder, struct given given, slot *result) {
    const struct given *found = simt_given_find(decoder->layout, &given);
    if (!found) return !(decoder->out_of_memory = true);
    *result = found->slot;
    return true;
}

static bool constant(struct decoder *decoder, enum width width, uint64_t bits, slot *result) {
    if (width == WIDTH_PREDICATE) bits = bits != 0;
    if (width == WIDTH_16) bits = (uint16_t)bits;
    if (width == WIDTH_32) bits = (uint32_t)bits;
    return simt_given(decoder, (struct given){.kind = GIVEN_CONSTANT, .width = width, .bits = bits}, result);
}

static bool special(struct decoder *decoder, const char *name, enum width width, slot *result) {
    struct given given = {.kind = GIVEN_SPECIAL};
    return simt_special_find(name, &given.width, &given.bits) && given.width == width &&
           simt_given(decoder, given, result);
}

/* A float written in one format where another is read. */
static uint64_t immediate_bits(const struct operand *operand, enum type type) {
    float narrow;
    double wide;
    uint64_t bits = operand->bits;
    if (operand->immediate == IMMEDIATE_F32 && type == TYPE_F64) {
        uint32_t low = (uint32_t)bits;
        memcpy(&narrow, &low, sizeof narrow);
        wide = narrow;
        memcpy(&bits, &wide, sizeof bits);
    } else if (operand->immediate == IMMEDIATE_F64 && type == TYPE_F32) {
        memcpy(&wide, &bits, sizeof wide);
        narrow = (float)wide;
        uint32_t low;
        memcpy(&low, &narrow, sizeof low);
        bits = low;
    }
    return bits;
}

/* A name's value where it is the same for every thread: all but locals and parameters. */
static bool fixed_address(const struct decoder *decoder, const struct operand *operand, uint64_t *address) {
    if (operand->kind == OPERAND_FUNCTION) {
        *address = simt_function_address(decoder->image, operand->function);
        return true;
    }
    if (operand->kind != OPERAND_ADDRESS || operand->is_bracketed || operand->has_base_register) return false;
    if (operand->variable && (operand->variable->space == SIMT_LOCAL || operand->variable->space == SIMT_PARAMETER))
        return false;
    *address = operand->bits +
               (operand->variable ? simt_variable_address(decoder->image, operand->variable) : 0);
    return true;
}

enum width simt_operand_width(const struct decoder *decoder, const struct operand *operand, enum width otherwise) {
    if (operand->kind != OPERAND_REGISTER) return otherwise;
    return simt_width(decoder->function->registers[operand->index].type);
}

bool simt_operand(struct decoder *decoder, const struct operand *operand, enum type type, slot *result) {
    uint64_t bits;
    switch (operand->kind) {
    case OPERAND_REGISTER: *result = decoder->layout->registers[operand->index]; return true;
    case OPERAND_SINK: *result = decoder->layout->sink; return true;
    case OPERAND_SPECIAL: return special(decoder, operand->special, simt_width(type), result);
    case OPERAND_IMMEDIATE: return constant(decoder, simt_width(type), immediate_bits(operand, type), result);
    default:
        return fixed_address(decoder, operand, &bits) && constant(decoder, simt_width(type), bits, result);
    }
}

bool simt_address(struct decoder *decoder, const struct operand *operand, struct address_code *address) {
    if (operand->kind != OPERAND_ADDRESS) return false;
    *address = (struct address_code){.offset = operand->bits, .is_wide = true};
    if (operand->has_base_register) {
        enum width width = simt_width(decoder->function->registers[operand->index].type);
        if (width != WIDTH_32 && width != WIDTH_64) return false;
        address->has_base = true;
        address->is_wide = width == WIDTH_64;
        address->base = decoder->layout->registers[operand->index];
    } else if (operand->variable) {
        const struct variable *variable = operand->variable;
        address->offset += simt_variable_address(decoder->image, variable);
        address->is_kernel_parameter = variable->is_parameter && decoder->function->is_kernel;
        address->is_local = variable->space == SIMT_LOCAL;
        address->is_frame = !address->is_kernel_parameter &&
                            (variable->space == SIMT_LOCAL || variable->space == SIMT_PARAMETER);
    }
    return true;
}

/* ---- instructions */

static bool flatten(const struct instruction *instruction, const struct operand **operands, uint32_t *count) {
    *count = 0;
    for (uint32_t o = 0; o < instruction->operand_count; o++) {
        const struct operand *operand = &instruction->operands[o];
        bool is_pair = operand->kind == OPERAND_PAIR;
        for (uint32_t e = 0; e < (is_pair ? operand->element_count : 1); e++) {
            if (*count == LANE_OPERANDS_MAX) return false;
            operands[(*count)++] = is_pair ? &operand->elements[e] : operand;
        }
    }
    return true;
}

/* The opposite of a source predicate: made anew each time, where the sink is. */
static enum outcome execute_negated(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    const uint32_t *predicate = slot_lanes(path, code->vector[0]);
    *(uint32_t *)slot_lanes(path, code->vector[1]) = ~*predicate;
    code->negated((struct lane_operands){path->frame->registers, &code->call}, mask);
    (void)warp;
    return OUTCOME_NEXT;
}

/* !%p, as an operand that is read; one at most. */
static bool negate(struct decoder *decoder, struct code *code, slot *operand) {
    if (code->negated) return false;
    code->negated = code->lanes;
    code->lanes = NULL;
    code->execute = execute_negated;
    code->vector[0] = *operand;
    code->vector[1] = *operand = decoder->layout->sink;
    return true;
}

bool simt_decode_lanes(struct decoder *decoder, struct code *code) {
    const struct operand *operands[LANE_OPERANDS_MAX];
    enum width widths[LANE_OPERANDS_MAX];
    struct lane_operation operation;
    uint32_t count;
    if (!flatten(decoder->instruction, operands, &count)) return false;
    enum width otherwise = simt_width(simt_last_type(decoder->instruction));
    for (uint32_t o = 0; o < count; o++) widths[o] = simt_operand_width(decoder, operands[o], otherwise);
    if (!simt_lanes_find(decoder->instruction, widths, &operation) || operation.count != count) return false;
    for (uint32_t o = 0; o < count; o++)
        if (!simt_operand(decoder, operands[o], operation.types[o], &code->call.slots[o])) return false;
    if (operation.reads_carry) code->call.slots[count++] = decoder->layout->carry;
    if (operation.writes_carry) code->call.slots[count++] = decoder->layout->carry;
    code->call.context = operation.context;
    code->lanes = operation.function;
    for (uint32_t o = 0; o < operation.count; o++) {
        if (!operands[o]->is_negated) continue;
        if (o < operation.destinations || operation.types[o] != TYPE_PRED) return false;
        if (!negate(decoder, code, &code->call.slots[o])) return false;
    }
    return true;
}

static enum outcome execute_unsupported(struct warp *warp, struct path *path, const struct code *code,
                                        uint32_t mask) {
    simt_event event = simt_event_of(warp, path, mask);
    simt_find(&event, SIMT_FINDING_UNSUPPORTED, (uint32_t)__builtin_ctz(mask), 0,
              "the machine does not know the instruction '%s'", code->instruction->opcode);
    simt_stop(&event);
    return OUTCOME_LEFT;
}

static bool decode_kind(const struct instruction_kind *kinds, struct decoder *decoder, struct code *code,
                        bool *is_known) {
    for (; kinds->base; kinds++)
        if (strcmp(kinds->base, decoder->instruction->base) == 0) {
            *is_known = true;
            return kinds->decode(decoder, code);
        }
    return false;
}

static bool decode_instruction(struct decoder *decoder, struct code *code) {
    const struct instruction_kind *const kinds[] = {simt_control_kinds, simt_memory_kinds, simt_warp_kinds,
                                                    simt_barrier_kinds, simt_move_kinds};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        bool is_known = false;
        bool is_decoded = decode_kind(kinds[k], decoder, code, &is_known);
        if (is_known) return is_decoded;
    }
    return simt_decode_lanes(decoder, code);
}

/* Branches do not matter here: a path runs on until it stands at its own post-dominator. */
static void find_straight(struct image *image, const struct function *function) {
    for (uint32_t pc = function->begin; pc < function->end; pc++) {
        uint32_t meeting = image->codes[pc].reconvergence;
        if (meeting >= function->begin && meeting < function->end) image->codes[meeting].is_meeting = true;
    }
    for (uint32_t pc = function->end; pc-- > function->begin;) {
        struct code *code = &image->codes[pc];
        bool goes_on = pc + 1 < function->end && !code[1].is_meeting && code[1].straight < UINT8_MAX;
        if (code->lanes && !code->has_guard && !code->is_approximate)
            code->straight = (uint8_t)(1 + (goes_on ? code[1].straight : 0));
    }
}

bool simt_decode(struct image *image, const struct function *function) {
    struct layout *layout = &image->layouts[simt_layout(image, function) - image->layouts];
    struct decoder decoder = {.image = image, .function = function, .layout = layout};
    for (uint32_t pc = function->begin; pc < function->end; pc++) {
        const struct instruction *instruction = &image->module->instructions[pc];
        struct code *code = &image->codes[pc];
        decoder.instruction = instruction;
        decoder.pc = pc;
        if (!decode_instruction(&decoder, code))
            *code = (struct code){.execute = execute_unsupported};
        code->instruction = instruction;
        code->reconvergence = instruction->reconvergence;
        code->is_approximate = image->module->places[pc].approximate;
        if (instruction->guard >= 0) {
            code->has_guard = true;
            code->guard_is_negated = instruction->guard_is_negated;
            code->guard = decoder.layout->registers[instruction->guard];
        }
        if (decoder.out_of_memory) return false;
    }
    find_straight(image, function);
    return true;
}
