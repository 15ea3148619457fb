#include "atomics.h"

#include <pthread.h>

#include "element.h"

enum { RESULT, VALUE, COMPARE }; /* code->call.slots of 16 bytes; of vectors, the results, whose values are in memory.vector */

void simt_update_vector(struct path *path, struct request *request) {
    const struct code *code = request->code;
    const struct vector_code *vector = &code->memory.vector;
    uint64_t values[VECTOR_MAX * SIMT_LANES]; /* a result may replace one */
    simt_collect_values(path, vector, values);
    for (uint32_t e = 0; e < vector->count; e++) {
        SIMT_FOR_EACH_LANE (lane, request->lanes) {
            unsigned char *host = simt_request_host(request, lane) + e * vector->element_nbytes;
            const uint64_t old = element_update(host, vector->element_nbytes, code->memory.scalar, values[e * SIMT_LANES + lane],
                                                0, &request->has_changed);
            if (code->memory.has_result) lane_set(slot_lanes(path, code->call.slots[e]), code->widths[e], lane, old);
        }
    }
    simt_access_mark(request);
}

/* ---- 16 bytes */

/* C has no word for it.  Loads and stores move 16 bytes whole (element.h), so that they see all of an update. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void read_wide(const struct path *path, slot place, uint32_t lane, uint64_t halves[HALVES]) {
    for (slot h = 0; h < HALVES; h++) halves[h] = lane_get(slot_lanes(path, place + h * HALF_REGISTER), WIDTH_64, lane);
}

static bool is_same(const uint64_t a[HALVES], const uint64_t b[HALVES]) { return a[0] == b[0] && a[1] == b[1]; }

void simt_update_wide(struct path *path, struct request *request) {
    enum { NBYTES = HALVES * sizeof(uint64_t) };
    const struct code *code = request->code;
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        unsigned char *host = simt_request_host(request, lane);
        uint64_t old[HALVES], value[HALVES], compare[HALVES] = {0};
        read_wide(path, code->call.slots[VALUE], lane, value);
        if (code->memory.has_compare) read_wide(path, code->call.slots[COMPARE], lane, compare);
        pthread_mutex_lock(&lock);
        whole_load(host, NBYTES, old);
        const bool is_stored = !code->memory.has_compare || is_same(old, compare);
        if (is_stored) whole_store(host, NBYTES, value);
        pthread_mutex_unlock(&lock);
        request->has_changed |= is_stored && !is_same(old, value);
        for (slot h = 0; h < HALVES && code->memory.has_result; h++)
            lane_set(slot_lanes(path, code->call.slots[RESULT] + h * HALF_REGISTER), WIDTH_64, lane, old[h]);
    }
    simt_access_mark(request);
}

/* ---- decoding */

bool simt_decode_update_vector(struct decoder *decoder, struct code *code, uint32_t first) {
    const struct instruction *instruction = decoder->instruction;
    const struct operand *results = &instruction->operands[0];
    const enum type type = simt_last_type(instruction);
    if (instruction->operand_count < first + 2 || !simt_decode_vector(decoder, code, &instruction->operands[first + 1])) return false;
    code->memory.has_result = first > 0;
    for (uint32_t e = 0; e < code->memory.vector.count && first > 0; e++) {
        code->widths[e] = simt_operand_width(decoder, &results->elements[e], simt_width(type));
        if (!simt_operand(decoder, &results->elements[e], type, &code->call.slots[e])) return false;
    }
    return true;
}

static bool is_register(const struct operand *operand) { return operand->kind == OPERAND_REGISTER; }

bool simt_decode_update_wide(struct decoder *decoder, struct code *code, bool is_cas) {
    const struct operand *operands = decoder->instruction->operands;
    const struct operand *value = &operands[is_cas ? 3 : 2], *compare = &operands[2];
    code->memory.vector.element_nbytes = sizeof(uint64_t);
    code->memory.vector.count = HALVES;
    code->memory.has_result = is_register(&operands[0]);
    code->memory.has_compare = is_cas;
    return is_register(value) && is_register(compare) && simt_operand(decoder, value, TYPE_B128, &code->call.slots[VALUE]) &&
           simt_operand(decoder, compare, TYPE_B128, &code->call.slots[COMPARE]) &&
           simt_operand(decoder, &operands[0], TYPE_B128, &code->call.slots[RESULT]);
}
