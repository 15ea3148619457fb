/* The loops that every type needs: extremes, counts, products.  float.c and integer.c define before they
 * include it:
 *
 *   key                      an integer type that orders as the elements do
 *   key_of(bits)             an element's key: that of wf_bits_to_key, but for u64 the value itself
 *   lanes_of_key(bits, key)  the lanes, all ones, of the elements of a vector that have that key
 *   NONZERO_MASK             the bits of an element that are all 0 if it is zero
 *   is_nan_key(key)          whether it is a NaN's */
#ifndef WF_CPU_LOOPS_ANY_TYPE_H
#define WF_CPU_LOOPS_ANY_TYPE_H

#include "cpu/loops/prefetch.h"
#include "cpu/loops/tree.h"

/* An element at any alignment. */
INLINE uword bits_at(const unsigned char *x, size_t i) {
    uword bits;
    memcpy(&bits, x + i * sizeof bits, sizeof bits);
    return bits;
}

/* ---- extremes ---- */

enum { KEY_IS_UNSIGNED = (key)-1 > (key)0 };

#define KEY_MAX ((key)(KEY_IS_UNSIGNED ? (uword)-1 : (uword)-1 >> 1))

/* Flipping all bits of the keys reverses their order, so one loop finds either extreme: flip is 0 or ~0. */
INLINE key least_key(const unsigned char *x, size_t count, key flip) {
    key least = KEY_MAX;
    for (size_t i = 0; i < count; i++) {
        key other = (key)(key_of(bits_at(x, i)) ^ flip);
        least = other < least ? other : least;
    }
    return least;
}

/* The index of the first element with this key; count if there is none.  In sorted data every block is searched.  That takes
 * about a quarter of the time in which memory delivers a block, so as much of the next one is asked for meanwhile.  Kept out
 * of line: inlined, it costs extremes of i64 up to a tenth of their speed. */
APART size_t find_key(const unsigned char *x, size_t count, key wanted) {
    enum { TOGETHER = 4 * STEP };
    size_t i = 0;
    for (; i + TOGETHER <= count; i += TOGETHER) {
        vsword found = {0}, bits;
        prefetch_next_block(x + i * sizeof(uword) / 4);
        UNROLLED
        for (size_t v = 0; v < TOGETHER; v += STEP) {
            memcpy(&bits, x + (i + v) * sizeof(uword), sizeof bits);
            found |= lanes_of_key(bits, wanted);
        }
        if (lane_bits(found)) break;
    }
    while (i < count && key_of(bits_at(x, i)) != wanted) i++;
    return i;
}

/* Merges the extreme of a block, whose first element has index `index`, into the extreme of all.  The
 * position within the block is looked for only if the block's extreme is the better one.  That of nothing but NaNs is
 * the key of one. */
static void note_extreme(struct wf_partial *into, key of_block, bool largest, const unsigned char *x,
                         size_t count, int64_t index) {
    bool is_u64 = KEY_IS_UNSIGNED && sizeof(key) == 8;
    uint64_t *best = largest ? &into->max_key : &into->min_key;
    uint64_t *best_index = largest ? &into->max_index : &into->min_index;
    uint64_t found = is_u64 ? (uint64_t)of_block : wf_key_to_order((int64_t)of_block);
    bool better = largest ? found > *best : found < *best;
    if (!better && !(found == *best && (uint64_t)index < *best_index)) return;
    if (is_nan_key(of_block)) return;
    size_t position = find_key(x, count, of_block);
    if (position == count) return;
    *best = found;
    *best_index = (uint64_t)index + position;
}

/* ---- counts ---- */

struct counted {
    int64_t nonzero, nans; /* the latter are among the former */
};

/* The magnitude of floats beyond which they are NaN. */
#define INFINITE_MAGNITUDE ((sword)((((uword)1 << EXPONENT_BITS) - 1) << (EXPONENT_BITS ? PRECISION - 1 : 0)))

/* Takes 1 from lanes of counts in which x is above the limit; where the tier has masks, compilers would make vectors of them. */
INLINE vsword less_where_above(vsword counts, vsword x, sword limit) {
#ifdef HAS_CLEAN_LANES
    return replaced(counts, lanes_above(x, (vsword){0} + limit), counts - 1);
#else
    return counts + (x > limit);
#endif
}

/* Counts in lanes as wide as the elements.  A lane of 8 bits overflows after 255 vectors, so it is emptied
 * sooner; others have room for all of a run of blocks. */
static struct counted count_nonzero(struct wf_scratch *scratch, const unsigned char *x, size_t count) {
    enum { ROWS = sizeof(uword) == 1 ? 127 : 1 << 14 };
    _Static_assert(ROWS == 127 || WF_RUN_NBYTES / VECTOR_NBYTES <= ROWS, "lanes are emptied once");
    struct ahead ahead = next_pass(scratch);
    struct counted counted = {0, 0};
    vsword bits;
    size_t i = 0;
    while (i + STEP <= count) {
        vsword nonzero = {0}, nans = {0};
        for (int row = 0; row < ROWS && i + STEP <= count; row++, i += STEP) {
            prefetch_line(ahead, x, i * sizeof(uword));
            memcpy(&bits, x + i * sizeof(uword), sizeof bits);
            bits &= (sword)NONZERO_MASK;
            nonzero = EXPONENT_BITS ? less_where_above(nonzero, bits, 0) : nonzero + (bits != 0);
            if (EXPONENT_BITS) nans = less_where_above(nans, bits, INFINITE_MAGNITUDE);
        }
        for (size_t lane = 0; lane < STEP; lane++) counted.nonzero -= nonzero[lane];
        for (size_t lane = 0; lane < STEP; lane++) counted.nans -= nans[lane];
    }
    for (; i < count; i++) {
        counted.nonzero += (bits_at(x, i) & NONZERO_MASK) != 0;
        counted.nans += is_nan_key(key_of(bits_at(x, i)));
    }
    return counted;
}

/* ---- the product's tree (core/product.h) ---- */

/* Makes the node of the 2^level elements at x, which come next in the tree, and notes what they are that has no
 * factor. */
typedef struct wf_factor make_node(struct wf_open_partial *into, struct wf_scratch *scratch, const unsigned char *x,
                                   int level);

/* Blocks of up to 2^level_max elements become one node at a time. */
INLINE void add_to_tree(struct wf_open_partial *into, struct wf_scratch *scratch, const unsigned char *x,
                        size_t count, int level_max, make_node *node) {
    while (count) {
        int level = level_max;
        while (into->tree->end & ((INT64_C(1) << level) - 1) || count >> level == 0) level--;
        wf_tree_append(into->tree, level, node(into, scratch, x, level));
        x += sizeof(uword) << level;
        count -= (size_t)1 << level;
    }
}

#endif
