/* Segments of one length, which are the rows of a matrix. */
#ifndef WF_CORE_SEGMENT_ROWS_H
#define WF_CORE_SEGMENT_ROWS_H

#include "core/grouped.h"

struct wf_segment_rows {
    struct wf_layout layout;
    wf_array array[2];
    wf_groups groups;
    struct wf_grouped grouped;
};

/* The same reduction of rows, whose arrays begin where the first segment does: but for what lies there they are not described; NULL,
 * if the segments are not all equally long, of one element at least, and inside of the axis, or if their elements' positions matter.
 * offsets: in host memory, which may have been checked. */
const struct wf_grouped *wf_segment_rows(struct wf_segment_rows *rows, const struct wf_grouped *grouped, const wf_array *offsets);

#endif
