/* Arithmetic of f32 and f64.  Where PTX leaves it open which NaN a result is, it is what GPUs give: of f32
 * always the same one; of f64 that of an operand, made quiet. */
#include <math.h>

#include "lanes_ieee.h"
#include "lanes_loops.h"
#include "lanes_soft.h"

/* ---- finishing, and the arithmetic that the host has no instructions for */

static inline uint32_t finish_f32(float value, unsigned finish) {
    if (finish & FINISH_SAT) value = value > 0 ? (value < 1 ? value : 1) : 0;
    return value != value ? 0x7fffffff : bits_of_f32(value);
}

/* From f64, exact enough to tell what is flushed: a result that would be below the least normal number even when it
 * is rounded to 24 bits as if its exponent had no end.  An H200 decides so, to the bit: what rounds up to 2^-126 is
 * kept, and half of an f32's last place below it does (a tie to even). */
static inline uint32_t narrow_f32(double value, unsigned finish) {
    const double least = 0x1p-126 - 0x1p-151;
    double flushed = finish & FINISH_FLUSH && fabs(value) < least ? copysign(0, value) : value;
    return finish_f32((float)flushed, finish);
}

/* The result, or if it is NaN that of its operands which comes first. */
static inline uint64_t finish_f64(double result, double first, double second, double third) {
    uint64_t nan = third != third ? bits_of_f64(third) : simt_default_nan_f64;
    if (second != second) nan = bits_of_f64(second);
    if (first != first) nan = bits_of_f64(first);
    return result != result ? quiet_f64(nan) : bits_of_f64(result);
}

static inline uint32_t source_f32(uint32_t bits, unsigned finish) {
    return finish & FINISH_FLUSH ? flush_f32(bits) : bits;
}

static struct number unpack_f32(uint32_t bits, unsigned finish) {
    return simt_number_unpack(source_f32(bits, finish), &simt_f32);
}

enum arithmetic {
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    SQUARE_ROOT,
    MULTIPLY_ADD
};

static struct number compute(enum arithmetic operation, struct number a, struct number b, struct number c,
                             enum rounding rounding) {
    switch (operation) {
    case ADD: return simt_number_add(a, b, rounding);
    case SUBTRACT: return simt_number_add(a, simt_number_negate(b), rounding);
    case MULTIPLY: return simt_number_multiply(a, b);
    case DIVIDE: return simt_number_divide(a, b);
    case SQUARE_ROOT: return simt_number_square_root(a);
    case MULTIPLY_ADD: return simt_number_add(simt_number_multiply(a, b), c, rounding);
    }
    return a;
}

static uint32_t soft_f32(enum arithmetic operation, uint32_t a, uint32_t b, uint32_t c,
                         enum rounding rounding, unsigned finish) {
    struct number result =
        compute(operation, unpack_f32(a, finish), unpack_f32(b, finish), unpack_f32(c, finish), rounding);
    return (uint32_t)simt_number_pack(result, &simt_f32, rounding, finish);
}

static double soft_f64(enum arithmetic operation, uint64_t a, uint64_t b, uint64_t c,
                       enum rounding rounding) {
    struct number result =
        compute(operation, simt_number_unpack(a, &simt_f64), simt_number_unpack(b, &simt_f64),
                simt_number_unpack(c, &simt_f64), rounding);
    return f64_of(simt_number_pack(result, &simt_f64, rounding, FINISH_NONE));
}

/* To nearest, which the host can.  Multiplying and adding in one is worth a way of its own, as it is for a
 * host without the instruction. */
