/* Sums by key, and of squares: rounds the words of slots to results, a lane for each slot.  Compiled for each tier. */
#define TYPE F64 /* what the vectors hold */
#include "cpu/round_slots.h"
#include "cpu/loops/odd_sum.h"

/* Integers as f64, rounded once: upper and lower half each by the bits of a f64 that has room for it. */
INLINE vf64 f64_of(vi64 x) {
    if (VECTOR_NBYTES == 64) return __builtin_convertvector(x, vf64); /* there are instructions */
    const vf64 both = (vf64){0} + (0x1p84 + 0x1p63 + 0x1p52);
    vf64 upper = (vf64)(((vu64)x >> 32 ^ UINT64_C(0x80000000)) | UINT64_C(0x4530000000000000));
    vf64 lower = (vf64)(((vu64)x & UINT32_MAX) | UINT64_C(0x4330000000000000));
    return (upper - both) + lower;
}

enum { WORDS_MAX = WF_UNITS_WORDS_MAX + 1 };

/* What a slot has, constant for the compiler. */
struct form {
    int levels;
    bool counts, to_f64;
};

/* The words of LANES slots: all first ones, then all second ones. */
INLINE void load_slots(vi64 word[WORDS_MAX], const int64_t *at, int words) {
    vf64 first, second;
    if (words == 2) {
        memcpy(&first, at, sizeof first);
        memcpy(&second, at + LANES, sizeof second);
        first = even_lanes_first(first);
        second = even_lanes_first(second);
        word[0] = (vi64)left_lanes(first, second, LANES / 2);
        word[1] = (vi64)right_lanes(first, second, LANES / 2);
        return;
    }
    int64_t lanes[WORDS_MAX][LANES];
    for (int lane = 0; lane < LANES; lane++)
        for (int k = 0; k < words; k++) lanes[k][lane] = at[lane * words + k];
    for (int k = 0; k < words; k++) memcpy(&word[k], lanes[k], sizeof word[k]);
}

/* All bits 0 in the lanes whose integer is a f64. */
INLINE vi64 exceeds_f64(vi64 x) {
    const uint64_t most = UINT64_C(1) << 53;
    return (vi64)((vu64)x + most > 2 * most);
}

INLINE void store_sums(unsigned char *results, vf64 sum, bool to_f64) {
    vf32 narrow = __builtin_convertvector(sum, vf32);
    to_f64 ? memcpy(results, &sum, sizeof sum) : memcpy(results, &narrow, sizeof narrow);
}

/* The means; those of no elements have no meaning. */
INLINE vf64 mean_of_slots(vi64 *failed, struct pair sum, vi64 count, bool to_f64) {
    vf64 n = f64_of(count - (vi64)(count == 0));
    if (to_f64) return mean_of_pair(failed, sum, n, false);
    vf64 quotient = sum.high / n;
    *failed |= (vi64)(sum.low != 0);
    return round_to_odd(quotient, fused(-quotient, n, sum.high));
}

/* Moves carries up, so that a word is at most half a unit of the one above it. */
INLINE void carry_words(vi64 *word, const struct wf_grid *grid, int levels) {
    UNROLLED
    for (int k = levels - 1; k > 0; k--) {
        vi64 carry = (word[k] + (INT64_C(1) << grid->distance) / 2) >> grid->distance;
        word[k - 1] += carry;
        word[k] -= (vi64)((vu64)carry << grid->distance);
    }
}

/* Adds up levels that are an f64 each, from the least on.  What is lost is less than a unit of the sum's last place; of more
 * than one addition it is rounded to odd, and so decides how the sum is rounded as all of it does. */
INLINE struct pair sum_of_levels(vi64 *failed, const vi64 *word, const struct wf_grid *grid, int levels) {
    struct pair total = {f64_of(word[levels - 1]) * grid->unit[levels - 1], {0}};
    *failed |= exceeds_f64(word[levels - 1]);
    UNROLLED
    for (int k = levels - 2; k >= 0; k--) {
        struct pair sum = two_sum(f64_of(word[k]) * grid->unit[k], total.high);
        total.low = k == levels - 2 ? sum.low : odd_sum(sum.low, total.low);
        total.high = sum.high;
        *failed |= exceeds_f64(word[k]);
    }
    return total;
}

