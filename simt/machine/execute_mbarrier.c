/* Barriers in shared memory that count arrivals and bytes.  A wait whose phase is not over holds its path until the
 * mbarrier's next phase; where nothing else is left that could end it, waits return in vain, as those of the hardware
 * do after a while. */
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "decoder.h"
#include "mbarrier.h"
#include "mbarrier_notes.h"

/* code->call.slots: */
enum { RESULT, VALUE };

/* How often every thread of a block may wait unsuccessfully before the wait is reported as endless. */
enum { IDLE_WAITS_MAX = 1024 };

/* One lane's operation. */
struct operation {
    struct warp *warp;
    struct path *path;
    const struct code *code;
    uint32_t lanes, lane;
    uint64_t address, value;
    unsigned char *host;
    struct block *home; /* whose shared memory it is in, */
    uint64_t offset;    /* and where there */
};

/* ---- what is wrong */

static void find(const struct operation *operation, const char *what) {
    simt_event event = simt_event_of(operation->warp, operation->path, operation->lanes);
    simt_record_finding(&event, SIMT_FINDING_BARRIER, operation->lane, operation->address,
                        "%s at byte %llu of shared memory: %s", operation->code->instruction->opcode,
                        (unsigned long long)(operation->address & ((1u << SIMT_RANK_SHIFT) - 1)), what);
}

static void stop(const struct operation *operation, const char *what) {
    simt_event event = simt_event_of(operation->warp, operation->path, operation->lanes);
    find(operation, what);
    simt_stop(&event);
}

static bool read_mbarrier(const struct operation *operation, struct mbarrier *mbarrier) {
    if (simt_mbarrier_read(operation->host, mbarrier)) return true;
    stop(operation, "there is no mbarrier here: mbarrier.init must come first, and nothing may overwrite it");
    return false;
}

/* ---- what each operation does.  false: the launch is stopped. */

static void notify(const struct operation *operation, enum simt_mbarrier_operation kind, bool completes) {
    const struct code *code = operation->code;
    simt_event event = simt_event_of(operation->warp, operation->path, operation->lanes);
    const simt_mbarrier told = {kind, operation->lane, operation->address, code->memory.order, completes, code->mbarrier.is_unheeded};
    SIMT_NOTIFY(operation->warp->block->launch, operation->warp->block, mbarrier, &event, &told);
}

/* An mbarrier that is still one must not be initialised; GPUs do it all the same, so the launch goes on. */
static void find_living(const struct operation *operation) {
    struct mbarrier mbarrier;
    uint32_t pc;
    char what[160];
    if (!simt_mbarrier_read(operation->host, &mbarrier) || !simt_mbarrier_is_noted(operation->home, operation->offset, &mbarrier, &pc)) return;
    snprintf(what, sizeof what, "there is an mbarrier here, which line %u has initialised: mbarrier.inval must come first, or let its next phase serve",
             simt_line_at(operation->home->launch, pc));
    find(operation, what);
}

static bool initialise(const struct operation *operation) {
    const struct mbarrier fresh = {.expected = (uint32_t)operation->value, .pending = (uint32_t)operation->value};
    if (fresh.expected == 0 || fresh.expected > MBARRIER_COUNT_MAX) {
        stop(operation, "an mbarrier expects 1 to 1048575 arrivals");
        return false;
    }
    find_living(operation);
    notify(operation, SIMT_MBARRIER_INITIALISE, false);
    simt_mbarrier_note_begin(operation->home, operation->offset, operation->path->pc, fresh.expected);
    simt_mbarrier_write(operation->host, &fresh);
    return true;
}

static bool invalidate(const struct operation *operation) {
    struct mbarrier mbarrier;
    if (!read_mbarrier(operation, &mbarrier)) return false;
    notify(operation, SIMT_MBARRIER_INVALIDATE, false);
    simt_mbarrier_note_end(operation->home, operation->offset);
    memset(operation->host, 0, MBARRIER_NBYTES);
    return true;
}

