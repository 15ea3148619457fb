#include "table_piece.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch.h"
#include "output.h"

/* ---- reading ---- */

/* "count --by region": which columns have numbers does not matter. */
static bool counts_rows(const struct settings *settings, const struct wf_tally_settings *table) {
    return settings->by.count && !settings->columns.count && table->op_count == 1 && table->op[0] == WF_TALLY_COUNT;
}

struct wf_table_plan table_make_plan(const struct settings *settings, const struct wf_tally_settings *table) {
    return (struct wf_table_plan){.columns = settings->columns.items, .column_count = settings->columns.count,
                                  .by = settings->by.items, .by_count = settings->by.count,
                                  .counts_rows = counts_rows(settings, table), .type = table->type,
                                  .decimals = table->decimals, .nan = table->nan};
}

wf_reader_options table_reader_options(const struct settings *settings) {
    wf_reader_options options = settings_reader_options(settings);
    options.column = 0;
    options.column_name = NULL;
    return options;
}

wf_error table_read_piece(wf_handle *handle, const struct request *request, const char *const *files, size_t file_count,
                          const struct wf_text_range *range, struct wf_tally *tally) {
    struct wf_table_plan plan = table_make_plan(request->settings, request->table);
    const wf_reader_options options = table_reader_options(request->settings);
    wf_reader *reader = NULL;
    plan.reads_last = true;
    plan.range = range;
    wf_error error = wf_tally_begin(handle, tally, request->table);
    if (!error) error = wf_reader_open(handle, files, file_count, &options, &reader);
    if (!error) error = wf_tally_read(handle, tally, reader, &plan);
    wf_reader_close(reader);
    return error;
}

int table_load(wf_handle *handle, const char *path, const struct saved *saved, struct wf_tally *tally) {
    wf_error error = wf_tally_load(handle, tally, saved->bytes, saved->nbytes);
    return error ? fail("%s: %s", file_name(path), wf_handle_message(handle)) : STATUS_OK;
}

/* ---- results ---- */

enum tally_form table_choose_form(const struct settings *settings, bool is_one) {
    if (settings->json) return TALLY_JSON;
    if (settings->csv) return TALLY_COMMAS;
    if (is_one) return TALLY_BARE;
    return isatty(STDOUT_FILENO) && !ranks_of_environment().is_started ? TALLY_ALIGNED : TALLY_TABS; /* mpirun may make a terminal */
}

/* Where the results of each column and op are. */
struct found {
    void **results;
    size_t *steps;
};

/* Finds the results that the tally already holds; returns how many are to be written. */
static size_t find_stored(const struct wf_tally *tally, const struct found *found) {
    const size_t ops = tally->settings.op_count, count = tally->column_count * ops;
    size_t rest = 0;
    for (size_t i = 0; i < count; i++) {
        found->steps[i] = 1;
        found->results[i] = wf_tally_stored_results(tally, tally->settings.op[i % ops], &found->steps[i]);
        rest += !found->results[i];
    }
    return rest;
}

static int find_results(wf_handle *handle, struct wf_tally *tally, const struct found *found) {
    const size_t ops = tally->settings.op_count, count = tally->column_count * ops, rest = find_stored(tally, found);
    uint64_t *memory = wf_tally_reserve_results(tally, rest);
    if (!memory) return fail_memory();
    for (size_t i = 0; i < count; i++) {
        if (found->results[i]) continue;
        wf_error error = wf_tally_results(handle, tally, i / ops, tally->settings.op[i % ops], memory);
        if (error) return fail_library(handle, error);
        found->results[i] = memory;
        memory += wf_tally_group_count(tally);
    }
    return STATUS_OK;
}

static bool put(FILE *stream, void *report) {
    return put_tally(stream, report);
}

/* An aligned table is kept in memory until all of it can be printed. */
static int deliver_report(struct file_draft *draft, size_t draft_count, struct tally_report *report) {
    if (report->form != TALLY_ALIGNED) return deliver_by(draft, draft_count, put, report);
    struct page page;
    page_open(&page);
    const bool is_put = page.stream && put_tally(page.stream, report);
    int status = page_end(&page) && is_put ? deliver(draft, draft_count, &page) : fail_memory();
    page_clear(&page);
    return status;
}

static int find_all(wf_handle *handle, const struct settings *settings, struct wf_tally *tally, int32_t *order,
                    const struct found *found) {
    int status = find_results(handle, tally, found);
    if (!status && settings->sort && wf_tally_sort(handle, tally, order)) status = fail_memory();
    return status;
}

/* Saves and prints what the tally has. */
int table_conclude(wf_handle *handle, const struct settings *settings, struct wf_tally *tally) {
    const size_t count = tally->column_count * tally->settings.op_count;
    const bool is_one = count == 1 && !tally->by_count;
    const struct found found = {.results = calloc(count + 1, sizeof *found.results), .steps = calloc(count + 1, sizeof *found.steps)};
    struct tally_source *sources = malloc((count + 1) * sizeof *sources);
    int32_t *order = malloc(((size_t)wf_tally_group_count(tally) + 1) * sizeof *order);
    struct file_draft draft = {.path = settings->save, .piece_count = 1};
    unsigned char *saved = NULL;
    int status = found.results && found.steps && sources && order ? STATUS_OK : fail_memory();
    wf_error error = !status && settings->save ? wf_tally_save(handle, tally, &saved, &draft.pieces[0].nbytes) : WF_OK;
    if (error) status = fail_library(handle, error);
    if (!status) status = find_all(handle, settings, tally, order, &found);
    if (!status && is_one && !settings->json && !wf_tally_has_result(tally, 0, tally->settings.op[0], 0))
        status = fail("column '%s' has no values: %s is undefined", tally->name[0], settings->operands.items[0]);
    struct tally_report report = {.tally = tally, .order = settings->sort ? order : NULL, .results = found.results,
                                  .steps = found.steps, .sources = sources,
                                  .form = table_choose_form(settings, is_one), .hex = settings->hex, .is_one = is_one};
    draft.pieces[0].data = saved;
    if (!status) status = deliver_report(&draft, settings->save != NULL, &report);
    free(found.results);
    free(found.steps);
    free(sources);
    free(order);
    free(saved);
    return status;
}

