/* lanes: what the simulator's lane operations compute, against arithmetic of another kind: integers in
 * __int128, the roundings of f32 and f64 by the host's own rounding modes, 16-bit floats by search among all
 * their values, comparisons by what is less, equal, greater, or unordered. */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>

#include "lanes_check.h"

typedef __int128 wide;

/* ---- integers: the value in __int128, cut to the result's bits */

struct integers {
    wide a, b, c;
    int bits;
    bool is_signed;
};

static wide lowest(struct integers v) {
    return v.is_signed ? -((wide)1 << (v.bits - 1)) : 0;
}

static wide highest(struct integers v) {
    return ((wide)1 << (v.bits - v.is_signed)) - 1;
}

static wide clamp(struct integers v, wide value) {
    return value < lowest(v) ? lowest(v) : value > highest(v) ? highest(v) : value;
}

static wide product_high(struct integers v) {
    if (v.is_signed || v.bits < 64) return (v.a * v.b) >> v.bits;
    return (wide)((unsigned __int128)v.a * (unsigned __int128)v.b >> 64);
}

static wide shifted(struct integers v, bool is_left) {
    wide amount = v.b & 0xffffffff;
    if (amount >= v.bits) return !is_left && v.a < 0 ? -1 : 0;
    return is_left ? (wide)((unsigned __int128)v.a << amount) : v.a >> amount;
}

/* name, operands, how it is called, value */
#define INTEGERS(X)                                                                                          \
    X(add, 3, "add", v.a + v.b)                                                                              \
    X(sub, 3, "sub", v.a - v.b)                                                                              \
    X(mul_lo, 3, "mul.lo", (wide)((unsigned __int128)v.a * (unsigned __int128)v.b))                          \
    X(mul_hi, 3, "mul.hi", product_high(v))                                                                  \
    X(mad_lo, 4, "mad.lo", (wide)((unsigned __int128)v.a * (unsigned __int128)v.b + (unsigned __int128)v.c)) \
    X(mad_hi, 4, "mad.hi", product_high(v) + v.c)                                                            \
    X(sad, 4, "sad", v.c + (v.a > v.b ? v.a - v.b : v.b - v.a))                                              \
    X(div, 3, "div", v.b ? v.a / v.b : -1)                                                                   \
    X(rem, 3, "rem", v.b ? v.a % v.b : -1)                                                                   \
    X(min, 3, "min", v.a < v.b ? v.a : v.b)                                                                  \
    X(max, 3, "max", v.a > v.b ? v.a : v.b)                                                                  \
    X(shr, 3, "shr", shifted(v, false))

#define X(name, count, text, value)                                                                          \
    static wide name##_value(struct integers v) {                                                            \
        return value;                                                                                        \
    }
INTEGERS(X)
#undef X

static wide add_sat_value(struct integers v) {
    return clamp(v, v.a + v.b);
}

static wide sub_sat_value(struct integers v) {
    return clamp(v, v.a - v.b);
}

static wide mul_wide_value(struct integers v) {
    return v.a * v.b;
}

static wide mad_wide_value(struct integers v) {
    return v.a * v.b + v.c;
}

static wide shl_value(struct integers v) {
    return shifted(v, true);
}

static wide as_integer(uint64_t bits, int width, bool is_signed) {
    wide value = width < 64 ? (wide)(bits & (((uint64_t)1 << width) - 1)) : (wide)bits;
    return is_signed && value >> (width - 1) & 1 ? value - ((wide)1 << width) : value;
}

static void check_integer(const char *text, uint32_t count, wide (*value)(struct integers), const char *type,
                          int bits) {
    char opcode[64];
    struct lane_operation operation;
    uint64_t values[VALUES][LANES];
    snprintf(opcode, sizeof opcode, "%s.%s", text, type);
    if (!find(opcode, count, false, &operation)) return;
    bool is_signed = type[0] == 's', is_shift = strncmp(text, "sh", 2) == 0;
    int result_bits = (int)simt_width_nbytes(simt_width(operation.types[0])) / LANES * 8;
    for (int round = 0; round < ROUNDS; round++) {
        fill(&operation, values);
        uint64_t before[VALUES][LANES];
        memcpy(before, values, sizeof before);
        uint32_t mask = round & 1 ? UINT32_MAX : (uint32_t)random_bits() | 1;
        execute(&operation, mask, values, 0);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint64_t sources[3] = {before[1][lane], before[2][lane], before[3][lane]};
            struct integers v = {as_integer(sources[0], bits, is_signed),
                                 as_integer(sources[1], is_shift ? 32 : bits, is_signed && !is_shift),
                                 as_integer(sources[2], result_bits, is_signed), bits, is_signed};
            uint64_t expected = mask >> lane & 1 ? (uint64_t)value(v) : before[0][lane];
            if (result_bits < 64) expected &= ((uint64_t)1 << result_bits) - 1;
            expect(opcode, sources, expected, values[0][lane]);
        }
    }
}

