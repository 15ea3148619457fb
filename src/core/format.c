/* Values as text.  Integers only: neither the locale nor the floating-point environment has a say. */
#include "core/big.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIXED_EXPONENT_MIN = -5, FIXED_EXPONENT_MAX = 16 };

static uint64_t bits_of(const wf_value *value) {
    uint32_t f32;
    uint64_t f64;
    if (!wf_type_is_float(value->type)) return value->v.u;
    switch (wf_type_nbytes(value->type)) {
    case sizeof f32: memcpy(&f32, &value->v.f32, sizeof f32); return f32;
    case sizeof f64: memcpy(&f64, &value->v.f64, sizeof f64); return f64;
    default: return value->v.f16;
    }
}

double wf_value_to_double(const wf_value *value) {
    wf_value rounded;
    struct wf_number number = wf_number_nan();
    if (value && wf_type_is_valid(value->type)) number = wf_number_of_bits(value->type, bits_of(value));
    wf_number_round(&number, WF_F64, &rounded);
    return rounded.v.f64;
}

/* ---- the shortest decimal ----------------------------------------------------------------------- */

/* digits * 10^exponent, where digits does not end in 0. */
struct decimal {
    uint64_t digits;
    int exponent;
};

static struct wf_big big_of_u64(uint64_t value) {
    struct wf_big big = {.count = 1, .limb = {1}};
    wf_big_multiply_u64(&big, value);
    return big;
}

static void scale(struct wf_big *big, int power_of_2, int power_of_10) {
    for (; power_of_2 >= 32; power_of_2 -= 32) wf_big_multiply_u64(big, UINT64_C(1) << 32);
    for (; power_of_2 > 0; power_of_2--) wf_big_multiply_u64(big, 2);
    for (; power_of_10 > 0; power_of_10--) wf_big_multiply_u64(big, 10);
}

/* The largest integer at most log10(2^exponent), for exponents within 1500 of 0. */
static int log10_of_power_of_2(int exponent) {
    return (exponent * 1262611) >> 22;
}

/* After each digit, the number lies between the digits so far and the same plus one in the last place: the
 * nearest decimals of that length.  The first length at which one of them lies within half a gap of the
 * number, and so reads back as it, is the shortest; of two, the nearer is taken, or else the even one. */
static struct decimal shortest_decimal(const struct wf_number *number, wf_type type) {
    int top = number->exponent + 127;
    int unit = top - wf_type_table[type].precision + 1;
    if (unit < wf_type_low_exponent(type)) unit = wf_type_low_exponent(type);
    uint64_t mantissa = (uint64_t)(number->mantissa >> (unit - number->exponent));
    bool even = mantissa % 2 == 0;
    bool is_lowest_of_binade = number->mantissa << 1 == 0 && unit > wf_type_low_exponent(type);

    /* number = rest / one, and half the gaps beside it likewise, all times 4 to be integers, and divided by
     * the power of ten that leaves one digit before the point. */
    int exponent = log10_of_power_of_2(top);
    struct wf_big one = big_of_u64(4), rest = big_of_u64(4 * mantissa);
    struct wf_big half_above = big_of_u64(2), half_below = big_of_u64(is_lowest_of_binade ? 1 : 2);
    scale(&one, -unit, exponent);
    scale(&rest, unit, -exponent);
    scale(&half_above, unit, -exponent);
    scale(&half_below, unit, -exponent);
    struct wf_big ten = one;
    scale(&ten, 0, 1);
    if (wf_big_compare(&rest, &ten) >= 0) {
        one = ten;
        exponent++;
    }

    struct decimal decimal = {0, exponent};
    for (;; decimal.exponent--) {
        decimal.digits *= 10;
        for (; wf_big_compare(&rest, &one) >= 0; decimal.digits++) wf_big_subtract(&rest, &one);
        struct wf_big rest_above = one;
        wf_big_subtract(&rest_above, &rest);
        bool below = wf_big_compare(&rest, &half_below) < even;
        bool above = wf_big_compare(&rest_above, &half_above) < even;
        int nearer = wf_big_compare(&rest, &rest_above);
        if (above && (!below || nearer > 0 || (nearer == 0 && decimal.digits % 2))) decimal.digits++;
        if (below || above) break;
        scale(&rest, 0, 1);
        scale(&half_above, 0, 1);
        scale(&half_below, 0, 1);
    }
    for (; decimal.digits % 10 == 0; decimal.exponent++) decimal.digits /= 10;
    return decimal;
}

