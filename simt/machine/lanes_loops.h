/* The loops over the lanes of a warp, one for each signature: loop_<result>_<sources>, in bits.  */
#ifndef SIMT_LANES_LOOPS_H
#define SIMT_LANES_LOOPS_H

#include "lanes_row.h"

#define ALWAYS_INLINE __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))

#define PASTE2_(a, b) a##b
#define PASTE2(a, b) PASTE2_(a, b)
#define PASTE4_(a, b, c, d) a##b##c##d
#define PASTE4(a, b, c, d) PASTE4_(a, b, c, d)
#define PASTE6_(a, b, c, d, e, f) a##b##c##d##e##f
#define PASTE6(a, b, c, d, e, f) PASTE6_(a, b, c, d, e, f)
#define PASTE8_(a, b, c, d, e, f, g, h) a##b##c##d##e##f##g##h
#define PASTE8(a, b, c, d, e, f, g, h) PASTE8_(a, b, c, d, e, f, g, h)

/* The shapes of instructions whose operands are all of one type T, of BITS bits: their operands, and their
 * loop. */
#define SHAPE_UNARY OPERANDS(T, T)
#define SHAPE_BINARY OPERANDS(T, T, T)
#define SHAPE_TERNARY OPERANDS(T, T, T, T)
#define LOOP_UNARY PASTE4(loop_, BITS, _, BITS)
#define LOOP_BINARY PASTE6(loop_, BITS, _, BITS, _, BITS)
#define LOOP_TERNARY PASTE8(loop_, BITS, _, BITS, _, BITS, _, BITS)

/* A destination is the very array of a source or another: no lane reads what a lane before it wrote. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* not all operations have vector instructions */
#define EACH_LANE_ALONE _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH_LANE_ALONE _Pragma("GCC ivdep")
#endif

/* 1 << lane, as vectors can load it. */
static const uint32_t lane_bits[SIMT_LANES] = {
    0x1,        0x2,        0x4,        0x8,        0x10,       0x20,       0x40,       0x80,
    0x100,      0x200,      0x400,      0x800,      0x1000,     0x2000,     0x4000,     0x8000,
    0x10000,    0x20000,    0x40000,    0x80000,    0x100000,   0x200000,   0x400000,   0x800000,
    0x1000000,  0x2000000,  0x4000000,  0x8000000,  0x10000000, 0x20000000, 0x40000000, 0x80000000,
};

static inline bool is_one_value(const uint32_t *values) {
    uint32_t strays = 0;
    for (uint32_t lane = 1; lane < SIMT_LANES; lane++) strays |= values[lane] ^ values[0];
    return strays == 0;
}

#define LOOP loop_16_16
#define RESULT uint16_t
#define A uint16_t
#include "lanes_loop.inc"

#define LOOP loop_32_32
#define RESULT uint32_t
#define A uint32_t
#include "lanes_loop.inc"

#define LOOP loop_64_64
#define RESULT uint64_t
#define A uint64_t
#include "lanes_loop.inc"

#define LOOP loop_32_16
#define RESULT uint32_t
#define A uint16_t
#include "lanes_loop.inc"

#define LOOP loop_16_32
#define RESULT uint16_t
#define A uint32_t
#include "lanes_loop.inc"

#define LOOP loop_64_32
#define RESULT uint64_t
#define A uint32_t
#include "lanes_loop.inc"

#define LOOP loop_32_64
#define RESULT uint32_t
#define A uint64_t
#include "lanes_loop.inc"

#define LOOP loop_64_16
#define RESULT uint64_t
#define A uint16_t
#include "lanes_loop.inc"

#define LOOP loop_16_64
#define RESULT uint16_t
#define A uint64_t
#include "lanes_loop.inc"

#define LOOP loop_16_16_16
#define RESULT uint16_t
#define A uint16_t
#define B uint16_t
#include "lanes_loop.inc"

#define LOOP loop_32_32_32
#define RESULT uint32_t
#define A uint32_t
#define B uint32_t
#include "lanes_loop.inc"

#define LOOP loop_64_64_64
#define RESULT uint64_t
#define A uint64_t
#define B uint64_t
#include "lanes_loop.inc"

#define LOOP loop_32_16_16
#define RESULT uint32_t
#define A uint16_t
#define B uint16_t
#include "lanes_loop.inc"

#define LOOP loop_16_32_32
#define RESULT uint16_t
#define A uint32_t
#define B uint32_t
#include "lanes_loop.inc"

#define LOOP loop_64_32_32
#define RESULT uint64_t
#define A uint32_t
#define B uint32_t
#include "lanes_loop.inc"

#define LOOP loop_32_64_32
#define RESULT uint32_t
#define A uint64_t
#define B uint32_t
#include "lanes_loop.inc"

#define LOOP loop_32_32_64
#define RESULT uint32_t
#define A uint32_t
#define B uint64_t
#include "lanes_loop.inc"

#define LOOP loop_16_16_16_16
#define RESULT uint16_t
#define A uint16_t
#define B uint16_t
#define C uint16_t
#include "lanes_loop.inc"

