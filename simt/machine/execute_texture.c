/* tex: texels by their coordinates, the nearest or a weighted mean of the 2, 4 or 8 around.  Each texel is a load of global
 * memory, for races and counts. */
#include <math.h>
#include <string.h>

#include "access.h"
#include "decoder.h"
#include "element.h"
#include "texture.h"

enum { CHANNELS = 4, DIMENSIONS = 3, HALF_BITS = 8 };

/* code->call.slots: the coordinates; a layer is the last of the dimensions, whatever its place in the operands. */

/* The lanes that fetch from one texture. */
struct fetch {
    struct warp *warp;
    struct path *path;
    const struct code *code;
    uint32_t lanes;
    simt_texture texture;
    int64_t first[DIMENSIONS][SIMT_LANES]; /* the texel's number, or that of the lower one of two */
    double weight[DIMENSIONS][SIMT_LANES]; /* of the higher one */
    double sums[CHANNELS][SIMT_LANES];
    uint32_t bits[CHANNELS][SIMT_LANES];
};

static bool stop(const struct fetch *fetch, uint64_t address, enum simt_finding_kind kind, const char *what) {
    simt_event event = simt_event_of(fetch->warp, fetch->path, fetch->lanes);
    simt_record_finding(&event, kind, (uint32_t)__builtin_ctz(fetch->lanes), address, "%s", what);
    simt_stop(&event);
    return false;
}

/* ---- coordinates */

static bool is_filtered(const struct fetch *fetch) {
    return fetch->texture.is_linear && !fetch->code->texture.is_integer;
}

/* How many of the dimensions are interpolated in: layers never are. */
static uint32_t filtered_dimensions(const struct fetch *fetch) {
    if (!is_filtered(fetch)) return 0;
    return fetch->texture.rank - fetch->code->texture.has_layer;
}