static void check_integers(void) {
    static const struct {
        const char *name;
        int bits;
    } types[] = {{"u16", 16}, {"s16", 16}, {"u32", 32}, {"s32", 32}, {"u64", 64}, {"s64", 64}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
#define X(operation, count, text, value)                                                                     \
    check_integer(text, count, operation##_value, types[t].name, types[t].bits);
        INTEGERS(X)
#undef X
        if (types[t].bits == 64) continue;
        check_integer("mul.wide", 3, mul_wide_value, types[t].name, types[t].bits);
        check_integer("mad.wide", 4, mad_wide_value, types[t].name, types[t].bits);
    }
    check_integer("add.sat", 3, add_sat_value, "s32", 32);
    check_integer("sub.sat", 3, sub_sat_value, "s32", 32);
    check_integer("shl", 3, shl_value, "b16", 16);
    check_integer("shl", 3, shl_value, "b32", 32);
    check_integer("shl", 3, shl_value, "b64", 64);
}

/* ---- floats: the host's own operations, in its own rounding modes */

static float f32_of(uint64_t bits) {
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static double f64_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7fffffff : bits;
}

static uint64_t bits_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* volatile: the compiler knows nothing of rounding modes. */
#define FLOATS(X)                                                                                            \
    X(add, 3, a + b, a + b)                                                                                  \
    X(sub, 3, a - b, a - b)                                                                                  \
    X(mul, 3, a *b, a *b)                                                                                    \
    X(div, 3, a / b, a / b)                                                                                  \
    X(rcp, 2, one / a, one / a)                                                                              \
    X(sqrt, 2, sqrtf(a), sqrt(a))                                                                            \
    X(fma, 4, fmaf(a, b, c), fma(a, b, c))

#define X(name, count, narrow, value)                                                                        \
    static uint64_t name##_f32(const uint64_t *s) {                                                          \
        volatile float a = f32_of(s[0]), b = f32_of(s[1]), c = f32_of(s[2]), one = 1, result = narrow;       \
        (void)b, (void)c, (void)one;                                                                         \
        return bits_f32(result);                                                                             \
    }                                                                                                        \
    static uint64_t name##_f64(const uint64_t *s) {                                                          \
        volatile double a = f64_of(s[0]), b = f64_of(s[1]), c = f64_of(s[2]), one = 1, result = value;       \
        (void)b, (void)c, (void)one;                                                                         \
        return bits_f64(result);                                                                             \
    }
FLOATS(X)
#undef X

static uint64_t f32_from_s64(const uint64_t *s) {
    volatile int64_t a = (int64_t)s[0];
    volatile float result = (float)a;
    return bits_f32(result);
}

static uint64_t f64_from_s64(const uint64_t *s) {
    volatile int64_t a = (int64_t)s[0];
    volatile double result = (double)a;
    return bits_f64(result);
}

static uint64_t f32_from_f64(const uint64_t *s) {
    volatile double a = f64_of(s[0]);
    volatile float result = (float)a;
    return bits_f32(result);
}

static const struct rounding {
    const char *name, *integral;
    int mode;
    double (*to_integral)(double);
} roundings[] = {{"rn", "rni", FE_TONEAREST, rint},
                 {"rz", "rzi", FE_TOWARDZERO, trunc},
                 {"rm", "rmi", FE_DOWNWARD, floor},
                 {"rp", "rpi", FE_UPWARD, ceil}};

static bool is_nan(uint64_t bits, enum type type) {
    return type == TYPE_F64 ? f64_of(bits) != f64_of(bits) : type == TYPE_F32 && f32_of(bits) != f32_of(bits);
}

