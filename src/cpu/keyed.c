/* Reductions by key: each thread adds its elements, as integers, to a table of its own, in which each group has a few
 * words.  Sums are split onto grids that all elements share (loops/float_units.h), so that each word is an exact integer;
 * extrema are keys, with the position of the first.  The few elements that the grids do not fit, infinities and NaNs are
 * set aside, and added to their groups' accumulators at the end. */
#include "cpu/keyed.h"
#include "core/array.h"
#include "core/environment.h"
#include "cpu/keyed_job.h"

#include <stdlib.h>

enum { ADDITIONS_LOG2_MAX = 40 }; /* elements in all */

static void add_chunk(struct keyed_table *table, struct keyed *job, int64_t begin) {
    int64_t left = job->count - begin;
    bool done = wf_key_table_add(table, job, begin, begin + (left < KEYED_CHUNK ? left : KEYED_CHUNK));
    if (!done) atomic_store(&job->declined, true);
}

/* An owner takes all chunks, other threads those that no other one has taken. */
static void add_share(void *context, int i) {
    struct keyed *job = context;
    struct keyed_table *table = job->table[i];
    int64_t begin;
    wf_environment callers = wf_environment_enter();
    wf_key_table_clear(table, job);
    if (job->are_owned)
        for (begin = 0; !atomic_load(&job->declined) && begin < job->count; begin += KEYED_CHUNK)
            add_chunk(table, job, begin);
    else
        while (!atomic_load(&job->declined) && (begin = atomic_fetch_add(&job->next, KEYED_CHUNK)) < job->count)
            add_chunk(table, job, begin);
    wf_key_table_carry(table, job);
    wf_environment_leave(callers);
}

static void write_share(void *context, int i) {
    struct keyed *job = context;
    int64_t begin;
    wf_environment callers = wf_environment_enter();
    while (!atomic_load(&job->declined) && (begin = atomic_fetch_add(&job->next, KEYED_GROUPS_AT_ONCE)) < job->groups) {
        int64_t end = job->groups - begin < KEYED_GROUPS_AT_ONCE ? job->groups : begin + KEYED_GROUPS_AT_ONCE;
        if (!wf_keyed_write(job, begin, end, &job->cpu->worker[i]->partial)) atomic_store(&job->declined, true);
    }
    wf_environment_leave(callers);
}

static void run(struct keyed *job, int threads, void (*share)(void *context, int i)) {
    atomic_store(&job->next, 0);
    wf_threads_run(job->cpu->threads, threads, share, job);
}

static bool reduce(struct keyed *job) {
    if (!wf_keyed_make_tables(job)) return false;
    run(job, job->threads, add_share);
    if (atomic_load(&job->declined) || !wf_keyed_prepare(job)) return false;
    run(job, job->writers, write_share);
    if (atomic_load(&job->declined)) return false;
    wf_environment callers = wf_environment_enter();
    const bool done = !job->are_bounded || wf_keyed_write_left(job, &job->cpu->worker[0]->partial);
    wf_environment_leave(callers);
    return done;
}

static void release(struct keyed *job, int tables) {
    for (int t = 0; t < tables; t++) wf_key_table_end(job->table[t]);
    if (job->lost) wf_pages_leave(job->lost_kept, job->lost_pages);
    if (job->marks) wf_pages_leave(job->marks_kept, job->marks_pages);
}

/* Places for the tables of as many threads; false without memory. */
static bool ensure_tables(struct cpu *cpu, int count) {
    if (count <= cpu->table_count) return true;
    struct keyed_table **larger = realloc(cpu->table, (size_t)count * sizeof *larger);
    if (!larger) return false;
    cpu->table = larger;
    while (cpu->table_count < count) larger[cpu->table_count++] = NULL;
    return true;
}

void wf_cpu_forget_keyed(struct cpu *cpu) {
    for (int t = 0; t < cpu->table_count; t++) wf_key_table_destroy(cpu->table[t]);
    free(cpu->table);
    wf_pages_free(cpu->lost_kept);
    wf_pages_free(cpu->marks_kept);
}

typedef bool plan_function(struct keyed *job);

static bool try_plan(wf_handle *handle, const struct wf_grouped *grouped, plan_function *plan) {
    const struct wf_layout *layout = grouped->layout;
    struct cpu *cpu = handle->device_state;
    struct keyed job = {.grouped = grouped, .cpu = cpu, .count = layout->reduced_count, .groups = layout->count,
                        .lost_kept = &cpu->lost_kept, .marks_kept = &cpu->marks_kept};
    job.split = cpu->tier->split[grouped->empty->type];
    wf_view_make(&job.view, grouped->a, grouped->b, true);
    int64_t stride_bytes[WF_NDIM_MAX];
    wf_array_strides(grouped->groups->labels, stride_bytes);
    job.key_stride_bytes = stride_bytes[0];
    if (!plan(&job) || !wf_keyed_plan_threads(&job, wf_cpu_threads(handle))) return false;
    int64_t finishing = job.groups / KEYED_GROUPS_AT_ONCE + 1;
    job.writers = finishing < wf_cpu_threads(handle) ? (int)finishing : wf_cpu_threads(handle);
    job.writers = wf_cpu_ensure_workers(cpu, job.writers);
    if (job.threads > wf_cpu_ensure_workers(cpu, job.threads)) job.threads = cpu->worker_count;
    if (!ensure_tables(cpu, job.threads)) return false;
    job.table = cpu->table;
    int tables = job.threads;
    bool done = reduce(&job);
    release(&job, tables);
    return done;
}

bool wf_cpu_try_keyed(wf_handle *handle, const struct wf_grouped *grouped) {
    const struct wf_layout *layout = grouped->layout;
    const bool is_vector = layout->by == WF_GROUP_KEYS && layout->ndim == 1;
    if (!is_vector || !layout->reduced_count || !layout->count) return false; /* soon: small groups come here, too */
    if (layout->reduced_count >> ADDITIONS_LOG2_MAX || layout->count >> ADDITIONS_LOG2_MAX) return false;
    if (wf_keyed_prefers_bounded(grouped, layout->reduced_count))
        return try_plan(handle, grouped, wf_keyed_plan_bounded) || try_plan(handle, grouped, wf_keyed_plan);
    return try_plan(handle, grouped, wf_keyed_plan) || try_plan(handle, grouped, wf_keyed_plan_bounded);
}
