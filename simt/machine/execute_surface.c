/* suld, sust and sured: loads, stores and reductions of what lies at coordinates of a surface, in a row by bytes (.b) or by
 * texels (.p).  Each is an access to global memory as any other, for races and counts. */
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "decoder.h"
#include "element.h"
#include "lanes.h"
#include "lanes_ieee.h"
#include "texture.h"

enum { DIMENSIONS = 3 };

/* What the instruction reads, by memory, and where. */
struct surface_access {
    struct warp *warp;
    struct path *path;
    const struct code *code;
    simt_texture surface;
    struct request request; /* its lanes: those inside */
    uint64_t *values;       /* of stores: the request's */
    uint32_t outside;
};

/* ---- coordinates */

/* Where `nbytes` units from `at` on are, of `size` of them; -1: outside. */
static int64_t place_of(enum simt_boundary boundary, int64_t at, int64_t nbytes, int64_t size) {
    if (at >= 0 && nbytes <= size && at <= size - nbytes) return at;
    if (boundary != SIMT_BOUNDARY_CLAMP || nbytes > size) return -1;
    return at < 0 ? 0 : size - nbytes;
}

static int64_t coordinate_of(const struct surface_access *access, uint32_t dimension, uint32_t lane) {
    const unsigned char *lanes = slot_lanes(access->path, access->code->call.slots[dimension]);
    return (int32_t)(uint32_t)lane_get(lanes, WIDTH_32, lane);
}

/* In units of the coordinate: what a dimension has for each texel. */
static uint32_t units_of(const struct surface_access *access, uint32_t dimension) {
    return dimension || access->code->texture.is_formatted ? 1 : simt_texel_nbytes(&access->surface);
}

static void place(struct surface_access *access, uint32_t lane) {
    const simt_texture *surface = &access->surface;
    const bool is_row_of_layers = surface->rank == 2 && surface->is_layered, is_formatted = access->code->texture.is_formatted;
    const uint64_t strides[DIMENSIONS] = {is_formatted ? simt_texel_nbytes(surface) : 1,
                                          is_row_of_layers ? surface->plane_nbytes : surface->row_nbytes,
                                          surface->plane_nbytes};
    uint64_t address = surface->address;
    for (uint32_t d = 0; d < surface->rank; d++) {
        const int64_t taken = d || is_formatted ? 1 : access->request.nbytes, size = surface->sizes[d];
        const int64_t at = place_of(access->code->texture.boundary, coordinate_of(access, d, lane), taken,
                                    size * units_of(access, d));
        if (at < 0) {
            access->outside |= UINT32_C(1) << lane;
            return;
        }
        address += (uint64_t)at * strides[d];
    }
    access->request.addresses[lane] = address;
    access->request.lanes |= UINT32_C(1) << lane;
}

/* ---- the access */

static bool fault(const struct surface_access *access) {
    static const char *const verbs[] = {[SIMT_LOAD] = "loads", [SIMT_STORE] = "stores", [SIMT_ATOMIC] = "reduces"};
    const simt_texture *surface = &access->surface;
    const uint32_t lane = first_lane(access->outside), rank = surface->rank;
    char what[192], at[48] = "", sizes[48] = "";
    for (uint32_t d = 0, a = 0, s = 0; d < rank; d++) {
        a += (uint32_t)snprintf(at + a, sizeof at - a, "%s%d", d ? "," : "", (int)coordinate_of(access, d, lane));
        s += (uint32_t)snprintf(sizes + s, sizeof sizes - s, "%s%u", d ? "," : "", surface->sizes[d] * units_of(access, d));
    }
    snprintf(what, sizeof what, "%s %u bytes of a surface at (%s) of (%s): in a row, coordinates are %s",
             verbs[access->request.kind], access->request.nbytes, at, sizes,
             access->code->texture.is_formatted ? "texels" : "bytes");
    return simt_texture_stop(access->warp, access->path, access->outside, surface->address, what);
}

static void clear_results(const struct surface_access *access) {
    const struct vector_code *vector = &access->code->memory.vector;
    for (uint32_t e = 0; e < vector->count; e++)
        if (!(vector->sinks >> e & 1))
            SIMT_FOR_EACH_LANE (lane, access->outside)
                lane_set(slot_lanes(access->path, vector->slots[e]), vector->widths[e], lane, 0);
}

