/* Converts one number of text to any type, rounded once, with integer arithmetic only.
 *
 * A decimal is digits * 10^exponent.  The product of its first 19 digits and the power of five, known to 128
 * bits, gives bounds that nearly always round to the same element.  If a midpoint between two elements lies
 * between the bounds, the decimal is compared with it exactly, by long multiplication.  (After W. D. Clinger,
 * "How to read floating point numbers accurately", 1990, and D. Lemire, "Number parsing at a gigabyte per
 * second", 2021.) */
#include "io/text.h"

#include <string.h>
#include "core/big.h"

enum {
    U64_DIGITS = 19,       /* any number of 19 decimal digits fits in 64 bits */
    DECIDING_DIGITS = 800, /* midpoints of f64 have at most 768 digits */
    EXPONENT_MAX = 310,    /* 10^310 is beyond every type */
    EXPONENT_MIN = -364,   /* 10^19 * 10^-365 rounds to 0 in every type */
    POWER_STEP = 27,       /* 5^27 is the last that fits in 64 bits */
    POWER_FIRST = -14      /* the lowest power needed, in units of POWER_STEP */
};

/* An exponent so large that the digits do not matter, but small enough that adding theirs cannot overflow. */
#define EXPONENT_HUGE (INT64_MAX / 4)

static const uint64_t power_of_5[POWER_STEP + 1] = {
    1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125,
    6103515625, 30517578125, 152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625,
    476837158203125, 2384185791015625, 11920928955078125, 59604644775390625, 298023223876953125,
    1490116119384765625, 7450580596923828125
};

/* 5^(27 * (i - 14)) = (high * 2^64 + low + f) * 2^exponent, 0 <= f < 1, with the top bit of high set. */
static const struct {
    uint64_t high, low;
    int exponent;
} power_table[] = {
    {UINT64_C(0x9ecffc31d586abc0), UINT64_C(0x9ac0936257d9c76c), -1005}, /* 5^-378 */
    {UINT64_C(0x8049a4ac0c5811ae), UINT64_C(0x205b896d777d6278), -942},  /* 5^-351 */
    {UINT64_C(0xcf42894a5dce35ea), UINT64_C(0x52064cac828675b9), -880},  /* 5^-324 */
    {UINT64_C(0xa76c582338ed2621), UINT64_C(0xaf2af2b80af6f24e), -817},  /* 5^-297 */
    {UINT64_C(0x873e4f75e2224e68), UINT64_C(0x5a7744a6e804a291), -754},  /* 5^-270 */
    {UINT64_C(0xda7f5bf590966848), UINT64_C(0xaf39a475506a899e), -692},  /* 5^-243 */
    {UINT64_C(0xb080392cc4349dec), UINT64_C(0xbd8d794d96aacfb3), -629},  /* 5^-216 */
    {UINT64_C(0x8e938662882af53e), UINT64_C(0x547eb47b7282ee9c), -566},  /* 5^-189 */
    {UINT64_C(0xe65829b3046b0afa), UINT64_C(0x0cb4a5a3112a5112), -504},  /* 5^-162 */
    {UINT64_C(0xba121a4650e4ddeb), UINT64_C(0x92f34d62616ce413), -441},  /* 5^-135 */
    {UINT64_C(0x964e858c91ba2655), UINT64_C(0x3a6a07f8d510f86f), -378},  /* 5^-108 */
    {UINT64_C(0xf2d56790ab41c2a2), UINT64_C(0xfae27299423fb9c3), -316},  /* 5^-81 */
    {UINT64_C(0xc428d05aa4751e4c), UINT64_C(0xaa97e14c3c26b886), -253},  /* 5^-54 */
    {UINT64_C(0x9e74d1b791e07e48), UINT64_C(0x775ea264cf55347d), -190},  /* 5^-27 */
    {UINT64_C(0x8000000000000000), UINT64_C(0x0000000000000000), -127},  /* 5^0 */
    {UINT64_C(0xcecb8f27f4200f3a), UINT64_C(0x0000000000000000), -65},   /* 5^27 */
    {UINT64_C(0xa70c3c40a64e6c51), UINT64_C(0x999090b65f67d924), -2},    /* 5^54 */
    {UINT64_C(0x86f0ac99b4e8dafd), UINT64_C(0x69a028bb3ded71a3), 61},    /* 5^81 */
    {UINT64_C(0xda01ee641a708de9), UINT64_C(0xe80e6f4820cc9495), 123},   /* 5^108 */
    {UINT64_C(0xb01ae745b101e9e4), UINT64_C(0x5ec05dcff72e7f8f), 186},   /* 5^135 */
    {UINT64_C(0x8e41ade9fbebc27d), UINT64_C(0x14588f13be847307), 249},   /* 5^162 */
    {UINT64_C(0xe5d3ef282a242e81), UINT64_C(0x8f1668c8a86da5fa), 311},   /* 5^189 */
    {UINT64_C(0xb9a74a0637ce2ee1), UINT64_C(0x6d953e2bd7173692), 374},   /* 5^216 */
    {UINT64_C(0x95f83d0a1fb69cd9), UINT64_C(0x4abdaf101564f98e), 437},   /* 5^243 */
    {UINT64_C(0xf24a01a73cf2dccf), UINT64_C(0xbc633b39673c8cec), 499},   /* 5^270 */
    {UINT64_C(0xc3b8358109e84f07), UINT64_C(0x0a862f80ec4700c8), 562},   /* 5^297 */
};

