/* What all asynchronous copies do. */
#include "copier.h"

#include <stdio.h>
#include <string.h>

#include "access.h"
#include "element.h"
#include "mbarrier.h"
#include "mbarrier_notes.h"

void simt_copy_operands(const struct path *path, const struct code *code, struct copy_operands *operands) {
    simt_addresses(path, &code->copy.source, operands->from);
    simt_addresses(path, &code->memory.address, operands->to);
    if (code->copy.engine == SIMT_ENGINE_MBARRIER) simt_addresses(path, &code->copy.mbarrier, operands->mbarriers);
    else memset(operands->mbarriers, 0, sizeof operands->mbarriers);
}

bool simt_copier_stop(const struct copier *copier, enum simt_finding_kind kind, uint64_t address, const char *what) {
    simt_event event = simt_event_of(copier->warp, copier->path, copier->lanes);
    simt_record_finding(&event, kind, copier->lane, address, "%s", what);
    simt_stop(&event);
    return false;
}

static bool fault(const struct copier *copier, const struct side *side, const char *verb, uint64_t offset,
                  uint64_t limit, const char *of) {
    char what[256];
    const char *space = side->span.space == SIMT_SHARED ? "shared" : "global";
    snprintf(what, sizeof what, "%s %u bytes of %s memory at byte %llu of %s %llu", verb, side->span.nbytes, space,
             (unsigned long long)offset, of, (unsigned long long)limit);
    return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, side->span.address, what);
}

static bool locate_shared(const struct copier *copier, struct side *side, const char *verb) {
    struct block *block = copier->warp->block;
    uint64_t offset = side->span.address, limit = block->launch->view.shared_nbytes;
    side->home = simt_shared_home(block, &offset);
    if (!side->home || offset > limit || limit - offset < side->span.nbytes)
        return fault(copier, side, verb, offset, limit, "the block's");
    if (side->home->has_ended)
        return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, side->span.address,
                    "copies to or from the shared memory of a block of the cluster all of whose threads have exited: a "
                    "barrier of the cluster must keep them");
    side->host = side->home->shared + offset;
    side->written = side->home->shared_written ? side->home->shared_written + offset : NULL;
    return true;
}

/* NULL: memory is there, and can be used so. */
static const char *why_not(const struct allocation *allocation, bool is_written) {
    if (!allocation) return "where nothing is allocated";
    if (allocation->refusal && (is_written || !allocation->nbytes)) return allocation->refusal;
    return is_written && allocation->is_constant ? "where nothing can be stored" : NULL;
}

static bool locate_global(const struct copier *copier, struct side *side, const char *verb, bool is_written) {
    char what[160];
    const struct memory *memory = &copier->warp->block->launch->machine->memory;
    const struct allocation *allocation = simt_memory_find(memory, side->span.address);
    const char *why = why_not(allocation, is_written);
    if (why) {
        snprintf(what, sizeof what, "%s %u bytes of global memory at 0x%llx, %s", verb, side->span.nbytes,
                 (unsigned long long)side->span.address, why);
        return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, side->span.address, what);
    }
    if (!simt_memory_reaches(memory, allocation))
        return simt_copier_stop(copier, SIMT_FINDING_BOUNDS, side->span.address,
                                "copies to or from global memory of a device that this one has no access to "
                                "(cudaDeviceEnablePeerAccess)");
    uint64_t offset = side->span.address - allocation->address;
    if (offset > allocation->nbytes || allocation->nbytes - offset < side->span.nbytes)
        return fault(copier, side, verb, offset, allocation->nbytes, "an allocation of");
    side->host = allocation->bytes + offset;
    side->written = allocation->written ? allocation->written + offset : NULL;
    return true;
}

bool simt_side_locate(const struct copier *copier, struct side *side, bool is_written) {
    const char *verb = is_written ? "copies to" : "copies from";
    if (side->span.nbytes == 0) return true;
    return side->span.space == SIMT_SHARED ? locate_shared(copier, side, verb)
                                           : locate_global(copier, side, verb, is_written);
}

/* ---- bytes */

static void copy_bytes(unsigned char *to, const unsigned char *from, size_t nbytes) {
    size_t b = 0;
    for (; b + sizeof(uint32_t) <= nbytes; b += sizeof(uint32_t))
        element_store(to + b, sizeof(uint32_t), element_load(from + b, sizeof(uint32_t)));
    for (; b < nbytes; b++) element_store(to + b, 1, element_load(from + b, 1));
}

static void copy_marks(const struct side *to, const struct side *from) {
    for (size_t b = 0; to->written && b < to->span.nbytes; b++) {
        bool is_written = b >= from->span.nbytes || !from->written ||
                          __atomic_load_n(from->written + b, __ATOMIC_RELAXED);
        __atomic_store_n(to->written + b, is_written ? 0xff : 0, __ATOMIC_RELAXED);
    }
}

void simt_side_copy(const struct side *to, const struct side *from) {
    if (from->span.nbytes) copy_bytes(to->host, from->host, from->span.nbytes);
    for (size_t b = from->span.nbytes; b < to->span.nbytes; b++) element_store(to->host + b, 1, 0);
    copy_marks(to, from);
}

/* ---- the mbarrier, and the observers */

static bool say_mbarrier(const struct copier *copier, uint64_t address, const char *why) {
    char what[256];
    snprintf(what, sizeof what, "%s at byte %llu of shared memory: %s", copier->code->instruction->opcode,
             (unsigned long long)(address & ((1u << SIMT_RANK_SHIFT) - 1)), why);
    return simt_copier_stop(copier, SIMT_FINDING_BARRIER, address, what);
}

bool simt_side_complete(const struct copier *copier, simt_copy *copy, struct side *side) {
    struct mbarrier mbarrier;
    if (!simt_side_locate(copier, side, true)) return false;
    if (side->span.address % MBARRIER_NBYTES || !simt_mbarrier_read(side->host, &mbarrier))
        return say_mbarrier(copier, side->span.address,
                            "there is no mbarrier here: mbarrier.init must come first, and nothing may overwrite it");
    const char *why = simt_mbarrier_complete(&mbarrier, copy->to.nbytes);
    if (why) return say_mbarrier(copier, side->span.address, why);
    copy->completes = simt_mbarrier_advance(&mbarrier);
    simt_mbarrier_write(side->host, &mbarrier);
    side->home->idle_waits = 0;
    if (copy->completes) simt_mbarrier_note_phase(side->home, side->span.address & ((1u << SIMT_RANK_SHIFT) - 1));
    if (copy->completes) simt_mbarrier_waits_wake(side->home);
    return true;
}

void simt_copier_notify(const struct copier *copier, const simt_copy *copy) {
    simt_event event = simt_event_of(copier->warp, copier->path, copier->lanes);
    SIMT_NOTIFY(copier->warp->block->launch, copier->warp->block, copy, &event, copy);
}
