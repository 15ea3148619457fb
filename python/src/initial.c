/* Reductions that begin with a value of the caller's: one element more of every result. */
#include "core.h"

#include <string.h>

/* The number as an element of the array's type, in 8 bytes. */
static int read_element(struct job *job, PyObject *number, char *element) {
    PyObject *bytes = PyObject_CallMethod(job->state->kinds, "element", "sO", wf_type_name(job->a.view.type), number);
    if (bytes) memcpy(element, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    Py_XDECREF(bytes);
    return bytes ? 0 : -1;
}

static wf_error accumulate(struct job *job, wf_handle *handle, const char *element, const wf_groups *groups,
                           const wf_output *output) {
    static const int64_t repeated[WF_NDIM_MAX];
    const wf_array *a = &job->a.view;
    const wf_groups each = wf_groups_axes(0);
    wf_array first = wf_array_nd(element, a->type, output->ndim, output->ndim ? output->shape : NULL, repeated);
    if (!output->ndim) first = wf_array_vector(element, a->type, 1);
    wf_accumulator *accumulator;
    wf_error error = wf_accumulator_create(handle, &job->reduction, a->type, output->ndim, first.shape, &accumulator);
    if (!error) error = wf_accumulator_add(handle, accumulator, &first, NULL, output->ndim ? &each : NULL);
    if (!error) error = wf_accumulator_add(handle, accumulator, a, NULL, groups);
    if (!error) error = wf_accumulator_result(handle, accumulator, job->reduction.op, output);
    wf_accumulator_destroy(accumulator);
    return error;
}

static int run(struct place *place, struct job *job, const wf_groups *groups, PyObject *initial) {
    char element[8];
    if (read_element(job, initial, element)) return -1;
    wf_handle *handle = handle_lend(job->device, job->threads);
    if (!handle) return -1;
    PyThreadState *thread = PyEval_SaveThread();
    wf_error error = accumulate(job, handle, element, groups, &place->output);
    PyEval_RestoreThread(thread);
    if (error) raise_error(handle, error);
    handle_return(handle, job->device);
    return error ? -1 : 0;
}

PyObject *place_run_from(struct place *place, struct job *job, const struct results *results, const wf_groups *groups,
                         PyObject *initial) {
    job->reduction.result_type = results->type;
    return place_close(place, job, results, !run(place, job, groups, initial));
}