static void reduce(struct surface_access *access) {
    struct request *request = &access->request;
    const struct memory_code *code = &request->code->memory;
    const unsigned char *values = slot_lanes(access->path, code->vector.slots[0]);
    SIMT_FOR_EACH_LANE (lane, request->lanes)
        element_update(simt_request_host(request, lane), request->nbytes, code->scalar,
                       lane_get(values, code->vector.widths[0], lane), 0, &request->has_changed);
    simt_access_mark(request);
}

/* ---- texels in the surface's format */

static bool refuse(const struct surface_access *access, uint32_t lanes, const char *what) {
    simt_event event = simt_event_of(access->warp, access->path, lanes);
    simt_record_finding(&event, SIMT_FINDING_UNSUPPORTED, first_lane(lanes), access->surface.address, "%s", what);
    simt_stop(&event);
    return false;
}

static uint64_t channel_of(const simt_texture *surface, uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    if (surface->kind == SIMT_TEXEL_FLOAT && surface->channel_nbytes == sizeof(uint16_t)) return f16_from((double)value);
    return bits & (UINT64_MAX >> (64 - 8 * surface->channel_nbytes));
}

/* PTX does not say how a value that the format lacks is rounded or cut off. */
static bool convert(struct surface_access *access) {
    const simt_texture *surface = &access->surface;
    for (uint32_t c = 0; c < surface->channels; c++)
        SIMT_FOR_EACH_LANE (lane, access->request.lanes) {
            uint64_t *value = &access->values[c * SIMT_LANES + lane];
            const uint32_t given = (uint32_t)*value;
            *value = channel_of(surface, given);
            if (simt_channel_bits(surface, *value) != given)
                return refuse(access, UINT32_C(1) << lane,
                              "a store to a surface of a value that its format does not have: PTX leaves open what becomes of it");
        }
    return true;
}

/* NULL: the instruction can be executed for texels of the surface. */
static const char *check_format(const struct surface_access *access) {
    const simt_texture *surface = &access->surface;
    if (access->request.kind == SIMT_STORE)
        return access->code->memory.vector.count >= surface->channels
                   ? NULL
                   : "a store to a surface of fewer values than a texel has: PTX leaves open what becomes of the others";
    const bool is_integer = surface->kind != SIMT_TEXEL_FLOAT;
    return is_integer && surface->channels == 1 && surface->channel_nbytes == sizeof(uint32_t)
               ? NULL
               : "a reduction in a surface whose texels are not single integers of 32 bits";
}

/* The instruction as if its values were of the surface's format. */
static void take_format(const struct surface_access *access, struct code *code) {
    const simt_texture *surface = &access->surface;
    code->memory.vector.element_nbytes = surface->channel_nbytes;
    code->memory.vector.count = surface->channels;
    if (surface->kind == SIMT_TEXEL_SIGNED) code->memory.scalar = code->texture.of_signed;
}

/* ---- the instruction */

static bool access_all(struct surface_access *access, uint32_t lanes, uint64_t handle) {
    const struct texture_code *code = &access->code->texture;
    if (access->surface.rank != code->rank || access->surface.is_layered != code->has_layer)
        return simt_texture_stop(access->warp, access->path, lanes, handle, "an access of other dimensions than the surface's");
    access->request.lanes = access->outside = 0;
    SIMT_FOR_EACH_LANE (lane, lanes) place(access, lane);
    if (access->outside && code->boundary == SIMT_BOUNDARY_TRAP) return fault(access);
    if (access->request.kind == SIMT_LOAD) clear_results(access);
    if (!access->request.lanes) return true;
    if (code->is_formatted && access->values && !convert(access)) return false;
    access->request.space = SIMT_GLOBAL;
    if (!simt_access_open(access->warp, access->path, &access->request)) return false;
    if (access->request.kind == SIMT_ATOMIC) reduce(access);
    else simt_request_perform(access->path, &access->request);
    return true;
}

static bool access_texels(struct surface_access *access, uint32_t lanes, uint64_t handle) {
    struct code code = *access->code;
    const char *wrong = check_format(access);
    if (wrong) return refuse(access, lanes, wrong);
    take_format(access, &code);
    access->request.code = &code;
    access->request.nbytes = simt_texel_nbytes(&access->surface);
    return access_all(access, lanes, handle);
}

