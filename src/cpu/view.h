/* How the elements of one array, or of two that are paired, lie in memory: the fewest dimensions that say it. */
#ifndef WF_CPU_VIEW_H
#define WF_CPU_VIEW_H

#include <stdbool.h>
#include "warpfold.h"

struct wf_view {
    int ndim;
    int operands; /* 1 or 2 */
    size_t nbytes; /* of an element */
    int64_t count;
    int64_t shape[WF_NDIM_MAX];
    const unsigned char *data[2];
    int64_t stride_bytes[2][WF_NDIM_MAX];
};

/* a, and b if it is not NULL, of the same shape and type, with one element at least.  Unless keep_order, elements may come in another
 * order, the one that memory has them in. */
void wf_view_make(struct wf_view *view, const wf_array *a, const wf_array *b, bool keep_order);

/* Of the limit elements from index first on, those that lie contiguous; or as many as buffer[o] has room for, gathered
 * there: points data[o] at those of each operand and returns how many. */
int64_t wf_view_block(const struct wf_view *view, int64_t first, int64_t limit, size_t room, unsigned char *buffer[2],
                      const unsigned char *data[2]);

#endif
