/* Sums by key: rounds the words of slots to results, a lane for each slot.  Compiled for each tier. */
#define TYPE F64 /* what the vectors hold */
#include "cpu/round_slots.h"
#include "cpu/loops/two_sum.h"

/* Integers as f64, rounded once: upper and lower half each by the bits of a f64 that has room for it. */
INLINE vf64 f64_of(vi64 x) {
    if (VECTOR_NBYTES == 64) return __builtin_convertvector(x, vf64); /* there are instructions */
    const vf64 both = (vf64){0} + (0x1p84 + 0x1p63 + 0x1p52);
    vf64 upper = (vf64)(((vu64)x >> 32 ^ UINT64_C(0x80000000)) | UINT64_C(0x4530000000000000));
    vf64 lower = (vf64)(((vu64)x & UINT32_MAX) | UINT64_C(0x4330000000000000));
    return (upper - both) + lower;
}

enum { WORDS_MAX = WF_GRID_LEVELS_MAX + 1 };

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
    int64_t lanes[WORDS_MAX][LANES] = {{0}};
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

INLINE vf64 odd_sum(vf64 a, vf64 b) {
    struct pair sum = two_sum(a, b);
    return round_to_odd(sum.high, sum.low);
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
