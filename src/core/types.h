/* The element types: one line each.  Everything that depends on a type is derived from its line. */
#ifndef WF_CORE_TYPES_H
#define WF_CORE_TYPES_H

#include "core/portable.h"
#include "warpfold.h"

enum wf_kind { WF_KIND_NONE, WF_KIND_UNSIGNED, WF_KIND_SIGNED, WF_KIND_FLOAT };

/* X(NAME, name, storage type, kind, precision, exponent bits), in the order of wf_type.
 * precision: significant bits, the implicit one included; of an integer, the bits of its magnitude. */
#define WF_TYPES(X)                                                                                           \
    X(BOOL, bool, uint8_t, UNSIGNED, 1, 0)                                                                     \
    X(I8, i8, int8_t, SIGNED, 7, 0)                                                                            \
    X(I16, i16, int16_t, SIGNED, 15, 0)                                                                        \
    X(I32, i32, int32_t, SIGNED, 31, 0)                                                                        \
    X(I64, i64, int64_t, SIGNED, 63, 0)                                                                        \
    X(U8, u8, uint8_t, UNSIGNED, 8, 0)                                                                         \
    X(U16, u16, uint16_t, UNSIGNED, 16, 0)                                                                     \
    X(U32, u32, uint32_t, UNSIGNED, 32, 0)                                                                     \
    X(U64, u64, uint64_t, UNSIGNED, 64, 0)                                                                     \
    X(F16, f16, uint16_t, FLOAT, 11, 5)                                                                        \
    X(BF16, bf16, uint16_t, FLOAT, 8, 8)                                                                       \
    X(F32, f32, float, FLOAT, 24, 8)                                                                           \
    X(F64, f64, double, FLOAT, 53, 11)

#define WF_TYPE_COUNT (WF_F64 + 1)

struct wf_type_traits {
    uint8_t nbytes;
    uint8_t kind; /* enum wf_kind */
    uint8_t precision;
    uint8_t exponent_bits;
};

/* Indexed by wf_type; entry WF_TYPE_DEFAULT has kind WF_KIND_NONE. */
extern const struct wf_type_traits wf_type_table[WF_TYPE_COUNT];

static inline bool wf_type_is_valid(wf_type type) {
    return (unsigned)type < WF_TYPE_COUNT && wf_type_table[type].kind != WF_KIND_NONE;
}

static inline bool wf_type_is_float(wf_type type) {
    return wf_type_table[type].kind == WF_KIND_FLOAT;
}

/* The exponent bias of a float type, which is also the exponent of its largest binade. */
static inline int wf_type_bias(wf_type type) {
    return (1 << (wf_type_table[type].exponent_bits - 1)) - 1;
}

/* Every finite value is a multiple of 2^low ... */
static inline int wf_type_low_exponent(wf_type type) {
    return wf_type_is_float(type) ? 2 - wf_type_bias(type) - wf_type_table[type].precision : 0;
}

/* ... and at most 2^high in magnitude. */
static inline int wf_type_high_exponent(wf_type type) {
    return wf_type_is_float(type) ? wf_type_bias(type) + 1 : wf_type_table[type].precision;
}

#endif
