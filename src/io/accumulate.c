/* Adds the remaining elements of readers to an accumulator.
 *
 * Each thread of a pool repeatedly takes the next chunk of the file, reads or parses it, and adds it to an
 * accumulator of its own; at the end these are merged, which changes no bit.  Chunks are numbered as they are
 * taken.  Neither the chunks nor the first error in their order depends on the number of threads. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "io/reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/handle.h"
#include "core/accumulator.h"
#include "core/threads.h"

/* Far more threads than memory bandwidth can use; each one needs about 1 MiB for its chunk and handle. */
enum { THREADS_MAX = 64 };

struct worker {
    wf_handle *handle;
    struct wf_chunk *chunk;
    int64_t number; /* the number of the chunk */
    int64_t index;  /* the index of its first element */
    wf_error error; /* the error that ended this worker; its message is on the handle */
    struct wf_accumulator partial;
    struct wf_tree tree; /* the partial's */
    struct wf_chunk own_chunk;
};

struct reader_pool {
    wf_reader *reader;
    pthread_t caller;
    bool in_order; /* all elements must be added in order, to the first worker's partial */
    int thread_limit;
    int32_t callers_threads;    /* the caller's handle->threads, restored at the end */
    struct wf_threads *threads; /* NULL until a second thread is useful */
    int worker_count;
    struct worker *worker[THREADS_MAX];
    struct worker first; /* uses the caller's handle and the reader's chunk */

    pthread_mutex_t lock; /* protects the members below and the reader's source */
    pthread_cond_t turn_passed;
    bool is_finished; /* no more chunks are taken from this file */
    int64_t next_number;
    int64_t turn;       /* the number of the chunk that may be added next */
    bool has_failed;    /* in order: an earlier chunk failed, so later ones are dropped */
    int64_t next_index; /* the index of the first element not yet counted */
};

/* ---- one thread ---------------------------------------------------------------------------------- */

/* Saturates: the add that would exceed the largest index reports the error. */
static void count_indices(struct reader_pool *pool, int64_t count) {
    if (__builtin_add_overflow(pool->next_index, count, &pool->next_index)) pool->next_index = INT64_MAX;
}

/* Called by one thread at a time, when it takes the chunk or when it is the chunk's turn. */
static void assign_indices(struct reader_pool *pool, struct worker *worker) {
    worker->index = pool->next_index;
    count_indices(pool, worker->chunk->count);
}

/* Takes the next chunk, if there is one.  *error is the error, if any, that follows the chunk's elements. */
static bool take(struct reader_pool *pool, struct worker *worker, wf_error *error) {
    wf_reader *reader = pool->reader;
    pthread_mutex_lock(&pool->lock);
    bool is_taken = !pool->is_finished;
    if (is_taken) {
        worker->number = pool->next_number++;
        *error = reader->format->take(worker->handle, reader, worker->chunk);
        if (reader->format->counts_on_taking) assign_indices(pool, worker);
        pool->is_finished = *error || worker->chunk->is_end;
    }
    pthread_mutex_unlock(&pool->lock);
    return is_taken;
}

