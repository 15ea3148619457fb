/* ladder --sweep: over sizes, the CPU beside one rung on the GPU, and where the GPU begins to win. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "gpu.h"
#include "ladder_errand.h"
#include "ladder_time.h"
#include "output.h"

enum { SIZES_MAX = 41, RUNS_MAX = 15, RUNS_LEAST = 3 };

static const uint64_t least_n = 1 << 10, greatest_n = 1 << 28;
static const double enough_microseconds = 2e5;

/* Who is timed, in the order of the columns. */
enum way { WAY_LOOP, WAY_ENGINE, WAY_GPU, WAY_GPU_WITH_COPY, WAY_COUNT };

static const struct {
    const char *heading, *name;
} ways[WAY_COUNT] = {
    [WAY_LOOP] = {"loop (CPU)", "loop"},
    [WAY_ENGINE] = {"engine (CPU)", "engine"},
    [WAY_GPU] = {"GPU", "gpu"},
    [WAY_GPU_WITH_COPY] = {"copy and GPU", "gpu_with_copy"},
};

struct sweep {
    const struct errand *errand;
    struct ladder_rung rung;
    struct ladder_gpu *gpu;
    struct ladder_gpu_kernel *kernel;
    wf_handle *cpu;
    size_t size_count;
    struct size {
        uint64_t n;
        double microseconds[WAY_COUNT]; /* medians; NaN: it has no result */
    } sizes[SIZES_MAX];
};

/* ---- timing -------------------------------------------------------------------------------------- */

/* What is timed by the host's clock. */
struct job {
    struct sweep *sweep;
    const struct data *data;
    bool (*run)(struct job *job); /* false: it gives no result */
    simt_message message;
};

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of a few runs; NaN where one of them fails. */
static double time_job(struct job *job) {
    double runs[RUNS_MAX], spent = 0;
    int count = 0;
    if (!job->run(job)) return NAN;
    while (count < RUNS_MAX && (count < RUNS_LEAST || spent < enough_microseconds)) {
        double begin = now_microseconds();
        if (!job->run(job)) return NAN;
        runs[count] = now_microseconds() - begin;
        spent += runs[count++];
    }
    qsort(runs, (size_t)count, sizeof *runs, compare);
    return runs[count / 2];
}

static bool run_loop(struct job *job) {
    const struct errand *errand = job->sweep->errand;
    struct ladder_result result =
        ladder_reduce(job->data->values, NULL, errand->type, errand->op, job->data->n);
    return ladder_result_equal(&result, &job->data->expected, errand->op);
}

static bool run_engine(struct job *job) {
    const struct errand *errand = job->sweep->errand;
    wf_array array = wf_array_vector(job->data->values, errand->type, (int64_t)job->data->n);
    wf_value value;
    return !wf_reduce(job->sweep->cpu, errand->op, &array, NULL, &value);
}

static bool run_copy(struct job *job) {
    uint64_t nbytes = job->data->n * wf_type_nbytes(job->sweep->errand->type);
    return !ladder_gpu_put(job->sweep->gpu, job->data->values, nbytes, &job->message);
}

/* ---- on the GPU ---------------------------------------------------------------------------------- */

static struct ladder_task task_of(const struct sweep *sweep, const struct data *data) {
    const struct errand *errand = sweep->errand;
    return (struct ladder_task){
        .variant = errand_variant(errand, &sweep->rung),
        .values = data->values,
        .n = data->n,
        .block = errand->block,
        .grid = errand->grid,
        .resident = ladder_gpu_resident(sweep->kernel, errand->block),
    };
}

