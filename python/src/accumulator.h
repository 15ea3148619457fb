/* The type Accumulator, to those of its methods that are in a file of their own. */
#ifndef WARPFOLD_PYTHON_ACCUMULATOR_H
#define WARPFOLD_PYTHON_ACCUMULATOR_H

#include "core.h"

#include <pthread.h>

struct accumulator {
    PyObject_HEAD
    wf_accumulator *state;
    pthread_mutex_t lock;
};

static inline struct accumulator *accumulator_of(PyObject *self) { return (struct accumulator *)self; }

/* The groups of an array whose results have the accumulator's shape: by key where there are ids (else NULL), otherwise along
 * axes, by default the first ones. */
int accumulator_read_groups(const wf_accumulator *accumulator, int32_t ndim, struct array *ids, PyObject *axis, wf_groups *groups);

PyObject *accumulator_update(PyObject *self, PyTypeObject *type, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names);
PyObject *accumulator_result(PyObject *self, PyTypeObject *type, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names);
PyObject *accumulator_word_settings(PyObject *self, PyObject *nothing);
PyObject *accumulator_words(PyObject *self, PyObject *nothing);
PyObject *accumulator_index_words(PyObject *self, PyObject *largest);
PyObject *accumulator_take_words(PyObject *self, PyObject *arguments);
PyObject *accumulator_device_word_counts(PyObject *self, PyObject *nothing);
PyObject *accumulator_device_words(PyObject *self, PyObject *arguments);
PyObject *accumulator_device_settle(PyObject *self, PyObject *arguments);
PyObject *accumulator_device_result(PyObject *self, PyObject *words);

#endif
