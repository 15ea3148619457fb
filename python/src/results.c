/* Results in the caller's kind, and errors as exceptions. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* ---- errors */

PyObject *raise_error(const wf_handle *handle, wf_error error) {
    PyObject *types[] = {
        [WF_ERROR_ARGUMENT] = PyExc_ValueError, [WF_ERROR_UNSUPPORTED] = PyExc_TypeError,
        [WF_ERROR_DEVICE] = PyExc_RuntimeError, [WF_ERROR_MEMORY] = PyExc_MemoryError,
        [WF_ERROR_EMPTY] = PyExc_ValueError,    [WF_ERROR_RANGE] = PyExc_OverflowError,
        [WF_ERROR_NAN] = PyExc_ValueError,      [WF_ERROR_MERGE] = PyExc_ValueError,
        [WF_ERROR_FORMAT] = PyExc_ValueError,   [WF_ERROR_IO] = PyExc_OSError,
    };
    bool is_known = error > WF_OK && error < (int)(sizeof types / sizeof types[0]);
    const char *message = wf_handle_message(handle);
    PyErr_SetString(is_known ? types[error] : PyExc_RuntimeError, *message ? message : wf_error_text(error));
    return NULL;
}

/* ---- one value */

bool type_is_float(wf_type type) {
    _Static_assert(TYPES == 14, "a new type is a float here, or none");
    return type == WF_F16 || type == WF_BF16 || type == WF_F32 || type == WF_F64;
}

PyObject *python_value(const wf_value *value) {
    switch (value->type) {
    case WF_TYPE_DEFAULT: Py_RETURN_NONE;
    case WF_BOOL: return PyBool_FromLong(value->v.u != 0);
    case WF_I8:
    case WF_I16:
    case WF_I32:
    case WF_I64: return PyLong_FromLongLong(value->v.i);
    case WF_U8:
    case WF_U16:
    case WF_U32:
    case WF_U64: return PyLong_FromUnsignedLongLong(value->v.u);
    default: return PyFloat_FromDouble(wf_value_to_double(value));
    }
}

/* The number of a value, as it is in an array, in 8 bytes. */
static void store(const wf_value *value, char *bytes) {
    size_t nbytes = wf_type_nbytes(value->type);
    bool is_integer = !type_is_float(value->type) && value->type != WF_BOOL;
    const uint16_t one = 1;
    size_t skipped = is_integer && !*(const char *)&one ? 8 - nbytes : 0; /* the upper bytes of a big-endian machine */
    memcpy(bytes, (const char *)&value->v + skipped, nbytes);
}

/* A scalar is a struct of NumPy's API, a header and a number, which is made in a third of the time of a call of its
 * type.  Whether it is so here is seen of one that its type has made. */
int probe_scalars(struct state *state) {
    PyObject *number = PyLong_FromLong(77);
    for (int type = WF_I8; number && type < TYPES; type++) { /* bools are not made: there are two */
        if (!state->scalars[type]) continue;
        wf_value value = {.type = (wf_type)type, .v = {.u = 77}};
        char bytes[8];
        if (type == WF_F16) value.v.f16 = 0x54d0;
        if (type == WF_F32) value.v.f32 = 77;
        if (type == WF_F64) value.v.f64 = 77;
        store(&value, bytes);
        PyObject *scalar = PyObject_CallFunctionObjArgs(state->scalars[type], number, NULL);
        PyObject *size = scalar ? PyObject_GetAttrString(state->scalars[type], "__basicsize__") : NULL;
        size_t nbytes = wf_type_nbytes(value.type);
        if (size) state->is_plain[type] = PyLong_AsSize_t(size) >= sizeof(PyObject) + nbytes &&
                                          !memcmp((char *)scalar + sizeof(PyObject), bytes, nbytes);
        Py_XDECREF(size);
        Py_XDECREF(scalar);
    }
    Py_XDECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *plain_scalar(PyObject *type, const wf_value *value) {
    allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    PyObject *scalar = allocate((PyTypeObject *)type, 0);
    if (scalar) store(value, (char *)scalar + sizeof(PyObject));
    return scalar;
}

static PyObject *numpy_value(struct state *state, const struct array *like, const wf_value *value) {
    PyObject *type = state->scalars[value->type];
    if (value->type == WF_BOOL) return Py_NewRef(state->truths[value->v.u != 0]);
    if (state->is_plain[value->type]) return plain_scalar(type, value);
    PyObject *number = python_value(value);
    if (!number || number == Py_None) return number;
    if (type) Py_INCREF(type);
    else type = PyObject_CallMethod(state->kinds, "bfloat16", "(O)", like->owner); /* NumPy has none */
    PyObject *scalar = type ? PyObject_CallFunctionObjArgs(type, number, NULL) : NULL;
    Py_XDECREF(type);
    Py_DECREF(number);
    return scalar;
}

PyObject *scalar_of_kind(struct state *state, const struct array *like, const wf_value *value) {
    if (like->kind == KIND_NUMPY) return numpy_value(state, like, value);
    return python_value(value);
}

/* ---- arrays */

PyObject *make_shape(int32_t ndim, const int64_t *shape) {
    PyObject *tuple = PyTuple_New(ndim);
    for (int32_t d = 0; tuple && d < ndim; d++) {
        PyObject *length = PyLong_FromLongLong(shape[d]);
        if (length && !PyTuple_SetItem(tuple, d, length)) continue;
        Py_CLEAR(tuple);
    }
    return tuple;
}

/* numpy.empty, or whatever holds the elements until they are given the caller's kind. */
static PyObject *make_memory(struct state *state, const struct array *like, wf_type type, PyObject *shape) {
    PyObject *scalar = state->scalars[type];
    if (like->kind == KIND_NUMPY && scalar) return PyObject_CallFunctionObjArgs(state->empty, shape, scalar, NULL);
    return PyObject_CallMethod(state->kinds, "empty", "OsO", like->owner, wf_type_name(type), shape);
}

int target_make(struct state *state, const struct array *like, wf_type type, int32_t ndim, const int64_t *shape,
                struct target *target) {
    *target = (struct target){.type = type, .ndim = ndim, .shape = shape};
    PyObject *tuple = make_shape(ndim, shape);
    if (tuple) target->object = make_memory(state, like, type, tuple);
    Py_XDECREF(tuple);
    if (!target->object) return -1;
    if (!array_take(state, target->object, &target->array)) return 0;
    Py_CLEAR(target->object);
    return -1;
}

PyObject *target_finish(struct state *state, const struct array *like, struct target *target, bool is_good) {
    array_release(&target->array);
    PyObject *object = target->object;
    if (is_good && (like->kind != KIND_NUMPY || !state->scalars[target->type])) {
        PyObject *shape = make_shape(target->ndim, target->shape);
        if (!shape) return Py_DECREF(object), NULL;
        PyObject *finished = PyObject_CallMethod(state->kinds, "finish", "OOsO", like->owner, object,
                                                 wf_type_name(target->type), shape);
        Py_DECREF(shape);
        Py_DECREF(object);
        return finished;
    }
    if (is_good) return object;
    Py_DECREF(object);
    return NULL;
}
