/* The operations of atomics and warp reductions on one value. */
#include <string.h>

#include "lanes_ieee.h"
#include "lanes_soft.h"
#include "lanes.h"

/* PTX flushes subnormal numbers in atom.add.f32 on global memory, but not on shared memory, and leaves it
 * open on generic addresses.  Here they are kept everywhere. */
static uint64_t add_f32(uint64_t a, uint64_t b) {
    float sum = f32_of((uint32_t)a) + f32_of((uint32_t)b);
    return sum != sum ? simt_f32.nan : bits_of_f32(sum);
}

static uint64_t add_f64(uint64_t a, uint64_t b) {
    double sum = f64_of(a) + f64_of(b);
    return sum != sum ? simt_f64.nan : bits_of_f64(sum);
}

static uint16_t add_f16(uint16_t a, uint16_t b) {
    return f16_from((double)f16_of(a) + f16_of(b));
}

static uint16_t add_bf16(uint16_t a, uint16_t b) {
    return bf16_from((double)bf16_of(a) + bf16_of(b));
}

static uint16_t min_f16(uint16_t a, uint16_t b) {
    return extremum_half(a, b, 0x7c00, false, false);
}

static uint16_t max_f16(uint16_t a, uint16_t b) {
    return extremum_half(a, b, 0x7c00, false, true);
}

static uint16_t min_bf16(uint16_t a, uint16_t b) {
    return extremum_half(a, b, 0x7f80, false, false);
}

static uint16_t max_bf16(uint16_t a, uint16_t b) {
    return extremum_half(a, b, 0x7f80, false, true);
}

static uint64_t in_halves(uint16_t function(uint16_t, uint16_t), uint64_t a, uint64_t b) {
    uint32_t high = function((uint16_t)(a >> 16), (uint16_t)(b >> 16));
    return high << 16 | function((uint16_t)a, (uint16_t)b);
}

/* name, type, the new value */
#define SCALARS(X)                                                                                           \
    X(add, S32, (uint32_t)(old + value))                                                                     \
    X(add, U32, (uint32_t)(old + value))                                                                     \
    X(add, S64, old + value)                                                                                 \
    X(add, U64, old + value)                                                                                 \
    X(add, F16, add_f16((uint16_t)old, (uint16_t)value))                                                     \
    X(add, F16X2, in_halves(add_f16, old, value))                                                            \
    X(add, BF16, add_bf16((uint16_t)old, (uint16_t)value))                                                   \
    X(add, BF16X2, in_halves(add_bf16, old, value))                                                          \
    X(add, F32, add_f32(old, value))                                                                         \
    X(add, F64, add_f64(old, value))                                                                         \
    X(min, S32, (int32_t)value < (int32_t)old ? value : old)                                                 \
    X(min, U32, (uint32_t)value < (uint32_t)old ? value : old)                                               \
    X(min, S64, (int64_t)value < (int64_t)old ? value : old)                                                 \
    X(min, U64, value < old ? value : old)                                                                   \
    X(min, F16, min_f16((uint16_t)old, (uint16_t)value))                                                     \
    X(min, F16X2, in_halves(min_f16, old, value))                                                            \
    X(min, BF16, min_bf16((uint16_t)old, (uint16_t)value))                                                   \
    X(min, BF16X2, in_halves(min_bf16, old, value))                                                          \
    X(max, S32, (int32_t)value > (int32_t)old ? value : old)                                                 \
    X(max, U32, (uint32_t)value > (uint32_t)old ? value : old)                                               \
    X(max, S64, (int64_t)value > (int64_t)old ? value : old)                                                 \
    X(max, U64, value > old ? value : old)                                                                   \
    X(max, F16, max_f16((uint16_t)old, (uint16_t)value))                                                     \
    X(max, F16X2, in_halves(max_f16, old, value))                                                            \
    X(max, BF16, max_bf16((uint16_t)old, (uint16_t)value))                                                   \
    X(max, BF16X2, in_halves(max_bf16, old, value))                                                          \
    X(and, B32, old &value)                                                                                  \
    X(and, B64, old &value)                                                                                  \
    X(or, B32, old | value)                                                                                  \
    X(or, B64, old | value)                                                                                  \
    X(xor, B32, old ^ value)                                                                                 \
    X(xor, B64, old ^ value)                                                                                 \
    X(inc, U32, (uint32_t)old >= (uint32_t)value ? 0 : old + 1)                                              \
    X(dec, U32, (uint32_t)old == 0 || (uint32_t)old > (uint32_t)value ? value : old - 1)                     \
    X(exch, B16, value)                                                                                      \
    X(exch, B32, value)                                                                                      \
    X(exch, B64, value)                                                                                      \
    X(cas, B16, (uint16_t)old == (uint16_t)compare ? value : old)                                            \
    X(cas, B32, (uint32_t)old == (uint32_t)compare ? value : old)                                            \
    X(cas, B64, old == compare ? value : old)

#define X(name, type, result)                                                                                \
    static uint64_t name##_##type(uint64_t old, uint64_t value, uint64_t compare) {                          \
        (void)old, (void)compare;                                                                            \
        return result;                                                                                       \
    }
SCALARS(X)
#undef X

scalar_function *simt_scalar_find(const char *name, enum type type) {
    static const struct scalar {
        const char *name;
        enum type type;
        scalar_function *function;
    } scalars[] = {
#define X(name, type, result) {#name, TYPE_##type, name##_##type},
        SCALARS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
        if (scalars[i].type == type && strcmp(scalars[i].name, name) == 0) return scalars[i].function;
    return NULL;
}
