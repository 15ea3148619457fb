/* The driver's tensor maps. */
#include "driver.h"

enum { ELEMENTS = 10 };

/* What the simulator's tensor copies lack, by name. */
static const char *what_is_absent(int element, int interleave, int swizzle, int fill, unsigned rank,
                                  const uint32_t *element_strides) {
    if (element >= ELEMENTS) return "cuTensorMapEncodeTiled of elements that are flushed, TF32 or of 4 or 6 bits";
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
    for (unsigned d = 0; d < map->rank; d++) {
        map->sizes[d] = sizes[d];
        map->box[d] = (uint16_t)(box[d] > UINT16_MAX ? UINT16_MAX : box[d]);
        if (d) map->stride_bytes[d] = strides[d - 1];
    }
    if (!simt_tensor_map_encode(map, bytes, &message)) return cudaSuccess;
    runtime_enter();
    runtime_say("cuTensorMapEncodeTiled: %s", message.text);
    runtime_leave();
    return cudaErrorInvalidValue;
}

static cudaError_t check_pointers(const void *map, unsigned rank, const void *sizes, const void *strides,
                                  const void *box, const void *element_strides) {
    bool is_whole = map && sizes && box && element_strides && (strides || rank < 2);
    return is_whole && rank >= 1 && rank <= SIMT_TENSOR_RANK_MAX ? cudaSuccess : cudaErrorInvalidValue;
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
