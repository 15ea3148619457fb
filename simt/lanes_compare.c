/* Comparisons: setp and set.  Comparing is a function that gives a bit for each lane; what becomes of the
 * bits is a combination: joined with a third operand or not, they go into a predicate, into one and its
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

/* setp p; setp p|q; set of an integer type, of f32, and of f16 or bf16, which only comparisons of the same
 * type have */
enum target {
    TARGET_PREDICATE,
    TARGET_PAIR,
    TARGET_ONES,
    TARGET_F32,
    TARGET_F16,
    TARGET_BF16 = TARGET_F16,
    TARGET_COUNT
};

typedef uint32_t compare_function(const void *a, const void *b);

/* `with`: the third operand, where there is one. */
static inline uint32_t join(enum boolean boolean, uint32_t holds, void *const *with) {
    switch (boolean) {
    case BOOLEAN_AND: return holds & *(const uint32_t *)*with;
    case BOOLEAN_OR: return holds | *(const uint32_t *)*with;
    case BOOLEAN_XOR: return holds ^ *(const uint32_t *)*with;
    default: return holds;
    }
}

static inline void write_predicate(uint32_t *result, uint32_t mask, uint32_t holds) {
    *result = (*result & ~mask) | (holds & mask);
}

static inline void combine_PREDICATE(void *const *operands, uint32_t mask, compare_function *compare,
                                     enum boolean boolean) {
    uint32_t holds = compare(operands[1], operands[2]);
    write_predicate(operands[0], mask, join(boolean, holds, operands + 3));
}

static void combine_PAIR(void *const *operands, uint32_t mask, compare_function *compare,
                         enum boolean boolean) {
    uint32_t holds = compare(operands[2], operands[3]);
    uint32_t first = join(boolean, holds, operands + 4), second = join(boolean, ~holds, operands + 4);
    write_predicate(operands[0], mask, first);
    write_predicate(operands[1], mask, second);
}

static void set_lanes(uint32_t *result, uint32_t mask, uint32_t holds, uint32_t value) {
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        result[lane] = holds >> lane & 1 ? value : 0;
    }
}

static void combine_ONES(void *const *operands, uint32_t mask, compare_function *compare,
                         enum boolean boolean) {
    uint32_t holds = join(boolean, compare(operands[1], operands[2]), operands + 3);
    set_lanes(operands[0], mask, holds, UINT32_MAX);
}

static void combine_F32(void *const *operands, uint32_t mask, compare_function *compare,
                        enum boolean boolean) {
    uint32_t holds = join(boolean, compare(operands[1], operands[2]), operands + 3);
    set_lanes(operands[0], mask, holds, 0x3f800000);
}

static void set_narrow(void *const *operands, uint32_t mask, compare_function *compare, enum boolean boolean,
                       uint16_t one) {
    uint32_t holds = join(boolean, compare(operands[1], operands[2]), operands + 3);
    uint16_t *result = operands[0];
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        result[lane] = holds >> lane & 1 ? one : 0;
    }
}

static void combine_F16(void *const *operands, uint32_t mask, compare_function *compare,
                        enum boolean boolean) {
    set_narrow(operands, mask, compare, boolean, 0x3c00);
}

static void combine_BF16(void *const *operands, uint32_t mask, compare_function *compare,
                         enum boolean boolean) {
    set_narrow(operands, mask, compare, boolean, 0x3f80);
}

/* Every combination of a comparison. */
#define BOOLEANS(X, comparison, target)                                                                      \
    X(comparison, target, NONE) X(comparison, target, AND)                                                   \
    X(comparison, target, OR) X(comparison, target, XOR)
#define ALL_COMBINATIONS(X, comparison)                                                                      \
    BOOLEANS(X, comparison, PREDICATE)                                                                       \
    BOOLEANS(X, comparison, PAIR) BOOLEANS(X, comparison, ONES) BOOLEANS(X, comparison, F32)
#define F16_COMBINATIONS(X, comparison) ALL_COMBINATIONS(X, comparison) BOOLEANS(X, comparison, F16)
#define BF16_COMBINATIONS(X, comparison) ALL_COMBINATIONS(X, comparison) BOOLEANS(X, comparison, BF16)

#define COMBINATION(comparison, target, boolean)                                                             \
    static void NAME(comparison##_##target##_##boolean)(void *const *operands, uint32_t mask) {              \
        combine_##target(operands, mask, NAME(compare_##comparison), BOOLEAN_##boolean);                     \
    }