/* LANES slots; not all bits 0 where a lane has failed. */
INLINE vi64 round_some(const struct wf_grid *grid, const int64_t *at, struct form form, unsigned char *results) {
    vi64 word[WORDS_MAX] = {{0}}, failed = {0};
    load_slots(word, at, form.levels + form.counts);
    vi64 count = word[form.levels];
    carry_words(word, grid, form.levels);
    struct pair sum = sum_of_levels(&failed, word, grid, form.levels);
    if (form.counts)
        sum.high = mean_of_slots(&failed, sum, count, form.to_f64);
    else
        sum.high = form.to_f64 ? sum.high + sum.low : round_to_odd(sum.high, sum.low);
    store_sums(results, sum.high, form.to_f64);
    return failed;
}

INLINE bool round_all(const struct wf_grid *grid, const int64_t *word, size_t slots, struct form form,
                      unsigned char *results) {
    const size_t nbytes = form.to_f64 ? sizeof(double) : sizeof(float), words = (size_t)form.levels + form.counts;
    int64_t rest[WORDS_MAX * LANES] = {0};
    unsigned char found[LANES * sizeof(double)];
    vi64 failed = {0};
    int64_t any = 0;
    size_t i = 0;
    for (; i + LANES <= slots; i += LANES) failed |= round_some(grid, word + i * words, form, results + i * nbytes);
    memcpy(rest, word + i * words, (slots - i) * words * sizeof *word);
    failed |= round_some(grid, rest, form, found);
    memcpy(results + i * nbytes, found, (slots - i) * nbytes);
    for (int lane = 0; lane < LANES; lane++) any |= failed[lane];
    forget_rounding();
    return !any;
}

/* Means of more than two levels would need more than a pair. */
INLINE bool round_levels(const struct wf_grid *grid, const int64_t *word, size_t slots, bool counts, bool to_f64,
                         unsigned char *results) {
    switch (grid->levels) {
    case 1: return round_all(grid, word, slots, (struct form){1, counts, to_f64}, results);
    case 2: return round_all(grid, word, slots, (struct form){2, counts, to_f64}, results);
    case 3: return !counts && round_all(grid, word, slots, (struct form){3, false, to_f64}, results);
    default: return !counts && round_all(grid, word, slots, (struct form){4, false, to_f64}, results);
    }
}

#define ROUND_SLOTS_(tier) wf_round_slots_##tier
#define ROUND_SLOTS(tier) ROUND_SLOTS_(tier)

wf_round_slots_function ROUND_SLOTS(TIER);

bool ROUND_SLOTS(TIER)(const struct wf_grid *grid, const int64_t *word, size_t slots, bool are_means, bool to_f64,
                       void *results) {
    if (are_means && to_f64) return round_levels(grid, word, slots, true, true, results);
    if (are_means) return round_levels(grid, word, slots, true, false, results);
    if (to_f64) return round_levels(grid, word, slots, false, true, results);
    return round_levels(grid, word, slots, false, false, results);
}

/* ---- squares ---- */

/* Stores what all that lies within the bound is rounded to; returns lanes, not all bits 0, where that differs.  What has half
 * of an f64's exponents, or is 0, is no subnormal f32, nor too large for one. */
INLINE vi64 store_within(unsigned char *results, struct pair found, vf64 bound, bool to_f64) {
    const vf64 below = found.low - bound, above = found.low + bound;
    if (to_f64) {
        const vf64 rounded = found.high + below;
        store_sums(results, rounded, true);
        return ~(vi64)(rounded == found.high + above);
    }
    const vf64 least = round_to_odd(found.high, below), most = round_to_odd(found.high, above);
    store_sums(results, least, false);
    const vi64 is_normal = (vi64)(found.high >= 0x1p-120) & (vi64)(found.high <= 0x1p120);
    const vf64 a = f64_of_f32(__builtin_convertvector(least, vf32)), b = f64_of_f32(__builtin_convertvector(most, vf32));
    return ~((vi64)(a == b) & (is_normal | (vi64)(found.high == 0)));
}

