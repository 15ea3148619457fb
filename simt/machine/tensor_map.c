#include "tensor_map.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "element.h"

enum { STRIDE_ALIGNMENT = 16, BOX_MAX = 256, PIXELS_MAX = 1024, STEP_MAX = 8 };
#define SIZE_MAX_ELEMENTS (UINT64_C(1) << 32)
#define STRIDE_LIMIT (UINT64_C(1) << 40)
#define TAG UINT64_C(0x70616d726f736e74)

struct stored {
    uint64_t tag;
    simt_tensor_map map;
};
_Static_assert(sizeof(struct stored) <= SIMT_TENSOR_MAP_NBYTES, "a tensor map has 128 bytes");

/* By the driver's numbers; the last three are FLOAT32_FTZ, TFLOAT32 and TFLOAT32_FTZ. */
static const enum type types[] = {TYPE_U8,  TYPE_U16, TYPE_U32, TYPE_S32,  TYPE_U64, TYPE_S64, TYPE_F16,
                                  TYPE_F32, TYPE_F64, TYPE_BF16, TYPE_F32, TYPE_F32, TYPE_F32};
enum { FIRST_FLUSHED = 10, FIRST_TF32 = 11 };
_Static_assert(sizeof types / sizeof *types == SIMT_TENSOR_TYPES, "each type has a number");

enum type simt_tensor_type(const simt_tensor_map *map) { return types[map->element]; }

bool simt_tensor_has_reductions(const simt_tensor_map *map) { return map->element < FIRST_FLUSHED; }

bool simt_tensor_is_tf32(const simt_tensor_map *map) { return map->element >= FIRST_TF32; }

uint32_t simt_tensor_element_nbytes(const simt_tensor_map *map) { return simt_type_nbytes(types[map->element]); }

uint32_t simt_tensor_swizzle_nbytes(const simt_tensor_map *map) {
    static const uint32_t spans[] = {[SIMT_SWIZZLE_32] = 32, [SIMT_SWIZZLE_64] = 64, [SIMT_SWIZZLE_128] = 128};
    return spans[map->swizzle];
}

int64_t simt_tensor_corner(const simt_tensor_map *map, uint32_t space, bool is_upper) {
    static const uint8_t widths[] = {[1] = 16, [2] = 8, [3] = 5};
    const uint32_t width = widths[map->rank - 2], first = (is_upper ? 32 : 0) + space * width;
    return (int64_t)(map->stride_bytes[0] << (64 - first - width)) >> (64 - width);
}

static simt_error refuse(simt_message *message, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (message) vsnprintf(message->text, sizeof message->text, format, arguments);
    va_end(arguments);
    return SIMT_ERROR_ARGUMENT;
}

static simt_error check_dimension(const simt_tensor_map *map, uint32_t d, simt_message *message) {
    const uint64_t stride = map->stride_bytes[d];
    if (map->sizes[d] == 0 || map->sizes[d] > SIZE_MAX_ELEMENTS)
        return refuse(message, "dimension %u of a tensor map has %llu elements: it must have 1 to 2^32", d,
                      (unsigned long long)map->sizes[d]);
    if (!map->is_im2col && (map->box[d] == 0 || map->box[d] > BOX_MAX))
        return refuse(message, "dimension %u of a tensor map's box has %u elements: it must have 1 to 256", d, map->box[d]);
    if (d && (stride % STRIDE_ALIGNMENT || stride >= STRIDE_LIMIT)) /* CUTLASS gives a dimension of one element 0 */
        return refuse(message, "dimension %u of a tensor map has a stride of %llu bytes: it must be a multiple of 16 below "
                               "2^40", d, (unsigned long long)stride);
    return SIMT_OK;
}

static simt_error check_corners(const simt_tensor_map *map, uint32_t d, simt_message *message) {
    const int lower = (int)simt_tensor_corner(map, d, false), upper = (int)simt_tensor_corner(map, d, true);
    if ((int64_t)map->sizes[d + 1] + upper - lower <= 0)
        return refuse(message, "the bounding box of a tensor map from %d to %d of %llu pixels is empty", lower, upper,
                      (unsigned long long)map->sizes[d + 1]);
    if (map->box[2 + d] == 0 || map->box[2 + d] > STEP_MAX)
        return refuse(message, "a tensor map has steps of %u pixels: it must have 1 to 8", map->box[2 + d]);
    return SIMT_OK;
}

