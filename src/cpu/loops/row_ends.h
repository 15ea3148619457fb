/* The last elements of rows, fewer than fill a vector. */
#ifndef WF_CPU_LOOPS_ROW_ENDS_H
#define WF_CPU_LOOPS_ROW_ENDS_H

#include "cpu/loops/float_bits.h"

#include <string.h>

/* LANES elements, of which that many are left in the row; after these -0, which adds nothing.  end: what may be read. */
INLINE vf64 load_left(const unsigned char *x, size_t left, const unsigned char *end) {
    const vi64 place = {EACH_LANE(SAME_LANE, 0)};
    unsigned char copy[LANES * sizeof(uword)];
    if ((size_t)(end - x) < sizeof copy) x = memcpy(memset(copy, 0, sizeof copy), x, left * sizeof(uword));
    vi64 is_used = place < (int64_t)left;
    return (vf64)(((vi64)widen(x) & is_used) | ((vi64)-(vf64){0} & ~is_used));
}

#endif