static inline uint32_t nearest_f32(enum arithmetic operation, uint32_t a, uint32_t b, uint32_t c,
                                   unsigned finish) {
    float x = f32_of(source_f32(a, finish)), y = f32_of(source_f32(b, finish)),
          z = f32_of(source_f32(c, finish));
    switch (operation) {
    case ADD: return source_f32(finish_f32(x + y, finish), finish);
    case SUBTRACT: return source_f32(finish_f32(x - y, finish), finish);
    case MULTIPLY:
        return finish & FINISH_FLUSH ? narrow_f32((double)x * y, finish) : finish_f32(x * y, finish);
    case DIVIDE:
        return finish & FINISH_FLUSH ? narrow_f32((double)x / y, finish) : finish_f32(x / y, finish);
    case SQUARE_ROOT: return finish_f32(sqrtf(x), finish);
    case MULTIPLY_ADD: return narrow_f32(multiply_add_to_odd(x, y, z), finish);
    }
    return 0;
}

static inline double nearest_f64(enum arithmetic operation, double a, double b, double c) {
    switch (operation) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case DIVIDE: return a / b;
    case SQUARE_ROOT: return sqrt(a);
    case MULTIPLY_ADD: return fma(a, b, c);
    }
    return 0;
}

static inline uint32_t arithmetic_f32(enum arithmetic operation, uint32_t a, uint32_t b, uint32_t c,
                                      enum rounding rounding, unsigned finish) {
    return rounding == ROUND_NEAREST ? nearest_f32(operation, a, b, c, finish)
                                     : soft_f32(operation, a, b, c, rounding, finish);
}

static inline uint64_t arithmetic_f64(enum arithmetic operation, uint64_t a, uint64_t b, uint64_t c,
                                      enum rounding rounding) {
    double x = f64_of(a), y = f64_of(b), z = f64_of(c);
    double result =
        rounding == ROUND_NEAREST ? nearest_f64(operation, x, y, z) : soft_f64(operation, a, b, c, rounding);
    return operation == DIVIDE ? finish_f64(result, x, y, z) : finish_f64(result, y, z, x);
}

/* ---- every rounding: suffix, modifiers, rounding, finish */

#define ROUNDINGS(X)                                                                                         \
    X(rn, WITH(RN), ROUND_NEAREST, FINISH_NONE)                                                              \
    X(rz, WITH(RZ), ROUND_ZERO, FINISH_NONE)                                                                 \
    X(rm, WITH(RM), ROUND_DOWN, FINISH_NONE)                                                                 \
    X(rp, WITH(RP), ROUND_UP, FINISH_NONE)

#define FLUSHED_ROUNDINGS(X)                                                                                 \
    X(rn_ftz, WITH(RN) | WITH(FTZ), ROUND_NEAREST, FINISH_FLUSH)                                             \
    X(rz_ftz, WITH(RZ) | WITH(FTZ), ROUND_ZERO, FINISH_FLUSH)                                                \
    X(rm_ftz, WITH(RM) | WITH(FTZ), ROUND_DOWN, FINISH_FLUSH)                                                \
    X(rp_ftz, WITH(RP) | WITH(FTZ), ROUND_UP, FINISH_FLUSH)

#define SATURATED_ROUNDINGS(X)                                                                               \
    X(rn_sat, WITH(RN) | WITH(SAT), ROUND_NEAREST, FINISH_SAT)                                               \
    X(rz_sat, WITH(RZ) | WITH(SAT), ROUND_ZERO, FINISH_SAT)                                                  \
    X(rm_sat, WITH(RM) | WITH(SAT), ROUND_DOWN, FINISH_SAT)                                                  \
    X(rp_sat, WITH(RP) | WITH(SAT), ROUND_UP, FINISH_SAT)                                                    \
    X(rn_ftz_sat, WITH(RN) | WITH(FTZ) | WITH(SAT), ROUND_NEAREST, FINISH_FLUSH | FINISH_SAT)                \
    X(rz_ftz_sat, WITH(RZ) | WITH(FTZ) | WITH(SAT), ROUND_ZERO, FINISH_FLUSH | FINISH_SAT)                   \
    X(rm_ftz_sat, WITH(RM) | WITH(FTZ) | WITH(SAT), ROUND_DOWN, FINISH_FLUSH | FINISH_SAT)                   \
    X(rp_ftz_sat, WITH(RP) | WITH(FTZ) | WITH(SAT), ROUND_UP, FINISH_FLUSH | FINISH_SAT)

