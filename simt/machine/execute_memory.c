/* Loads, stores, atomics and fences. */
#include <string.h>

#include "access.h"
#include "atomics.h"
#include "decoder.h"
#include "effects.h"
#include "element.h"
#include "locks.h"

/* ---- loads and stores */

enum { ROW_NBYTES = sizeof(uint32_t) * SIMT_LANES };

/* Neighbouring words of a full warp, which are copied from or to a register unchanged. */
static bool is_row(const struct request *request, enum width width) {
    return simt_request_is_row(request) && request->nbytes == 4 && width == WIDTH_32 &&
           (uintptr_t)request->hosts[0] % sizeof(uint64_t) == 0;
}

/* Two words at a time; of shared memory, which only the block's own thread touches, any number. */
static void row_load(const struct request *request, unsigned char *to) {
    const uint64_t *host = (const uint64_t *)(const void *)request->hosts[0];
    if (request->space == SIMT_SHARED) memcpy(to, host, ROW_NBYTES);
    else
        for (uint32_t pair = 0; pair < SIMT_LANES / 2; pair++) {
            uint64_t words = __atomic_load_n(&host[pair], __ATOMIC_RELAXED);
            memcpy(to + pair * sizeof words, &words, sizeof words);
        }
}

static void row_store(const struct request *request, const unsigned char *from) {
    uint64_t *host = (uint64_t *)(void *)request->hosts[0], words;
    if (request->space == SIMT_SHARED) memcpy(host, from, ROW_NBYTES);
    else
        for (uint32_t pair = 0; pair < SIMT_LANES / 2; pair++) {
            memcpy(&words, from + pair * sizeof words, sizeof words);
            __atomic_store_n(&host[pair], words, __ATOMIC_RELAXED);
        }
}

/* One word for all lanes. */
static bool is_same(const struct request *request) {
    return request->has_stride && !request->host_stride && request->lanes == UINT32_MAX;
}

static void load_same(const struct request *request, unsigned char *to, enum width width, uint32_t at) {
    uint32_t nbytes = request->code->memory.vector.element_nbytes;
    uint64_t value = element_load(request->hosts[0] + at, nbytes);
    if (request->code->memory.is_signed) value = simt_extend(value, nbytes);
    if (width == WIDTH_32)
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) ((uint32_t *)(void *)to)[lane] = (uint32_t)value;
    else
        for (uint32_t lane = 0; lane < SIMT_LANES; lane++) lane_set(to, width, lane, value);
}

static void load_element(struct path *path, const struct request *request, uint32_t element) {
    const struct vector_code *vector = &request->code->memory.vector;
    unsigned char *to = slot_lanes(path, vector->slots[element]);
    enum width width = vector->widths[element];
    uint32_t nbytes = vector->element_nbytes, at = element * nbytes;
    if (is_row(request, width)) row_load(request, to);
    else if (is_same(request))
        load_same(request, to, width, at);
    else if (nbytes == 4 && width == WIDTH_32)
        SIMT_FOR_EACH_LANE (lane, request->lanes)
            ((uint32_t *)(void *)to)[lane] =
                __atomic_load_n((const uint32_t *)(const void *)(simt_request_host(request, lane) + at),
                                __ATOMIC_RELAXED);
    else
        SIMT_FOR_EACH_LANE (lane, request->lanes) {
            uint64_t value = element_load(simt_request_host(request, lane) + at, nbytes);
            lane_set(to, width, lane, request->code->memory.is_signed ? simt_extend(value, nbytes) : value);
        }
}

static void store_element(const struct path *path, const struct request *request, uint32_t element) {
    const struct vector_code *vector = &request->code->memory.vector;
    const uint64_t *values = request->values + element * SIMT_LANES;
    uint32_t nbytes = vector->element_nbytes, at = element * nbytes;
    if (is_row(request, vector->widths[element])) row_store(request, slot_lanes(path, vector->slots[element]));
    else
        SIMT_FOR_EACH_LANE (lane, request->lanes)
            element_store(simt_request_host(request, lane) + at, nbytes, values[lane]);
}

/* ---- vectors, whole */

static bool is_whole(const struct request *request) {
    return request->code->memory.vector.count > 1 &&
           (request->nbytes == sizeof(uint64_t) || request->nbytes == WHOLE_NBYTES_MAX);
}

