/* A reduction, from the arguments of a call to its result. */
#include "accumulator.h"

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

/* ---- the functions */

/* norm's op by its ord. */
static int read_order(PyObject *order, wf_op *op) {
    double number = order ? PyFloat_AsDouble(order) : 2;
    if (number == -1 && PyErr_Occurred()) PyErr_Clear();
    *op = number == 1 ? WF_NORM1 : number == 2 ? WF_NORM2 : isinf(number) && number > 0 ? WF_NORMINF : WF_OP_NONE;
    if (*op) return 0;
    PyErr_Format(PyExc_ValueError, "ord must be 1, 2 or inf, not %R", order);
    return -1;
}

/* vecdot pairs arrays of two shapes as NumPy does: each dimension has one length, or is repeated. */
static int broadcast_pair(struct job *job) {
    struct array *a = &job->a, *b = &job->b;
    int64_t shape[WF_NDIM_MAX];
    int32_t ndim = a->view.ndim > b->view.ndim ? a->view.ndim : b->view.ndim;
    for (int32_t d = 0; d < ndim; d++) {
        int32_t at_a = d - (ndim - a->view.ndim), at_b = d - (ndim - b->view.ndim);
        shape[d] = at_a >= 0 ? a->shape[at_a] : 1;
        if (at_b >= 0 && shape[d] == 1) shape[d] = b->shape[at_b];
    }
    return array_broadcast(a, ndim, shape, "the first array") || array_broadcast(b, ndim, shape, "the second array");
}

static PyObject *reduce_pair(struct job *job, PyObject **values) {
    PyObject *last = NULL;
    if (!values[ARG_AXIS] && job->a.view.ndim && job->b.view.ndim && job->a.shape[job->a.view.ndim - 1] !=
                                                    job->b.shape[job->b.view.ndim - 1]) {
        PyErr_Format(PyExc_ValueError, "vecdot: the last dimensions have %lld and %lld elements",
                     (long long)job->a.shape[job->a.view.ndim - 1], (long long)job->b.shape[job->b.view.ndim - 1]);
        return NULL;
    }
    if (broadcast_pair(job)) return NULL;
    if (!values[ARG_AXIS]) values[ARG_AXIS] = last = PyLong_FromLong(-1);
    PyObject *result = values[ARG_AXIS] ? reduce_axes(job, values) : NULL;
    Py_XDECREF(last);
    return result;
}

PyObject *reduce_function(PyObject *module, const struct function *function, PyObject *const *arguments,
                          Py_ssize_t count, PyObject *names) {
    PyObject *values[ARGUMENTS];
    struct function chosen = *function;
    struct job job;
    if (arguments_read(&function->signature, arguments, count, names, values)) return NULL;
    if (!chosen.op && read_order(values[ARG_ORD], &chosen.op)) return NULL;
    if (job_begin(state_of(module), &job, &chosen, values)) return NULL;
    bool is_plain = !values[ARG_AXIS] && !values[ARG_KEEPDIMS] && !values[ARG_OUT] && !values[ARG_WHERE] &&
                    !values[ARG_INITIAL];
    PyObject *result = job.has_b  ? reduce_pair(&job, values)
                       : is_plain ? job_value(&job)
                                  : reduce_axes(&job, values);
    job_end(&job);
    return result;
}

/* ---- ops by their names */

int job_read_op(PyObject *name, wf_op *op, bool *counts_elements) {
    *counts_elements = PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, "elements");
    *op = WF_SUM;
    if (!*counts_elements && accumulator_read_op(name, op) && !PyErr_ExceptionMatches(PyExc_ValueError)) return -1;
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

/* Among other results the smallest of no floats is NaN, where min() of none is an error. */
static void fill_extremum(struct job *job) {
    wf_reduction *reduction = &job->reduction;
    bool is_extremum = reduction->op == WF_MIN || reduction->op == WF_MAX;
    if (reduction->fill || !is_extremum || !type_is_float(job->a.view.type)) return;
    job->fill = (wf_value){.type = WF_F64, .v = {.f64 = NAN}};
    reduction->fill = &job->fill;
}

