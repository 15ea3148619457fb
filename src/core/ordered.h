/* Elements as ordered keys: unsigned integers as wide as the type, in the order of the values, -0 below +0.  What selects
 * or counts by order works on keys alone, and so is written once for all types. */
#ifndef WF_CORE_ORDERED_H
#define WF_CORE_ORDERED_H

#include "core/types.h"

/* How the bits of a type become a key: bits ^ (negative ? flip_negative : flip_positive). */
struct wf_ordering {
    wf_type type;
    int width; /* bits of an element */
    uint64_t flip_positive, flip_negative;
    uint64_t lowest, highest; /* the keys of numbers; those of NaN are outside, and those that no element has */
};

struct wf_ordering wf_ordering_of(wf_type type);

/* The keys of elements side by side, without those of NaN; keys must hold count.  Returns how many there are. */
int64_t wf_ordered_keys(const struct wf_ordering *ordering, const void *elements, int64_t count, uint64_t *keys);

/* The bits of the element that has the key, and the other way round. */
uint64_t wf_ordered_bits(const struct wf_ordering *ordering, uint64_t key);
uint64_t wf_ordered_key(const struct wf_ordering *ordering, uint64_t bits);

/* Sorts; scratch must hold count keys, too.  The time depends on count and on how many bytes differ, on nothing else. */
void wf_ordered_sort(uint64_t *keys, uint64_t *scratch, int64_t count);

/* Some keys by their position in the sorted order, without sorting them all: they are counted by buckets, and only buckets
 * that are asked for are sorted. */
struct wf_buckets {
    uint64_t *keys, *sorted; /* the caller's: count keys, and as many twice to sort them */
    int64_t count;
    uint64_t low;
    int shift;
    int bucket; /* that is sorted; -1: none */
    int64_t before; /* keys in the buckets before it */
    uint32_t counts[1024];
};

/* scratch must hold 2 * count keys; count: 1 to 2^32 - 1. */
void wf_buckets_begin(struct wf_buckets *buckets, uint64_t *keys, uint64_t *scratch, int64_t count);
uint64_t wf_buckets_key(struct wf_buckets *buckets, int64_t position);

/* The number of distinct keys among those that are sorted. */
int64_t wf_ordered_distinct(const uint64_t *keys, int64_t count);

#endif
