/* The driver's tensor maps. */
#include "driver.h"

/* What the simulator's tensor copies lack, by name. */
static const char *what_is_absent(int element, int interleave, int swizzle, int fill, unsigned rank,
                                  const uint32_t *element_strides) {
    if (element >= SIMT_TENSOR_TYPES) return "cuTensorMapEncodeTiled of elements of 4 or 6 bits";
    if (interleave) return "cuTensorMapEncodeTiled with an interleaved layout";
    if (swizzle > SIMT_SWIZZLE_128) return "cuTensorMapEncodeTiled with a swizzle of other than 16-byte chunks";
    if (fill) return "cuTensorMapEncodeTiled with NaN outside the tensor";
    for (unsigned d = 0; d < rank; d++)
        if (element_strides[d] != 1) return "cuTensorMapEncodeTiled with element strides other than 1";
    return NULL;
}

static cudaError_t encode(void *bytes, simt_tensor_map *map, const uint64_t *sizes, const uint64_t *strides,
                          const uint32_t *box) {
    simt_message message;
    for (unsigned d = 0; d < SIMT_TENSOR_RANK_MAX && (d < map->rank || map->is_im2col); d++)
        map->box[d] = (uint16_t)(box[d] > UINT16_MAX ? UINT16_MAX : box[d]);
    for (unsigned d = 0; d < map->rank; d++) {
        map->sizes[d] = sizes[d];
        if (d) map->stride_bytes[d] = strides[d - 1];
    }
    if (!simt_tensor_map_encode(map, bytes, &message)) return cudaSuccess;
    host_enter();
    runtime_say("cuTensorMapEncode%s: %s", map->is_im2col ? "Im2col" : "Tiled", message.text);
    host_leave();
    return cudaErrorInvalidValue;
}

static cudaError_t check_pointers(const void *map, unsigned rank, const void *sizes, const void *strides,
                                  const void *box, const void *element_strides) {
    bool is_whole = map && sizes && box && element_strides && (strides || rank < 2);
    return is_whole && rank >= 1 && rank <= SIMT_TENSOR_RANK_MAX ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- im2col: pixels instead of boxes ------------------------------------------------------------------ */

/* false: a corner is none that a map can have: the more dimensions, the fewer bits. */
static bool set_corners(simt_tensor_map *map, const int *lower, const int *upper) {
    static const int limits[] = {[1] = 32768, [2] = 128, [3] = 16};
    const unsigned spaces = map->rank - 2u;
    const int limit = limits[spaces];
    for (unsigned d = 0; d < spaces; d++) {
        const uint64_t mask = 2 * (uint64_t)limit - 1, width = spaces == 1 ? 16 : spaces == 2 ? 8 : 5;
        if (lower[d] < -limit || lower[d] >= limit || upper[d] < -limit || upper[d] >= limit) return false;
        map->stride_bytes[0] |= ((uint64_t)lower[d] & mask) << d * width | ((uint64_t)upper[d] & mask) << (32 + d * width);
    }
    return true;
}

DRIVER cuTensorMapEncodeIm2col(void *bytes, int element, unsigned rank, void *address, const uint64_t *sizes,
                               const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                               unsigned pixels, const uint32_t *element_strides, int interleave, int swizzle,
                               int promotion, int fill) {
    static const uint32_t ones[SIMT_TENSOR_RANK_MAX] = {1, 1, 1, 1, 1};
    (void)promotion; /* of caches */
    if (check_pointers(bytes, rank, sizes, strides, ones, element_strides) || !lower || !upper) return cudaErrorInvalidValue;
    const char *absent = what_is_absent(element, interleave, swizzle, fill, rank, ones);
    if (absent) return (int)runtime_absent(absent);
    simt_tensor_map map = {.address = (uint64_t)(uintptr_t)address,
                           .rank = (uint8_t)rank,
                           .swizzle = (uint8_t)swizzle,
                           .element = (uint8_t)element,
                           .is_im2col = true};
    const uint32_t box[SIMT_TENSOR_RANK_MAX] = {channels, pixels, element_strides[1], rank > 3 ? element_strides[2] : 1,
                                                rank > 4 ? element_strides[3] : 1};
    if (rank < 3 || !set_corners(&map, lower, upper)) {
        host_enter();
        runtime_say("cuTensorMapEncodeIm2col: there are 3 to 5 dimensions, and corners of 16, 8 or 5 bits");
        host_leave();
        return cudaErrorInvalidValue;
    }
    return DRIVE_BARE(encode(bytes, &map, sizes, strides, box));
}

DRIVER cuTensorMapEncodeTiled(void *bytes, int element, unsigned rank, void *address, const uint64_t *sizes,
                              const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                              int interleave, int swizzle, int promotion, int fill) {
    (void)promotion; /* of caches */
    if (check_pointers(bytes, rank, sizes, strides, box, element_strides)) return cudaErrorInvalidValue;
    const char *absent = what_is_absent(element, interleave, swizzle, fill, rank, element_strides);
    if (absent) return (int)runtime_absent(absent);
    simt_tensor_map map = {.address = (uint64_t)(uintptr_t)address,
                           .rank = (uint8_t)rank,
                           .swizzle = (uint8_t)swizzle,
                           .element = (uint8_t)element};
    return DRIVE_BARE(encode(bytes, &map, sizes, strides, box));
}
