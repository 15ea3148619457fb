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
/* To the f32 whose lowest bits, which tf32 lacks, are 0 (tf32_rn: lanes_ieee.h).  rna takes halves away from zero, cuts a NaN's payload, which may
 * leave an infinity, and .satfinite takes one step off whatever is not finite then; rn and rz have one NaN.  All as an
 * H200 does it. */
static inline uint32_t tf32_rna(uint32_t bits) {
    return (bits + (is_nan_f32(bits) ? 0 : TF32_STEP / 2)) & (uint32_t)TF32_MASK;
}

static inline uint32_t tf32_rz(uint32_t bits) {
    return is_nan_f32(bits) ? TF32_NAN : bits & (uint32_t)TF32_MASK;
}

static inline uint32_t tf32_finite(uint32_t bits) {
    return bits - ((bits & 0x7fffffff) >= 0x7f800000 ? TF32_STEP : 0);
}

static inline uint32_t tf32_relu(uint32_t bits) {
    return bits >> 31 ? 0 : bits;
}

UNARY(tf32_rna_f32, 32, 32, tf32_rna(a))
UNARY(tf32_rna_satfinite_f32, 32, 32, tf32_finite(tf32_rna(a)))
UNARY(tf32_rn_f32, 32, 32, tf32_rn(a))
UNARY(tf32_rn_relu_f32, 32, 32, tf32_relu(tf32_rn(a)))
UNARY(tf32_rz_f32, 32, 32, tf32_rz(a))
UNARY(tf32_rz_relu_f32, 32, 32, tf32_relu(tf32_rz(a)))
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
    ROW("cvt", WITH(TF32) | WITH(RNA), (F32), tf32_rna_f32, B32, F32),
    ROW("cvt", WITH(TF32) | WITH(RNA) | WITH(SATFINITE), (F32), tf32_rna_satfinite_f32, B32, F32),
    ROW("cvt", WITH(TF32) | WITH(RN), (F32), tf32_rn_f32, B32, F32),
    ROW("cvt", WITH(TF32) | WITH(RN) | WITH(RELU), (F32), tf32_rn_relu_f32, B32, F32),
    ROW("cvt", WITH(TF32) | WITH(RZ), (F32), tf32_rz_f32, B32, F32),
    ROW("cvt", WITH(TF32) | WITH(RZ) | WITH(RELU), (F32), tf32_rz_relu_f32, B32, F32),
    ROW("cvt", 0, (F32, F16), f32_from_f16, F32, F16),
    ROW("cvt", 0, (F32, BF16), f32_from_bf16, F32, BF16),
    ROW("cvt", 0, (F16, F16), same_f16, F16, F16),
    ROW("cvt", 0, (BF16, BF16), same_f16, BF16, BF16),
    ROW("cvt", 0, (F32, F32), same_f32, F32, F32),
    ROW("cvt", 0, (F64, F64), same_f64, F64, F64),
};

const struct lane_table simt_convert_tables[] = {TABLE(rows), {NULL, 0}};

/* ---- all the others: of a type in a register of any width, to another
 *
 * Either is an endpoint: the type, and below it the bits.  The context of the two functions is the source,
 * the destination above it, and above that how it is rounded and finished. */

enum { ENDPOINT_BITS = 16, MODE_SHIFT = 2 * ENDPOINT_BITS };

static uint32_t endpoint(enum type type, uint32_t bits) {
    return (uint32_t)type << 8 | bits;
}

static uint32_t source_of(uint64_t context) {
    return context & 0xffff;
}

static uint32_t destination_of(uint64_t context) {
    return context >> ENDPOINT_BITS & 0xffff;
}

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

static void truncate_lanes(struct lane_operands operands, uint32_t mask) {
    uint32_t source = source_of(operands.call->context), destination = destination_of(operands.call->context);
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        uint64_t value = extend(load(lanes_of(operands, 1), lane, source), endpoint_type(source));
        store(lanes_of(operands, 0), lane, destination, extend(value, endpoint_type(destination)));
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

static void convert_lanes(struct lane_operands operands, uint32_t mask) {
    uint32_t source = source_of(operands.call->context), destination = destination_of(operands.call->context);
    unsigned mode = (unsigned)(operands.call->context >> MODE_SHIFT), finish = mode >> MODE_FINISH_SHIFT;
    enum rounding rounding = (enum rounding)(mode & MODE_ROUNDING);
    enum type type = endpoint_type(destination);
    const struct format *format = format_of(type);
    bool keeps_payload = type == TYPE_F64 || endpoint_type(source) == TYPE_F64;
    unsigned flush = type == TYPE_F32 ? finish & FINISH_FLUSH : 0u,
             others = (finish & ~(unsigned)FINISH_FLUSH) | flush | (keeps_payload ? FINISH_PAYLOAD : 0u);
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        struct number number = load_number(lanes_of(operands, 1), lane, source, finish);
        if (mode & MODE_INTEGRAL) number = simt_number_round(number, rounding);
        uint64_t bits = format ? simt_number_pack(number, format, rounding, others)
                               : extend(clamp_to_integer(number, endpoint_type(source), type), type);
        store(lanes_of(operands, 0), lane, destination, bits);
    }
}

