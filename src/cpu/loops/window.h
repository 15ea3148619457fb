/* Windows: which levels the terms of a block are split into.
 *
 * Terms are x, |x|, x*y, or the rounding error of x*y, all f64.  If few levels cover the range of bits that
 * the terms of a block span, the terms are split without error onto each level's grid (Rump, Ogita, Oishi,
 * "Accurate floating-point summation part I", 2008, section 3; Demmel, Nguyen, "Fast reproducible
 * floating-point summation", 2013): extract.h. Blocks of a wider range go to exponent bins: bins.h in this
 * folder. */
#ifndef WF_CPU_LOOPS_WINDOW_H
#define WF_CPU_LOOPS_WINDOW_H

#include "cpu/loops/source.h"

enum {
    LEVELS_MAX = NOTES_ROUNDING && PRECISION > 11 ? 6 : 4, /* with more, exponent bins are faster */
    TERMS_MAX = 3,
    HAS_MANY_REGISTERS = LANES == 8, /* 32 where vectors have eight lanes, otherwise 16 on most processors */
};

/* All values are less than 2^top in magnitude and multiples of 2^low. */
struct range {
    int top, low;
};

/* The number of levels for an element's first term, and for each of its other terms. */
struct shape {
    int first, others;
};

/* Level k of term t adds on the grid of multiples of 2^(exponent[t][k] - 52). */
struct window {
    struct shape shape;
    struct range covered[TERMS_MAX];
    int exponent[TERMS_MAX][LEVELS_MAX];
    int shift[2]; /* of each operand: its elements are to be multiplied by 2^shift first (scaled.h) */
};

struct target;
/* Returns whether all elements were finite; bins leave the others out. */
typedef bool add_to_wide_sum(struct target into, struct source source);

struct specials; /* special.h */
/* Returns the source, of at most a group, or, if it has infinities or NaNs, a copy without them, which are noted in seen. */
typedef struct source clean_group(struct specials *seen, struct group *copy, struct source source);

/* What is summed.  The loops get it as a constant, so they are compiled for each kind. */
struct kind {
    int terms;   /* of each element */
    bool splits; /* the first terms of negative elements are also summed separately */
    load_terms *load[TERMS_MAX];
    int floor[TERMS_MAX]; /* all terms are multiples of 2^floor: no grid need be finer */
    /* Adds the elements' first terms, of whatever range, without a window; NULL if several sums are added. */
    add_to_wide_sum *add_wide;
    bool loses; /* the last level's additions may round (lossy.h) */
    /* NULL, or what takes infinities and NaNs out of each group before it is added. */
    clean_group *clean;
    bool finds_largest; /* of the first terms, which are products (lossy.h) */
};

INLINE int levels_of(struct shape shape, int term) {
    return term == 0 ? shape.first : shape.others;
}

/* The number of vectors that are added at a time: as many as there are registers for their sums. */
INLINE int unroll_of(struct shape shape, struct kind kind) {
    int sums = (kind.splits ? 2 : 1) * shape.first + (kind.terms - 1) * shape.others;
    return sums == 1 ? UNROLL_MAX : sums == 2 ? 4 : sums <= 6 ? 2 : 1;
}

/* The number of bits by which a level's anchor must lie above its terms.  A level whose anchor is 1.5 * 2^e
 * stays in its binade, and so on its grid, while the terms added in a lane sum to less than 2^(e - 1).  Sums
 * are moved out of their lanes before there have been more additions than this allows.  That is seldom if
 * there is only one term to add; with products it is more often, because two levels of 45 bits hold the
 * squares of most blocks of f64, and two of 42 would not. */
INLINE int headroom_of(struct kind kind) {
    return kind.terms == 1 && !kind.loses ? 10 : 7;
}

/* Of more than two levels for a block's only term, each covers more bits: to move their sums out of their lanes more often
 * costs less than a further level. */
enum { FEW_LEVELS = 2, HEADROOM_OF_MANY = 6 };

INLINE int headroom_of_block(int levels, struct kind kind) {
    return kind.terms == 1 && levels > FEW_LEVELS ? HEADROOM_OF_MANY : headroom_of(kind);
}

INLINE size_t additions_max(struct shape shape, struct kind kind) {
    return ((size_t)1 << (headroom_of_block(shape.first, kind) - 1)) - 1;
}

/* The number of bits that the first level covers.  It leaves at most half of its grid's unit of a term, so each further level
 * covers one bit more. */
INLINE int bits_of_level(int headroom) {
    return 52 - headroom;
}

INLINE int levels_for(struct range range, int headroom) {
    int further = range.top - range.low - bits_of_level(headroom), step = bits_of_level(headroom) + 1;
    return further > 0 ? 1 + (further + step - 1) / step : 1;
}

INLINE int levels_of_block(struct range range, struct kind kind) {
    int few = levels_for(range, headroom_of(kind)), many = levels_for(range, headroom_of_block(FEW_LEVELS + 1, kind));
    return few <= FEW_LEVELS ? few : many > FEW_LEVELS ? many : FEW_LEVELS + 1;
}

/* The grid of the level that covers terms of at most 2^top. */
INLINE int grid_below(int top, int headroom, int floor) {
    int grid = top - bits_of_level(headroom);
    return grid > floor ? grid : floor;
}

/* Sets the levels of one of the terms; returns whether f64 has anchors that high. */
INLINE bool set_levels(struct window *window, int term, struct range range, struct kind kind, int headroom) {
    int floor = kind.floor[term], grid = grid_below(range.top, headroom, floor), highest = grid;
    window->exponent[term][0] = grid + 52;
    for (int k = 1; k < levels_of(window->shape, term); k++) {
        grid = grid_below(grid - 1, headroom, floor);
        window->exponent[term][k] = grid + 52;
    }
    window->covered[term] = (struct range){range.top, grid};
    return highest + 52 <= 1022;
}

/* The shapes for which the loops are compiled.  Only kinds of one term have more than four levels. */
static const struct shape shapes[] = {
    {1, 1}, {1, 2}, {2, 2}, {2, 4}, {3, 3}, {4, 4}, {LEVELS_MAX, LEVELS_MAX}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* Makes the window of fewest levels that covers the ranges of all terms; returns whether there is one. */
INLINE bool make_window(struct window *window, const struct range *range, struct kind kind) {
    int first = levels_of_block(range[0], kind), others = 1, i = 0, count = kind.terms == 1 ? SHAPES : SHAPES - 1;
    for (int t = 1; t < kind.terms; t++)
        if (levels_of_block(range[t], kind) > others) others = levels_of_block(range[t], kind);
    while (i < count && (shapes[i].first < first || shapes[i].others < others)) i++;
    if (i == count) return false;
    window->shape = shapes[i];
    for (int t = 0; t < kind.terms; t++)
        if (!set_levels(window, t, range[t], kind, headroom_of_block(window->shape.first, kind))) return false;
    return true;
}

/* Whether the window has so many levels that splitting off outliers should be tried first. */
static bool is_wide(const struct window *window) {
    return LEVELS_MAX > 4 && window->shape.first > 4;
}

static bool window_covers(const struct window *window, const struct range *range, int terms) {
    for (int t = 0; t < terms; t++)
        if (range[t].top > window->covered[t].top || range[t].low < window->covered[t].low) return false;
    return true;
}

static int64_t anchor_bits(int exponent) {
    return ((int64_t)(exponent + 1023) << 52) | INT64_C(1) << 51;
}

INLINE vf64 anchor_of(const struct window *window, int term, int level) {
    return (vf64)((vi64){0} + anchor_bits(window->exponent[term][level]));
}

#endif
