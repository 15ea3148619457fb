/* Elements multiplied by a power of two, so that levels take what floating-point units are slow with, or not exact with:
 * subnormals, which cost a hundred cycles and more for each vector, and numbers whose products leave the range.
 * Only f64 has such: sums of narrower types are f64. */
#ifndef WF_CPU_LOOPS_SCALED_H
#define WF_CPU_LOOPS_SCALED_H

#include "cpu/loops/float_bits.h"
#include "cpu/loops/source.h"

/* x * 2^shift, shift > 0.  A field of 0 stands for the exponent of field 1, without a leading 1: it is put there, and
 * subtracted. */
INLINE vu64 scaled_up(vu64 bits, uint64_t shift) {
    const uint64_t leading = (shift + 1) << 52;
    vu64 is_small = (vu64)((bits & UINT64_C(0x7ff) << 52) == 0);
    vu64 scaled = bits + (shift << 52) + (is_small & UINT64_C(1) << 52);
    vf64 surplus = (vf64)(is_small & ((bits & UINT64_C(1) << 63) | leading));
    return (vu64)((vf64)scaled - surplus);
}

/* The same for shift <= 0, by which none but 0 becomes subnormal. */
INLINE vu64 scaled_down(vu64 bits, uint64_t shift) {
    return (bits + (shift << 52)) & (vu64)((bits & UINT64_C(0x7ff) << 52) != 0);
}

/* Small f64 of groups, all by the same factor: a window of few levels has room above those that it covers. */
enum { SHIFT_OF_GROUPS = 600 };

INLINE vf64 scaled_value(vf64 x) {
    return (vf64)scaled_up((vu64)x, SHIFT_OF_GROUPS);
}

INLINE void scale_vector(unsigned char *to, const unsigned char *x, int shift) {
    vu64 bits;
    memcpy(&bits, x, sizeof bits);
    bits = shift > 0 ? scaled_up(bits, (uint64_t)shift) : scaled_down(bits, (uint64_t)shift);
    memcpy(to, &bits, sizeof bits);
}

/* Writes as many vectors as hold all elements. */
INLINE void scale_elements(unsigned char *to, const unsigned char *x, size_t count, int shift) {
    struct group group;
    size_t nbytes = count * sizeof(double), i = 0;
    for (; i + VECTOR_NBYTES <= nbytes; i += VECTOR_NBYTES) {
        prefetch_next_block(x + i);
        scale_vector(to + i, x + i, shift);
    }
    if (i == nbytes) return;
    struct source rest = {x + i, x + i, (nbytes - i) / sizeof(double), sizeof(double), {0, 0}};
    scale_vector(to + i, padded(rest, VECTOR_NBYTES, &group).x, shift);
}

APART void scale(unsigned char *to, const unsigned char *x, size_t count, int shift) {
    if (shift > 0) /* in a loop of its own */
        scale_elements(to, x, count, shift);
    else
        scale_elements(to, x, count, shift);
}

/* A copy of a source, each of its operands in a place of its own, multiplied as a window wants it. */
static struct source scaled_source(struct source source, unsigned char *const to[2], const struct window *window) {
    bool pairs = source.y != source.x;
    scale(to[0], source.x, source.count, window->shift[0]);
    if (pairs) scale(to[1], source.y, source.count, window->shift[1]);
    return (struct source){to[0], pairs ? to[1] : to[0], source.count, source.nbytes, source.ahead};
}

#endif
