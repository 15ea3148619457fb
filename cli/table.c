#include "table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "in_pieces.h"
#include "io/tables.h"
#include "launch.h"
#include "number_lists.h"
#include "output.h"
#include "progress.h"
#include "report/suggest.h"
#include "report/tally.h"
#include "table_piece.h"

static bool has_several_columns(const struct settings *settings) {
    const char *name = settings->column_name;
    return settings->columns.count > 1 || (name && (strchr(name, ',') || name[0] == '"')); /* a name between quotes is one */
}

bool table_is_asked_for(const struct settings *settings) {
    const bool has_no_column = settings->has_header && !settings->column && !settings->column_name;
    return has_several_columns(settings) || has_no_column || settings->by.count || settings->per || settings->sort || settings->csv || settings->decimals >= 0 ||
           strchr(settings->operands.items[0], ',') || !strcmp(settings->operands.items[0], "count");
}

/* ---- the ops ---- */

static int add_op(struct wf_tally_settings *table, wf_op op, const char *name) {
    for (size_t i = 0; i < table->op_count; i++)
        if (table->op[i] == op) return fail_usage("%s is given twice", name);
    if (table->op_count == WF_TALLY_OPS_MAX) return fail_usage("too many ops");
    table->op[table->op_count++] = op;
    return STATUS_OK;
}

static int add_named(struct wf_tally_settings *table, const char *name, size_t length) {
    static const char *const none[] = {NULL};
    static const wf_op stats[] = {WF_TALLY_COUNT, WF_SUM, WF_MEAN, WF_STD, WF_MIN, WF_MAX};
    char copy[32] = "";
    if (length < sizeof copy) memcpy(copy, name, length);
    const wf_op op = wf_op_parse(copy);
    if (!strcmp(copy, "count")) return add_op(table, WF_TALLY_COUNT, copy);
    if (!strcmp(copy, "median")) return add_op(table, WF_TALLY_MEDIAN, copy);
    if (!strcmp(copy, "distinct")) return add_op(table, WF_TALLY_DISTINCT, copy);
    if (!strcmp(copy, "quantile") || !strcmp(copy, "histogram"))
        return fail_usage("%s does not go with other ops: 'warpfold %s --column C'", copy, copy);
    if (op == WF_OP_NONE) return fail_usage("unknown op '%.*s'%s", (int)length, name, suggest_command(copy, none).text);
    if (op != WF_STATS) return add_op(table, op, copy);
    int status = STATUS_OK;
    for (size_t i = 0; i < sizeof stats / sizeof stats[0] && !status; i++)
        if (stats[i] != WF_STD || table->decimals == WF_NO_DECIMALS) status = add_op(table, stats[i], i ? wf_op_name(stats[i]) : "count");
    return status;
}

/* "sum,mean" */
static int add_ops(struct wf_tally_settings *table, const char *names) {
    int status = STATUS_OK;
    for (bool is_more = true; is_more && !status;) {
        const size_t length = strcspn(names, ",");
        status = add_named(table, names, length);
        is_more = names[length] == ',';
        names += length + is_more;
    }
    return status;
}

/* One op for each q. */
static int add_quantiles(struct wf_tally_settings *table, const struct settings *settings, double **q) {
    char name[32];
    int64_t count = 0;
    int status = parse_quantiles(settings, q, &count);
    table->q = *q;
    for (int64_t i = 0; i < count && !status; i++) {
        snprintf(name, sizeof name, "--q: %g", (*q)[i]);
        for (int64_t k = 0; k < i && !status; k++)
            if ((*q)[k] == (*q)[i]) status = fail_usage("%s is given twice", name);
        if (!status) status = add_op(table, (wf_op)(WF_TALLY_QUANTILE + i), name);
    }
    return status;
}

static bool has_order(const struct wf_tally_settings *table) {
    bool has = false;
    for (size_t i = 0; i < table->op_count; i++) has |= wf_tally_is_of_order(table->op[i]);
    return has;
}

