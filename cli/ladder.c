/* warpfold ladder: what is asked for, and what is printed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "inspect.h"
#include "ladder_errand.h"
#include "ladder_page.h"
#include "output.h"

/* ---- options ------------------------------------------------------------------------------------- */

static bool is_on_gpu(const struct settings *settings) {
    return settings->device && !strncmp(settings->device, "cuda", 4);
}

static bool is_ladder_op(wf_op op) {
    return op == WF_SUM || op == WF_PROD || op == WF_MIN || op == WF_MAX || op == WF_ARGMAX;
}

static int read_choice(struct errand *errand) {
    const struct settings *settings = errand->settings;
    errand->op = settings->op ? wf_op_parse(settings->op) : WF_SUM;
    errand->type = settings->type ? settings->type : WF_F32;
    errand->n = settings->count;
    if (!is_ladder_op(errand->op))
        return fail_usage("--op %s: the ladder's ops are sum, prod, min, max and argmax", settings->op);
    if (!ladder_type_check(errand->type))
        return fail_usage("--type %s: the ladder's types are i32, u32, i64, u64, f32 and f64",
                          wf_type_name(errand->type));
    if (!ladder_finish_parse(settings->finish, &errand->finish))
        return fail_usage("--finish takes host, relaunch, atomic or last-block, not '%s'", settings->finish);
    if (!parse_schedule(settings->schedule, &errand->schedule, &errand->schedule_seed))
        return fail_usage("--schedule takes lockstep, split or random:SEED, not '%s'", settings->schedule);
    return STATUS_OK;
}

/* A whole number of threads or blocks: the ladder's grids are lines. */
static int read_length(const char *option, const char *text, uint32_t *length) {
    uint32_t extent[3];
    if (!text) return STATUS_OK;
    if (!parse_extent(text, extent) || extent[1] != 1 || extent[2] != 1)
        return fail_usage("--%s takes one whole number, not '%s'", option, text);
    *length = extent[0];
    return STATUS_OK;
}

static int read_shape(struct errand *errand) {
    errand->block = LADDER_BLOCK_DEFAULT;
    int status = read_length("block", errand->settings->block, &errand->block);
    if (!status) status = read_length("grid", errand->settings->grid, &errand->grid);
    if (status) return status;
    bool is_power = (errand->block & (errand->block - 1)) == 0;
    if (errand->block < LADDER_BLOCK_MIN || errand->block > LADDER_BLOCK_MAX || !is_power)
        return fail_usage("--block takes a power of two from %d to %d, not '%s'", LADDER_BLOCK_MIN,
                          LADDER_BLOCK_MAX, errand->settings->block);
    return STATUS_OK;
}

struct ladder_variant errand_variant(const struct errand *errand, const struct ladder_rung *rung) {
    const struct settings *settings = errand->settings;
    bool coarsens = rung->coarsen || settings->rung;
    return (struct ladder_variant){rung, errand->op, errand->type, errand->finish,
                                   coarsens ? (uint32_t)settings->coarsen : 0};
}

static int read_rung(struct errand *errand) {
    const struct settings *settings = errand->settings;
    simt_message message;
    if (settings->html && settings->partials) return fail_usage("--html draws rungs, not --partials");
    if (!settings->rung && settings->partials) return fail_usage("--partials needs --rung: whose?");
    if (!settings->rung) return STATUS_OK;
    if (!ladder_rung_find(settings->rung, &errand->rung))
        return fail_usage("--rung %s: there is no such rung; 'warpfold ladder' lists them", settings->rung);
    if (settings->partials && errand->finish == LADDER_FINISH_DEFAULT) errand->finish = LADDER_FINISH_HOST;
    if (settings->partials &&
        (errand->finish == LADDER_FINISH_ATOMIC || errand->finish == LADDER_FINISH_LAST_BLOCK))
        return fail_usage("--finish %s leaves no partials", ladder_finish_name(errand->finish));
    if (settings->partials && errand->rung.is_engine)
        return fail_usage("--partials: %s leaves none", errand->rung.id);
    if (settings->partials && errand->rung.needs_gpu && !is_on_gpu(settings))
        return fail_usage("--partials: %s runs on a GPU only (--device cuda)", errand->rung.id);
    struct ladder_variant variant = errand_variant(errand, &errand->rung);
    return ladder_variant_check(&variant, &message) ? fail_usage("%s", message.text) : STATUS_OK;
}

