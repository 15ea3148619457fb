/* Computes the result from a partial.  Every device uses this one definition. */
#ifndef WF_CORE_FINISH_H
#define WF_CORE_FINISH_H

#include "core/big.h"
#include "core/ops.h"
#include "core/partial_words.h"

/* A partial to be finished, and the settings of its reduction.  Only members that the op uses must be set. */
struct wf_finish {
    const struct wf_partial *partial;
    wf_type type;
    wf_nan nan;
    int64_t ddof;
    int64_t count;                 /* NaNs included */
    int64_t index_count;           /* of the hull of the elements' indices */
    struct wf_total *sum;          /* of the partial's sum or abs, whichever the op takes; finishing overwrites it */
    struct wf_total *product_sum;  /* of the partial's; finishing overwrites it, too */
    bool has_numerator;            /* for var and std, product_sum is the numerator ... */
    struct wf_big *square;         /* ... or this is memory for the square of the sum */
    struct wf_number product;      /* of all that is neither zero nor infinite */
};

/* The value of op, rounded to result_type; or why there is none.  number: the exact value, also where it does not
 * fit (WF_ERROR_RANGE). */
wf_error wf_finish_value(const struct wf_finish *finish, wf_op op, wf_type result_type, struct wf_number *number,
                         wf_value *value);

#endif