/* ---- usual decimals ------------------------------------------------------------------------------ */

/* Numbers that are neither large nor small: mantissa * 2^-shift. */
struct usual {
    uint64_t mantissa; /* below 2^53 */
    int shift;         /* 1 to 100 */
};

enum { POWER_MAX = 22, FEW = 3, FEW_SHIFT_MIN = 10, FEW_SHIFT_MAX = 62 }; /* 10^22 < 2^74, 10^3 < 2^10 */

static const uint64_t powers_of_10[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
                                        10000000000, 100000000000};

/* Whether a whole number of 10^-k lies within half a gap of the number, and so reads back as it; *digits: the nearest, of
 * two the even one. */
static bool has_decimal(const struct usual *number, int k, uint64_t *digits) {
    const wf_u128 power = k < 12 ? powers_of_10[k] : (wf_u128)powers_of_10[11] * powers_of_10[k - 11];
    const wf_u128 scaled = number->mantissa * power, half = (wf_u128)1 << (number->shift - 1);
    const wf_u128 whole = (scaled + half) >> number->shift, rest = scaled + half - (whole << number->shift);
    *digits = (uint64_t)whole - (rest == 0 && whole % 2);
    return 2 * (rest > half ? rest - half : half - rest) < power + (number->mantissa % 2 == 0);
}

/* Whether FEW digits behind the point are tried first, in 64 bits (few_digits).  Numbers of so many bits behind the point have
 * no two such decimals within half a gap; the gap below a power of two is another. */
static bool may_have_few(const struct usual *number) {
    return number->shift >= FEW_SHIFT_MIN && number->shift <= FEW_SHIFT_MAX && number->mantissa & (number->mantissa - 1);
}

/* Whether a whole number of 10^-FEW reads back as the number. */
static bool has_few_digits(const struct usual *number, uint64_t *digits) {
    if (!may_have_few(number)) return false;
    const uint64_t power = powers_of_10[FEW], scaled = number->mantissa * power, half = UINT64_C(1) << (number->shift - 1);
    const uint64_t whole = (scaled + half) >> number->shift, rest = scaled + half - (whole << number->shift);
    *digits = whole;
    return 2 * (rest > half ? rest - half : half - rest) < power + (number->mantissa % 2 == 0);
}

/* The fewest digits behind the point, more than the few that were tried, -1 if they are too many: with k of them, a number can also be written with k + 1.  As
 * many as 2^-shift has places always suffice; most numbers need all of these, or all but one. */
static int fewest_digits(const struct usual *number, uint64_t *digits) {
    int low = may_have_few(number) ? FEW + 1 : 0, high = -log10_of_power_of_2(-number->shift), found = -1;
    uint64_t nearest;
    if (high > POWER_MAX) high = POWER_MAX;
    for (int tries = 0; low <= high; tries++) {
        const int k = tries < 3 ? high : (low + high) / 2;
        if (has_decimal(number, k, &nearest)) {
            *digits = nearest;
            found = k;
            high = k - 1;
        } else {
            low = k + 1;
        }
    }
    return found;
}

/* The number of these bits, without its sign; false: it is another. */
static inline bool usual_of_bits(int precision, int exponent_bits, uint64_t bits, struct usual *usual) {
    const int fraction_bits = precision - 1, largest = (1 << exponent_bits) - 1;
    const int field = (int)(bits >> fraction_bits) & largest;
    const int unit = field - largest / 2 - fraction_bits;
    *usual = (struct usual){(bits & ((UINT64_C(1) << fraction_bits) - 1)) | UINT64_C(1) << fraction_bits, -unit};
    return field && unit < 0 && unit >= -100; /* infinities and NaNs have units above 0 */
}

static bool is_exact(const struct usual *number, uint64_t digits, int k) {
    const wf_u128 power = k < 12 ? powers_of_10[k] : (wf_u128)powers_of_10[11] * powers_of_10[k - 11];
    return (wf_u128)digits << number->shift == number->mantissa * power;
}

