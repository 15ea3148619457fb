/* What is done with the partials of a type.  The kernels include this file (core/portable.h). */
#ifndef WF_CORE_PARTIAL_H
#define WF_CORE_PARTIAL_H

#include "core/exact.h"
#include "core/partial_words.h"
#include "core/parts.h"
#include "core/types.h"
#include "warpfold.h"

/* The sums of a partial of a type, as numbers.  Those of a constant partial must not be written to. */
static inline struct wf_exact wf_partial_number(const uint64_t *digits, int low, int high) {
    struct wf_exact number = {(int64_t *)(uintptr_t)digits, low, wf_exact_digit_count(low, high)};
    return number;
}

static inline struct wf_exact wf_partial_sum(const struct wf_partial *partial, wf_type type) {
    return wf_partial_number(partial->sum, wf_type_low_exponent(type), wf_type_high_exponent(type));
}

static inline struct wf_exact wf_partial_abs(const struct wf_partial *partial, wf_type type) {
    return wf_partial_number(partial->abs, wf_type_low_exponent(type), wf_type_high_exponent(type));
}

static inline struct wf_exact wf_partial_product_sum(const struct wf_partial *partial, wf_type type) {
    return wf_partial_number(partial->product_sum, 2 * wf_type_low_exponent(type), 2 * wf_type_high_exponent(type));
}

/* Sets the parts (enum wf_part) to the identity, the partial of no elements.  Clears the digits that the type uses. */
void wf_partial_clear(struct wf_partial *partial, wf_type type, unsigned parts);

/* into = from, except for digits that the type and the parts do not use. */
void wf_partial_copy(struct wf_partial *into, const struct wf_partial *from, wf_type type, unsigned parts);

/* Sets every part of every type to the identity. */
void wf_partial_clear_all(struct wf_partial *partial);

/* Propagates carries, after which equal partials have equal digits. */
void wf_partial_normalise(struct wf_partial *partial, wf_type type, unsigned parts);

/* Merges the parts of from into those of into; they must not share elements.  Either may lie in memory that a GPU
 * has written. */
void wf_partial_merge(struct wf_partial *into, const struct wf_partial *from, wf_type type, unsigned parts);

#endif
