/* The loops that every type needs: extremes, counts, products.  float.c and integer.c define before they
 * include it:
 *
 *   key                      an integer type that orders as the elements do
 *   key_of(bits)             an element's key: that of wf_bits_to_key, but for u64 the value itself
 *   NONZERO_MASK             the bits of an element that are all 0 if it is zero
 *   larger_magnitude(a, b)   of two vectors of such bits, if magnitudes are asked for at all; otherwise a
 *   is_nan                   what an element's bits stand for */
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

/* The index of the first element with this key (other than a NaN, if NaNs are skipped); count if there is
 * none.  Kept out of line: inlined, it costs extremes of i64 up to a tenth of their speed. */
static __attribute__((noinline)) size_t find_key(const unsigned char *x, size_t count, key wanted,
                                                 bool skip_nan) {
    enum { CHUNK = 256 };
    for (size_t start = 0; start < count; start += CHUNK) {
        size_t end = count - start < CHUNK ? count : start + CHUNK;
        uword any = 0;
        for (size_t i = start; i < end; i++) any |= key_of(bits_at(x, i)) == wanted;
        for (size_t i = start; any && i < end; i++) {
            uword bits = bits_at(x, i);
            if (key_of(bits) == wanted && !(skip_nan && is_nan(bits))) return i;
        }
    }
    return count;
}

/* Merges the extreme of a block, whose first element has index `index`, into the extreme of all.  The
 * position within the block is looked for only if the block's extreme is the better one. */
static void note_extreme(struct wf_partial *into, key of_block, bool largest, const unsigned char *x,
                         size_t count, int64_t index, bool skip_nan) {
    bool is_u64 = KEY_IS_UNSIGNED && sizeof(key) == 8;
    uint64_t *best = largest ? &into->max_key : &into->min_key;
    uint64_t *best_index = largest ? &into->max_index : &into->min_index;
    uint64_t found = is_u64 ? (uint64_t)of_block : wf_key_to_order((int64_t)of_block);
    bool better = largest ? found > *best : found < *best;
    if (!better && !(found == *best && (uint64_t)index < *best_index)) return;
    size_t position = find_key(x, count, of_block, skip_nan);
    if (position == count) return;
    *best = found;
    *best_index = (uint64_t)index + position;
}

/* ---- counts ---- */

struct counted {
    int64_t nonzero;
    uword max; /* the largest magnitude's bits; 0 for types whose larger_magnitude does not look for it */
};

/* Counts in lanes as wide as the elements.  A lane of 8 bits overflows after 255 vectors, so it is emptied
 * sooner. */
static struct counted count_nonzero(struct wf_scratch *scratch, const unsigned char *x, size_t count) {
    enum { ROWS = 127 };
    struct ahead ahead = next_pass(scratch);
    struct counted counted = {0, 0};
    vuword max = {0}, bits;
    size_t i = 0;
    while (i + STEP <= count) {
        vuword lanes = {0};
        for (int row = 0; row < ROWS && i + STEP <= count; row++, i += STEP) {
            prefetch_line(ahead, x, i * sizeof(uword));
            memcpy(&bits, x + i * sizeof(uword), sizeof bits);
            lanes -= (vuword)((bits & NONZERO_MASK) != 0);
            max = larger_magnitude(max, bits & NONZERO_MASK);
        }
        for (size_t lane = 0; lane < STEP; lane++) counted.nonzero += lanes[lane];
    }
    for (size_t lane = 0; lane < STEP; lane++)
        counted.max = max[lane] > counted.max ? max[lane] : counted.max;
    for (; i < count; i++) {
        uword magnitude = bits_at(x, i) & NONZERO_MASK;
        counted.nonzero += magnitude != 0;
        counted.max = magnitude > counted.max ? magnitude : counted.max;
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