static int verify(struct sweep *sweep, uint64_t n) {
    struct data data = {0};
    struct ladder_outcome outcome = {0};
    simt_message message = {""};
    if (!make_data(sweep->errand, LADDER_DATA_EXACT, n, &data)) return fail("no memory left");
    const struct ladder_task task = task_of(sweep, &data);
    simt_error error =
        ladder_gpu_put(sweep->gpu, data.values, n * wf_type_nbytes(sweep->errand->type), &message);
    if (!error) error = ladder_gpu_run(sweep->kernel, &task, &outcome, &message);
    bool is_verified = is_right(sweep->errand, &sweep->rung, &data, &outcome, error, &message);
    ladder_outcome_clear(&outcome);
    free(data.values);
    return is_verified ? STATUS_OK : fail("%s could not be verified", sweep->rung.id);
}

static int time_kernel(struct sweep *sweep, const struct data *data, double *microseconds) {
    const struct ladder_task task = task_of(sweep, data);
    struct entrant entrant = {0};
    simt_message message;
    simt_error error = ladder_gpu_enter(sweep->gpu, sweep->kernel, &task, &entrant.contender, &message);
    if (!error) error = take_samples(&entrant, 1, &message);
    *microseconds = median_sample(&entrant);
    leave_all(&entrant, 1);
    return error ? fail("%s", message.text) : STATUS_OK;
}

static int time_size(struct sweep *sweep, const struct data *data, double microseconds[WAY_COUNT]) {
    struct job job = {.sweep = sweep, .data = data, .run = run_copy};
    double copy = time_job(&job);
    if (isnan(copy)) return fail("%s", job.message.text);
    int status = time_kernel(sweep, data, &microseconds[WAY_GPU]);
    microseconds[WAY_GPU_WITH_COPY] = copy + microseconds[WAY_GPU];
    job.run = run_loop;
    microseconds[WAY_LOOP] = time_job(&job);
    job.run = run_engine;
    microseconds[WAY_ENGINE] = time_job(&job);
    return status;
}

static int sweep_size(struct sweep *sweep, uint64_t n) {
    struct size *size = &sweep->sizes[sweep->size_count++];
    struct data data = {0};
    size->n = n;
    int status = verify(sweep, n);
    if (!status && !make_data(sweep->errand, LADDER_DATA_RANDOM, n, &data)) status = fail("no memory left");
    if (!status) status = time_size(sweep, &data, size->microseconds);
    free(data.values);
    return status;
}

/* ---- what is printed ----------------------------------------------------------------------------- */

/* The better of the two. */
static double cpu_microseconds(const struct size *size) {
    return fmin(size->microseconds[WAY_LOOP], size->microseconds[WAY_ENGINE]);
}

/* The least size from which on the GPU is faster; 0: there is none. */
static uint64_t first_won(const struct sweep *sweep, enum way way) {
    uint64_t n = 0;
    for (size_t i = sweep->size_count; i-- > 0;) {
        if (sweep->sizes[i].microseconds[way] >= cpu_microseconds(&sweep->sizes[i])) break;
        n = sweep->sizes[i].n;
    }
    return n;
}

static double gbps(const struct sweep *sweep, const struct size *size, enum way way) {
    return (double)(size->n * wf_type_nbytes(sweep->errand->type)) / size->microseconds[way] / 1e3;
}

static void put_verdict(FILE *stream, const char *where, uint64_t n) {
    if (n)
        fprintf(stream, "%s the GPU is faster than the CPU from %" PRIu64 " elements on.\n", where, n);
    else
        fprintf(stream, "%s the GPU is faster at none of the last sizes.\n", where);
}

static void put_sweep(FILE *stream, const struct sweep *sweep) {
    const struct errand *errand = sweep->errand;
    fprintf(stream, "%s of %s: microseconds, GB/s. GPU: %s on %s (%s).\n%10s", wf_op_name(errand->op),
            wf_type_name(errand->type), sweep->rung.id, ladder_gpu_name(sweep->gpu),
            ladder_gpu_text(sweep->gpu), "n");
    for (int way = 0; way < WAY_COUNT; way++) fprintf(stream, "%20s", ways[way].heading);
    fputc('\n', stream);
    for (size_t i = 0; i < sweep->size_count; i++) {
        const struct size *size = &sweep->sizes[i];
        fprintf(stream, "%10" PRIu64, size->n);
        for (int way = 0; way < WAY_COUNT; way++)
            fprintf(stream, "%12.1f%8.1f", size->microseconds[way], gbps(sweep, size, (enum way)way));
        fputc('\n', stream);
    }
    put_verdict(stream, "Where the data lie in GPU memory,", first_won(sweep, WAY_GPU));
    put_verdict(stream, "Where they have to be copied there,", first_won(sweep, WAY_GPU_WITH_COPY));
}

