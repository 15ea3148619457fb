/* A reduction that has been read from its arguments, and its value. */
#include "core.h"

#include <math.h>
#include <string.h>

/* From how many bytes on other threads of the interpreter may run meanwhile: letting them takes about as long as
 * reducing this much. */
enum { RELEASE_NBYTES = 16384 };

/* ---- types */

wf_type numpy_result_type(wf_op op, wf_type type) {
    if (op == WF_ARGMIN || op == WF_ARGMAX || op == WF_NONZERO) return WF_I64;
    if (type_is_float(type)) return WF_TYPE_DEFAULT;
    if (type == WF_BOOL && (op == WF_SUM || op == WF_PROD || op == WF_DOT)) return WF_I64;
    return op == WF_NORM1 || op == WF_NORMINF ? WF_F64 : WF_TYPE_DEFAULT;
}

/* NumPy would convert each element first; what its result would lose is not lost silently here. */
static int check_result_type(const struct job *job, wf_type type) {
    wf_type given = job->a.view.type;
    bool is_float = type_is_float(wf_op_result_type(job->reduction.op, given));
    if (type != WF_BOOL && (type_is_float(type) || !is_float)) return 0;
    PyErr_Format(PyExc_TypeError, "%s of %s cannot be given as %s without loss: convert the elements, or the result",
                 wf_op_name(job->reduction.op), wf_type_name(given), wf_type_name(type));
    return -1;
}

/* ---- the job */

/* Where the library of the caller's arrays has none of 64 bits, as jax unless it is told to, results are rounded to 32
 * at once, and integers that do not fit are an error. */
static int narrow_result_type(struct job *job) {
    wf_type *type = &job->reduction.result_type;
    wf_type whole = *type ? *type : wf_op_result_type(job->reduction.op, job->a.view.type);
    if (job->a.kind != KIND_TENSOR || wf_type_nbytes(whole) < 8) return 0;
    PyObject *name = PyObject_CallMethod(job->state->kinds, "narrowed", "Os", job->a.owner, wf_type_name(whole));
    int status = !name || (name != Py_None && read_type(job->state, name, type)) ? -1 : 0;
    Py_XDECREF(name);
    return status;
}

static int read_settings(struct job *job, PyObject *const *values) {
    wf_reduction *reduction = &job->reduction;
    if (values[ARG_NAN] && read_nan(values[ARG_NAN], &reduction->nan)) return -1;
    if (read_ddof(values[ARG_DDOF], values[ARG_CORRECTION], &reduction->ddof)) return -1;
    if (values[ARG_THREADS] && read_threads(values[ARG_THREADS], &job->threads)) return -1;
    if (values[ARG_DEVICE] && read_device(values[ARG_DEVICE], &job->device)) return -1;
    if (!job->device) job->device = job->a.is_on_gpu ? "auto" : CPU; /* auto would look where the elements are */
    if (check_memory(&job->a, job->has_b ? &job->b : NULL, job->device)) return -1;
    reduction->result_type = numpy_result_type(reduction->op, job->a.view.type);
    if (values[ARG_DTYPE] && (read_type(job->state, values[ARG_DTYPE], &reduction->result_type) ||
                              check_result_type(job, reduction->result_type)))
        return -1;
    return values[ARG_OUT] ? 0 : narrow_result_type(job);
}

int job_begin(struct state *state, struct job *job, const struct function *function, PyObject *const *values) {
    job->state = state;
    job->reduction = wf_reduction_of(function->op);
    job->reduction.nan = function->nan;
    job->has_b = false;
    job->converted[0].object = job->converted[1].object = NULL;
    job->counted = NULL;
    job->device = NULL;
    job->threads = 0;
    if (array_take(state, values[ARG_A], &job->a)) return -1;
    if (values[ARG_B] && !array_take(state, values[ARG_B], &job->b)) job->has_b = true;
    bool is_mixed = job->has_b && job->a.view.type != job->b.view.type;
    if (!PyErr_Occurred() && !(is_mixed && job_make_alike(job)) && !read_settings(job, values)) return 0;
    job_end(job);
    return -1;
}

void job_end(struct job *job) {
    array_release(&job->a);
    if (job->has_b) array_release(&job->b);
    for (int i = 0; i < 2; i++)
        if (job->converted[i].object) target_finish(job->state, &job->a, &job->converted[i], false);
    Py_CLEAR(job->counted);
}

const wf_array *job_b(const struct job *job) {
    return job->has_b ? &job->b.view : NULL;
}

