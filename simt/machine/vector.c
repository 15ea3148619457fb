/* The registers that loads, stores and atomics move: one, or the elements of a vector. */
#include "access.h"
#include "decoder.h"

/* The value to store, truncated to its size. */
void simt_collect_values(const struct path *path, const struct vector_code *vector, uint64_t *values) {
    uint64_t bits = UINT64_MAX >> (64 - 8 * vector->element_nbytes);
    for (uint32_t element = 0; element < vector->count; element++) {
        const unsigned char *lanes = slot_lanes(path, vector->slots[element]);
        enum width width = vector->widths[element];
        uint64_t *to = values + element * SIMT_LANES;
        if (width == WIDTH_32)
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
                to[lane] = ((const uint32_t *)(const void *)lanes)[lane] & bits;
        else
            for (uint32_t lane = 0; lane < SIMT_LANES; lane++) to[lane] = lane_get(lanes, width, lane) & bits;
    }
}

/* A register of 128 bits, as the vector that it is. */
static bool decode_wide(struct decoder *decoder, struct code *code, const struct operand *operand) {
    struct vector_code *vector = &code->memory.vector;
    if (operand->kind != OPERAND_REGISTER && operand->kind != OPERAND_SINK) return false;
    if (!simt_operand(decoder, operand, TYPE_B128, &vector->slots[0])) return false;
    vector->element_nbytes = sizeof(uint64_t);
    vector->count = HALVES;
    vector->sinks = operand->kind == OPERAND_SINK ? 3 : 0;
    vector->widths[0] = vector->widths[1] = WIDTH_64;
    vector->slots[1] = vector->slots[0] + HALF_REGISTER;
    return true;
}

bool simt_decode_vector(struct decoder *decoder, struct code *code, const struct operand *operand) {
    struct vector_code *vector = &code->memory.vector;
    enum type type = simt_last_type(decoder->instruction);
    uint32_t nbytes = simt_type_nbytes(type);
    if (type == TYPE_B128) return decode_wide(decoder, code, operand);
    bool is_vector = operand->kind == OPERAND_VECTOR;
    uint32_t count = is_vector ? operand->element_count : 1;
    if (nbytes == 0 || nbytes > 8 || type == TYPE_PRED) return false;
    if (count != 1 && count != 2 && count != 4 && count != 8) return false;
    vector->element_nbytes = (uint8_t)nbytes;
    vector->count = (uint8_t)count;
    code->memory.is_signed = type >= TYPE_S8 && type <= TYPE_S64;
    for (uint32_t e = 0; e < count; e++) {
        const struct operand *element = is_vector ? &operand->elements[e] : operand;
        if (element->kind == OPERAND_SINK) vector->sinks |= (uint8_t)(1u << e);
        vector->widths[e] = simt_operand_width(decoder, element, simt_width(type));
        if (vector->widths[e] == WIDTH_PREDICATE) return false;
        if (!simt_operand(decoder, element, type, &vector->slots[e])) return false;
    }
    return true;
}
