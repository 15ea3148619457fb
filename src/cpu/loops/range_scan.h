/* Scans of a block of floats: for the range of its magnitudes, which decides on the window, and for its
 * extremes. */
#ifndef WF_CPU_LOOPS_RANGE_SCAN_H
#define WF_CPU_LOOPS_RANGE_SCAN_H

#include "cpu/loops/extract.h"
#include "cpu/loops/float_bits.h"
#include "cpu/loops/any_type.h"
#include "cpu/loops/special.h"

/* ---- the range of magnitudes ---- */

#define RANGE_SCAN_START                                                                                     \
    { {0}, {0}, (vi64)((vsword){0} + (sword)MAGNITUDE) }

/* scan->min holds magnitudes less one, so that 0 becomes the largest. */
INLINE void scan_range(struct scan *scan, const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    vsword magnitude = bits & (sword)MAGNITUDE, less_one = (magnitude - 1) & (sword)MAGNITUDE;
    scan->max = (vi64)max_signed((vsword)scan->max, magnitude);
    scan->min = (vi64)min_signed((vsword)scan->min, less_one);
}

/* The same for bounds, whose exponents are those of the magnitudes, or, of the smallest, one less. */
INLINE void scan_bounds(struct scan *scan, const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    vsword magnitude = bits & (sword)MAGNITUDE;
    scan->max = (vi64)upper_bound((vsword)scan->max, magnitude);
    scan->min = (vi64)lower_bound((vsword)scan->min, magnitude - 1);
}

static struct magnitudes scanned_magnitudes(const struct scan *scan) {
    uword max[STEP], less_one[STEP];
    memcpy(max, &scan->max, sizeof max);
    memcpy(less_one, &scan->min, sizeof less_one);
    uword largest = 0, smallest = MAGNITUDE;
    for (size_t i = 0; i < STEP; i++) {
        largest = max[i] > largest ? max[i] : largest;
        smallest = less_one[i] < smallest ? less_one[i] : smallest;
    }
    return (struct magnitudes){largest, smallest == MAGNITUDE ? MAGNITUDE : (uword)(smallest + 1)};
}

static struct magnitudes larger_range(struct magnitudes a, struct magnitudes b) {
    return (struct magnitudes){a.max > b.max ? a.max : b.max, a.min < b.min ? a.min : b.min};
}

/* A scan in a pass of its own. */
INLINE struct magnitudes scan_all(const unsigned char *x, size_t count, scan_vector *scan_one) {
    struct scan scan[2] = {RANGE_SCAN_START, RANGE_SCAN_START};
    size_t i = 0;
    for (; i + 2 * STEP <= count; i += 2 * STEP) {
        scan_one(&scan[0], x + i * sizeof(uword));
        scan_one(&scan[1], x + (i + STEP) * sizeof(uword));
    }
    for (; i < count; i += STEP) {
        unsigned char tail[VECTOR_NBYTES] = {0};
        memcpy(tail, x + i * sizeof(uword), (count - i < STEP ? count - i : STEP) * sizeof(uword));
        scan_one(&scan[0], tail);
    }
    return larger_range(scanned_magnitudes(&scan[0]), scanned_magnitudes(&scan[1]));
}

static struct magnitudes find_magnitudes(const unsigned char *x, size_t count) {
    return scan_all(x, count, scan_range);
}

static struct magnitudes find_bounds(const unsigned char *x, size_t count) {
    return scan_all(x, count, scan_bounds);
}

INLINE struct range range_of(struct magnitudes magnitudes) {
    int high = (int)(magnitudes.max >> FRACTION_BITS), low = (int)(magnitudes.min >> FRACTION_BITS);
    return (struct range){(high ? high : 1) - BIAS + 1, (low ? low : 1) - 1 + LOW_EXPONENT};
}

/* ---- extremes ---- */

/* Maxima of the bits as signed and as unsigned integers.  As signed integers, positive values are in their
 * order; as unsigned integers, negative values are above all others, those of largest magnitude first.  If
 * all have one sign, the smallest magnitude is the other extreme.  So these three tell both extremes, and
 * whether there is a NaN. */
struct extremes {
    key signed_max;
    uword max, min_magnitude;
};

#define EXTREMES_SCAN_START                                                                                  \
    {                                                                                                        \
        (vi64)((vsword){0} + (sword)MINUS_ZERO), (vi64)((vsword){0} + (sword)UNSIGNED_FLIP),                 \
            (vi64)((vsword){0} + (sword)MAGNITUDE)                                                           \
    }

