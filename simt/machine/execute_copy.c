/* Asynchronous copies.  They are done at once; that their bytes are there for nobody before a wait tells so is what
 * the observers check. */
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "copier.h"
#include "decoder.h"
#include "element.h"
#include "mbarrier.h"

/* code->call.slots: */
enum { SIZE, IGNORED, MULTICAST };

enum { BULK_ALIGNMENT = 16 };

/* ---- cp.async: 4, 8 or 16 bytes of each lane */

/* How many bytes each lane reads.  false: one wants more than it writes. */
static bool read_sizes(const struct copier *copier, uint32_t sizes[SIMT_LANES]) {
    const struct code *code = copier->code;
    const uint32_t nbytes = code->memory.vector.element_nbytes;
    uint32_t ignored = 0;
    if (code->copy.is_ignored) ignored = *(const uint32_t *)slot_lanes(copier->path, code->call.slots[IGNORED]);
    if (code->copy.is_ignored_negated) ignored = ~ignored;
    SIMT_FOR_EACH_LANE (lane, copier->lanes) {
        sizes[lane] = nbytes;
        if (code->copy.has_size)
            sizes[lane] = ((const uint32_t *)slot_lanes(copier->path, code->call.slots[SIZE]))[lane];
        if (ignored >> lane & 1) sizes[lane] = 0;
        if (sizes[lane] > nbytes) {
            simt_copier_stop(copier, SIMT_FINDING_BOUNDS, 0, "cp.async is to read more bytes than it writes");
            return false;
        }
    }
    return true;
}

/* Lanes that read all of their bytes do so as a load would. */
static bool open_whole(const struct copier *copier, const uint64_t *addresses, uint32_t lanes) {
    struct request request;
    if (!lanes) return true;
    simt_request_begin(&request, copier->code, SIMT_LOAD, lanes);
    memcpy(request.addresses, addresses, sizeof request.addresses);
    request.space = SIMT_GLOBAL;
    request.is_asynchronous = true;
    return simt_access_open(copier->warp, copier->path, &request);
}

static bool open_destination(const struct copier *copier, struct request *request) {
    simt_request_begin(request, copier->code, SIMT_STORE, copier->lanes);
    simt_addresses(copier->path, &copier->code->memory.address, request->addresses);
    request->space = SIMT_SHARED;
    request->is_asynchronous = true;
    return simt_access_open(copier->warp, copier->path, request);
}

static bool copy_lane(const struct copier *copier, uint64_t source, uint64_t destination, uint32_t size) {
    struct side from = {.span = {SIMT_GLOBAL, source, size}};
    struct side to = {.span = {SIMT_SHARED, destination, copier->code->memory.vector.element_nbytes}};
    if (!simt_side_locate(copier, &from, false) || !simt_side_locate(copier, &to, true)) return false;
    simt_copier_notify(copier, &(simt_copy){.engine = SIMT_ENGINE_GROUP,
                                            .lane = copier->lane,
                                            .from = from.span,
                                            .to = to.span});
    simt_side_copy(&to, &from);
    return true;
}

static enum outcome execute_copy(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct copier copier = {warp, path, code, mask, (uint32_t)__builtin_ctz(mask)};
    uint32_t sizes[SIMT_LANES], whole = 0;
    uint64_t sources[SIMT_LANES];
    struct request destination;
    if (!read_sizes(&copier, sizes)) return OUTCOME_LEFT;
    SIMT_FOR_EACH_LANE (lane, mask)
        whole |= (uint32_t)(sizes[lane] == code->memory.vector.element_nbytes) << lane;
    simt_addresses(path, &code->copy.source, sources);
    if (!open_whole(&copier, sources, whole) || !open_destination(&copier, &destination)) return OUTCOME_LEFT;
    SIMT_FOR_EACH_LANE (lane, mask) {
        copier.lane = lane;
        if (!copy_lane(&copier, sources[lane], destination.addresses[lane], sizes[lane])) return OUTCOME_LEFT;
    }
    return OUTCOME_NEXT;
}

/* ---- cp.async.bulk and cp.reduce.async.bulk: any number of bytes of one lane */

