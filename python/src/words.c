/* Accumulators as 64-bit integers that collectives add up or take the largest of: in host memory, and of arrays in CUDA
 * memory there. */
#include "accumulator.h"

#include <string.h>

/* ---- memory of words: a bytearray, seen as int64 */

static PyObject *make_words(int64_t count, int64_t **words) {
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)count * 8);
    PyObject *plain = bytes ? PyMemoryView_FromObject(bytes) : NULL;
    PyObject *view = plain ? PyObject_CallMethod(plain, "cast", "s", "q") : NULL;
    if (view) *words = (int64_t *)(void *)PyByteArray_AsString(bytes);
    Py_XDECREF(plain);
    Py_XDECREF(bytes); /* the view holds it */
    return view;
}

/* What the caller gives back.  The words are aligned: they are copied where the caller's are not. */
struct given {
    Py_buffer buffer;
    PyObject *copy;
    int64_t *words; /* NULL: there are none */
};

static int give(PyObject *object, const char *name, int64_t count, struct given *given) {
    *given = (struct given){.words = NULL};
    if (!count) return 0;
    if (PyObject_GetBuffer(object, &given->buffer, PyBUF_SIMPLE)) return -1;
    if (given->buffer.len != (Py_ssize_t)count * 8)
        PyErr_Format(PyExc_ValueError, "%s: %zd bytes, where there are %lld words of 8", name, given->buffer.len,
                     (long long)count);
    else if ((given->copy = make_words(count, &given->words)))
        memcpy(given->words, given->buffer.buf, (size_t)count * 8);
    PyBuffer_Release(&given->buffer);
    return PyErr_Occurred() ? -1 : 0;
}

static void take_back(struct given *given) {
    Py_CLEAR(given->copy);
}

/* ---- calls of the library: one thread at a time, with the interpreter released */

struct words {
    wf_word_counts counts;
    int64_t *added, *largest, *indices;
};

typedef wf_error call(wf_handle *handle, wf_accumulator *state, struct words *words);

static wf_error count_words(wf_handle *handle, wf_accumulator *state, struct words *words) {
    return wf_accumulator_word_counts(handle, state, &words->counts);
}

static wf_error read_words(wf_handle *handle, wf_accumulator *state, struct words *words) {
    return wf_accumulator_words(handle, state, words->added, words->largest);
}

static wf_error read_indices(wf_handle *handle, wf_accumulator *state, struct words *words) {
    return wf_accumulator_index_words(handle, state, words->largest, words->indices);
}

static wf_error write_words(wf_handle *handle, wf_accumulator *state, struct words *words) {
    return wf_accumulator_from_words(handle, state, words->added, words->largest, words->indices);
}

/* -1: an exception is set. */
static int run(PyObject *self, wf_handle *handle, call *function, struct words *words) {
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&accumulator_of(self)->lock);
    wf_error error = function(handle, accumulator_of(self)->state, words);
    pthread_mutex_unlock(&accumulator_of(self)->lock);
    PyEval_RestoreThread(thread);
    if (error) raise_error(handle, error);
    return error ? -1 : 0;
}

static wf_handle *begin(PyObject *self, struct words *words) {
    *words = (struct words){.added = NULL};
    wf_handle *handle = handle_lend(CPU, 0);
    if (!handle || !run(self, handle, count_words, words)) return handle;
    handle_return(handle, CPU);
    return NULL;
}

PyObject *accumulator_word_settings(PyObject *self, PyObject *Py_UNUSED(nothing)) {
    struct words words;
    wf_handle *handle = begin(self, &words);
    if (!handle) return NULL;
    handle_return(handle, CPU);
    return PyLong_FromUnsignedLongLong(words.counts.settings);
}

PyObject *accumulator_words(PyObject *self, PyObject *Py_UNUSED(nothing)) {
    struct words words;
    PyObject *result = NULL;
    wf_handle *handle = begin(self, &words);
    if (!handle) return NULL;
    PyObject *added = make_words(words.counts.added, &words.added);
    PyObject *largest = added ? make_words(words.counts.largest, &words.largest) : NULL;
    if (largest && !run(self, handle, read_words, &words)) result = Py_BuildValue("OO", added, largest);
    Py_XDECREF(added);
    Py_XDECREF(largest);
    handle_return(handle, CPU);
    return result;
}

PyObject *accumulator_index_words(PyObject *self, PyObject *object) {
    struct words words;
    struct given largest;
    PyObject *result = NULL;
    wf_handle *handle = begin(self, &words);
    if (!handle) return NULL;
    if (!give(object, "largest", words.counts.largest, &largest))
        result = make_words(words.counts.indices, &words.indices);
    words.largest = largest.words;
    if (result && run(self, handle, read_indices, &words)) Py_CLEAR(result);
    take_back(&largest);
    handle_return(handle, CPU);
    return result;
}

