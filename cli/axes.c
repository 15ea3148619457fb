#include "axes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "output.h"
#include "results.h"

/* An array in memory, and its results. */
struct folded {
    void *elements;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX], stride_bytes[WF_NDIM_MAX], count;
    wf_type type;
    uint64_t axes;
    bool keeps_nan; /* a NaN that is an error stays with the accumulator, as others may have one for an earlier result */
    struct results results;
};

int axes_check(const struct request *request) {
    const struct settings *settings = request->settings;
    if (!settings->axis && settings->outputs.count) return fail_usage("--out needs --axis: one result is printed");
    if (!settings->axis) return STATUS_OK;
    if (request->op == WF_STATS || request->op == WF_DOT)
        return fail_usage("%s does not take --axis", wf_op_name(request->op));
    if (request->operand_count > 1) return fail_usage("--axis takes one .npy file");
    if (settings->outputs.count > 1) return fail_usage("--out is given twice: it takes one file");
    return STATUS_OK;
}

/* ---- the array ------------------------------------------------------------------------------------ */

static int64_t count_of(const int64_t *shape, int32_t ndim) {
    int64_t count = 1;
    for (int32_t d = 0; d < ndim; d++) count *= shape[d];
    return count;
}

static int read_elements(wf_handle *handle, wf_reader *reader, struct folded *folded) {
    enum { LIMIT = 1 << 20 };
    size_t nbytes = wf_type_nbytes(folded->type);
    wf_array block = {.count = 1};
    folded->elements = malloc((size_t)folded->count * nbytes + 1);
    if (!folded->elements) return fail_memory();
    for (int64_t done = 0; done < folded->count; done += block.count) {
        wf_error error = wf_reader_next(handle, reader, LIMIT, &block);
        if (error) return fail_library(handle, error);
        memcpy((char *)folded->elements + (size_t)done * nbytes, block.data, (size_t)block.count * nbytes);
    }
    return STATUS_OK;
}

static int find_shape(wf_handle *handle, const wf_reader *reader, struct folded *folded) {
    wf_error error = wf_reader_shape(handle, reader, &folded->ndim, folded->shape, folded->stride_bytes);
    if (error) return fail_library(handle, error);
    folded->type = wf_reader_type(reader);
    folded->count = count_of(folded->shape, folded->ndim);
    return STATUS_OK;
}

/* ---- the axes ------------------------------------------------------------------------------------- */

static int refuse_axes(const char *text) {
    return fail_usage("--axis takes numbers of dimensions, separated by commas, each once, not '%s'", text);
}

/* Negative numbers count from the end. */
static int find_axes(const char *text, struct folded *folded) {
    const char *at = text;
    do {
        char *end;
        errno = 0;
        long axis = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || errno || strchr(" \t\n+", *at)) return refuse_axes(text);
        if (axis < -folded->ndim || axis >= folded->ndim)
            return fail("--axis %ld is out of range: the array has %" PRId32 " dimension%s", axis, folded->ndim,
                        folded->ndim == 1 ? "" : "s");
        uint64_t bit = UINT64_C(1) << (axis < 0 ? axis + folded->ndim : axis);
        if (folded->axes & bit) return refuse_axes(text);
        folded->axes |= bit;
        at = end + 1;
    } while (at[-1] == ',');
    return STATUS_OK;
}

/* ---- the results ---------------------------------------------------------------------------------- */

static int make_accumulator(wf_handle *handle, const struct request *request, const struct folded *folded, int64_t index,
                            const wf_array *array, const wf_groups *groups, wf_accumulator **accumulator) {
    wf_reduction reduction = settings_reduction(request->settings, request->op);
    const struct results *results = &folded->results;
    reduction.first_index = index;
    wf_error error = wf_accumulator_create(handle, &reduction, folded->type, results->ndim, results->shape, accumulator);
    if (!error) error = wf_accumulator_add(handle, *accumulator, array, NULL, groups);
    if (error == WF_ERROR_NAN && folded->keeps_nan) error = WF_OK;
    return error ? fail_library(handle, error) : STATUS_OK;
}

