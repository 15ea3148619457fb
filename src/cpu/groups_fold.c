/* Reductions by groups: results by way of accumulators, which take whatever there is, and sums of a few floats. */
#include "core/shaped.h"
#include "core/small_sum.h"
#include "cpu/groups_job.h"

#include <string.h>

/* Makes the indices of a group's elements, which count those that precede it by key, positions of the axis. */
static void set_positions(struct wf_accumulator *acc, const struct wf_view *view) {
    uint64_t *index[] = {&acc->partial.min_index, &acc->partial.max_index, &acc->partial.first_nan};
    uint64_t first = (uint64_t)acc->first_index;
    if (!view->positions.index) return;
    for (int i = 0; i < 3; i++)
        if (*index[i] != INT64_MAX)
            *index[i] = first + (uint64_t)wf_position(view->positions, (int64_t)(*index[i] - first));
}

/* The index of a group's first element, apart from segments.  A tree counts on from what its result holds. */
static int64_t first_index_of(const struct job *job, const struct place *place) {
    const struct wf_grouped *grouped = job->grouped;
    bool counts_on = grouped->into && grouped->empty->tree;
    return counts_on ? wf_shaped_tree_end(grouped->into, place->number) : grouped->empty->first_index;
}

/* losses: NULL, or what the group's sums may lack. */
static void fold(struct wf_accumulator *acc, struct wf_tree *tree, const struct job *job, const struct place *place,
                 wf_handle *handle, struct worker *worker, struct wf_losses *losses) {
    const struct wf_accumulator *empty = job->grouped->empty;
    int64_t count = wf_place_count(job, place), begin = 0;
    wf_accumulator_init_like(acc, empty, first_index_of(job, place), tree);
    if (!count) return;
    acc->losses = losses;
    wf_cpu_begin_losses(acc, count);
    struct wf_view view = job->view;
    wf_place_view(&view, &begin, job, place);
    bool counts_on = !view.positions.index && !acc->tree; /* a product's tree begins with its group */
    if (counts_on) acc->first_index = acc->end_index = empty->first_index + begin;
    if (handle)
        wf_cpu_add_view_in_parallel(handle, acc, &view);
    else
        wf_cpu_add_view(worker, job->cpu->tier, acc, &view);
    acc->count = count;
    acc->end_index += count;
    set_positions(acc, &view);
}

void wf_job_fold(struct wf_accumulator *acc, struct wf_tree *tree, const struct job *job, const struct place *place,
                 wf_handle *handle, struct worker *worker) {
    fold(acc, tree, job, place, handle, worker, NULL);
}

void wf_job_fold_columns(struct worker *worker, const struct job *job, const struct place *place, size_t results,
                         int64_t begin, int64_t end) {
    const struct wf_accumulator *empty = job->grouped->empty;
    struct wf_accumulator *acc = wf_columns_accumulators(worker->columns);
    const int64_t *stride_bytes = job->dimension[job->ndim - 1].stride_bytes;
    int64_t first = empty->first_index;
    struct wf_view view = job->view;
    if (begin < end) view = wf_place_view_tile(job, place, &first);
    size_t used = results * 2 <= WF_COLUMNS_MAX ? WF_COLUMNS_MAX : results; /* groups may have several columns */
    for (size_t c = 0; c < used; c++) wf_accumulator_init_like(&acc[c], empty, first, NULL);
    wf_columns_add(worker->columns, job->cpu->tier, &view, stride_bytes, results, begin, end);
}

static wf_error finish(const struct job *job, const struct wf_accumulator *acc, wf_handle *handle, wf_value *value) {
    wf_error error = wf_accumulator_finish(handle, acc, acc->op, value);
    if (error != WF_ERROR_EMPTY || !job->grouped->has_fill) return error;
    *value = job->grouped->fill;
    return WF_OK;
}

void wf_job_find_nothing(struct job *job) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    if (job->grouped->into || (job->counts_groups < 0 && wf_job_group_count(job))) return; /* no group is empty */
    wf_accumulator_init_like(&acc, job->grouped->empty, job->grouped->empty->first_index, &tree);
    job->has_nothing = !finish(job, &acc, NULL, &job->nothing);
}

