/* How the elements of one array, or of two that are paired, lie in memory: the fewest dimensions that say it.
 */
#ifndef WF_CORE_VIEW_H
#define WF_CORE_VIEW_H

#include "core/strided.h"

#include <stdbool.h>
#include "warpfold.h"

/* Positions of one dimension, in the order in which its elements are taken: int32_t, or, if they are wide, int64_t.
 * Without an index, all of them as they lie. */
struct wf_positions {
    const void *index;
    bool are_wide;
};

static inline int64_t wf_position(struct wf_positions positions, int64_t i) {
    return positions.are_wide ? ((const int64_t *)positions.index)[i] : ((const int32_t *)positions.index)[i];
}

struct wf_view {
    int ndim;
    int operands;  /* 1 or 2 */
    size_t nbytes; /* of an element */
    int64_t count;
    int64_t shape[WF_NDIM_MAX];
    const unsigned char *data[2];
    int64_t stride_bytes[2][WF_NDIM_MAX];
    struct wf_positions positions;
};

/* Views a, paired with b unless b is NULL; both have the same shape and type, and one element at least.
 * Unless keep_order, elements may come in the order of their addresses instead of that of their indices. */
void wf_view_make(struct wf_view *view, const wf_array *a, const wf_array *b, bool keep_order);

/* Whether the elements of each operand lie side by side. */
bool wf_view_is_packed(const struct wf_view *view);

/* Points data[o], for each operand o, at elements from index first on that are contiguous, and returns how
 * many there are, at most limit.  Elements that are not contiguous in memory are copied to buffer[o], which
 * has space for `capacity` elements, by that function if they are a row's. */
int64_t wf_view_block(const struct wf_view *view, int64_t first, int64_t limit, size_t capacity,
                      unsigned char *buffer[2], const unsigned char *data[2], wf_copy_strided_function *copy_strided);

/* Sets the addresses of operand o's elements first <= i < first + count. */
void wf_view_addresses(const struct wf_view *view, int o, int64_t first, size_t count, const unsigned char **address);

#endif
