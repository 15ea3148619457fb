/* Comparisons: setp and set.  Comparing is a function that gives a bit for each lane, and is the context of
 * what becomes of the bits: joined with a third operand or not, they go into a predicate, into one and its
 * opposite into another, or into the lanes of a register. */
#include <string.h>

#include "lanes_ieee.h"
#include "lanes_loops.h"

/* name, value: a and b ordered as floats are, where not all are equal, less or greater */
#define INTEGER_COMPARISONS(X)                                                                               \
    X(EQ, a == b)                                                                                            \
    X(NE, a != b)                                                                                            \
    X(LT, a < b)                                                                                             \
    X(LE, a <= b)                                                                                            \
    X(GT, a > b)                                                                                             \
    X(GE, a >= b)

#define FLOAT_COMPARISONS(X)                                                                                 \
    X(EQ, a == b)                                                                                            \
    X(NE, a < b || a > b)                                                                                    \
    X(LT, a < b)                                                                                             \
    X(LE, a <= b)                                                                                            \
    X(GT, a > b)                                                                                             \
    X(GE, a >= b)                                                                                            \
    X(EQU, !(a < b || a > b))                                                                                \
    X(NEU, a != b)                                                                                           \
    X(LTU, !(a >= b))                                                                                        \
    X(LEU, !(a > b))                                                                                         \
    X(GTU, !(a <= b))                                                                                        \
    X(GEU, !(a < b))                                                                                         \
    X(IS_NUM, a == a && b == b)                                                                              \
    X(IS_NAN, a != a || b != b)

enum comparison {
#define X(name, value) COMPARISON_##name,
    FLOAT_COMPARISONS(X)
#undef X
    COMPARISON_COUNT
};

enum boolean { BOOLEAN_NONE, BOOLEAN_AND, BOOLEAN_OR, BOOLEAN_XOR, BOOLEAN_COUNT };

/* setp p; setp p|q; set of an integer type of 32 bits, of 16, of f32, of f16, of bf16; setp of pairs of 16-bit numbers */
enum target {
    TARGET_predicate,
    TARGET_pair,
    TARGET_ones,
    TARGET_short,
    TARGET_f32,
    TARGET_f16,
    TARGET_bf16,
    TARGET_halves,
    TARGET_COUNT
};

typedef uint32_t compare_function(const void *a, const void *b);

/* The context: how two registers compare; `setp` is the commonest of all that becomes of it, in one piece. */
struct comparing {
    compare_function *compare;
    lane_function *setp;
};

/* Comparisons of pairs of 16-bit numbers; `one`: the number 1 in their format. */
struct halves {
    compare_function *low, *high;
    uint16_t one;
};

/* `with`: which operand it is joined with, where it is. */
static inline uint32_t join(enum boolean boolean, uint32_t holds, struct lane_operands operands,
                            uint32_t with) {
    switch (boolean) {
    case BOOLEAN_AND: return holds & *(const uint32_t *)lanes_of(operands, with);
    case BOOLEAN_OR: return holds | *(const uint32_t *)lanes_of(operands, with);
    case BOOLEAN_XOR: return holds ^ *(const uint32_t *)lanes_of(operands, with);
    default: return holds;
    }
}

static inline void write_predicate(uint32_t *result, uint32_t mask, uint32_t holds) {
    *result = (*result & ~mask) | (holds & mask);
}

static uint32_t compare(struct lane_operands operands, uint32_t first) {
    const struct comparing *comparing = (const struct comparing *)(uintptr_t)operands.call->context;
    return comparing->compare(lanes_of(operands, first), lanes_of(operands, first + 1));
}

static void set_lanes(uint32_t *result, uint32_t mask, uint32_t holds, uint32_t value) {
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        result[lane] = holds >> lane & 1 ? value : 0;
    }
}

static void set_narrow(uint16_t *result, uint32_t mask, uint32_t holds, uint16_t value) {
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        result[lane] = holds >> lane & 1 ? value : 0;
    }
}

static inline void combine_predicate(struct lane_operands operands, uint32_t mask, enum boolean boolean) {
    write_predicate(lanes_of(operands, 0), mask, join(boolean, compare(operands, 1), operands, 3));
}

