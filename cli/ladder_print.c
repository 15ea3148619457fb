/* The table of the ladder's rungs, from its rows to what is printed. */
#include <stdlib.h>

#include "ladder_request.h"
#include "output.h"
#include "report/ladder_page.h"

static bool make_rows(const struct ladder_request *asked, struct ladder_table *table) {
    size_t count = asked->settings->rung ? 1 : ladder_rung_count();
    table->rows = calloc(count, sizeof *table->rows);
    if (!table->rows) return false;
    for (size_t i = 0; i < count; i++) {
        struct ladder_rung *rung = &table->rows[table->row_count].rung;
        if (asked->settings->rung)
            *rung = asked->rung;
        else
            ladder_rung_get(i, rung);
        table->row_count += rung->ops >> asked->op & rung->types >> asked->type & 1;
    }
    return true;
}

bool make_table(const struct ladder_request *asked, struct ladder_table *table) {
    *table = (struct ladder_table){
        .op = asked->op, .type = asked->type, .block = asked->block, .grid = asked->grid};
    return make_rows(asked, table);
}

void clear_table(struct ladder_table *table) {
    for (size_t i = 0; i < table->row_count; i++) {
        ladder_outcome_clear(&table->rows[i].outcome);
        ladder_outcome_clear(&table->rows[i].measure.outcome);
    }
    free(table->earlier);
    free(table->rows);
}

int describe_data(const struct ladder_request *asked, const struct data_set *set, struct ladder_table *table) {
    table->n = set->exact.n;
    table->checked_n = set->checked.n;
    table->sequential = set->exact.expected;
    table->sequential_microseconds = set->exact.microseconds;
    wf_error error = ladder_error_ulp(&set->random.expected, set->random.values, asked->op, set->random.n,
                                      &table->sequential_ulp);
    return error ? fail_memory() : STATUS_OK;
}

static void put_table(FILE *stream, const struct ladder_table *table, const struct settings *settings) {
    if (settings->partials)
        (settings->json ? put_partials_json : put_partials)(stream, table);
    else if (settings->json)
        put_ladder_json(stream, table);
    else
        put_ladder(stream, table, wants_colour());
}

static int print_text(const struct ladder_table *table, const struct settings *settings) {
    struct page page;
    page_open(&page);
    if (page.stream) put_table(page.stream, table, settings);
    return page_print(&page);
}

int write_page(const char *path, const char *runs, const struct page *printed) {
    struct page html;
    if (ladder_page_make(runs, &html)) return deliver_html(path, &html, printed);
    page_clear(&html);
    return fail_memory();
}

/* The text that --json prints is also what the page is made of: of all sizes up to this one. */
static int write_table(struct ladder_table *table, const struct settings *settings) {
    struct page json, printed;
    page_open(&json);
    if (json.stream && table->earlier) fputs(table->earlier, json.stream);
    if (json.stream) put_ladder_json(json.stream, table);
    page_open(&printed);
    if (printed.stream && settings->json) put_table(printed.stream, table, settings);
    int status = page_end(&json) && page_end(&printed) ? STATUS_OK : fail_memory();
    if (!status) status = write_page(settings->html, json.text, settings->json ? &printed : NULL);
    page_clear(&printed);
    free(table->earlier);
    table->earlier = json.text;
    return status;
}

/* The table is printed even if rungs are wrong; a wrong rung's partials are not. */
int print_table(struct ladder_table *table, const struct settings *settings) {
    size_t wrong = 0, skipped = 0;
    for (size_t i = 0; i < table->row_count; i++) {
        skipped += table->rows[i].is_skipped;
        wrong += !table->rows[i].verified && !table->rows[i].is_skipped;
    }
    if (wrong && settings->partials) 
        return fail("%s gives a wrong result; its partial results are not printed", table->rows[0].rung.id);
    int status = settings->html ? write_table(table, settings) : print_text(table, settings);
    if (status || !wrong) return status;
    return fail("%zu of %zu rungs could not be verified", wrong, table->row_count - skipped);
}
