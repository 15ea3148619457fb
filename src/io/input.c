#define _GNU_SOURCE /* sched_getaffinity */
#include "io/input.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/handle.h"

enum { UNIT_COUNT = 1 << 16 /* elements that a thread takes at once */, COPY_COUNT = 512 };

static int count_threads(const wf_handle *handle, int64_t nbytes) {
    cpu_set_t allowed;
    int64_t limit = handle->threads, useful = nbytes / WF_ELEMENTS_THREAD_NBYTES;
    if (!limit) limit = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
    if (limit > WF_INPUT_THREADS_MAX) limit = WF_INPUT_THREADS_MAX;
    return useful < 1 ? 1 : (int)(useful < limit ? useful : limit);
}

/* Fewer threads, if there is no memory for more. */
static void start_threads(struct wf_input *input, int64_t nbytes) {
    input->thread_count = count_threads(input->handle, nbytes);
    if (input->thread_count > 1) input->threads = wf_threads_create();
    if (!input->threads) input->thread_count = 1;
}

static void run_threads(struct wf_input *input, void (*work)(void *context, int i), void *context) {
    if (input->threads)
        wf_threads_run(input->threads, input->thread_count, work, context);
    else
        work(context, 0);
}

void wf_input_run(wf_handle *handle, int64_t nbytes, void (*work)(void *context, int i), void *context) {
    struct wf_input input = {.handle = handle};
    start_threads(&input, nbytes);
    run_threads(&input, work, context);
    wf_input_close(&input);
}

void wf_input_close(struct wf_input *input) {
    wf_threads_destroy(input->threads);
    free(input->held);
}

/* ---- an array ---- */

wf_error wf_input_check_memory(wf_handle *handle, const wf_array *array) {
    bool is_on_device = false;
    const wf_output place = {.data = (void *)array->data, .type = array->type};
    wf_error error = WF_OK;
    if (handle->device->find_output && array->data) error = handle->device->find_output(handle, &place, &is_on_device);
    if (error || !is_on_device) return error;
    return wf_fail(handle, WF_ERROR_UNSUPPORTED, "the array is in GPU memory, which is not sorted yet: copy it to host memory");
}

static void view_array(struct wf_input *input, const wf_array *array) {
    int64_t count = 1;
    for (int d = 0; d < wf_array_ndim(array); d++) count *= wf_array_length(array, d);
    input->count = count;
    input->array = *array;
    if (count) wf_view_make(&input->view, array, NULL, false);
}

wf_error wf_input_of_array(wf_handle *handle, const wf_array *array, struct wf_input *input) {
    *input = (struct wf_input){.handle = handle, .type = array->type};
    wf_error error = wf_input_check_memory(handle, array);
    if (error) return error;
    view_array(input, array);
    start_threads(input, input->count * (int64_t)wf_type_nbytes(array->type));
    return WF_OK;
}

struct array_visit {
    struct wf_input *input;
    wf_visit *visit;
    void *context;
    atomic_llong next; /* unit */
};

static void visit_blocks(void *context, int thread) {
    struct array_visit *pass = context;
    const struct wf_input *input = pass->input;
    unsigned char copy[8 * COPY_COUNT], *buffer[2] = {copy, copy};
    for (;;) {
        int64_t first = atomic_fetch_add(&pass->next, 1) * UNIT_COUNT, end = first + UNIT_COUNT;
        if (first >= input->count) return;
        if (end > input->count) end = input->count;
        while (first < end) {
            const unsigned char *data[2];
            int64_t count = wf_view_block(&input->view, first, end - first, COPY_COUNT, buffer, data, wf_copy_strided);
            pass->visit(pass->context, thread, data[0], count);
            first += count;
        }
    }
}

/* ---- a reader ---- */

static wf_error grow(struct wf_input *input, int64_t needed, int64_t *capacity) {
    if (needed <= *capacity) return WF_OK;
    int64_t larger = 2 * needed < WF_HELD_NBYTES_MAX ? 2 * needed : WF_HELD_NBYTES_MAX;
    if (needed > WF_HELD_NBYTES_MAX)
        return wf_fail(input->handle, WF_ERROR_RANGE,
                       "%s: more than %lld bytes of elements, which are read several times: save them to a file and give "
                       "its name",
                       input->reader->source.name, (long long)WF_HELD_NBYTES_MAX);
    void *held = realloc(input->held, (size_t)larger);
    if (!held) return wf_fail(input->handle, WF_ERROR_MEMORY, "out of memory for %lld bytes of elements", (long long)larger);
    input->held = held;
    *capacity = larger;
    return WF_OK;
}

static void report_progress(const wf_reader *reader) {
    int64_t done = reader->nbytes_done + (reader->format ? reader->source.nbytes_read : 0);
    if (reader->options.progress) reader->options.progress(reader->options.progress_user, done, reader->nbytes_total);
}

/* Reads all elements into memory: they are an array from then on. */
static wf_error hold_elements(struct wf_input *input) {
    int64_t nbytes = 0, capacity = 0, size = (int64_t)wf_type_nbytes(input->type);
    wf_array block = {.count = 1};
    wf_error error = WF_OK;
    while (!error && block.count) {
        error = wf_reader_next(input->handle, input->reader, INT64_MAX, &block);
        if (!error) error = grow(input, nbytes + block.count * size, &capacity);
        if (error || !block.count) continue;
        memcpy((char *)input->held + nbytes, block.data, (size_t)(block.count * size));
        nbytes += block.count * size;
        report_progress(input->reader);
    }
    if (error) return error;
    const wf_array all = wf_array_vector(input->held, input->type, nbytes / size);
    input->reader = NULL;
    view_array(input, &all);
    return WF_OK;
}

