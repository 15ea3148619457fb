/* Reductions by segments and by keys. */
#include "core.h"

#include <string.h>

PyObject *raise_label_error(const wf_handle *handle, wf_error error) {
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
    return read_fill(values[ARG_FILL], values[ARG_SKIP], &job->reduction, &job->fill);
}

void see_integers(struct array *labels) {
    if (labels->kind == KIND_PYTHON && !array_count(&labels->view)) labels->view.type = WF_I64;
    if (labels->view.type == WF_BOOL) labels->view.type = WF_U8;
}

static PyObject *run_groups(struct job *job, PyObject *const *values, struct array *labels) {
    struct results results = {.axes = 0};
    struct place place;
    wf_groups groups;
    see_integers(labels);
    if (check_memory(labels, &job->a, job->device)) return NULL;
    if (read_groups(job, values, labels, &groups)) return NULL;
    if (groups.count < 0) return PyErr_SetString(PyExc_ValueError, "the number of groups must not be negative"), NULL;
    results_lay_out(&results, job, false);
    results.count = results.shape[groups.axis] ? results.count / results.shape[groups.axis] * groups.count : 0;
    results.shape[groups.axis] = results.seen_shape[groups.axis] = groups.count;
    if (place_open(&place, job, &results, values[ARG_OUT], false)) return NULL;
    return place_run(&place, job, &results, &groups, raise_label_error);
}

/* Without an array, the labels are counted. */
static int begin_by_labels(struct state *state, struct job *job, PyObject **values) {
    struct function function = {.op = WF_OP_NONE};
    bool counts_elements;
    if (job_read_op(values[ARG_OP], &function.op, &counts_elements)) return -1;
    if (values[ARG_A] == Py_None) {
        values[ARG_A] = values[ARG_LABELS];
        counts_elements = true;
    }
    if (job_begin(state, job, &function, values)) return -1;
    if (!counts_elements || !job_count_elements(job)) return 0;
    job_end(job);
    return -1;
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
    struct array labels;
    struct job job;
    if (arguments_read(&signature, arguments, count, names, values)) return NULL;
    struct state *state = state_of(module);
    if (array_take(state, values[ARG_LABELS], &labels)) return NULL;
    if (!begin_by_labels(state, &job, values)) {
        result = run_groups(&job, values, &labels);
        job_end(&job);
    }
    array_release(&labels);
    return result;
}

/* ---- what arrays are */

PyObject *shape_of(PyObject *module, PyObject *object) {
    struct array array;
    if (array_take(state_of(module), object, &array)) return NULL;
    PyObject *shape = make_shape(array.view.ndim, array.shape);
    array_release(&array);
    return shape;
}

PyObject *type_of(PyObject *module, PyObject *object) {
    struct array array;
    if (array_take(state_of(module), object, &array)) return NULL;
    PyObject *name = PyUnicode_FromString(wf_type_name(array.view.type));
    array_release(&array);
    return name;
}

/* ---- joining two arrays along an axis, for index_add */

static int check_joined(const struct array *a, const struct array *b, int32_t axis) {
    bool fits = a->view.ndim == b->view.ndim && a->view.type == b->view.type && !a->is_on_gpu && !b->is_on_gpu;
    for (int32_t d = 0; fits && d < a->view.ndim; d++) fits = d == axis || a->shape[d] == b->shape[d];
    if (fits) return 0;
    PyErr_Format(PyExc_ValueError,
                 "the arrays (of %s and %s) must have one dtype, one shape but for the axis that is indexed, and be in "
                 "host memory", wf_type_name(a->view.type), wf_type_name(b->view.type));
    return -1;
}

/* Both in C order, in a new array of a's kind. */
static PyObject *join(struct state *state, const struct array *a, const struct array *b, int32_t axis) {
    const struct array *const parts[] = {a, b};
    int64_t shape[WF_NDIM_MAX], stride_bytes[WF_NDIM_MAX], nbytes = (int64_t)wf_type_nbytes(a->view.type);
    struct target target;
    memcpy(shape, a->shape, (size_t)a->view.ndim * sizeof *shape);
    shape[axis] += b->shape[axis];
    if (target_make(state, a, a->view.type, a->view.ndim, shape, &target)) return NULL;
    contiguous_strides(a->view.ndim, shape, nbytes, stride_bytes);
    struct strided to = {(char *)target.array.view.data, stride_bytes};
    for (int i = 0; i < 2; i++) {
        const wf_array *part = &parts[i]->view;
        copy_strided(to, (struct strided){(char *)part->data, part->stride_bytes}, part->ndim, part->shape,
                     (size_t)nbytes, false);
        to.data += part->shape[axis] * stride_bytes[axis];
    }
    return target_finish(state, a, &target, true);
}

PyObject *join_arrays(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    struct state *state = state_of(module);
    struct array a, b;
    int32_t axis;
    PyObject *result = NULL;
    if (count != 3) return PyErr_SetString(PyExc_TypeError, "join_arrays(a, b, axis)"), NULL;
    if (array_take(state, arguments[0], &a)) return NULL;
    if (!array_take(state, arguments[1], &b)) {
        if (!read_axis(arguments[2], a.view.ndim, &axis) && !check_joined(&a, &b, axis))
            result = join(state, &a, &b, axis);
        array_release(&b);
    }
    array_release(&a);
    return result;
}
