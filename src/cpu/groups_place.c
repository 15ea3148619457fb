/* Reductions by groups: where the elements of a result lie, and where it goes. */
#include "cpu/groups_job.h"

#include <string.h>

/* An array without elements may have no memory to move within. */
static void move_data(struct place *place, int operands, int64_t i, const int64_t *stride_bytes) {
    for (int o = 0; o < operands; o++)
        if (place->data[o]) place->data[o] += i * stride_bytes[o];
}

void wf_place_move(struct place *place, const struct job *job, int d, int64_t i) {
    const struct dimension *dimension = &job->dimension[d];
    move_data(place, job->grouped->layout->operands, i, dimension->stride_bytes);
    place->result += i * dimension->result_stride_bytes;
    place->number += i * dimension->number_stride;
    if (d == job->counts_groups) place->group += i;
}

void wf_place_move_in_tile(struct place *place, const struct job *job, int64_t i) {
    const struct dimension *inner = &job->inner;
    int64_t along = job->packed ? i % inner->length : 0;
    wf_place_move(place, job, job->ndim - 1, job->packed ? i / inner->length : i);
    move_data(place, job->grouped->layout->operands, along, inner->stride_bytes);
    place->result += along * inner->result_stride_bytes;
    place->number += along * inner->number_stride;
}

int64_t wf_place_find(struct place *place, const struct job *job, int64_t tile) {
    const struct wf_grouped *grouped = job->grouped;
    int last = job->ndim - 1;
    int64_t length = job->dimension[last].length, tiles = (length + job->tile - 1) / job->tile;
    int64_t first = tile % tiles * job->tile, rest = tile / tiles;
    *place = (struct place){{grouped->a->data, grouped->b ? grouped->b->data : NULL}, grouped->output->data, 0, 0};
    wf_place_move(place, job, last, first);
    for (int d = last - 1; d >= 0; d--) {
        wf_place_move(place, job, d, rest % job->dimension[d].length);
        rest /= job->dimension[d].length;
    }
    return length - first < job->tile ? length - first : job->tile;
}

void wf_place_view(struct wf_view *view, int64_t *begin, const struct job *job, const struct place *place) {
    const struct wf_layout *layout = job->grouped->layout;
    *begin = 0;
    for (int o = 0; o < layout->operands; o++)
        view->data[o] = job->labels.elements[o] ? job->labels.elements[o] : place->data[o] + job->data_offset[o];
    if (layout->axis < 0) return;
    const int64_t *offset = job->labels.offsets + place->group;
    const char *index = job->labels.positions.index;
    *begin = offset[0];
    view->count = view->shape[0] = offset[1] - offset[0];
    view->positions = job->labels.positions;
    if (index) view->positions.index = index + *begin * (view->positions.are_wide ? 8 : 4);
    for (int o = 0; o < layout->operands && !index; o++) view->data[o] += *begin * view->stride_bytes[o][0];
}

int64_t wf_place_count(const struct job *job, const struct place *place) {
    const struct wf_layout *layout = job->grouped->layout;
    const int64_t *offsets = job->labels.offsets;
    return layout->axis < 0 ? layout->reduced_count : offsets[place->group + 1] - offsets[place->group];
}

/* Only the dimensions that there are: all that there may be would take a tenth of the time of a panel of four rows. */
static void copy_view(struct wf_view *view, const struct wf_view *from) {
    const size_t nbytes = (size_t)from->ndim * sizeof from->shape[0];
    view->ndim = from->ndim;
    view->operands = from->operands;
    view->nbytes = from->nbytes;
    view->count = from->count;
    view->positions = from->positions;
    memcpy(view->shape, from->shape, nbytes);
    for (int o = 0; o < from->operands; o++) memcpy(view->stride_bytes[o], from->stride_bytes[o], nbytes);
}

struct wf_view wf_place_view_tile(const struct job *job, const struct place *place, int64_t *first) {
    struct wf_view view;
    int64_t begin = 0;
    copy_view(&view, &job->view);
    wf_place_view(&view, &begin, job, place);
    *first = job->grouped->empty->first_index + (view.positions.index ? 0 : begin);
    return view;
}

bool wf_place_is_shared(const struct job *job, const struct place *place) {
    return wf_place_count(job, place) >= job->shared_count;
}