static bool finish(const struct operation *operation, struct mbarrier *mbarrier, enum simt_mbarrier_operation kind) {
    bool completes = simt_mbarrier_advance(mbarrier);
    notify(operation, kind, completes);
    simt_mbarrier_write(operation->host, mbarrier);
    operation->home->idle_waits = 0;
    if (completes) simt_mbarrier_note_phase(operation->home, operation->offset);
    if (completes) simt_mbarrier_waits_wake(operation->home);
    return true;
}

static uint32_t count_of(const struct operation *operation) {
    const struct mbarrier_code *code = &operation->code->mbarrier;
    return code->has_value && !code->expects ? (uint32_t)operation->value : 1;
}

static const char *count_arrival(const struct operation *operation, struct mbarrier *mbarrier) {
    const struct mbarrier_code *code = &operation->code->mbarrier;
    const uint32_t count = count_of(operation);
    const char *why = code->expects ? simt_mbarrier_expect(mbarrier, (uint32_t)operation->value) : NULL;
    if (!why && code->drops) why = simt_mbarrier_drop(mbarrier, count);
    if (code->is_extra) mbarrier->pending++;
    if (!why) why = simt_mbarrier_arrive(mbarrier, count);
    if (!why && code->may_not_complete && !mbarrier->pending && !mbarrier->nbytes)
        why = "an arrival with .noComplete ends the phase";
    return why;
}

static bool arrive(const struct operation *operation) {
    const struct code *code = operation->code;
    struct mbarrier mbarrier;
    if (!read_mbarrier(operation, &mbarrier)) return false;
    const uint64_t state = simt_mbarrier_pack(&mbarrier);
    const char *why = count_arrival(operation, &mbarrier);
    if (why) {
        stop(operation, why);
        return false;
    }
    if (code->mbarrier.has_result)
        lane_set(slot_lanes(operation->path, code->call.slots[RESULT]), WIDTH_64, operation->lane, state);
    simt_mbarrier_note_arrival(operation->home, operation->offset, operation->path->pc, count_of(operation));
    return finish(operation, &mbarrier,
                  code->mbarrier.is_of_copies ? SIMT_MBARRIER_ARRIVE_COPIES : SIMT_MBARRIER_ARRIVE);
}

static bool count_bytes(const struct operation *operation) {
    const bool is_complete = operation->code->mbarrier.is_complete;
    struct mbarrier mbarrier;
    if (!read_mbarrier(operation, &mbarrier)) return false;
    const char *why = is_complete ? simt_mbarrier_complete(&mbarrier, (uint32_t)operation->value)
                                  : simt_mbarrier_expect(&mbarrier, (uint32_t)operation->value);
    if (!is_complete && !mbarrier.pending)
        why = "all arrivals of the phase have come, so it may be over before these bytes are announced: expect_tx must come before the last of them";
    if (why) stop(operation, why);
    return !why && finish(operation, &mbarrier, SIMT_MBARRIER_COUNT);
}

/* ---- every lane's */

/* Where the lanes' mbarriers are; false: not in shared memory, or not where one can be. */
static bool locate(struct warp *warp, struct path *path, struct request *request) {
    const struct code *code = request->code;
    simt_addresses(path, &code->memory.address, request->addresses);
    request->space = SIMT_SHARED;
    if (code->memory.is_generic)
        SIMT_FOR_EACH_LANE (lane, request->lanes) {
            uint64_t address = request->addresses[lane];
            if (simt_space_of(&warp->block->launch->machine->memory, &address) != SIMT_SHARED) {
                simt_event event = simt_event_of(warp, path, request->lanes);
                simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address,
                                    "an mbarrier at 0x%llx, which is not in shared memory",
                                    (unsigned long long)address);
                simt_stop(&event);
                return false;
            }
            request->addresses[lane] = address;
        }
    return simt_access_locate(warp, path, request);
}

