/* What instructions do to the lanes of a warp: arithmetic, comparison, selection, conversion, bits.
 *
 * A register of a warp is an array of 32 lanes: uint16_t[32] for 8- and 16-bit types, uint32_t[32] for 32-bit types,
 * uint64_t[32] for 64-bit types; a predicate is one uint32_t with a bit for each lane. */
#ifndef SIMT_LANES_H
#define SIMT_LANES_H

#include "ptx/ptx.h"

enum width { WIDTH_PREDICATE, WIDTH_16, WIDTH_32, WIDTH_64 };

enum width simt_width(enum type type);
size_t simt_width_nbytes(enum width width); /* of a whole register: 4, 64, 128, 256 */

enum { LANE_OPERANDS_MAX = 7, LANE_SLOTS_MAX = 8, LANE_ALIGNMENT = 64 };

/* A register of 128 bits is two of 64: the lanes' lower halves, and behind them the higher ones. */
enum { HALF_REGISTER = 256, HALVES = 2 };

/* The place of an operand's lanes: bytes from the beginning of the frame, a multiple of LANE_ALIGNMENT. */
typedef uint32_t slot;

struct lane_call {
    slot slots[LANE_SLOTS_MAX]; /* destinations first, in PTX order; an immediate is an array filled with it */
    uint64_t context;           /* lane_operation.context */
};

/* The operands of an instruction, in a frame that is aligned as its slots are. */
struct lane_operands {
    unsigned char *frame;
    const struct lane_call *call;
};

static inline void *lanes_of(struct lane_operands operands, uint32_t operand) {
    return __builtin_assume_aligned(operands.frame + operands.call->slots[operand], LANE_ALIGNMENT);
}

/* Executes one instruction for the lanes of `mask` (never 0).  A destination may be the same array as a source.
 * Lanes outside the mask keep their destination.  Reads of lanes outside the mask are harmless. */
typedef void lane_function(struct lane_operands operands, uint32_t mask);

struct lane_operation {
    lane_function *function;
    uint64_t context;                          /* by what a function that does several instructions tells them apart:
                                                  a number, or the address of a constant */
    uint32_t count;                            /* of operands */
    uint32_t destinations;                     /* how many of them are written */
    enum type types[LANE_OPERANDS_MAX];        /* of each, as the instruction reads it; immediates are made of it */
    bool reads_carry, writes_carry; /* add.cc, addc: the carry flag, a predicate, follows as the last operand(s): the
                                       one read, then the one written */
    bool is_approximate;
};

/* The operation of an instruction, by its base and modifiers and the widths of its register operands (which ld, st,
 * cvt, and some others may have wider than their type: the lane function takes them as they are given here:
 * widths[i] for operand i).  false: not known. */
bool simt_lanes_find(const struct instruction *instruction, const enum width *widths, struct lane_operation *operation);

/* The operation of an instruction by its base, modifiers and number of operands, whatever the operands are. */
bool simt_lanes_shape(const struct instruction *instruction, uint32_t operand_count, struct lane_operation *operation);

/* The function of an instruction that is but a base and a type, and needs no context: "mov", "b64", 2. */
lane_function *simt_lanes_plain(const char *base, const char *type, uint32_t operand_count);

/* What an atomic or a warp reduction does to one value: the new value of `old` combined with `value` (and, of cas,
 * `compare`: new = old == compare ? value : old).  Bits in the low end of the words.  NULL: not known.
 * names: add min max and or xor inc dec exch cas (sub is not PTX); types as PTX has them for atom, red and redux,
 * f16x2, bf16x2, f16, bf16 add (and min max of them for red/atom.noftz) too. */
typedef uint64_t scalar_function(uint64_t old, uint64_t value, uint64_t compare);
scalar_function *simt_scalar_find(const char *name, enum type type);

#endif
