/* Integer arithmetic. */
#include "lanes_loops.h"

/* name, base, modifiers, shape: of every integer type */
#define INTEGER_OPERATIONS(X)                                                                                \
    X(add, "add", 0, BINARY)                                                                                 \
    X(subtract, "sub", 0, BINARY)                                                                            \
    X(multiply_low, "mul", WITH(LO), BINARY)                                                                 \
    X(multiply_high, "mul", WITH(HI), BINARY)                                                                \
    X(mad_low, "mad", WITH(LO), TERNARY)                                                                     \
    X(mad_high, "mad", WITH(HI), TERNARY)                                                                    \
    X(sad, "sad", 0, TERNARY)                                                                                \
    X(divide, "div", 0, BINARY)                                                                              \
    X(remainder, "rem", 0, BINARY)                                                                           \
    X(minimum, "min", 0, BINARY)                                                                             \
    X(maximum, "max", 0, BINARY)

#define NAME(name) name##_u16
#define T U16
#define BITS 16
#define UNSIGNED uint16_t
#define VALUE uint16_t
#define DOUBLE uint32_t
#define IS_SIGNED 0
#include "lanes_integer.inc"

#define NAME(name) name##_s16
#define T S16
#define BITS 16
#define UNSIGNED uint16_t
#define VALUE int16_t
#define DOUBLE int32_t
#define IS_SIGNED 1
#include "lanes_integer.inc"

#define NAME(name) name##_u32
#define T U32
#define BITS 32
#define UNSIGNED uint32_t
#define VALUE uint32_t
#define DOUBLE uint64_t
#define IS_SIGNED 0
#include "lanes_integer.inc"

#define NAME(name) name##_s32
#define T S32
#define BITS 32
#define UNSIGNED uint32_t
#define VALUE int32_t
#define DOUBLE int64_t
#define IS_SIGNED 1
#include "lanes_integer.inc"

#define NAME(name) name##_u64
#define T U64
#define BITS 64
#define UNSIGNED uint64_t
#define VALUE uint64_t
#define DOUBLE unsigned __int128
#define IS_SIGNED 0
#include "lanes_integer.inc"

#define NAME(name) name##_s64
#define T S64
#define BITS 64
#define UNSIGNED uint64_t
#define VALUE int64_t
#define DOUBLE __int128
#define IS_SIGNED 1
#include "lanes_integer.inc"

/* ---- what only some types have */

static inline uint32_t saturate(int64_t value) {
    return (uint32_t)(value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value);
}

/* Bits 0 .. 23, with the sign where there is one. */
static inline int64_t low_24_signed(uint32_t value) {
    return (int32_t)((value & 0xffffff) ^ 0x800000) - 0x800000;
}

UNARY(negate_16, 16, 16, -a)
UNARY(negate_32, 32, 32, -a)
UNARY(negate_64, 64, 64, -a)
UNARY(absolute_16, 16, 16, (int16_t)a < 0 ? -a : a)
UNARY(absolute_32, 32, 32, (int32_t)a < 0 ? -a : a)
UNARY(absolute_64, 64, 64, (int64_t)a < 0 ? -a : a)

