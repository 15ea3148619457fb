/* Accumulators whose results become more. */
#ifndef WF_CORE_SHAPED_GROUPS_H
#define WF_CORE_SHAPED_GROUPS_H

#include "core/shaped.h"

/* Of one dimension: adds results without elements after those that are there, so that there are count. */
wf_error wf_shaped_grow(wf_handle *handle, struct wf_shaped *shaped, int64_t count);

/* Puts the results of from, of which only those of trees become larger, after those of into: along the first dimension, in
 * which alone their shapes may differ (WF_ERROR_MERGE).  Both are of the same reduction, and of the same positions. */
wf_error wf_shaped_append(wf_handle *handle, struct wf_shaped *into, struct wf_shaped *from);

/* Merges each result i of from, which is another accumulator of the same reduction and has no trees, with result to[i] of
 * into.  The positions of from have been moved after those of into.  On an error, which only WF_ERROR_RANGE can be,
 * nothing is done. */
wf_error wf_shaped_merge_to(wf_handle *handle, struct wf_shaped *into, const struct wf_shaped *from, const int32_t *to);

#endif