/* The same as shortest_decimal for usual numbers without few digits; false: it is another.  Below a power of two the gap is
 * half as large, so that of those only what is exact is right for certain. */
static bool usual_decimal(const struct usual *usual, struct decimal *decimal) {
    uint64_t digits = 0;
    const int k = fewest_digits(usual, &digits);
    if (k < 0 || !digits || (!(usual->mantissa & (usual->mantissa - 1)) && !is_exact(usual, digits, k))) return false;
    *decimal = (struct decimal){digits, -k};
    for (; k == 0 && decimal->digits % 10 == 0; decimal->exponent++) decimal->digits /= 10;
    return true;
}

/* ---- digits -------------------------------------------------------------------------------------- */

enum { DIGITS_MAX = 20, COPY_NBYTES = 32, FIXED_CAPACITY = 3 * COPY_NBYTES + 1 };

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
                            "49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
                            "9899";

/* Writes the digits of the number before end; returns the first. */
static char *put_digits(char *end, uint64_t number) {
    for (; number >= 100; number /= 100) memcpy(end -= 2, pairs + number % 100 * 2, 2);
    if (number >= 10) return memcpy(end - 2, pairs + number * 2, 2);
    *--end = (char)('0' + number);
    return end;
}

/* Copies COPY_NBYTES, of which count are meant: a copy of a constant size is no call. */
static char *put(char *to, const char *bytes, int count) {
    memcpy(to, bytes, COPY_NBYTES);
    return to + count;
}

/* What snprintf does with "%s", and would take a third of the time of printing a large table for. */
static int copy_text(const char *from, size_t length, char *text, size_t capacity) {
    const size_t copied = length < capacity ? length : capacity - 1;
    if (!capacity) return (int)length;
    memcpy(text, from, copied);
    text[copied] = '\0';
    return (int)length;
}

static int format_decimal(const struct decimal *decimal, const char *sign, char *text, size_t capacity) {
    static const char zeros[COPY_NBYTES] = "0000000000000000", small[COPY_NBYTES] = "0.0000000000000000";
    char buffer[DIGITS_MAX + COPY_NBYTES], fixed[FIXED_CAPACITY];
    char *const begin = capacity >= sizeof fixed ? text : fixed, *to = begin; /* put writes more than it means */
    char *digits = put_digits(buffer + DIGITS_MAX, decimal->digits);
    int count = (int)(buffer + DIGITS_MAX - digits);
    int exponent = decimal->exponent + count - 1;
    if (exponent < FIXED_EXPONENT_MIN || exponent > FIXED_EXPONENT_MAX)
        return snprintf(text, capacity, "%s%c%s%.*se%+03d", sign, digits[0], count > 1 ? "." : "", count - 1, digits + 1,
                        exponent);
    const int whole = exponent < 0 ? 0 : exponent < count - 1 ? exponent + 1 : count; /* digits before the point */
    *to = *sign;
    to += *sign != '\0';
    if (exponent < 0) to = put(to, small, 1 - exponent);
    to = put(to, digits, whole);
    if (whole && whole < count) *to++ = '.';
    to = put(to, digits + whole, count - whole);
    if (whole == count) to = put(to, zeros, decimal->exponent);
    *to = '\0';
    return begin == text ? (int)(to - text) : copy_text(fixed, (size_t)(to - fixed), text, capacity);
}

/* A whole number of 10^-FEW, without zeros at its end: prices, and nearly all that is made of them. */
static int format_few(uint64_t number, bool negative, char *text) {
    char buffer[DIGITS_MAX + COPY_NBYTES], *const end = buffer + DIGITS_MAX, *to = text;
    const uint64_t whole = number / 1000, fraction = number % 1000, tail = fraction % 100;
    const char *digits = put_digits(end, whole);
    *to = '-';
    to = put(to + negative, digits, (int)(end - digits));
    to[0] = '.';
    to[1] = (char)('0' + fraction / 100);
    memcpy(to + 2, pairs + tail * 2, 2);
    to += fraction ? 2 + (tail != 0) + (tail % 10 != 0) : 0;
    *to = '\0';
    return (int)(to - text);
}

/* ---- every kind of text ------------------------------------------------------------------------- */

