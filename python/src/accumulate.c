/* Adding arrays to an Accumulator, and reading its results. */
#include "accumulator.h"

/* ---- adding */

/* What one call adds.  Without groups all elements come together. */
struct added {
    struct array a, b, ids;
    bool has_b, has_ids;
    wf_groups groups;
};

static void added_release(struct added *added) {
    if (added->has_ids) array_release(&added->ids);
    if (added->has_b) array_release(&added->b);
    array_release(&added->a);
}

static int added_take(struct state *state, struct added *added, PyObject *const *values) {
    added->has_b = added->has_ids = false;
    if (array_take(state, values[ARG_A], &added->a)) return -1;
    if (values[ARG_B] && !array_take(state, values[ARG_B], &added->b)) added->has_b = true;
    if (!PyErr_Occurred() && values[ARG_IDS] && !array_take(state, values[ARG_IDS], &added->ids)) added->has_ids = true;
    if (!PyErr_Occurred()) return 0;
    added_release(added);
    return -1;
}

int accumulator_read_groups(const wf_accumulator *accumulator, int32_t a_ndim, struct array *ids, PyObject *axis,
                            wf_groups *groups) {
    int32_t ndim, position = 0;
    int64_t shape[WF_NDIM_MAX];
    uint64_t axes = 0;
    wf_accumulator_shape(accumulator, &ndim, shape);
    *groups = (wf_groups){.by = WF_GROUP_ALL};
    if (!ndim && !axis && !ids) return 0;
    if (ids) {
        if (axis && read_axis(axis, a_ndim, &position)) return -1;
        see_integers(ids);
        *groups = wf_groups_keys(position, position < ndim ? shape[position] : 0, &ids->view);
        return 0;
    }
    if (axis && read_axes(axis, a_ndim, &axes)) return -1;
    if (!axis && a_ndim > ndim) axes = ((uint64_t)1 << (a_ndim - ndim)) - 1;
    *groups = wf_groups_axes(axes);
    return 0;
}

static int read_groups(const wf_accumulator *accumulator, struct added *added, PyObject *axis) {
    return accumulator_read_groups(accumulator, added->a.view.ndim, added->has_ids ? &added->ids : NULL, axis, &added->groups);
}

static wf_error add(struct accumulator *self, wf_handle *handle, const struct added *added) {
    wf_error error = WF_OK;
    const struct array *a = &added->a;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&self->lock);
    if (a->is_on_gpu) error = wf_handle_set_stream(handle, a->stream);
    if (!error)
        error = wf_accumulator_add(handle, self->state, &a->view, added->has_b ? &added->b.view : NULL,
                                   &added->groups);
    pthread_mutex_unlock(&self->lock);
    PyEval_RestoreThread(thread);
    return error;
}

static int check_places(const struct added *added, const char *device) {
    if (check_memory(&added->a, added->has_b ? &added->b : NULL, device)) return -1;
    return added->has_ids ? check_memory(&added->ids, &added->a, device) : 0;
}

static void update(struct state *state, struct accumulator *self, struct added *added, const char *device,
                   int32_t threads) {
    if (!device) device = added->a.is_on_gpu ? "auto" : CPU;
    wf_handle *handle = check_places(added, device) ? NULL : handle_lend(device, threads);
    if (!handle) return;
    wf_error error = add(self, handle, added);
    keep_stream(state, handle, &added->a, error);
    if (error) raise_label_error(handle, error);
    handle_return(handle, device);
}

PyObject *accumulator_update(PyObject *self, PyTypeObject *type, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names) {
    static const struct signature signature = {
        "update",
        BIT(ARG_A) | BIT(ARG_B) | BIT(ARG_AXIS) | BIT(ARG_IDS) | BIT(ARG_THREADS) | BIT(ARG_DEVICE),
        1,
        {ARG_A, ARG_B, ARGUMENTS}};
    struct accumulator *accumulator = accumulator_of(self);
    struct state *state = PyType_GetModuleState(type);
    PyObject *values[ARGUMENTS];
    struct added added;
    const char *device = NULL;
    int32_t threads = 0;
    if (arguments_read(&signature, arguments, count, names, values)) return NULL;
    if (values[ARG_THREADS] && read_threads(values[ARG_THREADS], &threads)) return NULL;
    if (values[ARG_DEVICE] && read_device(values[ARG_DEVICE], &device)) return NULL;
    if (added_take(state, &added, values)) return NULL;
    if (!read_groups(accumulator->state, &added, values[ARG_AXIS])) update(state, accumulator, &added, device, threads);
    added_release(&added);
    if (PyErr_Occurred()) return NULL;
    Py_INCREF(self);
    return self;
}

/* ---- results */

/* What is read of an accumulator: the results of op, or how many elements or NaNs each of them is of. */
struct reading {
    enum { READ_OP, READ_COUNT, READ_NANS } what;
    wf_op op;
};