static struct operation operation_of(struct warp *warp, struct path *path, const struct request *request,
                                     uint32_t lane) {
    const struct code *code = request->code;
    struct operation operation = {.warp = warp,
                                  .path = path,
                                  .code = code,
                                  .lanes = request->lanes,
                                  .lane = lane,
                                  .address = request->addresses[lane],
                                  .host = simt_request_host(request, lane)};
    operation.offset = operation.address;
    operation.home = simt_shared_home(warp->block, &operation.offset);
    if (code->mbarrier.has_value)
        operation.value = lane_get(slot_lanes(path, code->call.slots[VALUE]), code->widths[VALUE], lane);
    return operation;
}

typedef bool operation_function(const struct operation *operation);

static enum outcome execute_operation(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    static operation_function *const functions[] = {[MBARRIER_INITIALISE] = initialise,
                                                    [MBARRIER_INVALIDATE] = invalidate,
                                                    [MBARRIER_ARRIVE] = arrive,
                                                    [MBARRIER_COUNT] = count_bytes};
    struct request request;
    simt_request_begin(&request, code, code->mbarrier.kind == MBARRIER_INITIALISE ? SIMT_STORE : SIMT_ATOMIC, mask);
    if (!locate(warp, path, &request)) return OUTCOME_LEFT;
    SIMT_FOR_EACH_LANE (lane, mask) {
        const struct operation operation = operation_of(warp, path, &request, lane);
        if (!functions[code->mbarrier.kind](&operation)) return OUTCOME_LEFT;
    }
    simt_access_mark(&request);
    warp->block->changes++;
    return OUTCOME_NEXT;
}

/* ---- waiting */

/* Whether the phase that the lane waits for is over; false: the launch may have been stopped.  Of a parity an H200 looks at the
 * lowest bit: Triton passes 0 and -1. */
static bool is_over(const struct operation *operation) {
    struct mbarrier mbarrier, state = {.phase = operation->value & 1};
    if (!read_mbarrier(operation, &mbarrier)) return false;
    if (!operation->code->mbarrier.is_parity && !simt_mbarrier_unpack(operation->value, &state)) {
        stop(operation, "what is waited for is not a state of an arrival");
        return false;
    }
    return state.phase != mbarrier.phase;
}

static enum outcome execute_wait(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct request request;
    uint32_t over = 0;
    simt_request_begin(&request, code, SIMT_ATOMIC, mask);
    if (!locate(warp, path, &request)) return OUTCOME_LEFT;
    SIMT_FOR_EACH_LANE (lane, mask) {
        const struct operation operation = operation_of(warp, path, &request, lane);
        if (is_over(&operation)) over |= UINT32_C(1) << lane;
        if (simt_is_stopped(warp->block->launch)) return OUTCOME_LEFT;
    }
    if (!over && !path->has_waited_enough) {
        path->state = PATH_AT_MBARRIER;
        path->waiting_lanes = mask;
        return OUTCOME_LEFT;
    }
    path->has_waited_enough = false;
    SIMT_FOR_EACH_LANE (lane, over) {
        const struct operation operation = operation_of(warp, path, &request, lane);
        notify(&operation, SIMT_MBARRIER_WAIT, false);
    }
    uint32_t *result = slot_lanes(path, code->call.slots[RESULT]);
    *result = (*result & ~mask) | over;
    return OUTCOME_NEXT;
}

static bool wake(struct block *block, bool is_in_vain) {
    bool is_any = false;
    for (uint32_t w = 0; w < block->warp_count; w++)
        for (struct path *path = block->warps[w].leaves; path; path = path->next) {
            if (path->state != PATH_AT_MBARRIER) continue;
            path->state = PATH_READY;
            path->has_waited_enough = is_in_vain;
            is_any = true;
        }
    return is_any;
}

void simt_mbarrier_waits_wake(struct block *block) { wake(block, false); }

static bool has_wait(const struct warp *warp) {
    const struct path *path = warp->leaves;
    while (path && path->state != PATH_AT_MBARRIER) path = path->next;
    return path != NULL;
}

