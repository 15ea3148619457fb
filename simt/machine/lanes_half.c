/* Arithmetic of f16 and bf16, alone and in pairs: f16x2, bf16x2.  Values are computed in f64, where sums and
 * products of numbers this narrow are exact or rounded to odd, and rounded to the format once. */
#include <math.h>

#include "lanes_ieee.h"
#include "lanes_loops.h"
#include "lanes_soft.h"

/* ---- operations of one number */

static inline uint16_t finish_half(uint16_t bits, unsigned finish, uint16_t infinity, uint16_t one) {
    bool is_nan = (bits & 0x7fff) > infinity, is_negative = bits >> 15;
    if (finish & FINISH_SAT && (is_nan || is_negative)) return 0;
    if (finish & FINISH_SAT && bits > one) return one;
    if (finish & FINISH_RELU && is_negative && !is_nan) return 0;
    return bits;
}

static inline uint16_t source_f16(uint16_t bits, unsigned finish) {
    return finish & FINISH_FLUSH ? flush_f16(bits) : bits;
}

static inline double wide_f16(uint16_t bits, unsigned finish) {
    return f16_of(source_f16(bits, finish));
}

/* Like narrow_f32 of lanes_float.c, flushes values that do not round up to the least normal number. */
static inline uint16_t finish_f16(double value, unsigned finish) {
    if (finish & FINISH_FLUSH && fabs(value) < 0x1p-14 - 0x1p-26) value = copysign(0, value);
    return finish_half(f16_from(value), finish, 0x7c00, 0x3c00);
}

static inline uint16_t finish_bf16(double value, unsigned finish) {
    return finish_half(bf16_from(value), finish, 0x7f80, 0x3f80);
}

static inline uint16_t extremum_f16(uint16_t a, uint16_t b, bool is_greater, unsigned finish, bool nan_wins) {
    return extremum_half(source_f16(a, finish), source_f16(b, finish), 0x7c00, nan_wins, is_greater);
}

/* .xorsign.abs: of the magnitudes, with the product's sign; NaN has none. */
static inline uint16_t xor_sign(uint16_t a, uint16_t b, uint16_t magnitude, uint16_t infinity) {
    return magnitude > infinity ? magnitude : magnitude | ((a ^ b) & 0x8000);
}

/* ---- each for one number and for two */

