/* warpfold median, quantile, distinct and histogram. */
#include "report/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commands.h"
#include "number_lists.h"
#include "output.h"
#include "progress.h"
#include "table.h"

enum { BINS_DEFAULT = 10, BINS_MAX = 1 << 20, WIDTH_MAX = 120 };

/* The files, with a handle to read them. */
struct session {
    wf_handle *handle;
    wf_reader *reader;
    struct progress progress;
};

static int session_open(struct session *session, const struct request *request) {
    const struct settings *settings = request->settings;
    wf_reader_options options = settings_reader_options(settings);
    session->handle = NULL;
    session->reader = NULL;
    progress_start(&session->progress, settings->quiet);
    progress_watch(&session->progress, &options);
    wf_error error = wf_handle_create("cpu", &session->handle);
    if (error) return fail("cpu: %s", wf_error_text(error));
    error = wf_handle_set_threads(session->handle, (int32_t)settings->threads);
    if (!error) error = wf_reader_open(session->handle, request->operands, request->operand_count, &options, &session->reader);
    return error ? fail_library(session->handle, error) : STATUS_OK;
}

/* Prints the page, or says what is wrong. */
static int session_close(struct session *session, const struct request *request, wf_error error, struct page *page) {
    progress_end(&session->progress);
    int status = error ? fail_library(session->handle, error) : page_print(page);
    page_clear(page);
    wf_reader_close(session->reader);
    wf_handle_destroy(session->handle);
    if (error == WF_ERROR_NAN) table_name_nan(request);
    return status;
}

static int session_give_up(struct session *session, int status) {
    wf_reader_close(session->reader);
    wf_handle_destroy(session->handle);
    return status;
}

static struct reduction_format format_of(const struct settings *settings) {
    return (struct reduction_format){.hex = settings->hex, .json = settings->json};
}

/* ---- median and quantile ------------------------------------------------------------------------- */

static int print_quantiles(const struct request *request, const double *q, int64_t count, wf_value *values) {
    const struct settings *settings = request->settings;
    struct session session;
    struct page page;
    const wf_quantiles quantiles = {.nbytes = sizeof quantiles, .q = q, .count = count,
                                    .between = (wf_between)settings->between, .nan = (wf_nan)settings->nan,
                                    .result_type = settings->result_type};
    int status = session_open(&session, request);
    if (status) return session_give_up(&session, status);
    wf_error error = wf_quantile_reader(session.handle, &quantiles, session.reader, values);
    const struct quantile_results results = {wf_reader_type(session.reader), settings->q ? q : NULL, values, count};
    page_open(&page);
    if (page.stream && !error) put_quantiles(page.stream, &results, format_of(settings));
    return session_close(&session, request, error, &page);
}

int command_quantile(const struct request *request) {
    if (table_is_asked_for(request->settings)) return command_table(request);
    double *q;
    int64_t count;
    int status = parse_quantiles(request->settings, &q, &count);
    wf_value *values = status ? NULL : malloc((size_t)count * sizeof *values);
    if (!status && !values) status = fail_memory();
    if (!status) status = print_quantiles(request, q, count, values);
    free(q);
    free(values);
    return status;
}

/* ---- distinct ------------------------------------------------------------------------------------ */

int command_distinct(const struct request *request) {
    const struct settings *settings = request->settings;
    struct session session;
    struct page page;
    int64_t count = 0;
    if (table_is_asked_for(settings)) return command_table(request);
    int status = session_open(&session, request);
    if (status) return session_give_up(&session, status);
    wf_error error = wf_count_distinct_reader(session.handle, (wf_nan)settings->nan, session.reader, &count);
    page_open(&page);
    if (page.stream && !error) put_distinct(page.stream, wf_reader_type(session.reader), count, settings->json);
    const bool has_texts = error == WF_ERROR_FORMAT && settings->columns.count && strstr(wf_handle_message(session.handle), "is not a number");
    status = session_close(&session, request, error, &page);
    if (has_texts) say("distinct is for numbers: 'warpfold count --by %s' counts the rows of each text", settings->columns.items[0]);
    return status;
}

/* ---- histogram ----------------------------------------------------------------------------------- */

/* 0: rows, since nobody looks at a terminal. */
static int terminal_width(void) {
    struct winsize size = {.ws_col = 0};
    if (!isatty(STDOUT_FILENO)) return 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col) return 80;
    return size.ws_col < WIDTH_MAX ? size.ws_col : WIDTH_MAX;
}

/* Sets *edge_count, and *edges if they are given.  Returns a status, having said what is wrong. */
static int parse_bins(const char *text, double **edges, int64_t *edge_count) {
    char *end = NULL;
    errno = 0;
    long long bins = text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : 0;
    *edge_count = bins + 1;
    if (end && !*end && !errno && bins >= 1 && bins <= BINS_MAX) return STATUS_OK;
    if (!strchr(text, ','))
        return fail_usage("--bins takes a number from 1 to %d, or edges separated by commas, not '%s'", BINS_MAX, text);
    int status = parse_numbers("bins", text, edges, edge_count);
    for (int64_t i = 1; !status && i < *edge_count; i++)
        if ((*edges)[i] < (*edges)[i - 1])
            status = fail_usage("--bins: the edges must rise, but %g follows %g", (*edges)[i], (*edges)[i - 1]);
    return status;
}

static int print_histogram(const struct request *request, const double *edges, int64_t edge_count, double *found,
                           int64_t *counts) {
    const struct settings *settings = request->settings;
    struct session session;
    struct page page;
    const wf_histogram histogram = {.nbytes = sizeof histogram, .edges = edges, .edge_count = edge_count,
                                    .nan = (wf_nan)settings->nan};
    int status = session_open(&session, request);
    if (status) return session_give_up(&session, status);
    wf_error error = wf_count_bins_reader(session.handle, &histogram, session.reader, found, counts);
    if (!error && settings->nan == WF_NAN_OMIT) counts[edge_count + 1] = -1;
    const struct histogram_results results = {wf_reader_type(session.reader), found, edge_count, counts};
    page_open(&page);
    if (page.stream && !error) put_histogram(page.stream, &results, format_of(settings), terminal_width());
    return session_close(&session, request, error, &page);
}

int command_histogram(const struct request *request) {
    const char *bins = request->settings->bins;
    double *edges = NULL;
    int64_t edge_count = BINS_DEFAULT + 1;
    int status = bins ? parse_bins(bins, &edges, &edge_count) : STATUS_OK;
    if (!status && table_has_bins(request->settings)) {
        status = table_count_bins(request, edges, edge_count);
        free(edges);
        return status;
    }
    double *found = malloc((size_t)(edge_count + 1) * sizeof *found);
    int64_t *counts = malloc((size_t)(edge_count + 2) * sizeof *counts);
    if (!status && (!found || !counts)) status = fail_memory();
    if (!status) status = print_histogram(request, edges, edge_count, found, counts);
    free(edges);
    free(found);
    free(counts);
    return status;
}
