/* The ladder on the SIMT machine. */
#include <math.h>
#include <string.h>

#include "ladder_errand.h"
#include "output.h"

enum { N_DEFAULT = 1 << 16, OBSERVERS_MAX = 32 };

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
    row->verified = is_right(trial->errand, trial->variant->rung, data, &outcome, error, &message);
    row->races = count_races(&outcome);
    ladder_outcome_clear(&outcome);
}

static void count_and_verify(const struct trial *trial, const struct data *data, struct ladder_row *row) {
    simt_message message = {""};
    simt_error error = run_trial(trial, data, simt_counters, &row->outcome, &message);
    if (row->verified)
        row->verified = is_right(trial->errand, trial->variant->rung, data, &row->outcome, error, &message);
}

static void measure_error(const struct trial *trial, const struct data *data, struct ladder_row *row) {
    struct ladder_outcome outcome = {0};
    simt_message message;
    row->ulp = NAN;
    if (row->verified && !run_trial(trial, data, NULL, &outcome, &message))
        row->ulp = ladder_error_ulp(&outcome.result, data->values, trial->errand->op, data->n);
    ladder_outcome_clear(&outcome);
}

int count_on_machine(const struct errand *errand, const struct data_set *set, struct ladder_row *row) {
    struct ladder_variant variant = errand_variant(errand, &row->rung);
    struct trial trial = {errand, &variant, NULL};
    simt_module *module;
    simt_message message;
    row->ulp = NAN;
    row->is_skipped = row->rung.needs_gpu;
    if (row->is_skipped) return STATUS_OK;
    if (ladder_module(&variant, &module, &message)) return fail("%s", message.text);
    trial.module = module;
    look_for_faults(&trial, &set->checked, row);
    count_and_verify(&trial, &set->exact, row);
    measure_error(&trial, &set->random, row);
    simt_module_destroy(module);
    return STATUS_OK;
}

/* ---- all of them --------------------------------------------------------------------------------- */

static int run_rungs(const struct errand *errand, const struct data_set *set, struct ladder_table *table) {
    int status = STATUS_OK;
    for (size_t i = 0; i < table->row_count && !status; i++)
        status = count_on_machine(errand, set, &table->rows[i]);
    return status;
}

int run_on_machine(const struct errand *errand) {
    struct data_set set = {0};
    struct ladder_table table = {0};
    int status = STATUS_OK;
    uint64_t n = errand->n >= 0 ? (uint64_t)errand->n : N_DEFAULT;
    if (!make_table(errand, &table) || !make_data_set(errand, n, &set)) status = fail("no memory left");
    describe_data(errand, &set, &table);
    if (!status) status = run_rungs(errand, &set, &table);
    if (!status) status = print_table(&table, errand->settings);
    clear_table(&table);
    clear_data(&set);
    return status;
}