static bool has_product(const struct wf_tally_settings *table) {
    bool has = false;
    for (size_t i = 0; i < table->op_count; i++) has |= table->op[i] == WF_PROD;
    return has && wf_type_is_float(table->type);
}

/* What is done in parts is done with accumulators. */
static int check_parts(const struct settings *settings, const struct wf_tally_settings *table) {
    const char *why = settings->resume ? "--resume" : ranks_of_environment().size > 1 ? "mpirun" : NULL;
    if (!why) return check_piece(settings);
    if (settings->per) return fail_usage("%s does not go with --per row: reduce rows in one process", why);
    if (has_order(table)) return fail_usage("%s does not take medians and distinct values: they need all rows in one process", why);
    if (has_product(table)) return fail_usage("%s does not take products of floats in tables: they cannot be merged", why);
    return STATUS_OK;
}

static struct wf_tally_settings begin_settings(const struct settings *settings) {
    return (struct wf_tally_settings){.type = settings->type ? settings->type : WF_F64,
                                      .decimals = WF_NO_DECIMALS,
                                      .nan = (wf_nan)settings->nan,
                                      .result_type = settings->result_type,
                                      .ddof = settings->ddof,
                                      .between = (wf_between)settings->between};
}

/* *q: the caller's to free, once the tally has been cleared. */
static int make_settings(const struct settings *settings, struct wf_tally_settings *table, double **q) {
    *table = begin_settings(settings);
    if (settings->decimals >= 0) {
        if (settings->type) return fail_usage("--decimal does not take --type: decimals have a type of their own");
        table->decimals = (int32_t)settings->decimals;
        table->type = WF_I64;
    }
    const char *names = settings->operands.items[0];
    int status = !strcmp(names, "quantile") ? add_quantiles(table, settings, q) : add_ops(table, names);
    return status ? status : check_parts(settings, table);
}

static int check_options(const struct settings *settings) {
    if (settings->axis) return fail_usage("--axis is for .npy files, not for the columns of a table");
    if (settings->outputs.count) return fail_usage("--out needs --axis: the results of a table are printed");
    if (settings->csv && settings->json) return fail_usage("--csv does not go with --json: there is one output");
    if (settings->first_index) return fail_usage("--first-index does not go with tables, which tell rows by file and line");
    if (settings->per && settings->by.count) return fail_usage("--per row does not go with --by: rows are not grouped");
    if (settings->per && settings->save) return fail_usage("--per row does not go with --save: rows are not merged");
    if (settings->sort && !settings->by.count) return fail_usage("--sort needs --by: there are no groups");
    return STATUS_OK;
}

/* ---- results ---- */

/* Prints a result for each row. */
static int conclude_rows(const struct settings *settings, struct wf_tally *tally, struct wf_row_results *rows) {
    struct tally_report report = {.tally = tally, .results = rows->result, .form = table_choose_form(settings, false),
                                  .hex = settings->hex};
    struct page page;
    page_open(&page);
    if (report.form == TALLY_ALIGNED && tally->settings.op_count == 1) report.form = TALLY_TABS; /* a column of values */
    const bool is_put = page.stream && put_tally_rows(page.stream, &report, rows->count);
    int status = page_end(&page) && is_put ? deliver(NULL, 0, &page) : fail_memory();
    page_clear(&page);
    return status;
}

/* ---- the command ---- */

/* The rows' results, where they are asked for; otherwise the tally's. */
static wf_error read_table(wf_handle *handle, const struct request *request, const struct wf_tally_settings *table,
                           struct wf_tally *tally, struct wf_row_results *rows) {
    const struct settings *settings = request->settings;
    const struct wf_table_plan plan = table_make_plan(settings, table);
    wf_reader_options options = table_reader_options(settings);
    wf_reader *reader = NULL;
    struct progress progress;
    progress_start(&progress, settings->quiet);
    progress_watch(&progress, &options);
    wf_error error = wf_tally_begin(handle, tally, table);
    if (!error) error = wf_reader_open(handle, request->operands, request->operand_count, &options, &reader);
    if (!error && settings->per) error = wf_table_reduce_rows(handle, tally, reader, &plan, rows);
    if (!error && !settings->per) error = wf_tally_read(handle, tally, reader, &plan);
    progress_end(&progress);
    wf_reader_close(reader);
    return error;
}