/* Without a rounding add, sub and mul round to nearest: suffix, modifiers */
#define ROUNDING_DEFAULT(X) X(rn, 0)
#define ROUNDING_DEFAULTS(X)                                                                                 \
    X(rn, 0)                                                                                                 \
    X(rn_ftz, WITH(FTZ))                                                                                     \
    X(rn_sat, WITH(SAT))                                                                                     \
    X(rn_ftz_sat, WITH(FTZ) | WITH(SAT))

#define X(suffix, modifiers, rounding, finish)                                                               \
    BINARY(add_f32_##suffix, 32, 32, 32, arithmetic_f32(ADD, a, b, 0, rounding, finish))                     \
    BINARY(sub_f32_##suffix, 32, 32, 32, arithmetic_f32(SUBTRACT, a, b, 0, rounding, finish))                \
    BINARY(mul_f32_##suffix, 32, 32, 32, arithmetic_f32(MULTIPLY, a, b, 0, rounding, finish))                \
    TERNARY(fma_f32_##suffix, 32, 32, 32, 32, arithmetic_f32(MULTIPLY_ADD, a, b, c, rounding, finish))
ROUNDINGS(X)
FLUSHED_ROUNDINGS(X)
SATURATED_ROUNDINGS(X)
#undef X

#define X(suffix, modifiers, rounding, finish)                                                               \
    BINARY(div_f32_##suffix, 32, 32, 32, arithmetic_f32(DIVIDE, a, b, 0, rounding, finish))                  \
    UNARY(rcp_f32_##suffix, 32, 32, arithmetic_f32(DIVIDE, 0x3f800000, a, 0, rounding, finish))              \
    UNARY(sqrt_f32_##suffix, 32, 32, arithmetic_f32(SQUARE_ROOT, a, 0, 0, rounding, finish))
ROUNDINGS(X)
FLUSHED_ROUNDINGS(X)
#undef X

#define X(suffix, modifiers, rounding, finish)                                                               \
    BINARY(add_f64_##suffix, 64, 64, 64, arithmetic_f64(ADD, a, b, 0, rounding))                             \
    BINARY(sub_f64_##suffix, 64, 64, 64, arithmetic_f64(SUBTRACT, a, b, 0, rounding))                        \
    BINARY(mul_f64_##suffix, 64, 64, 64, arithmetic_f64(MULTIPLY, a, b, 0, rounding))                        \
    TERNARY(fma_f64_##suffix, 64, 64, 64, 64, arithmetic_f64(MULTIPLY_ADD, a, b, c, rounding))               \
    BINARY(div_f64_##suffix, 64, 64, 64, arithmetic_f64(DIVIDE, a, b, 0, rounding))                          \
    UNARY(rcp_f64_##suffix, 64, 64, arithmetic_f64(DIVIDE, 0x3ff0000000000000, a, 0, rounding))              \
    UNARY(sqrt_f64_##suffix, 64, 64, arithmetic_f64(SQUARE_ROOT, a, 0, 0, rounding))
ROUNDINGS(X)
#undef X

/* ---- multiplying and adding to nearest, by the host's own instruction where it has one */

#if defined(__x86_64__)
#define FUSED __attribute__((target("avx2,fma")))
static inline FUSED uint32_t fused_f32_rn(uint32_t a, uint32_t b, uint32_t c) {
    return finish_f32(__builtin_fmaf(f32_of(a), f32_of(b), f32_of(c)), FINISH_NONE);
}
static inline FUSED uint32_t fused_f32_rn_sat(uint32_t a, uint32_t b, uint32_t c) {
    return finish_f32(__builtin_fmaf(f32_of(a), f32_of(b), f32_of(c)), FINISH_SAT);
}
static inline FUSED uint64_t fused_f64_rn(uint64_t a, uint64_t b, uint64_t c) {
    return finish_f64(__builtin_fma(f64_of(a), f64_of(b), f64_of(c)), f64_of(b), f64_of(c), f64_of(a));
}
#define X(suffix, bits)                                                                                      \
    static FUSED void lanes_fused_##suffix(struct lane_operands operands, uint32_t mask) {                   \
        loop_##bits##_##bits##_##bits##_##bits(operands, mask, fused_##suffix);                              \
    }
X(f32_rn, 32)
X(f32_rn_sat, 32)
X(f64_rn, 64)
#undef X

lane_function *simt_lanes_fused(lane_function *function) {
    static const struct {
        lane_function *plain, *fused;
    } pairs[] = {{lanes_fma_f32_rn, lanes_fused_f32_rn},
                 {lanes_fma_f32_rn_sat, lanes_fused_f32_rn_sat},
                 {lanes_fma_f64_rn, lanes_fused_f64_rn}};
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return function;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].plain == function) return pairs[i].fused;
    return function;
}
#else
lane_function *simt_lanes_fused(lane_function *function) { return function; }
#endif

static const struct lane_row exact_rows[] = {
#define X(suffix, modifiers, ...)                                                                            \
    ROW("add", modifiers, (F32), add_f32_##suffix, F32, F32, F32),                                           \
    ROW("sub", modifiers, (F32), sub_f32_##suffix, F32, F32, F32),                                           \
    ROW("mul", modifiers, (F32), mul_f32_##suffix, F32, F32, F32),
    ROUNDING_DEFAULTS(X)
    ROUNDINGS(X)
    FLUSHED_ROUNDINGS(X)
    SATURATED_ROUNDINGS(X)
#undef X
#define X(suffix, modifiers, ...)                                                                            \
    ROW("fma", modifiers, (F32), fma_f32_##suffix, F32, F32, F32, F32),                                      \
    ROW("mad", modifiers, (F32), fma_f32_##suffix, F32, F32, F32, F32),
    ROUNDINGS(X)
    FLUSHED_ROUNDINGS(X)
    SATURATED_ROUNDINGS(X)
#undef X
#define X(suffix, modifiers, ...)                                                                            \
    ROW("div", modifiers, (F32), div_f32_##suffix, F32, F32, F32),                                           \
    ROW("rcp", modifiers, (F32), rcp_f32_##suffix, F32, F32),                                                \
    ROW("sqrt", modifiers, (F32), sqrt_f32_##suffix, F32, F32),
    ROUNDINGS(X)
    FLUSHED_ROUNDINGS(X)
#undef X
#define X(suffix, modifiers, ...)                                                                            \
    ROW("add", modifiers, (F64), add_f64_##suffix, F64, F64, F64),                                           \
    ROW("sub", modifiers, (F64), sub_f64_##suffix, F64, F64, F64),                                           \
    ROW("mul", modifiers, (F64), mul_f64_##suffix, F64, F64, F64),
    ROUNDING_DEFAULT(X)
    ROUNDINGS(X)
#undef X
#define X(suffix, modifiers, ...)                                                                            \
    ROW("fma", modifiers, (F64), fma_f64_##suffix, F64, F64, F64, F64),                                      \
    ROW("mad", modifiers, (F64), fma_f64_##suffix, F64, F64, F64, F64),                                      \
    ROW("div", modifiers, (F64), div_f64_##suffix, F64, F64, F64),                                           \
    ROW("rcp", modifiers, (F64), rcp_f64_##suffix, F64, F64),                                                \
    ROW("sqrt", modifiers, (F64), sqrt_f64_##suffix, F64, F64),
    ROUNDINGS(X)
#undef X
};

/* ---- sign, minimum, maximum: of bits */

UNARY(neg_f32, 32, 32, is_nan_f32(a) ? 0x7fffffff : a ^ 0x80000000)
UNARY(neg_f32_ftz, 32, 32, neg_f32(flush_f32(a)))
UNARY(abs_f32, 32, 32, is_nan_f32(a) ? 0x7fffffff : a & 0x7fffffff)
UNARY(abs_f32_ftz, 32, 32, abs_f32(flush_f32(a)))
UNARY(neg_f64, 64, 64, is_nan_f64(a) ? quiet_f64(a) : a ^ 0x8000000000000000)
UNARY(abs_f64, 64, 64, is_nan_f64(a) ? quiet_f64(a) : a & 0x7fffffffffffffff)
BINARY(copysign_f32, 32, 32, 32, (a & 0x80000000) | (b & 0x7fffffff))
BINARY(copysign_f64, 64, 64, 64, (a & 0x8000000000000000) | (b & 0x7fffffffffffffff))

/* Integers in the order of the floats, -0 before +0. */
static inline int32_t order_f32(uint32_t bits) {
    return (int32_t)(bits >> 31 ? bits ^ 0x7fffffff : bits);
}

static inline int64_t order_f64(uint64_t bits) {
    return (int64_t)(bits >> 63 ? bits ^ 0x7fffffffffffffff : bits);
}

/* A NaN gives way to a number. */
static inline uint32_t min_f32_of(uint32_t a, uint32_t b) {
    if (is_nan_f32(a)) return is_nan_f32(b) ? 0x7fffffff : b;
    return is_nan_f32(b) || order_f32(a) < order_f32(b) ? a : b;
}

static inline uint32_t max_f32_of(uint32_t a, uint32_t b) {
    if (is_nan_f32(a)) return is_nan_f32(b) ? 0x7fffffff : b;
    return is_nan_f32(b) || order_f32(a) > order_f32(b) ? a : b;
}

static inline uint64_t min_f64_of(uint64_t a, uint64_t b) {
    if (is_nan_f64(a)) return is_nan_f64(b) ? quiet_f64(b) : b;
    return is_nan_f64(b) || order_f64(a) < order_f64(b) ? a : b;
}

static inline uint64_t max_f64_of(uint64_t a, uint64_t b) {
    if (is_nan_f64(a)) return is_nan_f64(b) ? quiet_f64(b) : b;
    return is_nan_f64(b) || order_f64(a) > order_f64(b) ? a : b;
}

/* .NaN: a NaN wins. */
static inline uint32_t or_nan(uint32_t a, uint32_t b, uint32_t result) {
    return is_nan_f32(a) || is_nan_f32(b) ? 0x7fffffff : result;
}

/* .xorsign.abs: of the magnitudes, with the product's sign; NaN has none. */
static inline uint32_t with_xor_sign(uint32_t a, uint32_t b, uint32_t magnitude) {
    return is_nan_f32(magnitude) ? magnitude : magnitude | ((a ^ b) & 0x80000000);
}

#define X(name)                                                                                              \
    BINARY(name##_f32, 32, 32, 32, name##_f32_of(a, b))                                                      \
    BINARY(name##_f32_nan, 32, 32, 32, or_nan(a, b, name##_f32_of(a, b)))                                    \
    BINARY(name##_f32_xor, 32, 32, 32, with_xor_sign(a, b, name##_f32_of(a & 0x7fffffff, b & 0x7fffffff)))   \
    BINARY(name##_f32_nan_xor, 32, 32, 32, or_nan(a, b, name##_f32_xor(a, b)))                               \
    BINARY(name##_f32_ftz, 32, 32, 32, name##_f32(flush_f32(a), flush_f32(b)))                               \
    BINARY(name##_f32_ftz_nan, 32, 32, 32, name##_f32_nan(flush_f32(a), flush_f32(b)))                       \
    BINARY(name##_f32_ftz_xor, 32, 32, 32, name##_f32_xor(flush_f32(a), flush_f32(b)))                       \
    BINARY(name##_f32_ftz_nan_xor, 32, 32, 32, name##_f32_nan_xor(flush_f32(a), flush_f32(b)))               \
    TERNARY(name##3_f32, 32, 32, 32, 32, name##_f32(name##_f32(a, b), c))                                    \
    TERNARY(name##3_f32_nan, 32, 32, 32, 32, name##_f32_nan(name##_f32_nan(a, b), c))                        \
    TERNARY(name##3_f32_ftz, 32, 32, 32, 32, name##_f32_ftz(name##_f32_ftz(a, b), c))                        \
    TERNARY(name##3_f32_ftz_nan, 32, 32, 32, 32, name##_f32_ftz_nan(name##_f32_ftz_nan(a, b), c))            \
    BINARY(name##_f64, 64, 64, 64, name##_f64_of(a, b))
X(min)
X(max)
#undef X

#define EXTREMUM_ROWS(name)                                                                                   \
    ROW(#name, 0, (F32), name##_f32, F32, F32, F32),                                                         \
    ROW(#name, WITH(NAN_WINS), (F32), name##_f32_nan, F32, F32, F32),                                        \
    ROW(#name, WITH(XORSIGN) | WITH(ABS), (F32), name##_f32_xor, F32, F32, F32),                             \
    ROW(#name, WITH(NAN_WINS) | WITH(XORSIGN) | WITH(ABS), (F32), name##_f32_nan_xor, F32, F32, F32),        \
    ROW(#name, WITH(FTZ), (F32), name##_f32_ftz, F32, F32, F32),                                             \
    ROW(#name, WITH(FTZ) | WITH(NAN_WINS), (F32), name##_f32_ftz_nan, F32, F32, F32),                        \
    ROW(#name, WITH(FTZ) | WITH(XORSIGN) | WITH(ABS), (F32), name##_f32_ftz_xor, F32, F32, F32),             \
    ROW(#name, WITH(FTZ) | WITH(NAN_WINS) | WITH(XORSIGN) | WITH(ABS), (F32), name##_f32_ftz_nan_xor, F32,   \
        F32, F32),                                                                                           \
    ROW(#name, 0, (F32), name##3_f32, F32, F32, F32, F32),                                                   \
    ROW(#name, WITH(NAN_WINS), (F32), name##3_f32_nan, F32, F32, F32, F32),                                  \
    ROW(#name, WITH(FTZ), (F32), name##3_f32_ftz, F32, F32, F32, F32),                                       \
    ROW(#name, WITH(FTZ) | WITH(NAN_WINS), (F32), name##3_f32_ftz_nan, F32, F32, F32, F32),                  \
    ROW(#name, 0, (F64), name##_f64, F64, F64, F64)

static const struct lane_row sign_rows[] = {
    ROW("neg", 0, (F32), neg_f32, F32, F32),
    ROW("neg", WITH(FTZ), (F32), neg_f32_ftz, F32, F32),
    ROW("abs", 0, (F32), abs_f32, F32, F32),
    ROW("abs", WITH(FTZ), (F32), abs_f32_ftz, F32, F32),
    ROW("neg", 0, (F64), neg_f64, F64, F64),
    ROW("abs", 0, (F64), abs_f64, F64, F64),
    ROW("copysign", 0, (F32), copysign_f32, F32, F32, F32),
    ROW("copysign", 0, (F64), copysign_f64, F64, F64, F64),
    EXTREMUM_ROWS(min),
    EXTREMUM_ROWS(max),
};

/* ---- approximate instructions: accurate here, in f64, and rounded once */

/* PTX: the reciprocal of a finite divisor above 2^126 is 0. */
static inline double divide_approximately(double a, double b) {
    return fabs(b) > 0x1p126 && !isinf(b) ? a * copysign(0, b) : a / b;
}

/* The highest 20 bits of the fraction, of what is no subnormal number. */
static inline uint64_t coarse_f64(double value) {
    if (value != value) return 0x7fffffff00000000;
    uint64_t bits = bits_of_f64(value);
    if (!(bits & 0x7ff0000000000000)) bits &= 0x8000000000000000;
    return bits & 0xffffffff00000000;
}

static inline double flushed_f64(uint64_t bits) {
    return f64_of(bits & 0x7ff0000000000000 ? bits : bits & 0x8000000000000000);
}

/* name, its value for a double x */
#define APPROXIMATE(X)                                                                                       \
    X(rcp, 1 / x)                                                                                            \
    X(sqrt, sqrt(x))                                                                                         \
    X(rsqrt, 1 / sqrt(x))                                                                                    \
    X(sin, sin(x))                                                                                           \
    X(cos, cos(x))                                                                                           \
    X(lg2, log2(x))                                                                                          \
    X(ex2, exp2(x))                                                                                          \
    X(tanh, tanh(x))

#define X(name, value)                                                                                       \
    static inline double name##_approximate(double x) {                                                      \
        return value;                                                                                        \
    }                                                                                                        \
    UNARY(name##_approx, 32, 32, narrow_f32(name##_approximate(f32_of(a)), FINISH_NONE))                     \
    UNARY(name##_approx_ftz, 32, 32, narrow_f32(name##_approximate(f32_of(flush_f32(a))), FINISH_FLUSH))
APPROXIMATE(X)
#undef X

BINARY(div_approx, 32, 32, 32, narrow_f32(divide_approximately(f32_of(a), f32_of(b)), FINISH_NONE))
BINARY(div_approx_ftz, 32, 32, 32,
       narrow_f32(divide_approximately(f32_of(flush_f32(a)), f32_of(flush_f32(b))), FINISH_FLUSH))
UNARY(rsqrt_approx_f64, 64, 64, finish_f64(1 / sqrt(f64_of(a)), f64_of(a), 0, 0))
UNARY(rcp_approx_f64, 64, 64, coarse_f64(1 / flushed_f64(a)))
UNARY(rsqrt_approx_ftz_f64, 64, 64, coarse_f64(1 / sqrt(flushed_f64(a))))

#define APPROXIMATE_ROW(text, set, type, name, ...)                                                          \
    {.base = text, .modifiers = set, TYPES(type), .flags = ROW_APPROXIMATE, .destinations = 1,               \
     OPERANDS(__VA_ARGS__), .function = lanes_##name}

static const struct lane_row approximate_rows[] = {
#define X(name, value)                                                                                       \
    APPROXIMATE_ROW(#name, WITH(APPROX), F32, name##_approx, F32, F32),                                      \
    APPROXIMATE_ROW(#name, WITH(APPROX) | WITH(FTZ), F32, name##_approx_ftz, F32, F32),
    APPROXIMATE(X)
#undef X
    APPROXIMATE_ROW("div", WITH(APPROX), F32, div_approx, F32, F32, F32),
    APPROXIMATE_ROW("div", WITH(APPROX) | WITH(FTZ), F32, div_approx_ftz, F32, F32, F32),
    APPROXIMATE_ROW("div", WITH(FULL), F32, div_f32_rn, F32, F32, F32),
    APPROXIMATE_ROW("div", WITH(FULL) | WITH(FTZ), F32, div_f32_rn_ftz, F32, F32, F32),
    APPROXIMATE_ROW("rsqrt", WITH(APPROX), F64, rsqrt_approx_f64, F64, F64),
    APPROXIMATE_ROW("rsqrt", WITH(APPROX) | WITH(FTZ), F64, rsqrt_approx_ftz_f64, F64, F64),
    APPROXIMATE_ROW("rcp", WITH(APPROX) | WITH(FTZ), F64, rcp_approx_f64, F64, F64),
};

const struct lane_table simt_float_tables[] = {
    TABLE(exact_rows),
    TABLE(sign_rows),
    TABLE(approximate_rows),
    {NULL, 0},
};
