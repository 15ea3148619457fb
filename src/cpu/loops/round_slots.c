/* Sums by key: what the words of slots come to, a lane for each slot.  Compiled for each tier. */
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

/* The words of LANES slots, level by level. */
INLINE void load_slots(vi64 word[2], const int64_t *at, int levels) {
    vf64 first, second;
    memcpy(&word[0], at, sizeof word[0]);
    if (levels == 1) return;
    memcpy(&first, at, sizeof first);
    memcpy(&second, at + LANES, sizeof second);
    first = even_lanes_first(first);
    second = even_lanes_first(second);
    word[0] = (vi64)left_lanes(first, second, LANES / 2);
    word[1] = (vi64)right_lanes(first, second, LANES / 2);
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

/* LANES slots; not all bits 0 where a lane has failed. */
INLINE vi64 round_some(const struct wf_grid *grid, const int64_t *at, int levels, bool to_f64, unsigned char *results) {
    vi64 word[2];
    load_slots(word, at, levels);
    if (levels == 1) {
        store_sums(results, f64_of(word[0]) * grid->unit[0], to_f64);
        return exceeds_f64(word[0]);
    }
    vi64 carry = (word[1] + (INT64_C(1) << grid->distance) / 2) >> grid->distance;
    word[0] += carry;
    word[1] -= (vi64)((vu64)carry << grid->distance);
    struct pair sum = two_sum(f64_of(word[0]) * grid->unit[0], f64_of(word[1]) * grid->unit[1]);
    store_sums(results, to_f64 ? sum.high : round_to_odd(sum.high, sum.low), to_f64);
    return exceeds_f64(word[0]) | exceeds_f64(word[1]);
}

INLINE bool round_all(const struct wf_grid *grid, const int64_t *word, size_t slots, int levels, bool to_f64,
                      unsigned char *results) {
    const size_t nbytes = to_f64 ? sizeof(double) : sizeof(float);
    int64_t rest[2 * LANES] = {0};
    unsigned char found[LANES * sizeof(double)];
    vi64 failed = {0};
    int64_t any = 0;
    size_t i = 0;
    for (; i + LANES <= slots; i += LANES)
        failed |= round_some(grid, word + i * (size_t)levels, levels, to_f64, results + i * nbytes);
    memcpy(rest, word + i * (size_t)levels, (slots - i) * (size_t)levels * sizeof *word);
    failed |= round_some(grid, rest, levels, to_f64, found);
    memcpy(results + i * nbytes, found, (slots - i) * nbytes);
    for (int lane = 0; lane < LANES; lane++) any |= failed[lane];
    forget_rounding();
    return !any;
}

#define ROUND_SLOTS_(tier) wf_round_slots_##tier
#define ROUND_SLOTS(tier) ROUND_SLOTS_(tier)

wf_round_slots_function ROUND_SLOTS(TIER);

/* What is constant for the compiler in each call: whether there is one level, and the type. */
bool ROUND_SLOTS(TIER)(const struct wf_grid *grid, const int64_t *word, size_t slots, bool to_f64, void *results) {
    if (grid->levels == 1) return to_f64 ? round_all(grid, word, slots, 1, true, results)
                                         : round_all(grid, word, slots, 1, false, results);
    return to_f64 ? round_all(grid, word, slots, 2, true, results) : round_all(grid, word, slots, 2, false, results);
}
