/* d = a * b + c of small matrices.
 *
 * PTX leaves the order of the additions and their rounding to the hardware.  Floats that are not f64 are summed as an H200
 * sums them: all products of an element and its addend at once, cut off where the greatest of them ends; f64 is a chain of fused
 * multiplications and additions from the addend on, in order of k.  Integers are exact, modulo 2^32 or clamped. */
#include <math.h>
#include <string.h>

#include "lanes_ieee.h"
#include "lanes_soft.h"
#include "matrix.h"

enum {
    TERMS_MAX = 33, /* the products of an element of floats that are not f64, and its addend */
    EXPONENT_LEAST = -400
};

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

/* ---- sums: fixed-point numbers that end below the greatest exponent */

/* By the size of the factors: the bits of a term after that of the greatest exponent, and those of a sum of f32. */
struct precision {
    int aligned_bits, sum_bits;
};
static const struct precision plain = {25, 24}, of_bytes = {13, 14};

struct terms {
    double values[TERMS_MAX];
    uint32_t count;
    int exponent; /* the greatest: of a product, the sum of its factors' exponents */
};

/* The exponent of a number other than 0; subnormal numbers have the least exponent of their format. */
static int exponent_of(double value, enum matrix_element element) {
    static const int least[] = {[ELEMENT_F16] = -14,  [ELEMENT_BF16] = -126, [ELEMENT_E4M3] = -6,
                                [ELEMENT_E5M2] = -14, [ELEMENT_TF32] = -126, [ELEMENT_F32] = -126};
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    return exponent < least[element] ? least[element] : exponent;
}

static void add_term(struct terms *terms, double value, int exponent) {
    terms->values[terms->count++] = value;
    if (value != 0 && exponent > terms->exponent) terms->exponent = exponent;
}

/* Truncates to that many bits, or fewer near 2^-149, where f32 ends. */
static float cut_f32(double sum, int bits) {
    int exponent;
    const double fraction = frexp(sum, &exponent);
    if (bits > exponent + 149) bits = exponent + 149;
    return bits > 0 ? (float)ldexp(trunc(ldexp(fraction, bits)), exponent - bits) : 0;
}

/* Each term is cut off towards zero, their sum is exact. */
static uint64_t round_terms(const struct terms *terms, const struct precision *precision, enum matrix_element element) {
    const double scale = ldexp(1, precision->aligned_bits - terms->exponent);
    double special = -0.0, sum = -0.0; /* of zeros with that sign */
    for (uint32_t t = 0; t < terms->count; t++) {
        special += terms->values[t];
        sum += trunc(terms->values[t] * scale);
    }
    sum = isfinite(special) ? sum / scale : special;
    if (element == ELEMENT_F16) return f16_from(sum);
    if (sum != sum) return 0x7fffffff;
    return bits_of_f32(isfinite(sum) ? cut_f32(sum, precision->sum_bits) : (float)sum);
}

/* ---- one element */

struct product {
    const struct matrix_shape *shape;
    const uint64_t *a, *b; /* a row and a column */
    const uint8_t *by_a;   /* NULL: the element of b is that of the same number */
    uint32_t depth, b_stride;
};

static uint64_t b_of(const struct product *product, uint32_t k) {
    return product->b[(product->by_a ? product->by_a[k] : k) * product->b_stride];
}

/* Which elements of four neighbours along k, one bit each. */
enum members { MEMBERS_ALL = 15, MEMBERS_LOW = 3, MEMBERS_HIGH = 12 };

static uint64_t sum_members(const struct product *product, enum members members, uint64_t c) {
    const struct fragment *fragments = product->shape->fragments;
    const bool are_widened = product->shape->is_by_halves;
    const enum matrix_element of_a = fragments[MATRIX_A].element, of_b = fragments[MATRIX_B].element;
    const enum matrix_element as_a = are_widened ? ELEMENT_F16 : of_a, as_b = are_widened ? ELEMENT_F16 : of_b;
    const double addend = value_of(c, fragments[MATRIX_C].element);
    struct terms terms = {.exponent = EXPONENT_LEAST};
    for (uint32_t k = 0; k < product->depth; k++) {
        if (!(members >> k % 4 & 1)) continue;
        const double a = value_of(product->a[k], of_a), b = value_of(b_of(product, k), of_b);
        add_term(&terms, a * b, exponent_of(a, as_a) + exponent_of(b, as_b));
    }
    add_term(&terms, addend, exponent_of(addend, fragments[MATRIX_C].element));
    return round_terms(&terms, simt_element_bits(as_a) == 8 ? &of_bytes : &plain, fragments[MATRIX_D].element);
}

