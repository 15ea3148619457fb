/* Adds what readers have left to an accumulator.
 *
 * The threads of a crew go round: each takes the next piece of the file, reads or parses it, and adds it to
 * an accumulator of its own; in the end those are merged, which changes no bit.  Pieces are numbered as they
 * are taken and are the same however many threads there are, and so is the first error in their order. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "io/reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include "core/handle.h"
#include "core/accumulator.h"
#include "cpu/threads.h"

/* Far more than a memory feeds; with its piece and its handle each thread holds about 1 MiB. */
enum { THREADS_MAX = 64 };

struct worker {
    wf_handle *handle;
    struct wf_piece *piece;
    int64_t number; /* of the piece */
    int64_t index;  /* of its first element */
    wf_error error; /* what ended this worker's work: with its message on the handle */
    struct wf_accumulator partial;
    struct wf_piece own_piece;
};

struct crew {
    wf_reader *reader;
    pthread_t caller;
    bool in_order; /* elements must be added in their order: to the first worker's partial */
    int thread_limit;
    struct wf_threads *threads; /* NULL before there is work for more than the caller's */
    int worker_count;
    struct worker *worker[THREADS_MAX];
    struct worker first; /* with the caller's handle and the reader's piece */

    pthread_mutex_t lock; /* of what follows, and of the reader's source */
    pthread_cond_t turn_passed;
    bool is_over; /* nothing more is taken from this file */
    int64_t next_number;
    int64_t turn;       /* the number of the piece whose turn it is */
    bool is_broken;     /* in order: nothing can follow what was added */
    int64_t next_index; /* of the first element that has none yet */
};

/* ---- one thread ---------------------------------------------------------------------------------- */

/* By one thread at a time: while it takes the piece, or while it is the piece's turn. */
static void give_indices(struct crew *crew, struct worker *worker) {
    worker->index = crew->next_index;
    crew->next_index += worker->piece->count;
}

/* Takes the next piece, if there is one; *error: what ended the file here, after the piece's elements. */
static bool take(struct crew *crew, struct worker *worker, wf_error *error) {
    wf_reader *reader = crew->reader;
    pthread_mutex_lock(&crew->lock);
    bool is_taken = !crew->is_over;
    if (is_taken) {
        worker->number = crew->next_number++;
        *error = reader->format->take(worker->handle, reader, worker->piece);
        if (reader->format->counts_on_taking) give_indices(crew, worker);
        crew->is_over = *error || worker->piece->is_end;
    }
    pthread_mutex_unlock(&crew->lock);
    return is_taken;
}

static void await_turn(struct crew *crew, const struct worker *worker) {
    pthread_mutex_lock(&crew->lock);
    while (crew->turn != worker->number) pthread_cond_wait(&crew->turn_passed, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
}

static void pass_turn(struct crew *crew) {
    pthread_mutex_lock(&crew->lock);
    crew->turn++;
    pthread_cond_broadcast(&crew->turn_passed);
    pthread_mutex_unlock(&crew->lock);
}

static wf_error add(struct worker *worker, struct wf_accumulator *partial) {
    if (worker->piece->count == 0) return WF_OK;
    wf_array elements = wf_array_vector(worker->piece->data, partial->type, worker->piece->count);
    partial->end_index = worker->index;
    return wf_accumulator_add(worker->handle, partial, &elements, 1);
}

/* Adds the piece, whose reading may have ended in an error: the elements that are there come first.  Where
 * take could not count the elements, those of all pieces before must have their indices; in order, they must
 * have been added. */
static wf_error add_piece(struct crew *crew, struct worker *worker, wf_error read_error) {
    bool is_counted = crew->reader->format->counts_on_taking;
    if (crew->in_order || !is_counted) await_turn(crew, worker);
    if (!is_counted) give_indices(crew, worker);
    if (!crew->in_order) {
        if (!is_counted) pass_turn(crew);
        wf_error error = add(worker, &worker->partial);
        return error ? error : read_error;
    }
    wf_error error = crew->is_broken ? WF_OK : add(worker, &crew->first.partial);
    if (!error) error = read_error;
    if (error) crew->is_broken = true;
    pass_turn(crew);
    return error;
}

static void report_progress(struct crew *crew) {
    const wf_reader *reader = crew->reader;
    if (!reader->options.progress || !pthread_equal(crew->caller, pthread_self())) return;
    pthread_mutex_lock(&crew->lock);
    int64_t done = reader->nbytes_done + reader->source.nbytes_read;
    pthread_mutex_unlock(&crew->lock);
    reader->options.progress(reader->options.progress_user, done, reader->nbytes_total);
}

static void work(void *context, int i) {
    struct crew *crew = context;
    struct worker *worker = crew->worker[i];
    wf_error error;
    while (!worker->error && take(crew, worker, &error)) {
        wf_error finish_error = crew->reader->format->finish(worker->handle, crew->reader, worker->piece);
        worker->error = add_piece(crew, worker, error ? error : finish_error);
        report_progress(crew);
    }
    if (!worker->error) return;
    pthread_mutex_lock(&crew->lock);
    crew->is_over = true;
    pthread_mutex_unlock(&crew->lock);
}

/* ---- the crew ------------------------------------------------------------------------------------ */

static void worker_destroy(struct worker *worker) {
    wf_handle_destroy(worker->handle);
    wf_piece_destroy(&worker->own_piece);
    free(worker);
}

static struct worker *worker_create(const struct wf_accumulator *into) {
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker) return NULL;
    worker->piece = &worker->own_piece;
    if (wf_handle_create("cpu", &worker->handle) || wf_piece_create(NULL, worker->piece)) {
        worker_destroy(worker);
        return NULL;
    }
    wf_accumulator_init_like(&worker->partial, into, into->end_index);
    return worker;
}