static inline void combine_pair(struct lane_operands operands, uint32_t mask, enum boolean boolean) {
    uint32_t holds = compare(operands, 2);
    uint32_t first = join(boolean, holds, operands, 4), second = join(boolean, ~holds, operands, 4);
    write_predicate(lanes_of(operands, 0), mask, first);
    write_predicate(lanes_of(operands, 1), mask, second);
}

static inline void combine_ones(struct lane_operands operands, uint32_t mask, enum boolean boolean) {
    set_lanes(lanes_of(operands, 0), mask, join(boolean, compare(operands, 1), operands, 3), UINT32_MAX);
}

static inline void combine_short(struct lane_operands operands, uint32_t mask, enum boolean boolean) {
    set_narrow(lanes_of(operands, 0), mask, join(boolean, compare(operands, 1), operands, 3), UINT16_MAX);
}

static inline void combine_f32(struct lane_operands operands, uint32_t mask, enum boolean boolean) {
    set_lanes(lanes_of(operands, 0), mask, join(boolean, compare(operands, 1), operands, 3), 0x3f800000);
}

static inline void combine_f16(struct lane_operands operands, uint32_t mask, enum boolean boolean) {
    set_narrow(lanes_of(operands, 0), mask, join(boolean, compare(operands, 1), operands, 3), 0x3c00);
}

static inline void combine_bf16(struct lane_operands operands, uint32_t mask, enum boolean boolean) {
    set_narrow(lanes_of(operands, 0), mask, join(boolean, compare(operands, 1), operands, 3), 0x3f80);
}

static inline void combine_halves(struct lane_operands operands, uint32_t mask, enum boolean boolean) {
    const struct halves *halves = (const struct halves *)(uintptr_t)operands.call->context;
    const void *a = lanes_of(operands, 2), *b = lanes_of(operands, 3);
    uint32_t low = join(boolean, halves->low(a, b), operands, 4);
    uint32_t high = join(boolean, halves->high(a, b), operands, 4);
    write_predicate(lanes_of(operands, 0), mask, low);
    write_predicate(lanes_of(operands, 1), mask, high);
}

#define BOOLEANS(X, target) X(target, NONE) X(target, AND) X(target, OR) X(target, XOR)
#define COMBINATIONS(X)                                                                                      \
    BOOLEANS(X, predicate) BOOLEANS(X, pair) BOOLEANS(X, ones) BOOLEANS(X, short) BOOLEANS(X, f32)           \
    BOOLEANS(X, f16) BOOLEANS(X, bf16) BOOLEANS(X, halves)

#define X(target, boolean)                                                                                   \
    static void to_##target##_##boolean(struct lane_operands operands, uint32_t mask) {                      \
        combine_##target(operands, mask, BOOLEAN_##boolean);                                                 \
    }
COMBINATIONS(X)
#undef X

static lane_function *const combinations[TARGET_COUNT][BOOLEAN_COUNT] = {
#define X(target, boolean) [TARGET_##target][BOOLEAN_##boolean] = to_##target##_##boolean,
    COMBINATIONS(X)
#undef X
};

/* set of pairs: a half of the register each. */
static void set_halves(struct lane_operands operands, uint32_t mask, uint32_t value) {
    const struct halves *halves = (const struct halves *)(uintptr_t)operands.call->context;
    const void *a = lanes_of(operands, 1), *b = lanes_of(operands, 2);
    uint32_t low = halves->low(a, b), high = halves->high(a, b), *result = lanes_of(operands, 0);
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        result[lane] = (low >> lane & 1 ? value : 0) | (high >> lane & 1 ? value << 16 : 0);
    }
}

static void set_halves_ones(struct lane_operands operands, uint32_t mask) {
    set_halves(operands, mask, 0xffff);
}

static void set_halves_numbers(struct lane_operands operands, uint32_t mask) {
    set_halves(operands, mask, ((const struct halves *)(uintptr_t)operands.call->context)->one);
}

/* ---- comparing */

