/* The tables of lane operations: a row says which instruction it is, what its operands are, and what executes
 * it. A file of operations has one array of tables; lanes.c knows the arrays. */
#ifndef SIMT_LANES_ROW_H
#define SIMT_LANES_ROW_H

#include "lanes.h"

/* Every modifier that tells one lane operation from another, types aside; as the text of an opcode has it.
 * u16x2 and the like are here because no register is of these types, and tf32, as one is .b32. */
#define SIMT_MODIFIERS(X)                                                                                    \
    X(RN, "rn") X(RZ, "rz") X(RM, "rm") X(RP, "rp") X(RNI, "rni") X(RZI, "rzi") X(RMI, "rmi") X(RPI, "rpi")  \
    X(FTZ, "ftz") X(SAT, "sat") X(RELU, "relu") X(SATFINITE, "satfinite") X(NAN_WINS, "NaN")                 \
    X(XORSIGN, "xorsign") X(ABS, "abs") X(APPROX, "approx") X(FULL, "full") X(WIDE, "wide") X(CC, "cc")      \
    X(SHIFTAMT, "shiftamt") X(WRAP, "wrap") X(CLAMP, "clamp") X(LEFT, "l") X(RIGHT, "r") X(PACK, "pack")     \
    X(EQ, "eq") X(NE, "ne") X(LT, "lt") X(LE, "le") X(GT, "gt") X(GE, "ge")                                  \
    X(LO, "lo") X(LS, "ls") X(HI, "hi") X(HS, "hs")                                                          \
    X(EQU, "equ") X(NEU, "neu") X(LTU, "ltu") X(LEU, "leu") X(GTU, "gtu") X(GEU, "geu")                      \
    X(IS_NUM, "num") X(IS_NAN, "nan") X(AND, "and") X(OR, "or") X(XOR, "xor")                                \
    X(FINITE, "finite") X(INFINITE, "infinite") X(NUMBER, "number") X(NOTANUMBER, "notanumber")              \
    X(NORMAL, "normal") X(SUBNORMAL, "subnormal")                                                            \
    X(F4E, "f4e") X(B4E, "b4e") X(RC8, "rc8") X(ECL, "ecl") X(ECR, "ecr") X(RC16, "rc16")                    \
    X(U16X2, "u16x2") X(S16X2, "s16x2") X(E4M3X2, "e4m3x2") X(E5M2X2, "e5m2x2") X(ADDED, "add")  \
    X(RNA, "rna") X(TF32, "tf32") X(S4, "s4") X(U4, "u4") X(S2, "s2") X(U2, "u2")  \
    X(PLUS_ONE, "po") X(OOB, "oob") X(SHR7, "shr7") X(SHR15, "shr15")

enum modifier_index {
#define MODIFIER_INDEX(name, text) MODIFIER_##name,
    SIMT_MODIFIERS(MODIFIER_INDEX)
#undef MODIFIER_INDEX
    MODIFIER_COUNT
};

/* A set of them: WITH(RN) | WITH(FTZ). */
typedef unsigned __int128 modifier_set;
_Static_assert(MODIFIER_COUNT <= 128, "a set has a bit for each");
#define WITH(name) ((modifier_set)1 << MODIFIER_##name)

enum row_flags { ROW_PLAIN = 0, ROW_READS_CARRY = 1, ROW_WRITES_CARRY = 2, ROW_APPROXIMATE = 4 };

enum { ROW_TYPES_MAX = 3, LANE_PARTS_MAX = 4 };

struct lane_row {
    const char *base;
    modifier_set modifiers;
    uint8_t types[ROW_TYPES_MAX]; /* in the opcode, in its order */
    uint8_t flags, destinations, count;
    uint8_t operands[LANE_OPERANDS_MAX]; /* their types */
    lane_function *function;
};

/* Rows name types without TYPE_. */
enum {
#define ROW_TYPE(name, text, nbytes) name = TYPE_##name,
    SIMT_TYPES(ROW_TYPE)
#undef ROW_TYPE
};

#define TYPES(...) .types = {__VA_ARGS__}
#define OPERANDS(...) .count = sizeof((const uint8_t[]){__VA_ARGS__}), .operands = {__VA_ARGS__}

struct lane_table {
    const struct lane_row *rows;
    size_t count;
};

/* base, modifiers, (types), function, operands' types: one destination, nothing special */
#define ROW(text, set, in_opcode, name, ...)                                                                 \
    {.base = text, .modifiers = set, TYPES in_opcode, .destinations = 1, OPERANDS(__VA_ARGS__),              \
     .function = lanes_##name}

#define TABLE(rows) {rows, sizeof rows / sizeof *rows}

/* NULL-terminated arrays of tables. */
extern const struct lane_table simt_integer_tables[], simt_bits_tables[], simt_select_tables[],
    simt_float_tables[], simt_half_tables[], simt_compare_tables[], simt_convert_tables[], simt_float8_tables[];

/* The key by which an instruction is looked up. */
struct lane_key {
    const char *base;
    modifier_set modifiers;
    uint8_t types[ROW_TYPES_MAX];
    uint32_t count;                    /* of its operands */
    const enum width *widths;          /* of those that are registers: */
    uint32_t registers;                /* a bit for each */
    const char *parts[LANE_PARTS_MAX]; /* of the first operands: "b0"; NULL: all of it */
};

/* What does the same by one instruction of the host's, where it has it. */
lane_function *simt_lanes_fused(lane_function *function);

/* setp and set; video instructions; conversions that no row has.  They are products of several lists, and have no rows. */
bool simt_compare_find(const struct lane_key *key, struct lane_operation *operation);
bool simt_video_find(const struct lane_key *key, struct lane_operation *operation);
bool simt_convert_find(const struct lane_key *key, struct lane_operation *operation);

#endif
