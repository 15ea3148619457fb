/* Every second element, elements in reverse and one element many times: vectors of 16 bytes, as every processor has
 * them, take a third of the time of single elements or less.  Other strides are bound by their loads. */
#include "core/strided.h"

#include <string.h>

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a)){__VA_ARGS__})
#endif

#define EVEN_4 0, 2, 4, 6
#define EVEN_8 EVEN_4, 8, 10, 12, 14
#define EVEN_16 EVEN_8, 16, 18, 20, 22, 24, 26, 28, 30

enum { VECTOR_NBYTES = 16 };
typedef uint8_t v_uint8_t __attribute__((vector_size(VECTOR_NBYTES)));
typedef uint16_t v_uint16_t __attribute__((vector_size(VECTOR_NBYTES)));
typedef uint32_t v_uint32_t __attribute__((vector_size(VECTOR_NBYTES)));
typedef uint64_t v_uint64_t __attribute__((vector_size(VECTOR_NBYTES)));

static inline v_uint64_t reverse_uint64_t(v_uint64_t x) {
    return SHUFFLE(x, x, 1, 0);
}

static inline v_uint32_t reverse_uint32_t(v_uint32_t x) {
    return SHUFFLE(x, x, 3, 2, 1, 0);
}

/* Not all processors shuffle anything shorter. */
static inline v_uint16_t reverse_uint16_t(v_uint16_t x) {
    v_uint32_t pairs = reverse_uint32_t((v_uint32_t)x);
    return (v_uint16_t)(pairs << 16 | pairs >> 16);
}

static inline v_uint8_t reverse_uint8_t(v_uint8_t x) {
    v_uint16_t pairs = reverse_uint16_t((v_uint16_t)x);
    return (v_uint8_t)(pairs << 8 | pairs >> 8);
}

/* For each size, how many are copied by vectors.  Nothing behind the last element is read. */
#define EVEN_OF(word, even)                                                                                   \
    static size_t copy_even_##word(unsigned char *restrict to, const unsigned char *restrict from, size_t count) {\
        enum { LANES = VECTOR_NBYTES / sizeof(word) };                                                        \
        size_t i = 0;                                                                                         \
        for (v_##word x, y; i + LANES < count; i += LANES) {                                                  \
            memcpy(&x, from + 2 * i * sizeof(word), sizeof x);                                                \
            memcpy(&y, from + 2 * i * sizeof(word) + sizeof x, sizeof y);                                     \
            x = SHUFFLE(x, y, even);                                                                          \
            memcpy(to + i * sizeof(word), &x, sizeof x);                                                      \
        }                                                                                                     \
        return i;                                                                                             \
    }

EVEN_OF(uint8_t, EVEN_16)
EVEN_OF(uint16_t, EVEN_8)
EVEN_OF(uint32_t, EVEN_4)

/* Halves of vectors are loaded one by one. */
static size_t copy_even_uint64_t(unsigned char *restrict to, const unsigned char *restrict from, size_t count) {
    enum { NBYTES = sizeof(uint64_t) };
    for (size_t i = 0; i < count; i++) memcpy(to + i * NBYTES, from + 2 * i * NBYTES, NBYTES);
    return count;
}

#define COPIES_OF(word)                                                                                               \
    static size_t copy_reversed_##word(unsigned char *restrict to, const unsigned char *restrict from, size_t count) { \
        enum { LANES = VECTOR_NBYTES / sizeof(word) };                                                                \
        size_t i = 0;                                                                                                 \
        for (v_##word x; i + LANES <= count; i += LANES) {                                                            \
            memcpy(&x, from - (i + LANES - 1) * sizeof(word), sizeof x);                                              \
            x = reverse_##word(x);                                                                                    \
            memcpy(to + i * sizeof(word), &x, sizeof x);                                                              \
        }                                                                                                             \
        return i;                                                                                                     \
    }                                                                                                                 \
    static size_t copy_same_##word(unsigned char *restrict to, const unsigned char *restrict from, size_t count) {    \
        enum { LANES = VECTOR_NBYTES / sizeof(word) };                                                                \
        size_t i = 0;                                                                                                 \
        word one;                                                                                                     \
        memcpy(&one, from, sizeof one);                                                                               \
        for (const v_##word x = (v_##word){0} + one; i + LANES <= count; i += LANES)                                  \
            memcpy(to + i * sizeof(word), &x, sizeof x);                                                              \
        return i;                                                                                                     \
    }                                                                                                                 \
    static void copy_##word(unsigned char *restrict to, const unsigned char *restrict from, int64_t stride,           \
                            size_t count) {                                                                           \
        const int64_t nbytes = sizeof(word);                                                                          \
        size_t i = 0;                                                                                                 \
        if (stride == 2 * nbytes) i = copy_even_##word(to, from, count);                                              \
        if (stride == -nbytes) i = copy_reversed_##word(to, from, count);                                             \
        if (stride == 0 && count) i = copy_same_##word(to, from, count);                                              \
        for (; i < count; i++) memcpy(to + i * sizeof(word), from + (int64_t)i * stride, sizeof(word));               \
    }

COPIES_OF(uint8_t)
COPIES_OF(uint16_t)
COPIES_OF(uint32_t)
COPIES_OF(uint64_t)

void wf_copy_strided(unsigned char *restrict to, const unsigned char *restrict from, int64_t stride_bytes, size_t count,
                     size_t nbytes) {
    if (stride_bytes == (int64_t)nbytes) {
        memcpy(to, from, count * nbytes);
        return;
    }
    switch (nbytes) {
    case 1: copy_uint8_t(to, from, stride_bytes, count); break;
    case 2: copy_uint16_t(to, from, stride_bytes, count); break;
    case 4: copy_uint32_t(to, from, stride_bytes, count); break;
    default: copy_uint64_t(to, from, stride_bytes, count);
    }
}