static void load_whole(const struct path *path, const struct request *request) {
    const struct vector_code *vector = &request->code->memory.vector;
    const uint32_t nbytes = vector->element_nbytes;
    uint64_t whole[SIMT_LANES][WHOLE_NBYTES_MAX / sizeof(uint64_t)];
    SIMT_FOR_EACH_LANE (lane, request->lanes) whole_load(simt_request_host(request, lane), request->nbytes, whole[lane]);
    for (uint32_t element = 0; element < vector->count; element++) {
        unsigned char *to = slot_lanes(path, vector->slots[element]);
        const enum width width = vector->widths[element];
        if (vector->sinks >> element & 1) continue;
        SIMT_FOR_EACH_LANE (lane, request->lanes) {
            uint64_t value = whole[lane][element * nbytes / 8] >> element * nbytes % 8 * 8;
            if (nbytes < 8) value &= (UINT64_C(1) << 8 * nbytes) - 1;
            lane_set(to, width, lane, request->code->memory.is_signed ? simt_extend(value, nbytes) : value);
        }
    }
}

static void store_whole(const struct request *request) {
    const struct vector_code *vector = &request->code->memory.vector;
    const uint32_t nbytes = vector->element_nbytes;
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        uint64_t whole[WHOLE_NBYTES_MAX / sizeof(uint64_t)] = {0};
        for (uint32_t element = 0; element < vector->count; element++)
            whole[element * nbytes / 8] |= request->values[element * SIMT_LANES + lane] << element * nbytes % 8 * 8;
        whole_store(simt_request_host(request, lane), request->nbytes, whole);
    }
}

static void perform_vector(struct path *path, struct request *request) {
    if (request->kind == SIMT_LOAD) {
        load_whole(path, request);
        return;
    }
    store_whole(request);
    simt_access_mark(request);
}

void simt_request_perform(struct path *path, struct request *request) {
    const struct vector_code *vector = &request->code->memory.vector;
    if (is_whole(request)) {
        perform_vector(path, request);
        return;
    }
    for (uint32_t element = 0; element < vector->count; element++)
        if (request->kind == SIMT_STORE) store_element(path, request, element);
        else if (!(vector->sinks >> element & 1)) load_element(path, request, element);
    if (request->kind == SIMT_STORE) simt_access_mark(request);
}

typedef void perform_function(struct path *path, struct request *request);

static bool perform_in_space(struct warp *warp, struct path *path, struct request *request,
                             perform_function *function) {
    if (!simt_access_open(warp, path, request)) return false;
    function(path, request);
    if (request->kind != SIMT_ATOMIC) return true;
    warp->block->slow += (uint64_t)SLOW_ATOMIC_LANE * lane_count(request->lanes);
    if (request->code->memory.may_take) simt_locks_note(warp, path, request);
    if (warp->block->has_examined) simt_effects_of_atomic(warp, path, request);
    else warp->block->changes += request->has_changed;
    return true;
}

/* An access whose lanes' generic addresses may lie in several spaces: one of them after another. */
static bool perform_generic(struct warp *warp, struct path *path, struct request *request,
                            perform_function *perform) {
    const struct memory *memory = &warp->block->launch->machine->memory;
    uint64_t addresses[SIMT_LANES];
    memcpy(addresses, request->addresses, sizeof addresses);
    for (uint32_t rest = request->lanes; rest;) {
        uint32_t lanes = 0, first = (uint32_t)__builtin_ctz(rest);
        uint64_t address = addresses[first];
        request->space = simt_space_of(memory, &address);
        SIMT_FOR_EACH_LANE (lane, rest) {
            uint64_t other = addresses[lane];
            if (simt_space_of(memory, &other) != request->space) continue;
            request->addresses[lane] = other;
            lanes |= UINT32_C(1) << lane;
        }
        request->lanes = lanes;
        if (!perform_in_space(warp, path, request, perform)) return false;
        rest &= ~lanes;
    }
    return true;
}

/* A read that others can be waited with, and that has changed nothing. */
static bool is_poll(const struct request *request) {
    return request->kind != SIMT_STORE && request->code->memory.order != SIMT_WEAK && !request->has_changed;
}

/* Whether the lane has been round its loop since it read there, and stored nothing there: until others have their turn,
 * nothing changes for it.  Of unrolled loops, after a few polls: one that reads twice in a round and then stores must not
 * always be stopped in between. */
