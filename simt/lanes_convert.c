/* Conversions: cvt.  The common ones are rows; the others are put together here from what they read, how they
 * round, and what they write.  Registers may be wider than a conversion's integer types: the upper bits of a
 * source do not count, a result is extended into them. */
#include <string.h>

#include "lanes_ieee.h"
#include "lanes_loops.h"
#include "lanes_soft.h"

/* ---- common conversions */

/* From and to f64, a NaN keeps its sign and payload, made quiet. */
static inline uint64_t widen_f32(uint32_t bits) {
    uint64_t nan =
        (uint64_t)(bits & 0x80000000) << 32 | 0x7ff8000000000000 | (uint64_t)(bits & 0x7fffff) << 29;
    return is_nan_f32(bits) ? nan : bits_of_f64(f32_of(bits));
}

static inline uint32_t narrow_f64_to_f32(uint64_t bits) {
    uint32_t nan = (uint32_t)(bits >> 32 & 0x80000000) | 0x7fc00000 | (uint32_t)(bits >> 29 & 0x7fffff);
    return is_nan_f64(bits) ? nan : bits_of_f32((float)f64_of(bits));
}

static inline uint32_t widen_f16(uint16_t bits) {
    return is_nan_f16(bits) ? 0x7fffffff : bits_of_f32(f16_of(bits));
}

/* Truncated; what does not fit is the nearest that does, NaN is 0. */
static inline int32_t truncate_s32(float value) {
    if (value >= 0x1p31f) return INT32_MAX;
    return value > -0x1p31f ? (int32_t)value : value == value ? INT32_MIN : 0;
}

static inline uint32_t truncate_u32(float value) {
    if (value >= 0x1p32f) return UINT32_MAX;
    return value > 0 ? (uint32_t)value : 0;
}

UNARY(u64_from_u32, 64, 32, a)
UNARY(s64_from_s32, 64, 32, (int64_t)(int32_t)a)
UNARY(b32_from_b64, 32, 64, a)
UNARY(u32_from_u16, 32, 16, a)
UNARY(s32_from_s16, 32, 16, (int16_t)a)
UNARY(b16_from_b32, 16, 32, a)
UNARY(u64_from_u16, 64, 16, a)
UNARY(s64_from_s16, 64, 16, (int16_t)a)
UNARY(f32_from_s32, 32, 32, bits_of_f32((float)(int32_t)a))
UNARY(f32_from_u32, 32, 32, bits_of_f32((float)a))
UNARY(f32_from_s64, 32, 64, bits_of_f32((float)(int64_t)a))
UNARY(f32_from_u64, 32, 64, bits_of_f32((float)a))
UNARY(f64_from_s32, 64, 32, bits_of_f64((int32_t)a))
UNARY(f64_from_u32, 64, 32, bits_of_f64(a))
UNARY(f64_from_s64, 64, 64, bits_of_f64((double)(int64_t)a))
UNARY(f64_from_u64, 64, 64, bits_of_f64((double)a))
UNARY(s32_from_f32, 32, 32, truncate_s32(f32_of(a)))
UNARY(u32_from_f32, 32, 32, truncate_u32(f32_of(a)))
UNARY(f64_from_f32, 64, 32, widen_f32(a))
UNARY(f32_from_f64, 32, 64, narrow_f64_to_f32(a))
UNARY(f16_from_f32, 16, 32, f16_from(f32_of(a)))
UNARY(bf16_from_f32, 16, 32, bf16_from(f32_of(a)))
UNARY(f32_from_f16, 32, 16, widen_f16(a))
UNARY(f32_from_bf16, 32, 16, (uint32_t)a << 16)
UNARY(same_f16, 16, 16, a)
UNARY(same_f32, 32, 32, a)
UNARY(same_f64, 64, 64, a)

