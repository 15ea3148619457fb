/* A device is one struct of functions. */
#ifndef WF_CORE_DEVICE_H
#define WF_CORE_DEVICE_H

#include "core/accumulator.h"

struct wf_device {
    const char *name;

    /* Makes the state that handle->device_state keeps, and writes handle->device_text. */
    wf_error (*open)(wf_handle *handle);
    void (*close)(wf_handle *handle);

    /* Adds the parts of every element of a (paired with b, which is NULL for the ops that take no pairs) to
     * into, whose end_index is the index of the first.  The arrays are valid, of into's type, and have
     * elements; the caller moves end_index and count on. */
    wf_error (*add)(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b,
                    int32_t threads);
};

extern const struct wf_device wf_device_cpu;

#endif
