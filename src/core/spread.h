/* Adds arrays to one accumulator by several handles at a time, a piece each. */
#ifndef WF_CORE_SPREAD_H
#define WF_CORE_SPREAD_H

#include "core/handle.h"

struct wf_spread;

/* For that many handles; NULL: out of memory. */
struct wf_spread *wf_spread_create(int count);
void wf_spread_destroy(struct wf_spread *spread);

/* As wf_device's add, of a reduction that is no tree: pieces begin where the first dimension that is left when the array is
 * laid out does.  Small arrays are few pieces.  On an error the accumulator is as it was, and the handle has the message. */
wf_error wf_spread_add(wf_handle *handle, struct wf_spread *spread, wf_handle *const *handles, struct wf_accumulator *into,
                       const wf_array *a, const wf_array *b);

#endif
