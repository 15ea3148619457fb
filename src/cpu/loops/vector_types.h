/* The types of a translation unit of the loops: vectors of the tier, and integers and vectors of the element
 * type.
 *
 * A header of a tier, vector_TIER.h, defines VECTOR_NBYTES, includes this file and adds the operations. */
#ifndef WF_CPU_LOOPS_VECTOR_TYPES_H
#define WF_CPU_LOOPS_VECTOR_TYPES_H

#include "core/type_list.h"
#include "cpu/block.h"

/* Every call on the way to an inner loop is inlined, so that what is constant there is constant for the
 * compiler. Under sanitizers, which would need many minutes for the code that results, functions are left as
 * they are. */
#ifdef WARPFOLD_SANITIZED
#define INLINE static inline
#define UNROLLED
#else
#define INLINE static inline __attribute__((always_inline))
/* Arrays of vectors live in registers only if every index into them is a constant. */
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 8")
#endif
#endif

/* For functions with large frames: in a function of their own, so that callers which take another path do not
 * pay for them with their stack. */
#define APART static __attribute__((noinline))

/* ---- the element type ---- */

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#define X(NAME, name, type, kind, precision, exponent_bits)                                                  \
    enum { PRECISION_##NAME = precision, EXPONENT_BITS_##NAME = exponent_bits };
WF_TYPES(X)
#undef X

#define X(NAME, name, type, kind, precision, exponent_bits) ELEMENT_##NAME,
enum { WF_TYPES(X) ELEMENT = PASTE(ELEMENT_, TYPE) };
#undef X

enum {
    PRECISION = PASTE(PRECISION_, TYPE),
    EXPONENT_BITS = PASTE(EXPONENT_BITS_, TYPE), /* 0: the type is an integer type */
};

#define X(NAME, name, type, kind, precision, exponent_bits) typedef type storage_##NAME;
WF_TYPES(X)
#undef X
typedef PASTE(storage_, TYPE) storage;

/* An element's stored bits, as an unsigned and as a signed integer of its size. */
#define OF_SIZE(word)                                                                                        \
    __typeof__(_Generic((char (*)[sizeof(storage)])0,                                                        \
        char (*)[1]: (word##8_t)0, char (*)[2]: (word##16_t)0, char (*)[4]: (word##32_t)0, char (*)[8]: (word##64_t)0))
typedef OF_SIZE(uint) uword;
typedef OF_SIZE(int) sword;

#define TOP_BIT ((uword)((uword)1 << (8 * sizeof(uword) - 1)))

/* ---- vectors ---- */

enum {
    LANES = VECTOR_NBYTES / 8,            /* of a vector of f64 */
    STEP = VECTOR_NBYTES / sizeof(uword), /* elements that fill a vector as they are stored */
};

typedef double vf64 __attribute__((vector_size(VECTOR_NBYTES)));
typedef uint64_t vu64 __attribute__((vector_size(VECTOR_NBYTES)));
typedef int64_t vi64 __attribute__((vector_size(VECTOR_NBYTES)));
typedef int16_t vi16 __attribute__((vector_size(VECTOR_NBYTES)));
typedef uword vuword __attribute__((vector_size(VECTOR_NBYTES)));
typedef sword vsword __attribute__((vector_size(VECTOR_NBYTES)));
/* As many elements as a vf64 has. */
typedef float vf32 __attribute__((vector_size(VECTOR_NBYTES / 2)));
typedef uint32_t vu32 __attribute__((vector_size(VECTOR_NBYTES / 2)));
typedef uint16_t vu16 __attribute__((vector_size(VECTOR_NBYTES / 4)));

/* The bits of the largest magnitude, and of the smallest that is not 0 (all ones but the sign if all are 0). */
struct magnitudes {
    uword max, min;
};

/* a in the lanes where mask is all ones, b where it is 0. */
INLINE vsword select_where(vsword mask, vsword a, vsword b) {
    return (a & mask) | (b & ~mask);
}

#endif
