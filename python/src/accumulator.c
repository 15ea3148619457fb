/* The type Accumulator: a reduction in progress.  A lock of its own lets one thread at a time use it; it is taken with
 * the interpreter released, so that a thread that waits for it stops no other. */
#include "core.h"

#include <pthread.h>
#include <string.h>

struct accumulator {
    PyObject_HEAD
    wf_accumulator *state;
    pthread_mutex_t lock;
};

static struct accumulator *of(PyObject *self) {
    return (struct accumulator *)self;
}

/* ---- making */

static PyObject *make(PyTypeObject *type, wf_accumulator *state) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = state ? allocate(type, 0) : NULL;
    if (!self) {
        wf_accumulator_destroy(state);
        return NULL;
    }
    of(self)->state = state;
    pthread_mutex_init(&of(self)->lock, NULL);
    return self;
}

static void destroy(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    wf_accumulator_destroy(of(self)->state);
    pthread_mutex_destroy(&of(self)->lock);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* Each call borrows a CPU handle, for messages and threads. */
static wf_accumulator *create(const wf_reduction *reduction, wf_type type, int32_t ndim, const int64_t *shape) {
    wf_accumulator *state = NULL;
    wf_handle *handle = handle_lend(CPU, 0);
    if (!handle) return NULL;
    wf_error error = wf_accumulator_create(handle, reduction, type, ndim, shape, &state);
    if (error) raise_error(handle, error);
    handle_return(handle, CPU);
    return state;
}

static int read_shape(PyObject *given, int32_t *ndim, int64_t *shape) {
    *ndim = 0;
    if (!given) return 0;
    PyObject *tuple = PyLong_Check(given) ? Py_BuildValue("(O)", given) : PySequence_Tuple(given);
    if (!tuple) return -1;
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count > WF_NDIM_MAX) PyErr_Format(PyExc_ValueError, "at most %d dimensions are supported", WF_NDIM_MAX);
    for (Py_ssize_t d = 0; !PyErr_Occurred() && d < count; d++)
        if (!read_int64(PyTuple_GetItem(tuple, d), "shape", &shape[d])) *ndim = (int32_t)d + 1;
    Py_DECREF(tuple);
    return PyErr_Occurred() ? -1 : 0;
}

static int read_op(PyObject *name, wf_op *op) {
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (!text && PyErr_Occurred()) return -1;
    *op = text && !strcmp(text, "count_nonzero") ? WF_NONZERO : text && !strcmp(text, "vecdot") ? WF_DOT
                                                                                               : wf_op_parse(text);
    if (*op) return 0;
    PyErr_Format(PyExc_ValueError, "unknown op %R: use sum, mean, var, std, min, max, argmin, argmax, prod, any, all, "
                                   "count_nonzero, norm1, norm2, norminf, vecdot, and, or, xor or stats", name);
    return -1;
}

/* The arguments of a type's call as those of a function: types have no faster form in the limited API. */
static int read_call(const struct signature *signature, PyObject *positional, PyObject *named, PyObject **values) {
    PyObject *arguments[ARGUMENTS], *names = PyTuple_New(named ? PyDict_Size(named) : 0), *name, *value;
    Py_ssize_t count = PyTuple_Size(positional), at = 0, place = 0;
    if (!names) return -1;
    if (count + PyTuple_Size(names) > ARGUMENTS) {
        Py_DECREF(names);
        PyErr_Format(PyExc_TypeError, "%s() takes fewer arguments", signature->name);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) arguments[i] = PyTuple_GetItem(positional, i);
    while (named && PyDict_Next(named, &place, &name, &value)) {
        Py_INCREF(name);
        PyTuple_SetItem(names, at, name);
        arguments[count + at++] = value;
    }
    int status = arguments_read(signature, arguments, count, names, values);
    Py_DECREF(names);
    return status;
}

static struct state *state_of_type(PyTypeObject *type) {
    return PyType_GetModuleState(type);
}

