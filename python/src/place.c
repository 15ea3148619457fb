/* Where an array of results goes: to the caller's out, or to a new array of the caller's kind. */
#include "core.h"

#include <string.h>

void results_lay_out(struct results *results, const struct job *job, bool keeps_dimensions) {
    const wf_array *a = &job->a.view;
    results->type = job->reduction.result_type ? job->reduction.result_type
                                               : wf_op_result_type(job->reduction.op, a->type);
    results->ndim = results->seen_ndim = 0;
    results->count = results->reduced_count = 1;
    results->masked_ndim = 0;
    for (int32_t d = 0; d < a->ndim; d++) {
        bool is_reduced = results->axes >> d & 1;
        *(is_reduced ? &results->reduced_count : &results->count) *= a->shape[d];
        if (!is_reduced) results->shape[results->ndim++] = a->shape[d];
        if (!is_reduced || keeps_dimensions) results->seen_shape[results->seen_ndim++] = is_reduced ? 1 : a->shape[d];
    }
}

/* Whether nothing may be written to an array of a library, though its DLPack does not say so. */
static int is_immutable(struct state *state, PyObject *object) {
    PyObject *answer = PyObject_CallMethod(state->kinds, "is_immutable", "O", object);
    int result = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return result;
}

static int take_out(struct job *job, PyObject *object, struct array *out) {
    if (array_take(job->state, object, out)) return -1;
    int answer = out->kind == KIND_TENSOR ? is_immutable(job->state, object) : 0;
    out->is_read_only |= answer > 0;
    if (answer >= 0) return 0;
    array_release(out);
    return -1;
}

static int check_out(const struct array *out, const struct results *results) {
    if (out->kind == KIND_PYTHON) {
        PyErr_SetString(PyExc_TypeError, "out must be an array: into numbers and lists nothing is written");
        return -1;
    }
    if (out->is_read_only) {
        PyErr_SetString(PyExc_ValueError, out->copy ? "output array has not the machine's byte order"
                                                    : "output array is read-only");
        return -1;
    }
    bool is_same = out->view.ndim == results->seen_ndim;
    for (int32_t d = 0; is_same && d < out->view.ndim; d++) is_same = out->shape[d] == results->seen_shape[d];
    if (!is_same) {
        PyErr_SetString(PyExc_ValueError, "out has not the shape of the results");
        return -1;
    }
    bool is_integer = !type_is_float(out->view.type), must_be_bool = out->view.type == WF_BOOL;
    if ((is_integer && type_is_float(results->type)) || (must_be_bool && results->type != WF_BOOL)) {
        PyErr_Format(PyExc_TypeError, "out of %s cannot take results of %s", wf_type_name(out->view.type),
                     wf_type_name(results->type));
        return -1;
    }
    return 0;
}

/* Which of out's strides are those of the results' dimensions. */
static void skip_reduced(const struct results *results, const struct array *out, int64_t *stride_bytes) {
    bool keeps_dimensions = results->seen_ndim != results->ndim;
    int32_t to = 0;
    for (int32_t d = 0; d < results->seen_ndim; d++)
        if (!keeps_dimensions || !(results->axes >> d & 1)) stride_bytes[to++] = out->stride_bytes[d];
}

int place_open(struct place *place, struct job *job, struct results *results, PyObject *out, bool needs_order) {
    place->temporary = NULL;
    place->target.object = NULL;
    if (!out) {
        if (target_make(job->state, &job->a, results->type, results->seen_ndim, results->seen_shape, &place->target))
            return -1;
        place->output = (wf_output){.data = (void *)place->target.array.view.data, .type = results->type,
                                    .ndim = results->ndim, .shape = results->shape};
        return 0;
    }
    if (take_out(job, out, &place->out)) return -1;
    if (check_memory(&place->out, &job->a, job->device) || check_out(&place->out, results)) return array_release(&place->out), -1;
    results->type = job->reduction.result_type = place->out.view.type;
    skip_reduced(results, &place->out, place->stride_bytes);
    place->output = (wf_output){.data = (void *)place->out.view.data, .type = results->type, .ndim = results->ndim,
                                .shape = results->shape, .stride_bytes = place->stride_bytes};
    if (!needs_order && !arrays_overlap(&place->out.view, &job->a.view)) return 0;
    place->temporary = PyMem_Calloc((size_t)results->count, wf_type_nbytes(results->type));
    if (!place->temporary) return array_release(&place->out), PyErr_NoMemory(), -1;
    place->output.data = place->temporary;
    place->output.stride_bytes = NULL;
    return 0;
}

/* The position in its group of the element at index, of all elements in C order. */
static int64_t position_in_group(const struct job *job, const struct results *results, int64_t index) {
    int64_t position = 0, step = 1;
    for (int32_t d = results->masked_ndim - 1; d >= 0; d--) {
        int64_t length = job->a.shape[d];
        bool is_reduced = results->axes >> d & 1;
        if (is_reduced) position += index % length * step;
        if (is_reduced) step *= length;
        index /= length;
    }
    return position;
}

