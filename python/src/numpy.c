/* NumPy's arrays, and what is kept of NumPy from the first of them on. */
#include "core.h"

#include <string.h>

/* ---- what is kept */

static void keep_attribute(PyObject **place, PyObject *owner, const char *name) {
    PyObject *object = *place || PyErr_Occurred() ? NULL : PyObject_GetAttrString(owner, name);
    if (object) keep_first(place, object);
}

static void keep_dtype(struct state *state, wf_type type, PyObject *numpy) {
    if (PyErr_Occurred()) return;
    PyObject *dtype = PyObject_CallMethod(numpy, "dtype", "O", state->scalars[type]);
    if (dtype) keep_first(&state->dtypes[type], dtype);
}

/* ---- arrays by their fields
 *
 * An array is a struct of NumPy's API, the same in its versions 1 and 2, as extensions compiled for either rely on.
 * Reading it takes a tenth of the instructions of NumPy's buffer, which makes the text of a format first.  Whether it is
 * so here is seen of arrays that NumPy has made. */

struct fields {
    PyObject header;
    char *data;
    int ndim;
    Py_ssize_t *shape, *stride_bytes;
    PyObject *base, *dtype;
    int flags;
};

enum { IS_WRITEABLE = 0x400 };

/* What NumPy's own dtype objects in native order say; others, such as of a dtype with metadata: WF_TYPE_DEFAULT. */
static wf_type type_of_dtype(struct state *state, const PyObject *dtype) {
    int type = TYPES - 1;
    while (type && state->dtypes[type] != dtype) type--;
    return (wf_type)type;
}

/* The array that the fields tell of; of a type that is not known at a glance, nothing is taken and 0 returned. */
static bool take_fields(struct state *state, PyObject *object, struct array *array) {
    const struct fields *fields = (const struct fields *)(void *)object;
    wf_type type = type_of_dtype(state, fields->dtype);
    if (!type) return false;
    array->view = (wf_array){.data = fields->data, .type = type, .ndim = fields->ndim, .shape = array->shape,
                             .stride_bytes = array->stride_bytes};
    array->is_read_only = !(fields->flags & IS_WRITEABLE);
    for (int d = 0; d < fields->ndim; d++) {
        array->shape[d] = fields->shape[d];
        array->stride_bytes[d] = fields->stride_bytes[d];
    }
    array->held = Py_NewRef(object); /* the caller's reference may be one that lets the array be resized */
    return true;
}

/* Whether the fields of an array are what its buffer and its dtype say: 1, 0 or -1. */
static int has_fields(struct state *state, PyObject *object) {
    const struct fields *fields = (const struct fields *)(void *)object;
    struct array array = {.owner = object};
    PyObject *dtype = PyObject_GetAttrString(object, "dtype");
    if (!dtype || take_buffer_as(object, &array, WF_TYPE_DEFAULT)) {
        Py_XDECREF(dtype);
        array_release(&array);
        return -1;
    }
    size_t nbytes = (size_t)array.view.ndim * sizeof *array.shape;
    bool is_same = fields->data == array.view.data && fields->ndim == array.view.ndim && fields->dtype == dtype &&
                   !(fields->flags & IS_WRITEABLE) == array.is_read_only && type_of_dtype(state, dtype) &&
                   !memcmp(fields->shape, array.shape, nbytes) &&
                   !memcmp(fields->stride_bytes, array.stride_bytes, nbytes);
    Py_DECREF(dtype);
    array_release(&array);
    return is_same;
}