/* Workers for as many threads as there is memory for, at most count; returns how many. */
static int need_workers(struct crew *crew, int count, const struct wf_accumulator *into) {
    if (count > 1 && !crew->threads && !(crew->threads = wf_threads_create())) return 1;
    while (crew->worker_count < count && (crew->worker[crew->worker_count] = worker_create(into)))
        crew->worker_count++;
    return count < crew->worker_count ? count : crew->worker_count;
}

static int count_processors(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
}

static void crew_open(struct crew *crew, wf_handle *handle, wf_reader *reader, int32_t threads,
                      const struct wf_accumulator *into) {
    crew->reader = reader;
    crew->caller = pthread_self();
    crew->in_order = into->parts & WF_PART_PRODUCT && into->uses_tree;
    crew->threads = NULL;
    crew->thread_limit = threads ? threads : count_processors();
    if (handle->device == &wf_device_cuda) crew->thread_limit = 1; /* others would add on the CPU */
    if (crew->thread_limit > THREADS_MAX) crew->thread_limit = THREADS_MAX;
    crew->worker_count = 1;
    crew->worker[0] = &crew->first;
    crew->first.handle = handle;
    crew->first.piece = &reader->piece;
    crew->first.error = WF_OK;
    wf_accumulator_init_like(&crew->first.partial, into, into->end_index);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->turn_passed, NULL);
    crew->next_index = into->end_index;
}

static void crew_close(struct crew *crew) {
    wf_threads_destroy(crew->threads);
    while (crew->worker_count > 1) worker_destroy(crew->worker[--crew->worker_count]);
    pthread_cond_destroy(&crew->turn_passed);
    pthread_mutex_destroy(&crew->lock);
}

/* How many threads the open file is worth. */
static int useful_threads(const struct crew *crew) {
    wf_reader *reader = crew->reader;
    struct wf_source *source = &reader->source;
    int64_t limit = crew->thread_limit, left = source->nbytes_total - wf_source_offset(source);
    if (source->nbytes_total < 0) {
        /* What comes through a pipe comes one after the other: while one thread reads, one adds.  An error
         * will come again, in its place. */
        wf_source_fill(NULL, source, WF_SOURCE_NBYTES);
        if (reader->format->counts_on_taking && limit > 2) limit = 2;
        left = source->is_at_end ? 0 : INT64_MAX;
    }
    int64_t useful = left / reader->format->thread_nbytes;
    return useful < 1 ? 1 : useful < limit ? (int)useful : (int)limit;
}

/* The error that comes first in the file, if there is any, with its message on the first worker's handle. */
static wf_error first_error(const struct crew *crew) {
    const struct worker *first = NULL;
    for (int i = 0; i < crew->worker_count; i++) {
        const struct worker *worker = crew->worker[i];
        if (worker->error && (!first || worker->number < first->number)) first = worker;
    }
    if (!first) return WF_OK;
    if (first == &crew->first) return first->error;
    return wf_fail(crew->first.handle, first->error, "%s", wf_handle_message(first->handle));
}

static wf_error add_file(struct crew *crew, const struct wf_accumulator *into) {
    int count = need_workers(crew, useful_threads(crew), into);
    crew->is_over = crew->is_broken = false;
    crew->next_number = crew->turn = 0;
    if (count > 1)
        wf_threads_run(crew->threads, count, work, crew);
    else
        work(crew, 0);
    wf_reader_close_file(crew->reader);
    return first_error(crew);
}

