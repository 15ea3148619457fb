/* The functions that reduce, from the arguments of a call to its result. */
#include "core.h"

#include <math.h>

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