/* Lanes that wait at a post-dominator for those that wait for an mbarrier may be the ones who have to arrive there. */
bool simt_mbarrier_waits_resume(struct block *block) {
    for (uint32_t w = 0; w < block->warp_count; w++)
        if (has_wait(&block->warps[w]) && simt_path_release_waiting(&block->warps[w], false)) return true;
    if (block->polls != block->waited_polls) block->idle_waits = 0;
    block->waited_polls = block->polls;
    return block->idle_waits++ < IDLE_WAITS_MAX && wake(block, true);
}

static void describe_missing(const struct mbarrier *mbarrier, char *text, size_t nbytes) {
    int length = snprintf(text, nbytes, "%u of the %u arrivals that it expects", mbarrier->pending,
                          mbarrier->pending > mbarrier->expected ? mbarrier->pending : mbarrier->expected);
    if (!mbarrier->pending) length = 0;
    const char *and = mbarrier->pending ? ", and " : "";
    if (mbarrier->nbytes > 0)
        snprintf(text + length, nbytes - (size_t)length, "%s%d bytes that were announced (expect_tx)", and,
                 mbarrier->nbytes);
    if (mbarrier->nbytes < 0)
        snprintf(text + length, nbytes - (size_t)length, "%sthe announcement (expect_tx) of %d bytes that came", and,
                 -mbarrier->nbytes);
}

/* The mbarrier that the first of the path's lanes waits for. */
static bool find_awaited(struct warp *warp, struct path *path, struct operation *operation, struct mbarrier *mbarrier) {
    struct request request;
    simt_request_begin(&request, &warp->block->launch->image->codes[path->pc], SIMT_ATOMIC, path->waiting_lanes);
    if (!locate(warp, path, &request)) return false;
    *operation = operation_of(warp, path, &request, (uint32_t)__builtin_ctz(path->waiting_lanes));
    return read_mbarrier(operation, mbarrier);
}

uint32_t simt_mbarrier_missing(struct warp *warp, struct path *path) {
    struct operation operation;
    struct mbarrier mbarrier;
    return !find_awaited(warp, path, &operation, &mbarrier) || mbarrier.nbytes ? 0 : mbarrier.pending;
}

void simt_mbarrier_deadlock(struct warp *warp, struct path *path) {
    struct operation operation;
    struct mbarrier mbarrier;
    char missing[128] = "", notes[256] = "";
    if (!find_awaited(warp, path, &operation, &mbarrier)) return;
    describe_missing(&mbarrier, missing, sizeof missing);
    if (mbarrier.pending) simt_mbarrier_notes_say(operation.home, operation.offset, notes, sizeof notes);
    const struct lane_text lanes = lane_text(path->waiting_lanes);
    simt_event event = simt_event_of(warp, path, path->waiting_lanes);
    simt_record_finding(&event, SIMT_FINDING_BARRIER, operation.lane, operation.address,
                        "%s of warp %u wait%s for the phase of parity %u of the mbarrier at byte %llu of "
                        "shared memory, which never ends: it lacks %s%s",
                        lanes.text, warp->index, lanes.s, mbarrier.phase,
                        (unsigned long long)(operation.address & ((1u << SIMT_RANK_SHIFT) - 1)), missing, notes);
    simt_stop(&event);
}

/* ---- decoding */

static bool decode_value(struct decoder *decoder, struct code *code, uint32_t operand, enum type type) {
    const struct operand *from = &decoder->instruction->operands[operand];
    code->mbarrier.has_value = true;
    code->widths[VALUE] = simt_operand_width(decoder, from, simt_width(type));
    return simt_operand(decoder, from, type, &code->call.slots[VALUE]);
}