#define LOW(x) (uint16_t)(x)
#define HIGH(x) (uint16_t)((x) >> 16)
#define HALVES_1(name, value)                                                                                \
    UNARY(name, 16, 16, value)                                                                               \
    UNARY(name##x2, 32, 32, (uint32_t)name(HIGH(a)) << 16 | name(LOW(a)))
#define HALVES_2(name, value)                                                                                \
    BINARY(name, 16, 16, 16, value)                                                                          \
    BINARY(name##x2, 32, 32, 32, (uint32_t)name(HIGH(a), HIGH(b)) << 16 | name(LOW(a), LOW(b)))
#define HALVES_3(name, value)                                                                                \
    TERNARY(name, 16, 16, 16, 16, value)                                                                     \
    TERNARY(name##x2, 32, 32, 32, 32,                                                                        \
            (uint32_t)name(HIGH(a), HIGH(b), HIGH(c)) << 16 | name(LOW(a), LOW(b), LOW(c)))
#define ROWS_1(text, set, name, type) ROW(text, set, (type), name, type, type),                              \
    ROW(text, set, (type##X2), name##x2, type##X2, type##X2)
#define ROWS_2(text, set, name, type) ROW(text, set, (type), name, type, type, type),                        \
    ROW(text, set, (type##X2), name##x2, type##X2, type##X2, type##X2)
#define ROWS_3(text, set, name, type) ROW(text, set, (type), name, type, type, type, type),                  \
    ROW(text, set, (type##X2), name##x2, type##X2, type##X2, type##X2, type##X2)

/* suffix, modifiers, finish */
#define FINISHES(X)                                                                                          \
    X(f16, 0, FINISH_NONE)                                                                                   \
    X(f16_ftz, WITH(FTZ), FINISH_FLUSH)                                                                      \
    X(f16_sat, WITH(SAT), FINISH_SAT)                                                                        \
    X(f16_ftz_sat, WITH(FTZ) | WITH(SAT), FINISH_FLUSH | FINISH_SAT)
#define FINISHES_RELU(X)                                                                                     \
    X(f16_relu, WITH(RELU), FINISH_RELU)                                                                     \
    X(f16_ftz_relu, WITH(FTZ) | WITH(RELU), FINISH_FLUSH | FINISH_RELU)

#define X(suffix, modifiers, finish)                                                                         \
    HALVES_2(add_##suffix, finish_f16(wide_f16(a, finish) + wide_f16(b, finish), finish))                    \
    HALVES_2(sub_##suffix, finish_f16(wide_f16(a, finish) - wide_f16(b, finish), finish))                    \
    HALVES_2(mul_##suffix, finish_f16(wide_f16(a, finish) * wide_f16(b, finish), finish))
FINISHES(X)
#undef X

#define X(suffix, modifiers, finish)                                                                         \
    HALVES_3(fma_##suffix, finish_f16(multiply_add_to_odd(wide_f16(a, finish), wide_f16(b, finish),          \
                                                          wide_f16(c, finish)), finish))
FINISHES(X)
FINISHES_RELU(X)
#undef X

HALVES_2(add_bf16, bf16_from((double)bf16_of(a) + bf16_of(b)))
HALVES_2(sub_bf16, bf16_from((double)bf16_of(a) - bf16_of(b)))
HALVES_2(mul_bf16, bf16_from((double)bf16_of(a) * bf16_of(b)))
HALVES_3(fma_bf16, bf16_from(multiply_add_to_odd(bf16_of(a), bf16_of(b), bf16_of(c))))
HALVES_3(fma_bf16_relu, finish_bf16(multiply_add_to_odd(bf16_of(a), bf16_of(b), bf16_of(c)), FINISH_RELU))

/* The NaN for elements outside a tensor, of either sign: PTX does not tell it; of all 16-bit numbers these two are what an
 * H200 takes for it, in the factors alone, in f16 and bf16. */
static inline bool is_outside(uint16_t bits) { return (bits & 0x7fff) == 0x7ff7; }

#define HALVES_OOB(name) HALVES_3(name##_oob, is_outside(a) || is_outside(b) ? 0 : name(a, b, c))
HALVES_OOB(fma_f16)
HALVES_OOB(fma_f16_relu)
HALVES_OOB(fma_bf16)
HALVES_OOB(fma_bf16_relu)

HALVES_1(neg_f16, is_nan_f16(a) ? 0x7fff : a ^ 0x8000)
HALVES_1(abs_f16, is_nan_f16(a) ? 0x7fff : a & 0x7fff)
HALVES_1(neg_f16_ftz, neg_f16(flush_f16(a)))
HALVES_1(abs_f16_ftz, abs_f16(flush_f16(a)))
HALVES_1(neg_bf16, is_nan_bf16(a) ? 0x7fff : a ^ 0x8000)
HALVES_1(abs_bf16, is_nan_bf16(a) ? 0x7fff : a & 0x7fff)

/* name, is_greater */
#define X(name, is_greater)                                                                                  \
    HALVES_2(name##_f16, extremum_f16(a, b, is_greater, FINISH_NONE, false))                                  \
    HALVES_2(name##_f16_nan, extremum_f16(a, b, is_greater, FINISH_NONE, true))                               \
    HALVES_2(name##_f16_xor, xor_sign(a, b, name##_f16(a & 0x7fff, b & 0x7fff), 0x7c00))                     \
    HALVES_2(name##_f16_nan_xor, is_nan_f16(a) || is_nan_f16(b) ? 0x7fff : name##_f16_xor(a, b))             \
    HALVES_2(name##_f16_ftz, name##_f16(flush_f16(a), flush_f16(b)))                                         \
    HALVES_2(name##_f16_ftz_nan, name##_f16_nan(flush_f16(a), flush_f16(b)))                                 \
    HALVES_2(name##_f16_ftz_xor, name##_f16_xor(flush_f16(a), flush_f16(b)))                                 \
    HALVES_2(name##_f16_ftz_nan_xor, name##_f16_nan_xor(flush_f16(a), flush_f16(b)))                         \
    HALVES_2(name##_bf16, extremum_half(a, b, 0x7f80, false, is_greater))                                     \
    HALVES_2(name##_bf16_nan, extremum_half(a, b, 0x7f80, true, is_greater))                                  \
    HALVES_2(name##_bf16_xor, xor_sign(a, b, name##_bf16(a & 0x7fff, b & 0x7fff), 0x7f80))                   \
    HALVES_2(name##_bf16_nan_xor, is_nan_bf16(a) || is_nan_bf16(b) ? 0x7fff : name##_bf16_xor(a, b))
X(min, false)
X(max, true)
#undef X

#define EXTREMUM_ROWS(name)                                                                                   \
    ROWS_2(#name, 0, name##_f16, F16),                                                                       \
    ROWS_2(#name, WITH(NAN_WINS), name##_f16_nan, F16),                                                      \
    ROWS_2(#name, WITH(XORSIGN) | WITH(ABS), name##_f16_xor, F16),                                           \
    ROWS_2(#name, WITH(NAN_WINS) | WITH(XORSIGN) | WITH(ABS), name##_f16_nan_xor, F16),                      \
    ROWS_2(#name, WITH(FTZ), name##_f16_ftz, F16),                                                           \
    ROWS_2(#name, WITH(FTZ) | WITH(NAN_WINS), name##_f16_ftz_nan, F16),                                      \
    ROWS_2(#name, WITH(FTZ) | WITH(XORSIGN) | WITH(ABS), name##_f16_ftz_xor, F16),                           \
    ROWS_2(#name, WITH(FTZ) | WITH(NAN_WINS) | WITH(XORSIGN) | WITH(ABS), name##_f16_ftz_nan_xor, F16),      \
    ROWS_2(#name, 0, name##_bf16, BF16),                                                                     \
    ROWS_2(#name, WITH(NAN_WINS), name##_bf16_nan, BF16),                                                    \
    ROWS_2(#name, WITH(XORSIGN) | WITH(ABS), name##_bf16_xor, BF16),                                         \
    ROWS_2(#name, WITH(NAN_WINS) | WITH(XORSIGN) | WITH(ABS), name##_bf16_nan_xor, BF16)

static const struct lane_row rows[] = {
#define X(suffix, modifiers, finish)                                                                         \
    ROWS_2("add", modifiers, add_##suffix, F16), ROWS_2("add", modifiers | WITH(RN), add_##suffix, F16),     \
    ROWS_2("sub", modifiers, sub_##suffix, F16), ROWS_2("sub", modifiers | WITH(RN), sub_##suffix, F16),     \
    ROWS_2("mul", modifiers, mul_##suffix, F16), ROWS_2("mul", modifiers | WITH(RN), mul_##suffix, F16),
    FINISHES(X)
#undef X
#define X(suffix, modifiers, finish) ROWS_3("fma", modifiers | WITH(RN), fma_##suffix, F16),
    FINISHES(X)
    FINISHES_RELU(X)
#undef X
    ROWS_2("add", 0, add_bf16, BF16),
    ROWS_2("add", WITH(RN), add_bf16, BF16),
    ROWS_2("sub", 0, sub_bf16, BF16),
    ROWS_2("sub", WITH(RN), sub_bf16, BF16),
    ROWS_2("mul", 0, mul_bf16, BF16),
    ROWS_2("mul", WITH(RN), mul_bf16, BF16),
    ROWS_3("fma", WITH(RN), fma_bf16, BF16),
    ROWS_3("fma", WITH(RN) | WITH(RELU), fma_bf16_relu, BF16),
    ROWS_3("fma", WITH(RN) | WITH(OOB), fma_f16_oob, F16),
    ROWS_3("fma", WITH(RN) | WITH(OOB) | WITH(RELU), fma_f16_relu_oob, F16),
    ROWS_3("fma", WITH(RN) | WITH(OOB), fma_bf16_oob, BF16),
    ROWS_3("fma", WITH(RN) | WITH(OOB) | WITH(RELU), fma_bf16_relu_oob, BF16),
    ROWS_1("neg", 0, neg_f16, F16),
    ROWS_1("neg", 0, neg_bf16, BF16),
    ROWS_1("neg", WITH(FTZ), neg_f16_ftz, F16),
    ROWS_1("abs", 0, abs_f16, F16),
    ROWS_1("abs", 0, abs_bf16, BF16),
    ROWS_1("abs", WITH(FTZ), abs_f16_ftz, F16),
    EXTREMUM_ROWS(min),
    EXTREMUM_ROWS(max),
};

/* ---- approximate: accurate here */

HALVES_1(ex2_f16, f16_from(exp2(f16_of(a))))
HALVES_1(ex2_f16_ftz, flush_f16(f16_from(exp2(f16_of(flush_f16(a))))))
HALVES_1(ex2_bf16, flush_bf16(bf16_from(exp2(bf16_of(flush_bf16(a))))))
HALVES_1(tanh_f16, f16_from(tanh(f16_of(a))))
HALVES_1(tanh_bf16, bf16_from(tanh(bf16_of(a))))

#define APPROXIMATE(text, set, name, type)                                                                   \
    {.base = text, .modifiers = set, TYPES(type), .flags = ROW_APPROXIMATE, .destinations = 1,               \
     OPERANDS(type, type), .function = lanes_##name},                                                        \
    {.base = text, .modifiers = set, TYPES(type##X2), .flags = ROW_APPROXIMATE, .destinations = 1,           \
     OPERANDS(type##X2, type##X2), .function = lanes_##name##x2}

static const struct lane_row approximate_rows[] = {
    APPROXIMATE("ex2", WITH(APPROX), ex2_f16, F16),
    APPROXIMATE("ex2", WITH(APPROX) | WITH(FTZ), ex2_f16_ftz, F16),
    APPROXIMATE("ex2", WITH(APPROX) | WITH(FTZ), ex2_bf16, BF16),
    APPROXIMATE("tanh", WITH(APPROX), tanh_f16, F16),
    APPROXIMATE("tanh", WITH(APPROX), tanh_bf16, BF16),
};

/* ---- packing: a is the upper half, b the lower */

static uint32_t narrow_f32(uint32_t bits, const struct format *format, enum rounding rounding,
                           unsigned finish) {
    return (uint32_t)simt_number_pack(simt_number_unpack(bits, &simt_f32), format, rounding, finish);
}

static inline uint32_t pack(uint32_t a, uint32_t b, const struct format *format, enum rounding rounding,
                            unsigned finish) {
    return narrow_f32(a, format, rounding, finish) << 16 | narrow_f32(b, format, rounding, finish);
}

static inline uint32_t clamp(uint32_t value, int32_t minimum, int32_t maximum, uint32_t mask) {
    int32_t number = (int32_t)value;
    return (uint32_t)(number < minimum ? minimum : number > maximum ? maximum : number) & mask;
}

/* suffix, modifiers, rounding, finish */
#define PACKS(X)                                                                                             \
    X(rn, WITH(RN), ROUND_NEAREST, FINISH_NONE)                                                              \
    X(rz, WITH(RZ), ROUND_ZERO, FINISH_NONE)                                                                 \
    X(rn_relu, WITH(RN) | WITH(RELU), ROUND_NEAREST, FINISH_RELU)                                            \
    X(rz_relu, WITH(RZ) | WITH(RELU), ROUND_ZERO, FINISH_RELU)                                               \
    X(rn_satfinite, WITH(RN) | WITH(SATFINITE), ROUND_NEAREST, FINISH_SATFINITE)                             \
    X(rz_satfinite, WITH(RZ) | WITH(SATFINITE), ROUND_ZERO, FINISH_SATFINITE)                                \
    X(rn_relu_satfinite, WITH(RN) | WITH(RELU) | WITH(SATFINITE), ROUND_NEAREST,                             \
      FINISH_RELU | FINISH_SATFINITE)                                                                        \
    X(rz_relu_satfinite, WITH(RZ) | WITH(RELU) | WITH(SATFINITE), ROUND_ZERO,                                \
      FINISH_RELU | FINISH_SATFINITE)

#define X(suffix, modifiers, rounding, finish)                                                               \
    BINARY(pack_f16x2_##suffix, 32, 32, 32, pack(a, b, &simt_f16, rounding, finish))                         \
    BINARY(pack_bf16x2_##suffix, 32, 32, 32, pack(a, b, &simt_bf16, rounding, finish))
PACKS(X)
#undef X

BINARY(pack_u16, 32, 32, 32, clamp(a, 0, UINT16_MAX, 0xffff) << 16 | clamp(b, 0, UINT16_MAX, 0xffff))
BINARY(pack_s16, 32, 32, 32,
       clamp(a, INT16_MIN, INT16_MAX, 0xffff) << 16 | clamp(b, INT16_MIN, INT16_MAX, 0xffff))
/* What was there, c, moves up by the two that come. */
static inline uint32_t pack_below(uint32_t c, uint32_t a, uint32_t b, uint32_t bits, bool is_signed) {
    const uint32_t mask = (UINT32_C(1) << bits) - 1;
    const int32_t most = (int32_t)(is_signed ? mask >> 1 : mask), least = is_signed ? -most - 1 : 0;
    return c << 2 * bits | clamp(a, least, most, mask) << bits | clamp(b, least, most, mask);
}

TERNARY(pack_u8, 32, 32, 32, 32, pack_below(c, a, b, 8, false))
TERNARY(pack_s8, 32, 32, 32, 32, pack_below(c, a, b, 8, true))
TERNARY(pack_u4, 32, 32, 32, 32, pack_below(c, a, b, 4, false))
TERNARY(pack_s4, 32, 32, 32, 32, pack_below(c, a, b, 4, true))
TERNARY(pack_u2, 32, 32, 32, 32, pack_below(c, a, b, 2, false))
TERNARY(pack_s2, 32, 32, 32, 32, pack_below(c, a, b, 2, true))

static const struct lane_row pack_rows[] = {
#define X(suffix, modifiers, rounding, finish)                                                               \
    ROW("cvt", modifiers, (F16X2, F32), pack_f16x2_##suffix, F16X2, F32, F32),                               \
    ROW("cvt", modifiers, (BF16X2, F32), pack_bf16x2_##suffix, BF16X2, F32, F32),
    PACKS(X)
#undef X
    ROW("cvt", WITH(PACK) | WITH(SAT), (U16, S32), pack_u16, B32, S32, S32),
    ROW("cvt", WITH(PACK) | WITH(SAT), (S16, S32), pack_s16, B32, S32, S32),
    ROW("cvt", WITH(PACK) | WITH(SAT), (U8, S32, B32), pack_u8, B32, S32, S32, B32),
    ROW("cvt", WITH(PACK) | WITH(SAT), (S8, S32, B32), pack_s8, B32, S32, S32, B32),
    ROW("cvt", WITH(PACK) | WITH(SAT) | WITH(U4), (S32, B32), pack_u4, B32, S32, S32, B32),
    ROW("cvt", WITH(PACK) | WITH(SAT) | WITH(S4), (S32, B32), pack_s4, B32, S32, S32, B32),
    ROW("cvt", WITH(PACK) | WITH(SAT) | WITH(U2), (S32, B32), pack_u2, B32, S32, S32, B32),
    ROW("cvt", WITH(PACK) | WITH(SAT) | WITH(S2), (S32, B32), pack_s2, B32, S32, S32, B32),
};

const struct lane_table simt_half_tables[] = {
    TABLE(rows), TABLE(approximate_rows), TABLE(pack_rows), {NULL, 0}};
