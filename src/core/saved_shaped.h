/* The saved form of an accumulator with a shape, between what every saved form begins and ends with (core/saved.c). */
#ifndef WF_CORE_SAVED_SHAPED_H
#define WF_CORE_SAVED_SHAPED_H

#include "core/archive.h"
#include "core/shaped.h"

/* Bytes after the settings that are all 0 where there is no shape. */
#define WF_SAVED_NO_SHAPE_NBYTES 3

/* Whether there is a shape, after the settings, at which the archive is. */
bool wf_saved_has_shape(struct wf_archive archive);

/* Writes or measures it. */
void wf_saved_transfer_shaped(struct wf_archive *archive, const struct wf_shaped *shaped);

/* Reads the rest of the archive.  If archive->failed, it was not written by warpfold; there is no message then. */
wf_error wf_saved_read_shaped(wf_handle *handle, struct wf_archive *archive, struct wf_shaped **shaped);

wf_error wf_saved_fail_flaw(wf_handle *handle, const char *flaw);

#endif