/* ---- scanning ----------------------------------------------------------------------------------- */

/* (digits + f) * 10^exponent, where f is 0, or 0 < f < 1 if truncated. */
struct decimal {
    bool negative;
    bool truncated;
    uint64_t digits;
    int64_t exponent;
    const char *first, *end; /* the mantissa as text: digits with at most one point */
    int64_t last_exponent;   /* the exponent of ten of its last digit */
};

static unsigned hex_digit(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    char letter = (char)(c | 0x20);
    return letter >= 'a' && letter <= 'f' ? (unsigned)(letter - 'a') + 10 : 16;
}

static bool is_word(const char *p, const char *end, const char *word) {
    for (; p < end && *word && (*p | 0x20) == *word; p++) word++;
    return p == end && !*word;
}

static const char *skip_sign(const char *p, const char *end, bool *negative) {
    *negative = p < end && *p == '-';
    return p + (p < end && (*p == '-' || *p == '+'));
}

static bool is_hexadecimal(const char *p, const char *end) {
    return end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x';
}

/* Scans an exponent after its letter: an optional sign, then digits up to end. */
static bool scan_exponent(const char *p, const char *end, int64_t *exponent) {
    bool negative;
    p = skip_sign(p, end, &negative);
    if (p == end) return false;
    int64_t magnitude = 0;
    for (; p < end; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (digit > 9) return false;
        if (magnitude < EXPONENT_HUGE / 10) magnitude = 10 * magnitude + digit;
    }
    *exponent = negative ? -magnitude : magnitude;
    return true;
}

/* Sets digits, exponent and truncated from a mantissa with more digits than fit in 64 bits. */
static void keep_first_digits(struct decimal *decimal) {
    int kept = 0;
    decimal->digits = 0;
    for (const char *p = decimal->first; p < decimal->end; p++) {
        if (*p == '.') continue;
        unsigned digit = (unsigned)(*p - '0');
        if (kept < U64_DIGITS) {
            decimal->digits = 10 * decimal->digits + digit;
            kept += decimal->digits != 0;
        } else {
            decimal->exponent++;
            decimal->truncated |= digit != 0;
        }
    }
}

static bool scan_decimal(const char *p, const char *end, struct decimal *decimal) {
    const char *first = p, *point = NULL;
    uint64_t digits = 0;
    for (; p < end; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (digit <= 9)
            digits = 10 * digits + digit;
        else if (*p == '.' && !point)
            point = p;
        else
            break;
    }
    ptrdiff_t digit_count = p - first - (point != NULL);
    if (digit_count == 0) return false;
    int64_t exponent = 0;
    if (p < end && ((*p | 0x20) != 'e' || !scan_exponent(p + 1, end, &exponent))) return false;
    if (point) exponent -= p - point - 1;
    decimal->truncated = false;
    decimal->digits = digits;
    decimal->exponent = decimal->last_exponent = exponent;
    decimal->first = first;
    decimal->end = p;
    if (digit_count > U64_DIGITS) keep_first_digits(decimal);
    return true;
}