/* Results that are indices of selected elements become positions in their groups; fills are negative. */
static void find_positions(struct place *place, const struct job *job, const struct results *results) {
    wf_op op = job->reduction.op;
    int64_t *indices = place->output.data;
    if (!results->masked_ndim || results->type != WF_I64 || (op != WF_ARGMIN && op != WF_ARGMAX)) return;
    for (int64_t i = 0; i < results->count; i++)
        if (indices[i] > 0) indices[i] = position_in_group(job, results, indices[i]);
}

PyObject *place_close(struct place *place, struct job *job, const struct results *results, bool is_good) {
    if (is_good) find_positions(place, job, results);
    if (place->target.object) return target_finish(job->state, &job->a, &place->target, is_good);
    if (is_good && place->temporary) {
        int64_t stride_bytes[WF_NDIM_MAX];
        size_t nbytes = wf_type_nbytes(results->type);
        contiguous_strides(results->ndim, results->shape, (int64_t)nbytes, stride_bytes);
        copy_strided((struct strided){(char *)place->out.view.data, place->stride_bytes},
                     (struct strided){place->temporary, stride_bytes}, results->ndim, results->shape, nbytes, false);
    }
    PyMem_Free(place->temporary);
    PyObject *out = place->out.owner;
    array_release(&place->out);
    if (!is_good) return NULL;
    Py_INCREF(out);
    return out;
}

/* ---- on a GPU */

/* Whether a result can fail in a way that is known only when it has been computed.  NaN tells where a float could not. */
static bool may_fail(const struct job *job, const struct results *results, const wf_groups *groups) {
    const wf_reduction *reduction = &job->reduction;
    wf_op op = reduction->op;
    bool is_extremum = op == WF_MIN || op == WF_MAX, is_index = op == WF_ARGMIN || op == WF_ARGMAX;
    bool has_floats = type_is_float(job->a.view.type), is_float = type_is_float(results->type);
    bool is_count = op == WF_ANY || op == WF_ALL || op == WF_NONZERO;
    if (groups && groups->by != WF_GROUP_AXES && !(reduction->flags & WF_SKIP_BAD_KEYS)) return true;
    if (reduction->nan == WF_NAN_ERROR && has_floats) return true;
    if (is_float || is_count) return false;
    bool has_all = !groups || groups->by == WF_GROUP_AXES; /* every group has an element: that was seen to */
    if (is_index) return !has_all || (has_floats && reduction->nan == WF_NAN_OMIT);
    return !is_extremum || !has_all;
}

/* Makes the word that tells of failures, where results that may fail stay in CUDA memory. */
static int open_status(struct place *place, struct job *job, const struct results *results, const wf_groups *groups) {
    place->status.object = NULL;
    if (!job->a.is_on_gpu || !may_fail(job, results, groups)) return 0;
    PyObject *word = PyObject_CallMethod(job->state->kinds, "status_word", "(O)", job->a.owner);
    if (!word || word == Py_None) return Py_XDECREF(word), word ? 0 : -1;
    if (array_take(job->state, word, &place->status.array)) return Py_DECREF(word), -1;
    place->status.object = word;
    place->output.status = (int32_t *)place->status.array.view.data;
    return 0;
}

static void close_status(struct place *place) {
    if (!place->status.object) return;
    array_release(&place->status.array);
    Py_CLEAR(place->status.object);
}

/* What has failed is done again with the results on the host, for the message. */
static wf_error run_again(struct place *place, struct job *job, wf_handle *handle, const struct results *results,
                          const wf_groups *groups) {
    wf_output output = place->output;
    output.data = PyMem_Calloc((size_t)results->count + 1, wf_type_nbytes(results->type));
    output.stride_bytes = NULL;
    output.status = NULL;
    wf_error error = output.data ? job_run(job, handle, groups, &output, NULL) : WF_ERROR_MEMORY;
    PyMem_Free(output.data);
    return error;
}

/* Runs, and waits where that is needed to know of failures; -1 with an exception. */
static int run(struct place *place, struct job *job, wf_handle *handle, const struct results *results,
               const wf_groups *groups, PyObject *(*raise)(const wf_handle *, wf_error)) {
    wf_error error = job_run(job, handle, groups, &place->output, NULL);
    if (!error && place->status.object) {
        PyObject *failed = PyObject_CallMethod(job->state->kinds, "has_failed", "(O)", place->status.object);
        if (failed == Py_True) error = run_again(place, job, handle, results, groups);
        Py_XDECREF(failed);
        if (!failed) return -1;
    }
    if (error) raise(handle, error);
    return error ? -1 : 0;
}

/* From how many elements on several threads are worth waking for groups, unless the caller says how many. */
enum { THREADS_COUNT = 32768 };

static int32_t choose_threads(const struct job *job) {
    return job->threads || array_count(&job->a.view) >= THREADS_COUNT ? job->threads : 1;
}

PyObject *place_run(struct place *place, struct job *job, const struct results *results, const wf_groups *groups,
                    PyObject *(*raise)(const wf_handle *, wf_error)) {
    int status = open_status(place, job, results, groups);
    wf_handle *handle = status ? NULL : handle_lend(job->device, choose_threads(job));
    if (handle) status = run(place, job, handle, results, groups, raise);
    if (handle) handle_return(handle, job->device);
    close_status(place);
    return place_close(place, job, results, handle && !status);
}