BINARY(multiply_wide_u16, 32, 16, 16, (uint32_t)a *b)
BINARY(multiply_wide_s16, 32, 16, 16, (int16_t)a * (int16_t)b)
BINARY(multiply_wide_u32, 64, 32, 32, (uint64_t)a *b)
BINARY(multiply_wide_s32, 64, 32, 32, (int64_t)(int32_t)a * (int32_t)b)
BINARY(add_saturated, 32, 32, 32, saturate((int64_t)(int32_t)a + (int32_t)b))
BINARY(subtract_saturated, 32, 32, 32, saturate((int64_t)(int32_t)a - (int32_t)b))
BINARY(minimum_relu, 32, 32, 32, (int32_t)minimum_s32(a, b) < 0 ? 0 : minimum_s32(a, b))
BINARY(maximum_relu, 32, 32, 32, maximum_s32(maximum_s32(a, b), 0))
BINARY(multiply_24_low_u32, 32, 32, 32, (uint64_t)(a & 0xffffff) * (b & 0xffffff))
BINARY(multiply_24_low_s32, 32, 32, 32, low_24_signed(a) * low_24_signed(b))
BINARY(multiply_24_high_u32, 32, 32, 32, (uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 16)
BINARY(multiply_24_high_s32, 32, 32, 32, low_24_signed(a) * low_24_signed(b) >> 16)

TERNARY(mad_wide_u16, 32, 16, 16, 32, multiply_wide_u16(a, b) + c)
TERNARY(mad_wide_s16, 32, 16, 16, 32, multiply_wide_s16(a, b) + c)
TERNARY(mad_wide_u32, 64, 32, 32, 64, multiply_wide_u32(a, b) + c)
TERNARY(mad_wide_s32, 64, 32, 32, 64, multiply_wide_s32(a, b) + c)
TERNARY(mad_high_saturated, 32, 32, 32, 32, saturate((int64_t)(int32_t)multiply_high_s32(a, b) + (int32_t)c))
TERNARY(mad_24_low_u32, 32, 32, 32, 32, multiply_24_low_u32(a, b) + c)
TERNARY(mad_24_low_s32, 32, 32, 32, 32, multiply_24_low_s32(a, b) + c)
TERNARY(mad_24_high_u32, 32, 32, 32, 32, multiply_24_high_u32(a, b) + c)
TERNARY(mad_24_high_s32, 32, 32, 32, 32, multiply_24_high_s32(a, b) + c)
TERNARY(mad_24_saturated, 32, 32, 32, 32, saturate((low_24_signed(a) * low_24_signed(b) >> 16) + (int32_t)c))
static const struct lane_row other_rows[] = {
    ROW("neg", 0, (S16), negate_16, S16, S16),
    ROW("neg", 0, (S32), negate_32, S32, S32),
    ROW("neg", 0, (S64), negate_64, S64, S64),
    ROW("abs", 0, (S16), absolute_16, S16, S16),
    ROW("abs", 0, (S32), absolute_32, S32, S32),
    ROW("abs", 0, (S64), absolute_64, S64, S64),
    ROW("mul", WITH(WIDE), (U16), multiply_wide_u16, U32, U16, U16),
    ROW("mul", WITH(WIDE), (S16), multiply_wide_s16, S32, S16, S16),
    ROW("mul", WITH(WIDE), (U32), multiply_wide_u32, U64, U32, U32),
    ROW("mul", WITH(WIDE), (S32), multiply_wide_s32, S64, S32, S32),
    ROW("add", WITH(SAT), (S32), add_saturated, S32, S32, S32),
    ROW("sub", WITH(SAT), (S32), subtract_saturated, S32, S32, S32),
    ROW("min", WITH(RELU), (S32), minimum_relu, S32, S32, S32),
    ROW("max", WITH(RELU), (S32), maximum_relu, S32, S32, S32),
    ROW("mul24", WITH(LO), (U32), multiply_24_low_u32, U32, U32, U32),
    ROW("mul24", WITH(LO), (S32), multiply_24_low_s32, S32, S32, S32),
    ROW("mul24", WITH(HI), (U32), multiply_24_high_u32, U32, U32, U32),
    ROW("mul24", WITH(HI), (S32), multiply_24_high_s32, S32, S32, S32),
    ROW("mad", WITH(WIDE), (U16), mad_wide_u16, U32, U16, U16, U32),
    ROW("mad", WITH(WIDE), (S16), mad_wide_s16, S32, S16, S16, S32),
    ROW("mad", WITH(WIDE), (U32), mad_wide_u32, U64, U32, U32, U64),
    ROW("mad", WITH(WIDE), (S32), mad_wide_s32, S64, S32, S32, S64),
    ROW("mad", WITH(HI) | WITH(SAT), (S32), mad_high_saturated, S32, S32, S32, S32),
    ROW("mad24", WITH(LO), (U32), mad_24_low_u32, U32, U32, U32, U32),
    ROW("mad24", WITH(LO), (S32), mad_24_low_s32, S32, S32, S32, S32),
    ROW("mad24", WITH(HI), (U32), mad_24_high_u32, U32, U32, U32, U32),
    ROW("mad24", WITH(HI), (S32), mad_24_high_s32, S32, S32, S32, S32),
    ROW("mad24", WITH(HI) | WITH(SAT), (S32), mad_24_saturated, S32, S32, S32, S32),
};

/* ---- pairs of 16-bit numbers */

#define HIGH(x) (uint16_t)((x) >> 16)
#define LOW(x) (uint16_t)(x)
#define HALVES(name) (uint32_t)name(HIGH(a), HIGH(b)) << 16 | name(LOW(a), LOW(b))

static inline uint16_t relu_s16(uint16_t a) {
    return (int16_t)a < 0 ? 0 : a;
}

/* Less than 0 is 0. */
static inline uint32_t relu_s16x2(uint32_t a) {
    return (uint32_t)relu_s16(HIGH(a)) << 16 | relu_s16(LOW(a));
}

BINARY(add_16x2, 32, 32, 32, HALVES(add_u16))
BINARY(minimum_u16x2, 32, 32, 32, HALVES(minimum_u16))
BINARY(minimum_s16x2, 32, 32, 32, HALVES(minimum_s16))
BINARY(maximum_u16x2, 32, 32, 32, HALVES(maximum_u16))
BINARY(maximum_s16x2, 32, 32, 32, HALVES(maximum_s16))
BINARY(minimum_relu_s16x2, 32, 32, 32, relu_s16x2(minimum_s16x2(a, b)))
BINARY(maximum_relu_s16x2, 32, 32, 32, relu_s16x2(maximum_s16x2(a, b)))

static const struct lane_row pair_rows[] = {
    ROW("add", WITH(U16X2), (TYPE_NONE), add_16x2, B32, B32, B32),
    ROW("add", WITH(S16X2), (TYPE_NONE), add_16x2, B32, B32, B32),
    ROW("min", WITH(U16X2), (TYPE_NONE), minimum_u16x2, B32, B32, B32),
    ROW("min", WITH(S16X2), (TYPE_NONE), minimum_s16x2, B32, B32, B32),
    ROW("max", WITH(U16X2), (TYPE_NONE), maximum_u16x2, B32, B32, B32),
    ROW("max", WITH(S16X2), (TYPE_NONE), maximum_s16x2, B32, B32, B32),
    ROW("min", WITH(S16X2) | WITH(RELU), (TYPE_NONE), minimum_relu_s16x2, B32, B32, B32),
    ROW("max", WITH(S16X2) | WITH(RELU), (TYPE_NONE), maximum_relu_s16x2, B32, B32, B32),
};

/* ---- dot products of bytes */

static inline uint32_t byte_of(uint32_t value, int index, bool is_signed) {
    uint32_t byte = value >> 8 * index & 0xff;
    return is_signed ? (byte ^ 0x80) - 0x80 : byte;
}

static inline uint32_t half_of(uint32_t value, int index, bool is_signed) {
    uint32_t half = value >> 16 * index & 0xffff;
    return is_signed ? (half ^ 0x8000) - 0x8000 : half;
}

static inline uint32_t dot_bytes(uint32_t a, bool a_is_signed, uint32_t b, bool b_is_signed) {
    uint32_t sum = 0;
    for (int i = 0; i < 4; i++) sum += byte_of(a, i, a_is_signed) * byte_of(b, i, b_is_signed);
    return sum;
}

/* a's two halves with two bytes of b, from `first` on. */
static inline uint32_t dot_halves(uint32_t a, bool a_is_signed, uint32_t b, int first, bool b_is_signed) {
    uint32_t sum = 0;
    for (int i = 0; i < 2; i++) sum += half_of(a, i, a_is_signed) * byte_of(b, first + i, b_is_signed);
    return sum;
}

TERNARY(dp4a_u32_u32, 32, 32, 32, 32, c + dot_bytes(a, false, b, false))
TERNARY(dp4a_u32_s32, 32, 32, 32, 32, c + dot_bytes(a, false, b, true))
TERNARY(dp4a_s32_u32, 32, 32, 32, 32, c + dot_bytes(a, true, b, false))
TERNARY(dp4a_s32_s32, 32, 32, 32, 32, c + dot_bytes(a, true, b, true))
TERNARY(dp2a_low_u32_u32, 32, 32, 32, 32, c + dot_halves(a, false, b, 0, false))
TERNARY(dp2a_low_u32_s32, 32, 32, 32, 32, c + dot_halves(a, false, b, 0, true))
TERNARY(dp2a_low_s32_u32, 32, 32, 32, 32, c + dot_halves(a, true, b, 0, false))
TERNARY(dp2a_low_s32_s32, 32, 32, 32, 32, c + dot_halves(a, true, b, 0, true))
TERNARY(dp2a_high_u32_u32, 32, 32, 32, 32, c + dot_halves(a, false, b, 2, false))
TERNARY(dp2a_high_u32_s32, 32, 32, 32, 32, c + dot_halves(a, false, b, 2, true))
TERNARY(dp2a_high_s32_u32, 32, 32, 32, 32, c + dot_halves(a, true, b, 2, false))
TERNARY(dp2a_high_s32_s32, 32, 32, 32, 32, c + dot_halves(a, true, b, 2, true))

/* The rows of a dp4a or dp2a: one for each pair of types of a and b. */
#define DOT_ROWS(text, set, name)                                                                            \
    ROW(text, set, (U32, U32), name##_u32_u32, U32, U32, U32, U32),                                          \
    ROW(text, set, (U32, S32), name##_u32_s32, S32, U32, S32, S32),                                          \
    ROW(text, set, (S32, U32), name##_s32_u32, S32, S32, U32, S32),                                          \
    ROW(text, set, (S32, S32), name##_s32_s32, S32, S32, S32, S32)

static const struct lane_row dot_rows[] = {
    DOT_ROWS("dp4a", 0, dp4a),
    DOT_ROWS("dp2a", WITH(LO), dp2a_low),
    DOT_ROWS("dp2a", WITH(HI), dp2a_high),
};

/* ---- with the carry flag: name, function, sources, the flag where it is not read, base, modifiers, what
 * becomes of it */

#define CARRY_OPERATIONS(X)                                                                                  \
    X(add_cc, sum, 2, 0, "add", WITH(CC), ROW_WRITES_CARRY)                                                  \
    X(addc, sum, 2, 0, "addc", 0, ROW_READS_CARRY)                                                           \
    X(addc_cc, sum, 2, 0, "addc", WITH(CC), ROW_READS_CARRY | ROW_WRITES_CARRY)                              \
    X(sub_cc, difference, 2, UINT32_MAX, "sub", WITH(CC), ROW_WRITES_CARRY)                                  \
    X(subc, difference, 2, UINT32_MAX, "subc", 0, ROW_READS_CARRY)                                           \
    X(subc_cc, difference, 2, UINT32_MAX, "subc", WITH(CC), ROW_READS_CARRY | ROW_WRITES_CARRY)              \
    X(mad_low_cc, sum_with_low, 3, 0, "mad", WITH(LO) | WITH(CC), ROW_WRITES_CARRY)                          \
    X(madc_low, sum_with_low, 3, 0, "madc", WITH(LO), ROW_READS_CARRY)                                       \
    X(madc_low_cc, sum_with_low, 3, 0, "madc", WITH(LO) | WITH(CC), ROW_READS_CARRY | ROW_WRITES_CARRY)      \
    X(mad_high_cc, sum_with_high, 3, 0, "mad", WITH(HI) | WITH(CC), ROW_WRITES_CARRY)                        \
    X(madc_high, sum_with_high, 3, 0, "madc", WITH(HI), ROW_READS_CARRY)                                     \
    X(madc_high_cc, sum_with_high, 3, 0, "madc", WITH(HI) | WITH(CC), ROW_READS_CARRY | ROW_WRITES_CARRY)

#define NAME(name) name##_u32
#define T U32
#define BITS 32
#define UNSIGNED uint32_t
#define U_DOUBLE uint64_t
#include "lanes_carry.inc"

#define NAME(name) name##_s32
#define T S32
#define BITS 32
#define UNSIGNED uint32_t
#define U_DOUBLE uint64_t
#include "lanes_carry.inc"

#define NAME(name) name##_u64
#define T U64
#define BITS 64
#define UNSIGNED uint64_t
#define U_DOUBLE unsigned __int128
#include "lanes_carry.inc"

#define NAME(name) name##_s64
#define T S64
#define BITS 64
#define UNSIGNED uint64_t
#define U_DOUBLE unsigned __int128
#include "lanes_carry.inc"

const struct lane_table simt_integer_tables[] = {
    TABLE(rows_u16),       TABLE(rows_s16),       TABLE(rows_u32),       TABLE(rows_s32),
    TABLE(rows_u64),       TABLE(rows_s64),       TABLE(other_rows),     TABLE(pair_rows),
    TABLE(dot_rows),       TABLE(carry_rows_u32), TABLE(carry_rows_s32), TABLE(carry_rows_u64),
    TABLE(carry_rows_s64),  {NULL, 0},
};