static enum outcome execute(struct surface_access *access, uint32_t mask) {
    bool (*const perform)(struct surface_access *, uint32_t, uint64_t) =
        access->code->texture.is_formatted ? access_texels : access_all;
    uint64_t handles[SIMT_LANES];
    simt_addresses(access->path, &access->code->memory.address, handles);
    for (uint32_t rest = mask, lanes; rest; rest &= ~lanes) {
        lanes = simt_texture_lanes(access->warp, access->path, rest, handles, true, &access->surface);
        if (!lanes || !perform(access, lanes, handles[first_lane(rest)])) return OUTCOME_LEFT;
    }
    return OUTCOME_NEXT;
}

static enum outcome execute_load(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct surface_access access = {.warp = warp, .path = path, .code = code};
    simt_request_begin(&access.request, code, SIMT_LOAD, 0);
    return execute(&access, mask);
}

static enum outcome execute_store(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    uint64_t values[VECTOR_MAX * SIMT_LANES];
    struct surface_access access = {.warp = warp, .path = path, .code = code};
    simt_collect_values(path, &code->memory.vector, values);
    simt_request_begin(&access.request, code, SIMT_STORE, 0);
    access.request.values = access.values = values;
    return execute(&access, mask);
}

static enum outcome execute_reduction(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct surface_access access = {.warp = warp, .path = path, .code = code};
    simt_request_begin(&access.request, code, SIMT_ATOMIC, 0);
    return execute(&access, mask);
}

/* suld.b.GEOMETRY{.CACHE}{.VECTOR}.TYPE.BOUNDARY {d}, [handle, {coordinates}]; sust the other way round, also with .p */
static bool decode_surface(struct decoder *decoder, struct code *code, uint32_t value) {
    static const char *const boundaries[] = {[SIMT_BOUNDARY_TRAP] = "trap", [SIMT_BOUNDARY_CLAMP] = "clamp",
                                             [SIMT_BOUNDARY_ZERO] = "zero"};
    const struct operand *operands = decoder->instruction->operands;
    uint32_t b = 0;
    while (b < 3 && !simt_has(decoder->instruction, boundaries[b])) b++;
    if (b == 3) return false;
    code->texture.boundary = (enum simt_boundary)b;
    code->texture.is_integer = true;
    code->texture.is_formatted = simt_has(decoder->instruction, "p");
    return simt_decode_vector(decoder, code, &operands[value]) &&
           simt_decode_texture_address(decoder, code, &operands[!value]);
}

static bool decode_load(struct decoder *decoder, struct code *code) {
    code->execute = execute_load;
    return decode_surface(decoder, code, 0);
}

static bool decode_store(struct decoder *decoder, struct code *code) {
    code->execute = execute_store;
    return decode_surface(decoder, code, 1);
}

/* Whether the integers have a sign, the surface says.  Bits are or-ed and and-ed alike. */
static bool decode_operations(const struct instruction *instruction, struct code *code) {
    const enum type type = simt_last_type(instruction);
    const bool is_formatted = simt_has(instruction, "p"), has_sign = !simt_has(instruction, "and") && !simt_has(instruction, "or");
    const char *name;
    code->memory.scalar = simt_operation(instruction, is_formatted && has_sign ? TYPE_U32 : type, &name);
    code->texture.of_signed = simt_operation(instruction, has_sign ? TYPE_S32 : type, &name);
    return code->memory.scalar && (!is_formatted || code->texture.of_signed);
}

/* sured.b.OPERATION.GEOMETRY.TYPE.BOUNDARY [handle, {coordinates}], value; with .p, TYPE is b32 */
static bool decode_reduction(struct decoder *decoder, struct code *code) {
    code->execute = execute_reduction;
    code->memory.order = SIMT_RELAXED;
    return decode_operations(decoder->instruction, code) && decode_surface(decoder, code, 1);
}

const struct instruction_kind simt_surface_kinds[] = {
    {"suld", decode_load}, {"sust", decode_store}, {"sured", decode_reduction}, {NULL, NULL}};
