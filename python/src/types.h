/* The library's types, as the extension must know them: one line each, in the order of wf_type.
 *
 * X(NAME, NumPy's name, has negative numbers, significant bits, least, most): the numbers are 0 and those below 2^most in
 * magnitude that are multiples of 2^least and have at most that many significant bits.  NULL: NumPy lacks the type. */
#ifndef WARPFOLD_PYTHON_TYPES_H
#define WARPFOLD_PYTHON_TYPES_H

#define TYPE_LINES(X)                                                                                              \
    X(BOOL, "bool_", false, 1, 0, 1)                                                                               \
    X(I8, "int8", true, 7, 0, 8)                                                                                   \
    X(I16, "int16", true, 15, 0, 16)                                                                               \
    X(I32, "int32", true, 31, 0, 32)                                                                               \
    X(I64, "int64", true, 63, 0, 64)                                                                               \
    X(U8, "uint8", false, 8, 0, 8)                                                                                 \
    X(U16, "uint16", false, 16, 0, 16)                                                                             \
    X(U32, "uint32", false, 32, 0, 32)                                                                             \
    X(U64, "uint64", false, 64, 0, 64)                                                                             \
    X(F16, "float16", true, 11, -24, 16)                                                                           \
    X(BF16, NULL, true, 8, -133, 128)                                                                              \
    X(F32, "float32", true, 24, -149, 128)                                                                         \
    X(F64, "float64", true, 53, -1074, 1024)

#define TYPE_ONE(...) +1
enum { TYPES = 1 TYPE_LINES(TYPE_ONE) }; /* the last of wf_type, and one */
#undef TYPE_ONE

#endif