static simt_error check_im2col(const simt_tensor_map *map, simt_message *message) {
    if (map->rank < 3) return refuse(message, "a tensor map of %u dimensions: im2col needs 3 to 5", map->rank);
    if (map->box[0] == 0 || map->box[0] > BOX_MAX)
        return refuse(message, "a tensor map has %u channels for each pixel: it must have 1 to 256", map->box[0]);
    if (map->box[1] == 0 || map->box[1] > PIXELS_MAX)
        return refuse(message, "a tensor map has %u pixels for each column: it must have 1 to 1024", map->box[1]);
    for (uint32_t d = 0; d < map->rank - 2u; d++) {
        simt_error error = check_corners(map, d, message);
        if (error) return error;
    }
    return SIMT_OK;
}

static simt_error check(const simt_tensor_map *map, simt_message *message) {
    if (map->element >= sizeof types / sizeof *types)
        return refuse(message, "type %u of elements of a tensor map", map->element);
    if (map->rank == 0 || map->rank > SIMT_TENSOR_RANK_MAX)
        return refuse(message, "a tensor map of %u dimensions: it must have 1 to 5", map->rank);
    if (map->address % STRIDE_ALIGNMENT)
        return refuse(message, "the address of a tensor map, 0x%llx, must be a multiple of 16",
                      (unsigned long long)map->address);
    if (map->swizzle > SIMT_SWIZZLE_128) return refuse(message, "swizzle %u of a tensor map", map->swizzle);
    for (uint32_t d = 0; d < map->rank; d++) {
        simt_error error = check_dimension(map, d, message);
        if (error) return error;
    }
    if (map->is_im2col && check_im2col(map, message)) return SIMT_ERROR_ARGUMENT;
    const uint32_t row_nbytes = map->box[0] * simt_tensor_element_nbytes(map);
    if (row_nbytes % STRIDE_ALIGNMENT)
        return refuse(message, "a row of a tensor map's box has %u bytes: it must be a multiple of 16", row_nbytes);
    if (map->swizzle && row_nbytes > simt_tensor_swizzle_nbytes(map))
        return refuse(message, "a row of a tensor map's box has %u bytes: its swizzle allows %u", row_nbytes,
                      simt_tensor_swizzle_nbytes(map));
    return SIMT_OK;
}

simt_error simt_tensor_map_encode(const simt_tensor_map *map, unsigned char bytes[SIMT_TENSOR_MAP_NBYTES],
                                  simt_message *message) {
    const struct stored stored = {TAG, *map};
    simt_error error = check(map, message);
    if (error) return error;
    memset(bytes, 0, SIMT_TENSOR_MAP_NBYTES);
    memcpy(bytes, &stored, sizeof stored);
    return SIMT_OK;
}

/* A kernel may have changed some bytes: they are checked again. */
bool simt_tensor_map_read(const unsigned char bytes[SIMT_TENSOR_MAP_NBYTES], simt_tensor_map *map) {
    struct stored stored;
    memcpy(&stored, bytes, sizeof stored);
    *map = stored.map;
    return stored.tag == TAG && check(map, NULL) == SIMT_OK;
}

/* A map may be made of zeros, field by field, as Triton does.  A number that the field does not have room for becomes one
 * that no map may have. */
bool simt_tensor_map_replace(unsigned char bytes[SIMT_TENSOR_MAP_NBYTES], uint32_t place, uint32_t nbytes, uint64_t value) {
    struct stored stored;
    static const unsigned char cleared[SIMT_TENSOR_MAP_NBYTES];
    memcpy(&stored, bytes, sizeof stored);
    if (!memcmp(bytes, cleared, sizeof cleared)) stored.tag = TAG;
    if (stored.tag != TAG || stored.map.is_im2col) return false;
    const uint64_t most = nbytes < 8 ? (UINT64_C(1) << 8 * nbytes) - 1 : UINT64_MAX;
    if (nbytes) element_store((unsigned char *)&stored.map + place, nbytes, value > most ? most : value);
    memcpy(bytes, &stored, sizeof stored);
    return true;
}
