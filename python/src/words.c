/* Accumulators as 64-bit integers that collectives add up or take the largest of. */
#include "accumulator.h"

#include <string.h>

static struct accumulator *of(PyObject *self) {
    return (struct accumulator *)self;
}

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
    pthread_mutex_lock(&of(self)->lock);
    wf_error error = function(handle, of(self)->state, words);
    pthread_mutex_unlock(&of(self)->lock);
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
