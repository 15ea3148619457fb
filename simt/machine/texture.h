/* Textures and surfaces as kernels have them: bytes that tex, suld and sust find at their handle, an address. */
#ifndef SIMT_TEXTURE_H
#define SIMT_TEXTURE_H

#include "decoder.h"
#include "machine.h"

/* false: it is none, or is not as CUDA has it. */
bool simt_texture_read(const unsigned char bytes[SIMT_TEXTURE_NBYTES], simt_texture *texture);
simt_mipmap simt_mipmap_read(const unsigned char bytes[SIMT_TEXTURE_NBYTES]); /* of a texture; without levels: it is none */

static inline uint32_t simt_texel_nbytes(const simt_texture *texture) {
    return (uint32_t)texture->channels * texture->channel_nbytes;
}

/* execute_texture.c: the first of the lanes and those with its handle, and what that is.  0: no texture (or, if that is what is
 * asked for, surface); a finding is recorded and the launch stopped. */
uint32_t simt_texture_lanes(struct warp *warp, struct path *path, uint32_t lanes, const uint64_t handles[SIMT_LANES],
                            bool is_surface, simt_texture *texture);
/* A finding of the lanes, which stops the launch; always false. */
bool simt_texture_stop(struct warp *warp, struct path *path, uint32_t lanes, uint64_t address, const char *what);
/* The instruction's dimensions, its handle and where its coordinates are. */
bool simt_decode_texture_address(struct decoder *decoder, struct code *code, const struct operand *operand);

/* A coordinate in texels: of one that is normalised, times the size. */
double simt_texture_position(const simt_texture *texture, uint32_t dimension, double coordinate);

/* The texel's number in the dimension, by its mode; -1: outside, where the border's colour is. */
int64_t simt_texture_index(const simt_texture *texture, uint32_t dimension, int64_t number);

/* A channel as a float: what is stored, or normalised to [0, 1] or [-1, 1]; and as 32 bits of an integer. */
double simt_channel_value(const simt_texture *texture, uint64_t bits);
uint32_t simt_channel_bits(const simt_texture *texture, uint64_t bits);

#endif
