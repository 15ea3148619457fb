#include "texture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lanes_ieee.h"

#define TAG UINT64_C(0x657275747865746c)

enum { RANK_MAX = 3 };

struct stored {
    uint64_t tag;
    simt_texture texture;
    simt_mipmap mipmap; /* without levels: it is none */
};
_Static_assert(sizeof(struct stored) <= SIMT_TEXTURE_NBYTES, "a texture's bytes are enough");

/* ---- from and to bytes */

static bool is_cube(const simt_texture *texture) {
    const uint32_t *sizes = texture->sizes;
    return texture->is_layered && texture->rank == 3 && sizes[0] == sizes[1] && sizes[2] % 6 == 0;
}

static const char *check_modes(const simt_texture *texture) {
    for (uint32_t d = 0; d < texture->rank; d++) {
        if (texture->sizes[d] == 0) return "a texture must have a size in each dimension";
        if (d == 2 && texture->modes[d] == SIMT_TEXTURE_CUBE && is_cube(texture)) continue;
        if (texture->modes[d] > SIMT_TEXTURE_BORDER) return "there is no such address mode of textures";
    }
    return NULL;
}

static const char *check(const simt_texture *texture) {
    const bool is_float = texture->kind == SIMT_TEXEL_FLOAT;
    const uint32_t nbytes = texture->channel_nbytes;
    if (texture->rank < 1 || texture->rank > RANK_MAX) return "a texture has 1 to 3 dimensions";
    if (texture->channels != 1 && texture->channels != 2 && texture->channels != 4)
        return "a texture has 1, 2 or 4 channels";
    if (texture->kind > SIMT_TEXEL_FLOAT || (nbytes != 1 && nbytes != 2 && nbytes != 4) || (is_float && nbytes == 1))
        return "a texture's channels are integers of 8, 16 or 32 bits or floats of 16 or 32";
    if (texture->is_linear && !is_float && !texture->is_normalised_read)
        return "linear filtering needs a texture that is read as floats";
    if (texture->is_normalised_read && !is_float && nbytes == 4)
        return "integers of 32 bits cannot be read as normalised floats";
    return check_modes(texture);
}

static const char *check_mipmap(const simt_mipmap *mipmap, const simt_texture *level) {
    if (!mipmap->level_count) return NULL;
    if (mipmap->level_count > SIMT_LEVELS_MAX) return "a mipmap has 1 to 32 levels";
    if (level->is_surface || !level->is_normalised) return "a mipmap needs normalised coordinates";
    if (mipmap->is_linear && level->kind != SIMT_TEXEL_FLOAT && !level->is_normalised_read)
        return "levels of integers cannot be interpolated";
    return NULL;
}

static simt_error encode(const simt_texture *texture, const simt_mipmap *mipmap, unsigned char bytes[SIMT_TEXTURE_NBYTES],
                         simt_message *message) {
    struct stored stored;
    const char *wrong = check(texture);
    if (!wrong) wrong = check_mipmap(mipmap, texture);
    if (wrong) {
        if (message) snprintf(message->text, sizeof message->text, "%s", wrong);
        return SIMT_ERROR_ARGUMENT;
    }
    memset(bytes, 0, SIMT_TEXTURE_NBYTES);
    memset(&stored, 0, sizeof stored);
    stored.tag = TAG;
    stored.texture = *texture;
    stored.mipmap = *mipmap;
    memcpy(bytes, &stored, sizeof stored);
    return SIMT_OK;
}

simt_error simt_texture_encode(const simt_texture *texture, unsigned char bytes[SIMT_TEXTURE_NBYTES],
                               simt_message *message) {
    return encode(texture, &(simt_mipmap){0}, bytes, message);
}

simt_error simt_mipmap_encode(const simt_mipmap *mipmap, const simt_texture *levels, unsigned char *bytes,
                              simt_message *message) {
    simt_error error = SIMT_OK;
    for (uint32_t l = 0; l < mipmap->level_count && !error; l++)
        error = encode(&levels[l], mipmap, bytes + (size_t)l * SIMT_TEXTURE_NBYTES, message);
    return error;
}

