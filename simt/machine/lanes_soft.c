/* Floating-point numbers in integer arithmetic. */
#include "lanes_soft.h"

const struct format simt_f16 = {11, 5, 0x7fff};
const struct format simt_bf16 = {8, 8, 0x7fff};
const struct format simt_f32 = {24, 8, 0x7fffffff};
const struct format simt_f64 = {53, 11, simt_default_nan_f64};

enum { TOP = 127 }; /* the highest bit of a significand */

static const struct number not_a_number = {.class = NUMBER_NAN};

static int leading_zeros(simt_u128 value) {
    uint64_t high = (uint64_t)(value >> 64);
    return high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)value);
}

/* Shifts right by `count`; what falls out is kept in the lowest bit. */
static simt_u128 shift_jam(simt_u128 value, int count) {
    if (count == 0) return value;
    if (count > TOP) return value != 0;
    return value >> count | ((value << (128 - count)) != 0);
}

static struct number normalise(bool is_negative, int exponent, simt_u128 significand) {
    if (!significand) return (struct number){.class = NUMBER_ZERO, .is_negative = is_negative};
    int shift = leading_zeros(significand);
    return (struct number){NUMBER_FINITE, is_negative, exponent - shift, significand << shift};
}

static int bias(const struct format *format) {
    return (1 << (format->exponent_bits - 1)) - 1;
}

struct number simt_number_unpack(uint64_t bits, const struct format *format) {
    int fraction_bits = format->precision - 1, exponent_max = (1 << format->exponent_bits) - 1;
    uint64_t fraction = bits & (((uint64_t)1 << fraction_bits) - 1);
    int exponent = (int)(bits >> fraction_bits) & exponent_max;
    bool is_negative = bits >> (fraction_bits + format->exponent_bits) & 1;
    if (exponent == exponent_max)
        return (struct number){.class = fraction ? NUMBER_NAN : NUMBER_INFINITE,
                               .is_negative = is_negative,
                               .significand = (simt_u128)fraction << (128 - fraction_bits)};
    if (exponent) fraction |= (uint64_t)1 << fraction_bits;
    int scale = (exponent ? exponent : 1) - bias(format) - fraction_bits;
    return normalise(is_negative, scale + TOP, fraction);
}

struct number simt_number_from_integer(uint64_t magnitude, bool is_negative) {
    return normalise(is_negative && magnitude, TOP, magnitude);
}

/* Drops the lowest `count` bits (1 .. 128), rounding. */
static simt_u128 round_off(simt_u128 value, int count, bool is_negative, enum rounding rounding) {
    simt_u128 half = (simt_u128)1 << (count - 1);
    simt_u128 rest = count > TOP ? value : value & ((half << 1) - 1);
    simt_u128 kept = count > TOP ? 0 : value >> count;
    bool is_up = false;
    switch (rounding) {
    case ROUND_NEAREST: is_up = rest > half || (rest == half && (kept & 1)); break;
    case ROUND_ZERO: break;
    case ROUND_DOWN: is_up = rest && is_negative; break;
    case ROUND_UP: is_up = rest && !is_negative; break;
    }
    return kept + is_up;
}

static uint64_t largest_finite(const struct format *format) {
    uint64_t exponent_max = ((uint64_t)1 << format->exponent_bits) - 1;
    return (exponent_max << (format->precision - 1)) - 1;
}

