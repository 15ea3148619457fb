/* Natural numbers long enough for the variance of f64 data, and the two operations that end in a rounding:
 * a quotient and the square root of one.  Only what exact results and their texts need. */
#ifndef WF_CORE_BIG_H
#define WF_CORE_BIG_H

#include "core/exact.h"
#include "core/number.h"

#define WF_BIG_LIMBS (2 * WF_EXACT_DIGITS_MAX + 4)

struct wf_big {
    int count;                   /* limbs in use; the last one is not 0 */
    int lowest;                  /* those below it are 0 */
    uint32_t limb[WF_BIG_LIMBS]; /* the least significant first */
};

/* An exact sum as it is finished: the magnitude times 2^exponent, and the sign. */
struct wf_total {
    bool negative;
    int32_t exponent;
    struct wf_big magnitude;
};

void wf_total_of_exact(struct wf_total *total, struct wf_exact x);

struct wf_number wf_total_to_number(const struct wf_total *total);

void wf_big_multiply(struct wf_big *product, const struct wf_big *a, const struct wf_big *b);
void wf_big_multiply_u64(struct wf_big *big, uint64_t factor);

void wf_big_add(struct wf_big *a, const struct wf_big *b);

/* Leaves out the limbs below that one. */
void wf_big_forget(struct wf_big *big, int limb);

/* Below, at or above 0 as a is below, at or above b. */
int wf_big_compare(const struct wf_big *a, const struct wf_big *b);

/* a -= b, where b <= a. */
void wf_big_subtract(struct wf_big *a, const struct wf_big *b);

/* big * 2^exponent / divisor, where 0 < divisor < 2^127. */
struct wf_number wf_big_quotient(const struct wf_big *big, int32_t exponent, bool negative, wf_u128 divisor);

/* magnitude * 2^exponent / divisor, where 0 < divisor < 2^62: all 128 bits of the mantissa. */
struct wf_number wf_quotient_u128(bool negative, wf_u128 magnitude, int32_t exponent, uint64_t divisor);

/* The square root of big * 2^exponent / divisor. */
struct wf_number wf_big_quotient_root(const struct wf_big *big, int32_t exponent, wf_u128 divisor);

#endif