/* Which NaN a result of f64, or from it, is, is checked with the known answers. */
static void check_float(const char *opcode, uint32_t count, uint64_t (*value)(const uint64_t *), int mode) {
    struct lane_operation operation;
    uint64_t values[VALUES][LANES];
    if (!find(opcode, count, false, &operation)) return;
    for (int round = 0; round < ROUNDS; round++) {
        fill(&operation, values);
        execute(&operation, UINT32_MAX, values, 0);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint64_t sources[3] = {values[1][lane], values[2][lane], values[3][lane]};
            fesetround(mode);
            uint64_t expected = value(sources);
            fesetround(FE_TONEAREST);
            if (is_nan(expected, operation.types[0]) && is_nan(values[0][lane], operation.types[0]) &&
                (operation.types[0] == TYPE_F64 || operation.types[1] == TYPE_F64))
                continue;
            expect(opcode, sources, expected, values[0][lane]);
        }
    }
}

/* The integral value, clamped. */
static void check_to_integer(const char *to, const char *from, const struct rounding *rounding) {
    char opcode[64];
    struct lane_operation operation;
    uint64_t values[VALUES][LANES];
    int bits = atoi(to + 1);
    bool is_signed = to[0] == 's', is_wide = strcmp(from, "f64") == 0;
    snprintf(opcode, sizeof opcode, "cvt.%s.%s.%s", rounding->integral, to, from);
    if (!find(opcode, 2, false, &operation)) return;
    struct integers limits = {.bits = bits, .is_signed = is_signed};
    for (int round = 0; round < ROUNDS; round++) {
        fill(&operation, values);
        execute(&operation, UINT32_MAX, values, 0);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            double source = is_wide ? f64_of(values[1][lane]) : (double)f32_of(values[1][lane]);
            double integral = rounding->to_integral(source);
            wide expected;
            if (source != source) expected = is_wide || bits == 64 ? (wide)1 << (bits - 1) : 0;
            else if (fabs(integral) > 0x1p100) expected = integral > 0 ? highest(limits) : lowest(limits);
            else expected = clamp(limits, (wide)integral);
            uint64_t sources[3] = {values[1][lane]}, stored = (uint64_t)expected;
            int stored_bits = bits == 8 ? 16 : bits;
            if (bits == 8 && is_signed && source != source) stored = (uint64_t)(int64_t)(int8_t)stored;
            if (stored_bits < 64) stored &= ((uint64_t)1 << stored_bits) - 1;
            expect(opcode, sources, stored, values[0][lane]);
        }
    }
}

