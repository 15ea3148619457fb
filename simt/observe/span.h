/* The bytes that the lanes of an access touch, as spans of equal size. */
#ifndef SIMT_SPAN_H
#define SIMT_SPAN_H

#include "lane_mask.h"
#include "simt_observer.h"

static inline uint32_t lane_nbytes(const simt_access *access) {
    return access->element_nbytes * access->elements; /* the elements of a lane's vector are neighbours */
}

/* Whether neighbouring lanes touch neighbouring bytes, without a gap in either: the commonest access by far.
 * Its span begins where the first lane's does and ends where the last lane's does. */
static inline bool is_consecutive(const simt_access *access) {
    const uint64_t *addresses = access->addresses, nbytes = lane_nbytes(access);
    uint64_t strays = 0;
    if (access->has_stride) return access->stride == nbytes || !(access->lanes & (access->lanes - 1));
    if (access->lanes == UINT32_MAX) { /* a loop that the compiler unrolls and vectorises */
        for (uint32_t lane = 1; lane < 32; lane++) strays |= (addresses[lane] - addresses[lane - 1]) ^ nbytes;
        return strays == 0;
    }
    uint32_t first = first_lane(access->lanes), last = last_lane(access->lanes), run = access->lanes >> first;
    if (run & (run + 1)) return false;
    for (uint32_t lane = first; lane < last; lane++)
        strays |= (addresses[lane + 1] - addresses[lane]) ^ nbytes;
    return strays == 0;
}

#endif
