/* For this folder alone: textures and surfaces as the runtime's interface describes them. */
#ifndef PROGRAM_TEXTURES_H
#define PROGRAM_TEXTURES_H

#include "arrays.h"

struct resource {
    enum { RESOURCE_ARRAY, RESOURCE_MIPMAPPED, RESOURCE_LINEAR, RESOURCE_PITCHED } type;
    union {
        struct cudaArray *array;
        struct cudaMipmappedArray *mipmap;
        struct {
            void *memory;
            struct cudaChannelFormatDesc format;
            size_t nbytes;
        } linear;
        struct {
            void *memory;
            struct cudaChannelFormatDesc format;
            size_t width, height, pitch;
        } pitched;
        int reserved[32];
    };
    unsigned flags;
};

struct sampler {
    int modes[3], is_linear, is_normalised_read, srgb;
    float border[4];
    int is_normalised;
    unsigned anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_least, mipmap_most;
    int plain_trilinear, seamless_cube;
};

/* A part of an array's levels and layers, and texels that are read as if they had another format. */
struct view {
    int format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer, reserved[16];
};

API cudaCreateTextureObject(uint64_t *handle, const struct resource *resource, const struct sampler *sampler,
                            const struct view *view);
API cudaCreateSurfaceObject(uint64_t *handle, const struct resource *resource);
API cudaDestroyTextureObject(uint64_t handle);
API cudaDestroySurfaceObject(uint64_t handle);
API cudaGetTextureObjectResourceDesc(struct resource *resource, uint64_t handle);
API cudaGetTextureObjectTextureDesc(struct sampler *sampler, uint64_t handle);
API cudaGetSurfaceObjectResourceDesc(struct resource *resource, uint64_t handle);

#endif