wf_error job_run(struct job *job, wf_handle *handle, const wf_groups *groups, const wf_output *output,
                 wf_value *value) {
    const wf_array *a = &job->a.view, *b = job_b(job);
    wf_error error = job->a.is_on_gpu ? wf_handle_set_stream(handle, job->a.stream) : WF_OK;
    if (error) return error;
    int64_t nbytes = array_count(a) * (int64_t)wf_type_nbytes(a->type);
    PyThreadState *thread = nbytes >= RELEASE_NBYTES || job->a.is_on_gpu ? PyEval_SaveThread() : NULL;
    error = output ? wf_reduce(handle, &job->reduction, a, b, groups, output)
                   : wf_reduce_value(handle, &job->reduction, a, b, value);
    if (thread) PyEval_RestoreThread(thread);
    keep_stream(job->state, handle, &job->a, error);
    return error;
}

/* ---- ops by their names */

int job_read_op(PyObject *name, wf_op *op, bool *counts_elements) {
    *counts_elements = PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, "elements");
    *op = WF_SUM;
    if (!*counts_elements && read_op(name, op) && !PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
    PyErr_Clear();
    if (*op && *op != WF_DOT && *op != WF_STATS) return 0;
    PyErr_Format(PyExc_ValueError, "no op %R by groups", name);
    return -1;
}

int job_count_elements(struct job *job) {
    static const char one = 1;
    struct array *a = &job->a, there;
    a->view.data = &one;
    if (a->is_on_gpu) {
        job->counted = PyObject_CallMethod(job->state->kinds, "full", "OsO", a->owner, "bool", Py_True);
        if (!job->counted || array_take(job->state, job->counted, &there)) return -1;
        a->view.data = there.view.data; /* which stays as long as job->counted */
        int status = check_memory(&there, a, job->device);
        array_release(&there);
        if (status) return -1;
    }
    a->view.type = WF_BOOL;
    memset(a->stride_bytes, 0, sizeof a->stride_bytes);
    job->reduction.result_type = numpy_result_type(job->reduction.op, WF_BOOL);
    return 0;
}

/* ---- one value */

/* Where there is no value, floats are NaN, as NumPy's are; but the smallest or largest of no elements is an error. */
static void set_fill(struct job *job) {
    wf_op op = job->reduction.op;
    if (op == WF_SUM || job->reduction.fill) return; /* there always is a sum */
    bool is_float = op == WF_MEAN || op == WF_VAR || op == WF_STD;
    bool is_extremum = op == WF_MIN || op == WF_MAX;
    if (is_extremum) is_float = type_is_float(job->a.view.type) && array_count(&job->a.view);
    job->fill = (wf_value){.type = WF_F64, .v = {.f64 = NAN}};
    job->reduction.fill = is_float ? &job->fill : NULL;
}

static PyObject *host_value(struct job *job, wf_handle *handle) {
    wf_value value;
    set_fill(job);
    wf_error error = job_run(job, handle, NULL, NULL, &value);
    if (error) return raise_error(handle, error);
    if (!job->a.is_on_gpu) return scalar_of_kind(job->state, &job->a, &value);
    PyObject *number = python_value(&value);
    PyObject *result = number ? PyObject_CallMethod(job->state->kinds, "full", "OsO", job->a.owner,
                                                    wf_type_name(value.type), number) : NULL;
    Py_XDECREF(number);
    return result;
}

/* A tensor of no dimensions, where the array is. */
static PyObject *tensor_value(struct job *job, wf_handle *handle, wf_type type) {
    struct target target;
    if (!job->a.is_on_gpu) set_fill(job);
    if (target_make(job->state, &job->a, type, 0, NULL, &target)) return NULL;
    wf_output output = {.data = (void *)target.array.view.data, .type = type};
    wf_error error = job_run(job, handle, NULL, &output, NULL);
    if (error) raise_error(handle, error);
    return target_finish(job->state, &job->a, &target, !error);
}

/* The type of the result that becomes a tensor; WF_TYPE_DEFAULT if its value is asked for first.  A result that stays
 * on a GPU cannot tell of an overflow, nor of a NaN: only what cannot fail stays there. */
static wf_type tensor_type(const struct job *job) {
    const wf_reduction *reduction = &job->reduction;
    if (job->a.kind != KIND_TENSOR) return WF_TYPE_DEFAULT;
    wf_type type = reduction->result_type;
    if (!type) type = wf_op_result_type(reduction->op, job->a.view.type);
    bool can_stay = type_is_float(type) && reduction->nan != WF_NAN_ERROR && reduction->op != WF_PROD &&
                    array_count(&job->a.view) > reduction->ddof;
    return job->a.is_on_gpu && !can_stay ? WF_TYPE_DEFAULT : type;
}

PyObject *job_value(struct job *job) {
    wf_handle *handle = handle_lend(job->device, job->threads);
    if (!handle) return NULL;
    wf_type type = tensor_type(job);
    PyObject *result = type ? tensor_value(job, handle, type) : host_value(job, handle);
    handle_return(handle, job->device);
    return result;
}
