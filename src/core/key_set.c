#include "core/key_set.h"

#include <stdlib.h>

enum { CAPACITY_MIN = 1 << 10 };

void wf_key_set_begin(struct wf_key_set *set, uint64_t low, uint64_t last, int64_t limit) {
    *set = (struct wf_key_set){.low = low, .last = last, .limit = limit};
}

void wf_key_set_end(struct wf_key_set *set) {
    free(set->slot);
    set->slot = NULL;
}

/* Every bit of the key decides (the finaliser of MurmurHash3). */
static uint64_t hash(uint64_t key) {
    key = (key ^ key >> 33) * UINT64_C(0xff51afd7ed558ccd);
    key = (key ^ key >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return key ^ key >> 33;
}

/* There is a free slot. */
static void insert(struct wf_key_set *set, uint64_t key) {
    uint64_t mask = (uint64_t)set->capacity - 1, at = hash(key) & mask;
    if (!key) {
        set->count += !set->has_zero;
        set->has_zero = true;
        return;
    }
    while (set->slot[at] && set->slot[at] != key) at = (at + 1) & mask;
    set->count += !set->slot[at];
    set->slot[at] = key;
}

/* Writes the set's keys up to last; returns how many. */
static int64_t list_keys(const struct wf_key_set *set, uint64_t last, uint64_t *keys) {
    int64_t count = 0;
    if (set->has_zero) keys[count++] = 0;
    for (int64_t i = 0; i < set->capacity; i++)
        if (set->slot[i] && set->slot[i] <= last) keys[count++] = set->slot[i];
    return count;
}

static void grow(struct wf_key_set *set) {
    int64_t capacity = set->capacity ? 2 * set->capacity : CAPACITY_MIN;
    struct wf_key_set larger = {.capacity = capacity, .slot = calloc((size_t)capacity, sizeof *larger.slot)};
    if (!larger.slot) {
        set->is_out_of_memory = true;
        return;
    }
    for (int64_t i = 0; i < set->capacity; i++)
        if (set->slot[i]) insert(&larger, set->slot[i]);
    free(set->slot);
    set->slot = larger.slot;
    set->capacity = capacity;
}

/* Keeps the lower half of the keys. */
static void cut(struct wf_key_set *set) {
    uint64_t *keys = malloc(2 * (size_t)set->count * sizeof *keys);
    if (!keys) {
        set->is_out_of_memory = true;
        return;
    }
    int64_t count = list_keys(set, set->last, keys), half = count / 2;
    wf_ordered_sort(keys, keys + count, count);
    memset(set->slot, 0, (size_t)set->capacity * sizeof *set->slot);
    set->count = 0;
    set->has_zero = false;
    set->last = keys[half - 1];
    for (int64_t i = 0; i < half; i++) insert(set, keys[i]);
    free(keys);
}

void wf_key_set_add(struct wf_key_set *set, const uint64_t *keys, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (keys[i] < set->low || keys[i] > set->last) continue;
        if (set->count >= set->limit) cut(set);
        if (2 * (set->count + 1) > set->capacity) grow(set);
        if (set->is_out_of_memory) return;
        if (keys[i] <= set->last) insert(set, keys[i]);
    }
}

int64_t wf_key_sets_count(const struct wf_key_set *sets, int set_count, uint64_t last) {
    int64_t total = 0, count = 0;
    for (int i = 0; i < set_count; i++) total += sets[i].count;
    uint64_t *keys = malloc(2 * (size_t)(total + 1) * sizeof *keys);
    if (!keys) return -1;
    for (int i = 0; i < set_count; i++) count += list_keys(&sets[i], last, keys + count);
    wf_ordered_sort(keys, keys + total + 1, count);
    count = wf_ordered_distinct(keys, count);
    free(keys);
    return count;
}