static uint64_t pack_finite(struct number number, const struct format *format, enum rounding rounding,
                            unsigned finish) {
    int exponent = number.exponent + bias(format); /* as stored, if it is normal */
    int drop = 128 - format->precision;
    if (exponent < 1 && finish & FINISH_FLUSH) {
        /* What rounds up to the least normal number, as if the exponent had no end, is no longer subnormal. */
        uint64_t least = (uint64_t)1 << (format->precision - 1);
        bool is_least = exponent == 0 && round_off(number.significand, drop, number.is_negative, rounding) == least << 1;
        return is_least ? least : 0;
    }
    if (exponent < 1) { /* subnormal */
        drop += 1 - exponent;
        if (drop > 128) number.significand = shift_jam(number.significand, drop - 128);
        if (drop > 128) drop = 128;
        exponent = 1;
    }
    simt_u128 rounded = round_off(number.significand, drop, number.is_negative, rounding);
    if (exponent > 1 << format->exponent_bits) exponent = 1 << format->exponent_bits;
    /* The hidden bit counts the exponent up: from 0 to 1 too, where rounding makes a normal number. */
    uint64_t bits = ((uint64_t)(exponent - 1) << (format->precision - 1)) + (uint64_t)rounded;
    uint64_t largest = largest_finite(format);
    if (bits > largest) {
        bool is_inward = rounding == ROUND_ZERO || rounding == (number.is_negative ? ROUND_UP : ROUND_DOWN);
        bits = is_inward || finish & FINISH_SATFINITE ? largest : largest + 1;
    }
    return bits;
}

static uint64_t pack_nan(struct number number, const struct format *format) {
    uint64_t quiet = (uint64_t)1 << (format->precision - 2);
    return (largest_finite(format) + 1) | quiet | (uint64_t)(number.significand >> (129 - format->precision));
}

uint64_t simt_number_pack(struct number number, const struct format *format, enum rounding rounding,
                          unsigned finish) {
    uint64_t one = (uint64_t)bias(format) << (format->precision - 1), bits = 0;
    if (number.class == NUMBER_NAN && finish & FINISH_SAT) return 0;
    if (number.class == NUMBER_NAN && !(finish & FINISH_PAYLOAD)) return format->nan;
    if (number.class == NUMBER_NAN) bits = pack_nan(number, format);
    else if (number.is_negative && finish & (FINISH_SAT | FINISH_RELU)) return 0;
    if (number.class == NUMBER_INFINITE)
        bits = largest_finite(format) + !(finish & FINISH_SATFINITE);
    if (number.class == NUMBER_FINITE) bits = pack_finite(number, format, rounding, finish);
    if (finish & FINISH_SAT && bits > one) bits = one;
    return bits | (uint64_t)number.is_negative << (format->precision - 1 + format->exponent_bits);
}

struct number simt_number_round(struct number number, enum rounding rounding) {
    if (number.class != NUMBER_FINITE || number.exponent >= TOP) return number;
    int drop = TOP - number.exponent;
    if (drop > 128) number.significand = shift_jam(number.significand, drop - 128);
    simt_u128 rounded = round_off(number.significand, drop > 128 ? 128 : drop, number.is_negative, rounding);
    return normalise(number.is_negative, TOP, rounded);
}

uint64_t simt_number_to_integer(struct number number, int64_t minimum, uint64_t maximum, uint64_t nan) {
    if (number.class == NUMBER_NAN) return nan;
    if (number.class == NUMBER_ZERO) return 0;
    uint64_t limit = number.is_negative ? -(uint64_t)minimum : maximum, magnitude = limit;
    if (number.class == NUMBER_FINITE && number.exponent < 64) {
        magnitude = (uint64_t)(number.significand >> (TOP - number.exponent));
        if (magnitude > limit) magnitude = limit;
    }
    return number.is_negative ? -magnitude : magnitude;
}

struct number simt_number_negate(struct number a) {
    a.is_negative = !a.is_negative;
    return a;
}

static struct number add_finite(struct number a, struct number b, enum rounding rounding) {
    if (a.exponent < b.exponent) {
        struct number swapped = a;
        a = b;
        b = swapped;
    }
    /* One bit of room for the carry. */
    simt_u128 larger = shift_jam(a.significand, 1);
    simt_u128 smaller =
        shift_jam(b.significand, a.exponent - b.exponent < 128 ? a.exponent - b.exponent + 1 : 129);
    if (a.is_negative == b.is_negative) return normalise(a.is_negative, a.exponent + 1, larger + smaller);
    if (larger == smaller)
        return (struct number){.class = NUMBER_ZERO, .is_negative = rounding == ROUND_DOWN};
    if (larger > smaller) return normalise(a.is_negative, a.exponent + 1, larger - smaller);
    return normalise(b.is_negative, a.exponent + 1, smaller - larger);
}

