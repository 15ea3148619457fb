#include "commands.h"

#include <inttypes.h>
#include <string.h>

#include "axes.h"
#include "conclude.h"
#include "in_pieces.h"
#include "ladder/gpu.h"
#include "launch.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "report/printed.h"
#include "results.h"
#include "saved.h"
#include "table.h"

/* Whether there can be such a device, on some machine. */
static bool is_device_name(const char *name) {
    return !strcmp(name, "auto") || !strcmp(name, "cpu") || !strcmp(name, "cuda:all") || ladder_gpu_is_name(name);
}

static int open_device(const struct settings *settings, wf_handle **handle) {
    const char *device = settings->device ? settings->device : "auto";
    char text[512];
    if (!is_device_name(device))
        return fail_usage("--device takes auto, cpu, cuda, cuda:N or cuda:all, not '%s'; 'warpfold devices' lists the "
                          "available ones",
                          device);
    wf_error error = wf_handle_create(device, handle);
    if (error && wf_device_describe(device, text, sizeof text)) return fail("--device %s: %s", device, text);
    if (!error) error = wf_handle_set_threads(*handle, (int32_t)settings->threads);
    if (error) return fail("--device %s: %s", device, wf_error_text(error));
    if (settings->verbose && settings->threads)
        say("device %s; threads: at most %" PRId64, wf_handle_device(*handle), settings->threads);
    else if (settings->verbose)
        say("device %s; threads: one per processor", wf_handle_device(*handle));
    return STATUS_OK;
}

/* In one piece, by this process alone. */
static int reduce_whole(wf_handle *handle, const struct request *request) {
    const struct settings *settings = request->settings;
    const wf_reduction reduction = settings_reduction(settings, request->op);
    wf_reader_options reader_options = settings_reader_options(settings);
    wf_reader *reader = NULL;
    wf_accumulator *accumulator = NULL;
    struct progress progress;
    progress_start(&progress, settings->quiet);
    progress_watch(&progress, &reader_options);
    wf_error error =
        wf_reader_open(handle, request->operands, request->operand_count, &reader_options, &reader);
    if (!error && !settings->axis)
        error = wf_accumulator_create(handle, &reduction, wf_reader_type(reader), 0, NULL, &accumulator);
    if (!error && !settings->axis) error = wf_accumulator_add_reader(handle, accumulator, reader, NULL);
    progress_end(&progress);
    int status = error        ? fail_library(handle, error)
             : settings->axis ? axes_reduce(handle, reader, request)
                              : reduction_conclude(handle, accumulator, settings);
    wf_accumulator_destroy(accumulator);
    wf_reader_close(reader);
    return status;
}

int command_reduce(const struct request *request) {
    if (table_is_asked_for(request->settings)) return command_table(request);
    wf_handle *handle = NULL;
    int status = axes_check(request);
    if (!status) status = check_piece(request->settings);
    if (!status) status = open_device(request->settings, &handle);
    if (status) return status;
    status = is_in_pieces(request->settings) ? reduce_in_pieces(handle, request) : reduce_whole(handle, request);
    wf_handle_destroy(handle);
    const bool may_be_nan = status == STATUS_FAILED && request->settings->nan == WF_NAN_ERROR && !request->settings->axis;
    if (may_be_nan && ranks_of_environment().rank == 0) table_name_nan(request);
    return status;
}

/* Adds the pairs of both readers' numbers, which must match in type and count. */
static int add_pairs(wf_handle *handle, const struct request *request, wf_reader *const readers[2],
                     struct progress *progress, wf_accumulator **accumulator) {
    const wf_reduction reduction = settings_reduction(request->settings, request->op);
    wf_type types[2] = {wf_reader_type(readers[0]), wf_reader_type(readers[1])};
    if (types[0] != types[1])
        return fail("%s has elements of %s and %s of %s: both must have the same type", file_name(request->operands[0]),
                    wf_type_name(types[0]), file_name(request->operands[1]), wf_type_name(types[1]));
    wf_error error = wf_accumulator_create(handle, &reduction, types[0], 0, NULL, accumulator);
    if (error) return fail_library(handle, error);
    error = wf_accumulator_add_reader(handle, *accumulator, readers[0], readers[1]);
    progress_end(progress);
    return error ? fail_library(handle, error) : STATUS_OK;
}

