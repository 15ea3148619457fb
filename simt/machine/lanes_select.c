/* Selection and moves. */
#include "lanes_loops.h"

UNARY(mov_16, 16, 16, a)
UNARY(mov_32, 32, 32, a)
UNARY(mov_64, 64, 64, a)

#define SELECT(bits)                                                                                         \
    static inline uint##bits##_t select_##bits(uint##bits##_t a, uint##bits##_t b, bool is_first) {          \
        return is_first ? a : b;                                                                             \
    }                                                                                                        \
    static void lanes_selp_##bits(struct lane_operands operands, uint32_t mask) {                            \
        loop_##bits##_select(operands, mask, select_##bits);                                                 \
    }
SELECT(16)
SELECT(32)
SELECT(64)

/* Whether a float is 0 or more: not of NaN, but of -0. */
static inline bool is_nonnegative(uint32_t bits) {
    return bits <= 0x7f800000 || bits == 0x80000000;
}

/* Whether an f32 is not negative, with subnormal numbers taken as 0. */
static inline bool is_nonnegative_flushed(uint32_t bits) {
    return bits <= 0x7f800000 || (bits >= 0x80000000 && bits < 0x80800000);
}

TERNARY(slct_integer_16, 16, 16, 16, 32, (int32_t)c >= 0 ? a : b)
TERNARY(slct_integer_32, 32, 32, 32, 32, (int32_t)c >= 0 ? a : b)
TERNARY(slct_integer_64, 64, 64, 64, 32, (int32_t)c >= 0 ? a : b)
TERNARY(slct_float_16, 16, 16, 16, 32, is_nonnegative(c) ? a : b)
TERNARY(slct_float_32, 32, 32, 32, 32, is_nonnegative(c) ? a : b)
TERNARY(slct_float_64, 64, 64, 64, 32, is_nonnegative(c) ? a : b)
TERNARY(slct_flushed_16, 16, 16, 16, 32, is_nonnegative_flushed(c) ? a : b)
TERNARY(slct_flushed_32, 32, 32, 32, 32, is_nonnegative_flushed(c) ? a : b)
TERNARY(slct_flushed_64, 64, 64, 64, 32, is_nonnegative_flushed(c) ? a : b)

#define TYPE_ROWS(type, bits)                                                                                \
    ROW("mov", 0, (type), mov_##bits, type, type),                                                           \
    ROW("selp", 0, (type), selp_##bits, type, type, type, PRED),                                             \
    ROW("slct", 0, (type, S32), slct_integer_##bits, type, type, type, S32),                                 \
    ROW("slct", 0, (type, F32), slct_float_##bits, type, type, type, F32),                                   \
    ROW("slct", WITH(FTZ), (type, F32), slct_flushed_##bits, type, type, type, F32)

static const struct lane_row rows[] = {
    TYPE_ROWS(B16, 16), TYPE_ROWS(U16, 16), TYPE_ROWS(S16, 16), TYPE_ROWS(F16, 16),   TYPE_ROWS(BF16, 16),
    TYPE_ROWS(B32, 32), TYPE_ROWS(U32, 32), TYPE_ROWS(S32, 32), TYPE_ROWS(F16X2, 32), TYPE_ROWS(BF16X2, 32),
    TYPE_ROWS(F32, 32), TYPE_ROWS(B64, 64), TYPE_ROWS(U64, 64), TYPE_ROWS(S64, 64),   TYPE_ROWS(F64, 64),
};

const struct lane_table simt_select_tables[] = {TABLE(rows), {NULL, 0}};
