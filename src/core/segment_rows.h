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

/* The same reduction, of rows; of its arrays the address of the first segment's first element counts, not the shape.  NULL: the segments
 * are not all equally long, of one element at least, and inside of the axis, or their elements' positions matter.  offsets: in host memory. */
const struct wf_grouped *wf_segment_rows(struct wf_segment_rows *rows, const struct wf_grouped *grouped, const wf_array *offsets);

/* The same of all of the axis, if the segments should be of one length, which is not known.  NULL: they cannot be. */
const struct wf_grouped *wf_segment_rows_at_best(struct wf_segment_rows *rows, const struct wf_grouped *grouped);

#endif