static int read_device(const struct settings *settings) {
    const char *device = settings->device;
    bool is_machine = !device || !strcmp(device, "auto") || !strcmp(device, "simt");
    if (!is_machine && !is_on_gpu(settings))
        return fail_usage(
            "--device %s: the ladder runs on the SIMT machine (--device simt) or on a GPU (cuda[:N])",
            device);
    if (settings->sweep && (settings->once || settings->partials))
        return fail_usage("--sweep takes neither --once nor --partials");
    if (is_machine && (settings->sweep || settings->once))
        return fail_usage("--%s needs a GPU (--device cuda): the SIMT machine has no clock",
                          settings->sweep ? "sweep" : "once");
    return STATUS_OK;
}

static int read_errand(struct errand *errand) {
    int status = read_device(errand->settings);
    if (!status) status = read_choice(errand);
    if (!status) status = read_shape(errand);
    if (!status) status = read_rung(errand);
    return status;
}

/* ---- tables -------------------------------------------------------------------------------------- */

static bool make_rows(const struct errand *errand, struct ladder_table *table) {
    size_t count = errand->settings->rung ? 1 : ladder_rung_count();
    table->rows = calloc(count, sizeof *table->rows);
    if (!table->rows) return false;
    for (size_t i = 0; i < count; i++) {
        struct ladder_rung *rung = &table->rows[table->row_count].rung;
        if (errand->settings->rung)
            *rung = errand->rung;
        else
            ladder_rung_get(i, rung);
        table->row_count += rung->ops >> errand->op & rung->types >> errand->type & 1;
    }
    return true;
}

bool make_table(const struct errand *errand, struct ladder_table *table) {
    *table = (struct ladder_table){
        .op = errand->op, .type = errand->type, .block = errand->block, .grid = errand->grid};
    return make_rows(errand, table);
}

void clear_table(struct ladder_table *table) {
    for (size_t i = 0; i < table->row_count; i++) {
        ladder_outcome_clear(&table->rows[i].outcome);
        ladder_outcome_clear(&table->rows[i].measure.outcome);
    }
    free(table->earlier);
    free(table->rows);
}

void describe_data(const struct errand *errand, const struct data_set *set, struct ladder_table *table) {
    if (!set->random.values) return;
    table->n = set->exact.n;
    table->checked_n = set->checked.n;
    table->sequential = set->exact.expected;
    table->sequential_microseconds = set->exact.microseconds;
    table->sequential_ulp =
        ladder_error_ulp(&set->random.expected, set->random.values, errand->op, set->random.n);
}

static bool wants_colour(void) {
    const char *no_colour = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no_colour && no_colour[0]);
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

/* The text that --json prints is also what the page is made of: of all sizes up to this one. */
static int write_page(struct ladder_table *table, const struct settings *settings) {
    struct page json;
    page_open(&json);
    if (json.stream && table->earlier) fputs(table->earlier, json.stream);
    if (json.stream) put_ladder_json(json.stream, table);
    bool is_whole = json.stream && !ferror(json.stream);
    if (json.stream && fclose(json.stream)) is_whole = false;
    free(table->earlier);
    table->earlier = json.text;
    int status =
        is_whole ? ladder_page_write(settings->html, json.text) : fail("%s", wf_error_text(WF_ERROR_MEMORY));
    return status || !settings->json ? status : print_text(table, settings);
}

/* The table is printed even if rungs are wrong; a wrong rung's partials are not. */
int print_table(struct ladder_table *table, const struct settings *settings) {
    size_t wrong = 0, skipped = 0;
    for (size_t i = 0; i < table->row_count; i++) {
        skipped += table->rows[i].is_skipped;
        wrong += !table->rows[i].verified && !table->rows[i].is_skipped;
    }
    if (wrong && settings->partials) return fail("%s is wrong: no partials", table->rows[0].rung.id);
    int status = settings->html ? write_page(table, settings) : print_text(table, settings);
    if (status || !wrong) return status;
    return fail("%zu of %zu rungs could not be verified", wrong, table->row_count - skipped);
}

int command_ladder(const struct request *request) {
    struct errand errand = {.settings = request->settings};
    if (request->settings->from) return ladder_page_redraw(request->settings);
    int status = read_errand(&errand);
    if (status) return status;
    if (!is_on_gpu(request->settings)) return run_on_machine(&errand);
    return request->settings->sweep ? run_sweep(&errand) : run_on_gpu(&errand);
}
