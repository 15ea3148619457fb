/* Quantiles of arrays, along axes. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

static int read_method(PyObject *method, wf_between *between) {
    static const char *const names[] = {"linear", "lower", "higher", "nearest", "midpoint"};
    *between = WF_LINEAR;
    for (size_t i = 0; method && i < sizeof names / sizeof names[0]; i++) {
        *between = (wf_between)i;
        if (PyUnicode_Check(method) && !PyUnicode_CompareWithASCIIString(method, names[i])) return 0;
    }
    if (!method) return 0;
    PyErr_Format(PyExc_ValueError, "method must be 'linear', 'lower', 'higher', 'nearest' or 'midpoint', not %R", method);
    return -1;
}

/* The numbers of a tuple, in new memory. */
static double *read_q(PyObject *tuple, int64_t *count) {
    if (!PyTuple_Check(tuple)) return PyErr_SetString(PyExc_TypeError, "q must be a tuple here"), NULL;
    *count = PyTuple_Size(tuple);
    double *q = PyMem_Calloc((size_t)*count + 1, sizeof *q);
    if (!q) return PyErr_NoMemory(), NULL;
    for (int64_t i = 0; i < *count; i++) {
        q[i] = PyFloat_AsDouble(PyTuple_GetItem(tuple, i));
        if (q[i] != -1 || !PyErr_Occurred()) continue;
        PyMem_Free(q);
        return NULL;
    }
    return q;
}

static wf_error run(struct job *job, wf_handle *handle, const wf_quantiles *quantiles, uint64_t axes, const wf_output *output) {
    const wf_groups groups = wf_groups_axes(axes); /* where a group without a value is NaN */
    PyThreadState *thread = PyEval_SaveThread();
    wf_error error = wf_quantile(handle, quantiles, &job->a.view, &groups, output);
    PyEval_RestoreThread(thread);
    return error;
}

/* An array of the caller's kind, whose first dimension is that of q. */
static PyObject *make_results(struct job *job, const wf_quantiles *quantiles, const struct results *results) {
    struct target target;
    int64_t shape[WF_NDIM_MAX + 1] = {quantiles->count}, seen_shape[WF_NDIM_MAX + 1] = {quantiles->count};
    if (results->seen_ndim >= WF_NDIM_MAX) return PyErr_SetString(PyExc_ValueError, "too many dimensions"), NULL;
    memcpy(shape + 1, results->shape, (size_t)results->ndim * sizeof *shape);
    memcpy(seen_shape + 1, results->seen_shape, (size_t)results->seen_ndim * sizeof *shape);
    if (target_make(job->state, &job->a, results->type, results->seen_ndim + 1, seen_shape, &target)) return NULL;
    const wf_output output = {.data = (void *)target.array.view.data, .type = results->type, .ndim = results->ndim + 1,
                              .shape = shape};
    wf_handle *handle = handle_lend(job->device, job->threads);
    wf_error error = handle ? run(job, handle, quantiles, results->axes, &output) : WF_OK;
    if (error) raise_error(handle, error);
    if (handle) handle_return(handle, job->device);
    return target_finish(job->state, &job->a, &target, handle && !error);
}

/* job's op is one whose results have the same types. */
static PyObject *reduce_to_quantiles(struct job *job, PyObject *const *values, wf_quantiles *quantiles) {
    struct results results;
    int keeps_dimensions = values[ARG_KEEPDIMS] ? PyObject_IsTrue(values[ARG_KEEPDIMS]) : 0;
    if (keeps_dimensions < 0 || read_axes(values[ARG_AXIS], job->a.view.ndim, &results.axes)) return NULL;
    results_lay_out(&results, job, keeps_dimensions);
    quantiles->nan = job->reduction.nan;
    quantiles->result_type = results.type;
    double *q = read_q(values[ARG_Q], &quantiles->count);
    quantiles->q = q;
    PyObject *result = q ? make_results(job, quantiles, &results) : NULL;
    PyMem_Free(q);
    return result;
}

PyObject *reduce_quantiles(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    struct function function = {
        .signature = {"quantile", BIT(ARG_A) | BIT(ARG_Q) | BIT(ARG_METHOD) | BIT(ARG_AXIS) | BIT(ARG_DTYPE) | BIT(ARG_KEEPDIMS) |
                                      BIT(ARG_NAN) | BIT(ARG_THREADS) | BIT(ARG_DEVICE), 2, {ARG_A, ARG_Q, ARGUMENTS}}};
    PyObject *values[ARGUMENTS];
    wf_quantiles quantiles = {.nbytes = sizeof quantiles};
    struct job job;
    if (arguments_read(&function.signature, arguments, count, names, values)) return NULL;
    if (read_method(values[ARG_METHOD], &quantiles.between)) return NULL;
    bool makes_new = quantiles.between == WF_LINEAR || quantiles.between == WF_MIDPOINT;
    function.op = makes_new ? WF_MEAN : WF_MIN;
    if (job_begin(state_of(module), &job, &function, values)) return NULL;
    PyObject *result = reduce_to_quantiles(&job, values, &quantiles);
    job_end(&job);
    return result;
}
