/* The distinct keys in a range, in bounded memory: where there are too many, the range ends earlier, and the others are left
 * to another pass.
 *
 *     for (uint64_t low = 0, last;; low = last + 1) {
 *         a set from low on for each thread, and a pass
 *         last = the least set->last; count += wf_key_sets_count(sets, ...)
 *         if (last is the highest key) break;
 *     } */
#ifndef WF_CORE_KEY_SET_H
#define WF_CORE_KEY_SET_H

#include "core/ordered.h"

struct wf_key_set {
    uint64_t low, last; /* keys outside are not taken */
    int64_t limit;      /* keys that it holds at most */
    int64_t count, capacity;
    uint64_t *slot; /* 0: free */
    bool has_zero;  /* the key 0 */
    bool is_out_of_memory;
};

/* limit: 2 or more. */
void wf_key_set_begin(struct wf_key_set *set, uint64_t low, uint64_t last, int64_t limit);
void wf_key_set_end(struct wf_key_set *set);
void wf_key_set_add(struct wf_key_set *set, const uint64_t *keys, int64_t count);

/* The distinct keys up to last in all sets together; -1: no memory. */
int64_t wf_key_sets_count(const struct wf_key_set *sets, int set_count, uint64_t last);

#endif
