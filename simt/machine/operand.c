/* Resolves the operands of an instruction to places in the frame. */
#include <string.h>

#include "decoder.h"

/* ---- operands */

bool simt_preset(struct decoder *decoder, struct preset preset, slot *result) {
    const struct preset *found = simt_preset_find(decoder->layout, &preset);
    if (!found) return !(decoder->out_of_memory = true);
    *result = found->slot;
    return true;
}

static bool constant(struct decoder *decoder, enum width width, uint64_t bits, slot *result) {
    if (width == WIDTH_PREDICATE) bits = bits != 0;
    if (width == WIDTH_16) bits = (uint16_t)bits;
    if (width == WIDTH_32) bits = (uint32_t)bits;
    return simt_preset(decoder, (struct preset){.kind = PRESET_CONSTANT, .width = width, .bits = bits}, result);
}

static bool special(struct decoder *decoder, const char *name, enum width width, slot *result) {
    struct preset preset = {.kind = PRESET_SPECIAL};
    decoder->image->has_reserved |= strncmp(name, "reserved_smem", strlen("reserved_smem")) == 0;
    if (!simt_special_find(name, &preset.width, &preset.bits)) return false;
    if (width == WIDTH_16 && simt_special_has_low_bits(decoder->instruction, name)) preset.width = WIDTH_16;
    return preset.width == width && simt_preset(decoder, preset, result);
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
        *address = simt_function_address(operand->function);
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