/* Scans a hexadecimal mantissa and its binary exponent, after the 0x. */
static bool scan_hexadecimal(const char *p, const char *end, bool negative, struct wf_number *number) {
    bool has_digits = false, has_point = false, inexact = false;
    uint64_t mantissa = 0;
    int64_t exponent = 0, letter_exponent = 0;
    for (; p < end; p++) {
        unsigned digit = hex_digit(*p);
        if (digit < 16) {
            has_digits = true;
            bool is_kept = mantissa < UINT64_C(1) << 60;
            if (is_kept)
                mantissa = mantissa << 4 | digit;
            else
                inexact |= digit != 0;
            exponent += 4 * (!is_kept - has_point);
        } else if (*p == '.' && !has_point) {
            has_point = true;
        } else {
            break;
        }
    }
    if (!has_digits) return false;
    if (p < end && ((*p | 0x20) != 'p' || !scan_exponent(p + 1, end, &letter_exponent))) return false;
    exponent += letter_exponent;
    if (exponent > 10000) exponent = 10000;
    if (exponent < -10000) exponent = -10000;
    /* A 1 that is 64 bits below the digits stands for the dropped ones, so that the number rounds as the
     * whole. */
    *number = wf_number_make(negative, (wf_u128)mantissa << 64 | inexact, (int32_t)exponent - 64, false);
    return true;
}

/* ---- floats ------------------------------------------------------------------------------------- */

/* floor(x * factor / 2^64) */
static wf_u128 scale_down(wf_u128 x, uint64_t factor) {
    return (x >> 64) * factor + ((wf_u128)(uint64_t)x * factor >> 64);
}

/* low <= |decimal| < low + width units in the last place of low's mantissa; equal to low if width is 0. */
static void bound(const struct decimal *decimal, struct wf_number *low, wf_u128 *width) {
    int exponent = (int)decimal->exponent;
    *width = 0;
    if (!decimal->truncated && exponent >= 0 && exponent <= POWER_STEP) {
        wf_u128 product = (wf_u128)decimal->digits * power_of_5[exponent];
        *low = wf_number_make(decimal->negative, product, exponent, false);
        return;
    }
    int step = exponent / POWER_STEP - (exponent % POWER_STEP < 0);
    int rest = exponent - step * POWER_STEP;
    int rest_shift = __builtin_clzll(power_of_5[rest]), digits_shift = __builtin_clzll(decimal->digits);
    int i = step - POWER_FIRST;

    /* In units of the last place, power <= 5^exponent < power + 2; hence product <= |decimal| < product + 3
     * if no digits were truncated. */
    wf_u128 power = (wf_u128)power_table[i].high << 64 | power_table[i].low;
    power = scale_down(power, power_of_5[rest] << rest_shift);
    wf_u128 product = scale_down(power, decimal->digits << digits_shift);
    int product_exponent = power_table[i].exponent + exponent + 128 - rest_shift - digits_shift;
    *low = wf_number_make(decimal->negative, product, product_exponent, false);
    *width = 3 + ((wf_u128)decimal->truncated << (64 + digits_shift));
    *width <<= product_exponent - low->exponent;
}

static void multiply_add(struct wf_big *big, uint32_t factor, uint32_t addend) {
    uint64_t carry = addend;
    for (int i = 0; i < big->count; i++) {
        carry += (uint64_t)big->limb[i] * factor;
        big->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) big->limb[big->count++] = (uint32_t)carry;
}

static void scale(struct wf_big *big, int64_t power_of_2, int64_t powers_of_5) {
    for (; power_of_2 > 0; power_of_2 -= 32)
        wf_big_multiply_u64(big, UINT64_C(1) << (power_of_2 < 32 ? power_of_2 : 32));
    for (; powers_of_5 > 0; powers_of_5 -= POWER_STEP)
        wf_big_multiply_u64(big, power_of_5[powers_of_5 < POWER_STEP ? powers_of_5 : POWER_STEP]);
}

/* |decimal| = big * 10^exponent.  Digits after the deciding ones are replaced by a single 1. */
static void big_of_decimal(const struct decimal *decimal, struct wf_big *big, int64_t *exponent) {
    int kept = 0;
    bool has_rest = false;
    big->count = big->lowest = 0;
    *exponent = decimal->last_exponent;
    for (const char *p = decimal->first; p < decimal->end; p++) {
        if (*p == '.') continue;
        uint32_t digit = (uint32_t)(*p - '0');
        if (kept < DECIDING_DIGITS) {
            multiply_add(big, 10, digit);
            kept += big->count != 0;
        } else {
            ++*exponent;
            has_rest |= digit != 0;
        }
    }
    if (has_rest) {
        multiply_add(big, 10, 1);
        --*exponent;
    }
}

