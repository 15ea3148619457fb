#include "conclude.h"

#include "output.h"
#include "report/printed.h"
#include "report/reduction.h"
#include "saved.h"

static wf_error put_conclusion(FILE *stream, wf_handle *handle, const wf_accumulator *accumulator,
                               const struct settings *settings) {
    wf_op op = wf_accumulator_op(accumulator);
    wf_value result;
    wf_stats stats = {.nbytes = sizeof stats};
    const struct reduction_format format = {.hex = settings->hex, .json = settings->json};
    bool is_stats = op == WF_STATS;
    wf_error error = is_stats ? wf_accumulator_stats(handle, accumulator, &stats)
                              : wf_accumulator_value(handle, accumulator, op, &result);
    if (error) return error;
    if (is_stats)
        put_statistics(stream, accumulator, &stats, format);
    else
        put_reduction(stream, accumulator, &result, format);
    return WF_OK;
}

int reduction_conclude(wf_handle *handle, const wf_accumulator *accumulator, const struct settings *settings) {
    const char *plan = wf_handle_plan(handle);
    if (settings->verbose && plan[0]) say("plan of the last launch: %s", plan);
    struct saved saved = {NULL, 0};
    int status = settings->save ? saved_make(handle, accumulator, &saved) : STATUS_OK;
    wf_error error = WF_OK;
    struct page page;
    page_open(&page);
    if (page.stream) error = put_conclusion(page.stream, handle, accumulator, settings);
    bool has_page = page_end(&page) && error != WF_ERROR_MEMORY;
    if (!status && !has_page) status = fail_memory();
    struct file_draft draft = {.path = settings->save, .pieces = {{saved.bytes, saved.nbytes}}, .piece_count = 1};
    if (!status) status = deliver(&draft, settings->save != NULL, error ? NULL : &page);
    page_clear(&page);
    saved_clear(&saved);
    return error && !status ? fail_library(handle, error) : status;
}
