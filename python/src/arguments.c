/* The arguments of a call. */
#include "core.h"

#include <string.h>

static const char *const names_of_arguments[ARGUMENTS] = {
    [ARG_A] = "a", [ARG_B] = "b", [ARG_AXIS] = "axis", [ARG_DTYPE] = "dtype", [ARG_OUT] = "out", [ARG_DDOF] = "ddof",
    [ARG_KEEPDIMS] = "keepdims", [ARG_ORD] = "ord", [ARG_WHERE] = "where", [ARG_CORRECTION] = "correction",
    [ARG_NAN] = "nan", [ARG_THREADS] = "threads", [ARG_DEVICE] = "device", [ARG_LABELS] = "labels",
    [ARG_COUNT] = "count", [ARG_FILL] = "fill", [ARG_SKIP] = "skip_bad_keys", [ARG_SHAPE] = "shape",
    [ARG_FIRST_INDEX] = "first_index", [ARG_OP] = "op", [ARG_BY] = "by", [ARG_IDS] = "ids",
    [ARG_INITIAL] = "initial", [ARG_Q] = "q", [ARG_METHOD] = "method",
};

static int find_argument(const struct signature *signature, PyObject *name) {
    for (int argument = 0; argument < ARGUMENTS; argument++)
        if (signature->allowed & BIT(argument) &&
            !PyUnicode_CompareWithASCIIString(name, names_of_arguments[argument]))
            return argument;
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", signature->name, name);
    return -1;
}

/* None means not given, but for what is required. */
static void put(const struct signature *signature, PyObject **values, int argument, PyObject *object) {
    bool is_required = false;
    for (int i = 0; i < signature->required; i++) is_required |= signature->order[i] == argument;
    if (object != Py_None || is_required) values[argument] = object;
}

static int read_positional(const struct signature *signature, PyObject *const *arguments, Py_ssize_t count,
                           PyObject **values) {
    for (Py_ssize_t i = 0; i < count; i++) {
        if (i >= (Py_ssize_t)sizeof signature->order || signature->order[i] == ARGUMENTS) {
            PyErr_Format(PyExc_TypeError, "%s() takes at most %zd positional arguments (%zd given)", signature->name, i,
                         count);
            return -1;
        }
        put(signature, values, signature->order[i], arguments[i]);
    }
    return 0;
}

static int read_named(const struct signature *signature, PyObject *const *arguments, PyObject *names,
                      PyObject **values) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++) {
        int argument = find_argument(signature, PyTuple_GetItem(names, i));
        if (argument < 0) return -1;
        if (values[argument]) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'", signature->name,
                         names_of_arguments[argument]);
            return -1;
        }
        put(signature, values, argument, arguments[i]);
    }
    return 0;
}

int arguments_read(const struct signature *signature, PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                   PyObject **values) {
    memset(values, 0, ARGUMENTS * sizeof *values);
    if (read_positional(signature, arguments, count, values)) return -1;
    if (names && read_named(signature, arguments + count, names, values)) return -1;
    for (int i = 0; i < signature->required; i++) {
        if (values[signature->order[i]]) continue;
        PyErr_Format(PyExc_TypeError, "%s() missing required argument '%s'", signature->name,
                     names_of_arguments[signature->order[i]]);
        return -1;
    }
    return 0;
}

/* ---- settings */

/* An object of the words axis, out of range, as NumPy's AxisError: a ValueError that is an IndexError too. */
static int raise_axis(int64_t axis, int32_t ndim) {
    PyObject *module = PyImport_ImportModule("warpfold._kinds");
    PyObject *type = module ? PyObject_GetAttrString(module, "AxisError") : NULL;
    if (type)
        PyErr_Format(type, "axis %lld is out of bounds for array of dimension %d", (long long)axis, (int)ndim);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return -1;
}

int read_int64(PyObject *number, const char *name, int64_t *result) {
    PyObject *index = PyNumber_Index(number);
    if (!index) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "%s must be an integer, not %R", name, number);
        return -1;
    }
    *result = PyLong_AsLongLong(index);
    Py_DECREF(index);
    return *result == -1 && PyErr_Occurred() ? -1 : 0;
}

int read_axis(PyObject *axis, int32_t ndim, int32_t *position) {
    int64_t number;
    if (PyBool_Check(axis)) { /* keepdims, most likely, in the wrong place */
        PyErr_Format(PyExc_TypeError, "axis must be an integer, not %R", axis);
        return -1;
    }
    if (read_int64(axis, "axis", &number)) return -1;
    int64_t counted = number < 0 ? number + ndim : number;
    if (counted < 0 || counted >= ndim) return raise_axis(number, ndim);
    *position = (int32_t)counted;
    return 0;
}

