/* Bits: logic, shifts, counts, fields, permutations. */
#include "lanes_loops.h"

/* ---- logic and shifts; an amount of the width or more shifts everything out */

static inline uint64_t shift_left(uint64_t value, uint32_t amount, uint32_t width) {
    return amount < width ? value << amount : 0;
}

static inline uint64_t shift_right(uint64_t value, uint32_t amount, uint32_t width) {
    return amount < width ? value >> amount : 0;
}

static inline int64_t shift_right_signed(int64_t value, uint32_t amount, uint32_t width) {
    return value >> (amount < width ? amount : width - 1);
}

BINARY(and_16, 16, 16, 16, a & b)
BINARY(and_32, 32, 32, 32, a & b)
BINARY(and_64, 64, 64, 64, a & b)
BINARY(or_16, 16, 16, 16, a | b)
BINARY(or_32, 32, 32, 32, a | b)
BINARY(or_64, 64, 64, 64, a | b)
BINARY(xor_16, 16, 16, 16, a ^ b)
BINARY(xor_32, 32, 32, 32, a ^ b)
BINARY(xor_64, 64, 64, 64, a ^ b)
UNARY(not_16, 16, 16, ~a)
UNARY(not_32, 32, 32, ~a)
UNARY(not_64, 64, 64, ~a)
UNARY(cnot_16, 16, 16, a == 0)
UNARY(cnot_32, 32, 32, a == 0)
UNARY(cnot_64, 64, 64, a == 0)
SHIFT(shift_left_16, 16, shift_left(a, b, 16))
SHIFT(shift_left_32, 32, b < 32 ? a << (b & 31) : 0)
SHIFT(shift_left_64, 64, shift_left(a, b, 64))
SHIFT(shift_right_16, 16, shift_right(a, b, 16))
SHIFT(shift_right_32, 32, b < 32 ? a >> (b & 31) : 0)
SHIFT(shift_right_64, 64, shift_right(a, b, 64))
SHIFT(shift_right_signed_16, 16, shift_right_signed((int16_t)a, b, 16))
SHIFT(shift_right_signed_32, 32, (int32_t)a >> (b < 32 ? b : 31))
SHIFT(shift_right_signed_64, 64, shift_right_signed((int64_t)a, b, 64))

static inline uint64_t join(uint32_t low, uint32_t high) {
    return (uint64_t)high << 32 | low;
}

static inline uint32_t at_most(uint32_t value, uint32_t limit) {
    return value < limit ? value : limit;
}

TERNARY(funnel_left_wrap, 32, 32, 32, 32, join(a, b) << (c & 31) >> 32)
TERNARY(funnel_left_clamp, 32, 32, 32, 32, join(a, b) << at_most(c, 32) >> 32)
TERNARY(funnel_right_wrap, 32, 32, 32, 32, join(a, b) >> (c & 31))
TERNARY(funnel_right_clamp, 32, 32, 32, 32, join(a, b) >> at_most(c, 32))

/* The table's bit a*4 + b*2 + c, for each bit. */
static inline uint32_t look_up(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
    uint32_t result = 0;
    for (uint32_t entry = 0; entry < 8; entry++) {
        uint32_t is_entry = (entry & 4 ? a : ~a) & (entry & 2 ? b : ~b) & (entry & 1 ? c : ~c);
        result |= is_entry & -(table >> entry & 1);
    }
    return result;
}

QUATERNARY(lop3, 32, 32, 32, 32, 32, look_up(a, b, c, d))

/* ---- counts and positions */

static const uint32_t nowhere = UINT32_MAX;

static inline uint32_t highest_bit(uint64_t value) {
    return value ? 63 - (uint32_t)__builtin_clzll(value) : nowhere;
}

/* How far the value must go left for its highest bit to be at the top. */
static inline uint32_t distance(uint32_t position, uint32_t top) {
    return position == nowhere ? nowhere : top - position;
}

