/* Reads the files of a table into a tally.
 *
 * Each thread takes the next whole lines, reads their rows, waits for its turn and adds them: groups appear in the order
 * of the files, and the first error is the one that comes first in them. */
#define _GNU_SOURCE /* sched_getaffinity */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "core/handle.h"
#include "core/threads.h"
#include "io/tally.h"

enum { THREADS_MAX = 64 };

struct reader {
    wf_handle *handle; /* its own, for messages */
    struct wf_chunk chunk;
    struct wf_rows rows;
};

struct file_job {
    wf_handle *handle; /* of the thread whose turn it is */
    struct wf_tally *tally;
    struct wf_table *table;
    pthread_t caller;
    struct reader reader[THREADS_MAX];
    int reader_count;
    pthread_mutex_t lock; /* protects the members below and the table's source */
    pthread_cond_t turn_passed;
    bool is_finished; /* no more chunks are taken from this file */
    int64_t next_number, turn;
    wf_error error; /* the first in the order of the chunks; its message is the handle's */
};

static bool take(struct file_job *job, struct reader *reader, int64_t *number, wf_error *error) {
    pthread_mutex_lock(&job->lock);
    const bool is_taken = !job->is_finished;
    if (is_taken) {
        *number = job->next_number++;
        reader->chunk.is_end = false;
        *error = wf_table_take(reader->handle, job->table, &reader->chunk);
        job->is_finished = *error || reader->chunk.is_end;
    }
    pthread_mutex_unlock(&job->lock);
    return is_taken;
}

static void report_progress(struct file_job *job) {
    const wf_reader *source = job->table->reader;
    if (!source->options.progress || !pthread_equal(job->caller, pthread_self())) return;
    pthread_mutex_lock(&job->lock);
    const int64_t done = source->nbytes_done + source->source.nbytes_read;
    pthread_mutex_unlock(&job->lock);
    source->options.progress(source->options.progress_user, done, source->nbytes_total);
}

/* In the chunk's turn.  After an error, later chunks are dropped. */
static void add(struct file_job *job, const struct reader *reader, wf_error error) {
    if (job->error) return;
    if (error)
        job->error = wf_fail(job->handle, error, "%s", wf_handle_message(reader->handle));
    else if (reader->chunk.nbytes)
        job->error = wf_tally_add(job->handle, job->tally, &reader->rows);
}

static void add_in_turn(struct file_job *job, const struct reader *reader, int64_t number, wf_error error) {
    pthread_mutex_lock(&job->lock);
    while (job->turn != number) pthread_cond_wait(&job->turn_passed, &job->lock);
    pthread_mutex_unlock(&job->lock);
    add(job, reader, error);
    pthread_mutex_lock(&job->lock);
    job->turn++;
    job->is_finished |= job->error != WF_OK;
    pthread_cond_broadcast(&job->turn_passed);
    pthread_mutex_unlock(&job->lock);
}

static void work(void *context, int i) {
    struct file_job *job = context;
    struct reader *reader = &job->reader[i];
    int64_t number;
    wf_error error;
    while (take(job, reader, &number, &error)) {
        if (!error && reader->chunk.nbytes)
            error = wf_rows_reserve(reader->handle, &reader->rows, job->table, &reader->chunk);
        if (!error && reader->chunk.nbytes)
            error = wf_table_read(reader->handle, job->table, &reader->chunk, &reader->rows);
        add_in_turn(job, reader, number, error);
        report_progress(job);
    }
}

/* ---- threads ---- */

/* Makes readers until there are count, or memory runs out. */
static int ensure_readers(struct file_job *job, int count) {
    while (job->reader_count < count) {
        struct reader *reader = &job->reader[job->reader_count];
        *reader = (struct reader){0};
        if (wf_handle_create("cpu", &reader->handle)) break;
        if (wf_chunk_create(NULL, &reader->chunk)) {
            wf_handle_destroy(reader->handle);
            break;
        }
        job->reader_count++;
    }
    return count < job->reader_count ? count : job->reader_count;
}

