#include "axes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"
#include "output.h"
#include "report/reduction.h"

/* An array in memory, and its results. */
struct folded {
    void *elements;
    int32_t ndim;
    int64_t shape[WF_NDIM_MAX], stride_bytes[WF_NDIM_MAX], count;
    wf_type type;
    uint64_t axes;
    void *results;
    int32_t result_ndim;
    int64_t result_shape[WF_NDIM_MAX], result_count;
    wf_type result_type;
};

int axes_check(const struct request *request) {
    const struct settings *settings = request->settings;
    if (!settings->axis && settings->output_count) return fail_usage("--out needs --axis: one result is printed");
    if (!settings->axis) return STATUS_OK;
    if (request->op == WF_STATS || request->op == WF_DOT)
        return fail_usage("%s does not take --axis", wf_op_name(request->op));
    if (request->operand_count > 1) return fail_usage("--axis takes one .npy file");
    if (settings->save) return fail_usage("--axis does not go with --save: accumulators have no axes yet");
    if (settings->output_count > 1) return fail_usage("--out is given twice: it takes one file");
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

static int read_array(wf_handle *handle, wf_reader *reader, struct folded *folded) {
    wf_error error = wf_reader_shape(handle, reader, &folded->ndim, folded->shape, folded->stride_bytes);
    if (error) return fail_library(handle, error);
    folded->type = wf_reader_type(reader);
    folded->count = count_of(folded->shape, folded->ndim);
    return read_elements(handle, reader, folded);
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

static int reduce(wf_handle *handle, const struct request *request, struct folded *folded) {
    const wf_reduction reduction = settings_reduction(request->settings, request->op);
    const wf_array array =
        wf_array_nd(folded->elements, folded->type, folded->ndim, folded->shape, folded->stride_bytes);
    const wf_groups groups = wf_groups_axes(folded->axes);
    folded->result_type =
        reduction.result_type ? reduction.result_type : wf_op_result_type(request->op, folded->type);
    wf_error error = wf_groups_shape(&array, &groups, &folded->result_ndim, folded->result_shape);
    folded->result_count = error ? 0 : count_of(folded->result_shape, folded->result_ndim);
    folded->results = malloc((size_t)folded->result_count * wf_type_nbytes(folded->result_type) + 1);
    if (!folded->results) return fail_memory();
    const wf_output output = {.data = folded->results,
                              .type = folded->result_type,
                              .ndim = folded->result_ndim,
                              .shape = folded->result_shape};
    error = wf_reduce(handle, &reduction, &array, NULL, &groups, &output);
    return error ? fail_library(handle, error) : STATUS_OK;
}

/* Of a vector, a line; of a matrix and so on, a line for each row. */
static bool make_page(const struct folded *folded, const struct request *request, struct page *page) {
    const struct settings *settings = request->settings;
    const struct reduction_format format = {.hex = settings->hex, .json = settings->json};
    const struct result_array results = {folded->results, folded->result_type, folded->result_ndim,
                                         folded->result_shape, folded->result_count};
    page_open(page);
    if (page->stream && !settings->output_count)
        put_results(page->stream, request->op, folded->type, &results, format);
    return page_end(page);
}

static int hand_on(const struct folded *folded, const struct request *request) {
    const struct settings *settings = request->settings;
    char header[NPY_HEADER_NBYTES_MAX];
    size_t nbytes = npy_header(header, folded->result_type, folded->result_ndim, folded->result_shape);
    size_t results_nbytes = (size_t)folded->result_count * wf_type_nbytes(folded->result_type);
    struct file_draft draft = {.path = settings->output_count ? settings->outputs[0] : NULL,
                               .pieces = {{header, nbytes}, {folded->results, results_nbytes}},
                               .piece_count = 2};
    struct page page;
    int status = make_page(folded, request, &page) ? deliver(&draft, settings->output_count, &page) : fail_memory();
    page_clear(&page);
    return status;
}

int axes_reduce(wf_handle *handle, wf_reader *reader, const struct request *request) {
    struct folded folded = {.elements = NULL};
    int status = read_array(handle, reader, &folded);
    if (!status) status = find_axes(request->settings->axis, &folded);
    if (!status) status = reduce(handle, request, &folded);
    if (!status) status = hand_on(&folded, request);
    free(folded.elements);
    free(folded.results);
    return status;
}
