/* The ladder on a GPU: every rung is verified, then all that are right are timed. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "gpu.h"
#include "ladder_errand.h"
#include "ladder_time.h"
#include "output.h"

enum { N_COUNTED = 1 << 16 /* at most so many go through the SIMT machine */ };

static const uint64_t default_sizes[] = {1 << 22, 10000000,
                                         1 << 28}; /* the tutorials', and what memory shows at */
static const double longest_microseconds = 5e6;    /* what takes longer is not timed */

struct show {
    const struct errand *errand;
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

static int load_kernel(struct show *show, size_t row) {
    const struct errand *errand = show->errand;
    struct ladder_variant variant = errand_variant(errand, &show->table.rows[row].rung);
    enum ladder_gpu_image image = errand->settings->once ? LADDER_GPU_BUILT_IN : LADDER_GPU_COMPILED;
    simt_message message;
    struct ladder_row *shown = &show->table.rows[row];
    shown->is_skipped = !ladder_gpu_takes(show->gpu, variant.rung);
    shown->verified = shown->verified && !shown->is_skipped;
    if (shown->is_skipped) return STATUS_OK;
    if (ladder_gpu_load(show->gpu, &variant, image, &show->kernels[row], &message))
        return fail("%s", message.text);
    return STATUS_OK;
}

static int load_kernels(struct show *show) {
    size_t count = show->table.row_count;
    int status = STATUS_OK;
    show->kernels = calloc(count + 1, sizeof(struct ladder_gpu_kernel *));
    show->takes_too_long = calloc(count + 1, sizeof(bool));
    if (!show->kernels || !show->takes_too_long) return fail("no memory left");
    for (size_t i = 0; i < count && !status; i++) status = load_kernel(show, i);
    return status;
}

/* What the machine counts stands beside; where it finds a rung wrong, the rung is wrong. */
static int count_rows(struct show *show) {
    int64_t wanted = show->errand->n;
    uint64_t n = wanted >= 0 && wanted < N_COUNTED ? (uint64_t)wanted : N_COUNTED;
    struct data_set set = {0};
    int status = make_data_set(show->errand, n, &set) ? STATUS_OK : fail("no memory left");
    for (size_t i = 0; i < show->table.row_count && !status; i++)
        status = count_on_machine(show->errand, &set, &show->table.rows[i]);
    show->table.counted_n = n;
    clear_data(&set);
    return status;
}

/* ---- verifying ----------------------------------------------------------------------------------- */

static struct ladder_task task_of(const struct show *show, size_t row, const struct data *data) {
    const struct errand *errand = show->errand;
    return (struct ladder_task){
        .variant = errand_variant(errand, &show->table.rows[row].rung),
        .values = data->values,
        .n = data->n,
        .block = errand->block,
        .grid = errand->grid,
        .resident = ladder_gpu_resident(show->kernels[row], errand->block),
    };
}

static int put_data(const struct show *show, const struct data *data) {
    simt_message message;
    uint64_t nbytes = data->n * wf_type_nbytes(show->errand->type);
    return ladder_gpu_put(show->gpu, data->values, nbytes, &message) ? fail("%s", message.text) : STATUS_OK;
}

static bool is_row_right(const struct show *show, size_t row, const struct data *data,
                         struct ladder_outcome *outcome) {
    const struct ladder_task task = task_of(show, row, data);
    simt_message message = {""};
    simt_error error = ladder_gpu_run(show->kernels[row], &task, outcome, &message);
    return is_right(show->errand, &show->table.rows[row].rung, data, outcome, error, &message);
}

/* By a sample on few elements, which a queue of atomics makes ever slower per element. */
static bool takes_too_long(const struct show *show, size_t row, const struct data *few, uint64_t n) {
    const struct ladder_task task = task_of(show, row, few);
    struct entrant entrant = {0};
    simt_message message;
    double microseconds = 0;
    simt_error error = ladder_gpu_enter(show->gpu, show->kernels[row], &task, &entrant.contender, &message);
    if (!error) error = ladder_gpu_sample(entrant.contender, true, &microseconds, &message);
    leave_all(&entrant, 1);
    microseconds *= (double)n / (double)few->n;
    if (error || microseconds < longest_microseconds) return false;
    say("%s would take about %.0f s for %" PRIu64 " elements: verified with %" PRIu64 ", not timed",
        task.variant.rung->id, microseconds * 1e-6, n, few->n);
    return true;
}

static int verify_few(struct show *show, const struct data *few, uint64_t n) {
    int status = put_data(show, few);
    for (size_t i = 0; i < show->table.row_count && !status; i++) {
        struct ladder_row *row = &show->table.rows[i];
        struct ladder_outcome outcome = {0};
        if (!show->kernels[i]) continue;
        row->verified = row->verified && is_row_right(show, i, few, &outcome);
        show->takes_too_long[i] = row->verified && n > few->n && takes_too_long(show, i, few, n);
        ladder_outcome_clear(&outcome);
    }
    return status;
}

static int verify_all(struct show *show, const struct data *data) {
    int status = put_data(show, data);
    for (size_t i = 0; i < show->table.row_count && !status; i++) {
        struct ladder_row *row = &show->table.rows[i];
        ladder_outcome_clear(&row->measure.outcome);
        if (show->kernels[i] && !show->takes_too_long[i])
            row->verified = row->verified && is_row_right(show, i, data, &row->measure.outcome);
    }
    return status;
}

static double measure_error(const struct show *show, size_t row, const struct data *data) {
    const struct ladder_task task = task_of(show, row, data);
    struct ladder_outcome outcome = {0};
    simt_message message;
    double ulp = NAN;
    if (!ladder_gpu_run(show->kernels[row], &task, &outcome, &message))
        ulp = ladder_error_ulp(&outcome.result, data->values, show->errand->op, data->n);
    ladder_outcome_clear(&outcome);
    return ulp;
}

static int measure_errors(struct show *show, const struct data *data) {
    int status = put_data(show, data);
    for (size_t i = 0; i < show->table.row_count && !status; i++) {
        bool runs = show->kernels[i] && show->table.rows[i].verified && !show->takes_too_long[i];
        show->table.rows[i].ulp = runs ? measure_error(show, i, data) : (double)NAN;
    }
    return status;
}

/* ---- timing -------------------------------------------------------------------------------------- */

static simt_error enter_rows(struct show *show, const struct data *data, struct entrant *entrants,
                             simt_message *message) {
    simt_error error = SIMT_OK;
    for (size_t i = 0; i < show->table.row_count && !error; i++) {
        if (!show->kernels[i] || !show->table.rows[i].verified || show->takes_too_long[i]) continue;
        const struct ladder_task task = task_of(show, i, data);
        error = ladder_gpu_enter(show->gpu, show->kernels[i], &task, &entrants[i].contender, message);
    }
    return error;
}

static int time_all(struct show *show, const struct data *data) {
    size_t count = LADDER_READERS + show->table.row_count;
    struct entrant *entrants = calloc(count, sizeof *entrants);
    simt_message message;
    if (!entrants) return fail("no memory left");
    simt_error error = enter_readers(show->gpu, entrants, &message);
    if (!error) error = enter_rows(show, data, entrants + LADDER_READERS, &message);
    if (!error) error = take_samples(entrants, count, &message);
    show->table.ceiling_microseconds = best_median(entrants, LADDER_READERS);
    for (size_t i = 0; i < show->table.row_count; i++)
        show->table.rows[i].measure.microseconds = median_sample(&entrants[LADDER_READERS + i]);
    leave_all(entrants, count);
    free(entrants);
    return error ? fail("%s", message.text) : STATUS_OK;
}

/* ---- a size -------------------------------------------------------------------------------------- */

static void forget_measures(struct ladder_table *table) {
    table->ceiling_microseconds = NAN;
    for (size_t i = 0; i < table->row_count; i++) table->rows[i].measure.microseconds = NAN;
}

static int show_data(struct show *show, const struct data_set *set) {
    bool measures = is_measuring(show->errand->settings);
    int status = measures ? verify_few(show, &set->checked, set->exact.n) : STATUS_OK;
    if (!status) status = verify_all(show, &set->exact);
    if (!status && measures) status = measure_errors(show, &set->random);
    if (!status && measures) status = time_all(show, &set->random);
    return status ? status : print_table(&show->table, show->errand->settings);
}

static int show_size(struct show *show, uint64_t n) {
    struct data_set set = {0};
    int status = make_data_set(show->errand, n, &set) ? STATUS_OK : fail("no memory left");
    forget_measures(&show->table);
    if (!status) describe_data(show->errand, &set, &show->table);
    if (!status) status = show_data(show, &set);
    clear_data(&set);
    return status;
}

static int show_sizes(struct show *show) {
    int64_t own = show->errand->n;
    size_t count = show->errand->settings->partials ? 1 : sizeof default_sizes / sizeof default_sizes[0];
    int status = STATUS_OK;
    if (own >= 0) return show_size(show, (uint64_t)own);
    for (size_t i = 0; i < count && !status; i++) status = show_size(show, default_sizes[i]);
    return status;
}

/* ---- the command --------------------------------------------------------------------------------- */

static int run_show(struct show *show) {
    int status = STATUS_OK;
    if (!make_table(show->errand, &show->table)) return fail("no memory left");
    show->table.device = ladder_gpu_name(show->gpu);
    show->table.gpu = ladder_gpu_text(show->gpu);
    for (size_t i = 0; i < show->table.row_count; i++) {
        show->table.rows[i].ulp = NAN;
        show->table.rows[i].verified = true;
    }
    if (is_measuring(show->errand->settings)) status = count_rows(show);
    if (!status) status = load_kernels(show);
    return status ? status : show_sizes(show);
}

int run_on_gpu(const struct errand *errand) {
    struct show show = {.errand = errand};
    simt_message message;
    if (ladder_gpu_open(errand->settings->device, &show.gpu, &message)) return fail("%s", message.text);
    int status = run_show(&show);
    for (size_t i = 0; show.kernels && i < show.table.row_count; i++) ladder_gpu_unload(show.kernels[i]);
    clear_table(&show.table);
    free(show.kernels);
    free(show.takes_too_long);
    ladder_gpu_close(show.gpu);
    return status;
}
