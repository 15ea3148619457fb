/* For this folder alone: CUDA arrays, which are plain rows of texels in device memory. */
#ifndef PROGRAM_ARRAYS_H
#define PROGRAM_ARRAYS_H

#include "runtime.h"

enum { ARRAY_LAYERED = 1, ARRAY_SURFACE = 2, ARRAY_CUBE = 4, ARRAY_GATHER = 8 };

struct cudaArray {
    void *memory;
    size_t pitch;
    struct cudaExtent extent; /* texels; 0: no such dimension */
    struct cudaChannelFormatDesc format;
    unsigned flags;
    bool is_level; /* of a mipmapped array, which frees it */
};

/* Each half as large as the one before; layers and faces stay. */
struct cudaMipmappedArray {
    unsigned level_count;
    struct cudaArray *levels[SIMT_LEVELS_MAX];
};

/* What a texture can consist of.  false: of another kind of channels. */
bool format_read(const struct cudaChannelFormatDesc *format, simt_texture *texture);

/* Copies of planes to or from arrays become those of plain memory: of arrays, widths and positions are in texels. */
struct cudaMemcpy3DParms array_resolve(const struct cudaMemcpy3DParms *request);

/* The array's first plane, its rows in bytes. */
struct cudaPitchedPtr array_memory(const struct cudaArray *array);

API cudaMalloc3DArray(struct cudaArray **array, const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
                      unsigned flags);
API cudaFreeArray(struct cudaArray *array);
API cudaMallocMipmappedArray(struct cudaMipmappedArray **mipmap, const struct cudaChannelFormatDesc *format,
                             struct cudaExtent extent, unsigned levels, unsigned flags);
API cudaGetMipmappedArrayLevel(struct cudaArray **array, const struct cudaMipmappedArray *mipmap, unsigned level);
API cudaFreeMipmappedArray(struct cudaMipmappedArray *mipmap);
API cudaMemcpyToArray(struct cudaArray *to, size_t x, size_t y, const void *from, size_t nbytes,
                      enum cudaMemcpyKind kind);
API cudaMemcpyToArrayAsync(struct cudaArray *to, size_t x, size_t y, const void *from, size_t nbytes,
                           enum cudaMemcpyKind kind, cudaStream_t stream);
API cudaMemcpyFromArray(void *to, const struct cudaArray *from, size_t x, size_t y, size_t nbytes,
                        enum cudaMemcpyKind kind);
API cudaMemcpyFromArrayAsync(void *to, const struct cudaArray *from, size_t x, size_t y, size_t nbytes,
                             enum cudaMemcpyKind kind, cudaStream_t stream);
API cudaMemcpy2DArrayToArray(struct cudaArray *to, size_t to_x, size_t to_y, const struct cudaArray *from,
                             size_t from_x, size_t from_y, size_t width, size_t height, enum cudaMemcpyKind kind);

#endif
