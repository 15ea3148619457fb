/* The ladder on the simulator. */
#include <math.h>

#include "cleanup.h"
#include "ladder_request.h"
#include "output.h"

enum { OBSERVERS_MAX = 32 };

/* ---- one rung ------------------------------------------------------------------------------------ */

/* The steps, besides the observers that come with the simulator. */
static void list_observers(const struct simt_observer *const *from, const struct simt_observer **observers) {
    size_t count = 0;
    observers[count++] = &ladder_observe_steps;
    while (*from && count < OBSERVERS_MAX - 1) observers[count++] = *from++;
    observers[count] = NULL;
}

/* Atomics on floats combine in the order in which blocks come, so these come one after the other. */
static uint32_t host_threads(const struct ladder_request *asked, const struct ladder_variant *variant) {
    enum ladder_finish finish = variant->finish ? variant->finish : variant->rung->finish;
    bool is_float = asked->type == WF_F32 || asked->type == WF_F64;
    return is_float && finish == LADDER_FINISH_ATOMIC ? 1 : 0;
}

struct trial {
    const struct ladder_request *asked;
    const struct ladder_variant *variant;
    const simt_module *module;
};

static simt_error run_trial(const struct trial *trial, const struct data *data,
                            const struct simt_observer *const *from, struct ladder_outcome *outcome,
                            simt_message *message) {
    const struct ladder_request *asked = trial->asked;
    const struct simt_observer *observers[OBSERVERS_MAX];
    if (from) list_observers(from, observers);
    const struct ladder_task task = {
        .variant = *trial->variant,
        .module = trial->module,
        .values = data->values,
        .n = data->n,
        .block = asked->block,
        .grid = asked->grid,
        .schedule = asked->schedule,
        .seed = asked->schedule_seed,
        .threads = host_threads(asked, trial->variant),
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
static int look_for_faults(const struct trial *trial, const struct data *data, struct ladder_row *row) {
    struct ladder_outcome outcome;
    simt_message message = {""};
    simt_error error = run_trial(trial, data, simt_observers, &outcome, &message);
    int status = judge(trial->asked, trial->variant->rung, data, &outcome, error, &message, &row->verified);
    row->races = count_races(&outcome);
    ladder_outcome_clear(&outcome);
    return status;
}

static int count_and_verify(const struct trial *trial, const struct data *data, struct ladder_row *row) {
    simt_message message = {""};
    simt_error error = run_trial(trial, data, simt_counters, &row->outcome, &message);
    bool is_right = false;
    if (!row->verified && error != SIMT_ERROR_MEMORY) return STATUS_OK; /* and what is wrong has been told */
    int status = judge(trial->asked, trial->variant->rung, data, &row->outcome, error, &message, &is_right);
    row->verified = is_right;
    return status;
}

static int measure_error(const struct trial *trial, const struct data *data, struct ladder_row *row) {
    struct ladder_outcome outcome = {0};
    simt_message message = {""};
    row->ulp = NAN;
    if (!row->verified) return STATUS_OK;
    simt_error error = run_trial(trial, data, NULL, &outcome, &message);
    int status = measure_ulp(trial->asked, &row->rung, data, &outcome, error, &message, &row->ulp);
    ladder_outcome_clear(&outcome);
    return status;
}

int count_on_machine(const struct ladder_request *asked, const struct data_set *set, struct ladder_row *row) {
    struct ladder_variant variant = ladder_request_variant(asked, &row->rung);
    struct trial trial = {asked, &variant, NULL};
    simt_module *module;
    simt_message message;
    if (row->rung.is_engine) return count_engine(asked, set, row);
    row->ulp = NAN;
    if (ladder_module(&variant, &cleanup_leftovers, &module, &message)) return fail_lines(message.text);
    trial.module = module;
    int status = look_for_faults(&trial, &set->checked, row);
    if (!status) status = count_and_verify(&trial, &set->exact, row);
    if (!status) status = measure_error(&trial, &set->random, row);
    simt_module_destroy(module);
    return status;
}

/* ---- all of them --------------------------------------------------------------------------------- */

static int run_rungs(const struct ladder_request *asked, const struct data_set *set,
                     struct ladder_table *table) {
    int status = STATUS_OK;
    for (size_t i = 0; i < table->row_count && !status; i++)
        status = count_on_machine(asked, set, &table->rows[i]);
    return status;
}

int run_on_machine(const struct ladder_request *asked) {
    struct data_set set = {0};
    struct ladder_table table = {0};
    uint64_t n = ladder_request_n(asked);
    bool has_memory = make_table(asked, &table) && make_data_set(asked, n, &set);
    int status = has_memory ? STATUS_OK : fail_memory();
    if (!status) status = describe_data(asked, &set, &table);
    if (!status) status = run_rungs(asked, &set, &table);
    if (!status) status = print_table(&table, asked->settings);
    clear_table(&table);
    clear_data(&set);
    return status;
}
