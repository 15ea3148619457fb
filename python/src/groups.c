/* Reductions that give an array: along axes, of masked elements, by segments and by keys. */
#include "core.h"

#include <string.h>

/* ---- axes */

/* The results of a reduction along axes: as the library counts dimensions, and as the caller sees them. */
struct results {
    wf_type type;
    uint64_t axes;
    int32_t ndim, seen_ndim;
    int64_t shape[WF_NDIM_MAX], seen_shape[WF_NDIM_MAX];
    int64_t count, reduced_count;
};

static void lay_out(struct results *results, const struct job *job, bool keeps_dimensions) {
    const wf_array *a = &job->a.view;
    results->type = job->reduction.result_type ? job->reduction.result_type
                                               : wf_op_result_type(job->reduction.op, a->type);
    results->ndim = results->seen_ndim = 0;
    results->count = results->reduced_count = 1;
    for (int32_t d = 0; d < a->ndim; d++) {
        bool is_reduced = results->axes >> d & 1;
        *(is_reduced ? &results->reduced_count : &results->count) *= a->shape[d];
        if (!is_reduced) results->shape[results->ndim++] = a->shape[d];
        if (!is_reduced || keeps_dimensions) results->seen_shape[results->seen_ndim++] = is_reduced ? 1 : a->shape[d];
    }
}

/* NumPy's error where the smallest of no elements is asked for: there is no number to give. */
static int check_not_empty(const struct job *job, const struct results *results) {
    wf_op op = job->reduction.op;
    bool is_extremum = op == WF_MIN || op == WF_MAX || op == WF_ARGMIN || op == WF_ARGMAX || op == WF_NORMINF;
    if (!is_extremum || op == WF_NORMINF || results->reduced_count || !results->count) return 0;
    PyErr_Format(PyExc_ValueError, "%s of no elements: an axis that is reduced has length 0", wf_op_name(op));
    return -1;
}

/* ---- where results go */

/* The caller's out, or a new array of the caller's kind. */
struct place {
    struct target target; /* target.object is NULL: out is used */
    struct array out;
    void *temporary;      /* contiguous, where the library may not write to out itself */
    wf_output output;
    int64_t stride_bytes[WF_NDIM_MAX];
};

static int check_out(const struct array *out, const struct results *results) {
    if (out->is_read_only) {
        PyErr_SetString(PyExc_ValueError, "output array is read-only");
        return -1;
    }
    bool is_same = out->view.ndim == results->seen_ndim;
    for (int32_t d = 0; is_same && d < out->view.ndim; d++) is_same = out->shape[d] == results->seen_shape[d];
    if (!is_same) {
        PyErr_SetString(PyExc_ValueError, "out has not the shape of the results");
        return -1;
    }
    bool is_integer = !type_is_float(out->view.type), must_be_bool = out->view.type == WF_BOOL;
    if ((is_integer && type_is_float(results->type)) || (must_be_bool && results->type != WF_BOOL)) {
        PyErr_Format(PyExc_TypeError, "out of %s cannot take results of %s", wf_type_name(out->view.type),
                     wf_type_name(results->type));
        return -1;
    }
    return 0;
}

/* Which of out's strides are those of the results' dimensions. */
static void skip_reduced(const struct results *results, const struct array *out, int64_t *stride_bytes) {
    bool keeps_dimensions = results->seen_ndim != results->ndim;
    int32_t to = 0;
    for (int32_t d = 0; d < results->seen_ndim; d++)
        if (!keeps_dimensions || !(results->axes >> d & 1)) stride_bytes[to++] = out->stride_bytes[d];
}

static int place_open(struct place *place, struct job *job, struct results *results, PyObject *out, bool needs_order) {
    place->temporary = NULL;
    place->target.object = NULL;
    if (!out) {
        if (target_make(job->state, &job->a, results->type, results->seen_ndim, results->seen_shape, &place->target))
            return -1;
        place->output = (wf_output){.data = (void *)place->target.array.view.data, .type = results->type,
                                    .ndim = results->ndim, .shape = results->shape};
        return 0;
    }
    if (array_take(job->state, out, &place->out)) return -1;
    if (check_out(&place->out, results)) return array_release(&place->out), -1;
    results->type = job->reduction.result_type = place->out.view.type;
    skip_reduced(results, &place->out, place->stride_bytes);
    place->output = (wf_output){.data = (void *)place->out.view.data, .type = results->type, .ndim = results->ndim,
                                .shape = results->shape, .stride_bytes = place->stride_bytes};
    if (!needs_order && !arrays_overlap(&place->out.view, &job->a.view)) return 0;
    place->temporary = PyMem_Calloc((size_t)results->count, wf_type_nbytes(results->type));
    if (!place->temporary) return array_release(&place->out), PyErr_NoMemory(), -1;
    place->output.data = place->temporary;
    place->output.stride_bytes = NULL;
    return 0;
}