#define COMBINATION_ENTRY(comparison, target, boolean)                                                       \
    [TARGET_##target][BOOLEAN_##boolean] = NAME(comparison##_##target##_##boolean),

#define NAME(name) name##_u16
#define ELEMENT uint16_t
#define VALUE(element) (element)
#define COMPARISONS INTEGER_COMPARISONS
#define COMBINATIONS ALL_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_s16
#define ELEMENT uint16_t
#define VALUE(element) ((int16_t)(element))
#define COMPARISONS INTEGER_COMPARISONS
#define COMBINATIONS ALL_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_u32
#define ELEMENT uint32_t
#define VALUE(element) (element)
#define COMPARISONS INTEGER_COMPARISONS
#define COMBINATIONS ALL_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_s32
#define ELEMENT uint32_t
#define VALUE(element) ((int32_t)(element))
#define COMPARISONS INTEGER_COMPARISONS
#define COMBINATIONS ALL_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_u64
#define ELEMENT uint64_t
#define VALUE(element) (element)
#define COMPARISONS INTEGER_COMPARISONS
#define COMBINATIONS ALL_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_s64
#define ELEMENT uint64_t
#define VALUE(element) ((int64_t)(element))
#define COMPARISONS INTEGER_COMPARISONS
#define COMBINATIONS ALL_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_f16
#define ELEMENT uint16_t
#define VALUE(element) f16_of(element)
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS F16_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_f16_ftz
#define ELEMENT uint16_t
#define VALUE(element) f16_of(flush_f16(element))
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS F16_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_bf16
#define ELEMENT uint16_t
#define VALUE(element) bf16_of(element)
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS BF16_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_f32
#define ELEMENT uint32_t
#define VALUE(element) f32_of(element)
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS ALL_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_f32_ftz
#define ELEMENT uint32_t
#define VALUE(element) f32_of(flush_f32(element))
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS ALL_COMBINATIONS
#include "lanes_compare.inc"

#define NAME(name) name##_f64
#define ELEMENT uint64_t
#define VALUE(element) f64_of(element)
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS ALL_COMBINATIONS
#include "lanes_compare.inc"

/* ---- pairs of 16-bit numbers: setp gives a predicate for each, set half a register */

static void combine_halves(void *const *operands, uint32_t mask, compare_function *low,
                           compare_function *high, enum boolean boolean) {
    uint32_t low_holds = join(boolean, low(operands[2], operands[3]), operands + 4);
    uint32_t high_holds = join(boolean, high(operands[2], operands[3]), operands + 4);
    write_predicate(operands[0], mask, low_holds);
    write_predicate(operands[1], mask, high_holds);
}

static void set_halves(void *const *operands, uint32_t mask, compare_function *low, compare_function *high,
                       uint32_t value) {
    uint32_t low_holds = low(operands[1], operands[2]), high_holds = high(operands[1], operands[2]);
    uint32_t *result = operands[0];
    for (; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        result[lane] = (low_holds >> lane & 1 ? value : 0) | (high_holds >> lane & 1 ? value << 16 : 0);
    }
}

/* Of one comparison. */
struct halves {
    lane_function *setp[BOOLEAN_COUNT];
    lane_function *ones, *numbers; /* set of u32; of the type itself */
};

#define NAME(name) name##_f16x2_low
#define ELEMENT uint32_t
#define VALUE(element) f16_of((uint16_t)((element)))
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS(X, comparison)
#define HAS_NO_FUNCTIONS
#include "lanes_compare.inc"

#define NAME(name) name##_f16x2_high
#define ELEMENT uint32_t
#define VALUE(element) f16_of((uint16_t)((element) >> 16))
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS(X, comparison)
#define HAS_NO_FUNCTIONS
#include "lanes_compare.inc"

#define SUFFIX f16x2
#define ONE 0x3c00
#include "lanes_compare_halves.inc"

#define NAME(name) name##_f16x2_ftz_low
#define ELEMENT uint32_t
#define VALUE(element) f16_of(flush_f16((uint16_t)((element))))
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS(X, comparison)
#define HAS_NO_FUNCTIONS
#include "lanes_compare.inc"

#define NAME(name) name##_f16x2_ftz_high
#define ELEMENT uint32_t
#define VALUE(element) f16_of(flush_f16((uint16_t)((element) >> 16)))
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS(X, comparison)
#define HAS_NO_FUNCTIONS
#include "lanes_compare.inc"

#define SUFFIX f16x2_ftz
#define ONE 0x3c00
#include "lanes_compare_halves.inc"

#define NAME(name) name##_bf16x2_low
#define ELEMENT uint32_t
#define VALUE(element) bf16_of((uint16_t)((element)))
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS(X, comparison)
#define HAS_NO_FUNCTIONS
#include "lanes_compare.inc"

#define NAME(name) name##_bf16x2_high
#define ELEMENT uint32_t
#define VALUE(element) bf16_of((uint16_t)((element) >> 16))
#define COMPARISONS FLOAT_COMPARISONS
#define COMBINATIONS(X, comparison)
#define HAS_NO_FUNCTIONS
#include "lanes_compare.inc"

#define SUFFIX bf16x2
#define ONE 0x3f80
#include "lanes_compare_halves.inc"

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

static void test_f32(void *const *operands, uint32_t mask, test_function *test) {
    const uint32_t *a = operands[1];
    uint32_t holds = 0;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        if (test(a[lane] & 0x7fffffff, 0x7f800000, 0x00800000)) holds |= lane_bits[lane];
    write_predicate(operands[0], mask, holds);
}

static void test_f64(void *const *operands, uint32_t mask, test_function *test) {
    const uint64_t *a = operands[1];
    uint32_t holds = 0;
    for (uint32_t lane = 0; lane < SIMT_LANES; lane++)
        if (test(a[lane] & 0x7fffffffffffffff, 0x7ff0000000000000, 0x0010000000000000))
            holds |= lane_bits[lane];
    write_predicate(operands[0], mask, holds);
}

#define X(name, modifier, value)                                                                             \
    static bool is_##name(uint64_t magnitude, uint64_t infinity, uint64_t normal) {                          \
        (void)infinity, (void)normal;                                                                        \
        return value;                                                                                        \
    }                                                                                                        \
    static void lanes_##name##_f32(void *const *operands, uint32_t mask) {                                   \
        test_f32(operands, mask, is_##name);                                                                 \
    }                                                                                                        \
    static void lanes_##name##_f64(void *const *operands, uint32_t mask) {                                   \
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

