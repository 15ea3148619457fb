/* Outliers: elements that lie far from most others of their block can make its range too wide for any window,
 * or for all but the widest.  So the near ones are parted from them and go through the window that they need;
 * the others are added as a block of their own. */
#ifndef WF_CPU_LOOPS_OUTLIERS_H
#define WF_CPU_LOOPS_OUTLIERS_H

#include "cpu/loops/each_sum.h"
#include "cpu/loops/guess.h"
#include "cpu/loops/special.h"

#define OUTLIERS_FEW 64 /* which may be parted from a block even where that takes long */

INLINE bool is_within(uword bits, struct magnitudes within) {
    uword magnitude = bits & MAGNITUDE;
    bool is_zero = magnitude == 0, is_between = (uword)(magnitude - within.min) <= (uword)(within.max - within.min);
    return is_zero | is_between;
}

/* All magnitudes with these exponent fields, as far as finite elements have them. */
static struct magnitudes magnitudes_between(int low, int high) {
    enum { FIELD_MAX = (1 << EXPONENT_BITS) - 2 };
    high = high < FIELD_MAX ? high : FIELD_MAX;
    return (struct magnitudes){((uword)(high + 1) << FRACTION_BITS) - 1, low > 0 ? (uword)low << FRACTION_BITS : 1};
}

/* The magnitudes in a range: the inverse of range_of. */
static struct magnitudes magnitudes_in(struct range range) {
    int low = range.low - LOW_EXPONENT + 1;
    return magnitudes_between(low > 1 ? low : 0, range.top + BIAS - 1);
}

/* The first of SPAN classes in a row, each of CLASS_FIELDS exponent fields, that are the largest part of a sample: how many
 * elements of it they are. */
enum { CLASS_FIELDS = 16, SPAN = 2, CLASSES = (1 << EXPONENT_BITS) / CLASS_FIELDS };

static int densest(int *first, const uint8_t seen[CLASSES]) {
    int best = 0;
    *first = 0;
    for (int i = 0; i + SPAN <= CLASSES; i++)
        if (seen[i] + seen[i + 1] > best) {
            best = seen[i] + seen[i + 1];
            *first = i;
        }
    return best;
}

/* Finds a range that is likely to hold most magnitudes, judging by a few of them; returns whether there is one, and, if
 * all are to be within, whether it holds those. */
static bool sample(struct magnitudes *near, const unsigned char *x, size_t count, bool all) {
    enum { SAMPLES = 64, SAMPLES_OF_STRETCH = 24, FIELDS_ABOVE = 2, FIELDS_BELOW = 8 };
    const size_t step = count / (count * sizeof(uword) > WF_STRETCH_NBYTES ? SAMPLES : SAMPLES_OF_STRETCH) + 1;
    uint8_t seen[CLASSES] = {0};
    int field[SAMPLES], samples = 0, low = 1 << EXPONENT_BITS, high = -1;
    for (size_t i = 0; i < count; i += step) {
        uword magnitude = bits_at(x, i) & MAGNITUDE;
        if (!magnitude) continue;
        field[samples] = (int)(magnitude >> FRACTION_BITS);
        seen[field[samples++] / CLASS_FIELDS]++;
    }
    int first, most = densest(&first, seen);
    for (int i = 0; i < samples; i++) {
        bool is_near = field[i] / CLASS_FIELDS >= first && field[i] / CLASS_FIELDS < first + SPAN;
        if (!is_near && all) return false;
        if (is_near && field[i] < low) low = field[i];
        if (is_near && field[i] > high) high = field[i];
    }
    *near = magnitudes_between(low - FIELDS_BELOW, high + FIELDS_ABOVE);
    return 2 * most >= samples;
}

/* Elements, or pairs, being parted: those that are near fill the room from its begin on, the others from its end on. */
struct parted {
    unsigned char *x, *y; /* y is x if there are no pairs */
    size_t room;          /* of either, in elements */
    size_t near, far;     /* how many there are so far */
};

INLINE void put(unsigned char *to, size_t i, uword bits) {
    memcpy(to + i * sizeof bits, &bits, sizeof bits);
}

