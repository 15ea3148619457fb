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

wf_error wf_handle_open(wf_handle *handle, const char *device) {
    if (!device) device = wf_device_auto.name;
    *handle = (wf_handle){.device = find_device(device)};
    if (!handle->device)
        return wf_fail(handle, WF_ERROR_DEVICE, "unknown device '%.64s': use auto, cpu, cuda, cuda:N or cuda:all", device);
    snprintf(handle->device_name, sizeof handle->device_name, "%s", device);
    wf_error error = handle->device->open(handle);
    if (error && !handle->message[0]) wf_fail(handle, error, "%s", wf_error_text(error));
    return error;
}

wf_error wf_handle_create(const char *device, wf_handle **handle) {
    if (!handle) return WF_ERROR_ARGUMENT;
    *handle = NULL;
    wf_handle *made = calloc(1, sizeof *made);
    if (!made) return WF_ERROR_MEMORY;
    wf_error error = wf_handle_open(made, device);
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
    wf_error error = wf_handle_open(&handle, device);
    if (text && capacity) snprintf(text, capacity, "%s", error ? handle.message : handle.device_text);
    if (!error) handle.device->close(&handle);
    return error;
}

int32_t wf_gpu_count(void) {
    const struct wf_driver *driver = wf_driver_open(NULL, 0);
    int count = 0;
    return driver && !driver->DeviceGetCount(&count) ? count : 0;
}
