/* tex: texels by their coordinates, the nearest or a weighted mean of the 2, 4 or 8 around; tld4: the 4 around.  Each texel is
 * a load of global memory, for races and counts.
 *
 * CUDA's guide has the formulas without saying how they are rounded; that is as an H200 does it: docs tell what was compared. */
#include <math.h>
#include <string.h>

#include "access.h"
#include "decoder.h"
#include "element.h"
#include "lanes_ieee.h"
#include "texture.h"

enum { CHANNELS = 4, PAIRS = CHANNELS / 2, DIMENSIONS = 3, TAPS = 8, TAPS_OF_PLANE = 4 };
enum { WEIGHT_BITS = 8, WHOLE = 1 << WEIGHT_BITS, ALIGNED_BITS = 27, ALIGNED_BITS_F16 = 14 };

/* code->call.slots: the coordinates; a layer is the last of the dimensions, whatever its place in the operands; then the layer
 * of cubes, and the level; or the gradient along x of the screen, while that along y is in memory.vector, behind the results. */
enum { CUBE_LAYER = DIMENSIONS, LEVEL, GRADIENT = LEVEL };

/* The lanes that fetch from one texture. */
struct fetch {
    struct warp *warp;
    struct path *path;
    const struct code *code;
    uint32_t lanes;
    simt_texture texture;
    simt_mipmap mipmap;
    int64_t first[DIMENSIONS][SIMT_LANES]; /* the texel's number, or that of the lower one of two */
    uint32_t fraction[DIMENSIONS][SIMT_LANES]; /* of the WHOLE: the higher one's weight */
    double terms[TAPS][CHANNELS][SIMT_LANES];  /* what is weighed */
    uint32_t bits[CHANNELS][SIMT_LANES];
    uint32_t results[CHANNELS][SIMT_LANES];
};

bool simt_texture_stop(struct warp *warp, struct path *path, uint32_t lanes, uint64_t address, const char *what) {
    simt_event event = simt_event_of(warp, path, lanes);
    simt_record_finding(&event, SIMT_FINDING_BOUNDS, first_lane(lanes), address, "%s", what);
    simt_stop(&event);
    return false;
}

static bool stop(const struct fetch *fetch, uint64_t address, const char *what) {
    return simt_texture_stop(fetch->warp, fetch->path, fetch->lanes, address, what);
}

/* ---- coordinates */

static bool is_filtered(const struct fetch *fetch) {
    return fetch->texture.is_linear && !fetch->code->texture.is_integer && !fetch->code->texture.takes_four;
}

/* A coordinate lies between the centres of two texels. */
static bool takes_both(const struct fetch *fetch) { return is_filtered(fetch) || fetch->code->texture.takes_four; }

/* How many of the dimensions are interpolated in: layers never are. */
static uint32_t filtered_dimensions(const struct fetch *fetch) {
    if (!is_filtered(fetch)) return 0;
    return fetch->texture.rank - fetch->code->texture.has_layer;
}

static float float_at(const struct fetch *fetch, slot place, uint32_t lane) {
    const uint32_t bits = (uint32_t)lane_get(slot_lanes(fetch->path, place), WIDTH_32, lane);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float float_of(const struct fetch *fetch, uint32_t slot, uint32_t lane) {
    return float_at(fetch, fetch->code->call.slots[slot], lane);
}

/* A coordinate that the instruction lacks, of the one row of a 1d array, is 0. */
static double coordinate_of(const struct fetch *fetch, uint32_t dimension, uint32_t lane) {
    return dimension < fetch->code->texture.rank ? float_of(fetch, dimension, lane) : 0;
}

static int64_t integer_of(const struct fetch *fetch, uint32_t dimension, uint32_t lane) {
    return (int32_t)(uint32_t)lane_get(slot_lanes(fetch->path, fetch->code->call.slots[dimension]), WIDTH_32, lane);
}

/* Of the direction that the first three coordinates are: the face of the cube, and where it is in it, from 0 to 1.  CUDA C++
 * Programming Guide, "Cubemap Textures". */
static uint32_t cube_face(const struct fetch *fetch, uint32_t lane, float place[2]) {
    const float x = (float)coordinate_of(fetch, 0, lane), y = (float)coordinate_of(fetch, 1, lane),
                z = (float)coordinate_of(fetch, 2, lane);
    const bool is_z = fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y), is_y = !is_z && fabsf(y) >= fabsf(x);
    const float major = is_z ? z : is_y ? y : x, sign = signbit(major) ? -1.0f : 1.0f;
    const float across = is_z ? sign * x : is_y ? x : -sign * z, down = is_y ? sign * z : -y;
    place[0] = (across / fabsf(major) + 1) / 2;
    place[1] = (down / fabsf(major) + 1) / 2;
    return (is_z ? 4u : is_y ? 2u : 0u) + (sign < 0);
}

