#include "io/table.h"

#include "core/number.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Appends a digit to a negative number, whose range is the wider one; false: it does not fit. */
static bool append(int64_t *value, int digit) {
    return !__builtin_mul_overflow(*value, 10, value) && !__builtin_sub_overflow(*value, digit, value);
}

static const char *skip_digits(const char *p, const char *end) {
    while (p < end && is_digit(*p)) p++;
    return p;
}

/* "e-3": *exponent is limited to what tells all numbers of 64 bits.  false: it is something else. */
static bool parse_exponent(const char *p, const char *end, int64_t *exponent) {
    enum { LIMIT = 1 << 20 }; /* a field has fewer digits */
    const bool negative = end - p > 1 && p[1] == '-';
    const char *digits = p + 1 + (end - p > 1 && (p[1] == '-' || p[1] == '+'));
    *exponent = 0;
    if (p == end) return true;
    if ((*p | 0x20) != 'e' || digits >= end || skip_digits(digits, end) < end) return false;
    for (; digits < end; digits++)
        if (*exponent < LIMIT) *exponent = 10 * *exponent + (*digits - '0');
    if (negative) *exponent = -*exponent;
    return true;
}

wf_error wf_decimal_parse(const char *text, size_t length, int32_t decimals, int64_t *value) {
    const char *end = text + length;
    const bool negative = text < end && *text == '-';
    const char *digits = text + (text < end && (*text == '-' || *text == '+')), *point = skip_digits(digits, end);
    const bool has_point = point < end && *point == '.';
    const char *mantissa_end = has_point ? skip_digits(point + 1, end) : point;
    int64_t exponent;
    if (mantissa_end - digits == has_point || !parse_exponent(mantissa_end, end, &exponent)) return WF_ERROR_FORMAT;
    int64_t left = (point - digits) + exponent + decimals, below_zero = 0; /* left: digits that are held */
    bool fits = true, is_held = true;
    for (const char *p = digits; p < mantissa_end; p++) {
        if (p == point) continue;
        if (left > 0) fits &= append(&below_zero, *p - '0');
        else is_held &= *p == '0';
        left--;
    }
    for (; left > 0 && below_zero && fits; left--) fits &= append(&below_zero, 0);
    if (!fits || (!negative && below_zero == INT64_MIN)) return WF_ERROR_RANGE;
    if (!is_held) return WF_ERROR_UNSUPPORTED;
    *value = negative ? below_zero : -below_zero;
    return WF_OK;
}

/* By long division, to more bits than any type has. */
wf_value wf_decimal_mean(int64_t sum, int64_t count, int32_t decimals, wf_type type) {
    enum { BITS = 70 };
    const uint64_t magnitude = sum < 0 ? -(uint64_t)sum : (uint64_t)sum;
    wf_u128 divisor = (wf_u128)count;
    for (int32_t i = 0; i < decimals; i++) divisor *= 10; /* less than 2^63 * 10^18 < 2^123 */
    wf_u128 quotient = magnitude / divisor, rest = magnitude % divisor;
    int32_t exponent = 0;
    for (; rest && quotient >> BITS == 0; exponent--) {
        rest <<= 1;
        quotient = quotient << 1 | (rest >= divisor);
        if (rest >= divisor) rest -= divisor;
    }
    const struct wf_number number = wf_number_make(sum < 0, quotient, exponent, rest != 0);
    wf_value value = {.type = type};
    wf_number_round(&number, type, &value);
    return value;
}
