/* The handle: a device with its state, and the message of the last error. */
#ifndef WF_CORE_HANDLE_H
#define WF_CORE_HANDLE_H

#include "core/device.h"

#define WF_MESSAGE_NBYTES 1024

struct wf_handle {
    const struct wf_device *device;
    void *device_state; /* the device's own: threads, scratch */
    char device_text[160];
    char message[WF_MESSAGE_NBYTES];
};

#endif