INLINE void scan_extremes(struct scan *scan, const unsigned char *x) {
    vsword bits;
    memcpy(&bits, x, sizeof bits);
    scan->signed_max = (vi64)max_signed((vsword)scan->signed_max, bits);
    scan->max = (vi64)max_unsigned((vsword)scan->max, bits ^ (sword)UNSIGNED_FLIP);
    scan->min = (vi64)min_signed((vsword)scan->min, bits & (sword)MAGNITUDE);
}

static void merge_extremes(struct extremes *found, uword signed_max, uword max, uword min_magnitude) {
    if ((key)signed_max > found->signed_max) found->signed_max = (key)signed_max;
    if (max > found->max) found->max = max;
    if (min_magnitude < found->min_magnitude) found->min_magnitude = min_magnitude;
}

static struct extremes scanned_extremes(const struct scan *scan) {
    uword signed_max[STEP], max[STEP], min[STEP];
    memcpy(signed_max, &scan->signed_max, sizeof signed_max);
    memcpy(max, &scan->max, sizeof max);
    memcpy(min, &scan->min, sizeof min);
    struct extremes found = {(key)MINUS_ZERO, 0, MAGNITUDE};
    for (size_t i = 0; i < STEP; i++) merge_extremes(&found, signed_max[i], max[i] ^ UNSIGNED_FLIP, min[i]);
    return found;
}

/* A scan in a pass of its own. */
static struct extremes find_extremes(struct wf_scratch *scratch, const unsigned char *x, size_t count) {
    struct scan scan = EXTREMES_SCAN_START;
    struct ahead ahead = next_pass(scratch);
    size_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        prefetch_line(ahead, x, i * sizeof(uword));
        scan_extremes(&scan, x + i * sizeof(uword));
    }
    struct extremes found = scanned_extremes(&scan);
    for (; i < count; i++) {
        uword bits = bits_at(x, i);
        merge_extremes(&found, bits, bits, bits & MAGNITUDE);
    }
    return found;
}

static uword max_magnitude(const struct extremes *found) {
    uword positive = found->signed_max > 0 ? (uword)found->signed_max : 0;
    uword negative = found->max & MINUS_ZERO ? found->max & MAGNITUDE : 0;
    return positive > negative ? positive : negative;
}

/* The smallest and the largest element, as keys, and the number of NaNs, which were left out. */
struct keys {
    key min, max;
    int64_t nans;
};

static struct keys keys_of(const struct extremes *found) {
    uword largest =
        found->signed_max >= 0 ? (uword)found->signed_max : (uword)(MINUS_ZERO | found->min_magnitude);
    uword smallest = found->max & MINUS_ZERO ? found->max : found->min_magnitude;
    return (struct keys){key_of(smallest), key_of(largest), 0};
}

/* The smallest and the largest element of a block that may have NaNs, and how many those are. */
APART struct keys find_keys(struct wf_scratch *scratch, const unsigned char *x, size_t count) {
    const vsword above = (vsword){0} + KEY_MAX, below = ~above;
    struct ahead ahead = next_pass(scratch);
    struct lane_counts nans = {.lanes = {0}};
    vsword min = above, max = below, bits;
    size_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        prefetch_line(ahead, x, i * sizeof(uword));
        memcpy(&bits, x + i * sizeof(uword), sizeof bits);
        vsword nan = lanes_of_nans(bits & (sword)MAGNITUDE);
        vsword keys = bits ^ ((bits < 0) & (sword)MAGNITUDE);
        count_lanes(&nans, nan);
        min = min_signed(min, select_where(nan, above, keys));
        max = max_signed(max, select_where(nan, below, keys));
    }
    struct keys found = {KEY_MAX, (key)~KEY_MAX, count_of(&nans)};
    for (size_t lane = 0; lane < STEP; lane++) {
        if (min[lane] < found.min) found.min = min[lane];
        if (max[lane] > found.max) found.max = max[lane];
    }
    for (; i < count; i++) {
        uword last = bits_at(x, i);
        if (is_nan(last)) found.nans++;
        if (!is_nan(last) && key_of(last) < found.min) found.min = key_of(last);
        if (!is_nan(last) && key_of(last) > found.max) found.max = key_of(last);
    }
    return found;
}

static void add_extremes(struct wf_open_partial *into, struct keys found, const unsigned char *x, size_t count,
                         int64_t index) {
    if (into->parts & WF_PART_MIN) note_extreme(into->partial, found.min, false, x, count, index);
    if (into->parts & WF_PART_MAX) note_extreme(into->partial, found.max, true, x, count, index);
}

#endif