static int reduce_pair_whole(wf_handle *handle, const struct request *request) {
    wf_reader_options reader_options = settings_reader_options(request->settings);
    wf_reader *readers[2] = {NULL, NULL};
    wf_accumulator *accumulator = NULL;
    struct progress progress;
    int status = STATUS_OK;
    progress_start(&progress, request->settings->quiet);
    progress_watch(&progress, &reader_options); /* the first reader reports what both have done */
    for (int i = 0; i < 2 && !status; i++) {
        wf_error error = wf_reader_open(handle, &request->operands[i], 1, &reader_options, &readers[i]);
        if (error) status = fail_library(handle, error);
    }
    if (!status) status = add_pairs(handle, request, readers, &progress, &accumulator);
    if (!status) status = reduction_conclude(handle, accumulator, request->settings);

    wf_accumulator_destroy(accumulator);
    wf_reader_close(readers[0]);
    wf_reader_close(readers[1]);
    return status;
}

int command_reduce_pair(const struct request *request) {
    const struct settings *settings = request->settings;
    wf_handle *handle = NULL;
    int status = axes_check(request);
    if (settings->by.count || settings->per || settings->decimals >= 0 || settings->csv || settings->columns.count > 1)
        status = fail_usage("dot takes one column of each file: a table's columns are not paired");
    if (!status) status = check_piece(request->settings);
    if (!status) status = open_device(settings, &handle);
    if (status) return status;
    status = is_in_pieces(request->settings) ? reduce_in_pieces(handle, request) : reduce_pair_whole(handle, request);
    wf_handle_destroy(handle);
    return status;
}

static int merge_file(wf_handle *handle, const char *path, wf_accumulator *into) {
    wf_accumulator *from = NULL;
    int status = saved_read(handle, path, &from);
    if (!status && wf_accumulator_merge(handle, into, from))
        status = fail("%s: %s", file_name(path), wf_handle_message(handle));
    wf_accumulator_destroy(from);
    return status;
}

static int conclude_merge(wf_handle *handle, const wf_accumulator *accumulator, const struct settings *settings) {
    int64_t shape[WF_NDIM_MAX];
    int32_t ndim = 0;
    wf_accumulator_shape(accumulator, &ndim, shape);
    if (ndim) return results_conclude(handle, accumulator, settings);
    if (settings->outputs.count) return fail("--out takes the results of an accumulator with a shape: this one is printed");
    return reduction_conclude(handle, accumulator, settings);
}

static int merge_accumulators(wf_handle *handle, const struct request *request, const struct saved *first) {
    wf_accumulator *accumulator = NULL;
    int status = saved_load(handle, request->operands[0], first, &accumulator);
    for (size_t i = 1; i < request->operand_count && !status; i++)
        status = merge_file(handle, request->operands[i], accumulator);
    if (!status) status = conclude_merge(handle, accumulator, request->settings);
    wf_accumulator_destroy(accumulator);
    return status;
}

int command_merge(const struct request *request) {
    wf_handle *handle = NULL;
    struct saved first = {NULL, 0};
    if (request->settings->outputs.count > 1) return fail_usage("--out is given twice: it takes one file");
    int status = open_device(request->settings, &handle);
    if (status) return status;
    status = saved_read_bytes(request->operands[0], &first);
    if (!status && table_is_saved(&first))
        status = table_merge(request, &first);
    else if (!status && (request->settings->sort || request->settings->csv))
        status = fail_usage("--sort and --csv are for tables: %s is not a saved table", file_name(request->operands[0]));
    else if (!status)
        status = merge_accumulators(handle, request, &first);
    saved_clear(&first);
    wf_handle_destroy(handle);
    return status;
}

static wf_error put_device(FILE *stream, const char *device) {
    char text[512];
    wf_error error = wf_device_describe(device, text, sizeof text);
    if (error) fprintf(stream, "%s is unavailable: ", device);
    put_name(stream, text, strlen(text));
    fputc('\n', stream);
    return error == WF_ERROR_MEMORY ? error : WF_OK; /* other errors are reported: the device cannot be used */
}

int command_devices(const struct request *request) {
    (void)request;
    int32_t count = wf_gpu_count();
    struct page page;
    page_open(&page);
    wf_error error = page.stream ? put_device(page.stream, "cpu") : WF_ERROR_MEMORY;
    if (!error && !count) error = put_device(page.stream, "cuda"); /* which says why there is none */
    for (int32_t i = 0; !error && i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "cuda:%" PRId32, i);
        error = put_device(page.stream, name);
    }
    if (!error) return page_print(&page);
    page_clear(&page);
    return fail_memory();
}