static PyObject *new(PyTypeObject *type, PyObject *positional, PyObject *named) {
    static const struct signature signature = {
        "Accumulator",
        BIT(ARG_OP) | BIT(ARG_DTYPE) | BIT(ARG_SHAPE) | BIT(ARG_DDOF) | BIT(ARG_CORRECTION) | BIT(ARG_NAN) |
            BIT(ARG_FIRST_INDEX),
        1,
        {ARG_OP, ARG_DTYPE, ARG_SHAPE, ARGUMENTS}};
    PyObject *values[ARGUMENTS];
    wf_reduction reduction = wf_reduction_of(WF_OP_NONE);
    wf_type element = WF_F64;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    if (read_call(&signature, positional, named, values)) return NULL;
    bool is_read = !read_op(values[ARG_OP], &reduction.op) &&
                   !(values[ARG_DTYPE] && read_type(state_of_type(type), values[ARG_DTYPE], &element)) &&
                   !read_shape(values[ARG_SHAPE], &ndim, shape) &&
                   !read_ddof(values[ARG_DDOF], values[ARG_CORRECTION], &reduction.ddof) &&
                   !(values[ARG_NAN] && read_nan(values[ARG_NAN], &reduction.nan)) &&
                   !(values[ARG_FIRST_INDEX] &&
                     read_int64(values[ARG_FIRST_INDEX], "first_index", &reduction.first_index));
    return is_read ? make(type, create(&reduction, element, ndim, shape)) : NULL;
}

/* ---- adding */

static wf_error add(struct accumulator *self, wf_handle *handle, const struct array *a, const struct array *b) {
    wf_error error = WF_OK;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&self->lock);
    if (a->is_on_gpu) error = wf_handle_set_stream(handle, a->stream);
    if (!error) error = wf_accumulator_add(handle, self->state, &a->view, b ? &b->view : NULL, NULL);
    pthread_mutex_unlock(&self->lock);
    PyEval_RestoreThread(thread);
    return error;
}

static PyObject *update(PyObject *self, PyTypeObject *type, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names) {
    static const struct signature signature = {
        "update", BIT(ARG_A) | BIT(ARG_B) | BIT(ARG_THREADS) | BIT(ARG_DEVICE), 1, {ARG_A, ARG_B, ARGUMENTS}};
    PyObject *values[ARGUMENTS];
    struct state *state = state_of_type(type);
    struct array a, b;
    const char *device = NULL;
    int32_t threads = 0;
    if (arguments_read(&signature, arguments, count, names, values)) return NULL;
    if (values[ARG_THREADS] && read_threads(values[ARG_THREADS], &threads)) return NULL;
    if (values[ARG_DEVICE] && read_device(values[ARG_DEVICE], &device)) return NULL;
    if (array_take(state, values[ARG_A], &a)) return NULL;
    if (values[ARG_B] && array_take(state, values[ARG_B], &b)) return array_release(&a), NULL;
    if (!device) device = a.is_on_gpu ? "auto" : CPU;
    wf_handle *handle = check_memory(&a, values[ARG_B] ? &b : NULL, device) ? NULL : handle_lend(device, threads);
    if (handle) {
        wf_error error = add(of(self), handle, &a, values[ARG_B] ? &b : NULL);
        if (error) raise_error(handle, error);
        handle_return(handle, device);
    }
    if (values[ARG_B]) array_release(&b);
    array_release(&a);
    if (PyErr_Occurred()) return NULL;
    Py_INCREF(self);
    return self;
}

/* ---- merging */

static wf_error merge_locked(struct accumulator *into, struct accumulator *from, wf_handle *handle) {
    struct accumulator *first = into < from ? into : from, *second = into < from ? from : into; /* one order for all */
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&first->lock);
    if (second != first) pthread_mutex_lock(&second->lock);
    wf_error error = wf_accumulator_merge(handle, into->state, from->state);
    if (second != first) pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
    PyEval_RestoreThread(thread);
    return error;
}