static int add_axis(PyObject *axis, int32_t ndim, uint64_t *axes) {
    int32_t position;
    if (read_axis(axis, ndim, &position)) return -1;
    if (*axes >> position & 1) {
        PyErr_SetString(PyExc_ValueError, "duplicate value in 'axis'");
        return -1;
    }
    *axes |= (uint64_t)1 << position;
    return 0;
}

int read_axes(PyObject *axis, int32_t ndim, uint64_t *axes) {
    *axes = 0;
    if (!axis) {
        *axes = ndim >= 64 ? UINT64_MAX : ((uint64_t)1 << ndim) - 1;
        return 0;
    }
    if (!PyTuple_Check(axis)) {
        int32_t position;
        if (!ndim) return read_axis(axis, 1, &position); /* NumPy takes axis 0 of a number, too */
        return add_axis(axis, ndim, axes);
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(axis); i++)
        if (add_axis(PyTuple_GetItem(axis, i), ndim, axes)) return -1;
    return 0;
}

int read_type(struct state *state, PyObject *dtype, wf_type *type) {
    PyObject *name = PyObject_CallMethod(state->kinds, "type_name", "(O)", dtype);
    PyObject *text = name ? PyUnicode_AsUTF8String(name) : NULL;
    if (text) *type = wf_type_parse(PyBytes_AsString(text));
    Py_XDECREF(text);
    Py_XDECREF(name);
    return text ? 0 : -1;
}

int read_nan(PyObject *name, wf_nan *nan) {
    static const char *const policies[] = {"propagate", "omit", "error"};
    for (int policy = 0; PyUnicode_Check(name) && policy < 3; policy++) {
        if (PyUnicode_CompareWithASCIIString(name, policies[policy])) continue;
        *nan = (wf_nan)policy;
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "nan must be 'propagate', 'omit' or 'error', not %R", name);
    return -1;
}

/* NumPy takes floats here, too; those that are whole mean the same. */
int read_ddof(PyObject *ddof, PyObject *correction, int64_t *result) {
    if (ddof && correction) {
        PyErr_SetString(PyExc_ValueError, "ddof and correction are one setting: give one of them");
        return -1;
    }
    PyObject *number = ddof ? ddof : correction;
    if (!number) return 0;
    if (!PyFloat_Check(number)) return read_int64(number, "ddof", result);
    double value = PyFloat_AsDouble(number);
    if (value >= -0x1p62 && value <= 0x1p62 && value == (double)(int64_t)value) {
        *result = (int64_t)value;
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "ddof must be an integer, not %R", number);
    return -1;
}

int read_threads(PyObject *threads, int32_t *result) {
    int64_t number;
    if (read_int64(threads, "threads", &number)) return -1;
    if (number < 0 || number > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "threads must be 0 (all processors) or more, not %lld", (long long)number);
        return -1;
    }
    *result = (int32_t)number;
    return 0;
}

int read_device(PyObject *device, const char **name) {
    if (!PyUnicode_Check(device)) {
        PyErr_Format(PyExc_TypeError, "device must be 'auto', 'cpu', 'cuda', 'cuda:N' or 'cuda:all', not %R", device);
        return -1;
    }
    *name = PyUnicode_AsUTF8AndSize(device, NULL);
    return *name ? 0 : -1;
}

int read_op(PyObject *name, wf_op *op) {
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (!text && PyErr_Occurred()) return -1;
    *op = text && !strcmp(text, "count_nonzero") ? WF_NONZERO : text && !strcmp(text, "vecdot") ? WF_DOT
                                                                                               : wf_op_parse(text);
    if (*op) return 0;
    PyErr_Format(PyExc_ValueError, "unknown op %R: use sum, mean, var, std, min, max, argmin, argmax, prod, any, all, "
                                   "count_nonzero, norm1, norm2, norminf, vecdot, and, or, xor or stats", name);
    return -1;
}

int read_fill(PyObject *fill, PyObject *skip, wf_reduction *reduction, wf_value *value) {
    int skips = skip ? PyObject_IsTrue(skip) : 0;
    if (skips < 0) return -1;
    if (skips) reduction->flags = WF_SKIP_BAD_KEYS;
    if (!fill) return 0;
    if (PyFloat_Check(fill)) {
        *value = (wf_value){.type = WF_F64, .v = {.f64 = PyFloat_AsDouble(fill)}};
    } else {
        *value = (wf_value){.type = WF_I64};
        if (read_int64(fill, "fill", &value->v.i)) return -1;
    }
    reduction->fill = value;
    return 0;
}