static void wait_for_turn(struct reader_pool *pool, const struct worker *worker) {
    pthread_mutex_lock(&pool->lock);
    while (pool->turn != worker->number) pthread_cond_wait(&pool->turn_passed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void pass_turn(struct reader_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->turn++;
    pthread_cond_broadcast(&pool->turn_passed);
    pthread_mutex_unlock(&pool->lock);
}

static wf_error add(struct worker *worker, struct wf_accumulator *partial) {
    if (worker->chunk->count == 0) return WF_OK;
    wf_array elements = wf_array_vector(worker->chunk->data, partial->type, worker->chunk->count);
    partial->end_index = worker->index;
    return wf_accumulator_add(worker->handle, partial, &elements, NULL, NULL);
}

/* Adds the elements of the chunk, then reports the error, if any, that followed them.  Waits for earlier
 * chunks if they determine the index of this one, because take could not count its elements, or if elements
 * must be added in order. */
static wf_error add_chunk(struct reader_pool *pool, struct worker *worker, wf_error read_error) {
    bool is_counted = pool->reader->format->counts_on_taking;
    if (pool->in_order || !is_counted) wait_for_turn(pool, worker);
    if (!is_counted) assign_indices(pool, worker);
    if (!pool->in_order) {
        if (!is_counted) pass_turn(pool);
        wf_error error = add(worker, &worker->partial);
        return error ? error : read_error;
    }
    wf_error error = pool->has_failed ? WF_OK : add(worker, &pool->first.partial);
    if (!error) error = read_error;
    if (error) pool->has_failed = true;
    pass_turn(pool);
    return error;
}

static void report_progress(struct reader_pool *pool) {
    const wf_reader *reader = pool->reader;
    if (!reader->options.progress || !pthread_equal(pool->caller, pthread_self())) return;
    pthread_mutex_lock(&pool->lock);
    int64_t done = reader->nbytes_done + reader->source.nbytes_read;
    pthread_mutex_unlock(&pool->lock);
    reader->options.progress(reader->options.progress_user, done, reader->nbytes_total);
}

static void work(void *context, int i) {
    struct reader_pool *pool = context;
    struct worker *worker = pool->worker[i];
    wf_error error;
    while (!worker->error && take(pool, worker, &error)) {
        wf_error finish_error = pool->reader->format->finish(worker->handle, pool->reader, worker->chunk);
        worker->error = add_chunk(pool, worker, error ? error : finish_error);
        report_progress(pool);
    }
    if (!worker->error) return;
    pthread_mutex_lock(&pool->lock);
    pool->is_finished = true;
    pthread_mutex_unlock(&pool->lock);
}

/* ---- the pool ------------------------------------------------------------------------------------ */

static void worker_destroy(struct worker *worker) {
    wf_handle_destroy(worker->handle);
    wf_chunk_destroy(&worker->own_chunk);
    free(worker);
}

static struct worker *worker_create(const struct wf_accumulator *into) {
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker) return NULL;
    worker->chunk = &worker->own_chunk;
    if (wf_handle_create("cpu", &worker->handle) || wf_chunk_create(NULL, worker->chunk)) {
        worker_destroy(worker);
        return NULL;
    }
    worker->handle->threads = 1;
    wf_accumulator_init_like(&worker->partial, into, into->end_index, &worker->tree);
    return worker;
}

/* Creates workers until there are count, or memory runs out.  Returns the number available, at most count. */
static int ensure_workers(struct reader_pool *pool, int count, const struct wf_accumulator *into) {
    if (count > 1 && !pool->threads && !(pool->threads = wf_threads_create())) return 1;
    while (pool->worker_count < count && (pool->worker[pool->worker_count] = worker_create(into)))
        pool->worker_count++;
    return count < pool->worker_count ? count : pool->worker_count;
}

static int count_processors(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
}

static void pool_open(struct reader_pool *pool, wf_handle *handle, wf_reader *reader,
                      const struct wf_accumulator *into) {
    pool->reader = reader;
    pool->caller = pthread_self();
    pool->in_order = into->tree;
    pool->threads = NULL;
    pool->callers_threads = handle->threads;
    pool->thread_limit = handle->threads ? handle->threads : count_processors();
    if (!handle->device->adds_in_parallel) pool->thread_limit = 1;
    if (pool->thread_limit > THREADS_MAX) pool->thread_limit = THREADS_MAX;
    pool->worker_count = 1;
    pool->worker[0] = &pool->first;
    pool->first.handle = handle;
    handle->threads = 1; /* each worker adds its chunks on its own thread alone */
    pool->first.chunk = &reader->chunk;
    pool->first.error = WF_OK;
    wf_accumulator_init_like(&pool->first.partial, into, into->end_index, &pool->first.tree);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->turn_passed, NULL);
    pool->next_index = into->end_index;
}

static void pool_close(struct reader_pool *pool) {
    pool->first.handle->threads = pool->callers_threads;
    wf_threads_destroy(pool->threads);
    while (pool->worker_count > 1) worker_destroy(pool->worker[--pool->worker_count]);
    pthread_cond_destroy(&pool->turn_passed);
    pthread_mutex_destroy(&pool->lock);
}

/* The number of threads that the open file keeps busy. */
static int useful_threads(const struct reader_pool *pool) {
    wf_reader *reader = pool->reader;
    struct wf_source *source = &reader->source;
    int64_t limit = pool->thread_limit, left = source->nbytes_total - wf_source_offset(source);
    if (source->nbytes_total < 0) {
        /* A pipe is read by one thread at a time, so a second one can only add meanwhile.  An error is
         * ignored here: reading reports it again, in order. */
        wf_source_fill(NULL, source, WF_SOURCE_NBYTES);
        if (reader->format->counts_on_taking && limit > 2) limit = 2;
        left = source->is_at_end ? 0 : INT64_MAX;
    }
    int64_t useful = left / reader->format->thread_nbytes;
    return useful < 1 ? 1 : useful < limit ? (int)useful : (int)limit;
}