static PyObject *place_close(struct place *place, struct job *job, const struct results *results, bool is_good) {
    if (place->target.object) return target_finish(job->state, &job->a, &place->target, is_good);
    if (is_good && place->temporary) {
        int64_t stride_bytes[WF_NDIM_MAX];
        size_t nbytes = wf_type_nbytes(results->type);
        contiguous_strides(results->ndim, results->shape, (int64_t)nbytes, stride_bytes);
        copy_strided((struct strided){(char *)place->out.view.data, place->stride_bytes},
                     (struct strided){place->temporary, stride_bytes}, results->ndim, results->shape, nbytes, false);
    }
    PyMem_Free(place->temporary);
    PyObject *out = place->out.owner;
    array_release(&place->out);
    if (!is_good) return NULL;
    Py_INCREF(out);
    return out;
}

/* Runs with output at place, and gives the caller's array. */
static PyObject *run_to(struct place *place, struct job *job, const struct results *results, const wf_groups *groups,
                        PyObject *(*raise)(const wf_handle *, wf_error)) {
    wf_handle *handle = handle_lend(job->device, job->threads);
    wf_error error = handle ? job_run(job, handle, groups, &place->output, NULL) : WF_ERROR_DEVICE;
    if (handle && error) raise(handle, error);
    if (handle) handle_return(handle, job->device);
    return place_close(place, job, results, !error);
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
    if (mask->view.type != WF_BOOL) PyErr_Format(PyExc_TypeError, "where must be bool, not %s", wf_type_name(mask->view.type));
    else if (mask->is_on_gpu || job->a.is_on_gpu)
        PyErr_SetString(PyExc_TypeError, "where is not yet supported in CUDA memory");
    else if (!array_broadcast(mask, job->a.view.ndim, job->a.shape, "where")) return 0;
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
    int64_t *keys = make_keys(job, values[ARG_WHERE], results);
    PyObject *result = NULL;
    if (keys && !array_copy(&job->a, false) && !place_open(&place, job, results, values[ARG_OUT], true)) {
        int64_t count = array_count(&job->a.view);
        wf_array labels = wf_array_vector(keys, WF_I64, count);
        wf_groups groups = wf_groups_keys(0, results->count, &labels);
        job->a.view = wf_array_nd(job->a.view.data, job->a.view.type, 1, &count, NULL);
        job->reduction.flags = WF_SKIP_BAD_KEYS;
        place.output.ndim = 1;
        place.output.shape = &results->count;
        result = run_to(&place, job, results, &groups, raise_error);
    }
    PyMem_Free(keys);
    return result;
}

static PyObject *reduce_to_array(struct job *job, PyObject *const *values, struct results *results) {
    struct place place;
    bool is_whole = !results->ndim;
    wf_groups groups = wf_groups_axes(results->axes);
    if (place_open(&place, job, results, values[ARG_OUT], false)) return NULL;
    return run_to(&place, job, results, is_whole && job->a.is_on_gpu ? NULL : &groups, raise_error);
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
    lay_out(&results, job, keeps_dimensions);
    bool is_plain = !values[ARG_OUT] && !values[ARG_WHERE];
    if (is_plain && !results.ndim && !results.seen_ndim) return job_value(job);
    if (check_not_empty(job, &results)) return NULL;
    PyObject *result = (values[ARG_WHERE] ? reduce_where : reduce_to_array)(job, values, &results);
    return unwrap(result, job, &results, values[ARG_OUT]);
}

/* ---- segments and keys */

static PyObject *raise_label_error(const wf_handle *handle, wf_error error) {
    const char *message = wf_handle_message(handle), *hint = strchr(message, ';');
    bool is_key = error == WF_ERROR_RANGE && !strncmp(message, "key ", 4);
    if (!is_key && strncmp(message, "offset ", 7)) return raise_error(handle, error);
    PyObject *text = PyUnicode_FromStringAndSize(message, hint ? hint - message : (Py_ssize_t)strlen(message));
    if (text && is_key) PyErr_Format(PyExc_IndexError, "%U; skip_bad_keys=True leaves such elements out", text);
    else if (text) PyErr_SetObject(PyExc_IndexError, text);
    Py_XDECREF(text);
    return NULL;
}