static inline uint64_t without_sign(int64_t value) {
    return (uint64_t)(value < 0 ? ~value : value);
}

static inline uint64_t reverse(uint64_t value) {
    static const uint64_t masks[] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f};
    for (int i = 0; i < 3; i++) value = (value >> (1 << i) & masks[i]) | (value & masks[i]) << (1 << i);
    return __builtin_bswap64(value);
}

/* The bit set in `bits` that is the offset-th from `base` on, upwards, or downwards for a negative offset. */
static inline uint32_t find_nth_set(uint32_t bits, uint32_t base, int32_t offset) {
    if (base > 31) return nowhere;
    if (offset == 0) return bits >> base & 1 ? base : nowhere;
    int step = offset > 0 ? 1 : -1;
    uint32_t left = offset > 0 ? (uint32_t)offset : -(uint32_t)offset;
    for (int position = (int)base; position >= 0 && position < 32; position += step)
        if (bits >> position & 1 && --left == 0) return (uint32_t)position;
    return nowhere;
}

UNARY(popc_32, 32, 32, __builtin_popcount(a))
UNARY(popc_64, 32, 64, __builtin_popcountll(a))
UNARY(clz_32, 32, 32, a ? __builtin_clz(a) : 32)
UNARY(clz_64, 32, 64, a ? __builtin_clzll(a) : 64)
UNARY(brev_32, 32, 32, reverse(a) >> 32)
UNARY(brev_64, 64, 64, reverse(a))
UNARY(bfind_u32, 32, 32, highest_bit(a))
UNARY(bfind_s32, 32, 32, highest_bit(without_sign((int32_t)a)))
UNARY(bfind_u64, 32, 64, highest_bit(a))
UNARY(bfind_s64, 32, 64, highest_bit(without_sign((int64_t)a)))
UNARY(bfind_shift_u32, 32, 32, distance(bfind_u32(a), 31))
UNARY(bfind_shift_s32, 32, 32, distance(bfind_s32(a), 31))
UNARY(bfind_shift_u64, 32, 64, distance(bfind_u64(a), 63))
UNARY(bfind_shift_s64, 32, 64, distance(bfind_s64(a), 63))
TERNARY(fns, 32, 32, 32, 32, find_nth_set(a, b, (int32_t)c))

/* ---- fields */

static inline uint64_t low_bits(uint32_t count) {
    return count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
}

/* The lowest `count` bits, of which the highest is the sign. */
static inline uint64_t extend_sign(uint64_t value, uint32_t count) {
    if (count == 0) return 0;
    if (count >= 64) return value;
    uint64_t sign = (uint64_t)1 << (count - 1);
    return ((value & low_bits(count)) ^ sign) - sign;
}

/* PTX uses only the lowest byte of the position and of the length. */
static inline uint64_t extract(uint64_t value, uint32_t position, uint32_t length, uint32_t width) {
    return shift_right(value, position & 0xff, width) & low_bits(length & 0xff);
}

static inline uint64_t extract_signed(int64_t value, uint32_t position, uint32_t length, uint32_t width) {
    return extend_sign((uint64_t)shift_right_signed(value, position & 0xff, width), length & 0xff);
}

static inline uint64_t insert(uint64_t field, uint64_t value, uint32_t position, uint32_t length,
                              uint32_t width) {
    uint64_t mask = shift_left(low_bits(length & 0xff), position & 0xff, width);
    return (value & ~mask) | (shift_left(field, position & 0xff, width) & mask);
}