static int open_cpu(const struct settings *settings, wf_handle **handle) {
    const char *device = settings->device ? settings->device : "cpu";
    if (strcmp(device, "cpu") != 0 && strcmp(device, "auto") != 0)
        return fail_usage("--device %s: tables are reduced on the CPU", device);
    wf_error error = wf_handle_create("cpu", handle);
    if (!error) error = wf_handle_set_threads(*handle, (int32_t)settings->threads);
    return error ? fail("%s", wf_error_text(error)) : STATUS_OK;
}

static int reduce_table(wf_handle *handle, const struct request *request, const struct wf_tally_settings *table, struct wf_tally *tally) {
    const struct settings *settings = request->settings;
    struct wf_row_results rows = {.count = 0};
    wf_error error = read_table(handle, request, table, tally, &rows);
    int status = error           ? fail_library(handle, error)
                 : settings->per ? conclude_rows(settings, tally, &rows)
                                 : table_conclude(handle, settings, tally);
    wf_row_results_clear(&rows);
    return status;
}

int command_table(const struct request *request) {
    const struct settings *settings = request->settings;
    struct wf_tally_settings table;
    struct wf_tally tally = {.column_count = 0};
    wf_handle *handle = NULL;
    double *q = NULL;
    int status = check_options(settings);
    if (!status) status = make_settings(settings, &table, &q);
    if (!status) status = open_cpu(settings, &handle);
    const struct request with_table = {settings, request->operands, request->operand_count, request->op, &table};
    if (!status) status = is_in_pieces(settings) ? reduce_in_pieces(handle, &with_table)
                                                : reduce_table(handle, request, &table, &tally);
    wf_tally_clear(&tally);
    wf_handle_destroy(handle);
    free(q);
    return status;
}

/* ---- histograms ---- */

bool table_has_bins(const struct settings *settings) {
    return has_several_columns(settings) || settings->by.count || settings->sort || settings->csv;
}

static int deliver_bins(wf_handle *handle, const struct settings *settings, struct wf_tally *tally, const struct tally_bins *bins,
                        int32_t *order) {
    struct tally_report report = {.tally = tally, .order = settings->sort ? order : NULL, .bins = bins,
                                  .form = table_choose_form(settings, false), .hex = settings->hex};
    struct page page;
    if (settings->sort && wf_tally_sort(handle, tally, order)) return fail_memory();
    page_open(&page);
    const bool is_put = page.stream && put_tally_bins(page.stream, &report);
    int status = page_end(&page) && is_put ? deliver(NULL, 0, &page) : fail_memory();
    page_clear(&page);
    return status;
}

static int fail_columns(void) {
    return fail_usage("histogram takes one column: --column C");
}

static int conclude_bins(wf_handle *handle, const struct settings *settings, struct wf_tally *tally, const wf_histogram *histogram) {
    const size_t groups = (size_t)wf_tally_group_count(tally), of_group = (size_t)histogram->edge_count + 2;
    const size_t count = groups > SIZE_MAX / sizeof(int64_t) / (of_group + 1) ? SIZE_MAX / sizeof(int64_t) : (groups + 1) * of_group;
    if (tally->column_count != 1) return fail_columns();
    double *found = malloc(of_group * sizeof *found);
    int64_t *counts = calloc(count, sizeof *counts), *shown = malloc(count * sizeof *shown);
    int32_t *order = malloc((groups + 1) * sizeof *order);
    int status = found && counts && shown && order ? STATUS_OK : fail_memory();
    wf_error error = status ? WF_OK : wf_tally_count_bins(handle, tally, 0, histogram, found, counts);
    const struct tally_bins bins = {found, histogram->edge_count, counts, shown};
    for (size_t g = 0; settings->nan == WF_NAN_OMIT && !status && g < groups; g++) counts[(g + 1) * of_group - 1] = -1;
    if (error) status = fail_library(handle, error);
    if (!status) status = deliver_bins(handle, settings, tally, &bins, order);
    free(found);
    free(counts);
    free(shown);
    free(order);
    return status;
}

