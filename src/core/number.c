#include "core/number.h"

struct wf_number wf_number_zero(bool negative) {
    struct wf_number zero = {WF_NUMBER_ZERO, negative, false, 0, 0};
    return zero;
}

struct wf_number wf_number_infinite(bool negative) {
    struct wf_number infinite = {WF_NUMBER_INFINITE, negative, false, 0, 0};
    return infinite;
}

struct wf_number wf_number_nan(void) {
    struct wf_number nan = {WF_NUMBER_NAN, false, false, 0, 0};
    return nan;
}

struct wf_number wf_number_make(bool negative, wf_u128 mantissa, int32_t exponent, bool inexact) {
    if (!mantissa) return wf_number_zero(negative);
    int shift = wf_leading_zeros_u128(mantissa);
    struct wf_number number = {WF_NUMBER_FINITE, negative, inexact, exponent - shift, mantissa << shift};
    return number;
}

struct wf_number wf_number_of_u64(uint64_t value) {
    return wf_number_make(false, value, 0, false);
}

static int64_t sign_extend(uint64_t bits, int width) {
    return (int64_t)(bits << (64 - width)) >> (64 - width);
}

static struct wf_number number_of_float(const struct wf_type_traits *traits, int low_exponent, uint64_t bits) {
    int fraction_bits = traits->precision - 1;
    uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
    int field = (int)(bits >> fraction_bits) & ((1 << traits->exponent_bits) - 1);
    bool negative = bits >> (fraction_bits + traits->exponent_bits) & 1;
    if (field == (1 << traits->exponent_bits) - 1)
        return fraction ? wf_number_nan() : wf_number_infinite(negative);
    if (field == 0) return wf_number_make(negative, fraction, low_exponent, false);
    return wf_number_make(negative, fraction | UINT64_C(1) << fraction_bits, low_exponent + field - 1, false);
}

struct wf_number wf_number_of_bits(wf_type type, uint64_t bits) {
    const struct wf_type_traits *traits = &wf_type_table[type];
    if (traits->kind == WF_KIND_FLOAT) return number_of_float(traits, wf_type_low_exponent(type), bits);
    if (traits->kind == WF_KIND_UNSIGNED) return wf_number_of_u64(bits);
    int64_t value = sign_extend(bits, 8 * traits->nbytes);
    return wf_number_make(value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value, 0, false);
}

uint64_t wf_key_to_bits(wf_type type, int64_t key) {
    int width = 8 * wf_type_table[type].nbytes;
    uint64_t mask = UINT64_MAX >> (64 - width);
    if (wf_type_is_float(type) && key < 0) return ((uint64_t)key ^ mask >> 1) & mask;
    if (type == WF_U64) return (uint64_t)key ^ UINT64_C(1) << 63;
    return (uint64_t)key & mask;
}

int64_t wf_bits_to_key(wf_type type, uint64_t bits) {
    int width = 8 * wf_type_table[type].nbytes;
    if (type == WF_U64) return (int64_t)(bits ^ UINT64_C(1) << 63);
    if (wf_type_table[type].kind == WF_KIND_UNSIGNED) return (int64_t)bits;
    int64_t value = sign_extend(bits, width);
    return wf_type_is_float(type) && value < 0 ? value ^ (int64_t)(UINT64_MAX >> (65 - width)) : value;
}

/* mantissa / 2^drop, rounded to nearest even, where drop is 64 or more: what is kept lies in the high half. */
static wf_u128 round_off(const struct wf_number *number, int64_t drop) {
    if (drop > 128) return 0;
    uint64_t high = (uint64_t)(number->mantissa >> 64), low = (uint64_t)number->mantissa;
    int shift = (int)drop - 64;
    uint64_t kept = shift < 64 ? high >> shift : 0;
    uint64_t rest = shift ? high << (64 - shift) : low, half = UINT64_C(1) << 63;
    bool beyond = number->inexact || (shift && low);
    bool up = rest > half || (rest == half && (beyond || kept & 1));
    return (wf_u128)kept + up;
}

static uint64_t float_bits(const struct wf_number *number, wf_type type) {
    const struct wf_type_traits *traits = &wf_type_table[type];
    int fraction_bits = traits->precision - 1;
    uint64_t infinity = ((UINT64_C(1) << traits->exponent_bits) - 1) << fraction_bits;
    uint64_t sign = (uint64_t)number->negative << (fraction_bits + traits->exponent_bits);
    switch (number->kind) {
    case WF_NUMBER_ZERO: return sign;
    case WF_NUMBER_INFINITE: return sign | infinity;
    case WF_NUMBER_NAN: return infinity | UINT64_C(1) << (fraction_bits - 1);
    case WF_NUMBER_FINITE: break;
    }
    int64_t field = (int64_t)number->exponent + 127 + wf_type_bias(type);
    if (field >= (1 << traits->exponent_bits) - 1) return sign | infinity;
    bool normal = field >= 1;
    /* A carry out of the fraction moves into the exponent field, as it should, up to the infinity. */
    uint64_t rounded = (uint64_t)round_off(number, 128 - traits->precision + (normal ? 0 : 1 - field));
    return sign | (((uint64_t)(normal ? field - 1 : 0) << fraction_bits) + rounded);
}

/* The magnitude as an integer; false where there is none, or one of more than 64 bits. */
static bool integer_magnitude(const struct wf_number *number, wf_u128 *magnitude) {
    *magnitude = 0;
    if (number->kind == WF_NUMBER_ZERO) return true;
    if (number->kind != WF_NUMBER_FINITE || number->exponent > -64) return false;
    *magnitude = round_off(number, -(int64_t)number->exponent);
    return true;
}

static bool round_to_integer(const struct wf_number *number, wf_type type, wf_value *value) {
    wf_u128 magnitude;
    if (!integer_magnitude(number, &magnitude)) return false;
    bool is_signed = wf_type_table[type].kind == WF_KIND_SIGNED;
    bool below_zero = number->negative && magnitude;
    wf_u128 limit = ((wf_u128)1 << wf_type_table[type].precision) - !(is_signed && below_zero);
    if (magnitude > limit || (below_zero && !is_signed)) return false;
    if (is_signed)
        value->v.i = (int64_t)(below_zero ? -(uint64_t)magnitude : (uint64_t)magnitude);
    else
        value->v.u = (uint64_t)magnitude;
    return true;
}

bool wf_number_round(const struct wf_number *number, wf_type type, wf_value *value) {
    wf_value rounded = {type, {0}};
    if (!wf_type_is_float(type)) {
        if (!round_to_integer(number, type, &rounded)) return false;
        *value = rounded;
        return true;
    }
    uint64_t bits = float_bits(number, type);
    uint32_t low_bits = (uint32_t)bits;
    if (wf_type_table[type].nbytes <= 2)
        rounded.v.f16 = (uint16_t)bits;
    else if (type == WF_F32)
        memcpy(&rounded.v.f32, &low_bits, sizeof low_bits);
    else
        memcpy(&rounded.v.f64, &bits, sizeof bits);
    *value = rounded;
    return true;
}
