/* Infinities, NaNs, and the sign of zero: what the digits of a sum cannot hold. */
#ifndef WF_CPU_LOOPS_SPECIAL_H
#define WF_CPU_LOOPS_SPECIAL_H

#include "cpu/loops/float_bits.h"
#include "cpu/loops/any_type.h"
#include "cpu/loops/source.h"

/* Counts in lanes, negative: a lane of 16 bits or more has room for all of a run of blocks; one of 8 bits is emptied
 * after every 127 vectors. */
struct lane_counts {
    vsword lanes;
    int64_t emptied; /* the counts that were taken out of the lanes, negative */
    int vectors;     /* counted since then; of lanes of 8 bits alone */
};

/* The lanes, all ones, of what a sum cannot take, as found so far; of infinities the sign is the top bit. */
struct specials {
    struct lane_counts nans;
    vsword positive, negative, invalid;
};

static int64_t count_of(const struct lane_counts *counts) {
    int64_t count = -counts->emptied;
    for (size_t lane = 0; lane < STEP; lane++) count -= counts->lanes[lane];
    return count;
}

/* To be called after each vector whose lanes were counted. */
INLINE void empty_full_lanes(struct lane_counts *counts) {
    enum { VECTORS_MAX = 127 };
    if (sizeof(uword) > 1 || ++counts->vectors < VECTORS_MAX) return;
    *counts = (struct lane_counts){.emptied = -count_of(counts)};
}

INLINE void count_lanes(struct lane_counts *counts, vsword found) {
    counts->lanes += found;
    empty_full_lanes(counts);
}

static bool any_lane(vsword lanes) {
    sword any = 0;
    for (size_t lane = 0; lane < STEP; lane++) any |= lanes[lane];
    return any;
}

/* Whether any of some vectors of elements is NaN. */
INLINE bool has_nan(const unsigned char *x, size_t vectors) {
    vsword any = {0}, bits;
    for (size_t v = 0; v < vectors; v++) {
        memcpy(&bits, x + v * VECTOR_NBYTES, sizeof bits);
        any |= (sword)INFINITY_BITS - (bits & (sword)MAGNITUDE); /* less than 0 of a NaN */
    }
    return any_lane(any < 0);
}

/* The place of the first NaN, of which there is one, in count elements of x or of y, which may be NULL. */
APART size_t find_nan(const unsigned char *x, const unsigned char *y, size_t count) {
    enum { VECTORS = 16, TOGETHER = VECTORS * STEP };
    size_t i = 0;
    for (; i + TOGETHER <= count; i += TOGETHER)
        if (has_nan(x + i * sizeof(uword), VECTORS) || (y && has_nan(y + i * sizeof(uword), VECTORS))) break;
    while (!is_nan(bits_at(x, i)) && !(y && is_nan(bits_at(y, i)))) i++;
    return i;
}

/* Counts NaNs of count elements; the index of the first element is given. */
static void note_nans(struct wf_open_partial *into, int64_t nans, const unsigned char *x, const unsigned char *y,
                      size_t count, int64_t index) {
    if (!nans) return;
    into->partial->nan_count += (uint64_t)nans;
    if (into->partial->first_nan <= (uint64_t)index) return;
    uint64_t first = (uint64_t)index + find_nan(x, y, count);
    if (first < into->partial->first_nan) into->partial->first_nan = first;
}

/* Puts -0, which adds nothing, in place of infinities and NaNs. */
INLINE void clean_vector(struct specials *seen, vsword *x) {
    *x = clean_lanes(*x, (sword)INFINITY_BITS, &seen->nans.lanes, &seen->positive, &seen->negative);
    empty_full_lanes(&seen->nans);
}

/* Puts -0 and +0 in place of pairs whose product is not finite. */
INLINE void clean_vector_pair(struct specials *seen, vsword *x, vsword *y) {
    const sword infinity = (sword)INFINITY_BITS;
    vsword a = *x & (sword)MAGNITUDE, b = *y & (sword)MAGNITUDE;
    vsword nan = (a > infinity) | (b > infinity), infinite = ((a == infinity) | (b == infinity)) & ~nan;
    vsword zero = (a == 0) | (b == 0), sign = *x ^ *y;
    count_lanes(&seen->nans, nan);
    seen->invalid |= infinite & zero;
    seen->positive |= infinite & ~zero & ~sign;
    seen->negative |= infinite & ~zero & sign;
    *x = select_where(nan | infinite, (vsword){0} + (sword)MINUS_ZERO, *x);
    *y &= ~(nan | infinite);
}

/* Cleans a vector of elements, or of pairs if y is not NULL, and, if to_x is given, stores it. */
INLINE void clean_step(struct specials *seen, unsigned char *to_x, unsigned char *to_y,
                       const unsigned char *x, const unsigned char *y) {
    vsword a, b;
    memcpy(&a, x, sizeof a);
    if (y) memcpy(&b, y, sizeof b);
    y ? clean_vector_pair(seen, &a, &b) : clean_vector(seen, &a);
    if (to_x) memcpy(to_x, &a, sizeof a);
    if (to_x && y) memcpy(to_y, &b, sizeof b);
}

/* Cleans the elements after the last full vector. */
INLINE void clean_rest(struct specials *seen, unsigned char *to_x, unsigned char *to_y,
                       const unsigned char *x, const unsigned char *y, size_t nbytes) {
    unsigned char rest_x[VECTOR_NBYTES] = {0}, rest_y[VECTOR_NBYTES] = {0};
    memcpy(rest_x, x, nbytes);
    if (y) memcpy(rest_y, y, nbytes);
    clean_step(seen, rest_x, rest_y, rest_x, y ? rest_y : NULL);
    if (to_x) memcpy(to_x, rest_x, nbytes);
    if (to_x && y) memcpy(to_y, rest_y, nbytes);
}