/* The number of the face among all layers. */
static int64_t cube_layer(const struct fetch *fetch, uint32_t lane) {
    float place[2];
    const int64_t cubes = fetch->texture.sizes[2] / 6;
    const int64_t wanted = fetch->code->texture.has_cubes ? integer_of(fetch, CUBE_LAYER, lane) : 0;
    return 6 * (wanted < 0 ? 0 : wanted >= cubes ? cubes - 1 : wanted) + cube_face(fetch, lane, place);
}

static double fraction_of(const struct fetch *fetch, uint32_t dimension, uint32_t lane) {
    float place[2];
    if (!fetch->code->texture.is_cube) return coordinate_of(fetch, dimension, lane);
    cube_face(fetch, lane, place);
    return place[dimension];
}

/* Rounded to as many bits as its fraction has. */
static double rounded(double at) { return ldexp(floor(ldexp(at, WEIGHT_BITS) + 0.5), -WEIGHT_BITS); }

/* The fraction of a coordinate is rounded to 8 bits. */
static void place(struct fetch *fetch, uint32_t dimension, uint32_t lane) {
    const bool is_layer = fetch->code->texture.has_layer && dimension == fetch->texture.rank - 1u;
    fetch->fraction[dimension][lane] = 0;
    if (fetch->code->texture.is_integer || is_layer) {
        fetch->first[dimension][lane] =
            fetch->code->texture.is_cube ? cube_layer(fetch, lane) : integer_of(fetch, dimension, lane);
        return;
    }
    double at = simt_texture_position(&fetch->texture, dimension, fraction_of(fetch, dimension, lane));
    if (takes_both(fetch)) at -= 0.5;
    if (fetch->code->texture.takes_four) at = rounded(at);
    const double limit = ldexp(1, 40), below = floor(at < -limit ? -limit : at > limit ? limit : at);
    fetch->first[dimension][lane] = (int64_t)below;
    if (is_filtered(fetch) && fabs(at) < limit)
        fetch->fraction[dimension][lane] = (uint32_t)floor(ldexp(at - below, WEIGHT_BITS) + 0.5);
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

/* The tap takes the higher texel in the dimensions whose bits it has.  The whole is divided by z, then x, then y; the higher part is
 * rounded, but at the lower x the lower y's is, and the other gets the rest. */
static uint32_t weight_of(const struct fetch *fetch, uint32_t tap, uint32_t lane) {
    static const uint8_t order[DIMENSIONS] = {2, 0, 1};
    const uint32_t filtered = filtered_dimensions(fetch);
    uint32_t weight = WHOLE;
    for (uint32_t i = 0; i < DIMENSIONS; i++) {
        const uint32_t d = order[i];
        if (d >= filtered) continue;
        const bool is_higher = tap >> d & 1, rounds_higher = d != 1 || tap & 1;
        const uint32_t fraction = fetch->fraction[d][lane], share = rounds_higher ? fraction : WHOLE - fraction;
        const uint32_t part = (weight * share + WHOLE / 2) >> WEIGHT_BITS;
        weight = is_higher == rounds_higher ? part : weight - part;
    }
    return weight;
}

/* Returns the lanes with a texel. */
static uint32_t find_texels(const struct fetch *fetch, uint32_t tap, uint64_t addresses[SIMT_LANES]) {
    const simt_texture *texture = &fetch->texture;
    const uint64_t strides[DIMENSIONS] = {simt_texel_nbytes(texture),
                                          texture->rank == 2 && fetch->code->texture.has_layer ? texture->plane_nbytes
                                                                                               : texture->row_nbytes,
                                          texture->plane_nbytes};
    uint32_t found = 0;
    SIMT_FOR_EACH_LANE (lane, fetch->lanes) {
        bool is_inside = true;
        addresses[lane] = texture->address;
        for (uint32_t d = 0; d < texture->rank; d++) {
            const int64_t index = index_of(fetch, d, fetch->first[d][lane] + (tap >> d & 1));
            is_inside &= index >= 0;
            addresses[lane] += (uint64_t)index * strides[d];
        }
        found |= (uint32_t)is_inside << lane;
    }
    return found;
}

/* The number that the greatest integer becomes before it is filtered; 0 if texels are floats or are not filtered. */
static double scale_of(const struct fetch *fetch) {
    if (!is_filtered(fetch) || fetch->texture.kind == SIMT_TEXEL_FLOAT) return 0;
    return fetch->texture.kind == SIMT_TEXEL_UNSIGNED ? UINT16_MAX : INT16_MAX;
}

static double term_of(const struct fetch *fetch, double value) {
    const double scale = scale_of(fetch);
    return scale > 0 ? floor(value * scale + 0.5) : value;
}

static void add_texel(struct fetch *fetch, uint32_t tap, uint32_t lane, const unsigned char *host) {
    const simt_texture *texture = &fetch->texture;
    for (uint32_t c = 0; c < channels_of(fetch); c++) {
        const uint64_t bits = element_load(host + c * texture->channel_nbytes, texture->channel_nbytes);
        fetch->bits[c][lane] = simt_channel_bits(texture, bits);
        fetch->terms[tap][c][lane] = term_of(fetch, simt_channel_value(texture, bits));
    }
}

static void add_border(struct fetch *fetch, uint32_t tap, uint32_t lane) {
    const bool has_colour = !fetch->code->texture.is_integer;
    for (uint32_t c = 0; c < channels_of(fetch); c++) {
        const float colour = has_colour ? fetch->texture.border[c] : 0;
        memcpy(&fetch->bits[c][lane], &colour, sizeof colour);
        fetch->terms[tap][c][lane] = term_of(fetch, (double)colour);
    }
}

static bool add_tap(struct fetch *fetch, uint32_t tap) {
    struct code code = *fetch->code; /* whose texels have the texture's size */
    struct request request;
    code.memory.vector.element_nbytes = fetch->texture.channel_nbytes;
    code.memory.vector.count = fetch->texture.channels;
    simt_request_begin(&request, &code, SIMT_LOAD, 0);
    request.space = SIMT_GLOBAL;
    request.lanes = find_texels(fetch, tap, request.addresses);
    SIMT_FOR_EACH_LANE (lane, fetch->lanes & ~request.lanes) add_border(fetch, tap, lane);
    if (!request.lanes) return true;
    if (!simt_access_open(fetch->warp, fetch->path, &request)) return false;
    SIMT_FOR_EACH_LANE (lane, request.lanes) add_texel(fetch, tap, lane, simt_request_host(&request, lane));
    return true;
}

/* ---- filtering */

static bool is_of_f16(const struct fetch *fetch) {
    return fetch->texture.kind == SIMT_TEXEL_FLOAT && fetch->texture.channel_nbytes == 2;
}

/* The sum of the four texels from a tap on, or of as many as there are: what is filtered in a plane.  Terms are cut off 27 bits below
 * the first bit of the greatest, those of f16 14 bits: so their sum is exact here.  With NaN or infinity among them it is what
 * IEEE 754 makes of it. */
static double plane_sum(const struct fetch *fetch, uint32_t first, uint32_t channel, uint32_t lane) {
    const int bits = (is_of_f16(fetch) ? ALIGNED_BITS_F16 : ALIGNED_BITS) + 1;
    const uint32_t filtered = filtered_dimensions(fetch), taps = filtered < 2 ? 1u << filtered : TAPS_OF_PLANE;
    uint32_t weights[TAPS_OF_PLANE];
    double largest = 0, plain = 0, sum = 0;
    int exponent;
    for (uint32_t tap = 0; tap < taps; tap++) {
        const double term = fetch->terms[first + tap][channel][lane];
        weights[tap] = weight_of(fetch, first + tap, lane);
        if (!weights[tap]) continue;
        if (fabs(term) > largest) largest = fabs(term);
        plain += term * weights[tap];
    }
    if (!isfinite(plain)) return plain;
    frexp(largest, &exponent);
    for (uint32_t tap = 0; tap < taps; tap++)
        if (weights[tap])
            sum += trunc(ldexp(fetch->terms[first + tap][channel][lane], bits - exponent)) * weights[tap];
    return ldexp(sum, exponent - bits - WEIGHT_BITS);
}

/* Rounded to a number of fewer bits to the nearest, it gives what sum + error does, and of two that are as near the one away from
 * zero: a number that has an odd last bit is in the middle of no two floats. */
static double between_floats(double sum, double error) {
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return bits & 1 ? sum : nextafter(sum, copysign(INFINITY, error != 0 ? error : sum));
}

static float filtered_value(const struct fetch *fetch, uint32_t channel, uint32_t lane) {
    const double near = plane_sum(fetch, 0, channel, lane), scale = scale_of(fetch);
    const double far = filtered_dimensions(fetch) == DIMENSIONS ? plane_sum(fetch, TAPS_OF_PLANE, channel, lane) : 0;
    const double sum = near + far, of_far = sum - near, error = near - (sum - of_far) + (far - of_far); /* exactly (Knuth) */
    if (scale > 0) return (float)(floor(sum + 0.5) / scale);
    const double rounding = between_floats(sum, isfinite(sum) ? error : 0);
    return is_of_f16(fetch) ? (float)f16_of(f16_from(rounding)) : (float)rounding;
}

/* ---- results */

static uint32_t register_count(const struct texture_code *code) { return code->is_packed ? PAIRS : CHANNELS; }

/* What a texture's channels lack is 0, and 1 in the last.  Of the tap, where texels are not filtered. */
static uint32_t result_of(const struct fetch *fetch, uint32_t tap, uint32_t channel, uint32_t lane) {
    const bool is_float = fetch->code->texture.is_float;
    float value = channel == CHANNELS - 1;
    uint32_t bits = channel == CHANNELS - 1;
    if (channel < fetch->texture.channels) {
        if (!is_float || (fetch->texture.kind == SIMT_TEXEL_FLOAT && !is_filtered(fetch)))
            return fetch->bits[channel][lane];
        value = is_filtered(fetch) ? filtered_value(fetch, channel, lane) : (float)fetch->terms[tap][channel][lane];
    }
    if (is_float) memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Two floats become halves of one register; an H200 rounds them to the nearest, of two that are as near to the even one. */
static void pack(struct fetch *fetch) {
    for (uint32_t r = 0; r < PAIRS; r++)
        SIMT_FOR_EACH_LANE (lane, fetch->lanes) {
            const uint32_t low = f16_from((double)f32_of(fetch->results[2 * r][lane]));
            fetch->results[r][lane] = (uint32_t)f16_from((double)f32_of(fetch->results[2 * r + 1][lane])) << 16 | low;
        }
}

static void write_results(const struct fetch *fetch) {
    const struct vector_code *vector = &fetch->code->memory.vector;
    for (uint32_t c = 0; c < register_count(&fetch->code->texture); c++) {
        if (vector->sinks >> c & 1) continue;
        SIMT_FOR_EACH_LANE (lane, fetch->lanes)
            lane_set(slot_lanes(fetch->path, vector->slots[c]), vector->widths[c], lane, fetch->results[c][lane]);
    }
}

/* ---- the instruction */

static bool check_texture(const struct fetch *fetch, uint64_t handle) {
    const simt_texture *texture = &fetch->texture;
    const bool reads_floats = texture->kind == SIMT_TEXEL_FLOAT || texture->is_normalised_read;
    const bool is_cube = texture->rank == 3 && texture->modes[2] == SIMT_TEXTURE_CUBE;
    if (texture->rank != fetch->code->texture.rank || texture->is_layered != fetch->code->texture.has_layer ||
        is_cube != fetch->code->texture.is_cube)
        return stop(fetch, handle, "a fetch of other dimensions than the texture's");
    if (reads_floats != fetch->code->texture.is_float)
        return stop(fetch, handle,
                    reads_floats ? "a fetch of integers from a texture that is read as floats"
                                 : "a fetch of floats from a texture that is read as integers");
    return true;
}

/* A filtered 1d array is the one row of a plane, so that half of each result comes from the row below: where the second
 * dimension's mode is the border, from that. */
static void add_row_below(struct fetch *fetch) {
    simt_texture *texture = &fetch->texture;
    if (!is_filtered(fetch) || texture->rank != 1 || texture->modes[1] != SIMT_TEXTURE_BORDER) return;
    texture->rank = 2;
    texture->sizes[1] = 1;
}

static bool fetch_level(struct fetch *fetch, uint64_t handle) {
    if (!check_texture(fetch, handle)) return false;
    add_row_below(fetch);
    const uint32_t filtered = filtered_dimensions(fetch);
    for (uint32_t d = 0; d < fetch->texture.rank; d++)
        SIMT_FOR_EACH_LANE (lane, fetch->lanes) place(fetch, d, lane);
    for (uint32_t tap = 0; tap < 1u << filtered; tap++)
        if (!add_tap(fetch, tap)) return false;
    for (uint32_t c = 0; c < CHANNELS; c++)
        SIMT_FOR_EACH_LANE (lane, fetch->lanes) fetch->results[c][lane] = result_of(fetch, 0, c, lane);
    return true;
}

/* ---- gathering */

static bool check_four(const struct fetch *fetch, uint64_t handle) {
    if (fetch->mipmap.level_count) return stop(fetch, handle, "texels cannot be gathered from a mipmap");
    if (fetch->code->texture.channel >= fetch->texture.channels)
        return stop(fetch, handle, "a channel is gathered that the texture does not have");
    return check_texture(fetch, handle);
}

/* Counter-clockwise, from the lower left: x grows to the right, y downwards. */
static bool fetch_four(struct fetch *fetch, uint64_t handle) {
    static const uint8_t taps[CHANNELS] = {2, 3, 1, 0}; /* bits: the higher x, the higher y */
    if (!check_four(fetch, handle)) return false;
    for (uint32_t d = 0; d < fetch->texture.rank; d++)
        SIMT_FOR_EACH_LANE (lane, fetch->lanes) place(fetch, d, lane);
    for (uint32_t t = 0; t < CHANNELS; t++) {
        if (!add_tap(fetch, taps[t])) return false;
        SIMT_FOR_EACH_LANE (lane, fetch->lanes)
            fetch->results[t][lane] = result_of(fetch, taps[t], fetch->code->texture.channel, lane);
    }
    return true;
}

/* ---- levels of a mipmap */

/* A step of the direction moves the place on the face, which is across / |major|, from -1 to 1, by the derivative of that. */
static void step_on_face(const struct fetch *fetch, uint32_t lane, double step[DIMENSIONS]) {
    const double direction[] = {coordinate_of(fetch, 0, lane), coordinate_of(fetch, 1, lane), coordinate_of(fetch, 2, lane)};
    float place[2];
    const uint32_t major = cube_face(fetch, lane, place) / 2, across = major == 0 ? 2 : 0, down = major == 1 ? 2 : 1;
    const double whole = direction[major], squared = 2 * whole * whole;
    const double of_across = (step[across] * whole - direction[across] * step[major]) / squared;
    const double of_down = (step[down] * whole - direction[down] * step[major]) / squared;
    step[0] = of_across;
    step[1] = of_down;
}

/* The square of a step's length, in texels of the first level. */
static double step_in_texels(const struct fetch *fetch, uint32_t lane, const slot *slots) {
    const struct code *code = fetch->code;
    const uint32_t given = code->texture.is_cube ? (uint32_t)DIMENSIONS : (uint32_t)fetch->texture.rank - code->texture.has_layer;
    double step[DIMENSIONS] = {0}, sum = 0;
    for (uint32_t d = 0; d < given; d++) step[d] = (double)float_at(fetch, slots[d], lane);
    if (code->texture.is_cube) step_on_face(fetch, lane, step);
    for (uint32_t d = 0; d < (code->texture.is_cube ? 2 : given); d++) {
        const double texels = step[d] * fetch->texture.sizes[d];
        sum += texels * texels;
    }
    return sum;
}

/* The longest step, as the logarithm to base 2. */
static float level_of_gradient(const struct fetch *fetch, uint32_t lane) {
    const double x = step_in_texels(fetch, lane, &fetch->code->call.slots[GRADIENT]);
    const double y = step_in_texels(fetch, lane, &fetch->code->memory.vector.slots[CHANNELS]);
    return (float)(log2(fmax(x, y)) / 2);
}

static float asked_level(const struct fetch *fetch, uint32_t lane) {
    if (fetch->code->texture.has_gradient) return level_of_gradient(fetch, lane) + fetch->mipmap.bias;
    return fetch->code->texture.has_level ? float_of(fetch, LEVEL, lane) + fetch->mipmap.bias : 0;
}

/* In parts of the WHOLE; where none is asked for, the first. */
static uint32_t level_of(const struct fetch *fetch, uint32_t lane) {
    const simt_mipmap *mipmap = &fetch->mipmap;
    const float asked = asked_level(fetch, lane);
    const double biased = isnan(asked) ? 0 : fmax(fmin((double)asked, (double)mipmap->most), (double)mipmap->least);
    const double level = fmax(fmin(biased, mipmap->level_count - 1), 0);
    return mipmap->is_linear ? (uint32_t)floor(level * WHOLE + 0.5) : (uint32_t)floor(level + 0.5) * WHOLE;
}

/* Adds one level's results, whose weights are of the WHOLE; of floats, as only those are interpolated. */
static void add_level(struct fetch *fetch, const uint32_t weights[SIMT_LANES], double sums[CHANNELS][SIMT_LANES]) {
    for (uint32_t c = 0; c < CHANNELS; c++)
        SIMT_FOR_EACH_LANE (lane, fetch->lanes) {
            float value;
            if (weights[lane] == WHOLE) continue;
            memcpy(&value, &fetch->results[c][lane], sizeof value);
            sums[c][lane] += (double)value * weights[lane] / WHOLE;
            value = (float)sums[c][lane];
            memcpy(&fetch->results[c][lane], &value, sizeof value);
        }
}

static bool fetch_levels(struct fetch *fetch, uint64_t handle) {
    double sums[CHANNELS][SIMT_LANES] = {{0}};
    uint32_t places[SIMT_LANES], weights[SIMT_LANES];
    const uint32_t lanes = fetch->lanes, count = fetch->mipmap.level_count;
    SIMT_FOR_EACH_LANE (lane, lanes) places[lane] = level_of(fetch, lane);
    for (uint32_t level = 0; level < count; level++) {
        const uint64_t handle_of_level = handle + (uint64_t)level * SIMT_TEXTURE_NBYTES;
        uint64_t handles[SIMT_LANES];
        fetch->lanes = 0;
        SIMT_FOR_EACH_LANE (lane, lanes) {
            const uint32_t at = level * WHOLE, distance = places[lane] > at ? places[lane] - at : at - places[lane];
            handles[lane] = handle_of_level;
            weights[lane] = distance < WHOLE ? WHOLE - distance : 0;
            fetch->lanes |= (uint32_t)(weights[lane] > 0) << lane;
        }
        if (!fetch->lanes) continue;
        if (!simt_texture_lanes(fetch->warp, fetch->path, fetch->lanes, handles, false, &fetch->texture)) return false;
        if (!fetch_level(fetch, handle_of_level)) return false;
        add_level(fetch, weights, sums);
    }
    fetch->lanes = lanes;
    return true;
}

static bool fetch_all(struct fetch *fetch, uint64_t handle) {
    bool (*const function)(struct fetch *, uint64_t) = fetch->code->texture.takes_four ? fetch_four
                                                       : fetch->mipmap.level_count  ? fetch_levels
                                                                                    : fetch_level;
    if (!function(fetch, handle)) return false;
    if (fetch->code->texture.is_packed) pack(fetch);
    write_results(fetch);
    return true;
}

uint32_t simt_texture_lanes(struct warp *warp, struct path *path, uint32_t lanes, const uint64_t handles[SIMT_LANES],
                            bool is_surface, simt_texture *texture) {
    static const char *const none[] = {
        "there is no texture of this handle: cudaCreateTextureObject makes one, cudaDestroyTextureObject ends it",
        "there is no surface of this handle: cudaCreateSurfaceObject makes one, cudaDestroySurfaceObject ends it"};
    const uint32_t first = first_lane(lanes);
    const unsigned char *bytes = simt_generic_bytes(warp, first, handles[first], SIMT_TEXTURE_NBYTES);
    uint32_t same = 0;
    SIMT_FOR_EACH_LANE (lane, lanes) same |= (uint32_t)(handles[lane] == handles[first]) << lane;
    if (bytes && simt_texture_read(bytes, texture) && texture->is_surface == is_surface) return same;
    simt_texture_stop(warp, path, same, handles[first], none[is_surface]);
    return 0;
}

static enum outcome execute_texture(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct fetch fetch = {.warp = warp, .path = path, .code = code};
    uint64_t handles[SIMT_LANES];
    simt_addresses(path, &code->memory.address, handles);
    for (uint32_t rest = mask; rest; rest &= ~fetch.lanes) {
        fetch.lanes = simt_texture_lanes(warp, path, rest, handles, false, &fetch.texture);
        if (!fetch.lanes) return OUTCOME_LEFT;
        const uint64_t handle = handles[first_lane(rest)];
        fetch.mipmap = simt_mipmap_read(simt_generic_bytes(warp, first_lane(rest), handle, SIMT_TEXTURE_NBYTES));
        if (!fetch_all(&fetch, handle)) return OUTCOME_LEFT;
    }
    return OUTCOME_NEXT;
}

static const struct geometry {
    const char *modifier;
    uint8_t rank, operands;
    bool has_layer, is_cube, has_cubes;
} geometries[] = {{.modifier = "1d", 1, 1},       {.modifier = "2d", 2, 2},
                  {.modifier = "3d", 3, 4},       {.modifier = "a1d", 2, 2, true},
                  {.modifier = "a2d", 3, 4, true}, {.modifier = "cube", 3, 4, true, true},
                  {.modifier = "acube", 3, 4, true, true, true}};

static const struct geometry *geometry_of(const struct instruction *instruction) {
    for (size_t g = 0; g < sizeof geometries / sizeof *geometries; g++)
        if (simt_has(instruction, geometries[g].modifier)) return &geometries[g];
    return NULL;
}

/* A layer of cubes is after their coordinates. */
static bool decode_direction(struct decoder *decoder, struct code *code, const struct operand *given, bool has_cubes) {
    for (uint32_t d = 0; d < DIMENSIONS; d++)
        if (!simt_operand(decoder, &given->elements[d + has_cubes], TYPE_F32, &code->call.slots[d])) return false;
    return !has_cubes || simt_operand(decoder, &given->elements[0], TYPE_S32, &code->call.slots[CUBE_LAYER]);
}

/* The first operand of a layered texture is the layer. */
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
    for (uint32_t c = 0; c < register_count(&code->texture); c++) {
        const struct operand *operand = &given->elements[c];
        vector->widths[c] = simt_operand_width(decoder, operand, WIDTH_32);
        if (operand->kind == OPERAND_SINK) vector->sinks |= (uint8_t)(1u << c);
        else if (!simt_operand(decoder, operand, TYPE_B32, &vector->slots[c])) return false;
    }
    return true;
}

bool simt_decode_texture_address(struct decoder *decoder, struct code *code, const struct operand *operand) {
    const struct geometry *geometry = geometry_of(decoder->instruction);
    const struct operand *coordinates = &operand->elements[1];
    if (!geometry || coordinates->element_count != geometry->operands) return false;
    code->texture.rank = geometry->rank;
    code->texture.has_layer = geometry->has_layer;
    code->texture.is_cube = geometry->is_cube;
    code->texture.has_cubes = geometry->has_cubes;
    return (geometry->is_cube ? decode_direction(decoder, code, coordinates, geometry->has_cubes)
                              : decode_coordinates(decoder, code, coordinates, geometry)) &&
           simt_address(decoder, &operand->elements[0], &code->memory.address);
}

/* A number for each coordinate but layers, and a fourth that is not used where there are three, as cubes have. */
static bool decode_gradient(struct decoder *decoder, const struct code *code, const struct operand *given, slot *slots) {
    const uint32_t coordinates = code->texture.is_cube ? (uint32_t)DIMENSIONS : (uint32_t)code->texture.rank - code->texture.has_layer;
    if (given->kind != OPERAND_VECTOR) return coordinates == 1 && simt_operand(decoder, given, TYPE_F32, slots);
    if (given->element_count != (coordinates == DIMENSIONS ? CHANNELS : coordinates)) return false;
    for (uint32_t d = 0; d < coordinates; d++)
        if (!simt_operand(decoder, &given->elements[d], TYPE_F32, &slots[d])) return false;
    return true;
}

static bool decode_gradients(struct decoder *decoder, struct code *code, const struct operand *given) {
    return decode_gradient(decoder, code, &given[0], &code->call.slots[GRADIENT]) &&
           decode_gradient(decoder, code, &given[1], &code->memory.vector.slots[CHANNELS]);
}

/* tex{.level}{.grad}.GEOMETRY.v4.TYPE.TYPE {d, d, d, d}, [handle, {coordinates}]{, level}{, gradient, gradient}; .v2.f16x2 {d, d} */
static bool decode_texture(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    code->texture.has_level = simt_has(instruction, "level");
    code->texture.has_gradient = simt_has(instruction, "grad");
    const uint32_t named = 4u + code->texture.has_level + code->texture.has_gradient;
    if (instruction->modifier_count != named) return false;
    const char *type = instruction->modifiers[named - 2];
    code->execute = execute_texture;
    code->texture.is_packed = !strcmp(type, "f16x2");
    code->texture.is_float = code->texture.is_packed || !strcmp(type, "f32");
    if (!simt_has(instruction, code->texture.is_packed ? "v2" : "v4")) return false;
    code->texture.is_integer = !strcmp(instruction->modifiers[named - 1], "s32");
    return decode_results(decoder, code, &instruction->operands[0]) &&
           simt_decode_texture_address(decoder, code, &instruction->operands[1]) &&
           (!code->texture.has_level || simt_operand(decoder, &instruction->operands[2], TYPE_F32, &code->call.slots[LEVEL])) &&
           (!code->texture.has_gradient || decode_gradients(decoder, code, &instruction->operands[2]));
}

/* tld4.CHANNEL.GEOMETRY.v4.TYPE.f32 {d, d, d, d}, [handle, {coordinates}] */
static bool decode_four(struct decoder *decoder, struct code *code) {
    static const char channels[] = "rgba";
    const struct instruction *instruction = decoder->instruction;
    const char *channel = instruction->modifiers[0];
    const struct geometry *geometry = geometry_of(instruction);
    const bool is_of_planes = geometry && (geometry->is_cube || geometry->rank - geometry->has_layer == 2);
    if (instruction->modifier_count != 5 || !is_of_planes || !simt_has(instruction, "v4") || !channel[0] || channel[1] ||
        !strchr(channels, channel[0]))
        return false;
    code->execute = execute_texture;
    code->texture.takes_four = true;
    code->texture.channel = (uint8_t)(strchr(channels, channel[0]) - channels);
    code->texture.is_float = !strcmp(instruction->modifiers[3], "f32");
    return !strcmp(instruction->modifiers[4], "f32") && decode_results(decoder, code, &instruction->operands[0]) &&
           simt_decode_texture_address(decoder, code, &instruction->operands[1]);
}

/* ---- txq and suq: what the object is */

static int64_t size_of(const simt_texture *texture, uint32_t dimension) {
    const uint32_t dimensions = texture->rank - texture->is_layered;
    return dimension < dimensions ? (int64_t)texture->sizes[dimension] : -1;
}

/* What is asked about. */
struct object {
    simt_texture texture;
    uint32_t level_count; /* 1: no mipmap */
};

static int64_t width_of(const struct object *object) { return size_of(&object->texture, 0); }
static int64_t height_of(const struct object *object) { return size_of(&object->texture, 1); }
static int64_t depth_of(const struct object *object) { return size_of(&object->texture, 2); }
static int64_t levels_of(const struct object *object) { return object->texture.is_surface ? -1 : (int64_t)object->level_count; }
static int64_t samples_of(const struct object *object) { return object->texture.is_surface ? -1 : 1; }

static int64_t is_normalised(const struct object *object) {
    return object->texture.is_surface ? -1 : object->texture.is_normalised;
}

static int64_t layers_of(const struct object *object) {
    const simt_texture *texture = &object->texture;
    const bool is_cube = texture->modes[2] == SIMT_TEXTURE_CUBE;
    return texture->is_layered && !is_cube ? (int64_t)texture->sizes[texture->rank - 1] : -1;
}

/* Those that a texture of another kind lacks, PTX does not define; the objects' formats and samplers it numbers in OpenCL's way,
 * which is not there. */
static const struct query {
    const char *modifier, *lacking;
    int64_t (*answer)(const struct object *object); /* -1: it has none */
} queries[] = {{"width", "", width_of},
               {"height", "a question for the height of what has one dimension", height_of},
               {"depth", "a question for the depth of what has fewer than three dimensions", depth_of},
               {"array_size", "a question for the layers of what has none, or of cubes", layers_of},
               {"normalized_coords", "a question for the coordinates of a surface", is_normalised},
               {"num_mipmap_levels", "a question for the levels of a surface", levels_of},
               {"num_samples", "a question for the samples of a surface", samples_of}}; /* CUDA's textures have one */

static uint32_t level_count_of(struct warp *warp, uint32_t lane, uint64_t handle) {
    const unsigned char *bytes = simt_generic_bytes(warp, lane, handle, SIMT_TEXTURE_NBYTES);
    const uint32_t count = bytes ? simt_mipmap_read(bytes).level_count : 0;
    return count ? count : 1;
}

/* The handle of the level that each lane asks about: of what is no mipmap, and where none is asked for, the first; 0: no such one. */
static void find_levels(struct warp *warp, struct path *path, const struct code *code, uint32_t mask, uint64_t handles[SIMT_LANES]) {
    if (!code->query.has_level) return;
    SIMT_FOR_EACH_LANE (lane, mask) {
        const uint64_t level = lane_get(slot_lanes(path, code->query.level), WIDTH_32, lane);
        if (!simt_generic_bytes(warp, lane, handles[lane], SIMT_TEXTURE_NBYTES)) continue;
        const bool is_there = level < level_count_of(warp, lane, handles[lane]);
        handles[lane] = is_there ? handles[lane] + level * SIMT_TEXTURE_NBYTES : 0;
    }
}

static enum outcome execute_query(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    const struct query *query = &queries[code->query.number];
    unsigned char *results = slot_lanes(path, code->query.result);
    uint64_t handles[SIMT_LANES];
    simt_addresses(path, &code->query.address, handles);
    find_levels(warp, path, code, mask, handles);
    for (uint32_t rest = mask, lanes; rest; rest &= ~lanes) {
        struct object object;
        const uint64_t handle = handles[first_lane(rest)];
        if (!handle && code->query.has_level) {
            simt_texture_stop(warp, path, rest, handle, "a question for a level that the texture does not have");
            return OUTCOME_LEFT;
        }
        lanes = simt_texture_lanes(warp, path, rest, handles, code->query.is_surface, &object.texture);
        if (!lanes) return OUTCOME_LEFT;
        object.level_count = level_count_of(warp, first_lane(lanes), handle);
        const int64_t answer = query->answer(&object);
        if (answer < 0) {
            simt_texture_stop(warp, path, lanes, handle, query->lacking);
            return OUTCOME_LEFT;
        }
        SIMT_FOR_EACH_LANE (lane, lanes) lane_set(results, WIDTH_32, lane, (uint64_t)answer);
    }
    return OUTCOME_NEXT;
}

/* txq{.level}.QUERY.b32 d, [handle]{, level} */
static bool decode_query(struct decoder *decoder, struct code *code) {
    const struct instruction *instruction = decoder->instruction;
    uint32_t number = 0;
    while (number < sizeof queries / sizeof *queries && !simt_has(instruction, queries[number].modifier)) number++;
    code->query.has_level = simt_has(instruction, "level");
    if (number == sizeof queries / sizeof *queries || instruction->modifier_count != 2u + code->query.has_level) return false;
    code->execute = execute_query;
    code->query.number = (uint8_t)number;
    code->query.is_surface = simt_is_base(instruction, "suq");
    if (code->query.has_level && (number > 2 || !simt_operand(decoder, &instruction->operands[2], TYPE_B32, &code->query.level)))
        return false;
    return simt_operand(decoder, &instruction->operands[0], TYPE_B32, &code->query.result) &&
           simt_address(decoder, &instruction->operands[1], &code->query.address);
}

const struct instruction_kind simt_texture_kinds[] = {
    {"tex", decode_texture}, {"tld4", decode_four}, {"txq", decode_query}, {"suq", decode_query}, {NULL, NULL}};
