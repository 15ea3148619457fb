/* An NVIDIA GPU as a device: arrays in its memory are reduced where they lie, others are copied there in chunks. */
#include "core/array.h"
#include "core/environment.h"
#include "cuda/cuda.h"
#include "cuda/groups.h"

#include <stdio.h>
#include <stdlib.h>

/* Blocks of the largest grid. */
static int64_t blocks_max(const struct wf_gpu *gpu) {
    return (int64_t)gpu->multiprocessors * 32;
}

/* ---- arrays in device memory --------------------------------------------------------------------- */

static struct wf_cuda_range range_of(const struct wf_view *view, int64_t index) {
    return (struct wf_cuda_range){(uintptr_t)view->data[0], view->operands == 2 ? (uintptr_t)view->data[1] : 0,
                                  view->count, index};
}

static bool is_tree(const struct wf_accumulator *acc) {
    return acc->tree;
}

static wf_error add_view(wf_handle *handle, struct wf_accumulator *into, const struct wf_view *view, bool is_host) {
    struct wf_cuda_range range = range_of(view, into->end_index);
    if (is_host || !wf_view_is_packed(view)) return wf_cuda_add_staged(handle, into, view, is_host);
    if (is_tree(into)) return wf_cuda_add_product(handle, into, &range);
    wf_error error = wf_cuda_start(handle, into, &range, 0);
    return error ? error : wf_cuda_collect(handle, 0, into);
}

/* A product tree costs too much arithmetic per byte to be worth a copy to the GPU. */
static wf_error add_array(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_view view;
    bool is_host;
    wf_error error = wf_cuda_find_memory(handle, a, b, &is_host);
    if (error) return error;
    if (is_host && is_tree(into)) {
        cuda->cpu.threads = handle->threads;
        return cuda->cpu.device->add(&cuda->cpu, into, a, b);
    }
    wf_view_make(&view, a, b, wf_accumulator_is_indexed(into));
    return add_view(handle, into, &view, is_host);
}

/* On an error the accumulator is as it was. */
static wf_error cuda_add(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b) {
    struct wf_cuda *cuda = handle->device_state;
    struct wf_accumulator *added = &cuda->added;
    wf_accumulator_init_like(added, into, into->end_index, &cuda->added_tree);
    wf_error error = wf_gpu_enter(handle, &cuda->gpu);
    if (!error) {
        error = add_array(handle, added, a, b);
        wf_gpu_leave(&cuda->gpu);
    }
    if (!error) {
        wf_environment callers = wf_environment_enter();
        wf_accumulator_join(into, added);
        wf_environment_leave(callers);
    }
    return error;
}

/* ---- results that stay there --------------------------------------------------------------------- */

static wf_error check_on_device(wf_handle *handle, const wf_array *a, const wf_array *b) {
    bool is_host = false;
    wf_error error = wf_cuda_find_memory(handle, a, b, &is_host);
    if (!error && is_host)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "the array must be in device memory if its result is");
    return error;
}

static int64_t count_of(const wf_array *array) {
    int64_t count = 1;
    for (int d = 0; d < wf_array_ndim(array); d++) count *= wf_array_length(array, d);
    return count;
}

static wf_error reduce_there(wf_handle *handle, const struct wf_accumulator *empty, const wf_array *a,
                             const wf_array *b, const wf_value *fill, const wf_output *output) {
    struct wf_cuda_range range = {.index = empty->first_index};
    int64_t count = count_of(a);
    if (count) {
        struct wf_view view;
        wf_error error = check_on_device(handle, a, b);
        if (error) return error;
        wf_view_make(&view, a, b, wf_accumulator_is_indexed(empty));
        range = range_of(&view, empty->first_index);
    }
    struct wf_cuda_target target = {.value = (uintptr_t)output->data,
                                    .status = (uintptr_t)output->status,
                                    .fill = fill,
                                    .count = count,
                                    .first_index = empty->first_index,
                                    .end_index = empty->first_index + count};
    return wf_cuda_launch(handle, empty, &range, &target);
}

static wf_error cuda_find_output(wf_handle *handle, const wf_output *output, bool *is_on_device) {
    struct wf_cuda *cuda = handle->device_state;
    bool is_host = true;
    wf_error error = wf_gpu_enter(handle, &cuda->gpu);
    if (error) return error;
    error = wf_cuda_is_host(handle, output->data, &is_host);
    wf_gpu_leave(&cuda->gpu);
    *is_on_device = !is_host;
    return error;
}