/* Starts of segments, the last of which ends at the end: offsets, in new memory that labels then has. */
static int end_segments(struct array *labels, int64_t end) {
    int64_t count = labels->view.ndim == 1 ? labels->shape[0] : -1;
    if (count < 0 || (labels->view.type != WF_I64 && labels->view.type != WF_I32)) {
        PyErr_SetString(PyExc_TypeError, "the segments' starts must be a vector of int32 or int64");
        return -1;
    }
    int64_t *offsets = PyMem_Calloc((size_t)count + 1, sizeof *offsets);
    if (!offsets) return PyErr_NoMemory(), -1;
    const char *at = labels->view.data;
    for (int64_t i = 0; i < count; i++, at += labels->stride_bytes[0]) {
        int32_t narrow;
        if (labels->view.type == WF_I64) memcpy(&offsets[i], at, sizeof *offsets);
        else memcpy(&narrow, at, sizeof narrow), offsets[i] = narrow;
    }
    offsets[count] = end;
    PyMem_Free(labels->copy);
    labels->copy = offsets;
    labels->view = wf_array_vector(offsets, WF_I64, count + 1);
    return 0;
}

static int read_fill(struct job *job, PyObject *fill) {
    if (!fill) return 0;
    if (PyFloat_Check(fill)) {
        job->fill = (wf_value){.type = WF_F64, .v = {.f64 = PyFloat_AsDouble(fill)}};
    } else {
        job->fill = (wf_value){.type = WF_I64};
        if (read_int64(fill, "fill", &job->fill.v.i)) return -1;
    }
    job->reduction.fill = &job->fill;
    return 0;
}

static int read_groups(struct job *job, PyObject *const *values, struct array *labels, wf_groups *groups) {
    int32_t axis = 0;
    int64_t count = labels->view.ndim == 1 ? labels->shape[0] : 0;
    bool by_starts = !PyUnicode_CompareWithASCIIString(values[ARG_BY], "starts");
    bool by_keys = !PyUnicode_CompareWithASCIIString(values[ARG_BY], "keys");
    if (values[ARG_AXIS] && read_axis(values[ARG_AXIS], job->a.view.ndim, &axis)) return -1;
    if (values[ARG_COUNT] && read_int64(values[ARG_COUNT], "count", &count)) return -1;
    if (job->a.view.ndim <= axis) {
        PyErr_SetString(PyExc_ValueError, "the array must have at least one dimension");
        return -1;
    }
    if (by_starts && end_segments(labels, job->a.shape[axis])) return -1;
    if (!by_starts && !by_keys && !values[ARG_COUNT]) count--;
    *groups = by_keys ? wf_groups_keys(axis, count, &labels->view) : wf_groups_segments(axis, count, &labels->view);
    int skips = values[ARG_SKIP] ? PyObject_IsTrue(values[ARG_SKIP]) : 0;
    if (skips > 0) job->reduction.flags = WF_SKIP_BAD_KEYS;
    return skips < 0 ? -1 : read_fill(job, values[ARG_FILL]);
}

/* Labels are integers: of an empty list, too, and bools are 0 and 1. */
static void see_integers(struct array *labels) {
    if (labels->kind == KIND_PYTHON && !array_count(&labels->view)) labels->view.type = WF_I64;
    if (labels->view.type == WF_BOOL) labels->view.type = WF_U8;
}

static PyObject *run_groups(struct job *job, PyObject *const *values, struct array *labels) {
    struct results results = {.axes = 0};
    struct place place;
    wf_groups groups;
    see_integers(labels);
    if (read_groups(job, values, labels, &groups)) return NULL;
    if (groups.count < 0) return PyErr_SetString(PyExc_ValueError, "the number of groups must not be negative"), NULL;
    lay_out(&results, job, false);
    results.count = results.shape[groups.axis] ? results.count / results.shape[groups.axis] * groups.count : 0;
    results.shape[groups.axis] = results.seen_shape[groups.axis] = groups.count;
    if (place_open(&place, job, &results, values[ARG_OUT], false)) return NULL;
    return run_to(&place, job, &results, &groups, raise_label_error);
}

