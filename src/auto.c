/* The device auto: data in host memory on the CPU, where one pass over it is fastest; data in a GPU's memory on
 * that GPU, which is opened when it is first needed.  The device cuda:all is the same, but that it opens all GPUs at once
 * and spreads host arrays over them. */
#include "core/array.h"
#include "core/device_words.h"
#include "core/handle.h"
#include "core/small_sum.h"
#include "core/spread.h"
#include "cuda/gpu.h"

#include <stdio.h>
#include <stdlib.h>

struct gpu {
    wf_handle handle;
    int ordinal;
    void *stream; /* that the handle was given last */
    struct gpu *next;
};

struct devices {
    wf_handle cpu;
    struct gpu *gpus;
    void *stream; /* of whichever GPU is used next */
    /* For cuda:all; else NULL. */
    struct wf_spread *spread;
    wf_handle **all; /* the GPUs' handles, by their ordinals */
};

enum { HOST = -1 }; /* where there is a GPU's ordinal otherwise */

/* ---- where data lies ----------------------------------------------------------------------------- */

static wf_error find_place(wf_handle *handle, const void *pointer, int *place) {
    enum { INVALID_VALUE = 1, INVALID_CONTEXT = 201 }; /* as the driver calls memory that it did not allocate */
    unsigned type = WF_CUDA_MEMORY_HOST;
    *place = HOST;
    const struct wf_driver *driver = wf_driver_is_loaded() ? wf_driver_open(NULL, 0) : NULL;
    if (!driver) return WF_OK;
    wf_cuda_pointer address = (uintptr_t)pointer;
    wf_cuda_result result = driver->PointerGetAttribute(&type, WF_CUDA_POINTER_MEMORY_TYPE, address);
    if (result == INVALID_VALUE || result == INVALID_CONTEXT) return WF_OK;
    if (!result && type == WF_CUDA_MEMORY_DEVICE)
        result = driver->PointerGetAttribute(place, WF_CUDA_POINTER_ORDINAL, address);
    return wf_driver_check(handle, result, "cuPointerGetAttribute", "%p", pointer);
}

static void name_place(int place, char name[16]) {
    if (place == HOST)
        snprintf(name, 16, "host memory");
    else
        snprintf(name, 16, "cuda:%d", place);
}

static wf_error check_same(wf_handle *handle, const char *what, int place, const char *other, int other_place) {
    char name[16], other_name[16];
    if (place == other_place) return WF_OK;
    name_place(place, name);
    name_place(other_place, other_name);
    return wf_fail(handle, WF_ERROR_ARGUMENT, "%s is in %s, but %s is in %s: both must be in the same memory", what,
                   name, other, other_name);
}

static bool has_elements(const wf_array *array) {
    for (int d = 0; d < wf_array_ndim(array); d++)
        if (!wf_array_length(array, d)) return false;
    return true;
}

/* ---- the devices --------------------------------------------------------------------------------- */

static wf_error open_gpu(wf_handle *handle, int ordinal) {
    struct devices *devices = handle->device_state;
    char name[16];
    struct gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu) return wf_fail(handle, WF_ERROR_MEMORY, "out of memory for cuda:%d", ordinal);
    name_place(ordinal, name);
    wf_error error = wf_handle_open(&gpu->handle, &wf_device_cuda, name);
    if (error) {
        wf_fail(handle, error, "%s: %s", name, gpu->handle.message);
        free(gpu);
        return error;
    }
    gpu->ordinal = ordinal;
    gpu->next = devices->gpus;
    devices->gpus = gpu;
    return WF_OK;
}

static struct gpu *find_gpu(const struct devices *devices, int ordinal) {
    struct gpu *gpu = devices->gpus;
    while (gpu && gpu->ordinal != ordinal) gpu = gpu->next;
    return gpu;
}

/* Opens the device of a place if it is not open, and sets the stream that was set last. */
static wf_error ensure_device(wf_handle *handle, int place, wf_handle **device) {
    struct devices *devices = handle->device_state;
    *device = &devices->cpu;
    if (place == HOST) return WF_OK;
    wf_error error = find_gpu(devices, place) ? WF_OK : open_gpu(handle, place);
    if (error) return error;
    struct gpu *gpu = find_gpu(devices, place);
    *device = &gpu->handle;
    if (gpu->stream == devices->stream) return WF_OK;
    error = gpu->handle.device->set_stream(&gpu->handle, devices->stream);
    if (error) return wf_fail(handle, error, "%s", gpu->handle.message);
    gpu->stream = devices->stream;
    return WF_OK;
}

/* ---- what a device does -------------------------------------------------------------------------- */

/* A product's tree is the CPU's: see cuda/device.c. */
static bool is_spread(const wf_handle *handle, const struct wf_accumulator *into) {
    const struct devices *devices = handle->device_state;
    return devices->spread && !into->tree;
}

