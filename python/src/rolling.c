/* Reductions of windows that slide over the first dimension. */
#include "accumulator.h"

#include <string.h>

/* From which window on one accumulator follows the window, to which a row is added and from which one is taken out;
 * shorter windows are reduced each on its own, as rows of a view in which elements are repeated: that is faster. */
enum { LONG_WINDOW = 1000 };

/* Sees the job's array as one row for each window, with the window's elements along a last dimension. */
static int see_windows(struct job *job, int64_t window) {
    struct array *a = &job->a;
    int32_t ndim = a->view.ndim;
    if (!ndim || ndim == WF_NDIM_MAX) {
        PyErr_Format(PyExc_ValueError, "windows slide over an array of 1 to %d dimensions", WF_NDIM_MAX - 1);
        return -1;
    }
    a->shape[ndim] = window;
    a->stride_bytes[ndim] = a->stride_bytes[0];
    a->shape[0] = a->shape[0] < window ? 0 : a->shape[0] - window + 1;
    a->view.ndim = ndim + 1;
    return 0;
}

/* Rows of the array, from the first of which windows are made. */
static wf_array rows_of(const struct array *windows, int64_t begin, int64_t count, int64_t *shape) {
    int32_t ndim = windows->view.ndim - 1;
    memcpy(shape, windows->shape, (size_t)ndim * sizeof *shape);
    shape[0] = count;
    return wf_array_nd((const char *)windows->view.data + begin * windows->stride_bytes[0], windows->view.type, ndim, shape,
                       windows->stride_bytes);
}

struct sliding {
    struct job *job;
    wf_handle *handle;
    wf_accumulator *whole;
};

static wf_error create(const struct sliding *sliding, wf_accumulator **accumulator) {
    const struct array *a = &sliding->job->a;
    return wf_accumulator_create(sliding->handle, &sliding->job->reduction, a->view.type, a->view.ndim - 2, a->shape + 1,
                                 accumulator);
}

static wf_error add_rows(const struct sliding *sliding, wf_accumulator *accumulator, int64_t begin, int64_t count) {
    int64_t shape[WF_NDIM_MAX];
    wf_array rows = rows_of(&sliding->job->a, begin, count, shape);
    wf_groups first = wf_groups_axes(1);
    return wf_accumulator_add(sliding->handle, accumulator, &rows, NULL, rows.ndim > 1 ? &first : NULL);
}

static wf_error take_row(const struct sliding *sliding, int64_t row) {
    wf_accumulator *part;
    wf_error error = create(sliding, &part);
    if (!error) error = add_rows(sliding, part, row, 1);
    if (!error) error = wf_accumulator_subtract(sliding->handle, sliding->whole, part);
    wf_accumulator_destroy(part);
    return error;
}

/* Writes the results of all windows, in C order, to output. */
static wf_error slide(struct sliding *sliding, int64_t window, wf_output output) {
    const struct array *a = &sliding->job->a;
    int64_t count = a->shape[0], nbytes = (int64_t)wf_type_nbytes(output.type);
    output.ndim = a->view.ndim - 2;
    output.shape = a->shape + 1;
    for (int32_t d = 0; d < output.ndim; d++) nbytes *= output.shape[d];
    wf_error error = create(sliding, &sliding->whole);
    if (!error) error = add_rows(sliding, sliding->whole, 0, window - 1);
    for (int64_t i = 0; !error && i < count; i++) {
        error = add_rows(sliding, sliding->whole, i + window - 1, 1);
        if (!error) error = wf_accumulator_result(sliding->handle, sliding->whole, sliding->job->reduction.op, &output);
        if (!error && i + 1 < count) error = take_row(sliding, i);
        output.data = (char *)output.data + nbytes;
    }
    wf_accumulator_destroy(sliding->whole);
    return error;
}

static bool can_subtract(wf_op op) {
    static const wf_op ops[] = {WF_SUM, WF_MEAN, WF_VAR, WF_STD, WF_NORM1, WF_NORM2, WF_NONZERO, WF_ANY, WF_ALL, WF_XOR};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i] == op) return true;
    return false;
}

/* 1: the place has the results; 0: the windows are to be reduced each on its own, which may also tell what is wrong. */
static int slide_to(struct place *place, struct job *job, int64_t window) {
    struct sliding sliding = {.job = job};
    if (job->a.is_on_gpu || window < LONG_WINDOW || !can_subtract(job->reduction.op)) return 0;
    sliding.handle = handle_lend(job->device, job->threads);
    if (!sliding.handle) return -1;
    PyThreadState *thread = PyEval_SaveThread();
    wf_error error = slide(&sliding, window, place->output);
    PyEval_RestoreThread(thread);
    handle_return(sliding.handle, job->device);
    return !error;
}

static PyObject *roll(struct job *job, int64_t window) {
    struct results results = {.axes = 0};
    struct place place;
    if (see_windows(job, window)) return NULL;
    results.axes = (uint64_t)1 << (job->a.view.ndim - 1);
    results_lay_out(&results, job, false);
    if (place_open(&place, job, &results, NULL, true)) return NULL;
    int slid = slide_to(&place, job, window);
    if (slid) return place_close(&place, job, &results, slid > 0);
    wf_groups groups = wf_groups_axes(results.axes);
    return place_run(&place, job, &results, &groups, raise_error);
}

PyObject *reduce_windows(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    static const struct signature signature = {
        "reduce_windows",
        BIT(ARG_OP) | BIT(ARG_A) | BIT(ARG_COUNT) | BIT(ARG_DDOF) | BIT(ARG_NAN) | BIT(ARG_THREADS),
        3,
        {ARG_OP, ARG_A, ARG_COUNT, ARGUMENTS}};
    struct function function = {.op = WF_OP_NONE};
    PyObject *values[ARGUMENTS], *result = NULL;
    int64_t window;
    struct job job;
    if (arguments_read(&signature, arguments, count, names, values)) return NULL;
    if (read_op(values[ARG_OP], &function.op) || read_int64(values[ARG_COUNT], "window", &window)) return NULL;
    if (window < 1) return PyErr_SetString(PyExc_ValueError, "a window has at least one element"), NULL;
    if (job_begin(state_of(module), &job, &function, values)) return NULL;
    result = roll(&job, window);
    job_end(&job);
    return result;
}
