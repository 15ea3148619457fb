/* Quantiles as arithmetic: from q and a count to positions in the sorted elements, and from the elements there to the
 * value between them, rounded once. */
#ifndef WF_CORE_QUANTILE_H
#define WF_CORE_QUANTILE_H

#include "core/number.h"
#include "core/ordered.h"

/* digits / scale, exactly: the shortest decimal that reads back to a double from 0 to 1.  digits < 2^57, scale: a power
 * of ten below 2^124. */
struct wf_fraction {
    uint64_t digits;
    wf_u128 scale;
};

/* false: q is not one of 0 and 1e-20 to 1. */
bool wf_fraction_of(double q, struct wf_fraction *fraction);

/* The element at `lower` of the sorted ones, counted from 0, and weight / scale of the way to the one at `upper`. */
struct wf_place {
    int64_t lower, upper;
    wf_u128 weight, scale;
};

/* count: 1 or more. */
struct wf_place wf_quantile_place(struct wf_fraction q, wf_between between, int64_t count);

/* The exact value from the keys at lower and upper. */
struct wf_number wf_quantile_number(const struct wf_ordering *ordering, const struct wf_place *place, uint64_t lower_key,
                                    uint64_t upper_key);

#endif
