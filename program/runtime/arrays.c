/* CUDA arrays, which copies take for plain memory. */
#include "arrays.h"

#include <stdlib.h>

bool format_read(const struct cudaChannelFormatDesc *format, simt_texture *texture) {
    const int bits[] = {format->x, format->y, format->z, format->w};
    uint8_t channels = 0;
    while (channels < 4 && bits[channels]) channels++;
    for (uint8_t c = 1; c < channels; c++)
        if (bits[c] != bits[0]) return false;
    texture->channels = channels;
    texture->channel_nbytes = (uint8_t)(bits[0] / 8);
    texture->kind = (uint8_t)format->f;
    const bool is_size = bits[0] == 8 || bits[0] == 16 || bits[0] == 32;
    return is_size && channels != 3 && channels && format->f >= SIMT_TEXEL_SIGNED && format->f <= SIMT_TEXEL_FLOAT;
}

static size_t texel_nbytes(const struct cudaArray *array) {
    simt_texture texture;
    return format_read(&array->format, &texture) ? (size_t)texture.channels * texture.channel_nbytes : 0;
}

static size_t at_least_one(size_t size) { return size ? size : 1; }

/* Six faces of a cube, or those of several cubes. */
static bool is_cube(struct cudaExtent extent, unsigned flags) {
    return extent.width == extent.height && (flags & ARRAY_LAYERED ? extent.depth && extent.depth % 6 == 0 : extent.depth == 6);
}

/* ---- arrays -------------------------------------------------------------------------------------- */

static cudaError_t allocate(struct cudaArray **result, const struct cudaChannelFormatDesc *format,
                            struct cudaExtent extent, unsigned flags) {
    if (!result || !format || !extent.width) return cudaErrorInvalidValue;
    if (flags & ~(unsigned)(ARRAY_LAYERED | ARRAY_SURFACE | ARRAY_CUBE | ARRAY_GATHER))
        return runtime_lacks("a CUDA array with such a flag");
    if (flags & ARRAY_CUBE && !is_cube(extent, flags)) return cudaErrorInvalidValue;
    if (flags & ARRAY_GATHER && (!extent.height || extent.depth)) return cudaErrorInvalidValue; /* of two dimensions only */
    struct cudaArray array = {.extent = extent, .format = *format, .flags = flags};
    const size_t nbytes = texel_nbytes(&array), rows = at_least_one(extent.height), planes = at_least_one(extent.depth);
    if (!nbytes) return runtime_lacks("a CUDA array of such channels");
    if (extent.width > SIZE_MAX / nbytes || rows > SIZE_MAX / planes) return cudaErrorMemoryAllocation;
    cudaError_t error = memory_allocate_rows(&array.memory, &array.pitch, extent.width * nbytes, rows * planes);
    if (error) return error;
    *result = malloc(sizeof **result);
    if (!*result) {
        memory_free(array.memory);
        return cudaErrorMemoryAllocation;
    }
    **result = array;
    return cudaSuccess;
}

API cudaMallocArray(struct cudaArray **array, const struct cudaChannelFormatDesc *format, size_t width, size_t height,
                    unsigned flags) {
    return CALL_UNSAFE(allocate(array, format, (struct cudaExtent){width, height, 0}, flags));
}

API cudaMalloc3DArray(struct cudaArray **array, const struct cudaChannelFormatDesc *format, struct cudaExtent extent,
                      unsigned flags) {
    return CALL_UNSAFE(allocate(array, format, extent, flags));
}

static cudaError_t free_array(struct cudaArray *array) {
    if (!array) return cudaSuccess;
    cudaError_t error = memory_free(array->memory);
    free(array);
    return error;
}

API cudaFreeArray(struct cudaArray *array) {
    return CALL_WAIT_UNSAFE(array && array->is_level ? cudaErrorInvalidValue : free_array(array));
}

/* ---- mipmapped arrays */

static cudaError_t free_mipmap(struct cudaMipmappedArray *mipmap) {
    cudaError_t error = cudaSuccess;
    for (unsigned l = 0; mipmap && l < mipmap->level_count; l++) {
        cudaError_t failed = free_array(mipmap->levels[l]);
        if (failed) error = failed;
    }
    free(mipmap);
    return error;
}