/* `address`: its place among the operands; in front of it is the result. */
static bool decode_place(struct decoder *decoder, struct code *code, uint32_t address, enum simt_order order) {
    const struct instruction *instruction = decoder->instruction;
    struct memory_code *memory = &code->memory;
    memory->is_generic = !simt_named_space(instruction, &memory->space);
    memory->order = simt_has(instruction, "relaxed") ? SIMT_RELAXED : order;
    memory->vector.element_nbytes = MBARRIER_NBYTES;
    memory->vector.count = 1;
    if (address == 0) return simt_address(decoder, &instruction->operands[0], &memory->address);
    const struct operand *result = &instruction->operands[0];
    code->mbarrier.has_result = result->kind == OPERAND_REGISTER;
    return simt_address(decoder, &instruction->operands[address], &memory->address) &&
           simt_operand(decoder, result, TYPE_B64, &code->call.slots[RESULT]);
}

static bool decode_arrival(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    code->mbarrier.kind = MBARRIER_ARRIVE;
    code->mbarrier.drops = simt_has(instruction, "arrive_drop");
    code->mbarrier.expects = simt_has(instruction, "expect_tx");
    code->mbarrier.may_not_complete = simt_has(instruction, "noComplete");
    return decode_place(decoder, code, 1, SIMT_RELEASE) &&
           (instruction->operand_count < 3 || decode_value(decoder, code, 2, TYPE_U32));
}

/* How long a wait may take at most, its fourth operand, does not matter here. */
static bool decode_wait(struct decoder *decoder, struct code *code) {
    code->mbarrier.kind = MBARRIER_WAIT;
    code->mbarrier.is_parity = simt_has(decoder->instruction, "parity");
    code->mbarrier.is_unheeded = simt_is_unheeded(decoder);
    code->execute = execute_wait;
    return decode_place(decoder, code, 1, SIMT_ACQUIRE) &&
           decode_value(decoder, code, 2, code->mbarrier.is_parity ? TYPE_U32 : TYPE_B64);
}

static enum outcome execute_pending_count(struct warp *warp, struct path *path, const struct code *code,
                                          uint32_t mask) {
    struct mbarrier state;
    (void)warp;
    SIMT_FOR_EACH_LANE (lane, mask) {
        simt_mbarrier_unpack(lane_get(slot_lanes(path, code->call.slots[VALUE]), WIDTH_64, lane), &state);
        lane_set(slot_lanes(path, code->call.slots[RESULT]), WIDTH_32, lane, state.pending);
    }
    return OUTCOME_NEXT;
}

static bool decode_pending_count(struct decoder *decoder, struct code *code) {
    code->execute = execute_pending_count;
    return simt_operand(decoder, &decoder->instruction->operands[0], TYPE_U32, &code->call.slots[RESULT]) &&
           simt_operand(decoder, &decoder->instruction->operands[1], TYPE_B64, &code->call.slots[VALUE]);
}

bool simt_decode_copies_arrive(struct decoder *decoder, struct code *code) {
    code->execute = execute_operation;
    code->mbarrier.kind = MBARRIER_ARRIVE;
    code->mbarrier.is_of_copies = true;
    code->mbarrier.is_extra = !simt_has(decoder->instruction, "noinc");
    return decode_place(decoder, code, 0, SIMT_RELAXED);
}

static bool decode_mbarrier(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    if (simt_has(instruction, "pending_count")) return decode_pending_count(decoder, code);
    if (simt_has(instruction, "test_wait") || simt_has(instruction, "try_wait")) return decode_wait(decoder, code);
    code->execute = execute_operation;
    if (simt_has(instruction, "arrive") || simt_has(instruction, "arrive_drop")) return decode_arrival(decoder, code);
    code->mbarrier.is_complete = simt_has(instruction, "complete_tx");
    code->mbarrier.kind = simt_has(instruction, "init")    ? MBARRIER_INITIALISE
                          : simt_has(instruction, "inval") ? MBARRIER_INVALIDATE
                                                           : MBARRIER_COUNT;
    return decode_place(decoder, code, 0, SIMT_RELAXED) &&
           (instruction->operand_count < 2 || decode_value(decoder, code, 1, TYPE_U32));
}

const struct instruction_kind simt_mbarrier_kinds[] = {{"mbarrier", decode_mbarrier}, {NULL, NULL}};
