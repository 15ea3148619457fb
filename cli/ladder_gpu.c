/* The ladder on a GPU: every rung is verified, then all that are right are timed. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "ladder/gpu.h"
#include "ladder_request.h"
#include "ladder_time.h"
#include "output.h"

enum { N_COUNTED = 1 << 16 /* at most this many elements go through the simulator */ };

static const uint64_t default_sizes[] = {1 << 22, 10000000,
                                         1 << 28}; /* the tutorials', and what memory shows at */
static const double longest_microseconds = 5e6;    /* what takes longer is not timed */

struct gpu_run {
    const struct ladder_request *asked;
    struct ladder_gpu *gpu;
    struct ladder_table table;
    struct ladder_gpu_kernel **kernels; /* of each row; NULL: skipped */
    bool *takes_too_long;               /* of each row, at this size */
};

/* Else each rung is launched once. */
static bool is_measuring(const struct settings *settings) {
    return !settings->once && !settings->partials;
}

/* ---- kernels ------------------------------------------------------------------------------------- */

static int load_kernel(struct gpu_run *run, size_t row) {
    const struct ladder_request *asked = run->asked;
    struct ladder_variant variant = ladder_request_variant(asked, &run->table.rows[row].rung);
    enum ladder_gpu_image image = asked->settings->once ? LADDER_GPU_BUILT_IN : LADDER_GPU_COMPILED;
    simt_message message;
    struct ladder_row *shown = &run->table.rows[row];
    shown->is_skipped = !ladder_gpu_takes(run->gpu, variant.rung);
    shown->verified = shown->verified && !shown->is_skipped;
    if (shown->is_skipped) return STATUS_OK;
    if (ladder_gpu_load(run->gpu, &variant, image, &run->kernels[row], &message))
        return fail_lines(message.text);
    return STATUS_OK;
}

static int load_kernels(struct gpu_run *run) {
    size_t count = run->table.row_count;
    int status = STATUS_OK;
    run->kernels = calloc(count + 1, sizeof(struct ladder_gpu_kernel *));
    run->takes_too_long = calloc(count + 1, sizeof(bool));
    if (!run->kernels || !run->takes_too_long) return fail_memory();
    for (size_t i = 0; i < count && !status; i++) status = load_kernel(run, i);
    return status;
}

/* Adds the simulator's counts to the row.  A rung that the simulator finds wrong is wrong. */
static int count_rows(struct gpu_run *run) {
    int64_t wanted = run->asked->n;
    uint64_t n = wanted >= 0 && wanted < N_COUNTED ? (uint64_t)wanted : N_COUNTED;
    struct data_set set = {0};
    int status = make_data_set(run->asked, n, &set) ? STATUS_OK : fail_memory();
    for (size_t i = 0; i < run->table.row_count && !status; i++)
        status = count_on_machine(run->asked, &set, &run->table.rows[i]);
    run->table.counted_n = n;
    clear_data(&set);
    return status;
}

/* ---- verifying ----------------------------------------------------------------------------------- */

static struct ladder_task task_of(const struct gpu_run *run, size_t row, const struct data *data) {
    const struct ladder_request *asked = run->asked;
    return (struct ladder_task){
        .variant = ladder_request_variant(asked, &run->table.rows[row].rung),
        .values = data->values,
        .n = data->n,
        .block = asked->block,
        .grid = asked->grid,
        .resident = ladder_gpu_resident(run->kernels[row], asked->block),
    };
}

static int put_data(const struct gpu_run *run, const struct data *data) {
    simt_message message;
    uint64_t nbytes = data->n * wf_type_nbytes(run->asked->type);
    return ladder_gpu_put(run->gpu, data->values, nbytes, &message) ? fail("%s", message.text) : STATUS_OK;
}

/* A row that is wrong already stays wrong. */
static int verify_row(struct gpu_run *run, size_t row, const struct data *data,
                      struct ladder_outcome *outcome) {
    struct ladder_row *shown = &run->table.rows[row];
    if (!shown->verified) return STATUS_OK;
    const struct ladder_task task = task_of(run, row, data);
    simt_message message = {""};
    simt_error error = ladder_gpu_run(run->kernels[row], &task, outcome, &message);
    return judge(run->asked, &shown->rung, data, outcome, error, &message, &shown->verified);
}

/* By a sample on few elements, which a queue of atomics makes ever slower per element. */
static int see_how_long(struct gpu_run *run, size_t row, const struct data *few, uint64_t n) {
    const struct ladder_task task = task_of(run, row, few);
    struct candidate candidate = {0};
    simt_message message = {""};
    double microseconds = 0;
    simt_error error = ladder_gpu_enter(run->gpu, run->kernels[row], &task, &candidate.timed, &message);
    if (!error) error = ladder_gpu_sample(candidate.timed, true, &microseconds, &message);
    leave_all(&candidate, 1);
    microseconds *= (double)n / (double)few->n;
    if (error == SIMT_ERROR_MEMORY) return fail("%s: %s", task.variant.rung->id, message.text);
    if (error || microseconds < longest_microseconds) return STATUS_OK;
    say("%s would take about %.0f s for %" PRIu64 " elements: verified with only %" PRIu64 ", not timed",
        task.variant.rung->id, microseconds * 1e-6, n, few->n);
    run->takes_too_long[row] = true;
    return STATUS_OK;
}

static int verify_few(struct gpu_run *run, const struct data *few, uint64_t n) {
    int status = put_data(run, few);
    for (size_t i = 0; i < run->table.row_count && !status; i++) {
        struct ladder_row *row = &run->table.rows[i];
        struct ladder_outcome outcome = {0};
        if (!run->kernels[i]) continue;
        run->takes_too_long[i] = false;
        status = verify_row(run, i, few, &outcome);
        if (!status && row->verified && n > few->n) status = see_how_long(run, i, few, n);
        ladder_outcome_clear(&outcome);
    }
    return status;
}

