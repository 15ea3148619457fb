/* How wide registers are. */
#include "lanes.h"

enum width simt_width(enum type type) {
    uint32_t nbytes = simt_type_nbytes(type);
    if (type == TYPE_PRED) return WIDTH_PREDICATE;
    return nbytes <= 2 ? WIDTH_16 : nbytes == 4 ? WIDTH_32 : WIDTH_64;
}

size_t simt_width_nbytes(enum width width) {
    static const size_t nbytes[] = {[WIDTH_PREDICATE] = sizeof(uint32_t),
                                    [WIDTH_16] = SIMT_LANES * sizeof(uint16_t),
                                    [WIDTH_32] = SIMT_LANES * sizeof(uint32_t),
                                    [WIDTH_64] = SIMT_LANES * sizeof(uint64_t)};
    return nbytes[width];
}
