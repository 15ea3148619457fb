/* Looks: what a few elements of a block say about all, where no window holds them or nothing is known. */
#ifndef WF_CPU_LOOPS_LOOKS_H
#define WF_CPU_LOOPS_LOOKS_H

#include "cpu/loops/outliers.h"

/* The elements of a stretch, the part of a block about which is decided by itself. */
#define STRETCH (WF_STRETCH_NBYTES / sizeof(uword))
/* Where vectors have two lanes, bins take no longer than a window does. */
#define STRETCHES_GAIN (LANES > 2)
#define STRETCHES_MAX (WF_BLOCK_NBYTES / WF_STRETCH_NBYTES)

/* The least and the largest exponent field of what was seen of one operand: zeros, infinities and NaNs aside. */
struct fields {
    int low, high;
};

#define NO_FIELDS ((struct fields){1 << EXPONENT_BITS, 0})

INLINE void see(struct fields *seen, uword bits, uint8_t classes[CLASSES]) {
    uword magnitude = bits & MAGNITUDE;
    int field = (int)(magnitude >> FRACTION_BITS);
    if (!magnitude || magnitude >= INFINITY_BITS) return;
    classes[field / CLASS_FIELDS]++;
    if (field < seen->low) seen->low = field;
    if (field > seen->high) seen->high = field;
}

static void join(struct fields *all, struct fields seen) {
    if (seen.low < all->low) all->low = seen.low;
    if (seen.high > all->high) all->high = seen.high;
}

/* How many exponents lie between those of either operand; less than 0: nothing was seen. */
static int spread_of(const struct fields seen[2]) {
    int x = seen[0].high - seen[0].low, y = seen[1].high - seen[1].low;
    return x > y ? x : y;
}

/* Looks at a few elements of each stretch; returns the number of stretches. */
static int look_at_stretches(int spread[STRETCHES_MAX], struct fields all[2], uint8_t classes[CLASSES],
                             const struct source *source) {
    enum { SAMPLES = 8 };
    int stretches = 0;
    for (size_t i = 0; i < source->count; i += STRETCH, stretches++) {
        struct fields seen[2] = {NO_FIELDS, NO_FIELDS};
        size_t length = part_of(*source, i, STRETCH).count;
        for (size_t j = 0; j < length; j += length / SAMPLES + 1) {
            see(&seen[0], bits_at(source->x, i + j), classes);
            if (source->y != source->x) see(&seen[1], bits_at(source->y, i + j), classes);
        }
        spread[stretches] = spread_of(seen);
        for (int operand = 0; operand < 2; operand++) join(&all[operand], seen[operand]);
    }
    return stretches;
}

/* The exponents that a window holds of these sums, as far as a look can tell: any of one term, of others one of few
 * levels.  Where there are no more than these, it is taken to hold less than it does, since a look sees less than there is. */
static int reach_of(unsigned sums) {
    enum {
        BITS = LEVELS_MAX > 4 ? LEVELS_MAX * (53 - HEADROOM_OF_MANY) - 1 : LEVELS_MAX * 42,
        OF_VALUES = BITS - PRECISION,
        OF_PRODUCTS = (4 * 45 - 2 * PRECISION) / 2
    };
    return sums & PRODUCTS ? OF_PRODUCTS : OF_VALUES;
}

/* Classifies the block by the number of its samples that are near each other. */
static enum look look_of(const struct block *block, int samples, int near, int narrow, int stretches) {
    size_t far = (size_t)(samples - near), count = block->source.count;
    if (block->source.y != block->source.x) far *= 2; /* both of a pair must be near */
    if (8 * far <= (size_t)samples) return CLUSTERED;
    if (STRETCHES_GAIN && 2 * narrow >= stretches) return SEVERAL_KINDS;
    if (2 * near >= samples && far * count <= (size_t)samples * outliers_max(block)) return CLUSTERED;
    return STRETCHES_GAIN && 4 * narrow >= stretches ? SEVERAL_KINDS : EVEN;
}

APART enum look look_at(struct block *block) {
    struct fields all[2] = {NO_FIELDS, NO_FIELDS};
    uint8_t classes[CLASSES] = {0};
    int spread[STRETCHES_MAX], stretches = look_at_stretches(spread, all, classes, &block->source);
    int reach = reach_of(block->into->parts & SUMS), widest = spread_of(all), narrow = 0, samples = 0, first;
    for (int i = 0; i < stretches; i++) narrow += spread[i] <= reach && spread[i] <= widest / 4;
    for (int i = 0; i < CLASSES; i++) samples += classes[i];
    block->look = widest <= reach ? NARROW : look_of(block, samples, densest(&first, classes), narrow, stretches);
    return block->look;
}

#endif
