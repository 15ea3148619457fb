/* Takes the caller's arrays in. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* ---- buffers */

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