static wf_error add_files(struct crew *crew, const struct wf_accumulator *into) {
    wf_reader *reader = crew->reader;
    if (wf_reader_available(reader) > 0) {
        wf_array block = wf_reader_take_block(reader, INT64_MAX);
        wf_error error = wf_accumulator_add(crew->first.handle, &crew->first.partial, &block, 1);
        if (error) return error;
        crew->next_index += block.shape[0];
    }
    for (;;) {
        wf_error error = wf_reader_need_file(crew->first.handle, reader);
        if (error || !reader->format) return error;
        error = reader->error = add_file(crew, into);
        if (error) return error;
    }
}

static wf_error merge(struct crew *crew, wf_accumulator *into) {
    struct worker *first = &crew->first;
    wf_error error = WF_OK;
    for (int i = 1; i < crew->worker_count && !error; i++)
        if (crew->worker[i]->partial.count > 0)
            error = wf_accumulator_merge(first->handle, &first->partial, &crew->worker[i]->partial);
    return error ? error : wf_accumulator_merge(first->handle, into, &first->partial);
}

static wf_error check_accumulator(wf_handle *handle, const wf_accumulator *accumulator,
                                  const wf_reader *reader) {
    wf_type type = wf_accumulator_type(accumulator);
    if (type == reader->type) return WF_OK;
    return wf_fail(handle, WF_ERROR_ARGUMENT, "%s: its elements are %s, but the accumulator's are %s",
                   wf_source_name(reader->paths[0]), wf_type_name(reader->type), wf_type_name(type));
}

wf_error wf_accumulator_add_reader(wf_handle *handle, wf_accumulator *accumulator, wf_reader *reader,
                                   int32_t threads) {
    if (!handle || !accumulator || !reader)
        return wf_fail(handle, WF_ERROR_ARGUMENT,
                       "wf_accumulator_add_reader needs a handle, an accumulator and a reader");
    wf_error error = check_accumulator(handle, accumulator, reader);
    /* What would be refused of every piece is refused of nothing, too. */
    wf_array nothing = wf_array_vector(NULL, reader->type, 0);
    if (!error) error = wf_accumulator_add(handle, accumulator, &nothing, threads);
    if (error) return error;
    struct crew crew;
    crew_open(&crew, handle, reader, threads, accumulator);
    error = add_files(&crew, accumulator);
    if (!error || error == WF_ERROR_NAN) {
        wf_error merge_error = merge(&crew, accumulator);
        if (!error) error = merge_error;
    }
    crew_close(&crew);
    return error;
}

/* ---- pairs --------------------------------------------------------------------------------------- */

static void report_pair_progress(const wf_reader *a, const wf_reader *b) {
    if (!a->options.progress) return;
    int64_t done = a->nbytes_done + b->nbytes_done, total = a->nbytes_total + b->nbytes_total;
    if (a->format) done += a->source.nbytes_read;
    if (b->format) done += b->source.nbytes_read;
    bool is_total_known = a->nbytes_total >= 0 && b->nbytes_total >= 0;
    a->options.progress(a->options.progress_user, done, is_total_known ? total : -1);
}

static wf_error add_pairs(wf_handle *handle, wf_accumulator *accumulator, wf_reader *a, wf_reader *b,
                          int32_t threads) {
    for (int64_t done = 0;;) {
        wf_error error = wf_reader_need_elements(handle, a);
        if (!error) error = wf_reader_need_elements(handle, b);
        if (error) return error;
        int64_t a_left = wf_reader_available(a), b_left = wf_reader_available(b);
        int64_t count = a_left < b_left ? a_left : b_left;
        if (a_left != b_left && count == 0)
            return wf_fail(
                handle, WF_ERROR_ARGUMENT,
                "%s and %s: the %s ends after %lld elements, the other has more: pairs need as many of each",
                wf_source_name(a->paths[0]), wf_source_name(b->paths[0]), a_left ? "second" : "first",
                (long long)done);
        if (count == 0) return WF_OK;
        wf_array a_block = wf_reader_take_block(a, count), b_block = wf_reader_take_block(b, count);
        error = wf_accumulator_add_pair(handle, accumulator, &a_block, &b_block, threads);
        if (error) return error;
        done += count;
        report_pair_progress(a, b);
    }
}

wf_error wf_accumulator_add_reader_pair(wf_handle *handle, wf_accumulator *accumulator, wf_reader *a,
                                        wf_reader *b, int32_t threads) {
    if (!handle || !accumulator || !a || !b || a == b)
        return wf_fail(handle, WF_ERROR_ARGUMENT,
                       "wf_accumulator_add_reader_pair needs a handle, an accumulator and two readers");
    wf_error error = check_accumulator(handle, accumulator, a);
    if (!error) error = check_accumulator(handle, accumulator, b);
    return error ? error : add_pairs(handle, accumulator, a, b, threads);
}