int table_count_bins(const struct request *request, const double *edges, int64_t edge_count) {
    const struct settings *settings = request->settings;
    const wf_histogram histogram = {.nbytes = sizeof histogram, .edges = edges, .edge_count = edge_count,
                                    .nan = (wf_nan)settings->nan};
    struct wf_tally_settings table = begin_settings(settings);
    struct wf_tally tally = {.column_count = 0};
    wf_handle *handle = NULL;
    table.op[table.op_count++] = WF_TALLY_DISTINCT; /* as this, bins need all rows */
    int status = settings->columns.count > 1 ? fail_columns() : check_options(settings);
    if (!status) status = check_parts(settings, &table);
    if (!status) status = open_cpu(settings, &handle);
    wf_error error = status ? WF_OK : read_table(handle, request, &table, &tally, NULL);
    if (tally.column_count > 1) status = fail_columns(); /* whatever the second has */
    else if (error) status = fail_library(handle, error);
    if (!status) status = conclude_bins(handle, settings, &tally, &histogram);
    wf_tally_clear(&tally);
    wf_handle_destroy(handle);
    return status;
}

/* ---- NaNs of what is no table ---- */

static bool are_files(const struct request *request) {
    struct stat about;
    bool are = true;
    for (size_t i = 0; i < request->operand_count; i++) are = are && !stat(request->operands[i], &about) && S_ISREG(about.st_mode);
    return are;
}

void table_name_nan(const struct request *request) {
    const struct settings *settings = request->settings;
    const struct wf_tally_settings table = {.type = settings->type ? settings->type : WF_F64,
                                            .decimals = WF_NO_DECIMALS,
                                            .nan = WF_NAN_ERROR,
                                            .op_count = 1,
                                            .op = {WF_TALLY_COUNT}};
    struct wf_tally tally = {.column_count = 0};
    struct wf_row_results rows = {.count = 0};
    wf_handle *handle = NULL;
    if (!are_files(request) || wf_handle_create("cpu", &handle)) return;
    if (read_table(handle, request, &table, &tally, &rows) == WF_ERROR_NAN) say("%s", wf_handle_message(handle));
    wf_tally_clear(&tally);
    wf_handle_destroy(handle);
}

/* ---- merging ---- */

bool table_is_saved(const struct saved *saved) {
    return wf_tally_is_saved(saved->bytes, saved->nbytes);
}

static int merge_next(wf_handle *handle, const char *path, struct wf_tally *into) {
    struct saved saved = {NULL, 0};
    struct wf_tally from = {.column_count = 0};
    int status = saved_read_bytes(path, &saved);
    if (!status) status = table_load(handle, path, &saved, &from);
    saved_clear(&saved);
    if (!status && wf_tally_merge(handle, into, &from, false))
        status = fail("%s: %s", file_name(path), wf_handle_message(handle));
    wf_tally_clear(&from);
    return status;
}

int table_merge(const struct request *request, const struct saved *first) {
    const struct settings *settings = request->settings;
    struct wf_tally tally = {.column_count = 0};
    wf_handle *handle = NULL;
    if (settings->outputs.count) return fail_usage("--out does not go with tables, whose results are printed");
    int status = open_cpu(settings, &handle);
    if (status) return status;
    status = table_load(handle, request->operands[0], first, &tally);
    for (size_t i = 1; i < request->operand_count && !status; i++)
        status = merge_next(handle, request->operands[i], &tally);
    if (!status) status = table_conclude(handle, settings, &tally);
    wf_tally_clear(&tally);
    wf_handle_destroy(handle);
    return status;
}