static int verify_all(struct gpu_run *run, const struct data *data) {
    int status = put_data(run, data);
    for (size_t i = 0; i < run->table.row_count && !status; i++) {
        struct ladder_row *row = &run->table.rows[i];
        ladder_outcome_clear(&row->measure.outcome);
        if (run->kernels[i] && !run->takes_too_long[i])
            status = verify_row(run, i, data, &row->measure.outcome);
    }
    return status;
}

static int measure_error(const struct gpu_run *run, size_t row, const struct data *data, double *ulp) {
    const struct ladder_task task = task_of(run, row, data);
    struct ladder_outcome outcome = {0};
    simt_message message = {""};
    simt_error error = ladder_gpu_run(run->kernels[row], &task, &outcome, &message);
    int status = measure_ulp(run->asked, task.variant.rung, data, &outcome, error, &message, ulp);
    ladder_outcome_clear(&outcome);
    return status;
}

static int measure_errors(struct gpu_run *run, const struct data *data) {
    int status = put_data(run, data);
    for (size_t i = 0; i < run->table.row_count && !status; i++) {
        struct ladder_row *row = &run->table.rows[i];
        bool runs = run->kernels[i] && row->verified && !run->takes_too_long[i];
        row->ulp = NAN;
        if (runs) status = measure_error(run, i, data, &row->ulp);
    }
    return status;
}

/* ---- timing -------------------------------------------------------------------------------------- */

static simt_error enter_rows(struct gpu_run *run, const struct data *data, struct candidate *candidates,
                             simt_message *message) {
    simt_error error = SIMT_OK;
    for (size_t i = 0; i < run->table.row_count && !error; i++) {
        if (!run->kernels[i] || !run->table.rows[i].verified || run->takes_too_long[i]) continue;
        const struct ladder_task task = task_of(run, i, data);
        error = ladder_gpu_enter(run->gpu, run->kernels[i], &task, &candidates[i].timed, message);
    }
    return error;
}

static int time_all(struct gpu_run *run, const struct data *data) {
    size_t count = LADDER_READERS + run->table.row_count;
    struct candidate *candidates = calloc(count, sizeof *candidates);
    simt_message message;
    if (!candidates) return fail_memory();
    simt_error error = enter_readers(run->gpu, candidates, &message);
    if (!error) error = enter_rows(run, data, candidates + LADDER_READERS, &message);
    if (!error) error = take_samples(candidates, count, &message);
    run->table.ceiling_microseconds = best_median(candidates, LADDER_READERS);
    for (size_t i = 0; i < run->table.row_count; i++)
        run->table.rows[i].measure.microseconds = median_sample(&candidates[LADDER_READERS + i]);
    leave_all(candidates, count);
    free(candidates);
    return error ? fail("%s", message.text) : STATUS_OK;
}

/* ---- a size -------------------------------------------------------------------------------------- */

static void forget_measures(struct ladder_table *table) {
    table->ceiling_microseconds = NAN;
    for (size_t i = 0; i < table->row_count; i++) table->rows[i].measure.microseconds = NAN;
}

static int show_data(struct gpu_run *run, const struct data_set *set) {
    bool measures = is_measuring(run->asked->settings);
    int status = measures ? verify_few(run, &set->checked, set->exact.n) : STATUS_OK;
    if (!status) status = verify_all(run, &set->exact);
    if (!status && measures) status = measure_errors(run, &set->random);
    if (!status && measures) status = time_all(run, &set->random);
    return status ? status : print_table(&run->table, run->asked->settings);
}

static int show_size(struct gpu_run *run, uint64_t n) {
    struct data_set set = {0};
    int status = make_data_set(run->asked, n, &set) ? STATUS_OK : fail_memory();
    forget_measures(&run->table);
    if (!status) status = describe_data(run->asked, &set, &run->table);
    if (!status) status = show_data(run, &set);
    clear_data(&set);
    return status;
}

static int show_sizes(struct gpu_run *run) {
    int64_t own = run->asked->n;
    size_t count = run->asked->settings->partials ? 1 : sizeof default_sizes / sizeof default_sizes[0];
    int status = STATUS_OK;
    if (own >= 0) return show_size(run, (uint64_t)own);
    for (size_t i = 0; i < count && !status; i++) status = show_size(run, default_sizes[i]);
    return status;
}

/* ---- the command --------------------------------------------------------------------------------- */

static int run_show(struct gpu_run *run) {
    int status = STATUS_OK;
    if (!make_table(run->asked, &run->table)) return fail_memory();
    run->table.device = ladder_gpu_name(run->gpu);
    run->table.gpu = ladder_gpu_text(run->gpu);
    for (size_t i = 0; i < run->table.row_count; i++) {
        run->table.rows[i].ulp = NAN;
        run->table.rows[i].verified = true;
    }
    if (is_measuring(run->asked->settings)) status = count_rows(run);
    if (!status) status = load_kernels(run);
    return status ? status : show_sizes(run);
}

int run_on_gpu(const struct ladder_request *asked) {
    struct gpu_run run = {.asked = asked};
    simt_message message;
    if (ladder_gpu_open(asked->settings->device, &run.gpu, &message)) return fail("%s", message.text);
    int status = run_show(&run);
    for (size_t i = 0; run.kernels && i < run.table.row_count; i++) ladder_gpu_unload(run.kernels[i]);
    clear_table(&run.table);
    free(run.kernels);
    free(run.takes_too_long);
    ladder_gpu_close(run.gpu);
    return status;
}
