#include "io/table.h"

#include "core/number.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Appends a digit to a negative number, whose range is the wider one; false: it does not fit. */
static bool append(int64_t *value, int digit) {
    return !__builtin_mul_overflow(*value, 10, value) && !__builtin_sub_overflow(*value, digit, value);
}

wf_error wf_decimal_parse(const char *text, size_t length, int32_t decimals, int64_t *value) {
    const char *p = text, *end = text + length;
    const bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    int64_t below_zero = 0;
    bool has_digits = false, fits = true, is_held = true;
    for (; p < end && is_digit(*p); p++) {
        fits &= append(&below_zero, *p - '0');
        has_digits = true;
    }
    if (p < end && *p == '.') p++;
    int32_t left = decimals;
    for (; p < end && is_digit(*p); p++) {
        has_digits = true;
        if (left > 0) {
            fits &= append(&below_zero, *p - '0');
            left--;
        } else {
            is_held &= *p == '0';
        }
    }
    if (!has_digits || p < end) return WF_ERROR_FORMAT;
    for (; left > 0; left--) fits &= append(&below_zero, 0);
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
