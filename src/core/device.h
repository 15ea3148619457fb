/* A device is one struct of functions. */
#ifndef WF_CORE_DEVICE_H
#define WF_CORE_DEVICE_H

#include "core/accumulator.h"
#include "core/number.h"

struct wf_device {
    const char *name; /* that of a handle is more exact: "cuda:1" */

    /* Makes the state that handle->device_state keeps, and writes handle->device_text. */
    wf_error (*open)(wf_handle *handle);
    void (*close)(wf_handle *handle);

    /* Adds the parts of every element of a (paired with b, which is NULL for the ops that take no pairs) to
     * into, whose end_index is the index of the first.  The arrays are valid, of into's type, and have
     * elements; the caller moves end_index and count on. */
    wf_error (*add)(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b,
                    int32_t threads);

    /* The exact sum of the array, if it is found without an accumulator: see cpu/few.h.  NULL: it never is. */
    bool (*sum_few)(const wf_array *array, struct wf_number *sum);

    /* Of GPUs; NULL elsewhere.  Leaves the result of the elements, of which there may be none, in device memory,
     * in the order of the stream; empty: the reduction, with nothing added. */
    wf_error (*reduce_on_device)(wf_handle *handle, const struct wf_accumulator *empty, const wf_array *a,
                                 const wf_array *b, wf_device_value *d_result);
    wf_error (*set_stream)(wf_handle *handle, void *stream);

    /* In words how the last launch was laid out; "" before any. */
    void (*describe_plan)(const wf_handle *handle, char *text, size_t capacity);
};

extern const struct wf_device wf_device_cpu;
extern const struct wf_device wf_device_cuda;
extern const struct wf_device wf_device_auto; /* one of the others, by where the data lies */

#endif