static bool polls_again(struct poll *last, uint32_t pc, uintptr_t host) {
    enum { UNROLLED_MIN = 4 };
    const struct poll before = *last;
    const bool is_there = before.host == host;
    *last = (struct poll){pc, is_there ? before.count + 1 : 1, host};
    return is_there && (before.pc == pc || before.count >= UNROLLED_MIN);
}

static bool all_poll_again(struct warp *warp, const struct path *path, const struct request *request) {
    bool is_again = true;
    SIMT_FOR_EACH_LANE (lane, request->lanes)
        is_again &= polls_again(&warp->last_polls[lane], path->pc, (uintptr_t)simt_request_host(request, lane));
    return is_again;
}

static void forget_poll(struct warp *warp, const struct request *request) {
    if (request->kind != SIMT_STORE || !warp->polls) return;
    SIMT_FOR_EACH_LANE (lane, request->lanes)
        if (warp->last_polls[lane].host - (uintptr_t)simt_request_host(request, lane) < request->nbytes) warp->last_polls[lane].host = 0;
}

static enum outcome perform(struct warp *warp, struct path *path, struct request *request,
                            perform_function *function) {
    simt_addresses(path, &request->code->memory.address, request->addresses);
    if (request->code->memory.is_generic) {
        if (!perform_generic(warp, path, request, function)) return OUTCOME_LEFT;
    } else {
        request->space = request->code->memory.space;
        if (!perform_in_space(warp, path, request, function)) return OUTCOME_LEFT;
    }
    forget_poll(warp, request);
    if (!is_poll(request)) return OUTCOME_NEXT;
    warp->block->polls++;
    warp->block->slow += SLOW_POLL;
    if (request->space == SIMT_GLOBAL) warp->polled = request->addresses[first_lane(request->lanes)];
    const bool is_again = all_poll_again(warp, path, request);
    if (++warp->polls % POLLS_TURN && !is_again) return OUTCOME_NEXT;
    path->pc++; /* others get their turn: of its warp, and now and then of its block */
    if (!is_again) return OUTCOME_LEFT;
    warp->idle += lane_count(request->lanes);
    simt_path_rotate(warp, path);
    return OUTCOME_LEFT;
}

static enum outcome execute_load(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct request request;
    simt_request_begin(&request, code, SIMT_LOAD, mask);
    return perform(warp, path, &request, simt_request_perform);
}

static enum outcome execute_store(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    uint64_t values[VECTOR_MAX * SIMT_LANES];
    struct request request;
    simt_collect_values(path, &code->memory.vector, values);
    simt_request_begin(&request, code, SIMT_STORE, mask);
    request.values = values;
    return perform(warp, path, &request, simt_request_perform);
}

/* ---- atomics: operands[0] the old value (if wanted), [1] the value, [2] what cas compares with */

static void atomic_perform(struct path *path, struct request *request) {
    const struct code *code = request->code;
    unsigned char *result = code->memory.has_result ? slot_lanes(path, code->call.slots[0]) : NULL;
    const unsigned char *values = slot_lanes(path, code->call.slots[1]);
    const unsigned char *compares = code->memory.has_compare ? slot_lanes(path, code->call.slots[2]) : NULL;
    uint32_t nbytes = code->memory.vector.element_nbytes;
    SIMT_FOR_EACH_LANE (lane, request->lanes) {
        uint64_t value = lane_get(values, code->widths[1], lane);
        uint64_t compare = compares ? lane_get(compares, code->widths[2], lane) : 0;
        uint64_t old =
            element_update(simt_request_host(request, lane), nbytes, code->memory.scalar, value, compare,
                           &request->has_changed);
        if (result) lane_set(result, code->widths[0], lane, old);
    }
    simt_access_mark(request);
}

static enum outcome execute_atomic(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct request request;
    simt_request_begin(&request, code, SIMT_ATOMIC, mask);
    return perform(warp, path, &request, atomic_perform);
}

static enum outcome execute_vector_atomic(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct request request;
    simt_request_begin(&request, code, SIMT_ATOMIC, mask);
    return perform(warp, path, &request, simt_update_vector);
}

static enum outcome execute_wide_atomic(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct request request;
    simt_request_begin(&request, code, SIMT_ATOMIC, mask);
    return perform(warp, path, &request, simt_update_wide);
}

/* ---- decoding */

