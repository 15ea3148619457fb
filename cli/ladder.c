/* warpfold ladder: runs the rungs, verifies them, counts what tells them apart. */
#include "ladder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "inspect.h"
#include "ladder_table.h"
#include "output.h"

enum {
    N_DEFAULT = 1 << 16,
    N_CHECKED = 1 << 16, /* at most so many where faults are looked for, which is slow */
    OBSERVERS_MAX = 32,
};

static const uint64_t data_seed = 1;

/* What the user asked for. */
struct errand {
    const struct settings *settings;
    wf_op op;
    wf_type type;
    enum ladder_finish finish;
    uint64_t n;
    uint32_t block, grid;
    simt_schedule schedule;
    uint64_t schedule_seed;
    struct ladder_rung rung; /* the only one, if settings->rung */
};

/* ---- options ------------------------------------------------------------------------------------- */

static bool is_ladder_op(wf_op op) {
    return op == WF_SUM || op == WF_PROD || op == WF_MIN || op == WF_MAX || op == WF_ARGMAX;
}

static int read_choice(struct errand *errand) {
    const struct settings *settings = errand->settings;
    errand->op = settings->op ? wf_op_parse(settings->op) : WF_SUM;
    errand->type = settings->type ? settings->type : WF_F32;
    errand->n = settings->count ? (uint64_t)settings->count : N_DEFAULT;
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

static struct ladder_variant variant_of(const struct errand *errand, const struct ladder_rung *rung) {
    const struct settings *settings = errand->settings;
    bool coarsens = rung->coarsen || settings->rung;
    return (struct ladder_variant){rung, errand->op, errand->type, errand->finish,
                                   coarsens ? (uint32_t)settings->coarsen : 0};
}

static int read_rung(struct errand *errand) {
    const struct settings *settings = errand->settings;
    simt_message message;
    if (!settings->rung && settings->partials) return fail_usage("--partials needs --rung: whose?");
    if (!settings->rung) return STATUS_OK;
    if (!ladder_rung_find(settings->rung, &errand->rung))
        return fail_usage("--rung %s: there is no such rung; 'warpfold ladder' lists them", settings->rung);
    if (settings->partials && errand->finish == LADDER_FINISH_DEFAULT) errand->finish = LADDER_FINISH_HOST;
    if (settings->partials &&
        (errand->finish == LADDER_FINISH_ATOMIC || errand->finish == LADDER_FINISH_LAST_BLOCK))
        return fail_usage("--finish %s leaves no partials", ladder_finish_name(errand->finish));
    struct ladder_variant variant = variant_of(errand, &errand->rung);
    return ladder_variant_check(&variant, &message) ? fail_usage("%s", message.text) : STATUS_OK;
}

static int read_device(const struct settings *settings) {
    const char *device = settings->device;
    if (!device || !strcmp(device, "auto") || !strcmp(device, "simt")) return STATUS_OK;
    if (!strncmp(device, "cuda", 4))
        return fail(
            "--device %s: the ladder runs on the SIMT machine (--device simt); it does not run on a GPU yet",
            device);
    return fail_usage("--device %s: the ladder runs on the SIMT machine (--device simt)", device);
}

static int read_errand(struct errand *errand) {
    int status = read_device(errand->settings);
    if (!status) status = read_choice(errand);
    if (!status) status = read_shape(errand);
    if (!status) status = read_rung(errand);
    return status;
}

/* ---- data ---------------------------------------------------------------------------------------- */

/* An array and what a plain loop makes of it. */
struct data {
    uint64_t n;
    void *values;
    struct ladder_result expected;
};

static bool make_data(const struct errand *errand, enum ladder_data kind, uint64_t n, struct data *data) {
    data->n = n;
    data->values = n <= SIZE_MAX / 8 ? malloc(n * wf_type_nbytes(errand->type)) : NULL;
    if (!data->values) return false;
    ladder_fill(data->values, errand->type, errand->op, n, kind, data_seed);
    data->expected = ladder_reduce(data->values, NULL, errand->type, errand->op, n);
    return true;
}

struct data_set {
    struct data exact, checked, random; /* checked: as exact, but few enough for all observers */
};

static void clear_data(struct data_set *set) {
    free(set->exact.values);
    free(set->checked.values);
    free(set->random.values);
}

static bool make_data_set(const struct errand *errand, struct data_set *set) {
    uint64_t few = errand->n < N_CHECKED ? errand->n : N_CHECKED;
    return make_data(errand, LADDER_DATA_EXACT, errand->n, &set->exact) &&
           make_data(errand, LADDER_DATA_EXACT, few, &set->checked) &&
           make_data(errand, LADDER_DATA_RANDOM, errand->n, &set->random);
}

/* ---- one rung ------------------------------------------------------------------------------------ */

/* The steps, beside what comes with the machine. */
static void list_observers(const struct simt_observer *const *from, const struct simt_observer **observers) {
    size_t count = 0;
    observers[count++] = &ladder_observe_steps;
    while (*from && count < OBSERVERS_MAX - 1) observers[count++] = *from++;
    observers[count] = NULL;
}

/* Atomics on floats combine in the order in which blocks come, so these come one after the other. */
static uint32_t host_threads(const struct errand *errand, const struct ladder_variant *variant) {
    enum ladder_finish finish = variant->finish ? variant->finish : variant->rung->finish;
    bool is_float = errand->type == WF_F32 || errand->type == WF_F64;
    return is_float && finish == LADDER_FINISH_ATOMIC ? 1 : 0;
}

struct trial {
    const struct errand *errand;
    const struct ladder_variant *variant;
    const simt_module *module;
};

static simt_error run_trial(const struct trial *trial, const struct data *data,
                            const struct simt_observer *const *from, struct ladder_outcome *outcome,
                            simt_message *message) {
    const struct errand *errand = trial->errand;
    const struct simt_observer *observers[OBSERVERS_MAX];
    if (from) list_observers(from, observers);
    const struct ladder_task task = {
        .variant = *trial->variant,
        .module = trial->module,
        .values = data->values,
        .n = data->n,
        .block = errand->block,
        .grid = errand->grid,
        .schedule = errand->schedule,
        .seed = errand->schedule_seed,
        .threads = host_threads(errand, trial->variant),
        .observers = from ? observers : NULL,
    };
    return ladder_run(&task, outcome, message);
}

static bool are_partials_right(const struct errand *errand, const struct data *data,
                               const struct ladder_outcome *outcome) {
    const char *values = data->values, *partials = outcome->partials;
    uint64_t portion = outcome->plan.portion;
    size_t nbytes = wf_type_nbytes(errand->type);
    for (uint64_t i = 0; portion && i < outcome->partial_count; i++) {
        uint64_t begin = i * portion < data->n ? i * portion : data->n;
        uint64_t count = data->n - begin < portion ? data->n - begin : portion;
        struct ladder_result expected =
            ladder_reduce(values + begin * nbytes, NULL, errand->type, errand->op, count);
        struct ladder_result partial = {.value = ladder_value(partials + i * nbytes, errand->type)};
        if (expected.index >= 0) expected.index += (int64_t)begin;
        partial.index = outcome->partial_indices && count ? outcome->partial_indices[i] : LADDER_NO_INDEX;
        if (!ladder_result_equal(&partial, &expected, errand->op)) return false;
    }
    return true;
}

/* Each launch of the kernel finds the same again. */
static bool is_repeated(const struct ladder_outcome *outcome, size_t index) {
    const simt_finding *finding = ladder_outcome_finding(outcome, index);
    for (size_t i = 0; i < index; i++) {
        const simt_finding *earlier = ladder_outcome_finding(outcome, i);
        if (earlier->kind == finding->kind && earlier->line == finding->line &&
            !strcmp(earlier->file, finding->file))
            return true;
    }
    return false;
}

static void say_findings(const struct ladder_outcome *outcome, const char *id) {
    for (size_t i = 0; i < ladder_outcome_finding_count(outcome); i++) {
        const simt_finding *finding = ladder_outcome_finding(outcome, i);
        if (!is_repeated(outcome, i))
            say("%s: %s at %s:%" PRIu32 ": %s", id, simt_finding_kind_name(finding->kind), finding->file,
                finding->line, finding->message);
    }
}

/* Says what is wrong with a run, if anything is. */
static bool is_right(const struct trial *trial, const struct data *data, const struct ladder_outcome *outcome,
                     simt_error error, const simt_message *message) {
    const char *id = trial->variant->rung->id;
    wf_op op = trial->errand->op;
    char found[64], expected[64];
    size_t findings = ladder_outcome_finding_count(outcome);
    say_findings(outcome, id);
    if (error && !findings) say("%s: %s", id, message->text);
    if (error || findings) return false;
    if (!ladder_result_equal(&outcome->result, &data->expected, op)) {
        ladder_result_format(&outcome->result, op, found, sizeof found);
        ladder_result_format(&data->expected, op, expected, sizeof expected);
        say("%s: its %s of %" PRIu64 " elements is wrong: %s instead of %s", id, wf_op_name(op), data->n,
            found, expected);
        return false;
    }
    if (are_partials_right(trial->errand, data, outcome)) return true;
    say("%s: partials of %" PRIu64 " elements are wrong", id, data->n);
    return false;
}

static uint64_t count_races(const struct ladder_outcome *outcome) {
    uint64_t races = 0;
    for (size_t i = 0; i < ladder_outcome_finding_count(outcome); i++)
        races += ladder_outcome_finding(outcome, i)->kind == SIMT_FINDING_RACE && !is_repeated(outcome, i);
    return races;
}

/* With every observer, on few elements. */
static void look_for_faults(const struct trial *trial, const struct data *data, struct ladder_row *row) {
    struct ladder_outcome outcome;
    simt_message message = {""};
    simt_error error = run_trial(trial, data, simt_observers, &outcome, &message);
    row->verified = is_right(trial, data, &outcome, error, &message);
    row->races = count_races(&outcome);
    ladder_outcome_clear(&outcome);
}

static void count_and_verify(const struct trial *trial, const struct data *data, struct ladder_row *row) {
    simt_message message = {""};
    simt_error error = run_trial(trial, data, simt_counters, &row->outcome, &message);
    if (row->verified) row->verified = is_right(trial, data, &row->outcome, error, &message);
}

static void measure_error(const struct trial *trial, const struct data *data, struct ladder_row *row) {
    struct ladder_outcome outcome = {0};
    simt_message message;
    row->ulp = NAN;
    if (row->verified && !run_trial(trial, data, NULL, &outcome, &message))
        row->ulp = ladder_error_ulp(&outcome.result, data->values, trial->errand->op, data->n);
    ladder_outcome_clear(&outcome);
}

/* What a wrong kernel gives is told in the row; only what keeps it from running is an error. */
static int run_rung(const struct errand *errand, const struct data_set *set, struct ladder_row *row) {
    struct ladder_variant variant = variant_of(errand, &row->rung);
    struct trial trial = {errand, &variant, NULL};
    simt_module *module;
    simt_message message;
    if (ladder_module(&variant, &module, &message)) return fail("%s", message.text);
    trial.module = module;
    look_for_faults(&trial, &set->checked, row);
    count_and_verify(&trial, &set->exact, row);
    measure_error(&trial, &set->random, row);
    simt_module_destroy(module);
    return STATUS_OK;
}

/* ---- all of them --------------------------------------------------------------------------------- */

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
        table->row_count += rung->ops >> errand->op & 1;
    }
    return true;
}