/* A group of stored vectors, for loops that are compiled for their number. */
INLINE struct source clean_if_special(struct specials *seen, struct group *copy, struct source source, bool pairs) {
    const size_t nbytes = source.count * source.nbytes;
    if (!is_any_special(source.x, nbytes, (sword)INFINITY_BITS) && !(pairs && is_any_special(source.y, nbytes, (sword)INFINITY_BITS)))
        return source;
    memcpy(copy->x, source.x, nbytes);
    if (pairs) memcpy(copy->y, source.y, nbytes);
    UNROLLED
    for (size_t i = 0; i < nbytes; i += VECTOR_NBYTES)
        clean_step(seen, copy->x + i, copy->y + i, copy->x + i, pairs ? copy->y + i : NULL);
    return (struct source){copy->x, pairs ? copy->y : copy->x, source.count, source.nbytes, source.ahead};
}

INLINE struct source clean_group_of_elements(struct specials *seen, struct group *copy, struct source source) {
    return clean_if_special(seen, copy, source, false);
}

INLINE struct source clean_group_of_pairs(struct specials *seen, struct group *copy, struct source source) {
    return clean_if_special(seen, copy, source, true);
}

/* Looks for infinities and NaNs of x, or of what products x * y are; y may be NULL.  If to_x is given, elements
 * are copied there, and to to_y, without them. */
INLINE struct specials clean_all(unsigned char *to_x, unsigned char *to_y, const unsigned char *x,
                                 const unsigned char *y, size_t count) {
    struct specials seen = {.positive = {0}};
    size_t nbytes = count * sizeof(uword), i = 0;
    for (; i + VECTOR_NBYTES <= nbytes; i += VECTOR_NBYTES) {
        if (to_x) prefetch_next_block(x + i);
        if (to_x && y) prefetch_next_block(y + i);
        clean_step(&seen, to_x ? to_x + i : NULL, to_y ? to_y + i : NULL, x + i, y ? y + i : NULL);
    }
    if (i < nbytes)
        clean_rest(&seen, to_x ? to_x + i : NULL, to_y ? to_y + i : NULL, x + i, y ? y + i : NULL,
                   nbytes - i);
    return seen;
}

INLINE void note_infinities(struct wf_open_partial *into, bool positive, bool negative, bool invalid) {
    if (positive) into->partial->special_seen |= WF_SPECIAL_POSITIVE_INFINITY;
    if (negative) into->partial->special_seen |= WF_SPECIAL_NEGATIVE_INFINITY;
    if (invalid) into->partial->special_seen |= WF_SPECIAL_INVALID;
}

/* Notes what was found in x and y, which still hold it; returns whether it is anything. */
INLINE bool note_found(struct wf_open_partial *into, const struct specials *seen, const unsigned char *x,
                       const unsigned char *y, size_t count, int64_t index) {
    int64_t nans = count_of(&seen->nans);
    bool positive = any_lane(seen->positive < 0), negative = any_lane(seen->negative < 0);
    bool invalid = any_lane(seen->invalid);
    note_infinities(into, positive, negative, invalid);
    note_nans(into, nans, x, y, count, index);
    return nans || positive || negative || invalid;
}

/* Notes infinities and NaNs, and copies as clean_all does, also elements to where they are: to_x may be x, and
 * to_y y.  Returns whether there were any. */
INLINE bool clean_elements(struct wf_open_partial *into, unsigned char *to_x, unsigned char *to_y,
                           const unsigned char *x, const unsigned char *y, size_t count, int64_t index) {
    const bool is_in_place = to_x == x || (y && (to_x == y || to_y == x || to_y == y));
    struct specials seen =
        is_in_place ? clean_all(NULL, NULL, x, y, count) : clean_all(to_x, to_y, x, y, count);
    bool any = note_found(into, &seen, x, y, count, index);
    if (is_in_place) clean_all(to_x, to_y, x, y, count);
    return any;
}

APART bool clean(struct wf_open_partial *into, unsigned char *to, const unsigned char *x, size_t count,
                 int64_t index) {
    return clean_elements(into, to, NULL, x, NULL, count, index);
}

APART bool clean_pairs(struct wf_open_partial *into, unsigned char *to_x, unsigned char *to_y,
                       const unsigned char *x, const unsigned char *y, size_t count, int64_t index) {
    return clean_elements(into, to_x, to_y, x, y, count, index);
}

APART void note_specials(struct wf_open_partial *into, const unsigned char *x, size_t count, int64_t index) {
    clean_elements(into, NULL, NULL, x, NULL, count, index);
}

/* Notes whether any term, x or x * y, is neither -0 nor NaN: a sum of nothing else is -0.  Stops at the first
 * such term.  y may be NULL. */
static void note_unless_minus_zeros(struct wf_open_partial *into, const unsigned char *x, const unsigned char *y,
                                    size_t count) {
    for (size_t i = 0; i < count && !(into->partial->special_seen & WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO); i++) {
        uword a = bits_at(x, i), b = y ? bits_at(y, i) : (uword)1;
        bool nan = is_nan(a) || (y && is_nan(b));
        bool zero = !is_nonzero(a) || (y && !is_nonzero(b));
        if (!nan && !(zero && is_negative(a) != is_negative(b))) into->partial->special_seen |= WF_SPECIAL_NOT_ALL_NEGATIVE_ZERO;
    }
}

#endif
