/* One value, in the caller's kind. */
#include "core.h"

#include <string.h>

bool type_is_float(wf_type type) {
#define LINE(NAME, name, has_negative, bits, least, most) [WF_##NAME] = (least) < 0,
    static const bool are_floats[TYPES] = {TYPE_LINES(LINE)};
#undef LINE
    return are_floats[type];
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
