/* From what was gathered of a reduction to its result: once, for every device. */
#ifndef WF_CORE_FINISH_H
#define WF_CORE_FINISH_H

#include "core/big.h"
#include "core/ops.h"

/* What the sums cannot hold as digits, of x or, in dot, of x*y. */
enum wf_saw {
    WF_SAW_POSITIVE_INFINITY = 1,
    WF_SAW_NEGATIVE_INFINITY = 2,
    WF_SAW_INVALID = 4,          /* infinity times 0 */
    WF_SAW_BEYOND_MINUS_ZERO = 8 /* anything but -0 and NaN */
};

/* A key as wf_key_to_bits has it.  The identity has index INT64_MAX. */
struct wf_extreme {
    int64_t key;
    int64_t index;
};

/* The parts of an accumulator, or of a kernel, as they are finished.  Only those that the op has need be set. */
struct wf_parts {
    wf_type type;
    wf_nan nan;
    int64_t ddof;
    int64_t index_count; /* of the hull of the elements' indices */
    int64_t count;       /* NaNs included */
    int64_t nan_count;
    int64_t first_nan;
    unsigned saw;        /* enum wf_saw */
    int64_t nonzero;     /* NaNs included */
    const struct wf_extreme *min, *max;
    uint64_t bits_and, bits_or, bits_xor;
    struct wf_total *sum, *abs, *products; /* finishing spends them */
    struct wf_number product;              /* of all that is neither zero nor infinite */
    bool product_has_zero, product_has_infinity;
};

/* The value of op, rounded to result_type; or why there is none.  number: the exact value, also where it does not
 * fit (WF_ERROR_RANGE). */
wf_error wf_parts_finish(const struct wf_parts *parts, wf_op op, wf_type result_type, struct wf_number *number,
                         wf_value *value);

#endif
