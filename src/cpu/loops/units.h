/* Elements as integers, for tables by key: whatever the type, the keys that order them.  Included after any_type.h. */
#ifndef WF_CPU_LOOPS_UNITS_H
#define WF_CPU_LOOPS_UNITS_H

#include "cpu/loops/any_type.h"

/* Signed keys, so that one comparison serves all types; all bits are flipped for the largest.  A NaN has none, nor what
 * would have INT64_MAX, which stands for no element. */
INLINE void take_keys(struct wf_units *units, const unsigned char *x, size_t count, bool largest) {
    const uint64_t top = KEY_IS_UNSIGNED && sizeof(key) == 8 ? UINT64_C(1) << 63 : 0;
    const int64_t flip = largest ? -1 : 0;
    int64_t any = 0;
    for (size_t i = 0; i < count; i++) {
        uword bits = bits_at(x, i);
        int64_t order = (int64_t)((uint64_t)key_of(bits) ^ top) ^ flip;
        int64_t lost = -(int64_t)(is_nan(bits) | (order == INT64_MAX));
        units->word[0][i] = lost ? INT64_MAX : order;
        units->lost[i] = lost;
        any |= lost;
    }
    units->any_lost = any;
}

#endif
