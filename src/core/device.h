/* A device is one struct of functions. */
#ifndef WF_CORE_DEVICE_H
#define WF_CORE_DEVICE_H

#include "core/grouped.h"
#include "core/number.h"

struct wf_words_task;

struct wf_device {
    const char *name; /* that of a handle is more exact: "cuda:1" */

    /* Whether the host arrays of one reduction may be added by several threads, each with a CPU handle of its own.
     * Otherwise every array must go through the one handle. */
    bool adds_in_parallel;

    /* Makes the state that handle->device_state keeps, and writes handle->device_text. */
    wf_error (*open)(wf_handle *handle);
    void (*close)(wf_handle *handle);

    /* Adds the parts of every element of a (paired with b, which is NULL for the ops that take no pairs) to
     * into, whose end_index is the index of the first.  The arrays are valid, of into's type, and have
     * elements; the caller moves end_index and count on. */
    wf_error (*add)(wf_handle *handle, struct wf_accumulator *into, const wf_array *a, const wf_array *b);

    /* The value of a reduction, if it is found without an accumulator: see core/small_sum.h.  NULL: it never is. */
    bool (*reduce_few)(const wf_reduction *reduction, const wf_array *array, wf_value *value);

    /* Whether the output lies in the device's own memory.  NULL: it never does. */
    wf_error (*find_output)(wf_handle *handle, const wf_output *output, bool *is_on_device);

    /* Leaves the result of a and b, which lie side by side or have no elements, in such an output, in the order of the stream.
     * empty: the reduction, with nothing added.  fill: of the result's type, for a result that has no value; NULL: that is an
     * error.  NULL where find_output is. */
    wf_error (*reduce_on_device)(wf_handle *handle, const struct wf_accumulator *empty, const wf_array *a,
                                 const wf_array *b, const wf_value *fill, const wf_output *output);

    /* Writes the results of a reduction by groups, which have elements or not, to an output in host memory.  NULL:
     * not yet. */
    wf_error (*reduce_groups)(wf_handle *handle, const struct wf_grouped *grouped);

    /* Adds the groups to grouped->into instead.  NULL: not yet. */
    wf_error (*add_groups)(wf_handle *handle, const struct wf_grouped *grouped);

    /* Writes results, packed in C order, to an output in the device's memory, and its status; results NULL: the status alone.
     * NULL: there is no such memory. */
    wf_error (*send_results)(wf_handle *handle, const wf_output *output, const void *results, wf_error status);

    /* Words in the device's own memory, in the order of the stream: see core/device_words.h.  NULL: not there. */
    wf_error (*pass_words)(wf_handle *handle, const struct wf_words_task *task);

    wf_error (*set_stream)(wf_handle *handle, void *stream);

    /* In words how the last launch was laid out; "" before any. */
    void (*describe_plan)(const wf_handle *handle, char *text, size_t capacity);
};

extern const struct wf_device wf_device_cpu;
extern const struct wf_device wf_device_cuda;
extern const struct wf_device wf_device_auto; /* one of the others, by where the data lies */
extern const struct wf_device wf_device_all;  /* the same, but host arrays over all GPUs */

#endif