static PyObject *merge_into(PyObject *self, PyObject *other) {
    wf_handle *handle = handle_lend(CPU, 0);
    if (!handle) return NULL;
    wf_error error = merge_locked(of(self), of(other), handle);
    if (error) raise_error(handle, error);
    handle_return(handle, CPU);
    if (error) return NULL;
    Py_INCREF(self);
    return self;
}

static PyObject *merge(PyObject *self, PyObject *other) {
    if (Py_TYPE(other) == Py_TYPE(self)) return merge_into(self, other);
    PyErr_Format(PyExc_TypeError, "merge() takes an Accumulator, not %R", other);
    return NULL;
}

/* ---- the saved form */

static PyObject *save(PyObject *self, PyObject *Py_UNUSED(nothing)) {
    char buffer[WF_SAVED_NBYTES_MAX];
    size_t nbytes = 0;
    wf_handle *handle = handle_lend(CPU, 0);
    if (!handle) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&of(self)->lock);
    wf_error error = wf_accumulator_save(handle, of(self)->state, buffer, sizeof buffer, &nbytes);
    pthread_mutex_unlock(&of(self)->lock);
    PyEval_RestoreThread(thread);
    if (error) raise_error(handle, error);
    handle_return(handle, CPU);
    return error ? NULL : PyBytes_FromStringAndSize(buffer, (Py_ssize_t)nbytes);
}

static PyObject *load(PyObject *type, PyObject *bytes) {
    Py_buffer buffer;
    wf_accumulator *state = NULL;
    if (PyObject_GetBuffer(bytes, &buffer, PyBUF_SIMPLE)) return NULL;
    wf_handle *handle = handle_lend(CPU, 0);
    if (handle) {
        wf_error error = wf_accumulator_load(handle, buffer.buf, (size_t)buffer.len, &state);
        if (error) raise_error(handle, error);
        handle_return(handle, CPU);
    }
    PyBuffer_Release(&buffer);
    return make((PyTypeObject *)type, state);
}

static PyObject *copy(PyObject *self, PyObject *Py_UNUSED(nothing)) {
    PyObject *bytes = save(self, NULL);
    PyObject *made = bytes ? load((PyObject *)Py_TYPE(self), bytes) : NULL;
    Py_XDECREF(bytes);
    return made;
}

static PyObject *reduce(PyObject *self, PyObject *Py_UNUSED(nothing)) {
    PyObject *loader = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "from_bytes");
    PyObject *bytes = loader ? save(self, NULL) : NULL;
    PyObject *made = bytes ? Py_BuildValue("O(O)", loader, bytes) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(loader);
    return made;
}

static PyObject *plus(PyObject *left, PyObject *right) {
    if (Py_TYPE(left) != Py_TYPE(right)) Py_RETURN_NOTIMPLEMENTED;
    PyObject *made = copy(left, NULL);
    PyObject *merged = made ? merge_into(made, right) : NULL;
    Py_XDECREF(made);
    return merged;
}

static PyObject *plus_in_place(PyObject *left, PyObject *right) {
    if (Py_TYPE(left) != Py_TYPE(right)) Py_RETURN_NOTIMPLEMENTED;
    return merge_into(left, right);
}

/* ---- results */

static PyObject *result(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    wf_op op = wf_accumulator_op(of(self)->state);
    wf_value value;
    if (count > 1) return PyErr_SetString(PyExc_TypeError, "result() takes at most one op"), NULL;
    if (count && read_op(arguments[0], &op)) return NULL;
    wf_handle *handle = handle_lend(CPU, 0);
    if (!handle) return NULL;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&of(self)->lock);
    wf_error error = wf_accumulator_value(handle, of(self)->state, op, &value);
    pthread_mutex_unlock(&of(self)->lock);
    PyEval_RestoreThread(thread);
    if (error) raise_error(handle, error);
    handle_return(handle, CPU);
    return error ? NULL : python_value(&value);
}