/* A 2 x 3 x 5 array of float32, a part of it, and that repeated, which cannot be written to. */
static int probe_arrays(struct state *state, PyObject *numpy) {
    PyObject *made[3] = {PyObject_CallMethod(numpy, "empty", "(iii)s", 2, 3, 5, "float32"), NULL, NULL};
    PyObject *size = made[0] ? PyObject_GetAttrString((PyObject *)Py_TYPE(made[0]), "__basicsize__") : NULL;
    int status = size ? PyLong_AsSize_t(size) >= sizeof(struct fields) : -1;
    Py_XDECREF(size);
    if (status > 0 && !(made[1] = PySequence_GetItem(made[0], 1))) status = -1;
    if (status > 0 && !(made[2] = PyObject_CallMethod(numpy, "broadcast_to", "O(iii)", made[1], 7, 3, 5))) status = -1;
    for (int i = 0; i < 3; i++) {
        if (status > 0) status = has_fields(state, made[i]);
        Py_XDECREF(made[i]);
    }
    if (status >= 0) state->has_fields = status;
    return status < 0 ? -1 : 0;
}

/* ---- the first array */

/* Keeps what results in NumPy's kind need, from the first array that is met; the type of arrays comes last. */
static int meet_numpy(struct state *state) {
#define LINE(NAME, name, ...) [WF_##NAME] = (name),
    static const char *const names[TYPES] = {TYPE_LINES(LINE)};
#undef LINE
    PyObject *numpy = PyImport_ImportModule("numpy"); /* there already: one of its objects is here */
    if (!numpy) return -1;
    for (size_t type = 0; type < TYPES; type++) {
        if (!names[type]) continue;
        keep_attribute(&state->scalars[type], numpy, names[type]);
        keep_dtype(state, (wf_type)type, numpy);
    }
    keep_attribute(&state->truths[0], numpy, "False_");
    keep_attribute(&state->truths[1], numpy, "True_");
    keep_attribute(&state->empty, numpy, "empty");
    if (!PyErr_Occurred() && !probe_scalars(state)) probe_arrays(state, numpy);
    keep_attribute(&state->ndarray, numpy, "ndarray");
    Py_DECREF(numpy);
    return PyErr_Occurred() ? -1 : 0;
}

/* ---- arrays by their buffers */

/* NumPy's bfloat16 (of ml_dtypes) has no buffer: its bits are seen as uint16 of the same byte order. */
static int take_numpy_bfloat16(PyObject *object, PyObject *dtype, struct array *array) {
    PyObject *order = PyObject_GetAttrString(dtype, "byteorder");
    PyObject *bits = order ? PyUnicode_FromFormat("%Uu2", order) : NULL;
    if (bits) array->held = PyObject_CallMethod(object, "view", "O", bits);
    Py_XDECREF(bits);
    Py_XDECREF(order);
    if (!array->held || take_buffer_as(array->held, array, WF_TYPE_DEFAULT)) return -1;
    array->view.type = WF_BF16;
    return 0;
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
    PyErr_Restore(type, value, traceback);
    int taken = -1;
    if (name && !PyUnicode_CompareWithASCIIString(name, "bfloat16")) {
        PyErr_Clear();
        taken = take_numpy_bfloat16(object, dtype, array);
    } else if (name) {
        taken = explain_numpy_type(name);
    }
    Py_XDECREF(name);
    Py_XDECREF(dtype);
    return taken;
}

int take_numpy(PyObject *object, struct array *array) {
    array->kind = KIND_NUMPY;
    if (!take_buffer_as(object, array, WF_TYPE_DEFAULT)) return 0;
    if (array->has_buffer || PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    return take_numpy_without_buffer(object, array);
}

int take_ndarray(struct state *state, PyObject *object, struct array *array) {
    array->kind = KIND_NUMPY;
    return state->has_fields && take_fields(state, object, array) ? 0 : take_numpy(object, array);
}

/* ---- what is NumPy's */

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

int is_numpy(struct state *state, PyObject *object) {
    int is_array = has_class(object, "numpy", "ndarray");
    if (!is_array) is_array = has_class(object, "numpy", "generic");
    if (is_array > 0 && (refuse_masked(object) || (!state->ndarray && meet_numpy(state)))) return -1;
    if (!is_array && !state->stranger) {
        Py_INCREF((PyObject *)Py_TYPE(object));
        keep_first(&state->stranger, (PyObject *)Py_TYPE(object));
    }
    return is_array;
}