/* The type, whether .ftz, the functions, those of the comparisons that it has. */
static const struct compared {
    uint8_t type;
    bool is_flushed, has_order; /* of the bits of no type only == and != */
    lane_function *const (*functions)[TARGET_COUNT][BOOLEAN_COUNT];
} compared[] = {
    {B16, false, false, functions_u16},        {B32, false, false, functions_u32},
    {B64, false, false, functions_u64},        {U16, false, true, functions_u16},
    {U32, false, true, functions_u32},         {U64, false, true, functions_u64},
    {S16, false, true, functions_s16},         {S32, false, true, functions_s32},
    {S64, false, true, functions_s64},         {F16, false, true, functions_f16},
    {F16, true, true, functions_f16_ftz},      {BF16, false, true, functions_bf16},
    {F32, false, true, functions_f32},         {F32, true, true, functions_f32_ftz},
    {F64, false, true, functions_f64},
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
    uint64_t modifier;
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

static const uint64_t boolean_modifiers[BOOLEAN_COUNT] = {0, WITH(AND), WITH(OR), WITH(XOR)};

static const struct comparison_name *find_comparison(uint64_t modifiers) {
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
static lane_function *find_halves(const struct lane_key *key, enum comparison comparison,
                                  enum boolean boolean, bool is_set) {
    for (size_t i = 0; i < sizeof compared_halves / sizeof *compared_halves; i++) {
        const struct halves *halves = &compared_halves[i].halves[comparison];
        uint8_t type = compared_halves[i].type;
        if (type != key->types[is_set] || compared_halves[i].is_flushed != !!(key->modifiers & WITH(FTZ)))
            continue;
        if (!is_set) return halves->setp[boolean];
        if (boolean != BOOLEAN_NONE) return NULL;
        return key->types[0] == type ? halves->numbers : key->types[0] == U32 ? halves->ones : NULL;
    }
    return NULL;
}

static lane_function *find_single(const struct lane_key *key, const struct comparison_name *name,
                                  enum boolean boolean, bool is_set, bool is_pair) {
    uint8_t type = key->types[is_set];
    const struct compared *found = find_compared(type, key->modifiers & WITH(FTZ));
    if (!found || (name->is_unsigned && !is_unsigned(type)) ||
        (!found->has_order && name->comparison > COMPARISON_NE))
        return NULL;
    if (!is_set) return found->functions[name->comparison][is_pair ? TARGET_PAIR : TARGET_PREDICATE][boolean];
    if (key->types[0] == F32) return found->functions[name->comparison][TARGET_F32][boolean];
    if (key->types[0] == type && (type == F16 || type == BF16))
        return found->functions[name->comparison][TARGET_F16][boolean];
    if (key->types[0] != U32 && key->types[0] != S32) return NULL;
    return found->functions[name->comparison][TARGET_ONES][boolean];
}

bool simt_compare_find(const struct lane_key *key, struct lane_operation *operation) {
    bool is_set = strcmp(key->base, "set") == 0;
    if (!is_set && strcmp(key->base, "setp") != 0) return false;
    uint64_t joins = key->modifiers & (WITH(AND) | WITH(OR) | WITH(XOR));
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
    lane_function *function = has_halves ? find_halves(key, name->comparison, boolean, is_set)
                                         : find_single(key, name, boolean, is_set, destinations == 2);
    if (!function) return false;
    *operation =
        (struct lane_operation){.function = function, .count = key->count, .destinations = destinations};
    for (uint32_t i = 0; i < key->count; i++) operation->types[i] = TYPE_PRED;
    if (is_set) operation->types[0] = (enum type)key->types[0];
    operation->types[destinations] = operation->types[destinations + 1] = (enum type)type;
    return true;
}