/* Formats the value, as a double, like %a of printf. */
static int format_hexadecimal(const struct wf_number *number, const char *sign, char *text, size_t capacity) {
    enum { EXPONENT_MIN = -1022, FRACTION_BITS = 52 };
    int exponent = number->exponent + 127;
    wf_u128 mantissa = number->mantissa;
    if (exponent < EXPONENT_MIN) {
        mantissa >>= EXPONENT_MIN - exponent;
        exponent = EXPONENT_MIN;
    }
    int leading = (int)(mantissa >> 127);
    uint64_t fraction = (uint64_t)(mantissa >> (127 - FRACTION_BITS)) & ((UINT64_C(1) << FRACTION_BITS) - 1);
    int count = FRACTION_BITS / 4;
    for (; count > 0 && fraction % 16 == 0; count--) fraction /= 16;
    if (count == 0) return snprintf(text, capacity, "%s0x%dp%+d", sign, leading, exponent);
    return snprintf(text, capacity, "%s0x%d.%0*" PRIx64 "p%+d", sign, leading, count, fraction, exponent);
}

static int format_integer(const wf_value *value, int hex, char *text, size_t capacity) {
    bool negative = wf_type_table[value->type].kind == WF_KIND_SIGNED && value->v.i < 0;
    uint64_t magnitude = negative ? -value->v.u : value->v.u;
    if (hex) return snprintf(text, capacity, "%s0x%" PRIx64, negative ? "-" : "", magnitude);
    char buffer[1 + DIGITS_MAX], *end = buffer + sizeof buffer, *digits = put_digits(end, magnitude);
    if (negative) *--digits = '-';
    return copy_text(digits, (size_t)(end - digits), text, capacity);
}

static int format_unusual(wf_type type, uint64_t bits, int hex, char *text, size_t capacity) {
    struct wf_number number = wf_number_of_bits(type, bits);
    const char *sign = number.negative ? "-" : "";
    switch (number.kind) {
    case WF_NUMBER_NAN: return snprintf(text, capacity, "nan");
    case WF_NUMBER_INFINITE: return snprintf(text, capacity, "%sinf", sign);
    case WF_NUMBER_ZERO: return snprintf(text, capacity, hex ? "%s0x0p+0" : "%s0", sign);
    case WF_NUMBER_FINITE: break;
    }
    if (hex) return format_hexadecimal(&number, sign, text, capacity);
    const struct decimal decimal = shortest_decimal(&number, type);
    return format_decimal(&decimal, sign, text, capacity);
}

static int format_usual(const struct usual *usual, bool negative, char *text, size_t capacity) {
    char fixed[FIXED_CAPACITY];
    struct decimal decimal;
    uint64_t few;
    if (!has_few_digits(usual, &few))
        return usual_decimal(usual, &decimal) ? format_decimal(&decimal, negative ? "-" : "", text, capacity) : -1;
    if (capacity >= sizeof fixed) return format_few(few, negative, text);
    return copy_text(fixed, (size_t)format_few(few, negative, fixed), text, capacity);
}

static inline int format_float(wf_type type, int precision, int exponent_bits, uint64_t bits, int hex, char *text, size_t capacity) {
    const bool negative = bits >> (precision + exponent_bits - 1) & 1;
    struct usual usual;
    const bool is_usual = !hex && usual_of_bits(precision, exponent_bits, bits, &usual);
    const int length = is_usual ? format_usual(&usual, negative, text, capacity) : -1;
    return length >= 0 ? length : format_unusual(type, bits, hex, text, capacity);
}

static int format_any_float(wf_type type, uint64_t bits, int hex, char *text, size_t capacity) {
    const struct wf_type_traits *traits = &wf_type_table[type];
    return format_float(type, traits->precision, traits->exponent_bits, bits, hex, text, capacity);
}

size_t wf_value_format(const wf_value *value, int hex, char *text, size_t capacity) {
    int length;
    if (!value || !wf_type_is_valid(value->type))
        length = snprintf(text, capacity, "%s", "");
    else if (value->type == WF_F64) /* of most results, for which the compiler knows all sizes */
        length = format_float(WF_F64, 53, 11, bits_of(value), hex, text, capacity);
    else if (wf_type_is_float(value->type))
        length = format_any_float(value->type, bits_of(value), hex, text, capacity);
    else
        length = format_integer(value, hex, text, capacity);
    return (size_t)length;
}