/* Half of each size, but of the number of layers; rounded down, at least 1.  Sizes of 0 are no dimensions. */
static struct cudaExtent next_level(struct cudaExtent extent, unsigned flags) {
    const bool has_layers = flags & (ARRAY_LAYERED | ARRAY_CUBE);
    size_t *const sizes[] = {&extent.width, &extent.height, &extent.depth};
    for (size_t d = 0; d < (has_layers ? 2 : 3); d++)
        if (*sizes[d] > 1) *sizes[d] /= 2;
    return extent;
}

static bool is_smallest(struct cudaExtent extent, unsigned flags) {
    const struct cudaExtent next = next_level(extent, flags);
    return next.width == extent.width && next.height == extent.height && next.depth == extent.depth;
}

/* More levels than there are sizes are not made. */
static cudaError_t allocate_mipmap(struct cudaMipmappedArray **result, const struct cudaChannelFormatDesc *format,
                                   struct cudaExtent extent, unsigned levels, unsigned flags) {
    struct cudaMipmappedArray *mipmap = result ? calloc(1, sizeof *mipmap) : NULL;
    cudaError_t error = mipmap ? cudaSuccess : result ? cudaErrorMemoryAllocation : cudaErrorInvalidValue;
    bool is_last = false;
    while (!error && !is_last) {
        error = allocate(&mipmap->levels[mipmap->level_count], format, extent, flags);
        if (error) break;
        mipmap->levels[mipmap->level_count++]->is_level = true;
        is_last = mipmap->level_count >= levels || mipmap->level_count == SIMT_LEVELS_MAX || is_smallest(extent, flags);
        extent = next_level(extent, flags);
    }
    if (error) free_mipmap(mipmap);
    else *result = mipmap;
    return error;
}

API cudaMallocMipmappedArray(struct cudaMipmappedArray **mipmap, const struct cudaChannelFormatDesc *format,
                             struct cudaExtent extent, unsigned levels, unsigned flags) {
    return CALL_UNSAFE(allocate_mipmap(mipmap, format, extent, levels, flags));
}

static cudaError_t get_level(struct cudaArray **array, const struct cudaMipmappedArray *mipmap, unsigned level) {
    if (!mipmap) return cudaErrorInvalidResourceHandle;
    if (!array || level >= mipmap->level_count) return cudaErrorInvalidValue;
    *array = mipmap->levels[level];
    return cudaSuccess;
}

API cudaGetMipmappedArrayLevel(struct cudaArray **array, const struct cudaMipmappedArray *mipmap, unsigned level) {
    return CALL(get_level(array, mipmap, level));
}

API cudaFreeMipmappedArray(struct cudaMipmappedArray *mipmap) { return CALL_WAIT_UNSAFE(free_mipmap(mipmap)); }

static cudaError_t get_info(struct cudaChannelFormatDesc *format, struct cudaExtent *extent, unsigned *flags,
                            const struct cudaArray *array) {
    if (!array) return cudaErrorInvalidResourceHandle;
    if (format) *format = array->format;
    if (extent) *extent = array->extent;
    if (flags) *flags = array->flags;
    return cudaSuccess;
}

API cudaArrayGetInfo(struct cudaChannelFormatDesc *format, struct cudaExtent *extent, unsigned *flags,
                     const struct cudaArray *array) {
    return CALL(get_info(format, extent, flags, array));
}

API cudaGetChannelDesc(struct cudaChannelFormatDesc *format, const struct cudaArray *array) {
    return CALL(get_info(format, NULL, NULL, array));
}

/* ---- as plain memory ----------------------------------------------------------------------------- */

struct cudaPitchedPtr array_memory(const struct cudaArray *array) {
    return (struct cudaPitchedPtr){array->memory, array->pitch, array->extent.width * texel_nbytes(array),
                                   at_least_one(array->extent.height)};
}

static void resolve_side(const struct cudaArray *array, struct cudaPitchedPtr *memory, struct cudaPos *position) {
    if (!array) return;
    *memory = array_memory(array);
    position->x *= texel_nbytes(array);
}

struct cudaMemcpy3DParms array_resolve(const struct cudaMemcpy3DParms *request) {
    struct cudaMemcpy3DParms plain = *request;
    const struct cudaArray *array = request->dstArray ? request->dstArray : request->srcArray;
    if (array) plain.extent.width *= texel_nbytes(array);
    resolve_side(request->srcArray, &plain.srcPtr, &plain.srcPos);
    resolve_side(request->dstArray, &plain.dstPtr, &plain.dstPos);
    plain.srcArray = plain.dstArray = NULL;
    return plain;
}