#define NAME(name) name##_u16
#define ELEMENT uint16_t
#define VALUE(element) (element)
#define COMPARISONS INTEGER_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_s16
#define ELEMENT uint16_t
#define VALUE(element) ((int16_t)(element))
#define COMPARISONS INTEGER_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_u32
#define ELEMENT uint32_t
#define VALUE(element) (element)
#define COMPARISONS INTEGER_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_s32
#define ELEMENT uint32_t
#define VALUE(element) ((int32_t)(element))
#define COMPARISONS INTEGER_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_u64
#define ELEMENT uint64_t
#define VALUE(element) (element)
#define COMPARISONS INTEGER_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_s64
#define ELEMENT uint64_t
#define VALUE(element) ((int64_t)(element))
#define COMPARISONS INTEGER_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_f16
#define ELEMENT uint16_t
#define VALUE(element) f16_of(element)
#define COMPARISONS FLOAT_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_f16_ftz
#define ELEMENT uint16_t
#define VALUE(element) f16_of(flush_f16(element))
#define COMPARISONS FLOAT_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_bf16
#define ELEMENT uint16_t
#define VALUE(element) bf16_of(element)
#define COMPARISONS FLOAT_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_f32
#define ELEMENT uint32_t
#define VALUE(element) f32_of(element)
#define COMPARISONS FLOAT_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_f32_ftz
#define ELEMENT uint32_t
#define VALUE(element) f32_of(flush_f32(element))
#define COMPARISONS FLOAT_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_f64
#define ELEMENT uint64_t
#define VALUE(element) f64_of(element)
#define COMPARISONS FLOAT_COMPARISONS
#include "lanes_compare.inc"

#define NAME(name) name##_f16x2_low
#define ELEMENT uint32_t
#define VALUE(element) f16_of((uint16_t)((element)))
#define COMPARISONS FLOAT_COMPARISONS
#define IS_HALF
#include "lanes_compare.inc"

#define NAME(name) name##_f16x2_high
#define ELEMENT uint32_t
#define VALUE(element) f16_of((uint16_t)((element) >> 16))
#define COMPARISONS FLOAT_COMPARISONS
#define IS_HALF
#include "lanes_compare.inc"

#define NAME(name) name##_f16x2_ftz_low
#define ELEMENT uint32_t
#define VALUE(element) f16_of(flush_f16((uint16_t)((element))))
#define COMPARISONS FLOAT_COMPARISONS
#define IS_HALF
#include "lanes_compare.inc"

#define NAME(name) name##_f16x2_ftz_high
#define ELEMENT uint32_t
#define VALUE(element) f16_of(flush_f16((uint16_t)((element) >> 16)))
#define COMPARISONS FLOAT_COMPARISONS
#define IS_HALF
#include "lanes_compare.inc"

#define NAME(name) name##_bf16x2_low
#define ELEMENT uint32_t
#define VALUE(element) bf16_of((uint16_t)((element)))
#define COMPARISONS FLOAT_COMPARISONS
#define IS_HALF
#include "lanes_compare.inc"

#define NAME(name) name##_bf16x2_high
#define ELEMENT uint32_t
#define VALUE(element) bf16_of((uint16_t)((element) >> 16))
#define COMPARISONS FLOAT_COMPARISONS
#define IS_HALF
#include "lanes_compare.inc"

static const struct halves halves_f16x2[COMPARISON_COUNT] = {
#define X(name, value) {compare_##name##_f16x2_low, compare_##name##_f16x2_high, 0x3c00},
    FLOAT_COMPARISONS(X)
#undef X
};

static const struct halves halves_f16x2_ftz[COMPARISON_COUNT] = {
#define X(name, value) {compare_##name##_f16x2_ftz_low, compare_##name##_f16x2_ftz_high, 0x3c00},
    FLOAT_COMPARISONS(X)
#undef X
};

static const struct halves halves_bf16x2[COMPARISON_COUNT] = {
#define X(name, value) {compare_##name##_bf16x2_low, compare_##name##_bf16x2_high, 0x3f80},
    FLOAT_COMPARISONS(X)
#undef X
};

/* ---- testp */

/* name, modifier, value for a magnitude's bits, and the bits of infinity and of the least normal number */
#define TESTS(X)                                                                                             \
    X(finite, FINITE, magnitude < infinity)                                                                  \
    X(infinite, INFINITE, magnitude == infinity)                                                             \
    X(number, NUMBER, magnitude <= infinity)                                                                 \
    X(notanumber, NOTANUMBER, magnitude > infinity)                                                          \
    X(normal, NORMAL, magnitude == 0 || (magnitude >= normal && magnitude < infinity))                       \
    X(subnormal, SUBNORMAL, magnitude > 0 && magnitude < normal)