/* ---- finding them */

/* The modifiers of modes 0 .. 7. */
static const modifier_set rounding_modifiers[] = {WITH(RN),  WITH(RZ),  WITH(RM),  WITH(RP),
                                              WITH(RNI), WITH(RZI), WITH(RMI), WITH(RPI)};
enum { MODE_COUNT = 8 };

static bool is_integer(enum type type) {
    return (type >= TYPE_U8 && type <= TYPE_U64) || is_signed(type);
}

/* The operand's type and its register; 0: the one does not fit the other, or is no number.  An integer's
 * register may be wider. */
static uint32_t find_endpoint(const struct lane_key *key, uint32_t operand) {
    static const uint32_t bits[] = {[WIDTH_16] = 16, [WIDTH_32] = 32, [WIDTH_64] = 64};
    enum type type = (enum type)key->types[operand];
    enum width own = simt_width(type), width = key->registers >> operand & 1 ? key->widths[operand] : own;
    if (width == WIDTH_PREDICATE || (!is_integer(type) && !format_of(type))) return 0;
    return width == own || (is_integer(type) && width > own) ? endpoint(type, bits[width]) : 0;
}

static unsigned finish_of(modifier_set modifiers) {
    return (modifiers & WITH(SAT) ? FINISH_SAT : 0u) | (modifiers & WITH(RELU) ? FINISH_RELU : 0u) |
           (modifiers & WITH(SATFINITE) ? FINISH_SATFINITE : 0u) |
           (modifiers & WITH(FTZ) ? FINISH_FLUSH : 0u);
}

enum { NO_MODE = -1, UNKNOWN_MODE = -2 };

static int find_mode(modifier_set modifiers) {
    modifiers &= ~(WITH(SAT) | WITH(RELU) | WITH(SATFINITE) | WITH(FTZ));
    if (!modifiers) return NO_MODE;
    for (int mode = 0; mode < MODE_COUNT; mode++)
        if (rounding_modifiers[mode] == modifiers) return mode;
    return UNKNOWN_MODE;
}

static bool is_narrowing(enum type to, enum type from) {
    return format_of(to)->precision < format_of(from)->precision ||
           format_of(to)->exponent_bits < format_of(from)->exponent_bits;
}

/* A rounding is there exactly where one is needed, and may be where bf16 is widened.  Numbers are cut to [0, 1], or to others, not both. */
static bool is_float_conversion(enum type to, enum type from, int mode, unsigned finish) {
    bool is_integral = mode >= MODE_INTEGRAL;
    if (finish & FINISH_FLUSH && to != TYPE_F32 && from != TYPE_F32) return false;
    if (is_integral) return to == from && !(finish & ~(unsigned)(FINISH_FLUSH | FINISH_SAT));
    if (finish & FINISH_SAT && finish & (FINISH_RELU | FINISH_SATFINITE)) return false;
    const bool is_exact = from == TYPE_BF16 && (to == TYPE_F32 || to == TYPE_F64) && !(finish & ~(unsigned)FINISH_FLUSH);
    return is_narrowing(to, from) == (mode != NO_MODE) || is_exact;
}

/* *finish loses what makes no difference. */
static bool is_conversion(enum type to, enum type from, int mode, unsigned *finish) {
    if (is_integer(to) && is_integer(from)) return mode == NO_MODE && !(*finish & ~(unsigned)FINISH_SAT);
    if (is_integer(to)) {
        *finish &= ~(unsigned)FINISH_SAT; /* it always is */
        bool is_plain = *finish == FINISH_NONE || (*finish == FINISH_FLUSH && from == TYPE_F32);
        return mode >= MODE_INTEGRAL && is_plain;
    }
    if (is_integer(from)) return mode >= 0 && mode < MODE_INTEGRAL && !(*finish & ~(unsigned)FINISH_SAT);
    return is_float_conversion(to, from, mode, *finish);
}

bool simt_convert_find(const struct lane_key *key, struct lane_operation *operation) {
    if (!simt_is_word(key->base, "cvt") || key->count != 2 || key->types[2] != TYPE_NONE) return false;
    enum type to = (enum type)key->types[0], from = (enum type)key->types[1];
    uint32_t destination = find_endpoint(key, 0), source = find_endpoint(key, 1);
    int mode = find_mode(key->modifiers);
    unsigned finish = finish_of(key->modifiers);
    if (!destination || !source || mode == UNKNOWN_MODE) return false;
    if (!is_conversion(to, from, mode, &finish)) return false;
    bool is_truncation = is_integer(to) && is_integer(from) && finish == FINISH_NONE;
    uint64_t how = (unsigned)(mode == NO_MODE ? 0 : mode) | finish << MODE_FINISH_SHIFT;
    *operation = (struct lane_operation){.function = is_truncation ? truncate_lanes : convert_lanes,
                                         .context = how << MODE_SHIFT | destination << ENDPOINT_BITS | source,
                                         .count = 2,
                                         .destinations = 1,
                                         .types = {to, from}};
    return true;
}