/* Without an array, each position of the axis counts as one element that is true. */
static int begin_by_labels(struct state *state, struct job *job, struct function *function, PyObject **values) {
    static const char one = 1;
    bool counts = values[ARG_A] == Py_None;
    if (counts) values[ARG_A] = values[ARG_LABELS];
    if (job_begin(state, job, function, values)) return -1;
    if (!counts) return 0;
    job->a.view.data = &one;
    job->a.view.type = WF_BOOL;
    for (int32_t d = 0; d < job->a.view.ndim; d++) job->a.stride_bytes[d] = 0;
    job->reduction.result_type = numpy_result_type(job->reduction.op, WF_BOOL);
    return 0;
}

PyObject *reduce_by_labels(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    static const struct signature signature = {
        "reduce_by_labels",
        BIT(ARG_OP) | BIT(ARG_A) | BIT(ARG_BY) | BIT(ARG_LABELS) | BIT(ARG_AXIS) | BIT(ARG_COUNT) | BIT(ARG_DTYPE) |
            BIT(ARG_NAN) | BIT(ARG_DDOF) | BIT(ARG_FILL) | BIT(ARG_SKIP) | BIT(ARG_OUT) | BIT(ARG_THREADS) |
            BIT(ARG_DEVICE),
        4,
        {ARG_OP, ARG_A, ARG_BY, ARG_LABELS, ARGUMENTS}};
    PyObject *values[ARGUMENTS], *result = NULL;
    struct function function = {.op = WF_OP_NONE};
    struct array labels;
    struct job job;
    if (arguments_read(&signature, arguments, count, names, values)) return NULL;
    const char *name = PyUnicode_AsUTF8AndSize(values[ARG_OP], NULL);
    if (!name) return NULL;
    function.op = wf_op_parse(name);
    if (!function.op || function.op == WF_DOT || function.op == WF_STATS)
        return PyErr_Format(PyExc_ValueError, "no op '%s' by groups", name);
    struct state *state = state_of(module);
    if (array_take(state, values[ARG_LABELS], &labels)) return NULL;
    if (!begin_by_labels(state, &job, &function, values)) {
        result = run_groups(&job, values, &labels);
        job_end(&job);
    }
    array_release(&labels);
    return result;
}

/* ---- shapes */

PyObject *shape_of(PyObject *module, PyObject *object) {
    struct array array;
    if (array_take(state_of(module), object, &array)) return NULL;
    PyObject *shape = make_shape(array.view.ndim, array.shape);
    array_release(&array);
    return shape;
}

/* ---- joining two arrays along an axis, for index_add */

PyObject *join_arrays(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    struct state *state = state_of(module);
    struct array parts[2];
    struct target target;
    int32_t axis;
    PyObject *result = NULL;
    if (count != 3) return PyErr_SetString(PyExc_TypeError, "join_arrays(a, b, axis)"), NULL;
    if (array_take(state, arguments[0], &parts[0])) return NULL;
    if (array_take(state, arguments[1], &parts[1])) return array_release(&parts[0]), NULL;
    const wf_array *a = &parts[0].view, *b = &parts[1].view;
    bool fits = !read_axis(arguments[2], a->ndim, &axis) && a->ndim == b->ndim && a->type == b->type &&
                !parts[0].is_on_gpu && !parts[1].is_on_gpu;
    for (int32_t d = 0; fits && d < a->ndim; d++) fits = d == axis || a->shape[d] == b->shape[d];
    if (!fits && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "the arrays must have one dtype, one shape but for the axis that is indexed, and "
                                       "be in host memory (%s and %s)", wf_type_name(a->type), wf_type_name(b->type));
    if (fits) {
        int64_t shape[WF_NDIM_MAX];
        memcpy(shape, a->shape, (size_t)a->ndim * sizeof *shape);
        shape[axis] += b->shape[axis];
        size_t nbytes = wf_type_nbytes(a->type);
        if (!target_make(state, &parts[0], a->type, a->ndim, shape, &target)) {
            int64_t stride_bytes[WF_NDIM_MAX];
            contiguous_strides(a->ndim, shape, (int64_t)nbytes, stride_bytes);
            char *to = (char *)target.array.view.data;
            for (int i = 0; i < 2; i++) {
                const wf_array *part = &parts[i].view;
                copy_strided((struct strided){to, stride_bytes}, (struct strided){(char *)part->data, part->stride_bytes},
                             part->ndim, part->shape, nbytes, false);
                to += part->shape[axis] * stride_bytes[axis];
            }
            result = target_finish(state, &parts[0], &target, true);
        }
    }
    array_release(&parts[0]);
    array_release(&parts[1]);
    return result;
}