/* A kernel may have changed some bytes: they are checked again. */
bool simt_texture_read(const unsigned char bytes[SIMT_TEXTURE_NBYTES], simt_texture *texture) {
    struct stored stored;
    memcpy(&stored, bytes, sizeof stored);
    *texture = stored.texture;
    return stored.tag == TAG && !check(texture) && !check_mipmap(&stored.mipmap, texture);
}

simt_mipmap simt_mipmap_read(const unsigned char bytes[SIMT_TEXTURE_NBYTES]) {
    struct stored stored;
    memcpy(&stored, bytes, sizeof stored);
    return stored.mipmap;
}

/* ---- coordinates: CUDA C++ Programming Guide, "Texture Fetching" */

double simt_texture_position(const simt_texture *texture, uint32_t dimension, double coordinate) {
    const double size = texture->sizes[dimension];
    if (!isfinite(coordinate)) return coordinate > 0 ? size : coordinate < 0 ? -1 : 0;
    return texture->is_normalised ? coordinate * size : coordinate;
}

static int64_t modulo(int64_t value, int64_t size) {
    const int64_t rest = value % size;
    return rest < 0 ? rest + size : rest;
}

/* Coordinates must be normalised to be repeated. */
static enum simt_texture_mode mode_of(const simt_texture *texture, uint32_t dimension) {
    const enum simt_texture_mode mode = (enum simt_texture_mode)texture->modes[dimension];
    return texture->is_normalised || mode == SIMT_TEXTURE_BORDER ? mode : SIMT_TEXTURE_CLAMP;
}

int64_t simt_texture_index(const simt_texture *texture, uint32_t dimension, int64_t number) {
    const int64_t size = texture->sizes[dimension];
    if (number >= 0 && number < size) return number;
    switch (mode_of(texture, dimension)) {
    case SIMT_TEXTURE_WRAP: return modulo(number, size);
    case SIMT_TEXTURE_CLAMP: return number < 0 ? 0 : size - 1;
    case SIMT_TEXTURE_MIRROR: {
        const int64_t twice = modulo(number, 2 * size);
        return twice < size ? twice : 2 * size - 1 - twice;
    }
    default: return -1;
    }
}

/* ---- channels */

static int64_t extend(uint64_t bits, uint32_t nbytes) {
    const uint32_t unused = 64 - 8 * nbytes;
    return (int64_t)(bits << unused) >> unused;
}

static double normalise(const simt_texture *texture, uint64_t bits) {
    const uint32_t width = 8 * texture->channel_nbytes;
    if (texture->kind == SIMT_TEXEL_UNSIGNED) return (double)bits / (double)((UINT64_C(1) << width) - 1);
    const double value = (double)extend(bits, texture->channel_nbytes) / (double)((UINT64_C(1) << (width - 1)) - 1);
    return value < -1 ? -1 : value;
}

double simt_channel_value(const simt_texture *texture, uint64_t bits) {
    float single;
    const uint32_t word = (uint32_t)bits;
    if (texture->kind != SIMT_TEXEL_FLOAT) return normalise(texture, bits);
    if (texture->channel_nbytes == 2) return f16_of((uint16_t)bits);
    memcpy(&single, &word, sizeof single);
    return single;
}

/* The bits of a channel; floats become f32. */
uint32_t simt_channel_bits(const simt_texture *texture, uint64_t bits) {
    float single;
    uint32_t word = (uint32_t)bits;
    if (texture->kind == SIMT_TEXEL_SIGNED) return (uint32_t)extend(bits, texture->channel_nbytes);
    if (texture->kind == SIMT_TEXEL_FLOAT && texture->channel_nbytes == 2) {
        single = (float)f16_of((uint16_t)bits);
        memcpy(&word, &single, sizeof word);
    }
    return word;
}