/* Parts elements begin <= j < end, without a branch: each is written to both sides, and stays where it is counted. */
INLINE void part_each(struct parted *parted, struct source source, size_t begin, size_t end,
                      const struct magnitudes within[2], bool pairs) {
    struct parted to = *parted;
    for (size_t j = begin; j < end; j++) {
        uword x = bits_at(source.x, j);
        size_t last = to.room - 1 - to.far;
        bool is_near = is_within(x, within[0]);
        if (pairs) {
            uword y = bits_at(source.y, j);
            is_near &= is_within(y, within[1]);
            put(to.y, to.near, y);
            put(to.y, last, y);
        }
        put(to.x, to.near, x);
        put(to.x, last, x);
        to.near += is_near;
        to.far += !is_near;
    }
    *parted = to;
}

INLINE vsword load_bits(const unsigned char *x, size_t i) {
    vsword bits;
    memcpy(&bits, x + i * sizeof(uword), sizeof bits);
    return bits;
}

INLINE void store_bits(unsigned char *x, size_t i, vsword bits) {
    memcpy(x + i * sizeof(uword), &bits, sizeof bits);
}

/* Elements of several vectors, or pairs; near: the lanes in which they are within their ranges. */
#define GROUP_VECTORS 4
#define GROUP (GROUP_VECTORS * STEP)

struct group_parts {
    vsword x[GROUP_VECTORS], y[GROUP_VECTORS];
    unsigned near[GROUP_VECTORS];
};

/* Returns whether all are near. */
INLINE bool load_group(struct group_parts *group, struct source source, size_t i, const struct magnitudes within[2],
                       bool pairs) {
    unsigned all = ALL_WITHIN;
    UNROLLED
    for (size_t v = 0; v < GROUP_VECTORS; v++) {
        group->x[v] = load_bits(source.x, i + v * STEP);
        group->y[v] = pairs ? load_bits(source.y, i + v * STEP) : group->x[v];
        group->near[v] = lanes_within(group->x[v], within[0]);
        if (pairs) group->near[v] &= lanes_within(group->y[v], within[1]);
        all &= group->near[v];
    }
    return all == ALL_WITHIN;
}

INLINE void copy_group(struct parted *parted, const struct group_parts *group, bool pairs) {
    UNROLLED
    for (size_t v = 0; v < GROUP_VECTORS; v++) {
        store_bits(parted->x, parted->near + v * STEP, group->x[v]);
        if (pairs) store_bits(parted->y, parted->near + v * STEP, group->y[v]);
    }
    parted->near += GROUP;
}

INLINE void part_group(struct parted *parted, const struct group_parts *group, bool pairs) {
    UNROLLED
    for (size_t v = 0; v < GROUP_VECTORS; v++) {
        size_t near = parted->near * sizeof(uword), far = (parted->room - parted->far) * sizeof(uword);
        size_t count = store_parted(parted->x + near, parted->x + far, group->x[v], group->near[v]);
        if (pairs) store_parted(parted->y + near, parted->y + far, group->y[v], group->near[v]);
        parted->near += count;
        parted->far += STEP - count;
    }
}

/* Parts all elements, or pairs; gives up where more than far_max are far.  Returns whether it did not. */
INLINE bool part(struct parted *parted, struct source source, const struct magnitudes given[2], size_t far_max,
                 bool pairs) {
    const struct magnitudes within[2] = {given[0], given[1]}; /* in registers, as are the sides */
    struct parted to = *parted;
    struct group_parts group;
    size_t i = 0;
    for (; i + GROUP + STEP <= source.count && to.far <= far_max; i += GROUP) {
        prefetch_source(source, i, GROUP * sizeof(uword));
        if (load_group(&group, source, i, within, pairs))
            copy_group(&to, &group, pairs);
        else if (PARTS_VECTORS)
            part_group(&to, &group, pairs);
        else
            part_each(&to, source, i, i + GROUP, within, pairs);
    }
    if (to.far <= far_max) part_each(&to, source, i, source.count, within, pairs);
    *parted = to;
    return to.far <= far_max;
}

APART bool part_elements(struct parted *parted, struct source source, const struct magnitudes within[2],
                         size_t far_max) {
    return part(parted, source, within, far_max, false);
}

APART bool part_pairs(struct parted *parted, struct source source, const struct magnitudes within[2],
                      size_t far_max) {
    return part(parted, source, within, far_max, true);
}

/* Whether the sums that are asked for may go to bins unseen: one of values or magnitudes, or those that bins of powers take. */
static bool may_begin_with_bins(const struct block *block) {
    unsigned sums = block->into->parts & SUMS;
    if (!block->scratch->bins) return false;
    if (sums & PRODUCTS) return has_powers(sums) && block->source.count >= MANY_FOR_POWERS;
    return block->into->parts == sums && sums != (WF_PART_SUM | WF_PART_ABS) && block->source.count >= FEW_FOR_BINS;
}

