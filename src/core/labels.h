/* Labels of segments and keys in host memory, resolved: which positions of the grouped axis belong to each group. */
#ifndef WF_CORE_LABELS_H
#define WF_CORE_LABELS_H

#include "core/grouped.h"
#include "core/pages.h"
#include "core/view.h"

enum { WF_LABELS_PAGES = 3 }; /* offsets, and positions or elements of each operand */

/* Group g has the positions from offsets[g] to before offsets[g + 1]: of the axis, or, of keys, of the sorted copies of
 * all elements, or of the index, in which the positions of each group rise. */
struct wf_labels {
    int64_t *offsets;
    struct wf_positions positions;
    unsigned char *elements[2]; /* NULL: there is no sorted copy */
    struct wf_pages pages[WF_LABELS_PAGES]; /* where these lie */
};

/* Checks the labels' values and resolves them: WF_ERROR_RANGE names the first that is wrong.  Takes 8 bytes for each
 * group, and for each key the size of its elements, where the axis is the array's only one and indices do not matter;
 * otherwise 4 (8 for 2^31 keys and more); kept: what labels before left.  After an error there is nothing to release. */
wf_error wf_labels_resolve(wf_handle *handle, struct wf_labels *labels, const struct wf_grouped *grouped,
                           struct wf_pages kept[WF_LABELS_PAGES]);
void wf_labels_release(struct wf_labels *labels, struct wf_pages kept[WF_LABELS_PAGES]);

/* Reads count labels from the index first on.  What exceeds an int64_t becomes negative, which no label may be. */
void wf_labels_read(const wf_array *labels, int64_t first, size_t count, int64_t *to);

#endif
