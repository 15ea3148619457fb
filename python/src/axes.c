/* Reductions along axes, and of the elements that a mask selects. */
#include "core.h"

/* NumPy's error where the smallest of no elements is asked for: there is no number to give. */
static int check_not_empty(const struct job *job, const struct results *results) {
    wf_op op = job->reduction.op;
    bool is_extremum = op == WF_MIN || op == WF_MAX || op == WF_ARGMIN || op == WF_ARGMAX;
    if (!is_extremum || results->reduced_count || !results->count || job->reduction.fill) return 0;
    PyErr_Format(PyExc_ValueError, "%s of no elements: an axis that is reduced has length 0", wf_op_name(op));
    return -1;
}

/* ---- where: elements of one result have its number as their key, and those that are masked have -1 */

static void write_keys(int64_t *keys, const struct array *mask, const struct results *results,
                       const struct array *a) {
    int64_t steps[WF_NDIM_MAX], index[WF_NDIM_MAX] = {0}, step = 1, result = 0, count = array_count(&a->view);
    const char *at = mask->view.data;
    for (int32_t d = a->view.ndim - 1; d >= 0; d--) {
        steps[d] = results->axes >> d & 1 ? 0 : step;
        if (steps[d]) step *= a->shape[d];
    }
    for (int64_t i = 0; i < count; i++) {
        keys[i] = *at ? result : -1;
        int32_t d = a->view.ndim - 1;
        for (; d >= 0 && ++index[d] == a->shape[d]; d--) {
            index[d] = 0;
            result -= (a->shape[d] - 1) * steps[d];
            at -= (a->shape[d] - 1) * mask->stride_bytes[d];
        }
        if (d < 0) return;
        result += steps[d];
        at += mask->stride_bytes[d];
    }
}

static int take_mask(struct job *job, PyObject *where, struct array *mask) {
    if (array_take(job->state, where, mask)) return -1;
    if (mask->view.type != WF_BOOL)
        PyErr_Format(PyExc_TypeError, "where must be bool, not %s", wf_type_name(mask->view.type));
    else if (!check_memory(mask, &job->a, job->device) &&
             !array_broadcast(mask, job->a.view.ndim, job->a.shape, "where"))
        return 0;
    array_release(mask);
    return -1;
}

/* The keys of the array's elements in C order, in new memory. */
static int64_t *make_keys(struct job *job, PyObject *where, const struct results *results) {
    struct array mask;
    if (take_mask(job, where, &mask)) return NULL;
    int64_t *keys = PyMem_Calloc((size_t)array_count(&job->a.view), sizeof *keys);
    if (keys) write_keys(keys, &mask, results, &job->a);
    else PyErr_NoMemory();
    array_release(&mask);
    return keys;
}

static PyObject *reduce_where(struct job *job, PyObject *const *values, struct results *results) {
    struct place place;
    int32_t ndim = job->a.view.ndim;
    int64_t *keys = make_keys(job, values[ARG_WHERE], results);
    PyObject *result = NULL;
    if (keys && !array_copy(&job->a, false) && !place_open(&place, job, results, values[ARG_OUT], true)) {
        int64_t count = array_count(&job->a.view);
        wf_array labels = wf_array_vector(keys, WF_I64, count);
        wf_groups groups = wf_groups_keys(0, results->count, &labels);
        job->a.view = wf_array_nd(job->a.view.data, job->a.view.type, 1, &count, NULL);
        job->reduction.flags = WF_SKIP_BAD_KEYS;
        results->masked_ndim = ndim;
        place.output.ndim = 1;
        place.output.shape = &results->count;
        result = values[ARG_INITIAL] ? place_run_from(&place, job, results, &groups, values[ARG_INITIAL])
                                     : place_run(&place, job, results, &groups, raise_error);
    }
    PyMem_Free(keys);
    return result;
}

/* ---- in CUDA memory */

/* Checks where and out; results then have out's type. */
static int check_selected(struct job *job, PyObject *const *values, struct results *results) {
    PyObject *where = values[ARG_WHERE];
    struct array mask;
    struct place place;
    if (where && !PyBool_Check(where)) { /* which are no arrays: they need not be in CUDA memory */
        if (take_mask(job, where, &mask)) return -1;
        array_release(&mask);
    }
    if (!values[ARG_OUT]) return 0;
    if (place_open(&place, job, results, values[ARG_OUT], false)) return -1;
    place_close(&place, job, results, false);
    return 0;
}

