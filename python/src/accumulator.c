/* The type Accumulator: a reduction in progress.  A lock of its own lets one thread at a time use it; it is taken with
 * the interpreter released, so that a thread that waits for it stops no other. */
#include "accumulator.h"

#include <stdlib.h>
#include <string.h>

/* ---- making */

static PyObject *make(PyTypeObject *type, wf_accumulator *state) {
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = state ? allocate(type, 0) : NULL;
    if (!self) {
        wf_accumulator_destroy(state);
        return NULL;
    }
    accumulator_of(self)->state = state;
    pthread_mutex_init(&accumulator_of(self)->lock, NULL);
    return self;
}

static void destroy(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    wf_accumulator_destroy(accumulator_of(self)->state);
    pthread_mutex_destroy(&accumulator_of(self)->lock);
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

static PyObject *new(PyTypeObject *type, PyObject *positional, PyObject *named) {
    static const struct signature signature = {
        "Accumulator",
        BIT(ARG_OP) | BIT(ARG_DTYPE) | BIT(ARG_SHAPE) | BIT(ARG_DDOF) | BIT(ARG_CORRECTION) | BIT(ARG_NAN) |
            BIT(ARG_FIRST_INDEX) | BIT(ARG_FILL) | BIT(ARG_SKIP),
        1,
        {ARG_OP, ARG_DTYPE, ARG_SHAPE, ARGUMENTS}};
    PyObject *values[ARGUMENTS];
    wf_reduction reduction = wf_reduction_of(WF_OP_NONE);
    wf_value fill;
    wf_type element = WF_F64;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    if (read_call(&signature, positional, named, values)) return NULL;
    bool is_read = !read_op(values[ARG_OP], &reduction.op) &&
                   !(values[ARG_DTYPE] && read_type(PyType_GetModuleState(type), values[ARG_DTYPE], &element)) &&
                   !read_shape(values[ARG_SHAPE], &ndim, shape) &&
                   !read_ddof(values[ARG_DDOF], values[ARG_CORRECTION], &reduction.ddof) &&
                   !(values[ARG_NAN] && read_nan(values[ARG_NAN], &reduction.nan)) &&
                   !(values[ARG_FIRST_INDEX] &&
                     read_int64(values[ARG_FIRST_INDEX], "first_index", &reduction.first_index)) &&
                   !read_fill(values[ARG_FILL], values[ARG_SKIP], &reduction, &fill);
    return is_read ? make(type, create(&reduction, element, ndim, shape)) : NULL;
}

/* ---- merging and subtracting */

typedef wf_error join(wf_handle *handle, wf_accumulator *into, const wf_accumulator *from);

static wf_error join_locked(join *function, struct accumulator *into, struct accumulator *from, wf_handle *handle) {
    struct accumulator *first = into < from ? into : from, *second = into < from ? from : into; /* one order for all */
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&first->lock);
    if (second != first) pthread_mutex_lock(&second->lock);
    wf_error error = function(handle, into->state, from->state);
    if (second != first) pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
    PyEval_RestoreThread(thread);
    return error;
}

static PyObject *join_into(join *function, PyObject *self, PyObject *other) {
    wf_handle *handle = handle_lend(CPU, 0);
    if (!handle) return NULL;
    wf_error error = join_locked(function, accumulator_of(self), accumulator_of(other), handle);
    if (error) raise_error(handle, error);
    handle_return(handle, CPU);
    if (error) return NULL;
    Py_INCREF(self);
    return self;
}

static PyObject *join_checked(join *function, PyObject *self, PyObject *other) {
    if (Py_TYPE(other) == Py_TYPE(self)) return join_into(function, self, other);
    PyErr_Format(PyExc_TypeError, "an Accumulator is needed, not %R", other);
    return NULL;
}

static PyObject *merge(PyObject *self, PyObject *other) {
    return join_checked(wf_accumulator_merge, self, other);
}

static PyObject *subtract(PyObject *self, PyObject *other) {
    return join_checked(wf_accumulator_subtract, self, other);
}

