/* suld, sust and sured: loads, stores and reductions of what lies at coordinates of a surface, in a row by bytes.  Each is an
 * access to global memory as any other, for races and counts. */
#include <stdio.h>
#include <string.h>

#include "access.h"
#include "decoder.h"
#include "element.h"
#include "lanes.h"
#include "texture.h"

enum { DIMENSIONS = 3 };

/* What the instruction reads, by memory, and where. */
struct surface_access {
    struct warp *warp;
    struct path *path;
    const struct code *code;
    simt_texture surface;
    struct request request; /* its lanes: those inside */
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

static void place(struct surface_access *access, uint32_t lane) {
    const simt_texture *surface = &access->surface;
    const bool is_row_of_layers = surface->rank == 2 && surface->is_layered;
    const uint64_t strides[DIMENSIONS] = {1, is_row_of_layers ? surface->plane_nbytes : surface->row_nbytes,
                                          surface->plane_nbytes};
    uint64_t address = surface->address;
    for (uint32_t d = 0; d < surface->rank; d++) {
        const int64_t unit = d ? 1 : access->request.nbytes, texel = d ? 1 : simt_texel_nbytes(surface);
        const int64_t at = place_of(access->code->texture.boundary, coordinate_of(access, d, lane), unit,
                                    surface->sizes[d] * texel);
        if (at < 0) {
            access->outside |= UINT32_C(1) << lane;
            return;
        }
        address += (uint64_t)at * strides[d];
    }
    access->request.addresses[lane] = address;
    access->request.lanes |= UINT32_C(1) << lane;
}

/* ---- the instruction */

static bool fault(const struct surface_access *access) {
    static const char *const verbs[] = {[SIMT_LOAD] = "loads", [SIMT_STORE] = "stores", [SIMT_ATOMIC] = "reduces"};
    const simt_texture *surface = &access->surface;
    const uint32_t lane = first_lane(access->outside), rank = surface->rank;
    char what[192], at[48] = "", sizes[48] = "";
    for (uint32_t d = 0, a = 0, s = 0; d < rank; d++) {
        const unsigned texel = d ? 1 : simt_texel_nbytes(surface);
        a += (uint32_t)snprintf(at + a, sizeof at - a, "%s%d", d ? "," : "", (int)coordinate_of(access, d, lane));
        s += (uint32_t)snprintf(sizes + s, sizeof sizes - s, "%s%u", d ? "," : "", surface->sizes[d] * texel);
    }
    snprintf(what, sizeof what, "%s %u bytes of a surface at (%s) of (%s): in a row, coordinates are bytes",
             verbs[access->request.kind], access->request.nbytes, at, sizes);
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
    const struct memory_code *code = &access->code->memory;
    const unsigned char *values = slot_lanes(access->path, code->vector.slots[0]);
    SIMT_FOR_EACH_LANE (lane, request->lanes)
        element_update(simt_request_host(request, lane), request->nbytes, code->scalar,
                       lane_get(values, code->vector.widths[0], lane), 0, &request->has_changed);
    simt_access_mark(request);
}

static bool access_all(struct surface_access *access, uint32_t lanes, uint64_t handle) {
    const struct texture_code *code = &access->code->texture;
    if (access->surface.rank != code->rank || access->surface.is_layered != code->has_layer)
        return simt_texture_stop(access->warp, access->path, lanes, handle, "an access of other dimensions than the surface's");
    access->request.lanes = access->outside = 0;
    SIMT_FOR_EACH_LANE (lane, lanes) place(access, lane);
    if (access->outside && code->boundary == SIMT_BOUNDARY_TRAP) return fault(access);
    if (access->request.kind == SIMT_LOAD) clear_results(access);
    if (!access->request.lanes) return true;
    access->request.space = SIMT_GLOBAL;
    if (!simt_access_open(access->warp, access->path, &access->request)) return false;
    if (access->request.kind == SIMT_ATOMIC) reduce(access);
    else simt_request_perform(access->path, &access->request);
    return true;
}

static enum outcome execute(struct surface_access *access, uint32_t mask) {
    uint64_t handles[SIMT_LANES];
    simt_addresses(access->path, &access->code->memory.address, handles);
    for (uint32_t rest = mask, lanes; rest; rest &= ~lanes) {
        lanes = simt_texture_lanes(access->warp, access->path, rest, handles, true, &access->surface);
        if (!lanes || !access_all(access, lanes, handles[first_lane(rest)])) return OUTCOME_LEFT;
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
    access.request.values = values;
    return execute(&access, mask);
}

static enum outcome execute_reduction(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct surface_access access = {.warp = warp, .path = path, .code = code};
    simt_request_begin(&access.request, code, SIMT_ATOMIC, 0);
    return execute(&access, mask);
}

/* suld.b.GEOMETRY{.CACHE}{.VECTOR}.TYPE.BOUNDARY {d}, [handle, {coordinates}]; sust the other way round */
static bool decode_surface(struct decoder *decoder, struct code *code, uint32_t value) {
    static const char *const boundaries[] = {[SIMT_BOUNDARY_TRAP] = "trap", [SIMT_BOUNDARY_CLAMP] = "clamp",
                                             [SIMT_BOUNDARY_ZERO] = "zero"};
    const struct operand *operands = decoder->instruction->operands;
    uint32_t b = 0;
    while (b < 3 && !simt_has(decoder->instruction, boundaries[b])) b++;
    if (b == 3) return false;
    code->texture.boundary = (enum simt_boundary)b;
    code->texture.is_integer = true;
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

/* sured.b.OPERATION.GEOMETRY.TYPE.BOUNDARY [handle, {coordinates}], value */
static bool decode_reduction(struct decoder *decoder, struct code *code) {
    const char *name;
    code->execute = execute_reduction;
    code->memory.order = SIMT_RELAXED;
    code->memory.scalar = simt_operation(decoder->instruction, simt_last_type(decoder->instruction), &name);
    return code->memory.scalar && decode_surface(decoder, code, 1);
}

const struct instruction_kind simt_surface_kinds[] = {
    {"suld", decode_load}, {"sust", decode_store}, {"sured", decode_reduction}, {NULL, NULL}};