/* Whether all files can be read again from their beginning. */
static bool is_repeatable(const wf_reader *reader) {
    bool is_repeatable = true;
    for (size_t i = 0; i < reader->path_count; i++)
        is_repeatable &= wf_source_is_repeatable(reader->paths[i]);
    return is_repeatable;
}

wf_error wf_input_of_reader(wf_handle *handle, wf_reader *reader, struct wf_input *input) {
    *input = (struct wf_input){.handle = handle, .type = reader->type, .count = -1, .reader = reader};
    if (reader->is_selected)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s: a range of a file cannot be sorted: read all of it", reader->source.name);
    bool is_held = !is_repeatable(reader);
    wf_error error = is_held ? hold_elements(input) : WF_OK;
    if (error) {
        free(input->held);
        return error;
    }
    int64_t nbytes = is_held ? input->count * (int64_t)wf_type_nbytes(input->type) : reader->nbytes_total;
    start_threads(input, nbytes < 0 ? INT64_MAX : nbytes); /* of compressed files: not known */
    return WF_OK;
}

/* A thread that reads.  Its handle only takes messages. */
struct file_thread {
    struct wf_handle *handle;
    struct wf_chunk *chunk;
    wf_error error;
    int64_t number; /* of the chunk that failed */
    struct wf_handle own_handle;
    struct wf_chunk own_chunk;
};

struct file_visit {
    wf_reader *reader;
    wf_visit *visit;
    void *context;
    pthread_t caller;
    struct file_thread *thread;
    int thread_count;
    pthread_mutex_t lock; /* protects the members below and the reader's source */
    bool is_finished;
    int64_t next_number;
};

static bool take_chunk(struct file_visit *pass, struct file_thread *thread, wf_error *error) {
    pthread_mutex_lock(&pass->lock);
    bool is_taken = !pass->is_finished;
    if (is_taken) {
        thread->number = pass->next_number++;
        *error = pass->reader->format->take(thread->handle, pass->reader, thread->chunk);
        pass->is_finished = *error || thread->chunk->is_end;
        if (pthread_equal(pass->caller, pthread_self())) report_progress(pass->reader);
    }
    pthread_mutex_unlock(&pass->lock);
    return is_taken;
}

static void visit_chunks(void *context, int i) {
    struct file_visit *pass = context;
    struct file_thread *thread = &pass->thread[i];
    wf_error error;
    while (!thread->error && take_chunk(pass, thread, &error)) {
        wf_error finish_error = pass->reader->format->finish(thread->handle, pass->reader, thread->chunk);
        thread->error = error ? error : finish_error;
        if (!thread->error && thread->chunk->count) pass->visit(pass->context, i, thread->chunk->data, thread->chunk->count);
    }
    if (!thread->error) return;
    pthread_mutex_lock(&pass->lock);
    pass->is_finished = true;
    pthread_mutex_unlock(&pass->lock);
}

/* The error that comes first in the file. */
static wf_error first_error(wf_handle *handle, const struct file_visit *pass) {
    const struct file_thread *first = NULL;
    for (int i = 0; i < pass->thread_count; i++) {
        const struct file_thread *thread = &pass->thread[i];
        if (thread->error && (!first || thread->number < first->number)) first = thread;
    }
    return !first ? WF_OK : wf_fail(handle, first->error, "%s", first->handle->message);
}

static wf_error visit_files(struct wf_input *input, struct file_visit *pass) {
    wf_error error = wf_reader_rewind(input->handle, pass->reader);
    while (!error && pass->reader->format) {
        pass->is_finished = false;
        pass->next_number = 0;
        run_threads(input, visit_chunks, pass);
        wf_reader_close_file(pass->reader);
        error = pass->reader->error = first_error(input->handle, pass);
        if (!error) error = wf_reader_ensure_file(input->handle, pass->reader);
    }
    return error;
}

static void destroy_threads(struct file_thread *threads, int count) {
    for (int i = 0; i < count; i++) wf_chunk_destroy(&threads[i].own_chunk);
    free(threads);
}

/* The first thread uses the reader's chunk. */
static struct file_thread *create_threads(wf_handle *handle, wf_reader *reader, int count) {
    struct file_thread *threads = calloc((size_t)count, sizeof *threads);
    wf_error error = threads ? WF_OK : wf_fail(handle, WF_ERROR_MEMORY, "out of memory for %d threads", count);
    for (int i = 0; i < count && !error; i++) {
        threads[i].handle = &threads[i].own_handle;
        threads[i].chunk = i ? &threads[i].own_chunk : &reader->chunk;
        if (i) error = wf_chunk_create(handle, threads[i].chunk);
    }
    if (!error) return threads;
    if (threads) destroy_threads(threads, count);
    return NULL;
}

static wf_error visit_reader(struct wf_input *input, wf_visit *visit, void *context) {
    struct file_visit pass = {input->reader, visit, context, pthread_self(), NULL, input->thread_count,
                              PTHREAD_MUTEX_INITIALIZER, false, 0};
    pass.thread = create_threads(input->handle, input->reader, pass.thread_count);
    if (!pass.thread) return WF_ERROR_MEMORY;
    wf_error error = visit_files(input, &pass);
    destroy_threads(pass.thread, pass.thread_count);
    return error;
}

wf_error wf_input_visit(struct wf_input *input, wf_visit *visit, void *context) {
    if (input->reader) return visit_reader(input, visit, context);
    struct array_visit pass = {input, visit, context, 0};
    run_threads(input, visit_blocks, &pass);
    return WF_OK;
}