static bool is_aligned(const struct copier *copier, const simt_span *span, const char *name) {
    char what[160];
    if (span->address % BULK_ALIGNMENT == 0 && span->nbytes % BULK_ALIGNMENT == 0) return true;
    snprintf(what, sizeof what, "copies %u bytes, %s 0x%llx of %s memory: both must be multiples of %d", span->nbytes,
             name, (unsigned long long)span->address, span->space == SIMT_SHARED ? "shared" : "global", BULK_ALIGNMENT);
    return simt_copier_stop(copier, SIMT_FINDING_MISALIGNED, span->address, what);
}

static void reduce_side(const struct copy_code *code, const struct side *to, const struct side *from) {
    const uint32_t nbytes = code->element_nbytes;
    bool has_changed = false;
    for (size_t b = 0; b < to->span.nbytes; b += nbytes)
        element_update(to->host + b, nbytes, code->scalar, element_load(from->host + b, nbytes), 0, &has_changed);
}

/* `target`: 1 + the rank of the block that gets the bytes; 0: as the addresses say. */
static bool copy_bulk(const struct copier *copier, simt_copy copy, uint64_t target) {
    const struct copy_code *code = &copier->code->copy;
    const uint64_t rank = target << SIMT_RANK_SHIFT, offset = (UINT64_C(1) << SIMT_RANK_SHIFT) - 1;
    struct side mbarrier = {.span = {SIMT_SHARED, copy.mbarrier, MBARRIER_NBYTES}};
    if (target) {
        copy.to.address = (copy.to.address & offset) | rank;
        mbarrier.span.address = copy.mbarrier = (copy.mbarrier & offset) | rank;
    }
    struct side from = {.span = copy.from}, to = {.span = copy.to};
    if (!is_aligned(copier, &copy.from, "from") || !is_aligned(copier, &copy.to, "to")) return false;
    if (!simt_side_locate(copier, &from, false) || !simt_side_locate(copier, &to, true)) return false;
    if (code->engine == SIMT_ENGINE_MBARRIER && !simt_side_complete(copier, &copy, &mbarrier)) return false;
    simt_copier_notify(copier, &copy);
    if (code->scalar) reduce_side(code, &to, &from);
    else if (copy.to.nbytes) simt_side_copy(&to, &from);
    return true;
}

static bool copy_to_targets(const struct copier *copier, const simt_copy *copy) {
    const struct code *code = copier->code;
    if (!code->copy.is_multicast) return copy_bulk(copier, *copy, 0);
    uint64_t targets = lane_get(slot_lanes(copier->path, code->call.slots[MULTICAST]), code->widths[MULTICAST],
                                copier->lane) & UINT16_MAX;
    const uint32_t count = copier->warp->block->cluster ? copier->warp->block->cluster->count : 1;
    if (targets >> count)
        return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, 0, "a multicast copy to a block that the cluster does not have");
    if (count == 1) return !targets || copy_bulk(copier, *copy, 0);
    for (uint64_t rank = 0; rank < count; rank++)
        if (targets >> rank & 1 && !copy_bulk(copier, *copy, rank + 1)) return false;
    return true;
}

static enum outcome execute_bulk(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct copier copier = {warp, path, code, mask, 0};
    struct copy_operands operands;
    simt_copy_operands(path, code, &operands);
    const uint32_t *sizes = slot_lanes(path, code->call.slots[SIZE]);
    SIMT_FOR_EACH_LANE (lane, mask) {
        copier.lane = lane;
        const simt_copy copy = {.engine = code->copy.engine,
                                .lane = lane,
                                .from = {code->copy.from, operands.from[lane], sizes[lane]},
                                .to = {code->copy.to, operands.to[lane], sizes[lane]},
                                .is_reduction = code->copy.scalar != NULL,
                                .mbarrier = operands.mbarriers[lane]};
        if (!copy_to_targets(&copier, &copy)) return OUTCOME_LEFT;
    }
    return OUTCOME_NEXT;
}

/* ---- groups */

static enum outcome execute_group(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    const struct copy_group_code *group = &code->copy_group;
    const simt_event event = simt_event_of(warp, path, mask);
    const simt_copy_group commit = {.engine = group->engine};
    const simt_copy_group wait = {group->engine, true, group->is_read, group->pending};
    if (group->commits) SIMT_NOTIFY(warp->block->launch, warp->block, copy_group, &event, &commit);
    if (group->is_wait) SIMT_NOTIFY(warp->block->launch, warp->block, copy_group, &event, &wait);
    return OUTCOME_NEXT;
}