static double coordinate_of(const struct fetch *fetch, uint32_t dimension, uint32_t lane) {
    const unsigned char *lanes = slot_lanes(fetch->path, fetch->code->call.slots[dimension]);
    const uint32_t bits = (uint32_t)lane_get(lanes, WIDTH_32, lane);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int64_t integer_of(const struct fetch *fetch, uint32_t dimension, uint32_t lane) {
    return (int32_t)(uint32_t)lane_get(slot_lanes(fetch->path, fetch->code->call.slots[dimension]), WIDTH_32, lane);
}

/* Weights have 8 bits behind the point. */
static void place(struct fetch *fetch, uint32_t dimension, uint32_t lane) {
    const bool is_layer = fetch->code->texture.has_layer && dimension == fetch->texture.rank - 1u;
    fetch->weight[dimension][lane] = 0;
    if (fetch->code->texture.is_integer || is_layer) {
        fetch->first[dimension][lane] = integer_of(fetch, dimension, lane);
        return;
    }
    double at = simt_texture_position(&fetch->texture, dimension, coordinate_of(fetch, dimension, lane));
    if (is_filtered(fetch)) at -= 0.5;
    const double limit = ldexp(1, 40), below = floor(at < -limit ? -limit : at > limit ? limit : at);
    fetch->first[dimension][lane] = (int64_t)below;
    if (is_filtered(fetch) && fabs(at) < limit)
        fetch->weight[dimension][lane] = floor(ldexp(at - below, HALF_BITS) + 0.5) / (1 << HALF_BITS);
}

/* Whole numbers have no modes: what is outside is 0. */
static int64_t index_of(const struct fetch *fetch, uint32_t dimension, int64_t number) {
    const int64_t size = fetch->texture.sizes[dimension];
    const bool is_layer = fetch->code->texture.has_layer && dimension == fetch->texture.rank - 1u;
    if (is_layer) return number < 0 ? 0 : number >= size ? size - 1 : number;
    if (!fetch->code->texture.is_integer) return simt_texture_index(&fetch->texture, dimension, number);
    return number >= 0 && number < size ? number : -1;
}

/* ---- texels */

static uint32_t channels_of(const struct fetch *fetch) {
    return fetch->texture.channels < CHANNELS ? fetch->texture.channels : CHANNELS;
}

/* The tap takes the higher texel in the dimensions whose bits it has.  Returns the lanes with a texel; `weights` are the
 * tap's. */
static uint32_t find_texels(const struct fetch *fetch, uint32_t tap, uint64_t addresses[SIMT_LANES],
                            double weights[SIMT_LANES]) {
    const simt_texture *texture = &fetch->texture;
    const uint64_t strides[DIMENSIONS] = {simt_texel_nbytes(texture),
                                          texture->rank == 2 && fetch->code->texture.has_layer ? texture->plane_nbytes
                                                                                               : texture->row_nbytes,
                                          texture->plane_nbytes};
    uint32_t found = 0;
    SIMT_FOR_EACH_LANE (lane, fetch->lanes) {
        bool is_inside = true;
        addresses[lane] = texture->address;
        weights[lane] = 1;
        for (uint32_t d = 0; d < texture->rank; d++) {
            const int64_t index = index_of(fetch, d, fetch->first[d][lane] + (tap >> d & 1));
            const double weight = fetch->weight[d][lane];
            is_inside &= index >= 0;
            addresses[lane] += (uint64_t)index * strides[d];
            weights[lane] *= tap >> d & 1 ? weight : 1 - weight;
        }
        found |= (uint32_t)is_inside << lane;
    }
    return found;
}

static void add_texel(struct fetch *fetch, uint32_t lane, const unsigned char *host, double weight) {
    const simt_texture *texture = &fetch->texture;
    for (uint32_t c = 0; c < channels_of(fetch); c++) {
        const uint64_t bits = element_load(host + c * texture->channel_nbytes, texture->channel_nbytes);
        fetch->bits[c][lane] = simt_channel_bits(texture, bits);
        if (weight != 0) fetch->sums[c][lane] += weight * simt_channel_value(texture, bits);
    }
}

static void add_border(struct fetch *fetch, uint32_t lane, double weight) {
    const bool has_colour = !fetch->code->texture.is_integer;
    for (uint32_t c = 0; c < channels_of(fetch); c++) {
        const float colour = has_colour ? fetch->texture.border[c] : 0;
        if (weight != 0) fetch->sums[c][lane] += weight * (double)colour;
        memcpy(&fetch->bits[c][lane], &colour, sizeof colour);
    }
}

static bool add_tap(struct fetch *fetch, uint32_t tap) {
    struct code code = *fetch->code; /* whose texels have the texture's size */
    struct request request;
    double weights[SIMT_LANES];
    code.memory.vector.element_nbytes = fetch->texture.channel_nbytes;
    code.memory.vector.count = fetch->texture.channels;
    simt_request_begin(&request, &code, SIMT_LOAD, 0);
    request.space = SIMT_GLOBAL;
    request.lanes = find_texels(fetch, tap, request.addresses, weights);
    SIMT_FOR_EACH_LANE (lane, fetch->lanes & ~request.lanes) add_border(fetch, lane, weights[lane]);
    if (!request.lanes) return true;
    if (!simt_access_open(fetch->warp, fetch->path, &request)) return false;
    SIMT_FOR_EACH_LANE (lane, request.lanes)
        add_texel(fetch, lane, simt_request_host(&request, lane), weights[lane]);
    return true;
}

/* ---- results */

/* What a texture's channels lack is 0, and 1 in the last. */
static uint32_t result_of(const struct fetch *fetch, uint32_t channel, uint32_t lane) {
    const bool is_float = fetch->code->texture.is_float;
    float value = channel == CHANNELS - 1;
    uint32_t bits = channel == CHANNELS - 1;
    if (channel < fetch->texture.channels) {
        if (!is_float || (fetch->texture.kind == SIMT_TEXEL_FLOAT && !is_filtered(fetch)))
            return fetch->bits[channel][lane];
        value = (float)fetch->sums[channel][lane];
    }
    if (is_float) memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void write_results(const struct fetch *fetch) {
    const struct vector_code *vector = &fetch->code->memory.vector;
    for (uint32_t c = 0; c < CHANNELS; c++) {
        if (vector->sinks >> c & 1) continue;
        SIMT_FOR_EACH_LANE (lane, fetch->lanes)
            lane_set(slot_lanes(fetch->path, vector->slots[c]), vector->widths[c], lane, result_of(fetch, c, lane));
    }
}

/* ---- the instruction */

static bool check_texture(const struct fetch *fetch, uint64_t handle) {
    const simt_texture *texture = &fetch->texture;
    const bool reads_floats = texture->kind == SIMT_TEXEL_FLOAT || texture->is_normalised_read;
    if (texture->rank != fetch->code->texture.rank || texture->is_layered != fetch->code->texture.has_layer)
        return stop(fetch, handle, SIMT_FINDING_BOUNDS, "a fetch of other dimensions than the texture's");
    if (reads_floats != fetch->code->texture.is_float)
        return stop(fetch, handle, SIMT_FINDING_BOUNDS,
                    reads_floats ? "a fetch of integers from a texture that is read as floats"
                                 : "a fetch of floats from a texture that is read as integers");
    return true;
}

static bool fetch_all(struct fetch *fetch, uint64_t handle) {
    const uint32_t filtered = filtered_dimensions(fetch);
    if (!check_texture(fetch, handle)) return false;
    for (uint32_t d = 0; d < fetch->texture.rank; d++)
        SIMT_FOR_EACH_LANE (lane, fetch->lanes) place(fetch, d, lane);
    memset(fetch->sums, 0, sizeof fetch->sums);
    for (uint32_t tap = 0; tap < 1u << filtered; tap++)
        if (!add_tap(fetch, tap)) return false;
    write_results(fetch);
    return true;
}

static enum outcome execute_texture(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct fetch fetch = {.warp = warp, .path = path, .code = code};
    uint64_t handles[SIMT_LANES];
    simt_addresses(path, &code->memory.address, handles);
    for (uint32_t rest = mask; rest; rest &= ~fetch.lanes) {
        const uint32_t first = (uint32_t)__builtin_ctz(rest);
        const unsigned char *bytes = simt_generic_bytes(warp, first, handles[first], SIMT_TEXTURE_NBYTES);
        fetch.lanes = 0;
        SIMT_FOR_EACH_LANE (lane, rest) fetch.lanes |= (uint32_t)(handles[lane] == handles[first]) << lane;
        if (!bytes || !simt_texture_read(bytes, &fetch.texture)) {
            stop(&fetch, handles[first], SIMT_FINDING_BOUNDS,
                 "there is no texture of this handle: cudaCreateTextureObject makes one, cudaDestroyTextureObject ends it");
            return OUTCOME_LEFT;
        }
        if (!fetch_all(&fetch, handles[first])) return OUTCOME_LEFT;
    }
    return OUTCOME_NEXT;
}

static const struct geometry {
    const char *modifier;
    uint8_t rank, operands;
    bool has_layer;
} geometries[] = {{"1d", 1, 1, false}, {"2d", 2, 2, false},  {"3d", 3, 4, false},
                  {"a1d", 2, 2, true}, {"a2d", 3, 4, true}};

static const struct geometry *geometry_of(const struct instruction *instruction) {
    for (size_t g = 0; g < sizeof geometries / sizeof *geometries; g++)
        if (simt_has(instruction, geometries[g].modifier)) return &geometries[g];
    return NULL;
}

/* Of layers the first operand is the layer. */
static bool decode_coordinates(struct decoder *decoder, struct code *code, const struct operand *given,
                               const struct geometry *geometry) {
    for (uint32_t d = 0; d < geometry->rank; d++) {
        const bool is_layer = geometry->has_layer && d == geometry->rank - 1u;
        const uint32_t number = !geometry->has_layer ? d : is_layer ? 0 : d + 1;
        const enum type type = is_layer || code->texture.is_integer ? TYPE_S32 : TYPE_F32;
        if (!simt_operand(decoder, &given->elements[number], type, &code->call.slots[d])) return false;
    }
    return true;
}

static bool decode_results(struct decoder *decoder, struct code *code, const struct operand *given) {
    struct vector_code *vector = &code->memory.vector;
    for (uint32_t c = 0; c < CHANNELS; c++) {
        const struct operand *operand = &given->elements[c];
        vector->widths[c] = simt_operand_width(decoder, operand, WIDTH_32);
        if (operand->kind == OPERAND_SINK) vector->sinks |= (uint8_t)(1u << c);
        else if (!simt_operand(decoder, operand, TYPE_B32, &vector->slots[c])) return false;
    }
    return true;
}

/* tex{.level}.GEOMETRY.v4.TYPE.TYPE {d, d, d, d}, [handle, {coordinates}]{, level}: there is one level, so that it does not
 * matter which is asked for. */
static bool decode_texture(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    const struct operand *operands = instruction->operands;
    const struct geometry *geometry = geometry_of(instruction);
    const uint32_t named = 4u + simt_has(instruction, "level");
    if (!geometry || instruction->modifier_count != named || !simt_has(instruction, "v4")) return false;
    const struct operand *coordinates = &operands[1].elements[1];
    if (coordinates->element_count != geometry->operands) return false;
    code->execute = execute_texture;
    code->texture.rank = geometry->rank;
    code->texture.has_layer = geometry->has_layer;
    code->texture.is_float = !strcmp(instruction->modifiers[named - 2], "f32");
    code->texture.is_integer = !strcmp(instruction->modifiers[named - 1], "s32");
    return decode_results(decoder, code, &operands[0]) &&
           decode_coordinates(decoder, code, coordinates, geometry) &&
           simt_address(decoder, &operands[1].elements[0], &code->memory.address);
}

const struct instruction_kind simt_texture_kinds[] = {{"tex", decode_texture}, {NULL, NULL}};