static uint64_t add_rounded(uint64_t a, uint64_t b, enum matrix_element element) {
    if (element == ELEMENT_F16) return f16_from((double)f16_of((uint16_t)a) + (double)f16_of((uint16_t)b));
    const float sum = f32_of((uint32_t)a) + f32_of((uint32_t)b);
    return sum != sum ? 0x7fffffff : bits_of_f32(sum);
}

/* Hopper has no mma.sync of 8-bit floats: ptxas converts them to f16 and multiplies the lower halves of all registers, then
 * the upper ones, from zero on; an addition of its own, rounded to nearest, adds c. */
static uint64_t sum_floats(const struct product *product, uint64_t c) {
    if (!product->shape->is_by_halves) return sum_members(product, MEMBERS_ALL, c);
    const uint64_t low = sum_members(product, MEMBERS_LOW, 0), both = sum_members(product, MEMBERS_HIGH, low);
    return add_rounded(c, both, product->shape->fragments[MATRIX_D].element);
}

/* Fused multiplications and additions of f32, from `sum` on. */
static float fuse(const struct product *product, uint32_t first, uint32_t last, float sum) {
    for (uint32_t k = first; k <= last; k++)
        sum = fmaf((float)value_of(product->a[k], ELEMENT_F16), (float)value_of(b_of(product, k), ELEMENT_F16), sum);
    return sum;
}

/* No chip after Turing multiplies 8x8x4: ptxas has the processors do it.  Of f16, c and two halves are added up. */
static uint64_t sum_quad(const struct product *product, uint64_t c) {
    const float addend = (float)value_of(c, product->shape->fragments[MATRIX_C].element);
    if (product->shape->fragments[MATRIX_D].element == ELEMENT_F16)
        return f16_from((double)(addend + fuse(product, 0, 1, -0.0f) + fuse(product, 2, 3, -0.0f)));
    const float sum = addend + fuse(product, 0, 3, 0);
    return sum != sum ? 0x7fffffff : bits_of_f32(sum);
}

static uint64_t sum_doubles(const struct product *product, uint64_t c) {
    double sum = f64_of(c);
    for (uint32_t k = 0; k < product->depth; k++)
        sum = fma(f64_of(product->a[k]), f64_of(b_of(product, k)), sum);
    return sum != sum ? simt_default_nan_f64 : bits_of_f64(sum);
}

static int64_t integer_of(uint64_t bits, enum matrix_element element) {
    const bool is_signed = element == ELEMENT_S8 || element == ELEMENT_S4;
    const uint32_t up = 64 - simt_element_bits(element);
    return is_signed ? (int64_t)(bits << up) >> up : (int64_t)bits;
}

/* Single bits are not multiplied, but compared. */
static int64_t multiply_integers(const struct product *product, uint32_t k) {
    const struct fragment *fragments = product->shape->fragments;
    const uint64_t a = product->a[k], b = b_of(product, k);
    if (product->shape->is_of_differences) return (int64_t)(a ^ b);
    return integer_of(a, fragments[MATRIX_A].element) * integer_of(b, fragments[MATRIX_B].element);
}

static uint64_t sum_integers(const struct product *product, uint64_t c) {
    int64_t sum = (int32_t)c;
    for (uint32_t k = 0; k < product->depth; k++) sum += multiply_integers(product, k);
    if (product->shape->saturates) sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
    return (uint32_t)sum;
}

void simt_matrix_multiply(const struct matrix_shape *shape, uint64_t *d, const uint64_t *a, const uint64_t *b,
                          const uint64_t *c, const uint8_t *by_a) {
    const struct fragment *fragments = shape->fragments;
    const uint32_t rows = fragments[MATRIX_D].rows, columns = fragments[MATRIX_D].columns;
    const enum matrix_element sum = fragments[MATRIX_D].element;
    const uint32_t rows_of_one = shape->is_of_quads ? rows / QUADS : rows; /* each product has its own b */
    struct product product = {.shape = shape, .depth = fragments[MATRIX_A].columns, .b_stride = columns};
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++) {
            const uint32_t at = row * columns + column;
            product.a = a + row * product.depth;
            product.b = b + row / rows_of_one * product.depth * columns + column;
            product.by_a = by_a ? by_a + row * product.depth : NULL;
            d[at] = shape->is_of_quads   ? sum_quad(&product, c[at])
                    : sum == ELEMENT_S32 ? sum_integers(&product, c[at])
                    : sum == ELEMENT_F64 ? sum_doubles(&product, c[at])
                                         : sum_floats(&product, c[at]);
        }
}