static enum outcome execute_nothing(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp, (void)path, (void)code, (void)mask;
    return OUTCOME_NEXT;
}

/* ---- decoding */

static bool decode_group(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    code->execute = execute_group;
    code->copy_group.engine = simt_has(instruction, "bulk") ? SIMT_ENGINE_BULK_GROUP : SIMT_ENGINE_GROUP;
    code->copy_group.is_wait = !simt_has(instruction, "commit_group");
    code->copy_group.commits = !simt_has(instruction, "wait_group");
    code->copy_group.is_read = simt_has(instruction, "read");
    if (instruction->operand_count) code->copy_group.pending = (uint32_t)instruction->operands[0].bits;
    return true;
}

/* cp.async.ca.shared.global [to], [from], nbytes{, what is read of them | whether it is nothing}{, policy} */
static bool decode_copy(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    const struct operand *operands = instruction->operands;
    uint32_t count = instruction->operand_count - simt_has(instruction, "L2::cache_hint");
    code->execute = execute_copy;
    code->memory.vector.element_nbytes = (uint8_t)operands[2].bits;
    code->memory.vector.count = 1;
    if (!simt_address(decoder, &operands[0], &code->memory.address) ||
        !simt_address(decoder, &operands[1], &code->copy.source))
        return false;
    if (count < 4) return true;
    code->copy.is_ignored = simt_operand_width(decoder, &operands[3], WIDTH_32) == WIDTH_PREDICATE;
    code->copy.is_ignored_negated = operands[3].is_negated;
    code->copy.has_size = !code->copy.is_ignored;
    return simt_operand(decoder, &operands[3], code->copy.is_ignored ? TYPE_PRED : TYPE_U32,
                        &code->call.slots[code->copy.is_ignored ? IGNORED : SIZE]);
}

static bool decode_reduction(const struct instruction *instruction, struct code *code) {
    enum type type = simt_last_type(instruction);
    code->copy.element_nbytes = (uint8_t)simt_type_nbytes(type);
    for (uint32_t m = 0; m < instruction->modifier_count && !code->copy.scalar; m++)
        code->copy.scalar = simt_scalar_find(instruction->modifiers[m], type);
    return code->copy.scalar != NULL;
}

static bool decode_bulk(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    const struct operand *operands = instruction->operands;
    bool has_mbarrier = simt_has(instruction, "mbarrier::complete_tx::bytes");
    code->execute = execute_bulk;
    code->copy.engine = has_mbarrier ? SIMT_ENGINE_MBARRIER : SIMT_ENGINE_BULK_GROUP;
    code->copy.to = has_mbarrier ? SIMT_SHARED : SIMT_GLOBAL;
    code->copy.from = has_mbarrier && simt_has(instruction, "global") ? SIMT_GLOBAL : SIMT_SHARED;
    code->copy.is_multicast = simt_has(instruction, "multicast::cluster");
    if (simt_has(instruction, "reduce") && !decode_reduction(instruction, code))
        return false;
    if (code->copy.is_multicast) {
        code->widths[MULTICAST] = simt_operand_width(decoder, &operands[4], WIDTH_16);
        if (!simt_operand(decoder, &operands[4], TYPE_U16, &code->call.slots[MULTICAST])) return false;
    }
    return simt_address(decoder, &operands[0], &code->memory.address) &&
           simt_address(decoder, &operands[1], &code->copy.source) &&
           simt_operand(decoder, &operands[2], TYPE_U32, &code->call.slots[SIZE]) &&
           (!has_mbarrier || simt_address(decoder, &operands[3], &code->copy.mbarrier));
}

static bool decode_any_copy(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    bool is_group = simt_has(instruction, "commit_group") || simt_has(instruction, "wait_group") ||
                    simt_has(instruction, "wait_all");
    if (is_group) return decode_group(decoder, code);
    if (simt_has(instruction, "mbarrier")) return simt_decode_copies_arrive(decoder, code);
    if (simt_has(instruction, "prefetch")) {
        code->execute = execute_nothing;
        return true;
    }
    if (simt_has(instruction, "tensor")) return simt_decode_tensor(decoder, code);
    return simt_has(instruction, "bulk") ? decode_bulk(decoder, code) : decode_copy(decoder, code);
}

const struct instruction_kind simt_copy_kinds[] = {{"cp", decode_any_copy}, {NULL, NULL}};
