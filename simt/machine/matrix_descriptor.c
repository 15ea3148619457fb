/* Where wgmma has the elements of a or b in shared memory: PTX ISA, "Shared Memory Matrix Layout" of wgmma. */
#include "matrix.h"

enum { CHUNK_NBYTES = 16, ROWS = 8, CHUNK_BITS = 4, ROW_BITS = 7 };

/* A field of a descriptor: 14 bits of an address or a distance, in units of 16 bytes. */
static uint32_t field(uint64_t descriptor, uint32_t from) { return (uint32_t)(descriptor >> from & 0x3fff) * CHUNK_NBYTES; }

/* The chunks of 16 bytes that lie side by side before the next row, by the mode of swizzling; 1: it is none. */
static uint32_t row_chunks(uint64_t descriptor) {
    static const uint32_t chunks[] = {1, 8, 4, 2};
    return chunks[descriptor >> 62];
}

/* In chunks along the contiguous dimension, and rows across it. */
static uint32_t offset_of(const struct matrix_place *place, uint32_t chunk, uint32_t row) {
    const uint32_t leading = field(place->descriptor, 16), stride = field(place->descriptor, 32);
    const uint32_t width = row_chunks(place->descriptor), in_group = row % ROWS * width * CHUNK_NBYTES;
    if (!place->is_outer_contiguous)
        return in_group + row / ROWS * stride + chunk * (width == 1 ? leading : CHUNK_NBYTES);
    if (width == 1) return in_group + row / ROWS * leading + chunk * stride;
    return in_group + row / ROWS * stride + chunk / width * leading + chunk % width * CHUNK_NBYTES;
}

uint32_t simt_matrix_address(const struct matrix_place *place, uint32_t outer, uint32_t depth) {
    const uint32_t along = place->is_outer_contiguous ? outer : depth, across = place->is_outer_contiguous ? depth : outer;
    const uint32_t base = (uint32_t)(place->descriptor >> 49 & 7), width = row_chunks(place->descriptor);
    const uint32_t address = field(place->descriptor, 0) + offset_of(place, along / place->chunk_elements, across);
    return address ^ ((((address >> ROW_BITS) - base) & (width - 1)) << CHUNK_BITS);
}
