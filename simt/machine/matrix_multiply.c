/* d = a * b + c of small matrices.
 *
 * PTX leaves the order of the additions and their rounding to the hardware.  Here every element is the exact value of
 * all its products and its addend, rounded once to nearest, ties to even; of f64, a chain of fused multiplications
 * and additions from the addend on, in order of k.  Integers are exact, modulo 2^32 or clamped. */
#include <math.h>

#include "lanes_ieee.h"
#include "lanes_soft.h"
#include "matrix.h"

enum { TERMS_MAX = 33 }; /* the products of an element of floats that are not f64, and its addend */

static double e4m3_of(uint8_t bits) {
    const uint32_t magnitude = bits & 0x7f, exponent = magnitude >> 3, fraction = magnitude & 7;
    if (magnitude == 0x7f) return NAN;
    const double value = exponent ? ldexp(8 + fraction, (int)exponent - 10) : ldexp(fraction, -9);
    return bits >> 7 ? -value : value;
}

static double value_of(uint64_t bits, enum matrix_element element) {
    switch (element) {
    case ELEMENT_F16: return (double)f16_of((uint16_t)bits);
    case ELEMENT_BF16: return (double)bf16_of((uint16_t)bits);
    case ELEMENT_E4M3: return e4m3_of((uint8_t)bits);
    case ELEMENT_E5M2: return (double)f16_of((uint16_t)(bits << 8));
    case ELEMENT_TF32: return (double)f32_of((uint32_t)bits & 0xffffe000); /* the rest is not read */
    default: return (double)f32_of((uint32_t)bits);
    }
}

/* ---- exact sums: a fixed-point number, wide enough for every product of two numbers of tf32 */

enum { LOWEST = -320, DIGITS = 24 }; /* of 32 bits, in words that can hold carries; the last has the sign */

static void add_exactly(int64_t digits[DIGITS], double term) {
    int exponent;
    if (term == 0) return;
    int64_t significand = (int64_t)ldexp(frexp(term, &exponent), 53);
    const int position = exponent - 53 - LOWEST;
    const __int128 shifted = (__int128)((unsigned __int128)significand << (position % 32));
    for (int d = 0; d < 2; d++) digits[position / 32 + d] += (int64_t)(uint32_t)(shifted >> (32 * d));
    digits[position / 32 + 2] += (int64_t)(shifted >> 64);
}

/* Carries, and the sign. */
static bool normalise(int64_t digits[DIGITS]) {
    for (int d = 0; d + 1 < DIGITS; d++) {
        digits[d + 1] += digits[d] >> 32;
        digits[d] &= 0xffffffff;
    }
    if (digits[DIGITS - 1] >= 0) return false;
    for (int d = 0; d < DIGITS; d++) digits[d] = -digits[d];
    normalise(digits);
    return true;
}

static struct number number_of(int64_t digits[DIGITS]) {
    struct number number = {.class = NUMBER_FINITE, .is_negative = normalise(digits)};
    int top = DIGITS - 1;
    bool has_rest = false;
    while (top >= 0 && !digits[top]) top--;
    if (top < 0) return (struct number){.class = NUMBER_ZERO};
    for (int d = top; d > top - 4; d--) number.significand = number.significand << 32 | (uint32_t)(d < 0 ? 0 : digits[d]);
    for (int d = top - 4; d >= 0; d--) has_rest |= digits[d] != 0;
    number.exponent = LOWEST + 32 * top + 31;
    while (!(number.significand >> 127)) {
        number.significand <<= 1;
        number.exponent--;
    }
    number.significand |= has_rest;
    return number;
}

static uint64_t round_exactly(const double *terms, uint32_t count, const struct format *format) {
    int64_t digits[DIGITS] = {0};
    for (uint32_t t = 0; t < count; t++) add_exactly(digits, terms[t]);
    return simt_number_pack(number_of(digits), format, ROUND_NEAREST, FINISH_NONE);
}

/* Most sums of so few products are exact in double precision. */
static uint64_t round_sum(const double *terms, uint32_t count, enum matrix_element element) {
    double sum = terms[0];
    bool is_exact = true;
    for (uint32_t t = 1; t < count; t++) {
        const double before = sum;
        sum += terms[t];
        const double added = sum - before, error = (before - (sum - added)) + (terms[t] - added);
        is_exact &= !(error < 0 || error > 0);
    }
    const bool is_half = element == ELEMENT_F16;
    if (!is_exact && isfinite(sum)) return round_exactly(terms, count, is_half ? &simt_f16 : &simt_f32);
    if (is_half) return f16_from(sum);
    return sum != sum ? 0x7fffffff : bits_of_f32((float)sum);
}

/* ---- one element */

struct product {
    const struct matrix_shape *shape;
    const uint64_t *a, *b; /* a row and a column */
    uint32_t depth, b_stride;
};

static uint64_t sum_floats(const struct product *product, uint64_t c) {
    const struct fragment *fragments = product->shape->fragments;
    double terms[TERMS_MAX];
    for (uint32_t k = 0; k < product->depth; k++)
        terms[k] = value_of(product->a[k], fragments[MATRIX_A].element) *
                   value_of(product->b[k * product->b_stride], fragments[MATRIX_B].element);
    terms[product->depth] = value_of(c, fragments[MATRIX_C].element);
    return round_sum(terms, product->depth + 1, fragments[MATRIX_D].element);
}

static uint64_t sum_doubles(const struct product *product, uint64_t c) {
    double sum = f64_of(c);
    for (uint32_t k = 0; k < product->depth; k++)
        sum = fma(f64_of(product->a[k]), f64_of(product->b[k * product->b_stride]), sum);
    return sum != sum ? simt_default_nan_f64 : bits_of_f64(sum);
}

static int64_t integer_of(uint64_t bits, enum matrix_element element) {
    return element == ELEMENT_S8 ? (int8_t)bits : (uint8_t)bits;
}

static uint64_t sum_integers(const struct product *product, uint64_t c) {
    const struct fragment *fragments = product->shape->fragments;
    int64_t sum = (int32_t)c;
    for (uint32_t k = 0; k < product->depth; k++)
        sum += integer_of(product->a[k], fragments[MATRIX_A].element) *
               integer_of(product->b[k * product->b_stride], fragments[MATRIX_B].element);
    if (product->shape->saturates) sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
    return (uint32_t)sum;
}

void simt_matrix_multiply(const struct matrix_shape *shape, uint64_t *d, const uint64_t *a, const uint64_t *b,
                          const uint64_t *c) {
    const struct fragment *fragments = shape->fragments;
    const uint32_t rows = fragments[MATRIX_D].rows, columns = fragments[MATRIX_D].columns;
    const enum matrix_element sum = fragments[MATRIX_D].element;
    struct product product = {.shape = shape, .depth = fragments[MATRIX_A].columns, .b_stride = columns};
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++) {
            const uint32_t at = row * columns + column;
            product.a = a + row * product.depth;
            product.b = b + column;
            d[at] = sum == ELEMENT_S32   ? sum_integers(&product, c[at])
                    : sum == ELEMENT_F64 ? sum_doubles(&product, c[at])
                                         : sum_floats(&product, c[at]);
        }
}
