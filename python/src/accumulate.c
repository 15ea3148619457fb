/* Adding arrays to an Accumulator, and reading its results. */
#include "accumulator.h"

/* ---- adding */

/* What one call adds.  Without groups all elements come together. */
struct added {
    struct array a, b, ids;
    bool has_b, has_ids, has_groups;
    wf_groups groups;
};

static void added_release(struct added *added) {
    if (added->has_ids) array_release(&added->ids);
    if (added->has_b) array_release(&added->b);
    array_release(&added->a);
}

static int added_take(struct state *state, struct added *added, PyObject *const *values) {
    added->has_b = added->has_ids = added->has_groups = false;
    if (array_take(state, values[ARG_A], &added->a)) return -1;
    if (values[ARG_B] && !array_take(state, values[ARG_B], &added->b)) added->has_b = true;
    if (!PyErr_Occurred() && values[ARG_IDS] && !array_take(state, values[ARG_IDS], &added->ids)) added->has_ids = true;
    if (!PyErr_Occurred()) return 0;
    added_release(added);
    return -1;
}

/* The groups whose results have the accumulator's shape. */
static int read_groups(const wf_accumulator *accumulator, struct added *added, PyObject *axis) {
    int32_t ndim, position = 0, a_ndim = added->a.view.ndim;
    int64_t shape[WF_NDIM_MAX];
    uint64_t axes = 0;
    wf_accumulator_shape(accumulator, &ndim, shape);
    added->has_groups = ndim || axis || added->has_ids;
    if (!added->has_groups) return 0;
    if (added->has_ids) {
        if (axis && read_axis(axis, a_ndim, &position)) return -1;
        see_integers(&added->ids);
        added->groups = wf_groups_keys(position, position < ndim ? shape[position] : 0, &added->ids.view);
        return 0;
    }
    if (axis && read_axes(axis, a_ndim, &axes)) return -1;
    if (!axis && a_ndim > ndim) axes = ((uint64_t)1 << (a_ndim - ndim)) - 1;
    added->groups = wf_groups_axes(axes);
    return 0;
}

static wf_error add(struct accumulator *self, wf_handle *handle, const struct added *added) {
    wf_error error = WF_OK;
    const struct array *a = &added->a;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&self->lock);
    if (a->is_on_gpu) error = wf_handle_set_stream(handle, a->stream);
    if (!error)
        error = wf_accumulator_add(handle, self->state, &a->view, added->has_b ? &added->b.view : NULL,
                                   added->has_groups ? &added->groups : NULL);
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
    struct accumulator *accumulator = (struct accumulator *)self;
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

/* What the results are called: indices and counts are read as int64, as NumPy has them, whose bits are the same. */
static const char *name_results(const wf_accumulator *accumulator, wf_op op, wf_type type) {
    bool is_count = type == WF_U64 && numpy_result_type(op, wf_accumulator_type(accumulator)) == WF_I64;
    return wf_type_name(is_count ? WF_I64 : type);
}

/* Reads one value, or all that the output takes. */
static int read_results(struct accumulator *self, wf_op op, const wf_output *output, wf_value *value) {
    wf_handle *handle = handle_lend(CPU, 0);
    if (!handle) return -1;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&self->lock);
    wf_error error = output ? wf_accumulator_result(handle, self->state, op, output)
                            : wf_accumulator_value(handle, self->state, op, value);
    pthread_mutex_unlock(&self->lock);
    PyEval_RestoreThread(thread);
    if (error) raise_error(handle, error);
    handle_return(handle, CPU);
    return error ? -1 : 0;
}

static PyObject *read_array(struct state *state, struct accumulator *self, wf_op op, int32_t ndim,
                            const int64_t *shape) {
    wf_output output = {.type = wf_accumulator_op_result_type(self->state, op), .ndim = ndim, .shape = shape};
    wf_array laid = {.ndim = ndim, .shape = shape};
    Py_ssize_t nbytes = (Py_ssize_t)(array_count(&laid) * (int64_t)wf_type_nbytes(output.type));
    PyObject *result = NULL, *memory = PyByteArray_FromStringAndSize(NULL, nbytes);
    PyObject *tuple = memory ? make_shape(ndim, shape) : NULL;
    if (tuple) {
        output.data = PyByteArray_AsString(memory);
        if (!read_results(self, op, &output, NULL))
            result = PyObject_CallMethod(state->kinds, "results", "OsO", memory,
                                         name_results(self->state, op, output.type), tuple);
    }
    Py_XDECREF(tuple);
    Py_XDECREF(memory);
    return result;
}

PyObject *accumulator_result(PyObject *self, PyTypeObject *type, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names) {
    static const struct signature signature = {"result", BIT(ARG_OP), 0, {ARG_OP, ARGUMENTS}};
    struct accumulator *accumulator = (struct accumulator *)self;
    wf_op op = wf_accumulator_op(accumulator->state);
    PyObject *values[ARGUMENTS];
    wf_value value;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    if (arguments_read(&signature, arguments, count, names, values)) return NULL;
    if (values[ARG_OP] && accumulator_read_op(values[ARG_OP], &op)) return NULL;
    wf_accumulator_shape(accumulator->state, &ndim, shape);
    if (ndim) return read_array(PyType_GetModuleState(type), accumulator, op, ndim, shape);
    return read_results(accumulator, op, NULL, &value) ? NULL : python_value(&value);
}
