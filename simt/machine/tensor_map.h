/* A tensor map as it lies in memory: 128 bytes, which CUDA leaves to the driver. */
#ifndef SIMT_TENSOR_MAP_H
#define SIMT_TENSOR_MAP_H

#include "ptx/ptx.h"

/* false: these bytes are none. */
bool simt_tensor_map_read(const unsigned char bytes[SIMT_TENSOR_MAP_NBYTES], simt_tensor_map *map);

/* Some bytes of the simt_tensor_map get a value, which need not make a whole map yet.  false: these bytes are none for boxes. */
bool simt_tensor_map_replace(unsigned char bytes[SIMT_TENSOR_MAP_NBYTES], uint32_t place, uint32_t nbytes, uint64_t value);

enum type simt_tensor_type(const simt_tensor_map *map); /* of an element */
bool simt_tensor_is_tf32(const simt_tensor_map *map); /* to which loads round */
bool simt_tensor_has_reductions(const simt_tensor_map *map); /* whose type's reductions are known */
uint32_t simt_tensor_element_nbytes(const simt_tensor_map *map);
uint32_t simt_tensor_swizzle_nbytes(const simt_tensor_map *map); /* within which chunks change places; 0: they do not */
int64_t simt_tensor_corner(const simt_tensor_map *map, uint32_t space, bool is_upper); /* of a map for im2col */

#endif