static wf_error add_to_all(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b) {
    const struct devices *devices = handle->device_state;
    for (const struct gpu *gpu = devices->gpus; gpu; gpu = gpu->next) devices->all[gpu->ordinal]->threads = handle->threads;
    return wf_spread_add(handle, devices->spread, devices->all, into, a, b);
}

static wf_error auto_add(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b) {
    int place, place_of_b = HOST;
    wf_handle *device = NULL;
    wf_error error = find_place(handle, a->data, &place);
    if (!error && b) error = find_place(handle, b->data, &place_of_b);
    if (!error && b) error = check_same(handle, "one array", place, "the other", place_of_b);
    if (!error && place == HOST && is_spread(handle, into)) return add_to_all(handle, into, a, b);
    if (!error) error = ensure_device(handle, place, &device);
    if (error) return error;
    device->threads = handle->threads;
    error = device->device->add(device, into, a, b);
    return error ? wf_fail(handle, error, "%s", device->message) : WF_OK;
}

/* Without a driver in the process all memory is the host's. */
static bool auto_reduce_few(const wf_reduction *reduction, const wf_array *array, wf_value *value) {
    return !wf_driver_is_loaded() && wf_small_value(reduction, array, value);
}

static wf_error check_place(wf_handle *handle, const wf_array *array, int place_of_result) {
    int place;
    if (!array || !has_elements(array)) return WF_OK;
    wf_error error = find_place(handle, array->data, &place);
    return error ? error : check_same(handle, "the array", place, "the result", place_of_result);
}

static wf_error auto_find_output(wf_handle *handle, const wf_output *output, bool *is_on_device) {
    int place;
    wf_error error = find_place(handle, output->data, &place);
    *is_on_device = place != HOST;
    return error;
}

static wf_error auto_reduce_on_device(wf_handle *handle, const struct wf_accumulator *empty, const wf_array *a,
                                      const wf_array *b, const wf_value *fill, const wf_output *output) {
    int place;
    wf_handle *device = NULL;
    wf_error error = find_place(handle, output->data, &place);
    if (!error) error = check_place(handle, a, place);
    if (!error) error = check_place(handle, b, place);
    if (!error) error = ensure_device(handle, place, &device);
    if (error) return error;
    error = device->device->reduce_on_device(device, empty, a, b, fill, output);
    return error ? wf_fail(handle, error, "%s", device->message) : WF_OK;
}

/* Where the array is; without elements, where its results go, or, of an accumulator, its labels are. */
static wf_error find_place_of_groups(wf_handle *handle, const struct wf_grouped *grouped, int *place) {
    const wf_array *labels = grouped->groups->labels;
    const void *results = grouped->into && labels ? labels->data : grouped->output->data;
    return find_place(handle, has_elements(grouped->a) ? grouped->a->data : results, place);
}

/* What the CPU reduces must all be in its memory. */
static wf_error check_host_groups(wf_handle *handle, const struct wf_grouped *grouped) {
    int place_of_results;
    wf_error error = check_place(handle, grouped->groups->labels, HOST);
    if (!error) error = find_place(handle, grouped->output->data, &place_of_results);
    return error ? error : check_same(handle, "the array", HOST, "the result", place_of_results);
}

/* The device that has it all.  Without elements it may be the one that has the results. */
static wf_error find_device_of_groups(wf_handle *handle, const struct wf_grouped *grouped, wf_handle **device) {
    int place;
    wf_error error = find_place_of_groups(handle, grouped, &place);
    if (!error) error = check_place(handle, grouped->b, place);
    if (!error && place == HOST) error = check_host_groups(handle, grouped);
    if (!error) error = ensure_device(handle, place, device);
    if (!error) (*device)->threads = handle->threads;
    return error;
}

static wf_error auto_reduce_groups(wf_handle *handle, const struct wf_grouped *grouped) {
    wf_handle *device = NULL;
    wf_error error = find_device_of_groups(handle, grouped, &device);
    if (error) return error;
    error = device->device->reduce_groups(device, grouped);
    return error ? wf_fail(handle, error, "%s", device->message) : WF_OK;
}

static wf_error auto_add_groups(wf_handle *handle, const struct wf_grouped *grouped) {
    wf_handle *device = NULL;
    wf_error error = find_device_of_groups(handle, grouped, &device);
    if (error) return error;
    error = device->device->add_groups(device, grouped);
    return error ? wf_fail(handle, error, "%s", device->message) : WF_OK;
}

static wf_error auto_send_results(wf_handle *handle, const wf_output *output, const void *results, wf_error status) {
    int place;
    wf_handle *device = NULL;
    wf_error error = find_place(handle, output->data, &place);
    if (!error) error = ensure_device(handle, place, &device);
    if (error) return error;
    error = device->device->send_results(device, output, results, status);
    return error ? wf_fail(handle, error, "%s", device->message) : WF_OK;
}

