/* NaNs that are left out of columns: rows are copied, a few at a time, with what adds nothing in their place. */
#ifndef WF_CPU_LOOPS_LEFT_OUT_H
#define WF_CPU_LOOPS_LEFT_OUT_H

#include "cpu/block.h"
#include "cpu/loops/float_bits.h"
#include "cpu/loops/strip.h"

#include <string.h>

/* Which lanes are NaN. */
INLINE vsword nan_lanes(const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    return lanes_of_nans(bits & (sword)MAGNITUDE);
}

/* Copies a vector with those bits in the lanes that are set. */
INLINE void copy_vector(uword *copy, const unsigned char *x, vsword is_set, uword instead) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    bits = select_where(is_set, (vsword){0} + (sword)instead, bits);
    memcpy(copy, &bits, sizeof bits);
}

/* A copy of a strip with those bits in place of its NaNs; of pairs with 0 and -0 where either is one.  nans: of each column how
 * many there are besides.  The columns are a multiple of STEP. */
INLINE struct strip strip_without_nans(uword *copy, uword *nans, struct strip strip, uword instead) {
    const size_t columns = strip.columns, count = strip.rows * columns;
    for (size_t c = 0; c < columns; c += STEP) {
        const unsigned char *x = strip.x + c * sizeof(uword), *y = strip.y ? strip.y + c * sizeof(uword) : NULL;
        vsword found;
        memcpy(&found, nans + c, sizeof found);
        for (size_t i = c; i < count; i += columns, x += strip.stride_bytes) {
            const vsword is_nan = y ? nan_lanes(x) | nan_lanes(y) : nan_lanes(x);
            found -= is_nan;
            copy_vector(copy + i, x, is_nan, instead);
            if (!y) continue;
            copy_vector(copy + count + i, y, is_nan, MINUS_ZERO);
            y += strip.y_stride_bytes;
        }
        memcpy(nans + c, &found, sizeof found);
    }
    strip.x = (const unsigned char *)copy;
    if (strip.y) strip.y = (const unsigned char *)(copy + count);
    strip.stride_bytes = strip.y_stride_bytes = (int64_t)(columns * sizeof(uword));
    return strip;
}

/* Whether any of the results is NaN, as NaNs make them. */
INLINE bool has_nan_result(const unsigned char *results, size_t count) {
    bool any = false;
    for (size_t c = 0; c < count; c++) {
        uword bits;
        memcpy(&bits, results + c * sizeof bits, sizeof bits);
        any |= is_nan(bits);
    }
    return any;
}

/* Whether the result of a column that has that many elements besides its NaNs is known without them; *bits: the result.  *fails:
 * that it has no value. */
INLINE bool is_known_of_few(uword *bits, bool *fails, const struct wf_quotient *asked, double others) {
    const bool needs_some = asked->is_divided && asked->parts & WF_PART_SUM;
    *fails = needs_some && others <= asked->ddof && !asked->has_fill;
    *bits = needs_some ? (uword)asked->fill : 0;
    return others <= (needs_some ? asked->ddof : 0);
}

#endif
