#include "results.h"

#include <stdlib.h>

#include "npy.h"
#include "output.h"
#include "report/reduction.h"

int results_make(struct results *results, wf_type type) {
    results->type = type;
    results->count = 1;
    for (int32_t d = 0; d < results->ndim; d++) results->count *= results->shape[d];
    results->data = malloc((size_t)results->count * wf_type_nbytes(type) + 1);
    return results->data ? STATUS_OK : fail_memory();
}

void results_clear(struct results *results) {
    free(results->data);
    results->data = NULL;
}

wf_output results_output(const struct results *results) {
    return (wf_output){
        .data = results->data, .type = results->type, .ndim = results->ndim, .shape = results->shape};
}

/* A vector is printed as a line, a matrix (and so on) as a line for each row. */
static bool make_page(const struct results *results, wf_op op, wf_type type, const struct settings *settings,
                      struct page *page) {
    const struct reduction_format format = {.hex = settings->hex, .json = settings->json};
    page_open(page);
    if (page->stream && results && !settings->outputs.count) {
        const struct result_array array = {results->data, results->type, results->ndim, results->shape, results->count};
        put_results(page->stream, op, type, &array, format);
    }
    return page_end(page);
}

int results_deliver(const struct results *results, wf_op op, wf_type type, const struct saved *saved,
                    const struct settings *settings) {
    char header[NPY_HEADER_NBYTES_MAX];
    struct file_draft drafts[2];
    size_t count = 0;
    if (results && settings->outputs.count) {
        size_t header_nbytes = npy_header(header, results->type, results->ndim, results->shape);
        size_t nbytes = (size_t)results->count * wf_type_nbytes(results->type);
        drafts[count++] = (struct file_draft){
            .path = settings->outputs.items[0], .pieces = {{header, header_nbytes}, {results->data, nbytes}}, .piece_count = 2};
    }
    if (settings->save)
        drafts[count++] = (struct file_draft){
            .path = settings->save, .pieces = {{saved->bytes, saved->nbytes}}, .piece_count = 1};
    struct page page;
    int status = make_page(results, op, type, settings, &page) ? deliver(drafts, count, results ? &page : NULL)
                                                               : fail_memory();
    page_clear(&page);
    return status;
}

/* Sets *error if there are no results. */
static int read_results(wf_handle *handle, const wf_accumulator *accumulator, struct results *results,
                        wf_error *error) {
    wf_op op = wf_accumulator_op(accumulator);
    *error = wf_accumulator_shape(accumulator, &results->ndim, results->shape);
    int status = results_make(results, wf_accumulator_op_result_type(accumulator, op));
    if (status) return status;
    const wf_output output = results_output(results);
    *error = wf_accumulator_result(handle, accumulator, op, &output);
    return STATUS_OK;
}

int results_conclude(wf_handle *handle, const wf_accumulator *accumulator, const struct settings *settings) {
    struct results results = {.data = NULL};
    struct saved saved = {NULL, 0};
    wf_error error = WF_OK;
    int status = settings->save ? saved_make(handle, accumulator, &saved) : STATUS_OK;
    if (!status) status = read_results(handle, accumulator, &results, &error);
    if (!status)
        status = results_deliver(error ? NULL : &results, wf_accumulator_op(accumulator),
                                 wf_accumulator_type(accumulator), &saved, settings);
    results_clear(&results);
    saved_clear(&saved);
    return error && !status ? fail_library(handle, error) : status;
}
