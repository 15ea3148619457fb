/* Taking out of an accumulator what was added to it. */
#ifndef WF_CORE_SUBTRACT_H
#define WF_CORE_SUBTRACT_H

#include "core/accumulator.h"

/* Whether the accumulator's parts can be taken back; if not, a message says why. */
wf_error wf_subtract_check(wf_handle *handle, const struct wf_accumulator *acc);

/* Takes part out of whole.  Both are one result, of the same reduction, which wf_subtract_check let pass.  Returns NULL,
 * or in words why part is none of whole; whole is then to be thrown away. */
const char *wf_subtract(struct wf_accumulator *whole, const struct wf_accumulator *part);

/* Takes the part's indices out of the whole's hull, if they are at an end of it; count has been subtracted already. */
void wf_subtract_indices(struct wf_accumulator *whole, const struct wf_accumulator *part);

#endif