wf_error wf_job_write(const struct job *job, const struct place *place, const struct wf_accumulator *acc,
                             wf_handle *handle) {
    const struct wf_grouped *grouped = job->grouped;
    wf_value value;
    if (grouped->into) return wf_shaped_join(grouped->into, place->number, acc) ? WF_OK : WF_ERROR_MERGE;
    wf_error error = finish(job, acc, handle, &value);
    if (!error) wf_value_store(&value, place->result);
    return error;
}

/* Writes the result of a group whose sums may lack something, as one call's may (core/losses.h); false: they lack too much. */
static bool try_lossy(struct wf_accumulator *acc, struct wf_tree *tree, const struct job *job, const struct place *place,
                      wf_handle *handle, struct worker *worker, struct wf_losses *losses, wf_error *error) {
    wf_value value;
    fold(acc, tree, job, place, handle, worker, losses);
    const bool are_exact = wf_losses_are_none(losses);
    const bool is_certain = are_exact || wf_accumulator_finish_within(acc, acc->op, &value);
    acc->losses = NULL;
    *error = are_exact ? wf_job_write(job, place, acc, NULL) : WF_OK;
    if (is_certain && !are_exact) wf_value_store(&value, place->result);
    return is_certain;
}

wf_error wf_job_fold_and_write(struct wf_accumulator *acc, struct wf_tree *tree, const struct job *job,
                               const struct place *place, wf_handle *handle, struct worker *worker) {
    enum { WORTHWHILE_NBYTES = 1 << 14 }; /* to find the results of either end takes as long as some hundred elements */
    const bool is_worth_it = wf_place_count(job, place) * (int64_t)job->view.nbytes >= WORTHWHILE_NBYTES && !job->grouped->into;
    struct wf_losses losses = {.allowed = WF_LOSE_MUCH};
    wf_error error;
    if (is_worth_it && wf_accumulator_may_lose(job->grouped->empty)) {
        while (!try_lossy(acc, tree, job, place, handle, worker, &losses, &error)) wf_losses_lessen(&losses);
        return error;
    }
    fold(acc, tree, job, place, handle, worker, NULL);
    return wf_job_write(job, place, acc, NULL);
}

bool wf_job_try_small_sum(const struct job *job, const struct place *place) {
    const struct wf_grouped *grouped = job->grouped;
    const struct wf_layout *layout = grouped->layout;
    int64_t nbytes = (int64_t)wf_type_nbytes(grouped->a->type), count = wf_place_count(job, place), begin = 0;
    struct wf_number sum;
    wf_value value;
    if (grouped->empty->op != WF_SUM || count == 0 || job->labels.positions.index || grouped->into) return false;
    if (job->view.ndim > 1 || job->view.stride_bytes[0][0] != nbytes) return false;
    if (layout->axis >= 0) begin = job->labels.offsets[place->group];
    const unsigned char *data = job->labels.elements[0] ? job->labels.elements[0] : place->data[0] + job->data_offset[0];
    wf_array array = wf_array_vector(data + begin * nbytes, grouped->a->type, count);
    if (!wf_small_sum(&array, &sum) || !wf_number_round(&sum, grouped->result_type, &value)) return false;
    wf_value_store(&value, place->result);
    return true;
}

void wf_job_note_failure(struct job *job, int64_t number) {
    long long first = atomic_load(&job->first_failed);
    while (number < first && !atomic_compare_exchange_weak(&job->first_failed, &first, number)) {}
}

void wf_job_write_columns(struct job *job, struct wf_accumulator *acc, struct place *place, int64_t results,
                          int64_t count) {
    int64_t first;
    struct wf_view view = job->view;
    if (count) view = wf_place_view_tile(job, place, &first);
    for (int64_t i = 0; i < results; i++, wf_place_move(place, job, job->ndim - 1, 1)) {
        acc[i].count = count;
        acc[i].end_index += count;
        set_positions(&acc[i], &view);
        if (wf_job_write(job, place, &acc[i], NULL)) wf_job_note_failure(job, place->number);
    }
}