PyObject *accumulator_take_words(PyObject *self, PyObject *arguments) {
    PyObject *added = NULL, *largest = NULL, *indices = Py_None;
    struct given given[3] = {{.words = NULL}};
    struct words words;
    if (!PyArg_ParseTuple(arguments, "OO|O:take_words", &added, &largest, &indices)) return NULL;
    wf_handle *handle = begin(self, &words);
    if (!handle) return NULL;
    bool failed = give(added, "added", words.counts.added, &given[0]) ||
                  give(largest, "largest", words.counts.largest, &given[1]) ||
                  give(indices, "indices", words.counts.indices, &given[2]);
    words.added = given[0].words;
    words.largest = given[1].words;
    words.indices = given[2].words;
    if (!failed) failed = run(self, handle, write_words, &words);
    for (int i = 0; i < 3; i++) take_back(&given[i]);
    handle_return(handle, CPU);
    return failed ? NULL : Py_NewRef(self);
}

/* ---- words in CUDA memory: one vector of int64.  Without a shape its parts are of one length, whatever the reduction, so that
 * every rank's messages are as long. */

enum {
    SUMS = 256,    /* WF_AGREED_WORDS and those to be added; all ops but stats have fewer */
    LARGEST = 8,   /* then those of which the largest is taken */
    INDICES = 4    /* then those of the second round */
};

struct device_words {
    struct array array;
    wf_device_words words;
    int64_t sums, largest, indices; /* how long those parts are */
};

static void measure(const wf_accumulator *accumulator, const wf_word_counts *counts, struct device_words *words) {
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    wf_accumulator_shape(accumulator, &ndim, shape);
    words->sums = ndim ? WF_AGREED_WORDS + counts->added : SUMS;
    words->largest = ndim ? counts->largest : LARGEST;
    words->indices = ndim ? counts->indices : INDICES;
}

static bool is_plain(const struct array *array, int64_t count) {
    const wf_array *view = &array->view;
    return array->is_on_gpu && view->type == WF_I64 && view->ndim == 1 && view->shape[0] == count &&
           view->stride_bytes[0] == (int64_t)sizeof(int64_t) && !array->is_read_only;
}

/* What was taken is released where this fails. */
static int take_device_words(PyObject *self, PyObject *object, const wf_word_counts *counts, struct device_words *taken) {
    if (array_take(PyType_GetModuleState(Py_TYPE(self)), object, &taken->array)) return -1;
    int64_t *at = (int64_t *)(uintptr_t)taken->array.view.data;
    measure(accumulator_of(self)->state, counts, taken);
    const int64_t count = taken->sums + taken->largest + taken->indices;
    taken->words = (wf_device_words){.nbytes = sizeof taken->words, .added = at + WF_AGREED_WORDS, .agreed = at};
    if (counts->largest) taken->words.largest = at + taken->sums;
    if (counts->indices) taken->words.indices = at + taken->sums + taken->largest;
    if (!is_plain(&taken->array, count))
        PyErr_Format(PyExc_ValueError, "words must be a vector of %lld int64 in CUDA memory", (long long)count);
    else if (counts->added > taken->sums - WF_AGREED_WORDS || counts->largest > taken->largest ||
             counts->indices > taken->indices)
        PyErr_SetString(PyExc_TypeError, "stats has more words than fit: use words()");
    else
        return 0;
    array_release(&taken->array);
    return -1;
}

/* A call of the library: with the interpreter released, and in the words' stream. */
struct device_call {
    enum { DEVICE_GIVE, DEVICE_SETTLE, DEVICE_RESULT } what;
    struct device_words words;
    const wf_array *array;
    wf_groups groups;
    int64_t first_index;
    bool joins;
    const int64_t *own;
    wf_output output;
};

static wf_error call_device(wf_handle *handle, wf_accumulator *state, const struct device_call *call) {
    wf_error error = wf_handle_set_stream(handle, call->words.array.stream);
    const wf_device_words *words = &call->words.words;
    if (error) return error;
    if (call->what == DEVICE_SETTLE) return wf_device_words_settle(handle, state, words, call->own);
    if (call->what == DEVICE_RESULT) return wf_device_words_result(handle, state, words, &call->output);
    return wf_device_words_of_groups(handle, state, call->first_index, call->array, NULL, &call->groups, words, call->joins);
}

