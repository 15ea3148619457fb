/* st.async and red.async: each lane's registers to the shared memory of a block of the cluster, whose mbarrier counts the
 * bytes.  They belong to the generic proxy. */
#include "access.h"
#include "copier.h"
#include "decoder.h"
#include "element.h"
#include "mbarrier.h"

enum { SEND_NBYTES_MAX = 16 };

/* A generic address becomes one in shared memory.  false: it is elsewhere. */
static bool to_shared(const struct copier *copier, uint64_t *address) {
    const struct memory *memory = &copier->warp->block->launch->machine->memory;
    const uint64_t generic = *address;
    return !copier->code->memory.is_generic || simt_space_of(memory, address) == SIMT_SHARED ||
           simt_copier_stop(copier, SIMT_FINDING_BOUNDS, generic, "an address that is not in shared memory");
}

static void collect_bytes(const struct copier *copier, unsigned char *bytes) {
    const struct vector_code *vector = &copier->code->memory.vector;
    for (uint32_t e = 0; e < vector->count; e++)
        element_store(bytes + e * vector->element_nbytes, vector->element_nbytes,
                      lane_get(slot_lanes(copier->path, vector->slots[e]), vector->widths[e], copier->lane));
}

static void deliver(const struct copier *copier, const struct side *to) {
    _Alignas(uint64_t) unsigned char bytes[SEND_NBYTES_MAX];
    const struct side from = {.span.nbytes = to->span.nbytes, .host = bytes};
    bool has_changed = false;
    collect_bytes(copier, bytes);
    if (!copier->code->copy.scalar) simt_side_copy(to, &from);
    else
        element_update(to->host, to->span.nbytes, copier->code->copy.scalar,
                       element_load(bytes, to->span.nbytes), 0, &has_changed);
}

static bool send(const struct copier *copier, uint64_t address, uint64_t mbarrier) {
    const struct vector_code *vector = &copier->code->memory.vector;
    const uint32_t nbytes = (uint32_t)vector->element_nbytes * vector->count;
    if (!to_shared(copier, &address) || !to_shared(copier, &mbarrier)) return false;
    if (address % nbytes)
        return simt_copier_stop(copier, SIMT_FINDING_MISALIGNED, address,
                                "the address must be a multiple of the number of bytes");
    struct side to = {.span = {SIMT_SHARED, address, nbytes}};
    struct side counter = {.span = {SIMT_SHARED, mbarrier, MBARRIER_NBYTES}};
    simt_copy copy = {.engine = SIMT_ENGINE_MBARRIER,
                      .lane = copier->lane,
                      .to = to.span,
                      .is_reduction = copier->code->copy.scalar != NULL,
                      .is_generic = true,
                      .mbarrier = mbarrier};
    if (!simt_side_locate(copier, &to, true) || !simt_side_complete(copier, &copy, &counter)) return false;
    simt_copier_notify(copier, &copy);
    deliver(copier, &to);
    return true;
}

static enum outcome execute_send(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct copier copier = {warp, path, code, mask, 0};
    uint64_t addresses[SIMT_LANES], mbarriers[SIMT_LANES];
    simt_addresses(path, &code->memory.address, addresses);
    simt_addresses(path, &code->copy.mbarrier, mbarriers);
    SIMT_FOR_EACH_LANE (lane, mask) {
        copier.lane = lane;
        if (!send(&copier, addresses[lane], mbarriers[lane])) return OUTCOME_LEFT;
    }
    return OUTCOME_NEXT;
}

bool simt_decode_send(struct decoder *decoder, struct code *code) {
    code->execute = execute_send;
    code->copy.scalar = code->memory.scalar;
    return simt_address(decoder, &decoder->instruction->operands[2], &code->copy.mbarrier);
}