static PyObject *get_op(PyObject *self, void *Py_UNUSED(closure)) {
    return PyUnicode_FromString(wf_op_name(wf_accumulator_op(of(self)->state)));
}

static PyObject *get_dtype(PyObject *self, void *Py_UNUSED(closure)) {
    return PyObject_CallMethod(state_of_type(Py_TYPE(self))->kinds, "dtype_name", "s",
                               wf_type_name(wf_accumulator_type(of(self)->state)));
}

static PyObject *get_count(PyObject *self, void *Py_UNUSED(closure)) {
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&of(self)->lock);
    int64_t count = wf_accumulator_count(of(self)->state);
    pthread_mutex_unlock(&of(self)->lock);
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(count);
}

static PyObject *describe(PyObject *self) {
    PyObject *count = get_count(self, NULL);
    PyObject *dtype = count ? get_dtype(self, NULL) : NULL;
    PyObject *text = dtype ? PyUnicode_FromFormat("<Accumulator of %U: %s of %S elements>", dtype,
                                                  wf_op_name(wf_accumulator_op(of(self)->state)), count) : NULL;
    Py_XDECREF(dtype);
    Py_XDECREF(count);
    return text;
}

/* ---- the type */

#define AS_METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"update", AS_METHOD(update), METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
     "update($self, a, b=None, *, threads=0, device=None)\n--\n\n"
     "Adds every element of a (for vecdot, paired with b), and returns self.  After an error nothing was added."},
    {"merge", merge, METH_O,
     "merge($self, other, /)\n--\n\nAdds the elements of other, and returns self; + gives a new Accumulator."},
    {"result", AS_METHOD(result), METH_FASTCALL,
     "result($self, op=None, /)\n--\n\n"
     "The result so far, as a Python number; of another op, if its state determines that, too: var gives mean."},
    {"bytes", save, METH_NOARGS,
     "bytes($self, /)\n--\n\nThe saved form, the same on every machine: equal reductions give equal bytes."},
    {"__bytes__", save, METH_NOARGS, NULL},
    {"from_bytes", load, METH_CLASS | METH_O, "from_bytes($type, saved, /)\n--\n\nThe Accumulator that was saved."},
    {"copy", copy, METH_NOARGS, "copy($self, /)\n--\n\nA new Accumulator with the same elements."},
    {"__copy__", copy, METH_NOARGS, NULL},
    {"__deepcopy__", copy, METH_O, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"op", get_op, NULL, "The op's name.", NULL},
    {"dtype", get_dtype, NULL, "The elements' dtype by name: 'float64'.", NULL},
    {"count", get_count, NULL, "The number of elements so far, NaNs included.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

int add_accumulator(PyObject *module) {
    static PyType_Slot slots[] = {
        {Py_tp_doc,
         "Accumulator(op, dtype='float64', shape=(), *, ddof=0, correction=None, nan='propagate', first_index=0)\n"
         "--\n\n"
         "A reduction in progress.  However the elements are split over accumulators, and in whatever order these are\n"
         "merged, the result has the same bits.  Threads may share one.\n\n"
         ">>> total = Accumulator('mean').update([1.0, 2.0]) + Accumulator('mean').update([6.0])\n"
         ">>> total.result(), total.count\n(3.0, 3)\n"},
        {Py_tp_new, (void *)new},
        {Py_tp_dealloc, (void *)destroy},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_repr, (void *)describe},
        {Py_nb_add, (void *)plus},
        {Py_nb_inplace_add, (void *)plus_in_place},
        {0, NULL},
    };
    static PyType_Spec spec = {"warpfold.Accumulator", sizeof(struct accumulator), 0, Py_TPFLAGS_DEFAULT, slots};
    struct state *state = state_of(module);
    state->accumulator = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->accumulator ? PyModule_AddType(module, state->accumulator) : -1;
}