static wf_error cuda_reduce_on_device(wf_handle *handle, const struct wf_accumulator *empty, const wf_array *a,
                                      const wf_array *b, const wf_value *fill, const wf_output *output) {
    struct wf_cuda *cuda = handle->device_state;
    bool status_is_host = false;
    wf_error error = wf_gpu_enter(handle, &cuda->gpu);
    if (error) return error;
    if (output->status) error = wf_cuda_is_host(handle, output->status, &status_is_host);
    if (!error && status_is_host)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "the status must be in device memory if the result is");
    if (!error) error = reduce_there(handle, empty, a, b, fill, output);
    wf_gpu_leave(&cuda->gpu);
    return error;
}

static void cuda_describe_plan(const wf_handle *handle, char *text, size_t capacity) {
    const struct wf_cuda *cuda = handle->device_state;
    text[0] = '\0';
    if (cuda->group_plan.grid)
        wf_cuda_group_plan_describe(&cuda->group_plan, text, capacity);
    else if (cuda->plan.grid)
        wf_cuda_plan_describe(&cuda->plan, text, capacity);
}

/* The new stream waits for the launches in the old one, which use the same scratch memory.  What is being captured
 * can wait for nothing outside, nor be waited for: a graph does not run at the same time as other work of the handle. */
static wf_error cuda_set_stream(wf_handle *handle, void *stream) {
    struct wf_cuda *cuda = handle->device_state;
    if (stream == cuda->stream) return WF_OK;
    wf_error error = wf_gpu_enter(handle, &cuda->gpu);
    if (error) return error;
    wf_cuda_event done = cuda->slot[0].done;
    if (!wf_cuda_is_capturing(stream) && !wf_cuda_is_capturing(cuda->stream)) {
        error = WF_DRIVER_CALL(handle, EventRecord, (done, cuda->stream), "the stream that was");
        if (!error) error = WF_DRIVER_CALL(handle, StreamWaitEvent, (stream, done, 0), "the new stream");
    }
    if (!error) cuda->stream = stream;
    wf_gpu_leave(&cuda->gpu);
    return error;
}

/* ---- opening ------------------------------------------------------------------------------------- */

static void free_slot(const struct wf_driver *driver, struct wf_cuda_slot *slot) {
    for (int o = 0; o < 2; o++) {
        if (slot->host[o]) driver->MemFreeHost(slot->host[o]);
        if (slot->device[o]) driver->MemFree(slot->device[o]);
    }
    if (slot->done) driver->EventDestroy(slot->done);
}

static void release(struct wf_cuda *cuda) {
    const struct wf_driver *driver = wf_driver_open(NULL, 0);
    wf_kernels_destroy(cuda->kernels);
    for (int i = 0; i < WF_CUDA_SLOTS; i++) free_slot(driver, &cuda->slot[i]);
    if (cuda->published) driver->MemFree(cuda->published);
    if (cuda->groups) driver->MemFree(cuda->groups);
    for (int i = 0; i < cuda->captured_count; i++) driver->MemFree(cuda->captured[i]);
    if (cuda->host_partials) driver->MemFreeHost(cuda->host_partials);
    wf_pages_free(cuda->kept);
    wf_pages_free(cuda->added_kept);
}

/* The caller's stream may be gone by now, so all of the GPU's work is waited for. */
static void cuda_close(wf_handle *handle) {
    struct wf_cuda *cuda = handle->device_state;
    if (!cuda) return;
    if (cuda->cpu.device) cuda->cpu.device->close(&cuda->cpu);
    bool is_entered = !wf_gpu_enter(NULL, &cuda->gpu);
    if (is_entered) wf_driver_open(NULL, 0)->CtxSynchronize();
    release(cuda);
    if (is_entered) wf_gpu_leave(&cuda->gpu);
    wf_gpu_close(&cuda->gpu);
    free(cuda);
    handle->device_state = NULL;
}

enum { PUBLISHED_NBYTES = WF_PUBLISHED_WORDS * WF_PUBLISHED_BLOCKS * 8 };

