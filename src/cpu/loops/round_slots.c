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

/* What a slot has, constant for the compiler. */
struct form {
    int levels;
    bool counts, to_f64;
};

/* The words of LANES slots: all first ones, then all second ones. */
INLINE void load_slots(vi64 word[3], const int64_t *at, int words) {
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
    int64_t lanes[3][LANES] = {{0}};
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

/* LANES slots; not all bits 0 where a lane has failed. */
INLINE vi64 round_some(const struct wf_grid *grid, const int64_t *at, struct form form, unsigned char *results) {
    vi64 word[3] = {{0}}, failed = {0};
    load_slots(word, at, form.levels + form.counts);
    vi64 count = word[form.levels];
    struct pair sum = {{0}, {0}};
    if (form.levels == 2) {
        vi64 carry = (word[1] + (INT64_C(1) << grid->distance) / 2) >> grid->distance;
        word[0] += carry;
        word[1] -= (vi64)((vu64)carry << grid->distance);
        failed = exceeds_f64(word[1]);
        sum.low = f64_of(word[1]) * grid->unit[1];
    }
    failed |= exceeds_f64(word[0]);
    sum = two_sum(f64_of(word[0]) * grid->unit[0], sum.low);
    if (form.counts)
        sum.high = mean_of_slots(&failed, sum, count, form.to_f64);
    else if (!form.to_f64)
        sum.high = round_to_odd(sum.high, sum.low);
    store_sums(results, sum.high, form.to_f64);
    return failed;
}

INLINE bool round_all(const struct wf_grid *grid, const int64_t *word, size_t slots, struct form form,
                      unsigned char *results) {
    const size_t nbytes = form.to_f64 ? sizeof(double) : sizeof(float), words = (size_t)form.levels + form.counts;
    int64_t rest[3 * LANES] = {0};
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

INLINE bool round_counted(const struct wf_grid *grid, const int64_t *word, size_t slots, bool counts, bool to_f64,
                          unsigned char *results) {
    if (grid->levels == 1 && to_f64) return round_all(grid, word, slots, (struct form){1, counts, true}, results);
    if (grid->levels == 1) return round_all(grid, word, slots, (struct form){1, counts, false}, results);
    if (to_f64) return round_all(grid, word, slots, (struct form){2, counts, true}, results);
    return round_all(grid, word, slots, (struct form){2, counts, false}, results);
}

#define ROUND_SLOTS_(tier) wf_round_slots_##tier
#define ROUND_SLOTS(tier) ROUND_SLOTS_(tier)

wf_round_slots_function ROUND_SLOTS(TIER);

bool ROUND_SLOTS(TIER)(const struct wf_grid *grid, const int64_t *word, size_t slots, bool are_means, bool to_f64,
                       void *results) {
    if (are_means) return round_counted(grid, word, slots, true, to_f64, results);
    return round_counted(grid, word, slots, false, to_f64, results);
}
