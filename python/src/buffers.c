/* Python's buffers, and what else taking arrays in needs of objects. */
#include "core.h"

#include <string.h>

int find_attribute(PyObject *object, const char *name, PyObject **attribute) {
    *attribute = PyObject_GetAttrString(object, name);
    if (*attribute) return 1;
    if (PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
    PyErr_Clear();
    return 0;
}

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