/* The sign of |decimal| - midpoint * 2^exponent. */
static int compare_with_midpoint(const struct decimal *decimal, uint64_t midpoint, int64_t exponent) {
    struct wf_big left, right = {.count = 1, .limb = {1}};
    int64_t decimal_exponent;
    big_of_decimal(decimal, &left, &decimal_exponent);
    wf_big_multiply_u64(&right, midpoint);
    scale(&left, decimal_exponent - exponent, decimal_exponent);
    scale(&right, exponent - decimal_exponent, -decimal_exponent);
    return wf_big_compare(&left, &right);
}

/* A number that rounds as the decimal does: low, unless a midpoint between two elements of type may lie
 * between low and the decimal.  That midpoint is half a unit above the largest multiple of the type's unit up
 * to low. */
static struct wf_number resolve(const struct decimal *decimal, const struct wf_number *low, wf_u128 width,
                                wf_type type) {
    int unit_exponent = low->exponent + 128 - wf_type_table[type].precision;
    if (unit_exponent < wf_type_low_exponent(type)) unit_exponent = wf_type_low_exponent(type);
    int drop = unit_exponent - low->exponent;
    if (width == 0 || drop > 129) return *low;
    wf_u128 units = drop < 128 ? low->mantissa >> drop : 0;
    wf_u128 rest = drop < 128 ? low->mantissa - (units << drop) : low->mantissa;
    wf_u128 half = drop < 129 ? (wf_u128)1 << (drop - 1) : 0; /* modulo 2^128, like the difference below */
    if (half - rest > width) return *low;
    uint64_t midpoint = 2 * (uint64_t)units + 1;
    int sign = compare_with_midpoint(decimal, midpoint, unit_exponent - 1);
    return wf_number_make(low->negative, ((wf_u128)midpoint << 64) + (wf_u128)sign, unit_exponent - 65,
                          false);
}

static bool is_infinite(const wf_value *value, const struct wf_number *number) {
    wf_value infinity;
    if (number->kind != WF_NUMBER_FINITE || number->exponent + 128 < wf_type_bias(value->type)) return false;
    struct wf_number infinite = wf_number_infinite(number->negative);
    wf_number_round(&infinite, value->type, &infinity);
    return !memcmp(&infinity.v, &value->v, wf_type_table[value->type].nbytes);
}

static wf_error round_decimal(const struct decimal *decimal, wf_type type, wf_value *value) {
    struct wf_number number = wf_number_zero(decimal->negative);
    wf_u128 width;
    if (decimal->exponent > EXPONENT_MAX && decimal->digits) return WF_ERROR_RANGE;
    if (decimal->exponent >= EXPONENT_MIN && decimal->digits) {
        bound(decimal, &number, &width);
        number = resolve(decimal, &number, width, type);
    }
    wf_number_round(&number, type, value);
    return is_infinite(value, &number) ? WF_ERROR_RANGE : WF_OK;
}

static wf_error parse_float(const char *p, const char *end, wf_type type, void *element) {
    struct decimal decimal;
    struct wf_number number;
    wf_value value;
    p = skip_sign(p, end, &decimal.negative);
    if (scan_decimal(p, end, &decimal)) {
        wf_error error = round_decimal(&decimal, type, &value);
        if (error) return error;
    } else {
        if (is_word(p, end, "inf") || is_word(p, end, "infinity"))
            number = wf_number_infinite(decimal.negative);
        else if (is_word(p, end, "nan"))
            number = wf_number_nan();
        else if (!is_hexadecimal(p, end) || !scan_hexadecimal(p + 2, end, decimal.negative, &number))
            return WF_ERROR_FORMAT;
        wf_number_round(&number, type, &value);
        if (is_infinite(&value, &number)) return WF_ERROR_RANGE;
    }
    memcpy(element, &value.v, wf_type_table[type].nbytes);
    return WF_OK;
}

/* ---- integers ----------------------------------------------------------------------------------- */

static void store_bits(uint64_t bits, wf_type type, void *element) {
    switch (wf_type_table[type].nbytes) {
    case 1: *(uint8_t *)element = (uint8_t)bits; break;
    case 2: memcpy(element, &(uint16_t){(uint16_t)bits}, 2); break;
    case 4: memcpy(element, &(uint32_t){(uint32_t)bits}, 4); break;
    default: memcpy(element, &bits, 8);
    }
}