TERNARY(bfe_u32, 32, 32, 32, 32, extract(a, b, c, 32))
TERNARY(bfe_s32, 32, 32, 32, 32, extract_signed((int32_t)a, b, c, 32))
TERNARY(bfe_u64, 64, 64, 32, 32, extract(a, b, c, 64))
TERNARY(bfe_s64, 64, 64, 32, 32, extract_signed((int64_t)a, b, c, 64))
QUATERNARY(bfi_32, 32, 32, 32, 32, 32, insert(a, b, c, d, 32))
QUATERNARY(bfi_64, 64, 64, 64, 32, 32, insert(a, b, c, d, 64))
BINARY(bmsk_clamp, 32, 32, 32, shift_left(low_bits(at_most(b, 32)), a, 32))
BINARY(bmsk_wrap, 32, 32, 32, low_bits(b & 31) << (a & 31))
BINARY(szext_clamp_u32, 32, 32, 32, a &low_bits(at_most(b, 32)))
BINARY(szext_clamp_s32, 32, 32, 32, extend_sign(a, at_most(b, 32)))
BINARY(szext_wrap_u32, 32, 32, 32, a &low_bits(b & 31))
BINARY(szext_wrap_s32, 32, 32, 32, extend_sign(a, b & 31))

/* ---- permutations of the bytes of b and a: prmt's modes say which byte goes to place i */

static inline uint32_t byte_at(uint64_t bytes, uint32_t index) {
    return bytes >> 8 * (index & 7) & 0xff;
}

static inline uint32_t permute(uint64_t bytes, uint32_t selectors) {
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t selector = selectors >> 4 * i, byte = byte_at(bytes, selector);
        if (selector & 8) byte = byte & 0x80 ? 0xff : 0; /* its sign, eight times */
        result |= byte << 8 * i;
    }
    return result;
}

static inline uint32_t select_bytes(uint64_t bytes, uint32_t i0, uint32_t i1, uint32_t i2, uint32_t i3) {
    return byte_at(bytes, i0) | byte_at(bytes, i1) << 8 | byte_at(bytes, i2) << 16 | byte_at(bytes, i3) << 24;
}

static inline uint32_t at_least(uint32_t value, uint32_t limit) {
    return value > limit ? value : limit;
}

TERNARY(prmt, 32, 32, 32, 32, permute(join(a, b), c))
TERNARY(prmt_f4e, 32, 32, 32, 32, select_bytes(join(a, b), c & 3, (c & 3) + 1, (c & 3) + 2, (c & 3) + 3))
TERNARY(prmt_b4e, 32, 32, 32, 32, select_bytes(join(a, b), c & 3, (c & 3) - 1, (c & 3) - 2, (c & 3) - 3))
TERNARY(prmt_rc8, 32, 32, 32, 32, select_bytes(join(a, b), c & 3, c & 3, c & 3, c & 3))
TERNARY(prmt_ecl, 32, 32, 32, 32, select_bytes(join(a, b), c & 3, at_least(c & 3, 1), at_least(c & 3, 2), 3))
TERNARY(prmt_ecr, 32, 32, 32, 32, select_bytes(join(a, b), 0, at_most(c & 3, 1), at_most(c & 3, 2), c & 3))
TERNARY(prmt_rc16, 32, 32, 32, 32,
        select_bytes(join(a, b), (c & 1) * 2, (c & 1) * 2 + 1, (c & 1) * 2, (c & 1) * 2 + 1))

/* ---- predicates: a bit for each lane */

#define PREDICATES(name, value)                                                                              \
    static void lanes_##name(struct lane_operands operands, uint32_t mask) {                                 \
        uint32_t *result = lanes_of(operands, 0);                                                            \
        uint32_t a = *(const uint32_t *)lanes_of(operands, 1), b = *(const uint32_t *)lanes_of(operands, 2); \
        *result = (*result & ~mask) | ((value) & mask);                                                      \
    }
#define PREDICATE(name, value)                                                                               \
    static void lanes_##name(struct lane_operands operands, uint32_t mask) {                                 \
        uint32_t *result = lanes_of(operands, 0);                                                            \
        uint32_t a = *(const uint32_t *)lanes_of(operands, 1);                                               \
        *result = (*result & ~mask) | ((value) & mask);                                                      \
    }
