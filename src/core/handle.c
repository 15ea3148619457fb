#include "core/handle.h"

#include <stdio.h>

wf_error wf_handle_open(wf_handle *handle, const struct wf_device *device, const char *name) {
    *handle = (wf_handle){.device = device};
    snprintf(handle->device_name, sizeof handle->device_name, "%s", name);
    wf_error error = device->open(handle);
    if (error && !handle->message[0]) wf_fail(handle, error, "%s", wf_error_text(error));
    return error;
}