static const struct lane_row rows[] = {
    ROW("cvt", 0, (U64, U32), u64_from_u32, U64, U32),
    ROW("cvt", 0, (S64, U32), u64_from_u32, S64, U32),
    ROW("cvt", 0, (S64, S32), s64_from_s32, S64, S32),
    ROW("cvt", 0, (U64, S32), s64_from_s32, U64, S32),
    ROW("cvt", 0, (U32, U64), b32_from_b64, U32, U64),
    ROW("cvt", 0, (S32, S64), b32_from_b64, S32, S64),
    ROW("cvt", 0, (U32, S64), b32_from_b64, U32, S64),
    ROW("cvt", 0, (S32, U64), b32_from_b64, S32, U64),
    ROW("cvt", 0, (U32, U16), u32_from_u16, U32, U16),
    ROW("cvt", 0, (S32, U16), u32_from_u16, S32, U16),
    ROW("cvt", 0, (S32, S16), s32_from_s16, S32, S16),
    ROW("cvt", 0, (U16, U32), b16_from_b32, U16, U32),
    ROW("cvt", 0, (S16, S32), b16_from_b32, S16, S32),
    ROW("cvt", 0, (U64, U16), u64_from_u16, U64, U16),
    ROW("cvt", 0, (S64, S16), s64_from_s16, S64, S16),
    ROW("cvt", WITH(RN), (F32, S32), f32_from_s32, F32, S32),
    ROW("cvt", WITH(RN), (F32, U32), f32_from_u32, F32, U32),
    ROW("cvt", WITH(RN), (F32, S64), f32_from_s64, F32, S64),
    ROW("cvt", WITH(RN), (F32, U64), f32_from_u64, F32, U64),
    ROW("cvt", WITH(RN), (F64, S32), f64_from_s32, F64, S32),
    ROW("cvt", WITH(RN), (F64, U32), f64_from_u32, F64, U32),
    ROW("cvt", WITH(RN), (F64, S64), f64_from_s64, F64, S64),
    ROW("cvt", WITH(RN), (F64, U64), f64_from_u64, F64, U64),
    ROW("cvt", WITH(RZI), (S32, F32), s32_from_f32, S32, F32),
    ROW("cvt", WITH(RZI), (U32, F32), u32_from_f32, U32, F32),
    ROW("cvt", 0, (F64, F32), f64_from_f32, F64, F32),
    ROW("cvt", WITH(RN), (F32, F64), f32_from_f64, F32, F64),
    ROW("cvt", WITH(RN), (F16, F32), f16_from_f32, F16, F32),
    ROW("cvt", WITH(RN), (BF16, F32), bf16_from_f32, BF16, F32),
    ROW("cvt", 0, (F32, F16), f32_from_f16, F32, F16),
    ROW("cvt", 0, (F32, BF16), f32_from_bf16, F32, BF16),
    ROW("cvt", 0, (F16, F16), same_f16, F16, F16),
    ROW("cvt", 0, (BF16, BF16), same_f16, BF16, BF16),
    ROW("cvt", 0, (F32, F32), same_f32, F32, F32),
    ROW("cvt", 0, (F64, F64), same_f64, F64, F64),
};

const struct lane_table simt_convert_tables[] = {TABLE(rows), {NULL, 0}};

/* ---- all the others: of a type in a register of so many bits, to another */

#define ENDPOINT(type, bits) ((uint32_t)TYPE_##type << 8 | (bits))

static enum type endpoint_type(uint32_t endpoint) {
    return (enum type)(endpoint >> 8);
}

static bool is_signed(enum type type) {
    return type >= TYPE_S8 && type <= TYPE_S64;
}

static uint32_t type_bits(enum type type) {
    static const uint8_t nbytes[] = {
        0,
#define X(name, text, nbytes) nbytes,
        SIMT_TYPES(X)
#undef X
    };
    return nbytes[type] * 8u;
}

static const struct format *format_of(enum type type) {
    switch (type) {
    case TYPE_F16: return &simt_f16;
    case TYPE_BF16: return &simt_bf16;
    case TYPE_F32: return &simt_f32;
    case TYPE_F64: return &simt_f64;
    default: return NULL;
    }
}

static uint64_t load(const void *lanes, uint32_t lane, uint32_t endpoint) {
    switch (endpoint & 0xff) {
    case 16: return ((const uint16_t *)lanes)[lane];
    case 32: return ((const uint32_t *)lanes)[lane];
    default: return ((const uint64_t *)lanes)[lane];
    }
}

