/* The handle: a device with its state, and the message of the last error. */
#ifndef WF_CORE_HANDLE_H
#define WF_CORE_HANDLE_H

#include "core/device.h"

#define WF_MESSAGE_NBYTES 1024

struct wf_handle {
    const struct wf_device *device;
    void *device_state; /* the device's own: threads, scratch */
    int32_t threads;    /* the most that a call may use; 0: one for each processor */
    char device_name[16];
    char device_text[256];
    char plan_text[224];
    char message[WF_MESSAGE_NBYTES];
};

/* Makes a handle of the device, by that name, in memory of the caller's, who closes the device.
 * After an error it has a message and needs no closing. */
wf_error wf_handle_open(wf_handle *handle, const struct wf_device *device, const char *name);

#endif
