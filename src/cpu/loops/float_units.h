/* Floats as integers, for tables by key: each is split onto the grids of a few levels, as in extract.h, but what each
 * level takes is an integer of its own. */
#ifndef WF_CPU_LOOPS_FLOAT_UNITS_H
#define WF_CPU_LOOPS_FLOAT_UNITS_H

#include "cpu/loops/extract.h"
#include "cpu/loops/units.h"

/* What a term leaves on the levels of a grid, in their units; returns the rest. */
INLINE vf64 split_term(vi64 unit[WF_GRID_LEVELS_MAX], const struct wf_grid *grid, int levels, vf64 term) {
    UNROLLED
    for (int k = 0; k < levels; k++) {
        vf64 anchor = (vf64){0} + grid->anchor[k], increased = anchor + term;
        unit[k] = (vi64)increased - (vi64)anchor;
        term -= increased - anchor;
    }
    return term;
}

INLINE void store_words(struct wf_units *units, int first, const vi64 *unit, int levels, vi64 kept, size_t i) {
    UNROLLED
    for (int k = 0; k < levels; k++) {
        vi64 word = unit[k] & kept;
        memcpy(&units->word[first + k][i], &word, sizeof word);
    }
}

struct split {
    int values, squares; /* levels of each */
    bool magnitudes;
};

/* LANES elements, the first of which is element i of the block.  seen: in which lanes some were lost, or were -0.  unit: room
 * for those of values and squares, which has values, as compilers ask. */
INLINE void split_vector(struct wf_units *units, const struct wf_grid grid[2], struct split split,
                         const unsigned char *x, size_t i, vi64 unit[2][WF_GRID_LEVELS_MAX], vi64 seen[2]) {
    vf64 value = widen(x), magnitude = (vf64)((vi64)value & INT64_MAX);
    vi64 kept = magnitude <= grid->limit; /* not so a NaN */
    seen[1] |= (vi64)value == INT64_MIN;
    vf64 term = split.magnitudes ? magnitude : value;
    if (split.values) kept &= split_term(unit[0], &grid[0], split.values, term) == 0;
    if (split.squares) kept &= split_term(unit[1], &grid[1], split.squares, value * value) == 0;
    store_words(units, 0, unit[0], split.values, kept, i);
    store_words(units, split.values, unit[1], split.squares, kept, i);
    vi64 lost = ~kept;
    memcpy(&units->lost[i], &lost, sizeof lost);
    seen[0] |= lost;
}

INLINE void split_block(struct wf_units *units, const struct wf_grid grid[2], struct split split, const unsigned char *x,
                        size_t count) {
    const struct wf_grid own[2] = {grid[0], grid[1]}; /* which no store changes, as compilers see */
    struct source source = {x, x, count, sizeof(uword), {0, 0}};
    struct group group;
    vi64 unit[2][WF_GRID_LEVELS_MAX] = {{{0}}}, seen[2] = {{0}};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) split_vector(units, own, split, x + i * sizeof(uword), i, unit, seen);
    if (i < count)
        split_vector(units, own, split, padded(part_of(source, i, LANES), LANES * sizeof(uword), &group).x, i, unit, seen);
    units->any_lost = units->any_minus_zero = false;
    for (int lane = 0; lane < LANES; lane++) {
        units->any_lost |= seen[0][lane] != 0;
        units->any_minus_zero |= seen[1][lane] != 0;
    }
    forget_rounding();
}

static void mark_zeros(struct wf_units *units, const unsigned char *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uword bits = bits_at(x, i);
        units->word[0][i] = is_nan(bits) ? 0 : bits == MINUS_ZERO ? WF_MARK_MINUS_ZERO : WF_MARK_OTHER;
    }
}

wf_split_function WF_LOOPS_NAME(split, TYPE, TIER);

void WF_LOOPS_NAME(split, TYPE, TIER)(struct wf_units *units, const struct wf_grid grid[2], unsigned parts,
                                      const void *data, size_t count) {
    const unsigned char *x = data;
    struct split split = {grid[0].levels, grid[1].levels, parts & WF_PART_ABS};
    if (parts == 0)
        mark_zeros(units, x, count);
    else if (parts & (WF_PART_MIN | WF_PART_MAX))
        take_keys(units, x, count, parts & WF_PART_MAX);
    else
        split_block(units, grid, split, x, count);
}

#endif