PyObject *reduce_op(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    static const struct signature signature = {
        "reduce_op",
        BIT(ARG_OP) | BIT(ARG_A) | BIT(ARG_AXIS) | BIT(ARG_KEEPDIMS) | BIT(ARG_WHERE) | BIT(ARG_DTYPE) | BIT(ARG_DDOF) |
            BIT(ARG_CORRECTION) | BIT(ARG_NAN) | BIT(ARG_FILL) | BIT(ARG_THREADS) | BIT(ARG_DEVICE) | BIT(ARG_OUT),
        2,
        {ARG_OP, ARG_A, ARGUMENTS}};
    PyObject *values[ARGUMENTS], *result = NULL;
    struct function function = {.op = WF_OP_NONE};
    bool counts_elements;
    struct job job;
    if (arguments_read(&signature, arguments, count, names, values)) return NULL;
    if (job_read_op(values[ARG_OP], &function.op, &counts_elements)) return NULL;
    if (job_begin(state_of(module), &job, &function, values)) return NULL;
    if (!(counts_elements && job_count_elements(&job)) &&
        !read_fill(values[ARG_FILL], NULL, &job.reduction, &job.fill)) {
        fill_extremum(&job);
        result = reduce_axes(&job, values);
    }
    job_end(&job);
    return result;
}

/* ---- stats */

/* A tuple in the order of warpfold._kinds.Stats. */
static PyObject *stats_tuple(struct state *state, const struct array *like, const wf_stats *stats) {
    const wf_value *values[] = {&stats->sum,    &stats->mean,   &stats->var,     &stats->std,   &stats->min,
                                &stats->max,    &stats->argmin, &stats->argmax,  &stats->nonzero,
                                &stats->norm1,  &stats->norm2,  &stats->norminf};
    enum { COUNT = sizeof values / sizeof values[0] };
    PyObject *tuple = PyTuple_New(2 + COUNT);
    for (Py_ssize_t i = 0; tuple && i < 2 + COUNT; i++) {
        bool counts = i < 2 || values[i - 2]->type == WF_U64; /* integers have no other result of this type here */
        PyObject *item = i < 2    ? PyLong_FromUnsignedLongLong(i ? stats->nans : stats->count)
                         : counts ? python_value(values[i - 2])
                                  : scalar_of_kind(state, like, values[i - 2]);
        if (item && !PyTuple_SetItem(tuple, i, item)) continue;
        Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *make_stats(struct state *state, const struct array *like, const wf_stats *stats) {
    PyObject *tuple = stats_tuple(state, like, stats);
    PyObject *made = tuple ? PyObject_CallMethod(state->kinds, "make_stats", "(O)", tuple) : NULL;
    Py_XDECREF(tuple);
    return made;
}

PyObject *reduce_stats(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
    static const struct function function = {
        .signature = {"stats", BIT(ARG_A) | BIT(ARG_DTYPE) | BIT(ARG_DDOF) | BIT(ARG_CORRECTION) | BIT(ARG_NAN) |
                                   BIT(ARG_THREADS) | BIT(ARG_DEVICE), 1, {ARG_A, ARGUMENTS}},
        .op = WF_STATS};
    PyObject *values[ARGUMENTS], *result = NULL;
    struct job job;
    if (arguments_read(&function.signature, arguments, count, names, values)) return NULL;
    struct state *state = state_of(module);
    PyObject *dtype = values[ARG_DTYPE];
    values[ARG_DTYPE] = NULL; /* stats has no single result type to compare it with */
    if (job_begin(state, &job, &function, values)) return NULL;
    if (dtype && read_type(state, dtype, &job.reduction.result_type)) return job_end(&job), NULL;
    wf_handle *handle = handle_lend(job.device, job.threads);
    if (handle) {
        wf_stats stats = {.nbytes = sizeof stats};
        wf_error error = job.a.is_on_gpu ? wf_handle_set_stream(handle, job.a.stream) : WF_OK;
        PyThreadState *thread = PyEval_SaveThread();
        if (!error) error = wf_reduce_stats(handle, &job.reduction, &job.a.view, &stats);
        PyEval_RestoreThread(thread);
        keep_stream(state, handle, &job.a, error);
        result = error ? raise_error(handle, error) : make_stats(state, &job.a, &stats);
        handle_return(handle, job.device);
    }
    job_end(&job);
    return result;
}
