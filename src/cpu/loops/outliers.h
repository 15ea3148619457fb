/* Outliers: a few elements can make the range of a block too wide for any window, or for all but the widest.
 * They are split off and added one by one; the others go through the window that a sample of the block
 * suggests. */
#ifndef WF_CPU_LOOPS_OUTLIERS_H
#define WF_CPU_LOOPS_OUTLIERS_H

#include "cpu/loops/guess.h"
#include "cpu/loops/sums.h"

#define OUTLIERS_MAX 64

/* The indices of a few elements of a block. */
struct outliers {
    int count;
    uint16_t index[OUTLIERS_MAX];
};

INLINE bool is_within(uword bits, struct magnitudes within) {
    uword magnitude = bits & MAGNITUDE;
    return magnitude == 0 || (magnitude >= within.min && magnitude <= within.max);
}

/* A range that is likely to hold nearly all magnitudes, judging by a few of them. */
static struct magnitudes sample(const unsigned char *x, size_t count) {
    enum { SAMPLES = 64, FIELDS_ABOVE = 2, FIELDS_BELOW = 8, FIELD_MAX = (1 << EXPONENT_BITS) - 2 };
    uword largest = 0, smallest = INFINITY_BITS;
    for (size_t i = 0; i < count; i += count / SAMPLES + 1) {
        uword magnitude = bits_at(x, i) & MAGNITUDE;
        if (magnitude > largest) largest = magnitude;
        if (magnitude && magnitude < smallest) smallest = magnitude;
    }
    int high = (int)(largest >> FRACTION_BITS) + FIELDS_ABOVE,
        low = (int)(smallest >> FRACTION_BITS) - FIELDS_BELOW;
    high = high < FIELD_MAX ? high : FIELD_MAX;
    low = low > 0 ? low : 0;
    return (struct magnitudes){((uword)(high + 1) << FRACTION_BITS) - 1, (uword)low << FRACTION_BITS};
}

/* Copies elements begin <= j < end with 0 in place of those that are not within the range, and notes the
 * indices of these; returns whether there was room for all. */
static bool split_each(struct outliers *outliers, unsigned char *to, const unsigned char *x, size_t begin,
                       size_t end, struct magnitudes within) {
    for (size_t j = begin; j < end; j++) {
        uword bits = bits_at(x, j);
        bool inside = is_within(bits, within);
        if (!inside && outliers->count == OUTLIERS_MAX) return false;
        if (!inside) outliers->index[outliers->count++] = (uint16_t)j;
        bits = inside ? bits : 0;
        memcpy(to + j * sizeof bits, &bits, sizeof bits);
    }
    return true;
}

/* The same for all elements: whole vectors first, then one by one in groups in which there is an outlier. */
static bool split_outliers(struct outliers *outliers, unsigned char *to, const unsigned char *x, size_t count,
                           struct magnitudes within) {
    enum { GROUP = 4 * STEP };
    const sword least = (sword)within.min, most = (sword)within.max;
    outliers->count = 0;
    for (size_t i = 0; i < count; i += GROUP) {
        size_t end = i + GROUP < count ? i + GROUP : count, vectors_end = i;
        vsword outside = {0};
        for (; vectors_end + STEP <= end; vectors_end += STEP) {
            vsword bits;
            memcpy(&bits, x + vectors_end * sizeof(uword), sizeof bits);
            vsword magnitude = bits & (sword)MAGNITUDE;
            vsword out = (magnitude > most) | ((magnitude < least) & (magnitude > 0));
            bits &= ~out;
            memcpy(to + vectors_end * sizeof(uword), &bits, sizeof bits);
            outside |= out;
        }
        bool any = vectors_end < end;
        for (int lane = 0; lane < LANES; lane++) any |= ((vi64)outside)[lane] != 0;
        if (any && !split_each(outliers, to, x, i, end, within)) return false;
    }
    return true;
}

/* Adds to all sums what the elements at an index add. */
static void add_element(struct wf_open_partial *into, struct source source, size_t i) {
    double x, y;
    struct source element = part_of(source, i, 1);
    store_terms(&x, (struct source){element.x, element.x, 1, sizeof(uword), {0, 0}}, load_value);
    store_terms(&y, (struct source){element.y, element.y, 1, sizeof(uword), {0, 0}}, load_value);
    if (into->parts & WF_PART_SUM) wf_exact_add_f64(&into->sum, x);
    if (into->parts & WF_PART_ABS) wf_exact_add_f64(&into->abs, x < 0 ? -x : x);
    if (into->parts & PRODUCTS) wf_exact_add_product(&into->product_sum, x, y);
}

/* Adds the outliers of both operands, each index once. */
static void add_outliers(const struct block *block, const struct outliers outliers[2],
                         struct magnitudes within_x) {
    for (int i = 0; i < outliers[0].count; i++) add_element(block->into, block->source, outliers[0].index[i]);
    for (int i = 0; i < outliers[1].count; i++)
        if (is_within(bits_at(block->source.x, outliers[1].index[i]), within_x))
            add_element(block->into, block->source, outliers[1].index[i]);
}

/* Adds all sums of a finite block whose range is wide, if that is due to few of its elements. */
static bool add_without_outliers(struct block *block) {
    struct source source = block->source;
    struct block rest = *block;
    bool pairs = source.y != source.x;
    rest.source.x = block->scratch->copy[0];
    rest.source.y = block->scratch->copy[pairs];
    if (source.count > room_for_copy(block)) return false;
    if (source.x == rest.source.x || source.y == rest.source.y) return false; /* the copy is the source */
    struct magnitudes within[2] = {sample(source.x, source.count)};
    within[1] = pairs ? sample(source.y, source.count) : within[0];
    struct range range[2] = {range_of(within[0]), range_of(within[1])};
    struct window window;
    struct outliers outliers[2] = {{.count = 0}, {.count = 0}};
    if (!find_window(&window, block->into->parts & SUMS, range) || is_wide(&window)) return false;
    for (int i = 0; i <= pairs; i++)
        if (!split_outliers(&outliers[i], block->scratch->copy[i], i ? source.y : source.x, source.count,
                            within[i]))
            return false;
    rest.is_scanned = false;
    ensure_scanned(&rest);
    if (!add_through_window(&rest)) return false;
    learn(&block->scratch->guess, rest.range);
    add_outliers(block, outliers, within[0]);
    return true;
}

#endif
