/* Reductions by groups on the CPU: how threads share the tiles of results. */
#include "core/environment.h"
#include "core/labels.h"
#include "core/segment_rows.h"
#include "core/shaped.h"
#include "cpu/elementwise.h"
#include "cpu/groups_job.h"
#include "cpu/keyed.h"

#include <stdlib.h>
#include <string.h>

static void reduce_share(void *context, int i) {
    struct job *job = context;
    wf_environment callers = wf_environment_enter();
    int64_t first;
    while ((first = atomic_fetch_add(&job->next, job->tiles_at_once)) < job->tile_count) {
        int64_t left = job->tile_count - first, end = first + (left < job->tiles_at_once ? left : job->tiles_at_once);
        for (int64_t tile = first; tile < end;) tile += wf_job_reduce_tiles(job, job->cpu->worker[i], tile, end - tile);
    }
    wf_environment_leave(callers);
}

/* ---- tiles that all threads share, where there are fewer tiles than threads ---- */

struct shared_tile {
    const struct job *job;
    struct place place;
    int64_t results, count, part; /* elements that a thread takes of each group */
};

static void fold_part(void *context, int i) {
    const struct shared_tile *tile = context;
    wf_environment callers = wf_environment_enter();
    int64_t begin = i * tile->part, left = tile->count - begin;
    int64_t end = left < 0 ? begin : begin + (left < tile->part ? left : tile->part);
    wf_job_fold_columns(tile->job->cpu->worker[i], tile->job, &tile->place, (size_t)tile->results, begin, end);
    wf_environment_leave(callers);
}

static void reduce_shared_tile(struct job *job, int64_t number, int threads) {
    struct shared_tile tile = {.job = job};
    const struct cpu *cpu = job->cpu;
    tile.results = wf_place_find(&tile.place, job, number);
    tile.count = wf_place_count(job, &tile.place);
    tile.part = tile.count / threads + 1;
    wf_threads_run(cpu->threads, threads, fold_part, &tile);
    wf_environment callers = wf_environment_enter();
    struct wf_accumulator *acc = wf_columns_accumulators(cpu->worker[0]->columns);
    for (int i = 1; i < threads; i++)
        for (int64_t c = 0; c < tile.results; c++)
            wf_accumulator_join(&acc[c], &wf_columns_accumulators(cpu->worker[i]->columns)[c]);
    wf_job_write_columns(job, acc, &tile.place, tile.results, tile.count);
    wf_environment_leave(callers);
}

/* Returns false, and does nothing, if each tile is for one thread. */
static bool try_shared_tiles(wf_handle *handle, struct job *job) {
    enum { WORTHWHILE = 1 << 18 }; /* elements of a tile */
    struct cpu *cpu = handle->device_state;
    int threads = wf_cpu_threads(handle);
    if (!job->uses_columns || job->must_be_whole || job->packed || job->tile_count >= threads) return false;
    if (wf_job_group_count(job) < WORTHWHILE / job->tile) return false;
    threads = wf_cpu_ensure_workers(cpu, threads);
    for (int i = 0; i < threads; i++)
        if (!wf_worker_has_columns(cpu->worker[i])) return false;
    for (int64_t number = 0; number < job->tile_count; number++) reduce_shared_tile(job, number, threads);
    return true;
}

/* The elements of the longest segment, or of the rows with the commonest key.  The labels have been resolved. */
static int64_t longest_group(const struct job *job) {
    const struct wf_layout *layout = job->grouped->layout;
    const int64_t *offsets = job->labels.offsets;
    int64_t longest = layout->axis < 0 ? layout->reduced_count : 0;
    for (int64_t g = 0; layout->axis >= 0 && g < layout->shape[layout->axis]; g++)
        if (offsets[g + 1] - offsets[g] > longest) longest = offsets[g + 1] - offsets[g];
    return longest;
}

static bool has_large_groups(const struct job *job) {
    return job->shared_count < INT64_MAX && longest_group(job) >= job->shared_count;
}

/* Whether a tile is one segment, which is not shared. */
static bool is_lesser_segment(const struct job *job, int64_t tile) {
    const struct place place = {.group = tile};
    return job->counts_groups >= 0 && job->grouped->layout->ndim == 1 && !wf_place_is_shared(job, &place);
}

/* The groups that are so large that all threads share each of them, one after the other. */
static void reduce_large_groups(wf_handle *handle, struct job *job) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    struct place place;
    if (!has_large_groups(job)) return;
    for (int64_t tile = 0; tile < job->tile_count; tile++) {
        if (is_lesser_segment(job, tile)) continue;
        int64_t count = wf_place_find(&place, job, tile);
        for (int64_t i = 0; i < count; i++, wf_place_move(&place, job, job->ndim - 1, 1)) {
            if (!wf_place_is_shared(job, &place)) continue;
            if (wf_job_fold_and_write(&acc, &tree, job, &place, handle, NULL)) wf_job_note_failure(job, place.number);
        }
    }
}