static void put_json_number(FILE *stream, double number) {
    if (isfinite(number))
        fprintf(stream, "%.17g", number);
    else
        fputs("null", stream);
}

static void put_json_size(FILE *stream, const struct sweep *sweep, const struct size *size) {
    fprintf(stream, "{\"n\":%" PRIu64, size->n);
    for (int way = 0; way < WAY_COUNT; way++) {
        fprintf(stream, ",\"%s_microseconds\":", ways[way].name);
        put_json_number(stream, size->microseconds[way]);
        fprintf(stream, ",\"%s_gbps\":", ways[way].name);
        put_json_number(stream, gbps(sweep, size, (enum way)way));
    }
    fputc('}', stream);
}

static void put_sweep_json(FILE *stream, const struct sweep *sweep) {
    const struct errand *errand = sweep->errand;
    fprintf(stream, "{\"op\":\"%s\",\"type\":\"%s\",\"device\":\"%s\",\"rung\":\"%02d\",\"sizes\":[",
            wf_op_name(errand->op), wf_type_name(errand->type), ladder_gpu_name(sweep->gpu),
            sweep->rung.number);
    for (size_t i = 0; i < sweep->size_count; i++) {
        if (i) fputc(',', stream);
        put_json_size(stream, sweep, &sweep->sizes[i]);
    }
    fprintf(stream, "],\"gpu_wins_from\":%" PRIu64 ",\"gpu_with_copy_wins_from\":%" PRIu64 "}\n",
            first_won(sweep, WAY_GPU), first_won(sweep, WAY_GPU_WITH_COPY));
}

static int print_sweep(const struct sweep *sweep) {
    struct page page;
    page_open(&page);
    if (page.stream) (sweep->errand->settings->json ? put_sweep_json : put_sweep)(page.stream, sweep);
    return page_print(&page);
}

/* ---- the command --------------------------------------------------------------------------------- */

static int open_sweep(struct sweep *sweep) {
    const struct errand *errand = sweep->errand;
    simt_message message;
    sweep->rung = errand->rung;
    if (!errand->settings->rung && !ladder_rung_find("14", &sweep->rung)) return fail("there is no rung 14");
    struct ladder_variant variant = errand_variant(errand, &sweep->rung);
    if (ladder_gpu_open(errand->settings->device, &sweep->gpu, &message)) return fail("%s", message.text);
    if (!ladder_gpu_takes(sweep->gpu, &sweep->rung))
        return fail("%s needs a GPU of %s or later", sweep->rung.id, sweep->rung.target);
    if (ladder_gpu_load(sweep->gpu, &variant, LADDER_GPU_COMPILED, &sweep->kernel, &message))
        return fail("%s", message.text);
    return wf_handle_create("cpu", &sweep->cpu) ? fail("no memory left") : STATUS_OK;
}

static int sweep_sizes(struct sweep *sweep) {
    uint64_t last = sweep->errand->n > 0 ? (uint64_t)sweep->errand->n : greatest_n;
    int status = STATUS_OK;
    for (uint64_t n = least_n < last ? least_n : last; n <= last && !status; n *= 2)
        status = sweep_size(sweep, n);
    return status ? status : print_sweep(sweep);
}

int run_sweep(const struct errand *errand) {
    struct sweep sweep = {.errand = errand};
    int status = open_sweep(&sweep);
    if (!status) status = sweep_sizes(&sweep);
    ladder_gpu_unload(sweep.kernel);
    ladder_gpu_close(sweep.gpu);
    wf_handle_destroy(sweep.cpu);
    return status;
}