#define LOOP loop_32_32_32_32
#define RESULT uint32_t
#define A uint32_t
#define B uint32_t
#define C uint32_t
#include "lanes_loop.inc"

#define LOOP loop_64_64_64_64
#define RESULT uint64_t
#define A uint64_t
#define B uint64_t
#define C uint64_t
#include "lanes_loop.inc"

#define LOOP loop_32_16_16_32
#define RESULT uint32_t
#define A uint16_t
#define B uint16_t
#define C uint32_t
#include "lanes_loop.inc"

#define LOOP loop_64_32_32_64
#define RESULT uint64_t
#define A uint32_t
#define B uint32_t
#define C uint64_t
#include "lanes_loop.inc"

#define LOOP loop_64_64_32_32
#define RESULT uint64_t
#define A uint64_t
#define B uint32_t
#define C uint32_t
#include "lanes_loop.inc"

#define LOOP loop_16_16_16_32
#define RESULT uint16_t
#define A uint16_t
#define B uint16_t
#define C uint32_t
#include "lanes_loop.inc"

#define LOOP loop_64_64_64_32
#define RESULT uint64_t
#define A uint64_t
#define B uint64_t
#define C uint32_t
#include "lanes_loop.inc"

#define LOOP loop_32_32_32_32_32
#define RESULT uint32_t
#define A uint32_t
#define B uint32_t
#define C uint32_t
#define D uint32_t
#include "lanes_loop.inc"

#define LOOP loop_64_64_64_32_32
#define RESULT uint64_t
#define A uint64_t
#define B uint64_t
#define C uint32_t
#define D uint32_t
#include "lanes_loop.inc"

#define LOOP loop_16_select
#define RESULT uint16_t
#define A uint16_t
#define B uint16_t
#define SELECTS
#include "lanes_loop.inc"

#define LOOP loop_32_select
#define RESULT uint32_t
#define A uint32_t
#define B uint32_t
#define SELECTS
#include "lanes_loop.inc"

#define LOOP loop_64_select
#define RESULT uint64_t
#define A uint64_t
#define B uint64_t
#define SELECTS
#include "lanes_loop.inc"

#define LOOP loop_shift_16
#define RESULT uint16_t
#define A uint16_t
#define B uint32_t
#define ONE_B
#include "lanes_loop.inc"

#define LOOP loop_shift_32
#define RESULT uint32_t
#define A uint32_t
#define B uint32_t
#define ONE_B
#include "lanes_loop.inc"

#define LOOP loop_shift_64
#define RESULT uint64_t
#define A uint64_t
#define B uint32_t
#define ONE_B
#include "lanes_loop.inc"

/* An operation: its name, the bits of its result and its sources a, b, c, d, and its value. */
#define UNARY(name, R, A, value)                                                                             \
    static inline uint##R##_t name(uint##A##_t a) {                                                          \
        return (uint##R##_t)(value);                                                                         \
    }                                                                                                        \
    static void lanes_##name(struct lane_operands operands, uint32_t mask) {                                 \
        loop_##R##_##A(operands, mask, name);                                                                \
    }
#define BINARY(name, R, A, B, value)                                                                         \
    static inline uint##R##_t name(uint##A##_t a, uint##B##_t b) {                                           \
        return (uint##R##_t)(value);                                                                         \
    }                                                                                                        \
    static void lanes_##name(struct lane_operands operands, uint32_t mask) {                                 \
        loop_##R##_##A##_##B(operands, mask, name);                                                          \
    }
/* Like BINARY, for shifts, whose second operand is a count.  Many processors shift all lanes of a vector by
 * one common count only, so that case has a loop of its own. */
#define SHIFT(name, R, value)                                                                                \
    static inline uint##R##_t name(uint##R##_t a, uint32_t b) {                                              \
        return (uint##R##_t)(value);                                                                         \
    }                                                                                                        \
    static void lanes_##name(struct lane_operands operands, uint32_t mask) {                                 \
        loop_shift_##R(operands, mask, name);                                                                \
    }
#define TERNARY(name, R, A, B, C, value)                                                                     \
    static inline uint##R##_t name(uint##A##_t a, uint##B##_t b, uint##C##_t c) {                            \
        return (uint##R##_t)(value);                                                                         \
    }                                                                                                        \
    static void lanes_##name(struct lane_operands operands, uint32_t mask) {                                 \
        loop_##R##_##A##_##B##_##C(operands, mask, name);                                                    \
    }
#define QUATERNARY(name, R, A, B, C, D, value)                                                               \
    static inline uint##R##_t name(uint##A##_t a, uint##B##_t b, uint##C##_t c, uint##D##_t d) {             \
        return (uint##R##_t)(value);                                                                         \
    }                                                                                                        \
    static void lanes_##name(struct lane_operands operands, uint32_t mask) {                                 \
        loop_##R##_##A##_##B##_##C##_##D(operands, mask, name);                                              \
    }

#endif
