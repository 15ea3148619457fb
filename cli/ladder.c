/* warpfold ladder: what is asked for, and what is printed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "ladder/gpu.h"
#include "inspect.h"
#include "ladder_request.h"
#include "output.h"
#include "report/ladder_page.h"

/* ---- options ------------------------------------------------------------------------------------- */

static bool is_on_gpu(const struct settings *settings) {
    return settings->device && ladder_gpu_is_name(settings->device);
}

static bool is_ladder_op(wf_op op) {
    return op == WF_SUM || op == WF_PROD || op == WF_MIN || op == WF_MAX || op == WF_ARGMAX;
}

static int read_choice(struct ladder_request *asked) {
    const struct settings *settings = asked->settings;
    asked->op = settings->op ? wf_op_parse(settings->op) : WF_SUM;
    asked->type = settings->type ? settings->type : WF_F32;
    asked->n = settings->count;
    if (!is_ladder_op(asked->op))
        return fail_usage("--op %s: the ladder's ops are sum, prod, min, max and argmax", settings->op);
    if (!ladder_type_check(asked->type))
        return fail_usage("--type %s: the ladder's types are i32, u32, i64, u64, f32 and f64",
                          wf_type_name(asked->type));
    if (!ladder_finish_parse(settings->finish, &asked->finish))
        return fail_usage("--finish takes host, relaunch, atomic or last-block, not '%s'", settings->finish);
    if (!parse_schedule(settings->schedule, &asked->schedule, &asked->schedule_seed))
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

/* On the simulator, blocks beyond those that the elements need only take time: hours, where the grid is large. */
static int check_grid(const struct ladder_request *asked) {
    enum { IDLE_THREADS_MAX = 1 << 20 };
    uint64_t most = (ladder_request_n(asked) + IDLE_THREADS_MAX) / asked->block;
    if (asked->grid <= most) return STATUS_OK;
    return fail_usage("--grid %" PRIu32 ": for %" PRIu64 " elements the simulator runs at most %" PRIu64
                      " blocks of %" PRIu32 " threads; give more elements (-n N) or fewer blocks",
                      asked->grid, ladder_request_n(asked), most, asked->block);
}

static int read_shape(struct ladder_request *asked) {
    asked->block = LADDER_BLOCK_DEFAULT;
    int status = read_length("block", asked->settings->block, &asked->block);
    if (!status) status = read_length("grid", asked->settings->grid, &asked->grid);
    if (status) return status;
    const struct ladder_rung any = {.warp_size = LADDER_BLOCK_MIN};
    if (!ladder_block_fits(&any, asked->block))
        return fail_usage("--block takes a power of two from %d to %d, not '%s'", LADDER_BLOCK_MIN,
                          LADDER_BLOCK_MAX, asked->settings->block);
    return is_on_gpu(asked->settings) ? STATUS_OK : check_grid(asked);
}

struct ladder_variant ladder_request_variant(const struct ladder_request *asked, const struct ladder_rung *rung) {
    const struct settings *settings = asked->settings;
    bool coarsens = rung->coarsen || settings->rung;
    return (struct ladder_variant){rung, asked->op, asked->type, asked->finish,
                                   coarsens ? (uint32_t)settings->coarsen : 0};
}

static int read_rung(struct ladder_request *asked) {
    const struct settings *settings = asked->settings;
    simt_message message;
    if (settings->html && settings->partials) return fail_usage("--html and --partials cannot be combined");
    if (!settings->rung && settings->partials) return fail_usage("--partials requires --rung");
    if (!settings->rung) return STATUS_OK;
    if (!ladder_rung_find(settings->rung, &asked->rung))
        return fail_usage("--rung %s: unknown rung; 'warpfold ladder' lists them", settings->rung);
    if (settings->partials && asked->finish == LADDER_FINISH_DEFAULT) asked->finish = LADDER_FINISH_HOST;
    if (settings->partials &&
        (asked->finish == LADDER_FINISH_ATOMIC || asked->finish == LADDER_FINISH_LAST_BLOCK))
        return fail_usage("--partials: --finish %s leaves no partial results", ladder_finish_name(asked->finish));
    if (settings->partials && asked->rung.is_engine)
        return fail_usage("--partials: %s leaves no partial results", asked->rung.id);
    if (settings->partials && asked->rung.needs_gpu && !is_on_gpu(settings))
        return fail_usage("--partials: %s needs a GPU (--device cuda)", asked->rung.id);
    struct ladder_variant variant = ladder_request_variant(asked, &asked->rung);
    return ladder_variant_check(&variant, &message) ? fail_usage("%s", message.text) : STATUS_OK;
}

static int read_device(const struct settings *settings) {
    const char *device = settings->device;
    bool is_machine = !device || !strcmp(device, "auto") || !strcmp(device, "simt");
    if (!is_machine && !is_on_gpu(settings))
        return fail_usage(
            "--device %s: the ladder runs on the simulator (--device simt) or on a GPU (cuda[:N])",
            device);
    if (settings->sweep && (settings->once || settings->partials))
        return fail_usage("--sweep cannot be combined with --once or --partials");
    if (is_machine && (settings->sweep || settings->once))
        return fail_usage("--%s needs a GPU (--device cuda): the simulator has no clock",
                          settings->sweep ? "sweep" : "once");
    return STATUS_OK;
}

static int read_ladder_request(struct ladder_request *asked) {
    int status = read_device(asked->settings);
    if (!status) status = read_choice(asked);
    if (!status) status = read_shape(asked);
    if (!status) status = read_rung(asked);
    return status;
}

/* ---- tables -------------------------------------------------------------------------------------- */

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

/* The page of these runs, and what is printed beside it, if anything is. */
static int write_page(const char *path, const char *runs, const struct page *printed) {
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

/* ---- an earlier run ------------------------------------------------------------------------------ */

static int check_runs(const char *path, const char *text, size_t nbytes) {
    const char *wrong = ladder_page_find_fault(text, nbytes);
    if (wrong) return fail("%s: invalid JSON at byte %td", path, wrong - text);
    if (!strstr(text, "\"rungs\""))
        return fail("%s is not a run of the ladder, which 'warpfold ladder --json' writes", path);
    return STATUS_OK;
}

/* The page of a run whose --json was written to a file. */
static int redraw(const struct settings *settings) {
    if (!settings->html)
        return fail_usage("--from %s requires --html FILE", settings->from);
    size_t nbytes;
    char *text = file_read(settings->from, &nbytes);
    if (!text) return fail("%s: %s", settings->from, error_text(errno));
    int status = check_runs(settings->from, text, nbytes);
    if (!status) status = write_page(settings->html, text, NULL);
    free(text);
    return status;
}

/* ---- the command --------------------------------------------------------------------------------- */

int command_ladder(const struct request *request) {
    struct ladder_request asked = {.settings = request->settings};
    if (request->settings->from) return redraw(request->settings);
    int status = read_ladder_request(&asked);
    if (status) return status;
    if (!is_on_gpu(request->settings)) return run_on_machine(&asked);
    return request->settings->sweep ? run_sweep(&asked) : run_on_gpu(&asked);
}
