/* Where the terms of a sum come from: elements of one array or of two, and what loads them as f64. */
#ifndef WF_CPU_LOOPS_SOURCE_H
#define WF_CPU_LOOPS_SOURCE_H

#include "cpu/loops/prefetch.h"

/* Vectors that a loop can be unrolled to. */
#define UNROLL_MAX 8

struct source {
    const unsigned char *x, *y; /* y is the other operand; if there is none, x again */
    size_t count;
    size_t nbytes; /* of an element */
    struct ahead ahead;
};

/* Terms of LANES elements: a * b in each lane, which an f64 holds. */
struct terms {
    vf64 a, b;
    bool multiplies; /* false: b is 1, and additions should be left to the adder, since the multiplier is busy
                      */
};

/* Loads the terms of LANES elements.  levels: the number of levels that the terms will be split into.  Up to
 * two levels may be given factors instead of a product: then what a level leaves of a * b is an f64, so the
 * multiplication can be fused with the addition.  factor: by what loaders of fitted terms multiply either operand; others do
 * not look at it. */
typedef struct terms load_terms(const unsigned char *x, const unsigned char *y, int levels, const vf64 *factor);

#define ONES ((vf64){0} + 1)

/* At most limit elements, from the index first on. */
INLINE struct source part_of(struct source source, size_t first, size_t limit) {
    size_t left = source.count - first;
    return (struct source){source.x + first * source.nbytes, source.y + first * source.nbytes,
                           left < limit ? left : limit, source.nbytes, source.ahead};
}

INLINE void prefetch_source(struct source source, size_t i, size_t nbytes) {
    if (source.y != source.x)
        prefetch_pair(source.ahead, source.x, source.y, i * source.nbytes, nbytes);
    else
        prefetch(source.ahead, source.x, i * source.nbytes, nbytes);
}

/* Space for a group of elements of any type. */
struct group {
    unsigned char x[UNROLL_MAX * VECTOR_NBYTES], y[UNROLL_MAX * VECTOR_NBYTES];
};

/* A copy, in group, of a source that is shorter than nbytes, with zeros after it. */
INLINE struct source padded(struct source source, size_t nbytes, struct group *group) {
    bool pairs = source.y != source.x;
    memset(group->x, 0, nbytes);
    memcpy(group->x, source.x, source.count * source.nbytes);
    if (pairs) memset(group->y, 0, nbytes);
    if (pairs) memcpy(group->y, source.y, source.count * source.nbytes);
    return (struct source){group->x, pairs ? group->y : group->x, source.count, source.nbytes, source.ahead};
}

INLINE struct terms terms_at(struct source source, size_t i, load_terms *load, int levels, const vf64 *factor) {
    return load(source.x + i * source.nbytes, source.y + i * source.nbytes, levels, factor);
}

INLINE void store_vector(double *term, size_t count, struct terms terms) {
    vf64 value = terms.a * terms.b;
    memcpy(term, &value, count * sizeof(double));
}

/* Stores the terms of all elements, in order. */
INLINE void store_terms(double *term, struct source source, load_terms *load) {
    struct group group;
    size_t i = 0;
    for (; i + LANES <= source.count; i += LANES) store_vector(term + i, LANES, terms_at(source, i, load, 1, NULL));
    if (i < source.count)
        store_vector(term + i, source.count - i,
                     terms_at(padded(part_of(source, i, LANES), LANES * source.nbytes, &group), 0, load, 1, NULL));
}

#endif
