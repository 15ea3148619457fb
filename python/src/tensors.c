/* Takes tensors of other libraries in, by DLPack and by the CUDA array interface. */
#include "core.h"
#include "dlpack.h"

#include <string.h>

/* ---- DLPack */

static wf_type type_of_tensor(const struct dl_tensor *tensor) {
    static const wf_type types[][4] = { /* 8, 16, 32, 64 bits */
        [DL_INT] = {WF_I8, WF_I16, WF_I32, WF_I64},
        [DL_UINT] = {WF_U8, WF_U16, WF_U32, WF_U64},
        [DL_FLOAT] = {WF_TYPE_DEFAULT, WF_F16, WF_F32, WF_F64},
        [DL_BFLOAT] = {WF_TYPE_DEFAULT, WF_BF16},
        [DL_BOOL] = {WF_BOOL},
    };
    static const signed char columns[] = {[8] = 1, [16] = 2, [32] = 3, [64] = 4};
    if (tensor->code >= sizeof types / sizeof types[0] || tensor->bits >= sizeof columns) return WF_TYPE_DEFAULT;
    int column = columns[tensor->bits];
    return column && tensor->lanes == 1 ? types[tensor->code][column - 1] : WF_TYPE_DEFAULT;
}

static int refuse_tensor(const char *what, int code, int bits) {
    PyErr_Format(PyExc_TypeError, "DLPack %s %d.%d is not supported: pass bool, integers of 8 to 64 bits, float16, "
                                  "bfloat16, float32 or float64 in host or CUDA memory", what, code, bits);
    return -1;
}

static int take_tensor(const struct dl_tensor *tensor, struct array *array) {
    wf_type type = type_of_tensor(tensor);
    if (!type) return refuse_tensor("type", tensor->code, tensor->bits);
    array->is_on_gpu = tensor->device_type == DL_CUDA || tensor->device_type == DL_CUDA_MANAGED;
    if (!array->is_on_gpu && tensor->device_type != DL_CPU && tensor->device_type != DL_CUDA_HOST)
        return refuse_tensor("device", tensor->device_type, tensor->device_id);
    if (tensor->ndim < 0 || tensor->ndim > WF_NDIM_MAX) {
        PyErr_Format(PyExc_ValueError, "the array has %d dimensions; at most %d are supported", (int)tensor->ndim,
                     WF_NDIM_MAX);
        return -1;
    }
    int64_t nbytes = (int64_t)wf_type_nbytes(type);
    char *data = tensor->data;
    array->view = (wf_array){.data = data ? data + tensor->byte_offset : NULL, .type = type, .ndim = tensor->ndim,
                             .shape = array->shape, .stride_bytes = array->stride_bytes};
    if (tensor->ndim) memcpy(array->shape, tensor->shape, (size_t)tensor->ndim * sizeof *tensor->shape);
    if (!tensor->strides) contiguous_strides(tensor->ndim, array->shape, nbytes, array->stride_bytes);
    for (int32_t d = 0; tensor->strides && d < tensor->ndim; d++) array->stride_bytes[d] = tensor->strides[d] * nbytes;
    array->kind = KIND_TENSOR;
    return 1;
}

static int take_managed(const struct dl_managed_versioned *managed, struct array *array) {
    if (managed->version.major != 1) {
        PyErr_Format(PyExc_BufferError, "DLPack version %u is not supported: only versions 0 and 1 are",
                     (unsigned)managed->version.major);
        return -1;
    }
    array->is_read_only = managed->flags & DL_READ_ONLY;
    return take_tensor(&managed->tensor, array);
}

/* torch negates some tensors only when they are read, such as the imaginary part of a conjugate; their memory, all that
 * DLPack knows of, has the other sign. */
static int refuse_lazy_negation(PyObject *object) {
    PyObject *method;
    int found = find_attribute(object, "is_neg", &method);
    if (found <= 0) return found;
    PyObject *is_negated = PyObject_CallFunctionObjArgs(method, NULL);
    Py_DECREF(method);
    int status = is_negated ? 0 : -1;
    if (is_negated == Py_True) {
        PyErr_SetString(PyExc_TypeError,
                        "a tensor that is negated when it is read is not supported: pass a.resolve_neg()");
        status = -1;
    }
    Py_XDECREF(is_negated);
    return status;
}