typedef bool test_function(uint64_t magnitude, uint64_t infinity, uint64_t normal);

static void test_f32(struct lane_operands operands, uint32_t mask, test_function *test) {
    const uint32_t *a = lanes_of(operands, 1);
    uint32_t holds = 0;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        if (test(a[lane] & 0x7fffffff, 0x7f800000, 0x00800000)) holds |= lane_bits[lane];
    write_predicate(lanes_of(operands, 0), mask, holds);
}

static void test_f64(struct lane_operands operands, uint32_t mask, test_function *test) {
    const uint64_t *a = lanes_of(operands, 1);
    uint32_t holds = 0;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        if (test(a[lane] & 0x7fffffffffffffff, 0x7ff0000000000000, 0x0010000000000000))
            holds |= lane_bits[lane];
    write_predicate(lanes_of(operands, 0), mask, holds);
}

#define X(name, modifier, value)                                                                             \
    static bool is_##name(uint64_t magnitude, uint64_t infinity, uint64_t normal) {                          \
        (void)infinity, (void)normal;                                                                        \
        return value;                                                                                        \
    }                                                                                                        \
    static void lanes_##name##_f32(struct lane_operands operands, uint32_t mask) {                           \
        test_f32(operands, mask, is_##name);                                                                 \
    }                                                                                                        \
    static void lanes_##name##_f64(struct lane_operands operands, uint32_t mask) {                           \
        test_f64(operands, mask, is_##name);                                                                 \
    }
TESTS(X)
#undef X

