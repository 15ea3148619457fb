/* Handles of the library.  Each serves one call at a time: idle ones wait in slots, from which calls take them by an
 * atomic exchange, without a lock. */
#include "core.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const char CPU[] = "cpu";

enum { DEVICES = 18, SLOTS = 16 }; /* auto, cpu, cuda:0 to cuda:14, cuda:all */

static _Atomic(wf_handle *) idle[DEVICES][SLOTS];

/* The row of the device; -1: handles of this one are not kept. */
static int find_row(const char *device) {
    if (device == CPU || !strcmp(device, "cpu")) return 1;
    if (!strcmp(device, "auto")) return 0;
    if (!strcmp(device, "cuda")) return 2;
    if (!strcmp(device, "cuda:all")) return DEVICES - 1;
    if (strncmp(device, "cuda:", 5) || device[5] < '0' || device[5] > '9') return -1;
    long ordinal = strtol(device + 5, NULL, 10);
    return ordinal < DEVICES - 3 ? 2 + (int)ordinal : -1;
}

static wf_handle *make(const char *device) {
    wf_handle *handle;
    wf_error error = wf_handle_create(device, &handle);
    if (!error) return handle;
    char text[1024];
    if (error == WF_ERROR_MEMORY || !wf_device_describe(device, text, sizeof text)) PyErr_NoMemory();
    else PyErr_SetString(PyExc_RuntimeError, text);
    return NULL;
}

wf_handle *handle_lend(const char *device, int32_t threads) {
    int row = find_row(device);
    wf_handle *handle = NULL;
    for (int i = 0; row >= 0 && !handle && i < SLOTS; i++)
        if (atomic_load_explicit(&idle[row][i], memory_order_relaxed)) handle = atomic_exchange(&idle[row][i], NULL);
    if (!handle) handle = make(device);
    if (handle) wf_handle_set_threads(handle, threads);
    return handle;
}

void handle_return(wf_handle *handle, const char *device) {
    int row = find_row(device);
    for (int i = 0; row >= 0 && i < SLOTS; i++) {
        wf_handle *nothing = NULL;
        if (atomic_compare_exchange_strong(&idle[row][i], &nothing, handle)) return;
    }
    wf_handle_destroy(handle);
}

/* A child process must not use its parent's handles, whose threads it has not; nor can it end them. */
static void forget_handles(void) {
    for (int row = 0; row < DEVICES; row++)
        for (int i = 0; i < SLOTS; i++) atomic_store(&idle[row][i], NULL);
}

int handles_begin(void) {
    static atomic_bool has_begun;
    if (atomic_exchange(&has_begun, true)) return 0;
    return pthread_atfork(NULL, NULL, forget_handles);
}

void keep_stream(struct state *state, const wf_handle *handle, const struct array *array, wf_error error) {
    if (!array->stream_owner) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *key = PyLong_FromVoidPtr((void *)handle);
    PyObject *last = key ? PyDict_GetItemWithError(state->streams, key) : NULL;
    PyObject *kept = error && last ? Py_BuildValue("(OO)", last, array->stream_owner)
                                   : Py_BuildValue("O", array->stream_owner);
    if (key && kept) PyDict_SetItem(state->streams, key, kept);
    Py_XDECREF(kept);
    Py_XDECREF(key);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}
