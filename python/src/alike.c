/* Two arrays of different types as arrays of one type, which has every element of both. */
#include "core.h"

/* The numbers of a type: see types.h. */
struct numbers {
    bool has_negative;
    int bits, least, most;
};

static const struct numbers numbers_of[TYPES] = {
#define LINE(NAME, name, ...) [WF_##NAME] = {__VA_ARGS__},
    TYPE_LINES(LINE)
#undef LINE
};

static bool has_all_of(wf_type type, wf_type other) {
    const struct numbers *ours = &numbers_of[type], *theirs = &numbers_of[other];
    return ours->has_negative >= theirs->has_negative && ours->bits >= theirs->bits && ours->least <= theirs->least &&
           ours->most >= theirs->most;
}

/* The shortest type that has the numbers of both, integers first; f64, if none has. */
static wf_type common_type(wf_type a, wf_type b) {
    wf_type found = WF_F64;
    for (wf_type type = TYPES - 1; type >= WF_BOOL; type--)
        if (has_all_of(type, a) && has_all_of(type, b) && wf_type_nbytes(type) <= wf_type_nbytes(found)) found = type;
    return found;
}

/* Whether f64 has all of these integers; an exception tells that it has not. */
static int check_magnitudes(wf_handle *handle, const wf_array *view) {
    wf_reduction largest = wf_reduction_of(WF_NORMINF);
    wf_value value;
    largest.result_type = WF_U64;
    wf_error error = wf_reduce_value(handle, &largest, view, NULL, &value);
    if (error) return raise_error(handle, error), -1;
    if (value.v.u <= (uint64_t)1 << 53) return 0;
    PyErr_Format(PyExc_OverflowError, "integers (%s) beyond 2**53 meet another type, and no type has the numbers of both: "
                 "convert one of the arrays", wf_type_name(view->type));
    return -1;
}

/* Each element is the sum of a group of its own, so that the library converts, wherever the elements are. */
static int convert(struct job *job, wf_handle *handle, struct array *array, wf_type type, struct target *target) {
    wf_array *view = &array->view;
    const wf_reduction itself = {.nbytes = sizeof itself, .op = WF_SUM, .result_type = type};
    const wf_groups each = wf_groups_axes(0);
    if (array->is_on_gpu && wf_handle_set_stream(handle, array->stream)) return raise_error(handle, WF_ERROR_DEVICE), -1;
    if (!has_all_of(type, view->type) && check_magnitudes(handle, view)) return -1;
    if (target_make(job->state, array, type, view->ndim, array->shape, target)) return -1;
    wf_output output = {.data = (void *)target->array.view.data, .type = type, .ndim = view->ndim, .shape = array->shape};
    wf_error error = wf_reduce(handle, &itself, view, NULL, &each, &output);
    keep_stream(job->state, handle, array, error);
    if (error) return raise_error(handle, error), -1;
    view->data = output.data;
    view->type = type;
    contiguous_strides(view->ndim, array->shape, (int64_t)wf_type_nbytes(type), array->stride_bytes);
    return 0;
}

int job_make_alike(struct job *job) {
    struct array *pair[] = {&job->a, &job->b};
    const wf_type type = common_type(job->a.view.type, job->b.view.type);
    const char *device = job->a.is_on_gpu ? "auto" : CPU;
    if (check_memory(&job->a, &job->b, device)) return -1;
    wf_handle *handle = handle_lend(device, 0);
    if (!handle) return -1;
    int status = 0;
    for (int i = 0; i < 2 && !status; i++)
        if (pair[i]->view.type != type) status = convert(job, handle, pair[i], type, &job->converted[i]);
    handle_return(handle, device);
    return status;
}
