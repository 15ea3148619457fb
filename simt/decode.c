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

/* ---- constants */

static void fill(unsigned char *lanes, enum width width, uint64_t bits) {
    const uint16_t bits16 = (uint16_t)bits;
    const uint32_t bits32 = (uint32_t)bits, mask = bits ? UINT32_MAX : 0;
    for (size_t l = 0; l < SIMT_LANES; l++) switch (width) {
        case WIDTH_PREDICATE: memcpy(lanes, &mask, sizeof mask); break;
        case WIDTH_16: memcpy(lanes + l * sizeof bits16, &bits16, sizeof bits16); break;
        case WIDTH_32: memcpy(lanes + l * sizeof bits32, &bits32, sizeof bits32); break;
        case WIDTH_64: memcpy(lanes + l * sizeof bits, &bits, sizeof bits); break;
        }
}

/* A register's worth of lanes that all hold `bits`; the same constant is kept once. */
static bool constant(struct decoder *decoder, enum width width, uint64_t bits, slot *result) {
    enum { STEP = 64 };
    struct image *image = decoder->image;
    size_t nbytes = simt_width_nbytes(width);
    unsigned char lanes[8 * SIMT_LANES];
    fill(lanes, width, bits);
    size_t searched = image->constants_nbytes > 4096 ? image->constants_nbytes - 4096 : 0; /* the latest only */
    for (size_t at = searched / STEP * STEP; at + nbytes <= image->constants_nbytes; at += STEP)
        if (memcmp(image->constants + at, lanes, nbytes) == 0) {
            *result = slot_make(IN_CONSTANTS, at);
            return true;
        }
    size_t end = image->constants_nbytes + (nbytes + STEP - 1) / STEP * STEP;
    if (end > image->constants_capacity) {
        size_t capacity = 2 * end + 4096;
        unsigned char *grown = capacity >> SLOT_OFFSET_BITS ? NULL : realloc(image->constants, capacity);
        if (!grown) return !(decoder->out_of_memory = true);
        image->constants = grown;
        image->constants_capacity = capacity;
    }
    memset(image->constants + image->constants_nbytes, 0, end - image->constants_nbytes);
    memcpy(image->constants + image->constants_nbytes, lanes, nbytes);
    *result = slot_make(IN_CONSTANTS, image->constants_nbytes);
    image->constants_nbytes = end;
    return true;
}

/* ---- operands */

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
    enum width width;
    size_t offset;
    switch (operand->kind) {
    case OPERAND_REGISTER: *result = slot_make(IN_FRAME, decoder->layout->registers[operand->index]); return true;
    case OPERAND_SINK: *result = slot_make(IN_FRAME, decoder->layout->sink); return true;
    case OPERAND_SPECIAL:
        if (!simt_special_find(operand->special, &width, &offset)) return false;
        if (width != simt_width(type)) return false;
        *result = slot_make(IN_WARP, offset);
        return true;
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
        address->base = slot_make(IN_FRAME, decoder->layout->registers[operand->index]);
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

/* A source predicate may be negated: !%p.  Only guards are, in what compilers write. */
bool simt_decode_lanes(struct decoder *decoder, struct code *code) {
    const struct operand *operands[LANE_OPERANDS_MAX];
    enum width widths[LANE_OPERANDS_MAX];
    struct lane_operation operation;
    uint32_t count;
    if (!flatten(decoder->instruction, operands, &count)) return false;
    enum width otherwise = simt_width(simt_last_type(decoder->instruction));
    for (uint32_t o = 0; o < count; o++) {
        widths[o] = simt_operand_width(decoder, operands[o], otherwise);
        if (operands[o]->is_negated) return false;
    }
    if (!simt_lanes_find(decoder->instruction, widths, &operation) || operation.count != count) return false;
    for (uint32_t o = 0; o < count; o++)
        if (!simt_operand(decoder, operands[o], operation.types[o], &code->operands[o])) return false;
    const slot carry = slot_make(IN_FRAME, decoder->layout->carry);
    if (operation.reads_carry) code->operands[count++] = carry;
    if (operation.writes_carry) code->operands[count++] = carry;
    code->operand_count = (uint8_t)count;
    code->lanes = operation.function;
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

bool simt_decode(struct image *image, const struct function *function) {
    struct decoder decoder = {.image = image, .function = function, .layout = simt_layout(image, function)};
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
            code->guard = slot_make(IN_FRAME, decoder.layout->registers[instruction->guard]);
        }
        if (decoder.out_of_memory) return false;
    }
    return true;
}