/* Where the words are. */
static wf_error auto_pass_words(wf_handle *handle, const struct wf_words_task *task) {
    int place;
    wf_handle *device = NULL;
    const wf_device_words *words = &task->words;
    wf_error error = find_place(handle, words->added ? words->added : words->indices, &place);
    if (!error && place == HOST)
        error = wf_fail(handle, WF_ERROR_ARGUMENT, "the words are in host memory: use wf_accumulator_words");
    if (!error) error = ensure_device(handle, place, &device);
    if (error) return error;
    error = device->device->pass_words(device, task);
    return error ? wf_fail(handle, error, "%s", device->message) : WF_OK;
}

static wf_error auto_set_stream(wf_handle *handle, void *stream) {
    struct devices *devices = handle->device_state;
    devices->stream = stream;
    return WF_OK;
}

static void auto_close(wf_handle *handle) {
    struct devices *devices = handle->device_state;
    while (devices->gpus) {
        struct gpu *gpu = devices->gpus;
        devices->gpus = gpu->next;
        gpu->handle.device->close(&gpu->handle);
        free(gpu);
    }
    devices->cpu.device->close(&devices->cpu);
    wf_spread_destroy(devices->spread);
    free(devices->all);
    free(devices);
    handle->device_state = NULL;
}

static wf_error open_devices(wf_handle *handle) {
    struct devices *devices = calloc(1, sizeof *devices);
    if (!devices) return WF_ERROR_MEMORY;
    wf_error error = wf_handle_open(&devices->cpu, &wf_device_cpu, wf_device_cpu.name);
    if (error) {
        wf_fail(handle, error, "%s", devices->cpu.message);
        free(devices);
        return error;
    }
    handle->device_state = devices;
    return WF_OK;
}

static wf_error auto_open(wf_handle *handle) {
    wf_error error = open_devices(handle);
    if (error) return error;
    const struct devices *devices = handle->device_state;
    snprintf(handle->device_text, sizeof handle->device_text,
             "auto: data in host memory is reduced on %.120s, "
             "data in GPU memory on that GPU",
             devices->cpu.device_text);
    return WF_OK;
}

/* ---- cuda:all ------------------------------------------------------------------------------------ */

static wf_error open_gpus(wf_handle *handle, int count) {
    struct devices *devices = handle->device_state;
    devices->all = calloc((size_t)count, sizeof *devices->all);
    devices->spread = wf_spread_create(count);
    if (!devices->all || !devices->spread) return wf_fail(handle, WF_ERROR_MEMORY, "out of memory for %d GPUs", count);
    for (int i = 0; i < count; i++) {
        wf_error error = ensure_device(handle, i, &devices->all[i]);
        if (error) return error;
    }
    return WF_OK;
}

/* Without a GPU the first one says why. */
static wf_error all_open(wf_handle *handle) {
    int count = wf_gpu_count();
    wf_error error = open_devices(handle);
    if (error) return error;
    error = open_gpus(handle, count ? count : 1);
    const struct devices *devices = handle->device_state;
    if (error)
        auto_close(handle);
    else
        snprintf(handle->device_text, sizeof handle->device_text, "cuda:all: %d GPU%s, the first %.200s", count,
                 count == 1 ? "" : "s", devices->all[0]->device_text);
    return error;
}

static void all_describe_plan(const wf_handle *handle, char *text, size_t capacity) {
    const struct devices *devices = handle->device_state;
    devices->all[0]->device->describe_plan(devices->all[0], text, capacity);
}

const struct wf_device wf_device_auto = {.name = "auto",
                                         .adds_in_parallel = true,
                                         .open = auto_open,
                                         .close = auto_close,
                                         .add = auto_add,
                                         .reduce_few = auto_reduce_few,
                                         .find_output = auto_find_output,
                                         .reduce_on_device = auto_reduce_on_device,
                                         .reduce_groups = auto_reduce_groups,
                                         .add_groups = auto_add_groups,
                                         .send_results = auto_send_results,
                                         .pass_words = auto_pass_words,
                                         .set_stream = auto_set_stream};

const struct wf_device wf_device_all = {.name = "cuda:all",
                                        .open = all_open,
                                        .close = auto_close,
                                        .add = auto_add,
                                        .find_output = auto_find_output,
                                        .reduce_on_device = auto_reduce_on_device,
                                        .reduce_groups = auto_reduce_groups,
                                        .add_groups = auto_add_groups,
                                        .send_results = auto_send_results,
                                        .pass_words = auto_pass_words,
                                        .set_stream = auto_set_stream,
                                        .describe_plan = all_describe_plan};