/* Nothing merged or published yet, no ticket drawn. */
static wf_error clear_scratch(wf_handle *handle, struct wf_cuda *cuda) {
    struct {
        struct wf_partial partial;
        uint64_t ticket;
    } scratch = {.ticket = 0};
    wf_partial_clear_all(&scratch.partial);
    memcpy(cuda->host_partials, &scratch, sizeof scratch); /* pinned */
    wf_error error = WF_DRIVER_CALL(handle, MemcpyHtoDAsync,
                                    (cuda->working, cuda->host_partials, sizeof scratch, cuda->stream), "scratch memory");
    if (!error)
        error = WF_DRIVER_CALL(handle, MemsetD8Async, (cuda->published, 0, PUBLISHED_NBYTES, cuda->stream), "scratch memory");
    if (error) return error;
    return WF_DRIVER_CALL(handle, StreamSynchronize, (cuda->stream), "cuda:%d", cuda->gpu.ordinal);
}

static wf_error make_scratch(wf_handle *handle, struct wf_cuda *cuda) {
    const size_t partial = sizeof(struct wf_partial);
    size_t extrema = (size_t)blocks_max(&cuda->gpu) * sizeof(struct wf_block_extrema);
    size_t nbytes = PUBLISHED_NBYTES + (1 + WF_CUDA_SLOTS) * partial + 64 + extrema;
    wf_error error = WF_DRIVER_CALL(handle, MemAlloc, (&cuda->published, nbytes), "%zu bytes", nbytes);
    if (error) return error;
    cuda->working = cuda->published + PUBLISHED_NBYTES;
    cuda->ticket = cuda->working + partial;
    cuda->partials = cuda->ticket + 64;
    cuda->extrema = cuda->partials + WF_CUDA_SLOTS * partial;
    const size_t pinned = WF_CUDA_SLOTS * partial + sizeof(int[4]);
    error = WF_DRIVER_CALL(handle, MemHostAlloc, ((void **)&cuda->host_partials, pinned, WF_CUDA_HOST_PORTABLE), "%zu bytes",
                           pinned);
    for (int i = 0; i < 4 && !error; i++) {
        cuda->losing[i].outcome = (int *)(cuda->host_partials + WF_CUDA_SLOTS) + i;
        *cuda->losing[i].outcome = WF_LOSING_IS_UNKNOWN;
    }
    for (int i = 0; i < WF_CUDA_SLOTS && !error; i++)
        error = WF_DRIVER_CALL(handle, EventCreate, (&cuda->slot[i].done, WF_CUDA_EVENT_NO_TIMING), "cuda:%d",
                               cuda->gpu.ordinal);
    return error ? error : clear_scratch(handle, cuda);
}

static wf_error open_parts(wf_handle *handle, struct wf_cuda *cuda) {
    wf_error error = wf_handle_open(&cuda->cpu, &wf_device_cpu, wf_device_cpu.name);
    if (error) return wf_fail(handle, error, "%s", cuda->cpu.message);
    error = wf_gpu_enter(handle, &cuda->gpu);
    if (error) return error;
    error = make_scratch(handle, cuda);
    wf_gpu_leave(&cuda->gpu);
    return error;
}

static wf_error cuda_open(wf_handle *handle) {
    struct wf_cuda *cuda = calloc(1, sizeof *cuda);
    if (!cuda) return wf_fail(handle, WF_ERROR_MEMORY, "out of memory for a handle");
    wf_error error = wf_gpu_open(handle, handle->device_name, &cuda->gpu);
    if (error) {
        free(cuda);
        return error;
    }
    handle->device_state = cuda;
    wf_gpu_describe(&cuda->gpu, handle->device_text, sizeof handle->device_text);
    error = open_parts(handle, cuda);
    if (error) cuda_close(handle);
    return error;
}

const struct wf_device wf_device_cuda = {.name = "cuda",
                                         .open = cuda_open,
                                         .close = cuda_close,
                                         .add = cuda_add,
                                         .find_output = cuda_find_output,
                                         .reduce_on_device = cuda_reduce_on_device,
                                         .reduce_groups = wf_cuda_reduce_groups,
                                         .add_groups = wf_cuda_add_groups,
                                         .send_results = wf_cuda_send_results,
                                         .pass_words = wf_cuda_pass_words,
                                         .set_stream = cuda_set_stream,
                                         .describe_plan = cuda_describe_plan};