static int run_on_device(PyObject *self, const struct device_call *call) {
    static const char device[] = "auto";
    wf_handle *handle = handle_lend(device, 0);
    if (!handle) return -1;
    PyThreadState *thread = PyEval_SaveThread();
    pthread_mutex_lock(&accumulator_of(self)->lock);
    wf_error error = call_device(handle, accumulator_of(self)->state, call);
    pthread_mutex_unlock(&accumulator_of(self)->lock);
    PyEval_RestoreThread(thread);
    keep_stream(PyType_GetModuleState(Py_TYPE(self)), handle, &call->words.array, error);
    if (error) raise_error(handle, error);
    handle_return(handle, device);
    return error ? -1 : 0;
}

static int begin_on_device(PyObject *self, PyObject *object, struct device_call *call) {
    struct words words;
    wf_handle *handle = begin(self, &words);
    if (!handle) return -1;
    handle_return(handle, CPU);
    return take_device_words(self, object, &words.counts, &call->words);
}

PyObject *accumulator_device_word_counts(PyObject *self, PyObject *Py_UNUSED(nothing)) {
    struct words words;
    struct device_words parts;
    wf_handle *handle = begin(self, &words);
    if (!handle) return NULL;
    handle_return(handle, CPU);
    measure(accumulator_of(self)->state, &words.counts, &parts);
    return Py_BuildValue("LLL", (long long)parts.sums, (long long)parts.largest, (long long)parts.indices);
}

/* The array, and its groups. */
static int give_words(PyObject *self, struct device_call *call, struct array *array, struct array *ids, PyObject *axis) {
    if (accumulator_read_groups(accumulator_of(self)->state, array->view.ndim, ids, axis == Py_None ? NULL : axis, &call->groups)) return -1;
    if (check_memory(array, ids, "auto")) return -1;
    call->array = &array->view;
    return run_on_device(self, call);
}

static int give_words_by(PyObject *self, struct device_call *call, struct array *array, PyObject *axis, PyObject *object) {
    struct array ids;
    if (object == Py_None) return give_words(self, call, array, NULL, axis);
    if (array_take(PyType_GetModuleState(Py_TYPE(self)), object, &ids)) return -1;
    int status = give_words(self, call, array, &ids, axis);
    array_release(&ids);
    return status;
}

PyObject *accumulator_device_words(PyObject *self, PyObject *arguments) {
    struct device_call call = {.what = DEVICE_GIVE};
    struct array array;
    PyObject *object, *words, *axis = Py_None, *ids = Py_None;
    long long first_index = 0;
    int joins = 0;
    if (!PyArg_ParseTuple(arguments, "OO|LpOO:device_words", &object, &words, &first_index, &joins, &axis, &ids)) return NULL;
    if (begin_on_device(self, words, &call)) return NULL;
    bool failed = array_take(PyType_GetModuleState(Py_TYPE(self)), object, &array);
    if (!failed) {
        call.first_index = first_index;
        call.joins = joins;
        failed = give_words_by(self, &call, &array, axis, ids);
        array_release(&array);
    }
    array_release(&call.words.array);
    return failed ? NULL : Py_NewRef(words);
}

PyObject *accumulator_device_settle(PyObject *self, PyObject *arguments) {
    struct device_call call = {.what = DEVICE_SETTLE};
    struct array own;
    PyObject *words, *object;
    if (!PyArg_ParseTuple(arguments, "OO:device_settle", &words, &object)) return NULL;
    if (begin_on_device(self, words, &call)) return NULL;
    bool failed = array_take(PyType_GetModuleState(Py_TYPE(self)), object, &own);
    if (!failed) {
        if (is_plain(&own, call.words.largest)) {
            call.own = own.view.data;
            failed = run_on_device(self, &call);
        } else {
            failed = true;
            PyErr_Format(PyExc_ValueError, "the own largest words must be a vector of %lld int64 in CUDA memory",
                         (long long)call.words.largest);
        }
        array_release(&own);
    }
    array_release(&call.words.array);
    return failed ? NULL : Py_NewRef(words);
}

PyObject *accumulator_device_result(PyObject *self, PyObject *words) {
    struct device_call call = {.what = DEVICE_RESULT};
    struct state *state = PyType_GetModuleState(Py_TYPE(self));
    struct target target;
    PyObject *result = NULL;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX];
    const wf_accumulator *accumulator = accumulator_of(self)->state;
    if (begin_on_device(self, words, &call)) return NULL;
    wf_type type = wf_accumulator_op_result_type(accumulator, wf_accumulator_op(accumulator));
    wf_accumulator_shape(accumulator, &ndim, shape);
    if (!target_make(state, &call.words.array, type, ndim, shape, &target)) {
        call.output = (wf_output){.data = (void *)(uintptr_t)target.array.view.data, .type = type, .ndim = ndim, .shape = shape};
        result = target_finish(state, &call.words.array, &target, !run_on_device(self, &call));
    }
    array_release(&call.words.array);
    return result;
}
