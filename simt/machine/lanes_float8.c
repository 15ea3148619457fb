/* Conversions of pairs of 8-bit floats, e4m3 and e5m2.  A pair is 16 bits; of the operands of f32 the first is the upper
 * one. */
#include <math.h>

#include "lanes_ieee.h"
#include "lanes_loops.h"
#include "lanes_soft.h"

/* To nearest, ties to even; what is too great becomes the greatest, with .relu what is negative 0. */
static inline uint8_t narrow_8(double value, int precision, int bias, uint32_t greatest, unsigned finish) {
    if (value != value) return 0x7f;
    const uint32_t sign = signbit(value) ? 0x80 : 0;
    if (sign && finish & FINISH_RELU) return 0;
    if (isinf(value)) return (uint8_t)(sign | greatest);
    const double magnitude = fabs(value);
    int exponent = magnitude > 0 ? ilogb(magnitude) : 1 - bias;
    if (exponent < 1 - bias) exponent = 1 - bias;
    if (exponent > bias + 2) return (uint8_t)(sign | greatest);
    const uint32_t significand = (uint32_t)rint(scalbn(magnitude, precision - 1 - exponent));
    const uint32_t bits = significand + ((uint32_t)(exponent + bias - 1) << (precision - 1)); /* the hidden bit counts up */
    return (uint8_t)(sign | (bits > greatest ? greatest : bits));
}

static inline uint8_t e4m3_from(double value, unsigned finish) { return narrow_8(value, 4, 7, 0x7e, finish); }
static inline uint8_t e5m2_from(double value, unsigned finish) { return narrow_8(value, 3, 15, 0x7b, finish); }

static inline double e5m2_of(uint8_t bits) { return f16_of((uint16_t)(bits << 8)); }

static inline uint16_t half_of(double value, unsigned finish) {
    return finish & FINISH_RELU && signbit(value) && value == value ? 0 : f16_from(value);
}

#define LOW_HALF(x) f16_of((uint16_t)(x))
#define HIGH_HALF(x) f16_of((uint16_t)((x) >> 16))

/* format, suffix, finish */
#define CONVERSIONS(X)                                                                                       \
    X(e4m3, e4m3, FINISH_NONE)                                                                               \
    X(e4m3, e4m3_relu, FINISH_RELU)                                                                          \
    X(e5m2, e5m2, FINISH_NONE)                                                                               \
    X(e5m2, e5m2_relu, FINISH_RELU)

#define X(format, suffix, finish)                                                                            \
    BINARY(suffix##x2_from_f32, 16, 32, 32,                                                                  \
           format##_from(f32_of(a), finish) << 8 | format##_from(f32_of(b), finish))                         \
    UNARY(suffix##x2_from_f16x2, 16, 32,                                                                     \
          format##_from(HIGH_HALF(a), finish) << 8 | format##_from(LOW_HALF(a), finish))                     \
    UNARY(f16x2_from_##suffix##x2, 32, 16,                                                                   \
          (uint32_t)half_of(format##_of((uint8_t)(a >> 8)), finish) << 16 |                                  \
              half_of(format##_of((uint8_t)a), finish))
CONVERSIONS(X)
#undef X

#define TO(set, suffix)                                                                                      \
    ROW("cvt", WITH(RN) | WITH(SATFINITE) | set, (F32), suffix##x2_from_f32, B16, F32, F32),                 \
    ROW("cvt", WITH(RN) | WITH(SATFINITE) | set, (F16X2), suffix##x2_from_f16x2, B16, F16X2),                \
    ROW("cvt", WITH(RN) | set, (F16X2), f16x2_from_##suffix##x2, F16X2, B16)

static const struct lane_row rows[] = {
    TO(WITH(E4M3X2), e4m3), TO(WITH(E4M3X2) | WITH(RELU), e4m3_relu),
    TO(WITH(E5M2X2), e5m2), TO(WITH(E5M2X2) | WITH(RELU), e5m2_relu)};

const struct lane_table simt_float8_tables[] = {TABLE(rows), {NULL, 0}};