static bool starts(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* Instructions that change no result in the simulator: caches, scopes, hints. */
static bool is_without_effect(const char *modifier) {
    static const char *const names[] = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "cta", "cluster", "gpu", "sys",
                                        "gl", "noftz", "unified", "async", "global", "local", "const", "param",
                                        "shared", "weak", "volatile", "relaxed", "acquire", "release", "acq_rel",
                                        "mmio"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (strcmp(modifier, names[n]) == 0) return true;
    return starts(modifier, "L1::") || starts(modifier, "L2::") || starts(modifier, "level::") ||
           starts(modifier, "shared::") || starts(modifier, "param::");
}

static void decode_space(const struct instruction *instruction, struct code *code) {
    code->memory.is_generic = !simt_named_space(instruction, &code->memory.space);
}

static enum simt_order decode_order(const struct instruction *instruction, enum simt_order otherwise) {
    if (simt_has(instruction, "volatile")) return SIMT_VOLATILE;
    if (simt_has(instruction, "acq_rel")) return SIMT_ACQUIRE_RELEASE;
    if (simt_has(instruction, "acquire")) return SIMT_ACQUIRE;
    if (simt_has(instruction, "release")) return SIMT_RELEASE;
    return simt_has(instruction, "relaxed") || simt_has(instruction, "mmio") ? SIMT_RELAXED : otherwise;
}

/* Where the array lies whose bytes alone the instruction may access, unless it is one of smaller elements. */
static void decode_array(const struct decoder *decoder, struct code *code, const struct operand *address) {
    if (!address->array) return;
    const uint64_t nbytes = (uint64_t)code->memory.vector.element_nbytes * code->memory.vector.count;
    const uint64_t begin = simt_variable_address(decoder->image, address->array);
    if (begin % nbytes || begin > UINT32_MAX || address->array->nbytes > UINT32_MAX) return;
    code->memory.array = address->array;
    code->memory.array_begin = (uint32_t)begin;
    code->memory.array_nbytes = (uint32_t)address->array->nbytes;
}

/* Every modifier is a type, a vector's length, the operation's name, or without effect; else it is unknown. */
static bool knows_modifiers(const struct instruction *instruction, const char *operation) {
    for (uint32_t m = 0; m < instruction->modifier_count; m++) {
        const char *modifier = instruction->modifiers[m];
        bool is_vector = modifier[0] == 'v' && strspn(modifier + 1, "248") == strlen(modifier) - 1;
        if (!is_vector && simt_type_find(modifier) == TYPE_NONE && !is_without_effect(modifier) &&
            !(operation && strcmp(modifier, operation) == 0))
            return false;
    }
    return true;
}

/* In a function that takes the address of a parameter, a register has that of its copy in local memory. */
static bool is_of_copied_input(const struct decoder *decoder, const struct code *code) {
    return code->memory.space == SIMT_PARAMETER && code->memory.address.has_base && decoder->layout->copies_inputs &&
           !simt_has(decoder->instruction, "param::entry");
}

static bool decode_transfer(struct decoder *decoder, struct code *code, uint32_t value, uint32_t address) {
    const struct instruction *instruction = decoder->instruction;
    decode_space(instruction, code);
    code->memory.order = decode_order(instruction, SIMT_WEAK);
    if (!simt_decode_vector(decoder, code, &instruction->operands[value]) ||
        !simt_address(decoder, &instruction->operands[address], &code->memory.address))
        return false;
    if (is_of_copied_input(decoder, code)) code->memory.space = SIMT_LOCAL;
    return true;
}

static bool decode_access(struct decoder *decoder, struct code *code, uint32_t value, uint32_t address) {
    const struct instruction *instruction = decoder->instruction;
    if (instruction->operand_count < 2 || !knows_modifiers(instruction, NULL) ||
        !decode_transfer(decoder, code, value, address))
        return false;
    decode_array(decoder, code, &instruction->operands[address]);
    return true;
}

/* A parameter of the kernel, by its name: it is in the frame, the same for all lanes. */
static bool is_preset(const struct decoder *decoder, const struct memory_code *memory) {
    const struct vector_code *vector = &memory->vector;
    uint64_t offset = memory->address.offset, limit = decoder->function->parameter_nbytes;
    return memory->address.is_kernel_parameter && memory->space == SIMT_PARAMETER && !memory->is_generic &&
           vector->count == 1 && !vector->sinks && offset % vector->element_nbytes == 0 && offset < limit &&
           limit - offset >= vector->element_nbytes;
}

static bool decode_preset(struct decoder *decoder, struct code *code) {
    static const char *const types[] = {[WIDTH_16] = "b16", [WIDTH_32] = "b32", [WIDTH_64] = "b64"};
    const struct memory_code *memory = &code->memory;
    const struct preset preset = {.kind = PRESET_PARAMETER,
                                  .width = memory->vector.widths[0],
                                  .bits = memory->address.offset,
                                  .nbytes = memory->vector.element_nbytes,
                                  .is_signed = memory->is_signed};
    code->lanes = simt_lanes_plain("mov", types[preset.width], 2);
    code->call.slots[0] = memory->vector.slots[0];
    return simt_preset(decoder, preset, &code->call.slots[1]);
}

static bool decode_load(struct decoder *decoder, struct code *code) {
    code->execute = execute_load;
    return decode_access(decoder, code, 0, 1) && (!is_preset(decoder, &code->memory) || decode_preset(decoder, code));
}

static bool decode_store(struct decoder *decoder, struct code *code) {
    if (simt_has(decoder->instruction, "async"))
        return decode_transfer(decoder, code, 1, 0) && simt_decode_send(decoder, code);
    code->execute = execute_store;
    return decode_access(decoder, code, 1, 0);
}

scalar_function *simt_operation(const struct instruction *instruction, enum type type, const char **name) {
    for (uint32_t m = 0; m < instruction->modifier_count; m++) {
        scalar_function *scalar = simt_scalar_find(instruction->modifiers[m], type);
        *name = instruction->modifiers[m];
        if (scalar) return scalar;
    }
    return NULL;
}

static bool is_of_vector(const struct instruction *instruction) {
    return simt_has(instruction, "v2") || simt_has(instruction, "v4") || simt_has(instruction, "v8");
}

/* Of vectors, and of 16 bytes: cas and exch. */
static bool decode_large_update(struct decoder *decoder, struct code *code, uint32_t first) {
    const struct instruction *instruction = decoder->instruction;
    const bool is_vector = is_of_vector(instruction), is_cas = simt_has(instruction, "cas");
    const char *name = is_cas ? "cas" : "exch";
    if (is_vector) code->memory.scalar = simt_operation(instruction, simt_last_type(instruction), &name);
    const bool has_operation = is_vector ? code->memory.scalar != NULL : first > 0 && simt_has(instruction, name);
    if (!has_operation || !knows_modifiers(instruction, name)) return false;
    decode_space(instruction, code);
    code->memory.order = decode_order(instruction, SIMT_RELAXED);
    code->execute = is_vector ? execute_vector_atomic : execute_wide_atomic;
    if (!simt_address(decoder, &instruction->operands[first], &code->memory.address)) return false;
    return is_vector ? simt_decode_update_vector(decoder, code, first) : simt_decode_update_wide(decoder, code, is_cas);
}

/* `first`: the place of the address among the operands; what precedes it is the result. */
static bool decode_update(struct decoder *decoder, struct code *code, uint32_t first) {
    const struct instruction *instruction = decoder->instruction;
    enum type type = simt_last_type(instruction);
    if (is_of_vector(instruction) || type == TYPE_B128) return decode_large_update(decoder, code, first);
    uint32_t nbytes = simt_type_nbytes(type);
    const char *name;
    code->memory.scalar = simt_operation(instruction, type, &name);
    if (!code->memory.scalar || !knows_modifiers(instruction, name)) return false;
    bool is_cas = strcmp(name, "cas") == 0;
    if (instruction->operand_count < first + (is_cas ? 3 : 2)) return false;
    if (nbytes != 2 && nbytes != 4 && nbytes != 8) return false;
    decode_space(instruction, code);
    code->memory.order = decode_order(instruction, SIMT_RELAXED);
    code->execute = execute_atomic;
    code->memory.vector.element_nbytes = (uint8_t)nbytes;
    code->memory.vector.count = 1;
    if (!simt_address(decoder, &instruction->operands[first], &code->memory.address)) return false;
    decode_array(decoder, code, &instruction->operands[first]);
    const struct operand *value = &instruction->operands[first + (is_cas ? 2 : 1)];
    const struct operand *compare = &instruction->operands[first + 1];
    const struct operand *result = &instruction->operands[0];
    code->widths[0] = simt_operand_width(decoder, result, simt_width(type));
    code->memory.has_result = first > 0 && result->kind != OPERAND_SINK && code->widths[0] != WIDTH_PREDICATE;
    code->memory.has_compare = is_cas;
    code->widths[1] = simt_operand_width(decoder, value, simt_width(type));
    code->widths[2] = simt_operand_width(decoder, compare, simt_width(type));
    if (!(first == 0 || simt_operand(decoder, result, type, &code->call.slots[0])) ||
        !simt_operand(decoder, value, type, &code->call.slots[1]) ||
        (is_cas && !simt_operand(decoder, compare, type, &code->call.slots[2])))
        return false;
    const slot *slots = code->call.slots;
    const bool is_kept = slots[0] != slots[1] && (!is_cas || slots[0] != slots[2]); /* the result replaces no operand */
    code->memory.may_take = code->memory.has_result && is_kept && (is_cas || strcmp(name, "exch") == 0);
    return true;
}

static bool decode_atomic(struct decoder *decoder, struct code *code) { return decode_update(decoder, code, 1); }

static bool decode_reduction(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    const char *name;
    if (!simt_has(instruction, "async")) return decode_update(decoder, code, 0);
    code->memory.scalar = simt_operation(instruction, simt_last_type(instruction), &name);
    return code->memory.scalar && decode_transfer(decoder, code, 1, 0) && simt_decode_send(decoder, code);
}

/* ---- policies of caches: numbers that only hints take, which change nothing here */

static enum outcome execute_policy(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp;
    SIMT_FOR_EACH_LANE (lane, mask) lane_set(slot_lanes(path, code->call.slots[0]), WIDTH_64, lane, 0);
    return OUTCOME_NEXT;
}

static bool decode_policy(struct decoder *decoder, struct code *code) {
    code->execute = execute_policy;
    return simt_operand(decoder, &decoder->instruction->operands[0], TYPE_B64, &code->call.slots[0]);
}

/* ---- fences */

static enum outcome execute_fence(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    simt_event event = simt_event_of(warp, path, mask);
    SIMT_NOTIFY(warp->block->launch, warp->block, fence, &event, code->fence.is_beyond_block);
    return OUTCOME_NEXT;
}

static enum outcome execute_proxy_fence(struct warp *warp, struct path *path, const struct code *code,
                                        uint32_t mask) {
    simt_event event = simt_event_of(warp, path, mask);
    SIMT_NOTIFY(warp->block->launch, warp->block, proxy_fence, &event, code->proxy_fence.of_shared,
                code->proxy_fence.of_global);
    return OUTCOME_NEXT;
}

static enum outcome execute_nothing(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    (void)warp, (void)path, (void)code, (void)mask;
    return OUTCOME_NEXT;
}

/* A fence of a tensor map names all of its bytes. */
static bool is_of_tensor_map(const struct instruction *instruction) {
    const bool names_bytes = simt_has(instruction, "acquire");
    return simt_has(instruction, "tensormap::generic") && (!names_bytes || instruction->operands[1].bits == SIMT_TENSOR_MAP_NBYTES);
}

/* One address has one meaning here, and a tensor map is read where it lies, so that fences of aliases and of maps have no
 * effect. */
static bool decode_proxy_fence(const struct instruction *instruction, struct code *code) {
    enum simt_space space;
    bool is_named = simt_named_space(instruction, &space);
    code->execute = simt_has(instruction, "async") ? execute_proxy_fence : execute_nothing;
    code->proxy_fence.of_shared = !is_named || space == SIMT_SHARED;
    code->proxy_fence.of_global = !is_named || space == SIMT_GLOBAL;
    return simt_has(instruction, "async") || simt_has(instruction, "alias") || is_of_tensor_map(instruction);
}

static bool decode_fence(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    if (simt_has(instruction, "proxy")) return decode_proxy_fence(instruction, code);
    code->execute = execute_fence;
    code->fence.is_beyond_block = !simt_has(instruction, "cta");
    return true;
}

const struct instruction_kind simt_memory_kinds[] = {
    {"ld", decode_load},      {"ldu", decode_load},      {"st", decode_store},    {"atom", decode_atomic},
    {"red", decode_reduction}, {"membar", decode_fence}, {"fence", decode_fence},
    {"createpolicy", decode_policy}, {NULL, NULL}};