/* The error that comes first in the file, or WF_OK; puts its message on the first worker's handle. */
static wf_error first_error(const struct reader_pool *pool) {
    const struct worker *first = NULL;
    for (int i = 0; i < pool->worker_count; i++) {
        const struct worker *worker = pool->worker[i];
        if (worker->error && (!first || worker->number < first->number)) first = worker;
    }
    if (!first) return WF_OK;
    if (first == &pool->first) return first->error;
    return wf_fail(pool->first.handle, first->error, "%s", wf_handle_message(first->handle));
}

static wf_error add_file(struct reader_pool *pool, const struct wf_accumulator *into) {
    int count = ensure_workers(pool, useful_threads(pool), into);
    pool->is_finished = pool->has_failed = false;
    pool->next_number = pool->turn = 0;
    if (count > 1)
        wf_threads_run(pool->threads, count, work, pool);
    else
        work(pool, 0);
    wf_reader_close_file(pool->reader);
    return first_error(pool);
}

static wf_error add_files(struct reader_pool *pool, const struct wf_accumulator *into) {
    wf_reader *reader = pool->reader;
    if (wf_reader_available(reader) > 0) {
        wf_array block = wf_reader_take_block(reader, INT64_MAX);
        wf_error error = wf_accumulator_add(pool->first.handle, &pool->first.partial, &block, NULL, NULL);
        if (error) return error;
        count_indices(pool, block.count);
    }
    for (;;) {
        wf_error error = wf_reader_ensure_file(pool->first.handle, reader);
        if (error || !reader->format) return error;
        error = reader->error = add_file(pool, into);
        if (error) return error;
    }
}

static wf_error merge(struct reader_pool *pool, wf_accumulator *into) {
    struct worker *first = &pool->first;
    wf_error error = WF_OK;
    for (int i = 1; i < pool->worker_count && !error; i++)
        if (pool->worker[i]->partial.count > 0)
            error = wf_accumulator_merge(first->handle, &first->partial, &pool->worker[i]->partial);
    return error ? error : wf_accumulator_merge(first->handle, into, &first->partial);
}

static wf_error check_element_type(wf_handle *handle, const wf_accumulator *accumulator,
                                   const wf_reader *reader) {
    wf_type type = wf_accumulator_type(accumulator);
    if (type == reader->type) return WF_OK;
    return wf_fail(handle, WF_ERROR_ARGUMENT, "%s: contains %s, but the accumulator takes %s",
                   wf_source_name(reader->paths[0]), wf_type_name(reader->type), wf_type_name(type));
}

/* Whether the result depends on the elements' indices in C order.  A product of floats depends on the order
 * too, but is defined by the order of storage. */
static bool needs_c_order(const wf_accumulator *accumulator) {
    return wf_accumulator_is_indexed(accumulator) && !(accumulator->parts & WF_PART_PRODUCT);
}

/* Appends to the message which order the index of the NaN counts in, if that is not C order. */
static void name_order(wf_handle *handle, const wf_reader *reader) {
    char message[WF_MESSAGE_NBYTES];
    if (reader->wants_c_order || !wf_npy_is_transposed(&reader->npy)) return;
    strcpy(message, handle->message);
    wf_fail(handle, WF_ERROR_NAN, "%s, counted in storage order (Fortran)", message);
}

