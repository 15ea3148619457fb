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

    /* number = rest / one, and half the gaps on both sides of it likewise, all times 4 to be integers, and divided by
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

/* Whether a whole number of 10^-FEW reads back as the number, because it lies within half a gap.  With at least FEW_SHIFT_MIN
 * bits after the point, at most one lies there; below a power of two the gap is another.  Whether one does cannot be predicted,
 * so there is no branch for it. */
static inline bool has_few_digits(const struct usual *number, uint64_t *digits) {
    if (number->shift < FEW_SHIFT_MIN || number->shift > FEW_SHIFT_MAX || !(number->mantissa & (number->mantissa - 1))) return false;
    const uint64_t power = powers_of_10[FEW], scaled = number->mantissa * power, half = UINT64_C(1) << (number->shift - 1);
    const uint64_t reach = (power - number->mantissa % 2) / 2;
    *digits = (scaled + half) >> number->shift;
    return scaled - (*digits << number->shift) + reach <= 2 * reach;
}

static wf_u128 power_of_10(int k) {
    return k < 12 ? powers_of_10[k] : (wf_u128)powers_of_10[11] * powers_of_10[k - 11];
}

/* The fewest digits after the point, -1 if they are too many.  As many as 2^-shift has places always suffice; of the whole
 * numbers of those that lie within half a gap of the number, and so read back as it, one may end in zeros.  Half a gap is as
 * much on both sides, so that the nearest such number is among them; of two the even one. */
static int fewest_digits(const struct usual *number, uint64_t *digits) {
    const int most = -log10_of_power_of_2(-number->shift), shift = number->shift;
    int k = most < POWER_MAX ? most : POWER_MAX;
    const wf_u128 power = power_of_10(k), one = (wf_u128)1 << shift, scaled = number->mantissa * power;
    const wf_u128 reach = (power - number->mantissa % 2) / 2;
    uint64_t last = (uint64_t)((scaled + reach) >> shift), first = (uint64_t)((scaled - reach + one - 1) >> shift), step = 1;
    if (last < first) return -1;
    for (; k > 0 && last / 10 >= (first + 9) / 10; last /= 10, first = (first + 9) / 10, k--) step *= 10;
    const wf_u128 rest = scaled & (one - 1);
    const uint64_t whole = (uint64_t)(scaled >> shift), nearest = whole / step, left = whole % step;
    const bool is_half = step == 1 ? rest == one / 2 : 2 * left == step && !rest;
    const bool is_more = step == 1 ? rest > one / 2 : 2 * left > step || (2 * left == step && rest);
    *digits = nearest + (is_more || (is_half && nearest % 2));
    return k;
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
    return (wf_u128)digits << number->shift == number->mantissa * power_of_10(k);
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

enum { DIGITS_MAX = 24, COPY_NBYTES = 32, FIXED_CAPACITY = 3 * COPY_NBYTES + 1 }; /* three times eight digits */

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
                            "49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
                            "9899";

/* The digits of a number below 10^8, the first in the lowest byte: parts it into fours, these into pairs, and those. */
static inline uint64_t digits_of_8(uint32_t number) {
    const uint64_t fours = number / 10000 | (uint64_t)(number % 10000) << 32;
    const uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x0000007f0000007f), twos = hundreds | (fours - 100 * hundreds) << 16;
    const uint64_t tens = twos * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    return tens | (twos - 10 * tens) << 8;
}

/* How many of them are zeros in front of the others, or of the last. */
static inline int zeros_of_8(uint64_t digits) {
    return __builtin_ctzll(digits | UINT64_C(1) << 56) / 8;
}

/* To be stored anywhere: a memcpy into an array may be a call that checks its size (_FORTIFY_SOURCE). */
typedef uint64_t __attribute__((may_alias, aligned(1))) any_8;

/* Writes all but the first few. */
static inline void put_8(char *to, uint64_t digits, int left_out) {
    uint64_t text = (digits | UINT64_C(0x3030303030303030)) >> 8 * left_out;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    text = __builtin_bswap64(text);
#endif
    *(any_8 *)(void *)to = text;
}

/* Writes the digits of the number before end, where there is room for DIGITS_MAX; returns the first. */
static inline char *put_digits(char *end, uint64_t number) {
    for (; number >= 100000000; number /= 100000000) put_8(end -= 8, digits_of_8((uint32_t)(number % 100000000)), 0);
    const uint64_t digits = digits_of_8((uint32_t)number);
    put_8(end - 8, digits, 0);
    return end - 8 + zeros_of_8(digits);
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

static int format_float(wf_type type, uint64_t bits, int hex, char *text, size_t capacity) {
    const struct wf_type_traits *traits = &wf_type_table[type];
    const bool negative = bits >> (8 * traits->nbytes - 1) & 1;
    struct usual usual;
    struct decimal decimal;
    const bool is_usual = !hex && usual_of_bits(traits->precision, traits->exponent_bits, bits, &usual);
    if (!is_usual || !usual_decimal(&usual, &decimal)) return format_unusual(type, bits, hex, text, capacity);
    return format_decimal(&decimal, negative ? "-" : "", text, capacity);
}

__attribute__((noinline)) static size_t format_any(const wf_value *value, int hex, char *text, size_t capacity) {
    if (!value || !wf_type_is_valid(value->type)) return (size_t)snprintf(text, capacity, "%s", "");
    if (!wf_type_is_float(value->type)) return (size_t)format_integer(value, hex, text, capacity);
    return (size_t)format_float(value->type, bits_of(value), hex, text, capacity);
}

/* ---- prices, and nearly all that is made of them -------------------------------------------------- */

/* A whole number of 10^-FEW, below 10^8 * 10^FEW, without zeros at its end. */
static inline size_t put_few(uint64_t number, bool negative, char *text) {
    const uint64_t digits = digits_of_8((uint32_t)(number / 1000));
    const uint32_t fraction = (uint32_t)(number % 1000), tail = fraction % 100;
    const int zeros = zeros_of_8(digits);
    char *to = text + negative;
    *text = '-';
    put_8(to, digits, zeros);
    to += 8 - zeros;
    to[0] = '.';
    to[1] = (char)('0' + fraction / 100);
    memcpy(to + 2, pairs + tail * 2, 2);
    to += fraction ? 2 + (tail != 0) + (tail % 10 != 0) : 0;
    *to = '\0';
    return (size_t)(to - text);
}

/* An f64 where there is FIXED_CAPACITY; 0: it is another.  This has no memory of its own, whose protection would take as long as
 * everything else. */
static inline size_t format_few(double value, char *text) {
    uint64_t bits, few;
    struct usual usual;
    memcpy(&bits, &value, sizeof bits);
    if (!usual_of_bits(53, 11, bits, &usual) || !has_few_digits(&usual, &few) || few >= UINT64_C(100000000000)) return 0;
    return put_few(few, bits >> 63, text);
}

size_t wf_value_format(const wf_value *value, int hex, char *text, size_t capacity) {
    const bool is_usual = value && value->type == WF_F64 && !hex && capacity >= FIXED_CAPACITY;
    const size_t length = is_usual ? format_few(value->v.f64, text) : 0;
    return length ? length : format_any(value, hex, text, capacity);
}