static void destroy_readers(struct file_job *job) {
    for (int i = 0; i < job->reader_count; i++) {
        wf_rows_clear(&job->reader[i].rows);
        wf_chunk_destroy(&job->reader[i].chunk);
        wf_handle_destroy(job->reader[i].handle);
    }
}

/* The threads that the open file keeps busy. */
static int useful_threads(const struct file_job *job) {
    enum { THREAD_NBYTES = 1 << 18 };
    const struct wf_source *source = &job->table->reader->source;
    cpu_set_t allowed;
    int64_t limit = job->handle->threads, left = source->nbytes_total - wf_source_offset(source);
    if (!limit) limit = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
    if (limit > THREADS_MAX) limit = THREADS_MAX;
    if (source->nbytes_total < 0) left = source->is_at_end ? 0 : INT64_MAX;
    const int64_t useful = left / THREAD_NBYTES;
    return useful < 1 ? 1 : useful < limit ? (int)useful : (int)limit;
}

static wf_error add_lines(struct file_job *job) {
    const int count = ensure_readers(job, useful_threads(job));
    if (!count) return wf_fail(job->handle, WF_ERROR_MEMORY, "no memory to read a table");
    job->is_finished = false;
    job->next_number = job->turn = 0;
    struct wf_threads *threads = count > 1 ? wf_threads_create() : NULL;
    if (threads)
        wf_threads_run(threads, count, work, job);
    else
        work(job, 0);
    wf_threads_destroy(threads);
    return job->error;
}

/* ---- files ---- */

static wf_error add_file(struct file_job *job) {
    struct wf_table *table = job->table;
    struct wf_tally *tally = job->tally;
    wf_reader *reader = table->reader;
    const struct wf_table_plan *plan = &table->plan;
    const bool was_resolved = table->is_resolved, is_read = !plan->reads_last || reader->path_index + 1 == reader->path_count;
    wf_error error = wf_table_begin_file(job->handle, table);
    if (!error && is_read) error = wf_tally_add_file(job->handle, tally, reader->source.name);
    if (!error && table->is_resolved && !was_resolved)
        error = wf_tally_set_columns(job->handle, tally, table->column_count, table->by_count, table->name);
    if (!error && is_read && plan->range) wf_text_range_restrict(&reader->text, &reader->source, plan->range);
    if (!error && is_read && table->is_resolved) error = add_lines(job);
    if (!is_read) table->file--; /* the tally does not know it */
    wf_reader_close_file(reader);
    return error;
}

static wf_error add_files(struct file_job *job) {
    wf_reader *reader = job->table->reader;
    for (;;) {
        wf_error error = wf_reader_ensure_file(job->handle, reader);
        if (error) return error;
        if (!reader->format) break;
        error = reader->error = add_file(job);
        if (error) return error;
    }
    if (job->table->is_resolved) return WF_OK;
    return wf_fail(job->handle, WF_ERROR_EMPTY, "%s: no lines: the columns of the table are not known",
                   wf_source_name(reader->paths[0]));
}

wf_error wf_tally_read(wf_handle *handle, struct wf_tally *tally, wf_reader *reader, const struct wf_table_plan *plan) {
    struct wf_table table;
    struct file_job *job = calloc(1, sizeof *job);
    if (!job) return wf_fail(handle, WF_ERROR_MEMORY, "no memory to read a table");
    wf_error error = wf_table_open(handle, &table, reader, plan);
    table.seed = tally->keys.seed;
    table.skips_rows = true;
    job->handle = handle;
    job->tally = tally;
    job->table = &table;
    job->caller = pthread_self();
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->turn_passed, NULL);
    if (!error) error = add_files(job);
    destroy_readers(job);
    pthread_cond_destroy(&job->turn_passed);
    pthread_mutex_destroy(&job->lock);
    free(job);
    wf_table_close(&table);
    return error;
}
