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
