/* Instructions that are nothing but a lane operation. */
#include "decoder.h"

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

/* The opposite of a source predicate: made again each time, where the sink is. */
static enum outcome execute_negated(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    const uint32_t *predicate = slot_lanes(path, code->negated.predicate);
    *(uint32_t *)slot_lanes(path, code->negated.opposite) = ~*predicate;
    code->negated.lanes((struct lane_operands){path->frame->registers, &code->call}, mask);
    (void)warp;
    return OUTCOME_NEXT;
}

/* !%p, as an operand that is read; one at most. */
static bool negate(struct decoder *decoder, struct code *code, slot *operand) {
    if (code->execute == execute_negated) return false;
    code->negated.lanes = code->lanes;
    code->lanes = NULL;
    code->execute = execute_negated;
    code->negated.predicate = *operand;
    code->negated.opposite = *operand = decoder->layout->sink;
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
    code->is_lane_operation = true;
    code->destinations = (uint8_t)operation.destinations;
    code->reads_carry = operation.reads_carry;
    code->writes_carry = operation.writes_carry;
    for (uint32_t o = 0; o < operation.count; o++) {
        if (!operands[o]->is_negated) continue;
        if (o < operation.destinations || operation.types[o] != TYPE_PRED) return false;
        if (!negate(decoder, code, &code->call.slots[o])) return false;
    }
    return true;
}