int take_exchange_table(PyObject *object, struct array *array) {
    PyObject *capsule;
    int found = find_attribute((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__", &capsule);
    if (found <= 0) return found;
    const struct dl_exchange *table = NULL;
    if (PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api"); /* lives as long as the process */
    Py_DECREF(capsule);
    while (table && table->version.major != 1) table = table->previous;
    if (!table) return 0;
    if (refuse_lazy_negation(object)) return -1;
    struct dl_managed_versioned *managed;
    if (table->managed_of_object(object, &managed)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_BufferError, "the array's library gave no DLPack tensor");
        return -1;
    }
    array->tensor = managed;
    int taken = take_managed(managed, array);
    if (taken > 0 && array->is_on_gpu &&
        table->current_stream(managed->tensor.device_type, managed->tensor.device_id, &array->stream))
        return -1;
    return taken;
}

static int take_capsule(PyObject *capsule, struct array *array) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return take_managed(PyCapsule_GetPointer(capsule, "dltensor_versioned"), array);
    struct dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    return managed ? take_tensor(&managed->tensor, array) : -1;
}

/* The keywords of __dlpack__: the newest version that is read here; and, on a GPU, no wait, as the work here is
 * submitted to the stream on which the elements are made. */
static PyObject *call_dlpack(PyObject *method, bool knows_versions, bool is_on_gpu) {
    PyObject *none = PyTuple_New(0);
    PyObject *names = knows_versions ? Py_BuildValue("{s(ii)}", "max_version", 1, 1) : PyDict_New();
    PyObject *wait = is_on_gpu ? PyLong_FromLong(-1) : NULL;
    PyObject *capsule = NULL;
    if (none && names && (!wait || !PyDict_SetItemString(names, "stream", wait)))
        capsule = PyObject_Call(method, none, names);
    Py_XDECREF(wait);
    Py_XDECREF(names);
    Py_XDECREF(none);
    return capsule;
}

static int take_stream(struct state *state, PyObject *object, struct array *array) {
    PyObject *stream = PyObject_CallMethod(state->kinds, "stream", "(O)", object), *address, *owner;
    if (stream && PyArg_ParseTuple(stream, "OO", &address, &owner)) {
        array->stream = PyLong_AsVoidPtr(address);
        Py_INCREF(owner);
        array->stream_owner = owner;
    }
    Py_XDECREF(stream);
    return PyErr_Occurred() ? -1 : 0;
}

int take_dlpack(struct state *state, PyObject *object, struct array *array) {
    PyObject *method;
    int found = find_attribute(object, "__dlpack__", &method);
    if (found <= 0) return found;
    if (refuse_lazy_negation(object)) return Py_DECREF(method), -1;
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    int device_type = 0, device_id, taken = -1;
    if (!device && PyErr_ExceptionMatches(PyExc_AttributeError)) { /* what jax traces has half of the protocol */
        PyErr_Clear();
        taken = 0;
    } else if (device && PyTuple_Check(device) && PyArg_ParseTuple(device, "ii", &device_type, &device_id)) {
        bool is_on_gpu = device_type == DL_CUDA || device_type == DL_CUDA_MANAGED;
        array->held = call_dlpack(method, true, is_on_gpu);
        if (!array->held && PyErr_ExceptionMatches(PyExc_TypeError)) { /* older than version 1 */
            PyErr_Clear();
            array->held = call_dlpack(method, false, is_on_gpu);
        }
        /* The capsule, which is never marked as used, releases the tensor with itself. */
        if (array->held) taken = take_capsule(array->held, array);
        if (taken > 0 && array->is_on_gpu && take_stream(state, object, array)) taken = -1;
    } else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "__dlpack_device__() returned no pair of numbers");
    }
    Py_XDECREF(device);
    Py_DECREF(method);
    return taken;
}

/* ---- the CUDA array interface */

static bool has_dlpack(PyObject *object) {
    PyObject *method;
    bool found = find_attribute((PyObject *)Py_TYPE(object), "__dlpack__", &method) > 0;
    if (found) Py_DECREF(method);
    return found;
}

int take_cuda_interface(struct state *state, PyObject *object, struct array *array) {
    PyObject *interface;
    int found = find_attribute(object, "__cuda_array_interface__", &interface);
    if (found <= 0) return found; /* in host memory */
    /* (address, is_read_only, format, item size, shape, strides in bytes or None) */
    PyObject *read = PyObject_CallMethod(state->kinds, "read_cuda", "OO", object, interface);
    Py_DECREF(interface);
    if (!read) return -1;
    unsigned long long address;
    int is_read_only, taken = -1;
    const char *format;
    Py_ssize_t nbytes;
    PyObject *shape, *strides;
    if (PyArg_ParseTuple(read, "KpsnO!O!", &address, &is_read_only, &format, &nbytes, &PyTuple_Type, &shape,
                         &PyTuple_Type, &strides)) {
        bool is_swapped;
        array->view = (wf_array){.data = (const void *)(uintptr_t)address, .ndim = (int32_t)PyTuple_Size(shape),
                                 .type = type_of_format(format, nbytes, &is_swapped),
                                 .shape = array->shape, .stride_bytes = array->stride_bytes};
        for (int32_t d = 0; d < array->view.ndim; d++) { /* at most WF_NDIM_MAX: read_cuda saw to it */
            array->shape[d] = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
            array->stride_bytes[d] = PyLong_AsLongLong(PyTuple_GetItem(strides, d));
        }
        array->kind = KIND_TENSOR;
        array->is_on_gpu = true;
        array->is_read_only = is_read_only;
        if ((!array->view.type || is_swapped) && has_dlpack(object)) taken = 0; /* bfloat16, for example */
        else if (!array->view.type || is_swapped)
            PyErr_Format(PyExc_TypeError, "elements of type '%s' in CUDA memory are not supported", format);
        if (!PyErr_Occurred() && taken && !take_stream(state, object, array)) taken = 1;
    }
    Py_DECREF(read);
    return taken;
}

/* ---- release */

/* What releases another library's tensor may run Python, which needs a clear exception. */
static void release_tensor(struct array *array) {
    struct dl_managed_versioned *managed = array->tensor;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (managed && managed->deleter) managed->deleter(managed);
    Py_CLEAR(array->held);
    Py_CLEAR(array->stream_owner);
    array->tensor = NULL;
    PyErr_Restore(type, value, traceback);
}

void array_release(struct array *array) {
    if (array->has_buffer) PyBuffer_Release(&array->buffer);
    array->has_buffer = false;
    if (array->kind == KIND_NUMPY) Py_CLEAR(array->held); /* which runs nothing but NumPy's own */
    if (array->tensor || array->held || array->stream_owner) release_tensor(array);
    PyMem_Free(array->copy);
    array->copy = NULL;
}