static void check_floats(void) {
    char opcode[64];
    for (size_t r = 0; r < sizeof roundings / sizeof *roundings; r++) {
        const struct rounding *rounding = &roundings[r];
#define CHECK(text, suffix, count, value)                                                                    \
    snprintf(opcode, sizeof opcode, text ".%s." suffix, rounding->name);                                     \
    check_float(opcode, count, value, rounding->mode);
#define X(name, count, narrow, value)                                                                        \
    CHECK(#name, "f32", count, name##_f32)                                                                   \
    CHECK(#name, "f64", count, name##_f64)
        FLOATS(X)
#undef X
        CHECK("cvt", "f32.s64", 2, f32_from_s64)
        CHECK("cvt", "f64.s64", 2, f64_from_s64)
        CHECK("cvt", "f32.f64", 2, f32_from_f64)
#undef CHECK
        static const char *const integers[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
        for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
            check_to_integer(integers[i], "f32", rounding);
            check_to_integer(integers[i], "f64", rounding);
        }
    }
}

/* ---- 16-bit floats: the nearest of all their values, ties to the even one */

struct narrow {
    const char *name;
    int fraction_bits, exponent_max;
    uint32_t infinity;
    long double values[0x8000]; /* of the bits without a sign, up to infinity's, which stands for the next
                                   power of 2 */
};

static void fill_narrow(struct narrow *narrow) {
    uint32_t fraction_mask = ((uint32_t)1 << narrow->fraction_bits) - 1;
    for (uint32_t bits = 0; bits <= narrow->infinity; bits++) {
        int exponent = (int)(bits >> narrow->fraction_bits);
        uint32_t fraction = (bits & fraction_mask) | (exponent ? fraction_mask + 1 : 0);
        narrow->values[bits] =
            ldexpl(fraction, (exponent ? exponent : 1) - narrow->exponent_max - narrow->fraction_bits);
    }
}

static uint64_t nearest(const struct narrow *narrow, long double value) {
    if (value != value) return 0x7fff;
    uint64_t sign = signbit(value) ? 0x8000 : 0;
    uint32_t low = 0, high = narrow->infinity;
    value = fabsl(value);
    if (value >= narrow->values[high]) return sign | high;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (narrow->values[middle] <= value) low = middle;
        else high = middle;
    }
    long double below = value - narrow->values[low], above = narrow->values[high] - value;
    return sign | (below < above || (below == above && !(low & 1)) ? low : high);
}

static long double narrow_value(const struct narrow *narrow, uint64_t bits) {
    long double value = (bits & 0x7fff) > narrow->infinity    ? (long double)NAN
                        : (bits & 0x7fff) == narrow->infinity ? (long double)INFINITY
                                                              : narrow->values[bits & 0x7fff];
    return bits & 0x8000 ? -value : value;
}

/* Exponents close enough for long double to hold every sum and product, or anything at all for products
 * alone. */
static uint64_t random_narrow(const struct narrow *narrow, bool is_close) {
    uint64_t bits = random_bits() & 0xffff;
    uint64_t exponent = (uint64_t)narrow->exponent_max - 6 + (random_bits() >> 61);
    uint64_t close =
        (bits & (0x8000 | (((uint64_t)1 << narrow->fraction_bits) - 1))) | exponent << narrow->fraction_bits;
    return is_close ? close : bits;
}

static long double narrow_result(char operation, long double a, long double b, long double c) {
    switch (operation) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: return a * b + c;
    }
}

static void check_narrow(const struct narrow *narrow, const char *text, char operation, bool is_pair) {
    char opcode[64];
    struct lane_operation found;
    uint64_t values[VALUES][LANES];
    uint32_t count = operation == 'f' ? 4 : 3;
    snprintf(opcode, sizeof opcode, "%s.%s%s", text, narrow->name, is_pair ? "x2" : "");
    if (!find(opcode, count, false, &found)) return;
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t o = 0; o < VALUES; o++)
            for (uint32_t lane = 0; lane < LANES; lane++)
                values[o][lane] = random_narrow(narrow, operation == 'f' ||
                                                            (operation != '*' && narrow->exponent_max > 15)) |
                                  (is_pair ? random_narrow(narrow, true) << 16 : 0);
        execute(&found, UINT32_MAX, values, 0);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint64_t sources[3] = {values[1][lane], values[2][lane], values[3][lane]}, expected = 0;
            for (int shift = 0; shift <= (is_pair ? 16 : 0); shift += 16) {
                long double a = narrow_value(narrow, sources[0] >> shift & 0xffff);
                long double b = narrow_value(narrow, sources[1] >> shift & 0xffff);
                long double c = narrow_value(narrow, sources[2] >> shift & 0xffff);
                expected |= nearest(narrow, narrow_result(operation, a, b, c)) << shift;
            }
            expect(opcode, sources, expected, values[0][lane]);
        }
    }
}

static void check_to_narrow(const struct narrow *narrow) {
    char opcode[64];
    struct lane_operation found;
    uint64_t values[VALUES][LANES];
    snprintf(opcode, sizeof opcode, "cvt.rn.%s.f32", narrow->name);
    if (!find(opcode, 2, false, &found)) return;
    for (int round = 0; round < ROUNDS * 10; round++) {
        fill(&found, values);
        execute(&found, UINT32_MAX, values, 0);
        for (uint32_t lane = 0; lane < LANES; lane++)
            expect(opcode, values[1], nearest(narrow, f32_of(values[1][lane])), values[0][lane]);
    }
}

