/* Natural numbers long enough for the variance of f64 data, and the two operations that end in a rounding:
 * a quotient and the square root of one.  Only what exact results and their texts need. */
#ifndef WF_CORE_BIG_H
#define WF_CORE_BIG_H

#include "core/exact.h"

#define WF_BIG_LIMBS (2 * WF_EXACT_DIGITS_MAX + 4)

struct wf_big {
    int count;                    /* limbs in use; the last one is not 0 */
    uint32_t limb[WF_BIG_LIMBS];  /* the least significant first */
};

/* |x|; returns whether x is negative. */
bool wf_big_of_exact(struct wf_big *big, const struct wf_exact *x);

void wf_big_multiply(struct wf_big *product, const struct wf_big *a, const struct wf_big *b);
void wf_big_multiply_u64(struct wf_big *big, uint64_t factor);

/* Below, at or above 0 as a is below, at or above b. */
int wf_big_compare(const struct wf_big *a, const struct wf_big *b);

/* a -= b, where b <= a. */
void wf_big_subtract(struct wf_big *a, const struct wf_big *b);

struct wf_number wf_big_to_number(const struct wf_big *big, int32_t exponent, bool negative);

/* big * 2^exponent / divisor, where 0 < divisor < 2^127. */
struct wf_number wf_big_quotient(const struct wf_big *big, int32_t exponent, bool negative, wf_u128 divisor);

/* The square root of big * 2^exponent / divisor. */
struct wf_number wf_big_quotient_root(const struct wf_big *big, int32_t exponent, wf_u128 divisor);

#endif