struct number simt_number_add(struct number a, struct number b, enum rounding rounding) {
    if (a.class == NUMBER_NAN || b.class == NUMBER_NAN) return not_a_number;
    if (a.class == NUMBER_INFINITE)
        return b.class == NUMBER_INFINITE && a.is_negative != b.is_negative ? not_a_number : a;
    if (b.class == NUMBER_INFINITE) return b;
    if (a.class == NUMBER_ZERO && b.class == NUMBER_ZERO) {
        if (a.is_negative != b.is_negative) a.is_negative = rounding == ROUND_DOWN;
        return a;
    }
    if (a.class == NUMBER_ZERO) return b;
    if (b.class == NUMBER_ZERO) return a;
    return add_finite(a, b, rounding);
}

struct number simt_number_multiply(struct number a, struct number b) {
    bool is_negative = a.is_negative != b.is_negative;
    enum number_class higher = a.class > b.class ? a.class : b.class;
    enum number_class lower = a.class > b.class ? b.class : a.class;
    if (higher == NUMBER_NAN || (higher == NUMBER_INFINITE && lower == NUMBER_ZERO)) return not_a_number;
    if (higher == NUMBER_INFINITE || lower == NUMBER_ZERO)
        return (struct number){.class = higher == NUMBER_INFINITE ? NUMBER_INFINITE : NUMBER_ZERO,
                               .is_negative = is_negative};
    /* No factor has more than 64 bits: the product is exact. */
    simt_u128 product = (a.significand >> 64) * (b.significand >> 64);
    return normalise(is_negative, a.exponent + b.exponent + 1, product);
}

struct number simt_number_divide(struct number a, struct number b) {
    bool is_negative = a.is_negative != b.is_negative;
    if (a.class == NUMBER_NAN || b.class == NUMBER_NAN) return not_a_number;
    if (a.class == b.class && a.class != NUMBER_FINITE) return not_a_number; /* 0/0, inf/inf */
    if (a.class == NUMBER_INFINITE || b.class == NUMBER_ZERO)
        return (struct number){.class = NUMBER_INFINITE, .is_negative = is_negative};
    if (a.class == NUMBER_ZERO || b.class == NUMBER_INFINITE)
        return (struct number){.class = NUMBER_ZERO, .is_negative = is_negative};
    simt_u128 dividend = a.significand >> 1, divisor = b.significand >> 64;
    simt_u128 quotient = dividend / divisor; /* 63 or 64 bits */
    quotient = quotient << 1 | (dividend % divisor != 0);
    return normalise(is_negative, a.exponent - b.exponent + 63, quotient);
}

/* The root of `value` rounded down; two bits of it for each bit of the root. */
static uint64_t integer_root(simt_u128 value) {
    uint64_t root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        uint64_t candidate = root | (uint64_t)1 << bit;
        if ((simt_u128)candidate * candidate <= value) root = candidate;
    }
    return root;
}

struct number simt_number_square_root(struct number a) {
    if (a.class == NUMBER_ZERO) return a;
    if (a.class == NUMBER_NAN || a.is_negative) return not_a_number;
    if (a.class == NUMBER_INFINITE) return a;
    /* significand * 2^(exponent - 127) = value * 2^(2 * half): the power must be even. */
    int odd = (a.exponent - 127) & 1;
    simt_u128 value = a.significand >> odd; /* the significand's lowest bits are 0 */
    int half = (a.exponent - 127 + odd) / 2;
    uint64_t root = integer_root(value);
    simt_u128 jammed = (simt_u128)root << 1 | ((simt_u128)root * root != value);
    return normalise(false, half + TOP - 1, jammed);
}