static int reduce(wf_handle *handle, const struct request *request, struct folded *folded, const wf_array *array,
                  const wf_groups *groups) {
    const wf_reduction reduction = settings_reduction(request->settings, request->op);
    struct results *results = &folded->results;
    int status = results_make(results, reduction.result_type ? reduction.result_type
                                                             : wf_op_result_type(request->op, folded->type));
    if (status) return status;
    const wf_output output = results_output(results);
    wf_error error = wf_reduce(handle, &reduction, array, NULL, groups, &output);
    if (error) return fail_library(handle, error);
    return results_deliver(results, request->op, folded->type, NULL, request->settings);
}

/* Makes *accumulator, or, if that is NULL, hands on the results. */
static int fold(wf_handle *handle, const struct request *request, struct folded *folded, int64_t index,
                wf_accumulator **accumulator) {
    const wf_array array =
        wf_array_nd(folded->elements, folded->type, folded->ndim, folded->shape, folded->stride_bytes);
    const wf_groups groups = wf_groups_axes(folded->axes);
    wf_error error = wf_groups_shape(&array, &groups, &folded->results.ndim, folded->results.shape);
    if (error) return fail_library(handle, error);
    return accumulator ? make_accumulator(handle, request, folded, index, &array, &groups, accumulator)
                       : reduce(handle, request, folded, &array, &groups);
}

static void clear(struct folded *folded) {
    free(folded->elements);
    results_clear(&folded->results);
}

/* Saves and prints them by way of an accumulator. */
static int reduce_and_save(wf_handle *handle, wf_reader *reader, const struct request *request) {
    wf_accumulator *accumulator = NULL;
    int status = axes_accumulate(handle, request, reader, -1, request->settings->first_index, &accumulator);
    if (!status) status = results_conclude(handle, accumulator, request->settings);
    wf_accumulator_destroy(accumulator);
    return status;
}

int axes_reduce(wf_handle *handle, wf_reader *reader, const struct request *request) {
    struct folded folded = {.elements = NULL};
    if (request->settings->save) return reduce_and_save(handle, reader, request);
    int status = find_shape(handle, reader, &folded);
    if (!status) status = find_axes(request->settings->axis, &folded);
    if (!status) status = read_elements(handle, reader, &folded);
    if (!status) status = fold(handle, request, &folded, 0, NULL);
    clear(&folded);
    return status;
}

/* ---- in pieces ------------------------------------------------------------------------------------ */

int axes_measure_rows(wf_handle *handle, const struct request *request, const wf_reader *reader, int64_t *row_nelements,
                      int64_t *row_depth) {
    struct folded folded = {.elements = NULL};
    int status = find_shape(handle, reader, &folded);
    if (!status) status = find_axes(request->settings->axis, &folded);
    *row_nelements = 1;
    *row_depth = (int64_t)(folded.axes & 1);
    for (int32_t d = 1; d < folded.ndim; d++) {
        *row_nelements *= folded.shape[d];
        if (folded.axes >> d & 1) *row_depth *= folded.shape[d];
    }
    return status;
}

int axes_accumulate(wf_handle *handle, const struct request *request, wf_reader *reader, int64_t row_count, int64_t index,
                    wf_accumulator **accumulator) {
    struct folded folded = {.keeps_nan = is_in_pieces(request->settings)};
    int status = find_shape(handle, reader, &folded);
    if (!status) status = find_axes(request->settings->axis, &folded);
    if (row_count >= 0) folded.shape[0] = row_count;
    folded.count = count_of(folded.shape, folded.ndim);
    if (!status) status = read_elements(handle, reader, &folded);
    if (!status) status = fold(handle, request, &folded, index, accumulator);
    clear(&folded);
    return status;
}