static bool store_integer(uint64_t magnitude, bool negative, wf_type type, void *element) {
    const struct wf_type_traits *traits = &wf_type_table[type];
    uint64_t largest = UINT64_MAX >> (64 - traits->precision);
    if (negative) largest = traits->kind == WF_KIND_SIGNED ? largest + 1 : 0;
    if (magnitude > largest) return false;
    store_bits(negative ? -magnitude : magnitude, type, element);
    return true;
}

static wf_error parse_integer(const char *p, const char *end, wf_type type, void *element) {
    bool negative, fits = true;
    p = skip_sign(p, end, &negative);
    unsigned base = is_hexadecimal(p, end) ? 16 : 10;
    if (base == 16) p += 2;
    if (p == end) return WF_ERROR_FORMAT;
    uint64_t magnitude = 0;
    for (; p < end; p++) {
        unsigned digit = hex_digit(*p);
        if (digit >= base) return WF_ERROR_FORMAT;
        fits &= !__builtin_mul_overflow(magnitude, base, &magnitude);
        fits &= !__builtin_add_overflow(magnitude, digit, &magnitude);
    }
    return fits && store_integer(magnitude, negative, type, element) ? WF_OK : WF_ERROR_RANGE;
}

wf_error wf_text_parse_number(const char *token, size_t length, wf_type type, void *element) {
    const char *end = token + length;
    return wf_type_is_float(type) ? parse_float(token, end, type, element)
                                  : parse_integer(token, end, type, element);
}

/* ---- the common case ---------------------------------------------------------------------------- */