static void store(void *lanes, uint32_t lane, uint32_t endpoint, uint64_t value) {
    switch (endpoint & 0xff) {
    case 16: ((uint16_t *)lanes)[lane] = (uint16_t)value; break;
    case 32: ((uint32_t *)lanes)[lane] = (uint32_t)value; break;
    default: ((uint64_t *)lanes)[lane] = value; break;
    }
}

/* The lowest bits of `value` as a number of the integer type. */
static uint64_t extend(uint64_t value, enum type type) {
    uint32_t above = 64 - type_bits(type);
    return is_signed(type) ? (uint64_t)((int64_t)(value << above) >> above) : value << above >> above;
}

static void truncate_lanes(void *const *operands, uint32_t mask, uint32_t source, uint32_t destination) {
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        uint64_t value = extend(load(operands[1], lane, source), endpoint_type(source));
        store(operands[0], lane, destination, extend(value, endpoint_type(destination)));
    }
}

/* How a conversion rounds, and its finish above that. */
enum { MODE_ROUNDING = 3, MODE_INTEGRAL = 4, MODE_FINISH_SHIFT = 3 };

static struct number load_number(const void *lanes, uint32_t lane, uint32_t source, unsigned finish) {
    enum type type = endpoint_type(source);
    uint64_t bits = load(lanes, lane, source);
    if (type == TYPE_F32 && finish & FINISH_FLUSH)
        bits = is_nan_f32((uint32_t)bits) ? simt_f32.nan : flush_f32((uint32_t)bits);
    if (format_of(type)) return simt_number_unpack(bits, format_of(type));
    bits = extend(bits, type);
    bool is_negative = is_signed(type) && bits >> 63;
    return simt_number_from_integer(is_negative ? -bits : bits, is_negative);
}

/* NaN is 0, but the number with only its highest bit set where f64 or 64 bits come in. */
static uint64_t clamp_to_integer(struct number number, enum type source, enum type type) {
    uint64_t highest = (uint64_t)1 << (type_bits(type) - 1);
    uint64_t nan = source == TYPE_F64 || type_bits(type) == 64 ? highest : 0;
    uint64_t maximum = is_signed(type) ? highest - 1 : highest - 1 + highest;
    int64_t minimum = is_signed(type) ? -(int64_t)(highest - 1) - 1 : 0;
    return simt_number_to_integer(number, minimum, maximum, nan);
}

static void convert_lanes(void *const *operands, uint32_t mask, uint32_t source, uint32_t destination,
                          unsigned mode) {
    unsigned finish = mode >> MODE_FINISH_SHIFT;
    enum rounding rounding = (enum rounding)(mode & MODE_ROUNDING);
    enum type type = endpoint_type(destination);
    const struct format *format = format_of(type);
    bool keeps_payload = type == TYPE_F64 || endpoint_type(source) == TYPE_F64;
    unsigned flush = finish & FINISH_FLUSH,
             others = (finish & ~flush) | (keeps_payload ? FINISH_PAYLOAD : 0u);
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        struct number number = load_number(operands[1], lane, source, finish);
        if (mode & MODE_INTEGRAL) number = simt_number_round(number, rounding);
        uint64_t bits = format ? simt_number_pack(number, format, rounding, others)
                               : extend(clamp_to_integer(number, endpoint_type(source), type), type);
        if (flush && type == TYPE_F32)
            bits = flush_f32((uint32_t)bits); /* once it is rounded, unlike arithmetic */
        store(operands[0], lane, destination, bits);
    }
}

/* Every pair has a function of its own.  Lists within lists need other names: so each has a second. */
#define INTEGERS(X)                                                                                          \
    X(U8, 16) X(U8, 32) X(U8, 64) X(S8, 16) X(S8, 32) X(S8, 64) X(U16, 16) X(U16, 32) X(U16, 64)             \
    X(S16, 16) X(S16, 32) X(S16, 64) X(U32, 32) X(U32, 64) X(S32, 32) X(S32, 64) X(U64, 64) X(S64, 64)