INLINE struct pair sum_of_words(vi64 *failed, vi64 *word, const struct wf_grid *grid, int levels) {
    carry_words(word, grid, levels);
    return sum_of_levels(failed, word, grid, levels);
}

/* The sum of LANES slots' words of a grid, which may have no levels. */
INLINE struct pair sum_of_grid(vi64 *failed, vi64 *word, const struct wf_grid *grid) {
    switch (grid->levels) {
    case 0: return (struct pair){{0}, {0}};
    case 1: return sum_of_words(failed, word, grid, 1);
    case 2: return sum_of_words(failed, word, grid, 2);
    case 3: return sum_of_words(failed, word, grid, 3);
    default: return sum_of_words(failed, word, grid, 4);
    }
}

/* LANES slots; not all bits 0 where a lane has failed.  What levels lose is at most 2^-103 of their sum, and what n * S2 - S1^2
 * loses a few times as much of n * S2.  The variance of one element, and the norm of zeros, are 0. */
INLINE vi64 round_some_squares(const struct wf_slot_squares *asked, const int64_t *at, int words, unsigned char *results) {
    const int64_t count_max = 1 << 26; /* n * (n - ddof) is an f64 */
    vi64 word[WORDS_MAX], failed = {0};
    load_slots(word, at, words);
    struct pair sum = sum_of_grid(&failed, word, &asked->grid[0]);
    struct pair squares = sum_of_grid(&failed, word + asked->grid[0].levels, &asked->grid[1]);
    const vi64 count = asked->counts ? word[words - 1] : (vi64){0} + 1, free = count - asked->ddof;
    if (asked->counts) failed |= (vi64)(free <= 0) | (vi64)(count > count_max);
    const vf64 n = f64_of(count | (count == 0));
    struct lane_quotient quotient = {n, n * f64_of(free | (vi64)(free == 0)), false, asked->is_root, !asked->counts};
    const vi64 is_zero = asked->counts ? (vi64)(count == 1) : (vi64)(squares.high == 0);
    vf64 bound = squares.high * n * 0x1p-100;
    failed |= ~((vi64)(squares.high >= 0x1p-900) & (vi64)(squares.high <= 0x1p900)) & ~is_zero;
    struct pair found = variance_of_pairs(sum, squares, &quotient, &bound);
    failed |= ~(vi64)(found.high > 0) & ~is_zero;
    found.high = (vf64)((vi64)found.high & ~is_zero);
    found.low = (vf64)((vi64)found.low & ~is_zero);
    bound = (vf64)((vi64)bound & ~is_zero);
    return failed | store_within(results, found, bound, asked->to_f64);
}

#define ROUND_SQUARES_(tier) wf_round_squares_##tier
#define ROUND_SQUARES(tier) ROUND_SQUARES_(tier)

wf_round_squares_function ROUND_SQUARES(TIER);

void ROUND_SQUARES(TIER)(const struct wf_slot_squares *asked, const int64_t *word, size_t slots, void *results,
                         bool *has_failed) {
    const size_t nbytes = asked->to_f64 ? sizeof(double) : sizeof(float);
    const int words = asked->grid[0].levels + asked->grid[1].levels + asked->counts;
    for (size_t i = 0; i < slots; i += LANES) {
        const size_t left = slots - i < LANES ? slots - i : LANES;
        int64_t rest[WORDS_MAX * LANES] = {0};
        unsigned char found[LANES * sizeof(double)];
        const bool is_whole = left == LANES;
        if (!is_whole) memcpy(rest, word + i * (size_t)words, left * (size_t)words * sizeof *word);
        const vi64 failed = round_some_squares(asked, is_whole ? word + i * (size_t)words : rest, words, found);
        memcpy((char *)results + i * nbytes, found, left * nbytes);
        for (size_t lane = 0; lane < left; lane++) has_failed[i + lane] = failed[lane];
    }
    forget_rounding();
}
