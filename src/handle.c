/* The public functions about handles and devices. */
#include "core/handle.h"
#include "cuda/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct wf_device *find_device(const char *name) {
    if (!strcmp(name, wf_device_auto.name)) return &wf_device_auto;
    if (!strcmp(name, wf_device_cpu.name)) return &wf_device_cpu;
    if (!strcmp(name, wf_device_all.name)) return &wf_device_all;
    return wf_gpu_ordinal(name) >= 0 ? &wf_device_cuda : NULL;
}

/* NULL: "auto". */
static wf_error open_named(wf_handle *handle, const char *name) {
    if (!name) name = wf_device_auto.name;
    const struct wf_device *device = find_device(name);
    if (device) return wf_handle_open(handle, device, name);
    *handle = (wf_handle){.device = NULL};
    return wf_fail(handle, WF_ERROR_DEVICE, "unknown device '%.64s': use auto, cpu, cuda, cuda:N or cuda:all", name);
}

wf_error wf_handle_create(const char *device, wf_handle **handle) {
    if (!handle) return WF_ERROR_ARGUMENT;
    *handle = NULL;
    wf_handle *made = calloc(1, sizeof *made);
    if (!made) return WF_ERROR_MEMORY;
    wf_error error = open_named(made, device);
    if (error) {
        free(made);
        return error;
    }
    *handle = made;
    return WF_OK;
}

void wf_handle_destroy(wf_handle *handle) {
    if (!handle) return;
    handle->device->close(handle);
    free(handle);
}

wf_error wf_handle_set_threads(wf_handle *handle, int32_t threads) {
    if (!handle) return WF_ERROR_ARGUMENT;
    if (threads < 0) return wf_fail(handle, WF_ERROR_ARGUMENT, "threads must be 0 or more, not %d", (int)threads);
    handle->threads = threads;
    return WF_OK;
}

const char *wf_handle_message(const wf_handle *handle) {
    return handle ? handle->message : "";
}

wf_error wf_handle_fail(wf_handle *handle, wf_error error, const char *message) {
    return wf_fail(handle, error, "%s", message ? message : wf_error_text(error));
}

const char *wf_handle_device(const wf_handle *handle) {
    return handle ? handle->device_text : "";
}

const char *wf_handle_plan(wf_handle *handle) {
    if (!handle || !handle->device->describe_plan) return "";
    handle->device->describe_plan(handle, handle->plan_text, sizeof handle->plan_text);
    return handle->plan_text;
}

wf_error wf_handle_set_stream(wf_handle *handle, void *stream) {
    if (!handle) return WF_ERROR_ARGUMENT;
    if (!handle->device->set_stream)
        return wf_fail(handle, WF_ERROR_UNSUPPORTED, "%s has no streams: use a handle of a GPU, or auto",
                       handle->device_name);
    return handle->device->set_stream(handle, stream);
}

/* ---- devices ---- */

wf_error wf_device_describe(const char *device, char *text, size_t capacity) {
    wf_handle handle;
    wf_error error = open_named(&handle, device);
    if (text && capacity) snprintf(text, capacity, "%s", error ? handle.message : handle.device_text);
    if (!error) handle.device->close(&handle);
    return error;
}
