/* Takes the caller's arrays in. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

int64_t array_count(const wf_array *view) {
    int64_t count = 1;
    for (int32_t d = 0; d < view->ndim; d++) count *= view->shape[d]; /* fits: the array is in memory, or empty */
    return count;
}

void contiguous_strides(int32_t ndim, const int64_t *shape, int64_t nbytes, int64_t *stride_bytes) {
    for (int32_t d = ndim - 1; d >= 0; d--) {
        stride_bytes[d] = nbytes;
        nbytes *= shape[d];
    }
}

int find_attribute(PyObject *object, const char *name, PyObject **attribute) {
    *attribute = PyObject_GetAttrString(object, name);
    if (*attribute) return 1;
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    PyErr_Clear();
    return 0;
}

/* ---- buffers */

static wf_type type_of_size(const wf_type types[4], Py_ssize_t nbytes) {
    switch (nbytes) {
    case 1: return types[0];
    case 2: return types[1];
    case 4: return types[2];
    case 8: return types[3];
    default: return WF_TYPE_DEFAULT;
    }
}

wf_type type_of_format(const char *format, Py_ssize_t nbytes, bool *is_swapped) {
    static const wf_type floats[] = {0, WF_F16, WF_F32, WF_F64}, bools[] = {WF_BOOL},
                         signed_integers[] = {WF_I8, WF_I16, WF_I32, WF_I64},
                         unsigned_integers[] = {WF_U8, WF_U16, WF_U32, WF_U64};
    const bool is_little = *(const char *)&(const int){1};
    *is_swapped = false;
    if (!format) format = "B";
    if (strchr("<>=@!", *format) && *format) {
        bool is_native = *format == '=' || *format == '@' || (*format == '<') == is_little;
        *is_swapped = !is_native && nbytes > 1;
        format++;
    }
    if (!format[0] || format[1]) return WF_TYPE_DEFAULT; /* a structure, or several */
    if (*format == 'd' || *format == 'f' || *format == 'e') return type_of_size(floats, nbytes);
    if (strchr("bhilqn", *format)) return type_of_size(signed_integers, nbytes);
    if (strchr("BHILQN", *format)) return type_of_size(unsigned_integers, nbytes);
    return *format == '?' && nbytes == 1 ? bools[0] : WF_TYPE_DEFAULT;
}

static int take_buffer_as(PyObject *object, struct array *array, wf_type type) {
    if (PyObject_GetBuffer(object, &array->buffer, PyBUF_RECORDS_RO)) return -1;
    array->has_buffer = true;
    const Py_buffer *buffer = &array->buffer;
    bool is_swapped = false;
    if (!type) type = type_of_format(buffer->format, buffer->itemsize, &is_swapped);
    if (!type) {
        PyErr_Format(PyExc_TypeError,
                     "elements of format '%s' (%zd bytes) are not supported: convert the array to bool, an integer of "
                     "8 to 64 bits, float16, bfloat16, float32 or float64",
                     buffer->format ? buffer->format : "", buffer->itemsize);
        return -1;
    }
    array->view = (wf_array){.data = buffer->buf, .type = type, .ndim = buffer->ndim, .shape = array->shape,
                             .stride_bytes = array->stride_bytes};
    array->is_read_only = buffer->readonly;
    for (int d = 0; d < buffer->ndim; d++) {
        array->shape[d] = buffer->shape[d];
        array->stride_bytes[d] = buffer->strides[d];
    }
    return is_swapped ? array_copy(array, true) : 0;
}

static int take_buffer(PyObject *object, struct array *array) {
    array->kind = KIND_BUFFER;
    return take_buffer_as(object, array, WF_TYPE_DEFAULT);
}

/* ---- NumPy */

/* NumPy's bfloat16 (of ml_dtypes) has no buffer: its bits are seen as uint16. */
static int take_numpy_bfloat16(PyObject *object, struct array *array) {
    array->held = PyObject_CallMethod(object, "view", "s", "uint16");
    return array->held ? take_buffer_as(array->held, array, WF_BF16) : -1;
}

/* The exception that GetBuffer left says nothing to a user. */
static int explain_numpy_type(PyObject *name) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError,
                 "elements of dtype %U are not supported: convert the array to bool, an integer of 8 to 64 bits, "
                 "float16, bfloat16, float32 or float64", name);
    return -1;
}

static int take_numpy_without_buffer(PyObject *object, struct array *array) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    Py_XDECREF(dtype);
    PyErr_Restore(type, value, traceback);
    if (!name) return -1;
    int taken;
    if (!PyUnicode_CompareWithASCIIString(name, "bfloat16")) {
        PyErr_Clear();
        taken = take_numpy_bfloat16(object, array);
    } else {
        taken = explain_numpy_type(name);
    }
    Py_DECREF(name);
    return taken;
}