/* Reduces one result again, for the message of why it failed. */
static wf_error explain_failure(wf_handle *handle, struct job *job, int64_t number) {
    struct wf_accumulator acc;
    struct wf_tree tree;
    struct place place;
    wf_error error = WF_OK;
    for (int64_t tile = 0; tile < job->tile_count && !error; tile++) {
        struct place first;
        int64_t results = wf_place_find(&first, job, tile) * (job->packed ? job->inner.length : 1);
        for (int64_t i = 0; i < results && !error; i++) {
            place = first;
            wf_place_move_in_tile(&place, job, i);
            if (place.number != number) continue;
            wf_job_fold(&acc, &tree, job, &place, handle, NULL);
            error = wf_job_write(job, &place, &acc, handle);
        }
    }
    char why[WF_MESSAGE_NBYTES];
    memcpy(why, handle->message, sizeof why);
    return wf_fail(handle, error, "result %lld: %s", (long long)number, why);
}

static wf_error failure_of(wf_handle *handle, struct job *job) {
    int64_t failed = atomic_load(&job->first_failed);
    if (job->packed && atomic_load(&job->packed->first_failed) < failed) failed = atomic_load(&job->packed->first_failed);
    return failed == INT64_MAX ? WF_OK : explain_failure(handle, job, failed);
}

/* Behind the job there is room for another one, of packed tiles. */
static wf_error reduce_results(wf_handle *handle, struct job *job) {
    const struct cpu *cpu = job->cpu;
    int threads = wf_cpu_threads(handle);
    wf_job_divide(job, threads);
    wf_job_choose_packing(job, job + 1, threads);
    if (try_shared_tiles(handle, job)) return failure_of(handle, job);
    int64_t shares = (job->tile_count + job->tiles_at_once - 1) / job->tiles_at_once;
    if (shares < threads) threads = (int)shares;
    threads = wf_cpu_ensure_workers(handle->device_state, threads);
    reduce_large_groups(handle, job);
    wf_threads_run(cpu->threads, threads, reduce_share, job);
    return failure_of(handle, job);
}

/* Makes room for what the groups add to an accumulator. */
static wf_error reserve(wf_handle *handle, const struct job *job) {
    if (!job->grouped->into || !job->grouped->empty->tree) return WF_OK;
    return wf_shaped_reserve(handle, job->grouped->into, longest_group(job));
}

/* A job, and room for another one behind it; NULL without memory. */
static struct job *begin_job(struct cpu *cpu, const struct wf_grouped *grouped) {
    enum { JOBS = 2 };
    struct job *job = cpu->groups_job ? cpu->groups_job : malloc(JOBS * sizeof *job);
    if (!job) return NULL;
    cpu->groups_job = job;
    memset(job, 0, JOBS * sizeof *job);
    job->grouped = grouped;
    job->cpu = cpu;
    job->view.nbytes = wf_type_nbytes(grouped->a->type);
    atomic_init(&job->first_failed, INT64_MAX);
    return job;
}

/* Has segments of one length, which are rows, reduced as such; reads the labels of other groups. */
static wf_error resolve(wf_handle *handle, struct job *job, struct wf_segment_rows *rows, struct wf_pages *kept) {
    const struct wf_grouped *grouped = job->grouped, *of_rows = NULL;
    if (grouped->layout->axis < 0) return WF_OK;
    if (grouped->layout->count) of_rows = wf_segment_rows(rows, grouped, grouped->groups->labels);
    if (!of_rows) return wf_labels_resolve(handle, &job->labels, grouped, kept);
    job->grouped = of_rows;
    return WF_OK;
}

wf_error wf_cpu_reduce_groups(wf_handle *handle, const struct wf_grouped *grouped) {
    struct cpu *cpu = handle->device_state;
    struct wf_segment_rows rows;
    if (!grouped->into && (wf_cpu_try_keyed(handle, grouped) || wf_cpu_try_elementwise(handle, grouped))) return WF_OK;
    struct job *job = begin_job(cpu, grouped);
    if (!job) return wf_fail(handle, WF_ERROR_MEMORY, "no memory for a reduction by groups");
    wf_error error = resolve(handle, job, &rows, cpu->labels_kept);
    if (!error) error = reserve(handle, job);
    if (!error && grouped->layout->count) {
        wf_job_lay_out(job);
        wf_job_find_nothing(job);
        error = reduce_results(handle, job);
    }
    wf_labels_release(&job->labels, cpu->labels_kept);
    return error;
}