static void check_halves(void) {
    static struct narrow formats[] = {
        {.name = "f16", .fraction_bits = 10, .exponent_max = 15, .infinity = 0x7c00},
        {.name = "bf16", .fraction_bits = 7, .exponent_max = 127, .infinity = 0x7f80}};
    for (int f = 0; f < 2; f++) {
        fill_narrow(&formats[f]);
        check_to_narrow(&formats[f]);
        for (int is_pair = 0; is_pair < 2; is_pair++) {
            check_narrow(&formats[f], "add", '+', is_pair);
            check_narrow(&formats[f], "sub", '-', is_pair);
            check_narrow(&formats[f], "mul", '*', is_pair);
            check_narrow(&formats[f], "fma.rn", 'f', is_pair);
        }
    }
}

/* ---- comparisons: what holds if a is less, equal, greater, or unordered */

static const struct {
    const char *name;
    bool less, equal, greater, unordered;
} comparisons[] = {
    {"eq", false, true, false, false},  {"ne", true, false, true, false},  {"lt", true, false, false, false},
    {"le", true, true, false, false},   {"gt", false, false, true, false}, {"ge", false, true, true, false},
    {"equ", false, true, false, true},  {"neu", true, false, true, true},  {"ltu", true, false, false, true},
    {"leu", true, true, false, true},   {"gtu", false, false, true, true}, {"geu", false, true, true, true},
    {"num", true, true, true, false},   {"nan", false, false, false, true}};
enum { ORDERED = 6, COMPARISONS = sizeof comparisons / sizeof *comparisons };

static bool holds(int comparison, enum type type, uint64_t a, uint64_t b) {
    if (is_nan(a, type) || is_nan(b, type)) return comparisons[comparison].unordered;
    long double x, y;
    switch (type) {
    case TYPE_F32: x = f32_of(a), y = f32_of(b); break;
    case TYPE_F64: x = f64_of(a), y = f64_of(b); break;
    case TYPE_S16: x = (int16_t)a, y = (int16_t)b; break;
    case TYPE_S32: x = (int32_t)a, y = (int32_t)b; break;
    case TYPE_S64: x = (int64_t)a, y = (int64_t)b; break;
    default: x = a, y = b; break;
    }
    return x < y   ? comparisons[comparison].less
           : x > y ? comparisons[comparison].greater
                   : comparisons[comparison].equal;
}

static bool join(const char *boolean, bool a, bool c) {
    return !*boolean ? a : boolean[1] == 'a' ? a && c : boolean[1] == 'o' ? a || c : a != c;
}

static void check_setp(int comparison, const char *boolean, const char *type, bool is_pair) {
    char opcode[64];
    struct lane_operation operation;
    uint64_t values[VALUES][LANES], before[VALUES][LANES];
    uint32_t first = 1 + (uint32_t)is_pair, count = first + 2 + (*boolean != 0);
    snprintf(opcode, sizeof opcode, "setp.%s%s.%s", comparisons[comparison].name, boolean, type);
    if (!find(opcode, count, is_pair, &operation)) return;
    for (int round = 0; round < 20; round++) {
        fill(&operation, values);
        memcpy(before, values, sizeof before);
        uint32_t mask = round & 1 ? UINT32_MAX : (uint32_t)random_bits() | 1;
        execute(&operation, mask, values, 0);
        for (uint32_t lane = 0; lane < LANES; lane++) {
            uint64_t sources[3] = {before[first][lane], before[first + 1][lane], before[first + 2][lane]};
            bool is = holds(comparison, operation.types[first], sources[0], sources[1]), c = sources[2] & 1;
            bool is_active = mask >> lane & 1;
            expect(opcode, sources, is_active ? join(boolean, is, c) : before[0][lane], values[0][lane]);
            if (is_pair)
                expect(opcode, sources, is_active ? join(boolean, !is, c) : before[1][lane], values[1][lane]);
        }
    }
}

static void check_comparisons(void) {
    static const char *const types[] = {"f32", "f64", "s16", "u16", "s32", "u32", "s64", "u64"};
    static const char *const booleans[] = {"", ".and", ".or", ".xor"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int c = 0; c < (types[t][0] == 'f' ? (int)COMPARISONS : ORDERED); c++)
            for (int b = 0; b < 4; b++) {
                check_setp(c, booleans[b], types[t], false);
                check_setp(c, booleans[b], types[t], true);
            }
}

int main(void) {
    check_integers();
    check_floats();
    check_halves();
    check_comparisons();
    printf("%d results of lane operations: %d failures\n", checks, failures);
    return failures > 0;
}