PREDICATES(and_predicate, a & b)
PREDICATES(or_predicate, a | b)
PREDICATES(xor_predicate, a ^ b)
PREDICATE(not_predicate, ~a)
PREDICATE(mov_predicate, a)

/* lop3 with a predicate: whether any bit is set, joined with another. */
static inline void lop3_joined(struct lane_operands operands, uint32_t mask, bool is_or) {
    uint32_t *result = lanes_of(operands, 0), *predicate = lanes_of(operands, 1), any = 0;
    const uint32_t *a = lanes_of(operands, 2), *b = lanes_of(operands, 3), *c = lanes_of(operands, 4);
    const uint32_t *table = lanes_of(operands, 5), with = *(const uint32_t *)lanes_of(operands, 6);
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(rest);
        result[lane] = look_up(a[lane], b[lane], c[lane], table[lane]);
        any |= result[lane] ? lane_bits[lane] : 0;
    }
    *predicate = (*predicate & ~mask) | ((is_or ? any | with : any & with) & mask);
}

static void lanes_lop3_or(struct lane_operands operands, uint32_t mask) {
    lop3_joined(operands, mask, true);
}

static void lanes_lop3_and(struct lane_operands operands, uint32_t mask) {
    lop3_joined(operands, mask, false);
}

#define LOP3_ROW(modifier, name)                                                                             \
    {.base = "lop3", .modifiers = WITH(modifier), TYPES(B32), .destinations = 2,                             \
     OPERANDS(B32, PRED, B32, B32, B32, U32, PRED), .function = lanes_##name}

#define LOGIC_ROWS(name)                                                                                     \
    ROW(#name, 0, (B16), name##_16, B16, B16, B16), ROW(#name, 0, (B32), name##_32, B32, B32, B32),          \
        ROW(#name, 0, (B64), name##_64, B64, B64, B64)
#define NOT_ROWS(name)                                                                                       \
    ROW(#name, 0, (B16), name##_16, B16, B16), ROW(#name, 0, (B32), name##_32, B32, B32),                    \
        ROW(#name, 0, (B64), name##_64, B64, B64)

static const struct lane_row rows[] = {
    LOGIC_ROWS(and),
    LOGIC_ROWS(or),
    LOGIC_ROWS(xor),
    NOT_ROWS(not),
    NOT_ROWS(cnot),
    ROW("and", 0, (PRED), and_predicate, PRED, PRED, PRED),
    ROW("or", 0, (PRED), or_predicate, PRED, PRED, PRED),
    ROW("xor", 0, (PRED), xor_predicate, PRED, PRED, PRED),
    ROW("not", 0, (PRED), not_predicate, PRED, PRED),
    ROW("mov", 0, (PRED), mov_predicate, PRED, PRED),
    ROW("shl", 0, (B16), shift_left_16, B16, B16, U32),
    ROW("shl", 0, (B32), shift_left_32, B32, B32, U32),
    ROW("shl", 0, (B64), shift_left_64, B64, B64, U32),
    ROW("shr", 0, (B16), shift_right_16, B16, B16, U32),
    ROW("shr", 0, (B32), shift_right_32, B32, B32, U32),
    ROW("shr", 0, (B64), shift_right_64, B64, B64, U32),
    ROW("shr", 0, (U16), shift_right_16, U16, U16, U32),
    ROW("shr", 0, (U32), shift_right_32, U32, U32, U32),
    ROW("shr", 0, (U64), shift_right_64, U64, U64, U32),
    ROW("shr", 0, (S16), shift_right_signed_16, S16, S16, U32),
    ROW("shr", 0, (S32), shift_right_signed_32, S32, S32, U32),
    ROW("shr", 0, (S64), shift_right_signed_64, S64, S64, U32),
    ROW("shf", WITH(LEFT) | WITH(WRAP), (B32), funnel_left_wrap, B32, B32, B32, U32),
    ROW("shf", WITH(LEFT) | WITH(CLAMP), (B32), funnel_left_clamp, B32, B32, B32, U32),
    ROW("shf", WITH(RIGHT) | WITH(WRAP), (B32), funnel_right_wrap, B32, B32, B32, U32),
    ROW("shf", WITH(RIGHT) | WITH(CLAMP), (B32), funnel_right_clamp, B32, B32, B32, U32),
    ROW("lop3", 0, (B32), lop3, B32, B32, B32, B32, U32),
    LOP3_ROW(OR, lop3_or),
    LOP3_ROW(AND, lop3_and),
    ROW("popc", 0, (B32), popc_32, U32, B32),
    ROW("popc", 0, (B64), popc_64, U32, B64),
    ROW("clz", 0, (B32), clz_32, U32, B32),
    ROW("clz", 0, (B64), clz_64, U32, B64),
    ROW("brev", 0, (B32), brev_32, B32, B32),
    ROW("brev", 0, (B64), brev_64, B64, B64),
    ROW("bfind", 0, (U32), bfind_u32, U32, U32),
    ROW("bfind", 0, (S32), bfind_s32, U32, S32),
    ROW("bfind", 0, (U64), bfind_u64, U32, U64),
    ROW("bfind", 0, (S64), bfind_s64, U32, S64),
    ROW("bfind", WITH(SHIFTAMT), (U32), bfind_shift_u32, U32, U32),
    ROW("bfind", WITH(SHIFTAMT), (S32), bfind_shift_s32, U32, S32),
    ROW("bfind", WITH(SHIFTAMT), (U64), bfind_shift_u64, U32, U64),
    ROW("bfind", WITH(SHIFTAMT), (S64), bfind_shift_s64, U32, S64),
    ROW("fns", 0, (B32), fns, B32, B32, B32, S32),
    ROW("bfe", 0, (U32), bfe_u32, U32, U32, U32, U32),
    ROW("bfe", 0, (S32), bfe_s32, S32, S32, U32, U32),
    ROW("bfe", 0, (U64), bfe_u64, U64, U64, U32, U32),
    ROW("bfe", 0, (S64), bfe_s64, S64, S64, U32, U32),
    ROW("bfi", 0, (B32), bfi_32, B32, B32, B32, U32, U32),
    ROW("bfi", 0, (B64), bfi_64, B64, B64, B64, U32, U32),
    ROW("bmsk", WITH(CLAMP), (B32), bmsk_clamp, B32, U32, U32),
    ROW("bmsk", WITH(WRAP), (B32), bmsk_wrap, B32, U32, U32),
    ROW("szext", WITH(CLAMP), (U32), szext_clamp_u32, U32, U32, U32),
    ROW("szext", WITH(CLAMP), (S32), szext_clamp_s32, S32, S32, U32),
    ROW("szext", WITH(WRAP), (U32), szext_wrap_u32, U32, U32, U32),
    ROW("szext", WITH(WRAP), (S32), szext_wrap_s32, S32, S32, U32),
    ROW("prmt", 0, (B32), prmt, B32, B32, B32, B32),
    ROW("prmt", WITH(F4E), (B32), prmt_f4e, B32, B32, B32, B32),
    ROW("prmt", WITH(B4E), (B32), prmt_b4e, B32, B32, B32, B32),
    ROW("prmt", WITH(RC8), (B32), prmt_rc8, B32, B32, B32, B32),
    ROW("prmt", WITH(ECL), (B32), prmt_ecl, B32, B32, B32, B32),
    ROW("prmt", WITH(ECR), (B32), prmt_ecr, B32, B32, B32, B32),
    ROW("prmt", WITH(RC16), (B32), prmt_rc16, B32, B32, B32, B32),
};

const struct lane_table simt_bits_tables[] = {TABLE(rows), {NULL, 0}};