static PyObject *reduced_dimensions(const struct results *results, int32_t ndim) {
    PyObject *list = PyList_New(0);
    for (int32_t d = 0; list && d < ndim; d++) {
        if (!(results->axes >> d & 1)) continue;
        PyObject *dimension = PyLong_FromLong(d);
        if (!dimension || PyList_Append(list, dimension)) Py_CLEAR(list);
        Py_XDECREF(dimension);
    }
    return list;
}

/* warpfold._selected tells how. */
static PyObject *reduce_selected(struct job *job, PyObject *const *values, struct results *results) {
    static const char *const policies[] = {"propagate", "omit", "error"};
    const wf_reduction *reduction = &job->reduction;
    if (check_selected(job, values, results)) return NULL;
    const char *dtype = reduction->result_type ? wf_type_name(reduction->result_type) : NULL;
    PyObject *module = PyImport_ImportModule("warpfold._selected");
    PyObject *function = module ? PyObject_GetAttrString(module, "reduce_selected") : NULL;
    PyObject *reduced = function ? reduced_dimensions(results, job->a.view.ndim) : NULL;
    PyObject *shape = reduced ? make_shape(results->seen_ndim, results->seen_shape) : NULL;
    PyObject *given[] = {values[ARG_WHERE], values[ARG_INITIAL], values[ARG_OUT], values[ARG_FILL]};
    for (int i = 0; i < 4; i++) given[i] = given[i] ? given[i] : Py_None;
    PyObject *arguments = shape ? Py_BuildValue("sOOOOOOi", wf_op_name(reduction->op), job->a.owner, reduced, shape,
                                                given[0], given[1], given[2], job->counted != NULL) : NULL;
    PyObject *settings = arguments ? Py_BuildValue("{sssLsisssOsz}", "nan", policies[reduction->nan], "ddof",
                                                   (long long)reduction->ddof, "threads", (int)job->threads, "device",
                                                   job->device, "fill", given[3], "dtype", dtype) : NULL;
    PyObject *result = settings ? PyObject_Call(function, arguments, settings) : NULL;
    Py_XDECREF(settings);
    Py_XDECREF(arguments);
    Py_XDECREF(shape);
    Py_XDECREF(reduced);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

/* ---- in host memory, or without a selection */

static PyObject *reduce_to_array(struct job *job, PyObject *const *values, struct results *results) {
    struct place place;
    bool is_whole = !results->ndim;
    wf_groups groups = wf_groups_axes(results->axes);
    if (place_open(&place, job, results, values[ARG_OUT], false)) return NULL;
    if (values[ARG_INITIAL]) return place_run_from(&place, job, results, &groups, values[ARG_INITIAL]);
    bool is_one = is_whole && job->a.is_on_gpu && job->reduction.op != WF_PROD; /* which stays there only as a group */
    return place_run(&place, job, results, is_one ? NULL : &groups, raise_error);
}

/* An array of no dimensions as NumPy gives it: a scalar. */
static PyObject *unwrap(PyObject *result, const struct job *job, const struct results *results, bool is_out) {
    if (!result || is_out || results->seen_ndim || job->a.kind != KIND_NUMPY) return result;
    PyObject *empty = PyTuple_New(0);
    PyObject *scalar = empty ? PyObject_GetItem(result, empty) : NULL;
    Py_XDECREF(empty);
    Py_DECREF(result);
    return scalar;
}

PyObject *reduce_axes(struct job *job, PyObject *const *values) {
    struct results results;
    int keeps_dimensions = values[ARG_KEEPDIMS] ? PyObject_IsTrue(values[ARG_KEEPDIMS]) : 0;
    if (keeps_dimensions < 0 || read_axes(values[ARG_AXIS], job->a.view.ndim, &results.axes)) return NULL;
    results_lay_out(&results, job, keeps_dimensions);
    bool is_plain = !values[ARG_OUT] && !values[ARG_WHERE] && !values[ARG_INITIAL];
    if (is_plain && !results.ndim && !results.seen_ndim) return job_value(job);
    if (!values[ARG_INITIAL] && check_not_empty(job, &results)) return NULL;
    bool is_selected = values[ARG_WHERE] || values[ARG_INITIAL];
    if (job->a.is_on_gpu && is_selected) return reduce_selected(job, values, &results);
    PyObject *result = (values[ARG_WHERE] ? reduce_where : reduce_to_array)(job, values, &results);
    return unwrap(result, job, &results, values[ARG_OUT]);
}
