#include "core/segment_rows.h"
#include "core/array.h"
#include "core/labels.h"

enum { BLOCK = 1024 }; /* offsets that are read at a time */

struct progression {
    int64_t first, step;
};

static bool rises_by(const int64_t *offsets, size_t count, int64_t step) {
    uint64_t differ = 0;
    for (size_t i = 1; i < count; i++) differ |= (uint64_t)offsets[i] - (uint64_t)offsets[i - 1] - (uint64_t)step;
    return !differ;
}

/* Whether offsets rise by the same step each time. */
static bool is_progression(const wf_array *offsets, struct progression *found) {
    int64_t block[BLOCK], total = wf_array_length(offsets, 0);
    wf_labels_read(offsets, 0, 2, block);
    if (block[0] < 0 || block[1] <= block[0]) return false;
    *found = (struct progression){block[0], block[1] - block[0]};
    for (int64_t i = 0; i + 1 < total; i += BLOCK - 1) { /* each begins with the last one of the block before */
        const size_t count = total - i < BLOCK ? (size_t)(total - i) : BLOCK;
        wf_labels_read(offsets, i, count, block);
        if (!rises_by(block, count, found->step)) return false;
    }
    return true;
}

/* Rows of that length along the axis, instead of segments. */
static void lay_out(struct wf_layout *rows, const struct wf_layout *segments, int64_t length) {
    *rows = *segments;
    rows->by = WF_GROUP_AXES;
    rows->axis = -1;
    rows->reduced_count = rows->reduced_shape[0] = length;
    for (int o = 0; o < rows->operands; o++)
        rows->stride_bytes[o][segments->axis] = length * rows->reduced_stride_bytes[o][0];
}

static void begin_at(wf_array *rows, const wf_array *array, int64_t skipped_bytes) {
    *rows = *array;
    rows->data = (const char *)rows->data + skipped_bytes;
}

/* How many segments there are, if rows may take their place; else 0. */
static int64_t count_rows(const struct wf_grouped *grouped) {
    const struct wf_layout *layout = grouped->layout;
    if (layout->by != WF_GROUP_SEGMENTS || grouped->into || wf_accumulator_is_indexed(grouped->empty)) return 0;
    return layout->shape[layout->axis];
}

static const struct wf_grouped *make_rows(struct wf_segment_rows *rows, const struct wf_grouped *grouped, struct progression found) {
    const struct wf_layout *layout = grouped->layout;
    lay_out(&rows->layout, layout, found.step);
    for (int o = 0; o < layout->operands; o++)
        begin_at(&rows->array[o], o ? grouped->b : grouped->a, found.first * layout->reduced_stride_bytes[o][0]);
    rows->groups = (wf_groups){.by = WF_GROUP_AXES};
    rows->grouped = *grouped;
    rows->grouped.layout = &rows->layout;
    rows->grouped.groups = &rows->groups;
    rows->grouped.a = &rows->array[0];
    if (grouped->b) rows->grouped.b = &rows->array[1];
    return &rows->grouped;
}

const struct wf_grouped *wf_segment_rows(struct wf_segment_rows *rows, const struct wf_grouped *grouped, const wf_array *offsets) {
    const int64_t count = count_rows(grouped), elements = grouped->layout->reduced_count;
    struct progression found;
    if (!count || !is_progression(offsets, &found)) return NULL;
    if (found.first > elements || (elements - found.first) / found.step < count) return NULL;
    return make_rows(rows, grouped, found);
}

const struct wf_grouped *wf_segment_rows_at_best(struct wf_segment_rows *rows, const struct wf_grouped *grouped) {
    const int64_t count = count_rows(grouped), elements = grouped->layout->reduced_count;
    if (!count || !elements || elements % count) return NULL;
    return make_rows(rows, grouped, (struct progression){0, elements / count});
}
