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

/* ---- what the state keeps */

void keep_first(PyObject **place, PyObject *object) {
    PyObject *nothing = NULL;
    if (!__atomic_compare_exchange_n(place, &nothing, object, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        Py_DECREF(object);
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

int take_buffer_as(PyObject *object, struct array *array, wf_type type) {
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
    for (int d = 0; d < buffer->ndim; d++) array->shape[d] = buffer->shape[d];
    if (!buffer->strides) /* which ctypes leaves out */
        contiguous_strides(buffer->ndim, array->shape, buffer->itemsize, array->stride_bytes);
    for (int d = 0; buffer->strides && d < buffer->ndim; d++) array->stride_bytes[d] = buffer->strides[d];
    return is_swapped ? array_copy(array, true) : 0;
}

static int take_buffer(PyObject *object, struct array *array) {
    array->kind = KIND_BUFFER;
    return take_buffer_as(object, array, WF_TYPE_DEFAULT);
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
    array->kind = KIND_PYTHON;
    array->is_read_only = array->is_on_gpu = array->has_buffer = false;
    array->stream = array->tensor = array->copy = NULL;
    array->held = array->stream_owner = NULL;
}

int array_take(struct state *state, PyObject *object, struct array *array) {
    array_clear(array, object);
    PyObject *ndarray = __atomic_load_n(&state->ndarray, __ATOMIC_ACQUIRE); /* with what was kept before it */
    int taken = (PyObject *)Py_TYPE(object) == ndarray ? take_ndarray(state, object, array)
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