static wf_error add_reader(wf_handle *handle, wf_accumulator *accumulator, wf_reader *reader) {
    wf_error error = check_element_type(handle, accumulator, reader);
    /* An empty array finds errors that every chunk would give, so that they are reported for empty files
     * too. */
    wf_array nothing = wf_array_vector(NULL, reader->type, 0);
    if (!error) error = wf_accumulator_add(handle, accumulator, &nothing, NULL, NULL);
    if (!error) error = wf_reader_set_order(handle, reader, needs_c_order(accumulator));
    if (error) return error;
    struct reader_pool pool;
    pool_open(&pool, handle, reader, accumulator);
    error = add_files(&pool, accumulator);
    if (error == WF_ERROR_NAN) name_order(handle, reader);
    if (!error || error == WF_ERROR_NAN) {
        wf_error merge_error = merge(&pool, accumulator);
        if (!error) error = merge_error;
    }
    pool_close(&pool);
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

static wf_error add_pairs(wf_handle *handle, wf_accumulator *accumulator, wf_reader *a, wf_reader *b) {
    for (int64_t done = 0;;) {
        wf_error error = wf_reader_ensure_elements(handle, a);
        if (!error) error = wf_reader_ensure_elements(handle, b);
        if (error) return error;
        int64_t a_left = wf_reader_available(a), b_left = wf_reader_available(b);
        int64_t count = a_left < b_left ? a_left : b_left;
        if (a_left != b_left && count == 0)
            return wf_fail(
                handle, WF_ERROR_ARGUMENT,
                "%s and %s: the %s ends after %lld elements, but the other has more: pairs need equal lengths",
                wf_source_name(a->paths[0]), wf_source_name(b->paths[0]), a_left ? "second" : "first",
                (long long)done);
        if (count == 0) return WF_OK;
        wf_array a_block = wf_reader_take_block(a, count), b_block = wf_reader_take_block(b, count);
        error = wf_accumulator_add(handle, accumulator, &a_block, &b_block, NULL);
        if (error) return error;
        done += count;
        report_pair_progress(a, b);
    }
}

/* A value skipped in one reader would shift its later elements against the other's. */
static wf_error check_missing(wf_handle *handle, const wf_reader *a, const wf_reader *b) {
    if (!a->options.missing && !b->options.missing) return WF_OK;
    return wf_fail(handle, WF_ERROR_UNSUPPORTED,
                   "missing values of pairs cannot be skipped: later elements would be paired wrongly");
}

/* The header of the reader's array, if that is a single .npy file from which nothing has been taken; or
 * NULL. */
static const struct wf_npy_header *whole_npy(const wf_reader *reader) {
    bool is_whole = reader->path_count == 1 && reader->format == &wf_reader_npy &&
                    reader->count_left == reader->npy.count;
    return is_whole ? &reader->npy : NULL;
}

static bool have_one_shape(const struct wf_npy_header *a, const struct wf_npy_header *b) {
    bool are_alike = a->ndim == b->ndim;
    for (int i = 0; are_alike && i < a->ndim; i++) are_alike = a->shape[i] == b->shape[i];
    return are_alike;
}

/* The shape as NumPy prints it, cut off if it is too long for the buffer. */
struct shape_text {
    char text[96];
};
static struct shape_text shape_text(const struct wf_npy_header *header) {
    struct shape_text shape = {"("};
    size_t length = 1;
    for (int i = 0; i < header->ndim && length < sizeof shape.text - 32; i++)
        length += (size_t)snprintf(shape.text + length, sizeof shape.text - length, "%s%lld", i ? ", " : "",
                                   (long long)header->shape[i]);
    bool is_cut = length >= sizeof shape.text - 32;
    strcpy(shape.text + length, is_cut ? ", ...)" : header->ndim == 1 ? ",)" : ")");
    return shape;
}

/* Elements are paired by index in C order.  Two arrays stored in the same order may be read in that order. */
static wf_error set_pair_order(wf_handle *handle, const wf_accumulator *accumulator, wf_reader *a,
                               wf_reader *b) {
    const struct wf_npy_header *a_npy = whole_npy(a), *b_npy = whole_npy(b);
    if (a_npy && b_npy && !have_one_shape(a_npy, b_npy))
        return wf_fail(handle, WF_ERROR_ARGUMENT,
                       "%s has shape %s, but %s has shape %s: pairs need equal shapes", a->source.name,
                       shape_text(a_npy).text, b->source.name, shape_text(b_npy).text);
    bool are_alike = a_npy && b_npy && wf_npy_is_transposed(a_npy) == wf_npy_is_transposed(b_npy);
    bool needs_order = !are_alike || needs_c_order(accumulator);
    wf_error error = wf_reader_set_order(handle, a, needs_order);
    return error ? error : wf_reader_set_order(handle, b, needs_order);
}

wf_error wf_accumulator_add_reader(wf_handle *handle, wf_accumulator *accumulator, wf_reader *a,
                                   wf_reader *b) {
    if (!handle || !accumulator || !a || a == b)
        return wf_fail(
            handle, WF_ERROR_ARGUMENT,
            "wf_accumulator_add_reader needs a handle, an accumulator and a reader, or two different ones");
    if (accumulator->shaped)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED,
                       "a reader's elements have no groups: add its blocks to an accumulator with a shape one by one");
    if (!b) return add_reader(handle, accumulator, a);
    wf_error error = check_element_type(handle, accumulator, a);
    if (!error) error = check_element_type(handle, accumulator, b);
    if (!error) error = check_missing(handle, a, b);
    if (!error) error = set_pair_order(handle, accumulator, a, b);
    return error ? error : add_pairs(handle, accumulator, a, b);
}
