/* Accumulators of groups whose number grows: those with one dimension. */
#ifndef WF_CORE_SHAPED_GROUPS_H
#define WF_CORE_SHAPED_GROUPS_H

#include "core/shaped.h"

/* Adds results without elements behind those that are there, so that there are count. */
wf_error wf_shaped_grow(wf_handle *handle, struct wf_shaped *shaped, int64_t count);

/* Merges each result i of from, which is another accumulator of the same reduction and has no trees, with result to[i] of
 * into.  The positions of from have been moved behind those of into.  On an error, which only WF_ERROR_RANGE can be,
 * nothing is done. */
wf_error wf_shaped_merge_to(wf_handle *handle, struct wf_shaped *into, const struct wf_shaped *from, const int32_t *to);

#endif