static int take_numpy(PyObject *object, struct array *array) {
    array->kind = KIND_NUMPY;
    if (!take_buffer_as(object, array, WF_TYPE_DEFAULT)) return 0;
    if (array->has_buffer || PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    return take_numpy_without_buffer(object, array);
}

/* Puts a new reference where none is yet; without the interpreter's lock, another thread may have been first. */
static void keep_first(PyObject **place, PyObject *object) {
    PyObject *nothing = NULL;
    if (!__atomic_compare_exchange_n(place, &nothing, object, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        Py_DECREF(object);
}

static void keep_attribute(PyObject **place, PyObject *owner, const char *name) {
    PyObject *object = *place || PyErr_Occurred() ? NULL : PyObject_GetAttrString(owner, name);
    if (object) keep_first(place, object);
}

/* Keeps what results in NumPy's kind need, from the first array that is met; the type of arrays comes last. */
static int meet_numpy(struct state *state) {
    static const char *const names[] = {[WF_BOOL] = "bool_", [WF_I8] = "int8", [WF_I16] = "int16",
                                        [WF_I32] = "int32", [WF_I64] = "int64", [WF_U8] = "uint8",
                                        [WF_U16] = "uint16", [WF_U32] = "uint32", [WF_U64] = "uint64",
                                        [WF_F16] = "float16", [WF_F32] = "float32", [WF_F64] = "float64"};
    PyObject *numpy = PyImport_ImportModule("numpy"); /* there already: one of its objects is here */
    if (!numpy) return -1;
    for (size_t type = 0; type < sizeof names / sizeof names[0]; type++) {
        if (names[type]) keep_attribute(&state->scalars[type], numpy, names[type]);
    }
    keep_attribute(&state->empty, numpy, "empty");
    if (!PyErr_Occurred()) probe_scalars(state);
    keep_attribute(&state->ndarray, numpy, "ndarray");
    Py_DECREF(numpy);
    return PyErr_Occurred() ? -1 : 0;
}

/* Whether a class of the object's, other than the object's own type perhaps, is the one of that module and name. */
static int has_class(PyObject *object, const char *module, const char *name) {
    PyObject *classes = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__mro__");
    if (!classes) return -1;
    int found = 0;
    for (Py_ssize_t i = 0; !found && i < PyTuple_Size(classes); i++) {
        PyObject *class = PyTuple_GetItem(classes, i);
        PyObject *its_name = PyObject_GetAttrString(class, "__name__");
        PyObject *its_module = its_name ? PyObject_GetAttrString(class, "__module__") : NULL;
        if (!its_module) found = -1;
        else if (PyUnicode_Check(its_name) && PyUnicode_Check(its_module))
            found = !PyUnicode_CompareWithASCIIString(its_name, name) &&
                    !PyUnicode_CompareWithASCIIString(its_module, module);
        Py_XDECREF(its_name);
        Py_XDECREF(its_module);
    }
    Py_DECREF(classes);
    return found;
}

static int refuse_masked(PyObject *object) {
    PyObject *mask;
    int found = find_attribute(object, "_mask", &mask);
    if (found <= 0) return found;
    Py_DECREF(mask);
    PyErr_SetString(PyExc_TypeError, "masked arrays are not supported, since their mask would be ignored: pass "
                                     "a.compressed(), or a.data with where=~a.mask");
    return -1;
}

/* 1: an object of NumPy's, 0: of another's. */
static int is_numpy(struct state *state, PyObject *object) {
    int is_array = has_class(object, "numpy", "ndarray");
    if (!is_array) is_array = has_class(object, "numpy", "generic");
    if (is_array > 0 && (refuse_masked(object) || (!state->ndarray && meet_numpy(state)))) return -1;
    if (!is_array && !state->stranger) {
        Py_INCREF((PyObject *)Py_TYPE(object));
        keep_first(&state->stranger, (PyObject *)Py_TYPE(object));
    }
    return is_array;
}

/* ---- numbers, lists, and what makes an array of itself */

static int take_python(struct state *state, PyObject *object, struct array *array) {
    PyObject *elements, *shape;
    array->kind = KIND_PYTHON;
    array->held = PyObject_CallMethod(state->kinds, "read", "(O)", object);
    if (!array->held || !PyArg_ParseTuple(array->held, "OO!", &elements, &PyTuple_Type, &shape)) return -1;
    if (take_buffer_as(elements, array, WF_TYPE_DEFAULT)) return -1;
    array->view.ndim = (int32_t)PyTuple_Size(shape); /* at most WF_NDIM_MAX: read saw to it */
    for (int32_t d = 0; d < array->view.ndim; d++) array->shape[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
    contiguous_strides(array->view.ndim, array->shape, array->buffer.itemsize, array->stride_bytes);
    return 0;
}

/* pandas' series, for example. */
static int take_array_method(struct state *state, PyObject *object, struct array *array) {
    PyObject *method;
    int found = find_attribute(object, "__array__", &method);
    if (found <= 0) return found;
    PyObject *made = PyObject_CallFunctionObjArgs(method, NULL);
    Py_DECREF(method);
    if (!made) return -1;
    int is_array = is_numpy(state, made);
    array->held = made;
    if (is_array > 0) return take_numpy(made, array) ? -1 : 1;
    if (!is_array) PyErr_SetString(PyExc_TypeError, "__array__() returned no NumPy array");
    return -1;
}

/* Types that nobody can give other protocols later, such as array.array, are recognised from then on. */
static int take_plain_buffer(struct state *state, PyObject *object, struct array *array) {
    PyObject *type = (PyObject *)Py_TYPE(object);
    if (!state->plain_buffer && PyType_GetFlags(Py_TYPE(object)) & Py_TPFLAGS_IMMUTABLETYPE) {
        Py_INCREF(type);
        keep_first(&state->plain_buffer, type);
    }
    return take_buffer(object, array);
}

static int take_any(struct state *state, PyObject *object, struct array *array) {
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyList_CheckExact(object) ||
        PyTuple_CheckExact(object))
        return take_python(state, object, array);
    if ((PyObject *)Py_TYPE(object) == state->plain_buffer || PyMemoryView_Check(object) ||
        PyByteArray_CheckExact(object))
        return take_buffer(object, array);
    int taken = (PyObject *)Py_TYPE(object) == state->stranger ? 0 : is_numpy(state, object);
    if (taken) return taken < 0 ? -1 : take_numpy(object, array);
    taken = take_exchange_table(object, array);
    if (!taken) taken = take_cuda_interface(state, object, array);
    if (!taken) taken = take_dlpack(state, object, array);
    if (!taken && PyObject_CheckBuffer(object)) return take_plain_buffer(state, object, array);
    if (!taken) taken = take_array_method(state, object, array);
    if (taken) return taken < 0 ? -1 : 0;
    return take_python(state, object, array);
}

/* The members but shape, stride_bytes and buffer, which need not be cleared. */
static void array_clear(struct array *array, PyObject *object) {
    array->owner = object;
    array->is_read_only = array->is_on_gpu = array->has_buffer = false;
    array->stream = array->tensor = array->copy = NULL;
    array->held = array->stream_owner = NULL;
}

int array_take(struct state *state, PyObject *object, struct array *array) {
    array_clear(array, object);
    PyObject *ndarray = __atomic_load_n(&state->ndarray, __ATOMIC_ACQUIRE); /* with what was kept before it */
    int taken = (PyObject *)Py_TYPE(object) == ndarray ? take_numpy(object, array)
                                                       : take_any(state, object, array);
    if (taken) array_release(array);
    return taken;
}

/* ---- memory */

int check_memory(const struct array *array, const struct array *beside, const char *device) {
    if (beside && array->is_on_gpu != beside->is_on_gpu) {
        PyErr_SetString(PyExc_TypeError, "one array is in CUDA memory and another is not: move one of them");
        return -1;
    }
    if (!array->is_on_gpu || strcmp(device, CPU)) return 0;
    PyErr_SetString(PyExc_ValueError, "device 'cpu' cannot read CUDA memory: leave device out, or copy the array");
    return -1;
}

/* ---- shapes */

int array_broadcast(struct array *array, int32_t ndim, const int64_t *shape, const char *name) {
    int32_t missing = ndim - array->view.ndim;
    for (int32_t d = ndim - 1; missing >= 0 && d >= 0; d--) {
        int64_t length = d >= missing ? array->shape[d - missing] : 1;
        if (length != 1 && length != shape[d]) missing = -1;
        else array->stride_bytes[d] = length == shape[d] && d >= missing ? array->stride_bytes[d - missing] : 0;
    }
    if (missing < 0) {
        PyErr_Format(PyExc_ValueError, "%s cannot be broadcast to the array's shape", name);
        return -1;
    }
    memcpy(array->shape, shape, (size_t)ndim * sizeof *shape);
    array->view.ndim = ndim;
    return 0;
}