/* ---- the saved form */

/* Fills buffer, or memory that the caller frees by free where that is too small. */
static wf_error save_locked(struct accumulator *self, wf_handle *handle, char *buffer, size_t capacity, char **memory,
                            size_t *nbytes) {
    *memory = NULL;
    *nbytes = 0;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&self->lock);
    wf_error error = wf_accumulator_save(handle, self->state, buffer, capacity, nbytes);
    if (*nbytes > capacity) {
        *memory = malloc(*nbytes);
        error = *memory ? wf_accumulator_save(handle, self->state, *memory, *nbytes, nbytes) : WF_ERROR_MEMORY;
    }
    pthread_mutex_unlock(&self->lock);
    PyEval_RestoreThread(thread);
    return error;
}

static PyObject *save(PyObject *self, PyObject *Py_UNUSED(nothing)) {
    char buffer[WF_SAVED_NBYTES_MAX], *memory;
    size_t nbytes;
    PyObject *bytes = NULL;
    wf_handle *handle = handle_lend(CPU, 0);
    if (!handle) return NULL;
    wf_error error = save_locked(accumulator_of(self), handle, buffer, sizeof buffer, &memory, &nbytes);
    if (error == WF_ERROR_MEMORY) PyErr_NoMemory();
    else if (error) raise_error(handle, error);
    else bytes = PyBytes_FromStringAndSize(memory ? memory : buffer, (Py_ssize_t)nbytes);
    handle_return(handle, CPU);
    free(memory);
    return bytes;
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

static PyObject *join_copy(join *function, PyObject *left, PyObject *right) {
    if (Py_TYPE(left) != Py_TYPE(right)) Py_RETURN_NOTIMPLEMENTED;
    PyObject *made = copy(left, NULL);
    PyObject *joined = made ? join_into(function, made, right) : NULL;
    Py_XDECREF(made);
    return joined;
}

static PyObject *join_in_place(join *function, PyObject *left, PyObject *right) {
    if (Py_TYPE(left) != Py_TYPE(right)) Py_RETURN_NOTIMPLEMENTED;
    return join_into(function, left, right);
}

static PyObject *plus(PyObject *left, PyObject *right) {
    return join_copy(wf_accumulator_merge, left, right);
}

static PyObject *plus_in_place(PyObject *left, PyObject *right) {
    return join_in_place(wf_accumulator_merge, left, right);
}

static PyObject *minus(PyObject *left, PyObject *right) {
    return join_copy(wf_accumulator_subtract, left, right);
}

static PyObject *minus_in_place(PyObject *left, PyObject *right) {
    return join_in_place(wf_accumulator_subtract, left, right);
}

/* ---- what it tells of itself */

static PyObject *get_op(PyObject *self, void *Py_UNUSED(closure)) {
    return PyUnicode_FromString(wf_op_name(wf_accumulator_op(accumulator_of(self)->state)));
}

static PyObject *get_dtype(PyObject *self, void *Py_UNUSED(closure)) {
    return PyObject_CallMethod(((struct state *)PyType_GetModuleState(Py_TYPE(self)))->kinds, "dtype_name", "s",
                               wf_type_name(wf_accumulator_type(accumulator_of(self)->state)));
}

static PyObject *get_count(PyObject *self, void *Py_UNUSED(closure)) {
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&accumulator_of(self)->lock);
    int64_t count = wf_accumulator_count(accumulator_of(self)->state);
    pthread_mutex_unlock(&accumulator_of(self)->lock);
    PyEval_RestoreThread(thread);
    return PyLong_FromLongLong(count);
}

static PyObject *get_shape(PyObject *self, void *Py_UNUSED(closure)) {
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    wf_accumulator_shape(accumulator_of(self)->state, &ndim, shape);
    return make_shape(ndim, shape);
}

