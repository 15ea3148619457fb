/* The element types: one line each.  Everything that depends on a type is derived from its line.  Apart from
 * types.h, for the loops of the CPU, which need no other part of the public interface. */
#ifndef WF_CORE_TYPE_LIST_H
#define WF_CORE_TYPE_LIST_H

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

#endif