static void clear_table(struct ladder_table *table) {
    for (size_t i = 0; i < table->row_count; i++) ladder_outcome_clear(&table->rows[i].outcome);
    free(table->rows);
}

static int run_rungs(const struct errand *errand, const struct data_set *set, struct ladder_table *table) {
    int status = STATUS_OK;
    table->sequential = set->exact.expected;
    table->sequential_ulp =
        ladder_error_ulp(&set->random.expected, set->random.values, errand->op, errand->n);
    for (size_t i = 0; i < table->row_count && !status; i++) status = run_rung(errand, set, &table->rows[i]);
    return status;
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

/* The table is printed even if rungs are wrong; a wrong rung's partials are not. */
static int print_table(const struct ladder_table *table, const struct settings *settings) {
    size_t wrong = 0;
    for (size_t i = 0; i < table->row_count; i++) wrong += !table->rows[i].verified;
    if (wrong && settings->partials) return fail("%s is wrong: no partials", table->rows[0].rung.id);
    struct page page;
    page_open(&page);
    if (page.stream) put_table(page.stream, table, settings);
    int status = page_print(&page);
    if (status || !wrong) return status;
    return fail("%zu of %zu rungs could not be verified", wrong, table->row_count);
}

int command_ladder(const struct request *request) {
    struct errand errand = {.settings = request->settings};
    struct data_set set = {0};
    int status = read_errand(&errand);
    if (status) return status;
    struct ladder_table table = {
        .op = errand.op, .type = errand.type, .n = errand.n, .block = errand.block, .grid = errand.grid};
    if (!make_rows(&errand, &table) || !make_data_set(&errand, &set)) status = fail("no memory left");
    table.checked_n = set.checked.n;
    if (!status) status = run_rungs(&errand, &set, &table);
    if (!status) status = print_table(&table, request->settings);
    clear_table(&table);
    clear_data(&set);
    return status;
}
