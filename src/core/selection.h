/* Selection: the keys at some positions of the sorted keys, without sorting them.
 *
 * A pass looks at every key once.  The first counts keys by their highest 16 bits; then it is known which digit each wanted
 * key has.  Later passes look only at the ranges of keys that are still open, and count by the next 16 bits, until a range
 * has a single key, or until the keys in all open ranges are few enough to be kept and sorted.  So there are at most
 * width / 16 passes over each range, and memory is bounded, whatever the keys.
 *
 *     wf_selection_begin(&selection, &ordering, limit)
 *     a first pass; selection.count is then known
 *     wf_selection_aim(&selection, positions, count)
 *     while (wf_selection_is_open(&selection)) another pass
 *     wf_selection_key(&selection, i)
 *
 * where a pass is
 *
 *     wf_selection_begin_pass(&selection, threads)
 *     wf_selection_add(&selection, thread, keys, count) by several threads at once, until all keys have been
 *     wf_selection_end_pass(&selection) */
#ifndef WF_CORE_SELECTION_H
#define WF_CORE_SELECTION_H

#include <stdatomic.h>

#include "core/ordered.h"

enum {
    WF_DIGIT_BITS = 16,
    WF_SELECTION_RANGES_MAX = 16,  /* counted in one pass: 512 KiB each, for each thread, */
    WF_SELECTION_COUNTERS_MAX = 128, /* and this many together: 64 MiB */
    WF_SELECTION_KEPT_MAX = 1 << 22 /* keys: 32 MiB, and as much to sort them */
};

/* The keys from low to low + 2^bits - 1. */
struct wf_key_range {
    uint64_t low;
    int bits;
    int64_t before; /* keys below low */
    int64_t count;  /* keys in it */
};

struct wf_target {
    int64_t position;
    struct wf_key_range range; /* that has the key; bits 0: it is low */
};

struct wf_selection {
    struct wf_ordering ordering;
    int64_t count; /* of all keys, after the first pass */
    struct wf_target *target; /* by rising position */
    int64_t target_count;

    /* One pass. */
    bool is_first, counts, keeps;
    struct wf_key_range *range; /* that it looks at, rising */
    int64_t range_count;
    int thread_count;
    int64_t *digits; /* [thread][range][digit], if it counts */
    uint64_t *kept;  /* if it keeps */
    int64_t kept_limit;
    atomic_llong kept_count; /* more than the limit: what is kept is not all */
};

/* limit: how many keys there are at most, or -1 if nobody knows. */
void wf_selection_begin(struct wf_selection *selection, const struct wf_ordering *ordering, int64_t limit);
void wf_selection_end(struct wf_selection *selection);

/* The positions rise, within selection->count.  WF_ERROR_MEMORY leaves nothing aimed at. */
wf_error wf_selection_aim(struct wf_selection *selection, const int64_t *positions, int64_t count);
bool wf_selection_is_open(const struct wf_selection *selection);
static inline uint64_t wf_selection_key(const struct wf_selection *selection, int64_t i) {
    return selection->target[i].range.low;
}

wf_error wf_selection_begin_pass(struct wf_selection *selection, int thread_count);
void wf_selection_add(struct wf_selection *selection, int thread, const uint64_t *keys, int64_t count);
/* WF_ERROR_MEMORY, or WF_ERROR_IO: these are not the keys of the passes before. */
wf_error wf_selection_end_pass(struct wf_selection *selection);

#endif