#define TO_INTEGERS(X, s, sb)                                                                                \
    X(s, sb, U8, 16) X(s, sb, U8, 32) X(s, sb, U8, 64) X(s, sb, S8, 16) X(s, sb, S8, 32) X(s, sb, S8, 64)    \
    X(s, sb, U16, 16) X(s, sb, U16, 32) X(s, sb, U16, 64)                                                    \
    X(s, sb, S16, 16) X(s, sb, S16, 32) X(s, sb, S16, 64)                                                    \
    X(s, sb, U32, 32) X(s, sb, U32, 64) X(s, sb, S32, 32) X(s, sb, S32, 64)                                  \
    X(s, sb, U64, 64) X(s, sb, S64, 64)
#define FLOATS(X) X(F16, 16) X(BF16, 16) X(F32, 32) X(F64, 64)
#define TO_FLOATS(X, s, sb) X(s, sb, F16, 16) X(s, sb, BF16, 16) X(s, sb, F32, 32) X(s, sb, F64, 64)

/* The modifiers of modes 0 .. 7, and the finishes that there are, as the sum of their flags. */
static const uint64_t rounding_modifiers[] = {WITH(RN),  WITH(RZ),  WITH(RM),  WITH(RP),
                                              WITH(RNI), WITH(RZI), WITH(RMI), WITH(RPI)};
#define MODES_ROUNDING(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(3, __VA_ARGS__)
#define MODES_INTEGRAL(X, ...) X(4, __VA_ARGS__) X(5, __VA_ARGS__) X(6, __VA_ARGS__) X(7, __VA_ARGS__)
#define FINISHES_FLUSH(X, ...) X(0, __VA_ARGS__) X(8, __VA_ARGS__)
#define FINISHES_SAT(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__)
#define FINISHES_FLUSH_SAT(X, ...) X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(8, __VA_ARGS__) X(9, __VA_ARGS__)
#define FINISHES(X, ...)                                                                                     \
    X(0, __VA_ARGS__) X(1, __VA_ARGS__) X(2, __VA_ARGS__) X(4, __VA_ARGS__) X(6, __VA_ARGS__)                \
    X(8, __VA_ARGS__) X(9, __VA_ARGS__) X(10, __VA_ARGS__) X(12, __VA_ARGS__) X(14, __VA_ARGS__)
enum { FINISH_COUNT = 16, MODE_COUNT = 8 };

/* A function's name, and how it and its entry in a table are written. */
#define NAME(finish, mode, s, sb, d, db) s##_##sb##_to_##d##_##db##_##mode##_##finish
#define CONVERSION(finish, mode, s, sb, d, db)                                                               \
    static void NAME(finish, mode, s, sb, d, db)(void *const *operands, uint32_t mask) {                     \
        convert_lanes(operands, mask, ENDPOINT(s, sb), ENDPOINT(d, db), mode | finish << MODE_FINISH_SHIFT); \
    }
#define ENTRY(finish, mode, s, sb, d, db)                                                                    \
    [AT_##s##_##sb][AT_##d##_##db][mode][finish] = NAME(finish, mode, s, sb, d, db),
#define TRUNCATION(s, sb, d, db)                                                                             \
    static void s##_##sb##_to_##d##_##db(void *const *operands, uint32_t mask) {                             \
        truncate_lanes(operands, mask, ENDPOINT(s, sb), ENDPOINT(d, db));                                    \
    }
#define TRUNCATION_ENTRY(s, sb, d, db) [AT_##s##_##sb][AT_##d##_##db] = s##_##sb##_to_##d##_##db,
#define SATURATION_ENTRY(s, sb, d, db) [AT_##s##_##sb][AT_##d##_##db] = NAME(1, 0, s, sb, d, db),

enum {
#define X(type, bits) AT_##type##_##bits,
    INTEGERS(X) INTEGER_COUNT
#undef X
};

enum {
#define X(type, bits) AT_##type##_##bits,
    FLOATS(X) FLOAT_COUNT
#undef X
};

/* integers to integers */
#define SATURATION(...) CONVERSION(1, 0, __VA_ARGS__)
#define X(s, sb) TO_INTEGERS(TRUNCATION, s, sb) TO_INTEGERS(SATURATION, s, sb)
INTEGERS(X)
#undef X