static const struct lane_row test_rows[] = {
#define X(name, modifier, value)                                                                             \
    ROW("testp", WITH(modifier), (F32), name##_f32, PRED, F32),                                              \
    ROW("testp", WITH(modifier), (F64), name##_f64, PRED, F64),
    TESTS(X)
#undef X
};

const struct lane_table simt_compare_tables[] = {TABLE(test_rows), {NULL, 0}};

/* ---- finding them */

/* The type, whether .ftz, how it compares, by the comparison. */
static const struct compared {
    uint8_t type;
    bool is_flushed, has_order; /* of the bits of no type only == and != */
    const struct comparing *comparings;
} compared[] = {
    {B16, false, false, comparings_u16},            {B32, false, false, comparings_u32},
    {B64, false, false, comparings_u64},            {U16, false, true, comparings_u16},
    {U32, false, true, comparings_u32},             {U64, false, true, comparings_u64},
    {S16, false, true, comparings_s16},             {S32, false, true, comparings_s32},
    {S64, false, true, comparings_s64},             {F16, false, true, comparings_f16},
    {F16, true, true, comparings_f16_ftz},          {BF16, false, true, comparings_bf16},
    {F32, false, true, comparings_f32},             {F32, true, true, comparings_f32_ftz},
    {F64, false, true, comparings_f64},
};

static const struct {
    uint8_t type;
    bool is_flushed;
    const struct halves *halves;
} compared_halves[] = {
    {F16X2, false, halves_f16x2},
    {F16X2, true, halves_f16x2_ftz},
    {BF16X2, false, halves_bf16x2},
};

/* Unsigned comparisons have other names too. */
static const struct comparison_name {
    modifier_set modifier;
    enum comparison comparison;
    bool is_unsigned;
} comparison_names[] = {
#define X(name, value) {WITH(name), COMPARISON_##name, false},
    FLOAT_COMPARISONS(X)
#undef X
    {WITH(LO), COMPARISON_LT, true},
    {WITH(LS), COMPARISON_LE, true},
    {WITH(HI), COMPARISON_GT, true},
    {WITH(HS), COMPARISON_GE, true},
};

static const modifier_set boolean_modifiers[BOOLEAN_COUNT] = {0, WITH(AND), WITH(OR), WITH(XOR)};

static const struct comparison_name *find_comparison(modifier_set modifiers) {
    for (size_t i = 0; i < sizeof comparison_names / sizeof *comparison_names; i++)
        if (comparison_names[i].modifier == modifiers) return &comparison_names[i];
    return NULL;
}

static const struct compared *find_compared(uint8_t type, bool is_flushed) {
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++)
        if (compared[i].type == type && compared[i].is_flushed == is_flushed) return &compared[i];
    return NULL;
}

static bool is_unsigned(uint8_t type) {
    return type == U16 || type == U32 || type == U64;
}

/* A predicate for each half, or a register: joined with a third operand only in setp. */
static void find_halves(const struct lane_key *key, enum comparison comparison, enum boolean boolean,
                        bool is_set, struct lane_operation *operation) {
    for (size_t i = 0; i < sizeof compared_halves / sizeof *compared_halves; i++) {
        uint8_t type = compared_halves[i].type;
        if (type != key->types[is_set] || compared_halves[i].is_flushed != !!(key->modifiers & WITH(FTZ)))
            continue;
        operation->context = (uintptr_t)&compared_halves[i].halves[comparison];
        if (!is_set) operation->function = combinations[TARGET_halves][boolean];
        else if (boolean == BOOLEAN_NONE && key->types[0] == type) operation->function = set_halves_numbers;
        else if (boolean == BOOLEAN_NONE && (key->types[0] == U32 || key->types[0] == S32))
            operation->function = set_halves_ones;
    }
}

/* The result types of set: integers of 16 bits only for a comparison of 16-bit floats. */
static enum target find_target(const struct lane_key *key) {
    uint8_t to = key->types[0], from = key->types[1];
    if (to == F32) return TARGET_f32;
    if (to == F16) return TARGET_f16;
    if (to == BF16) return TARGET_bf16;
    if ((to == U16 || to == S16) && (from == F16 || from == BF16)) return TARGET_short;
    return to == U32 || to == S32 ? TARGET_ones : TARGET_COUNT;
}

static void find_single(const struct lane_key *key, const struct comparison_name *name, enum boolean boolean,
                        enum target target, struct lane_operation *operation) {
    uint8_t type = key->types[target != TARGET_predicate && target != TARGET_pair];
    const struct compared *found = find_compared(type, key->modifiers & WITH(FTZ));
    if (!found || target == TARGET_COUNT || (name->is_unsigned && !is_unsigned(type)) ||
        (!found->has_order && name->comparison > COMPARISON_NE))
        return;
    const struct comparing *comparing = &found->comparings[name->comparison];
    if (!comparing->compare) return;
    operation->context = (uintptr_t)comparing;
    bool is_plain = target == TARGET_predicate && boolean == BOOLEAN_NONE;
    operation->function = is_plain ? comparing->setp : combinations[target][boolean];
}

bool simt_compare_find(const struct lane_key *key, struct lane_operation *operation) {
    bool is_set = simt_is_word(key->base, "set");
    if (!is_set && !simt_is_word(key->base, "setp")) return false;
    modifier_set joins = key->modifiers & (WITH(AND) | WITH(OR) | WITH(XOR));
    enum boolean boolean = BOOLEAN_NONE;
    while (boolean_modifiers[boolean] != joins)
        if (++boolean == BOOLEAN_COUNT) return false;
    const struct comparison_name *name = find_comparison(key->modifiers & ~joins & ~WITH(FTZ));
    if (!name || key->types[is_set] == TYPE_NONE || key->types[is_set + 1] != TYPE_NONE) return false;

    uint8_t type = key->types[is_set];
    bool has_halves = type == F16X2 || type == BF16X2;
    uint32_t sources = 2 + (boolean != BOOLEAN_NONE), destinations = key->count - sources;
    if (destinations != 1 && (destinations != 2 || is_set)) return false;
    if (has_halves && !is_set && destinations != 2) return false;
    enum target target = is_set ? find_target(key) : destinations == 2 ? TARGET_pair : TARGET_predicate;
    *operation = (struct lane_operation){.count = key->count, .destinations = destinations};
    if (has_halves) find_halves(key, name->comparison, boolean, is_set, operation);
    else find_single(key, name, boolean, target, operation);
    if (!operation->function) return false;
    for (uint32_t i = 0; i < key->count; i++) operation->types[i] = TYPE_PRED;
    if (is_set) operation->types[0] = (enum type)key->types[0];
    operation->types[destinations] = operation->types[destinations + 1] = (enum type)type;
    return true;
}