/* How many elements of a block may be outliers: where parting them takes long, only few; where both must be near, some. */
static size_t outliers_max(const struct block *block) {
    size_t count = block->source.count;
    if (!PARTS_VECTORS) return OUTLIERS_FEW;
    return block->source.y != block->source.x ? count / 4 : count / 8 * 5;
}

/* Whether a copy's room holds these elements. */
static bool holds(const struct wf_scratch *scratch, int copy, const unsigned char *x) {
    return (uintptr_t)x - (uintptr_t)scratch->copy[copy] < scratch->copy_nbytes;
}

/* Room for a block's elements that does not hold them already, or NULL. */
static unsigned char *room_beside(const struct block *block) {
    const struct wf_scratch *scratch = block->scratch;
    const unsigned char *x = block->source.x, *y = block->source.y;
    bool in_first = holds(scratch, 0, x) || holds(scratch, 0, y);
    if (block->source.count > room_for_copy(block)) return NULL;
    if (!in_first && (x == y || !holds(scratch, 1, y))) return scratch->copy[0];
    return x == y && in_first && scratch->bins ? scratch->copy[1] : NULL; /* without bins, they overlap */
}

/* The part of a block that lies at an index of what was parted. */
static struct block part_at(const struct block *block, const struct parted *parted, size_t first, size_t count) {
    struct block part = {.into = block->into, .scratch = block->scratch, .index = block->index};
    part.source = (struct source){parted->x + first * sizeof(uword), parted->y + first * sizeof(uword), count,
                                  sizeof(uword), {0, 0}};
    return part;
}

APART bool add_parted(struct block *block, const struct magnitudes within[2], size_t far_max);

/* Outliers of which most are near each other are parted from the rest, once more, where that spoils no elements. */
static bool add_parted_outliers(struct block *block) {
    struct magnitudes within[2];
    if (block->source.count <= OUTLIERS_FEW || room_beside(block) != block->scratch->copy[1]) return false;
    if (!sample(&within[0], block->source.x, block->source.count, false)) return false;
    within[1] = within[0];
    return add_parted(block, within, outliers_max(block));
}

/* Adds the elements of a scanned, finite block, which were parted from that many in all.  Returns whether they gained by
 * that: bins of products wait for one another where most go to few of them. */
static bool add_outliers(struct block *block, size_t of_count) {
    if (add_through_window(block) || add_parted_outliers(block)) return true;
    add_sums(block);
    return block->source.count <= of_count / 8 || !(block->into->parts & PRODUCTS);
}

/* Adds all sums of a block if the ranges have a window, and at most far_max of the elements, all finite, lie outside;
 * returns whether it did. */
APART bool add_parted(struct block *block, const struct magnitudes within[2], size_t far_max) {
    struct range range[2] = {range_of(within[0]), range_of(within[1])};
    unsigned char *x = room_beside(block);
    bool pairs = block->source.y != block->source.x;
    struct parted parted = {x, pairs ? block->scratch->copy[1] : x, block->source.count, 0, 0};
    struct window window;
    if (within[0].min > within[0].max || within[1].min > within[1].max) return false; /* guessed from zeros */
    if (!x || !find_window(&window, block->into->parts & SUMS, range) || is_wide(&window)) return false;
    if (!(pairs ? part_pairs : part_elements)(&parted, source_of(block, pairs), within, far_max)) return false;
    struct block near = part_at(block, &parted, 0, parted.near);
    struct block far = part_at(block, &parted, parted.near, parted.far);
    ensure_scanned(&far);
    if (!is_finite(&far)) return false;
    if (parted.near) add_through(&near, &window, false);
    bool of_use = !parted.far || add_outliers(&far, block->source.count);
    count_outliers(&block->scratch->guess, parted.far, of_use);
    return true;
}

/* Adds all sums of a finite block whose range is wide, if most of its elements are near each other. */
static bool add_without_outliers(struct block *block, size_t far_max) {
    struct source source = block->source;
    struct magnitudes within[2];
    bool all = far_max <= OUTLIERS_FEW;
    if (!all && !may_have_outliers(&block->scratch->guess)) return false;
    if (!sample(&within[0], source.x, source.count, all)) return false;
    within[1] = within[0];
    if (source.y != source.x && !sample(&within[1], source.y, source.count, all)) return false;
    if (!add_parted(block, within, far_max)) return false;
    learn(&block->scratch->guess, (struct range[2]){range_of(within[0]), range_of(within[1])});
    return true;
}

#endif
