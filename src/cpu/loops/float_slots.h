/* Sums of floats by key: what elements leave on the levels of a grid is added to the slots of their keys as it comes, with no
 * integers in memory in between. */
#ifndef WF_CPU_LOOPS_FLOAT_SLOTS_H
#define WF_CPU_LOOPS_FLOAT_SLOTS_H

#include "cpu/loops/float_units.h"

/* What is constant for the compiler. */
struct slot_form {
    int levels;
    size_t words, copies;
};

typedef int64_t pair __attribute__((vector_size(16)));

enum { PAIRS_MAX = WF_GRID_LEVELS_MAX / 2 };

/* The words of LANES elements: two levels of one element side by side, and what an odd number of levels has left. */
struct slot_words {
    pair of_two[PAIRS_MAX][LANES];
    vi64 of_one;
};

INLINE void arrange_pairs(pair *of_two, vi64 upper, vi64 lower) {
    vf64 even = left_lanes((vf64)upper, (vf64)lower, 1), odd = right_lanes((vf64)upper, (vf64)lower, 1);
    UNROLLED
    for (int lane = 0; lane < LANES; lane += 2) {
        memcpy(&of_two[lane], (const char *)&even + lane * 8, sizeof(pair));
        memcpy(&of_two[lane + 1], (const char *)&odd + lane * 8, sizeof(pair));
    }
}

INLINE void arrange_words(struct slot_words *words, const vi64 *unit, vi64 kept, int levels) {
    for (int p = 0; p < levels / 2; p++) arrange_pairs(words->of_two[p], unit[2 * p] & kept, unit[2 * p + 1] & kept);
    if (levels % 2) words->of_one = unit[levels - 1] & kept;
}

INLINE void add_to_slot(int64_t *slot, const struct slot_words *words, int lane, struct slot_form form) {
    pair sum;
    for (int p = 0; p < form.levels / 2; p++) {
        memcpy(&sum, slot + 2 * p, sizeof sum);
        sum += words->of_two[p][lane];
        memcpy(slot + 2 * p, &sum, sizeof sum);
    }
    if (form.levels % 2) slot[form.levels - 1] += words->of_one[lane];
    if ((int)form.words > form.levels) slot[form.levels]++;
}

/* As far ahead as the keys of the next block, which are checked before it is read. */
INLINE void prefetch_soon(const void *x) {
    __builtin_prefetch((const void *)((uintptr_t)x + WF_UNITS_MAX * sizeof(int64_t)));
}

/* Adds up the words of all lanes in the first: equal keys, which would wait for each other's stores. */
INLINE void join_lanes(struct slot_words *words, int levels) {
    int64_t sum = 0;
    for (int lane = 1; lane < LANES; lane++)
        for (int p = 0; p < levels / 2; p++) words->of_two[p][0] += words->of_two[p][lane];
    for (int lane = 0; levels % 2 && lane < LANES; lane++) sum += words->of_one[lane];
    words->of_one[0] = sum;
}

INLINE bool are_same(const int64_t *key) {
    int64_t differ = 0;
    UNROLLED
    for (int lane = 1; lane < LANES; lane++) differ |= key[lane] ^ key[0];
    return !differ;
}

/* The slot of a key that need not be one yet. */
INLINE void prefetch_slot(const int64_t *word, int64_t key, struct slot_form form) {
    __builtin_prefetch((const void *)((uintptr_t)word + (uint64_t)key * form.words * sizeof *word), 1);
}

/* LANES elements at x, of which the first `count` are added.  seen: in which lanes some were lost, or were -0. */
INLINE void add_vector_to_slots(const struct wf_slots *slots, const struct wf_grid *grid, vi64 magnitude_mask,
                                const unsigned char *x, const int64_t *key, int count, vi64 seen[2],
                                struct slot_form form) {
    vf64 value = widen(x), magnitude = (vf64)((vi64)value & INT64_MAX), term = (vf64)((vi64)value & magnitude_mask);
    vi64 unit[WF_GRID_LEVELS_MAX], kept = magnitude <= grid->limit; /* not so a NaN */
    struct slot_words words;
    prefetch_soon(key);
    prefetch_soon(x);
    seen[1] |= (vi64)value == INT64_MIN;
    kept &= split_term(unit, grid, form.levels, term) == 0;
    seen[0] |= ~kept;
    arrange_words(&words, unit, kept, form.levels);
    if (form.copies == 1 && slots->joins_equal && count == LANES && key[0] == key[LANES - 1] && are_same(key)) {
        join_lanes(&words, form.levels);
        add_to_slot(slots->word + (size_t)key[0] * form.words, &words, 0, form);
        if ((int)form.words > form.levels) slots->word[(size_t)key[0] * form.words + (size_t)form.levels] += LANES - 1;
        return;
    }
    UNROLLED
    for (int lane = 0; lane < LANES; lane++) {
        int64_t *copy = slots->word + (size_t)lane % form.copies * slots->copy_words;
        if (form.copies == 1) prefetch_slot(copy, key[lane + WF_KEYS_AHEAD], form);
        if (lane < count) add_to_slot(copy + (size_t)key[lane] * form.words, &words, lane, form);
    }
}

