#include "core/quantile.h"

#include <stdlib.h>

#include "core/big.h"

/* ---- where it lies ---- */

enum { PLACES_MAX = 37 }; /* 17 digits of 1e-20 or more */

static wf_u128 power_of_ten(int exponent) {
    wf_u128 power = 1;
    for (int i = 0; i < exponent; i++) power *= 10;
    return power;
}

/* "0.025", "1e-05", "1.5e-07": digits, of which some follow the point, and a power of ten. */
bool wf_fraction_of(double q, struct wf_fraction *fraction) {
    const wf_value value = {.type = WF_F64, .v.f64 = q};
    char text[64], *at = text;
    int places = 0;
    bool is_behind_point = false;
    *fraction = (struct wf_fraction){0, 1};
    if (!(q >= 0 && q <= 1) || (q > 0 && q < 1e-20)) return false;
    wf_value_format(&value, 0, text, sizeof text);
    if (*at == '-') at++; /* -0 */
    for (; *at && *at != 'e'; at++) {
        if (*at == '.') {
            is_behind_point = true;
            continue;
        }
        fraction->digits = 10 * fraction->digits + (uint64_t)(*at - '0');
        places += is_behind_point;
    }
    if (*at) places -= (int)strtol(at + 1, NULL, 10);
    if (places > PLACES_MAX) return false;
    if (fraction->digits) fraction->scale = power_of_ten(places);
    return true;
}

struct wf_place wf_quantile_place(struct wf_fraction q, wf_between between, int64_t count) {
    wf_u128 scaled = (wf_u128)q.digits * (uint64_t)(count - 1), rest = scaled % q.scale, half = q.scale - rest;
    int64_t below = (int64_t)(scaled / q.scale);
    struct wf_place place = {below, below + (rest != 0), rest, q.scale};
    if (!rest || between == WF_LINEAR) return place;
    if (between == WF_MIDPOINT) {
        place.weight = 1;
        place.scale = 2;
        return place;
    }
    bool takes_upper = between == WF_HIGHER || (between == WF_NEAREST && (rest > half || (rest == half && below & 1)));
    place.lower = place.upper = below + takes_upper;
    place.weight = 0;
    return place;
}

/* ---- the value there ---- */

/* exact += (negative ? -1 : 1) * significand * weight * 2^exponent. */
static void add_weighted(const struct wf_exact *exact, const struct wf_number *number, wf_u128 weight) {
    uint64_t significand = (uint64_t)(number->mantissa >> 64); /* the rest is 0: no element has more than 64 bits */
    for (int shift = 0; weight; weight >>= 32, shift += 32) {
        wf_i128 product = (wf_i128)((wf_u128)significand * (uint32_t)weight);
        wf_exact_add_i128(exact, number->negative ? -product : product, number->exponent + 64 + shift);
    }
}

/* As (1 - weight) * lower + weight * upper, of which one is not finite, or both are 0. */
static struct wf_number special_number(const struct wf_number *lower, const struct wf_number *upper) {
    if (lower->kind == WF_NUMBER_INFINITE && upper->kind == WF_NUMBER_INFINITE)
        return lower->negative == upper->negative ? *lower : wf_number_nan();
    if (lower->kind == WF_NUMBER_INFINITE) return *lower;
    if (upper->kind == WF_NUMBER_INFINITE) return *upper;
    return wf_number_zero(lower->negative && upper->negative);
}

struct wf_number wf_quantile_number(const struct wf_ordering *ordering, const struct wf_place *place, uint64_t lower_key,
                                    uint64_t upper_key) {
    enum { NORMAL_BITS = 64, WEIGHT_BITS = 124 };
    struct wf_number lower = wf_number_of_bits(ordering->type, wf_ordered_bits(ordering, lower_key));
    struct wf_number upper = wf_number_of_bits(ordering->type, wf_ordered_bits(ordering, upper_key));
    if (!place->weight || lower_key == upper_key) return lower;
    bool is_finite = lower.kind != WF_NUMBER_INFINITE && upper.kind != WF_NUMBER_INFINITE;
    bool are_zero = lower.kind == WF_NUMBER_ZERO && upper.kind == WF_NUMBER_ZERO;
    if (!is_finite || are_zero) return special_number(&lower, &upper);

    int64_t digit[WF_EXACT_DIGITS_MAX] = {0};
    int low = wf_type_low_exponent(ordering->type) - NORMAL_BITS;
    int count = wf_exact_digit_count(low, wf_type_high_exponent(ordering->type) + WEIGHT_BITS);
    struct wf_exact exact = {digit, low, count};
    if (lower.kind != WF_NUMBER_ZERO) add_weighted(&exact, &lower, place->scale - place->weight);
    if (upper.kind != WF_NUMBER_ZERO) add_weighted(&exact, &upper, place->weight);
    struct wf_total total;
    wf_total_of_exact(&total, exact);
    return wf_big_quotient(&total.magnitude, total.exponent, total.negative, place->scale);
}