/* Loads eight bytes with the first one as the lowest. */
static uint64_t load_8(const char *p) {
    uint64_t bytes;
    memcpy(&bytes, p, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    return bytes;
}

/* The value of eight digits 0 to 9, the first in the lowest byte: combines pairs, then fours, then all
 * eight. */
static uint64_t value_of_8(uint64_t digits) {
    const uint64_t two_of_four = UINT64_C(0x000000ff000000ff);
    digits = 10 * digits + (digits >> 8);
    return ((digits & two_of_four) * (100 + (UINT64_C(1000000) << 32)) +
            (digits >> 16 & two_of_four) * (1 + (UINT64_C(10000) << 32))) >>
           32;
}

/* Appends the digits at p to *digits, eight at a time.  Returns their end, or NULL if fewer than eight bytes are
 * left before end. */
static inline __attribute__((always_inline)) const char *scan_digits(const char *p, const char *end,
                                                                     uint64_t *digits) {
    static const uint32_t power_of_10[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    while (end - p >= 8) {
        uint64_t eight = load_8(p) ^ UINT64_C(0x3030303030303030);
        /* Adding 0x76 sets the top bit of bytes above 9.  A carry can only leave such a byte, so the lowest
         * one found is right. */
        uint64_t others = ((eight + UINT64_C(0x7676767676767676)) | eight) & UINT64_C(0x8080808080808080);
        int count = others ? __builtin_ctzll(others) / 8 : 8;
        if (count == 0) return p;
        *digits = *digits * power_of_10[count] + value_of_8(eight << (64 - 8 * count));
        p += count;
        if (count < 8) return p;
    }
    return NULL;
}

/* Where bytes are above 9, their top bits. */
static uint64_t above_9(uint64_t bytes) {
    return (((bytes & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x7676767676767676)) | bytes) & UINT64_C(0x8080808080808080);
}

bool wf_text_parse_short(const char *p, size_t length, const char *end, double *element) {
    static const double powers_of_10[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    const bool negative = length && *p == '-';
    int decimals = 0;
    p += negative;
    length -= negative;
    if (length - 1 >= 8 || end - p < 8) return false;
    uint64_t digits = (load_8(p) ^ UINT64_C(0x3030303030303030)) << (64 - 8 * length); /* in front of it zeros */
    const uint64_t other = above_9(digits);
    if (other) {
        const int place = __builtin_ctzll(other) / 8;
        const uint64_t from_place = ~UINT64_C(0) << 8 * place, whole = digits & ~from_place;
        const bool has_point = (digits >> 8 * place & 0xff) == ('.' ^ '0') && !(other & (other - 1)) && length > 1;
        if (!has_point) return false;
        digits = (digits & from_place << 8) | whole << 8;
        decimals = 7 - place;
    }
    const double magnitude = (double)(int64_t)value_of_8(digits) / powers_of_10[decimals]; /* both exact: rounded once */
    *element = negative ? -magnitude : magnitude;
    return true;
}

/* Scans a short exponent after its letter. */
static const char *scan_small_exponent(const char *p, const char *end, int *exponent) {
    bool negative;
    p = skip_sign(p, end, &negative);
    const char *first = p;
    int magnitude = 0;
    for (; p < end && p - first < 4 && (unsigned)(*p - '0') <= 9; p++)
        magnitude = 10 * magnitude + (*p - '0');
    *exponent += negative ? -magnitude : magnitude;
    return p > first ? p : NULL;
}

/* Like bound, but with 64 bits: *top <= digits * 10^exponent < *top + 12 in units of 2^*unit; the top bit of
 * *top is set. */
static void bound_closely(uint64_t digits, int exponent, uint64_t *top, int *unit) {
    int step = (exponent - POWER_STEP * POWER_FIRST) / POWER_STEP;
    int rest = exponent - POWER_STEP * (step + POWER_FIRST);
    int rest_shift = 63 - (rest * 152170 >> 16),
        digits_shift = __builtin_clzll(digits); /* of log2(5) * 2^16 */
    uint64_t power = (uint64_t)((wf_u128)power_table[step].high * (power_of_5[rest] << rest_shift) >> 64);
    wf_u128 product = (wf_u128)power * (digits << digits_shift);
    int product_shift = __builtin_clzll((uint64_t)(product >> 64)); /* at most 2 */
    *top = (uint64_t)(product << product_shift >> 64);
    *unit = power_table[step].exponent + exponent + 192 - rest_shift - digits_shift - product_shift;
}

/* False if the bounds do not round to the same element, or not to a normal number well inside the range of the float type
 * that has this precision and this many exponent bits. */
static inline __attribute__((always_inline)) bool round_closely(uint64_t digits, int exponent, bool negative, int precision,
                                                                int exponent_bits, uint64_t *element) {
    const int fraction_bits = precision - 1, drop = 64 - precision, bias = (1 << (exponent_bits - 1)) - 1;
    uint64_t bits = 0;
    if (digits) {
        uint64_t top, half = UINT64_C(1) << (drop - 1);
        int unit;
        if (exponent < EXPONENT_MIN || exponent > EXPONENT_MAX) return false;
        bound_closely(digits, exponent, &top, &unit);
        uint64_t rest = top & (2 * half - 1);
        int field = unit + 63 + bias;
        if (half - rest < 12 || field < 1 || field >= 2 * bias) return false;
        bits = ((uint64_t)(field - 1) << fraction_bits) + (top >> drop) + (rest > half);
    }
    *element = bits | (uint64_t)negative << (fraction_bits + exponent_bits);
    return true;
}

static bool store_closely(uint64_t digits, int exponent, bool negative, wf_type type, void *element) {
    const struct wf_type_traits *traits = &wf_type_table[type];
    uint64_t bits;
    if (type == WF_F64) { /* the type of most texts, for which the compiler knows all shifts */
        if (!round_closely(digits, exponent, negative, 53, 11, &bits)) return false;
        memcpy(element, &bits, sizeof bits);
        return true;
    }
    if (!round_closely(digits, exponent, negative, traits->precision, traits->exponent_bits, &bits)) return false;
    store_bits(bits, type, element);
    return true;
}

const char *wf_text_parse_plain(const char *p, const char *end, wf_type type, void *element) {
    uint64_t digits = 0;
    int exponent = 0;
    if (p == end) return NULL;
    bool negative = *p == '-'; /* branch-free: the signs of data are hard to predict */
    p += negative | (*p == '+');
    const char *first = p;
    p = scan_digits(p, end, &digits);
    if (!p) return NULL;
    ptrdiff_t digit_count = p - first;
    if (!wf_type_is_float(type))
        return digit_count > 0 && digit_count <= U64_DIGITS && store_integer(digits, negative, type, element)
                   ? p
                   : NULL;
    if (*p == '.') {
        const char *fraction = p + 1;
        p = scan_digits(fraction, end, &digits);
        if (!p) return NULL;
        exponent = (int)(fraction - p);
        digit_count -= exponent;
    }
    if (digit_count == 0 || digit_count > U64_DIGITS) return NULL;
    if ((*p | 0x20) == 'e' && !(p = scan_small_exponent(p + 1, end, &exponent))) return NULL;
    return store_closely(digits, exponent, negative, type, element) ? p : NULL;
}