static PyObject *describe(PyObject *self) {
    PyObject *count = get_count(self, NULL);
    PyObject *dtype = count ? get_dtype(self, NULL) : NULL;
    PyObject *shape = dtype ? get_shape(self, NULL) : NULL;
    PyObject *text = NULL;
    if (shape) {
        const char *op = wf_op_name(wf_accumulator_op(accumulator_of(self)->state));
        text = PyTuple_Size(shape)
                   ? PyUnicode_FromFormat("<Accumulator of %U: %S results, %s of %S elements>", dtype, shape, op, count)
                   : PyUnicode_FromFormat("<Accumulator of %U: %s of %S elements>", dtype, op, count);
    }
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    Py_XDECREF(count);
    return text;
}

/* ---- the type */

#define AS_METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"update", AS_METHOD(accumulator_update), METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
     "update($self, a, b=None, *, axis=None, ids=None, threads=0, device=None)\n--\n\n"
     "Adds every element of a (for vecdot, paired with b), and returns self.  After an error nothing was added.\n\n"
     "With a shape, the elements along axis (an int or a tuple) come together, and the other dimensions are the shape;\n"
     "axis=None: the first dimensions, as many as a has more than the shape.  With ids, an integer for each position of\n"
     "axis (0), elements with equal ids come together in the result that their id counts."},
    {"merge", merge, METH_O,
     "merge($self, other, /)\n--\n\nAdds the elements of other, and returns self; + gives a new Accumulator."},
    {"subtract", subtract, METH_O,
     "subtract($self, other, /)\n--\n\n"
     "Takes out the elements of other, which were added before, and returns self; - gives a new Accumulator.\n\n"
     "What remains is exactly what the other elements give: nothing drifts.  For sum, mean, var, std, norm1, norm2,\n"
     "vecdot, any, all, count_nonzero and xor; other ops are a TypeError, and what was not added a ValueError, as is an\n"
     "infinity."},
    {"result", AS_METHOD(accumulator_result), METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
     "result($self, op=None)\n--\n\n"
     "The result so far, as a Python number; of another op, if its state determines that, too: var gives mean.  Every\n"
     "Accumulator tells 'count' and 'nans': its elements, without NaNs that are omitted, and its NaNs.  That of stats\n"
     "gives a Stats.\n"
     "With a shape, an array of NumPy's if NumPy has been imported, otherwise nested lists."},
    {"bytes", save, METH_NOARGS,
     "bytes($self, /)\n--\n\nThe saved form, the same on every machine: equal reductions give equal bytes."},
    {"__bytes__", save, METH_NOARGS, NULL},
    {"from_bytes", load, METH_CLASS | METH_O, "from_bytes($type, saved, /)\n--\n\nThe Accumulator that was saved."},
    {"word_settings", accumulator_word_settings, METH_NOARGS,
     "word_settings($self, /)\n--\n\n"
     "An int of 64 bits, a hash of reduction, dtype and shape: words of accumulators with other settings do not go together."},
    {"words", accumulator_words, METH_NOARGS,
     "words($self, /)\n--\n\n"
     "(added, largest): memoryviews of int64, for collectives that know nothing of accumulators.\n\n"
     "On every rank the same ones of a reduction, dtype and shape: what a collective makes of them, which adds up the\n"
     "first and takes the largest of the second, in any order, is for take_words.  Not of prod."},
    {"index_words", accumulator_index_words, METH_O,
     "index_words($self, largest, /)\n--\n\n"
     "Words of which the collective takes the largest in a second round: where there are any, as of argmax.\n\n"
     "largest: that of all ranks."},
    {"take_words", accumulator_take_words, METH_VARARGS,
     "take_words($self, added, largest, indices=None, /)\n--\n\n"
     "Makes this the accumulator of all ranks' elements, and returns self: the bytes of those merged."},
    {"device_word_counts", accumulator_device_word_counts, METH_NOARGS,
     "device_word_counts($self, /)\n--\n\n"
     "(sums, largest, indices): the lengths of the parts of device_words' words; without a shape 256, 8 and 4."},
    {"device_words", accumulator_device_words, METH_VARARGS,
     "device_words($self, a, words, first_index=0, joins=False, axis=None, ids=None, /)\n--\n\n"
     "Leaves the words of an array in CUDA memory there, in stream order, and returns words, a vector of int64 there.\n\n"
     "Its first part is to be added up, of its second the largest is taken; where index_words has any, device_settle leaves\n"
     "those of its third of which then the largest is taken (device_word_counts tells the parts).  What this Accumulator holds\n"
     "does not matter.  joins: the words come to those that are there, as another rank's.  axis, ids: as those of update, where\n"
     "it has a shape; ids that are out of range leave a rank that failed."},
    {"device_settle", accumulator_device_settle, METH_VARARGS,
     "device_settle($self, words, own, /)\n--\n\n"
     "The second round: words with the largest of all ranks; own: their second part as it was before."},
    {"device_result", accumulator_device_result, METH_O,
     "device_result($self, words, /)\n--\n\n"
     "The result of all ranks' words, left in CUDA memory in stream order, as an array of its shape.\n\n"
     "NaN (of integers 0) where there is none, a rank failed, which writes 1 to words[0] instead, or settings differ."},
    {"copy", copy, METH_NOARGS, "copy($self, /)\n--\n\nA new Accumulator with the same elements."},
    {"__copy__", copy, METH_NOARGS, NULL},
    {"__deepcopy__", copy, METH_O, NULL},
    {"__reduce__", reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"op", get_op, NULL, "The op's name.", NULL},
    {"dtype", get_dtype, NULL, "The elements' dtype by name: 'float64'.", NULL},
    {"shape", get_shape, NULL, "The shape of the results; () of a single one.", NULL},
    {"count", get_count, NULL, "The number of elements so far, NaNs included; of all results together.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

int add_accumulator(PyObject *module) {
    static PyType_Slot slots[] = {
        {Py_tp_doc,
         "Accumulator(op, dtype='float64', shape=(), *, ddof=0, correction=None, nan='propagate', first_index=0,\n"
         "            fill=None, skip_bad_keys=False)\n"
         "--\n\n"
         "A reduction in progress, or with a shape an array of them.  However the elements are split over accumulators,\n"
         "and in whatever order these are merged, the results have the same bits; what is subtracted was never there.\n"
         "fill: what a result without a value gives; skip_bad_keys: ids that count no result are left out.\n"
         "Threads may share one.\n\n"
         ">>> total = Accumulator('mean').update([1.0, 2.0]) + Accumulator('mean').update([6.0])\n"
         ">>> total.result(), total.count\n(3.0, 3)\n"
         ">>> columns = Accumulator('sum', shape=2).update([[1e100, 1.0], [2.0, 3.0]])\n"
         ">>> left, right = (columns - Accumulator('sum', shape=2).update([[1e100, 0.0]])).result()\n"
         ">>> float(left), float(right)\n(2.0, 4.0)\n"
         ">>> keyed = Accumulator('max', shape=2).update([5.0, 7.0, 6.0], ids=[1, 0, 1])\n"
         ">>> [float(largest) for largest in keyed.result()]\n[7.0, 6.0]\n"},
        {Py_tp_new, (void *)new},
        {Py_tp_dealloc, (void *)destroy},
        {Py_tp_methods, methods},
        {Py_tp_getset, properties},
        {Py_tp_repr, (void *)describe},
        {Py_nb_add, (void *)plus},
        {Py_nb_inplace_add, (void *)plus_in_place},
        {Py_nb_subtract, (void *)minus},
        {Py_nb_inplace_subtract, (void *)minus_in_place},
        {0, NULL},
    };
    static PyType_Spec spec = {"warpfold.Accumulator", sizeof(struct accumulator), 0, Py_TPFLAGS_DEFAULT, slots};
    struct state *state = state_of(module);
    state->accumulator = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return state->accumulator ? PyModule_AddType(module, state->accumulator) : -1;
}