static int read_what(PyObject *name, struct reading *reading) {
    bool is_text = name && PyUnicode_Check(name);
    if (is_text && !PyUnicode_CompareWithASCIIString(name, "count")) reading->what = READ_COUNT;
    else if (is_text && !PyUnicode_CompareWithASCIIString(name, "nans")) reading->what = READ_NANS;
    else if (name) return read_op(name, &reading->op);
    return 0;
}

static wf_type type_of_results(const wf_accumulator *accumulator, const struct reading *reading) {
    return reading->what == READ_OP ? wf_accumulator_op_result_type(accumulator, reading->op) : WF_U64;
}

/* What the results are called: indices and counts are read as int64, as NumPy has them, whose bits are the same. */
static const char *name_results(const wf_accumulator *accumulator, const struct reading *reading, wf_type type) {
    bool is_count = reading->what != READ_OP;
    if (!is_count) is_count = numpy_result_type(reading->op, wf_accumulator_type(accumulator)) == WF_I64;
    return wf_type_name(type == WF_U64 && is_count ? WF_I64 : type);
}

static wf_error read_output(wf_handle *handle, const wf_accumulator *state, const struct reading *reading,
                            const wf_output *output) {
    switch (reading->what) {
    case READ_COUNT: return wf_accumulator_counts(handle, state, output, NULL);
    case READ_NANS: return wf_accumulator_counts(handle, state, NULL, output);
    default: return wf_accumulator_result(handle, state, reading->op, output);
    }
}

/* Reads one value, if there is no output, or stats, if there is no value either. */
static int read_results(struct accumulator *self, const struct reading *reading, const wf_output *output,
                        wf_value *value, wf_stats *stats) {
    wf_handle *handle = handle_lend(CPU, 0);
    if (!handle) return -1;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&self->lock);
    wf_error error = output  ? read_output(handle, self->state, reading, output)
                     : value ? wf_accumulator_value(handle, self->state, reading->op, value)
                             : wf_accumulator_stats(handle, self->state, stats);
    pthread_mutex_unlock(&self->lock);
    PyEval_RestoreThread(thread);
    if (error) raise_error(handle, error);
    handle_return(handle, CPU);
    return error ? -1 : 0;
}

static PyObject *read_array(struct state *state, struct accumulator *self, const struct reading *reading, int32_t ndim,
                            const int64_t *shape) {
    wf_output output = {.type = type_of_results(self->state, reading), .ndim = ndim, .shape = shape};
    wf_array laid = {.ndim = ndim, .shape = shape};
    Py_ssize_t nbytes = (Py_ssize_t)(array_count(&laid) * (int64_t)wf_type_nbytes(output.type));
    PyObject *result = NULL, *memory = PyByteArray_FromStringAndSize(NULL, nbytes);
    PyObject *tuple = memory ? make_shape(ndim, shape) : NULL;
    if (tuple) {
        output.data = PyByteArray_AsString(memory);
        if (!read_results(self, reading, &output, NULL, NULL))
            result = PyObject_CallMethod(state->kinds, "results", "OsO", memory,
                                         name_results(self->state, reading, output.type), tuple);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(memory);
    return result;
}

static PyObject *read_value(struct accumulator *self, const struct reading *reading) {
    wf_value value = {.type = WF_U64};
    wf_output output = {.data = &value.v, .type = WF_U64};
    bool is_count = reading->what != READ_OP;
    return read_results(self, reading, is_count ? &output : NULL, &value, NULL) ? NULL : python_value(&value);
}

static PyObject *read_stats(struct state *state, PyObject *self, int32_t ndim) {
    static const struct array python = {.kind = KIND_PYTHON};
    wf_stats stats = {.nbytes = sizeof stats};
    if (ndim) return PyObject_CallMethod(state->kinds, "read_stats", "(O)", self);
    if (read_results(accumulator_of(self), NULL, NULL, NULL, &stats)) return NULL;
    return make_stats(state, &python, &stats);
}

PyObject *accumulator_result(PyObject *self, PyTypeObject *type, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names) {
    static const struct signature signature = {"result", BIT(ARG_OP), 0, {ARG_OP, ARGUMENTS}};
    struct accumulator *accumulator = accumulator_of(self);
    struct state *state = PyType_GetModuleState(type);
    struct reading reading = {.what = READ_OP, .op = wf_accumulator_op(accumulator->state)};
    PyObject *values[ARGUMENTS];
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    if (arguments_read(&signature, arguments, count, names, values)) return NULL;
    if (read_what(values[ARG_OP], &reading)) return NULL;
    wf_accumulator_shape(accumulator->state, &ndim, shape);
    if (reading.what == READ_OP && reading.op == WF_STATS) return read_stats(state, self, ndim);
    return ndim ? read_array(state, accumulator, &reading, ndim, shape) : read_value(accumulator, &reading);
}