struct slots_call {
    const struct wf_slots *slots;
    const struct wf_grid *grid;
    bool magnitudes;
    const unsigned char *x;
    const int64_t *key;
    size_t count;
};

INLINE unsigned add_all_to_slots(const struct slots_call *call, struct slot_form form) {
    const unsigned char *const x = call->x;
    const int64_t *const key = call->key;
    const size_t count = call->count;
    const struct wf_grid own = *call->grid; /* which no store changes, as compilers see */
    const struct wf_slots own_slots = *call->slots;
    const vi64 magnitude_mask = (vi64){0} + (call->magnitudes ? INT64_MAX : -1);
    struct source source = {x, x, count, sizeof(uword), {0, 0}};
    struct group group;
    vi64 seen[2] = {{0}};
    unsigned any = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        add_vector_to_slots(&own_slots, &own, magnitude_mask, x + i * sizeof(uword), key + i, LANES, seen, form);
    if (i < count)
        add_vector_to_slots(&own_slots, &own, magnitude_mask,
                            padded(part_of(source, i, LANES), LANES * sizeof(uword), &group).x, key + i,
                            (int)(count - i), seen, form);
    for (int lane = 0; lane < LANES; lane++)
        any |= (seen[0][lane] ? WF_SEEN_LOST : 0) | (seen[1][lane] ? WF_SEEN_MINUS_ZERO : 0);
    forget_rounding();
    return any;
}

/* Each form, by its levels, words and copies, in a function of its own. */
typedef unsigned add_to_slots_function(const struct slots_call *call);

APART unsigned add_to_slots_1_1_1(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){1, 1, 1});
}

APART unsigned add_to_slots_1_1_4(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){1, 1, 4});
}

APART unsigned add_to_slots_1_2_1(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){1, 2, 1});
}

APART unsigned add_to_slots_1_2_4(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){1, 2, 4});
}

APART unsigned add_to_slots_2_2_1(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){2, 2, 1});
}

APART unsigned add_to_slots_2_2_4(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){2, 2, 4});
}

APART unsigned add_to_slots_2_3_1(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){2, 3, 1});
}

APART unsigned add_to_slots_2_3_4(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){2, 3, 4});
}

/* Three levels, which take longer than testing whether elements are counted. */
APART unsigned add_to_slots_3_1(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){3, call->slots->words, 1});
}

APART unsigned add_to_slots_3_4(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){3, call->slots->words, 4});
}

APART unsigned add_to_slots_4_1(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){4, call->slots->words, 1});
}

APART unsigned add_to_slots_4_4(const struct slots_call *call) {
    return add_all_to_slots(call, (struct slot_form){4, call->slots->words, 4});
}

static add_to_slots_function *slots_function(int levels, bool counts, size_t copies) {
    static add_to_slots_function *const functions[WF_GRID_LEVELS_MAX][2][2] = {
        {{add_to_slots_1_1_1, add_to_slots_1_1_4}, {add_to_slots_1_2_1, add_to_slots_1_2_4}},
        {{add_to_slots_2_2_1, add_to_slots_2_2_4}, {add_to_slots_2_3_1, add_to_slots_2_3_4}},
        {{add_to_slots_3_1, add_to_slots_3_4}, {add_to_slots_3_1, add_to_slots_3_4}},
        {{add_to_slots_4_1, add_to_slots_4_4}, {add_to_slots_4_1, add_to_slots_4_4}},
    };
    return functions[levels - 1][counts][copies > 1]; /* which are 4 then */
}

wf_slots_function WF_LOOPS_NAME(add_to_slots, TYPE, TIER);

unsigned WF_LOOPS_NAME(add_to_slots, TYPE, TIER)(const struct wf_slots *slots, const struct wf_grid *grid,
                                                 bool magnitudes, const void *x, const int64_t *key, size_t count) {
    if (wf_has_bad_key(key, count, slots->last)) return WF_SEEN_BAD_KEY;
    const struct slots_call call = {slots, grid, magnitudes, x, key, count};
    return slots_function(grid->levels, (int)slots->words > grid->levels, slots->copies)(&call);
}

#endif