static lane_function *const truncations[INTEGER_COUNT][INTEGER_COUNT] = {
#define X(s, sb) TO_INTEGERS(TRUNCATION_ENTRY, s, sb)
    INTEGERS(X)
#undef X
};

static lane_function *const saturations[INTEGER_COUNT][INTEGER_COUNT] = {
#define X(s, sb) TO_INTEGERS(SATURATION_ENTRY, s, sb)
    INTEGERS(X)
#undef X
};

/* floats to integers */
#define TO_INTEGER(mode, ...) FINISHES_FLUSH(CONVERSION, mode, __VA_ARGS__)
#define TO_INTEGER_MODES(...) MODES_INTEGRAL(TO_INTEGER, __VA_ARGS__)
#define TO_INTEGER_ENTRY(mode, ...) FINISHES_FLUSH(ENTRY, mode, __VA_ARGS__)
#define TO_INTEGER_ENTRIES(...) MODES_INTEGRAL(TO_INTEGER_ENTRY, __VA_ARGS__)
#define X(s, sb) TO_INTEGERS(TO_INTEGER_MODES, s, sb)
FLOATS(X)
#undef X

static lane_function *const to_integers[FLOAT_COUNT][INTEGER_COUNT][MODE_COUNT][FINISH_COUNT] = {
#define X(s, sb) TO_INTEGERS(TO_INTEGER_ENTRIES, s, sb)
    FLOATS(X)
#undef X
};

/* integers to floats */
#define FROM_INTEGER(mode, ...) FINISHES_SAT(CONVERSION, mode, __VA_ARGS__)
#define FROM_INTEGER_MODES(...) MODES_ROUNDING(FROM_INTEGER, __VA_ARGS__)
#define FROM_INTEGER_ENTRY(mode, ...) FINISHES_SAT(ENTRY, mode, __VA_ARGS__)
#define FROM_INTEGER_ENTRIES(...) MODES_ROUNDING(FROM_INTEGER_ENTRY, __VA_ARGS__)
#define X(s, sb) TO_FLOATS(FROM_INTEGER_MODES, s, sb)
INTEGERS(X)
#undef X

static lane_function *const from_integers[INTEGER_COUNT][FLOAT_COUNT][MODE_COUNT][FINISH_COUNT] = {
#define X(s, sb) TO_FLOATS(FROM_INTEGER_ENTRIES, s, sb)
    INTEGERS(X)
#undef X
};

/* floats to floats */
#define ROUNDED(mode, ...) FINISHES(CONVERSION, mode, __VA_ARGS__)
#define INTEGRAL(mode, ...) FINISHES_FLUSH_SAT(CONVERSION, mode, __VA_ARGS__)
#define FLOAT_MODES(...) MODES_ROUNDING(ROUNDED, __VA_ARGS__) MODES_INTEGRAL(INTEGRAL, __VA_ARGS__)
#define ROUNDED_ENTRY(mode, ...) FINISHES(ENTRY, mode, __VA_ARGS__)
#define INTEGRAL_ENTRY(mode, ...) FINISHES_FLUSH_SAT(ENTRY, mode, __VA_ARGS__)
#define FLOAT_ENTRIES(...)                                                                                   \
    MODES_ROUNDING(ROUNDED_ENTRY, __VA_ARGS__) MODES_INTEGRAL(INTEGRAL_ENTRY, __VA_ARGS__)
#define X(s, sb) TO_FLOATS(FLOAT_MODES, s, sb)
FLOATS(X)
#undef X

static lane_function *const floats[FLOAT_COUNT][FLOAT_COUNT][MODE_COUNT][FINISH_COUNT] = {
#define X(s, sb) TO_FLOATS(FLOAT_ENTRIES, s, sb)
    FLOATS(X)
#undef X
};

/* ---- finding them */

static const uint32_t integer_endpoints[] = {
#define X(type, bits) ENDPOINT(type, bits),
    INTEGERS(X)
#undef X
};

static const uint32_t float_endpoints[] = {
#define X(type, bits) ENDPOINT(type, bits),
    FLOATS(X)
#undef X
};

/* Where an operand's type and width are in one of the lists; -1: nowhere. */
static int find_endpoint(const struct lane_key *key, uint32_t operand, const uint32_t *endpoints, int count) {
    static const uint32_t bits[] = {[WIDTH_16] = 16, [WIDTH_32] = 32, [WIDTH_64] = 64};
    enum type type = (enum type)key->types[operand];
    enum width width = key->registers >> operand & 1 ? key->widths[operand] : simt_width(type);
    for (int i = 0; i < count; i++)
        if (endpoints[i] == ((uint32_t)type << 8 | bits[width])) return i;
    return -1;
}

static unsigned finish_of(uint64_t modifiers) {
    return (modifiers & WITH(SAT) ? FINISH_SAT : 0u) | (modifiers & WITH(RELU) ? FINISH_RELU : 0u) |
           (modifiers & WITH(SATFINITE) ? FINISH_SATFINITE : 0u) |
           (modifiers & WITH(FTZ) ? FINISH_FLUSH : 0u);
}

/* -1: none; -2: what is no rounding. */
static int find_mode(uint64_t modifiers) {
    modifiers &= ~(WITH(SAT) | WITH(RELU) | WITH(SATFINITE) | WITH(FTZ));
    if (!modifiers) return -1;
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (rounding_modifiers[mode] == modifiers) return mode;
    return -2;
}

static bool is_narrowing(enum type to, enum type from) {
    return format_of(to)->precision < format_of(from)->precision ||
           format_of(to)->exponent_bits < format_of(from)->exponent_bits;
}

/* A rounding is there exactly where one is needed. */
static lane_function *find_float(enum type to, enum type from, int to_index, int from_index, int mode,
                                 unsigned finish) {
    if (finish & FINISH_FLUSH && to != TYPE_F32 && from != TYPE_F32) return NULL;
    if (mode > MODE_ROUNDING && to != from) return NULL;
    if (mode >= 0 && mode <= MODE_ROUNDING && !is_narrowing(to, from)) return NULL;
    if (mode < 0 && is_narrowing(to, from)) return NULL;
    return floats[from_index][to_index][mode < 0 ? 0 : mode][finish];
}

static lane_function *find_function(const struct lane_key *key) {
    enum type to = (enum type)key->types[0], from = (enum type)key->types[1];
    int to_integer = find_endpoint(key, 0, integer_endpoints, INTEGER_COUNT);
    int from_integer = find_endpoint(key, 1, integer_endpoints, INTEGER_COUNT);
    int to_float = find_endpoint(key, 0, float_endpoints, FLOAT_COUNT);
    int from_float = find_endpoint(key, 1, float_endpoints, FLOAT_COUNT);
    int mode = find_mode(key->modifiers);
    unsigned finish = finish_of(key->modifiers);
    if (mode == -2) return NULL;
    if (to_integer >= 0 && from_integer >= 0 && mode < 0) {
        if (finish == FINISH_SAT) return saturations[from_integer][to_integer];
        return finish == FINISH_NONE ? truncations[from_integer][to_integer] : NULL;
    }
    if (to_integer >= 0 && from_float >= 0 && mode >= 0) {
        finish &= ~(unsigned)FINISH_SAT; /* it always is */
        if (finish & FINISH_FLUSH && from != TYPE_F32) return NULL;
        return to_integers[from_float][to_integer][mode][finish];
    }
    if (to_float >= 0 && from_integer >= 0 && mode >= 0)
        return from_integers[from_integer][to_float][mode][finish];
    if (to_float >= 0 && from_float >= 0) return find_float(to, from, to_float, from_float, mode, finish);
    return NULL;
}

bool simt_convert_find(const struct lane_key *key, struct lane_operation *operation) {
    if (strcmp(key->base, "cvt") != 0 || key->count != 2 || key->types[2] != TYPE_NONE) return false;
    lane_function *function = find_function(key);
    if (!function) return false;
    *operation = (struct lane_operation){.function = function,
                                         .count = 2,
                                         .destinations = 1,
                                         .types = {(enum type)key->types[0], (enum type)key->types[1]}};
    return true;
}
