/* ladder --sweep: the CPU compared with one rung on the GPU over many sizes, and the size from which the GPU is faster. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "ladder/gpu.h"
#include "ladder_request.h"
#include "ladder_time.h"
#include "output.h"
#include "report/json.h"

enum { SIZES_MAX = 41, RUNS_MAX = 15, RUNS_LEAST = 3 };

static const uint64_t least_n = 1 << 10, greatest_n = 1 << 28;
static const double enough_microseconds = 2e5;

/* The candidates, in the order of the columns. */
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
    const struct ladder_request *asked;
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

/* Candidates that are timed by the host's clock. */
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
    const struct ladder_request *asked = job->sweep->asked;
    struct ladder_result result =
        ladder_reduce(job->data->values, NULL, asked->type, asked->op, job->data->n);
    return ladder_result_equal(&result, &job->data->expected, asked->op);
}

static bool run_engine(struct job *job) {
    const struct ladder_request *asked = job->sweep->asked;
    wf_array array = wf_array_vector(job->data->values, asked->type, (int64_t)job->data->n);
    const wf_reduction reduction = wf_reduction_of(asked->op);
    wf_value value;
    return !wf_reduce_value(job->sweep->cpu, &reduction, &array, NULL, &value);
}

static bool run_copy(struct job *job) {
    uint64_t nbytes = job->data->n * wf_type_nbytes(job->sweep->asked->type);
    return !ladder_gpu_put(job->sweep->gpu, job->data->values, nbytes, &job->message);
}

/* ---- on the GPU ---------------------------------------------------------------------------------- */

static struct ladder_task task_of(const struct sweep *sweep, const struct data *data) {
    const struct ladder_request *asked = sweep->asked;
    return (struct ladder_task){
        .variant = ladder_request_variant(asked, &sweep->rung),
        .values = data->values,
        .n = data->n,
        .block = asked->block,
        .grid = asked->grid,
        .resident = ladder_gpu_resident(sweep->kernel, asked->block),
    };
}

static int verify(struct sweep *sweep, uint64_t n) {
    struct data data = {0};
    struct ladder_outcome outcome = {0};
    simt_message message = {""};
    if (!make_data(sweep->asked, LADDER_DATA_EXACT, n, &data)) return fail_memory();
    const struct ladder_task task = task_of(sweep, &data);
    simt_error error =
        ladder_gpu_put(sweep->gpu, data.values, n * wf_type_nbytes(sweep->asked->type), &message);
    if (!error) error = ladder_gpu_run(sweep->kernel, &task, &outcome, &message);
    bool is_right = false;
    int status = judge(sweep->asked, &sweep->rung, &data, &outcome, error, &message, &is_right);
    ladder_outcome_clear(&outcome);
    free(data.values);
    return status || is_right ? status : fail("%s could not be verified", sweep->rung.id);
}

static int time_kernel(struct sweep *sweep, const struct data *data, double *microseconds) {
    const struct ladder_task task = task_of(sweep, data);
    struct candidate candidate = {0};
    simt_message message;
    simt_error error = ladder_gpu_enter(sweep->gpu, sweep->kernel, &task, &candidate.timed, &message);
    if (!error) error = take_samples(&candidate, 1, &message);
    *microseconds = median_sample(&candidate);
    leave_all(&candidate, 1);
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
    if (!status && !make_data(sweep->asked, LADDER_DATA_RANDOM, n, &data)) status = fail_memory();
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
    return (double)(size->n * wf_type_nbytes(sweep->asked->type)) / size->microseconds[way] / 1e3;
}

static void put_verdict(FILE *stream, const char *where, uint64_t n) {
    if (n)
        fprintf(stream, "%s the GPU is faster than the CPU from %" PRIu64 " elements on.\n", where, n);
    else
        fprintf(stream, "%s the GPU is faster at none of the largest sizes.\n", where);
}

static void put_sweep(FILE *stream, const struct sweep *sweep) {
    const struct ladder_request *asked = sweep->asked;
    fprintf(stream, "%s of %s: microseconds, GB/s. GPU: %s on %s (%s).\n%10s", wf_op_name(asked->op),
            wf_type_name(asked->type), sweep->rung.id, ladder_gpu_name(sweep->gpu),
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
    put_verdict(stream, "If the data is already in GPU memory,", first_won(sweep, WAY_GPU));
    put_verdict(stream, "If it must be copied there first,", first_won(sweep, WAY_GPU_WITH_COPY));
}

static void put_size_json(struct json *json, const struct sweep *sweep, const struct size *size) {
    enum { DIGITS = 17 };
    char name[32];
    json_begin(json, '{');
    json_key_unsigned(json, "n", size->n);
    for (int way = 0; way < WAY_COUNT; way++) {
        snprintf(name, sizeof name, "%s_microseconds", ways[way].name);
        json_key_digits(json, name, size->microseconds[way], DIGITS);
        snprintf(name, sizeof name, "%s_gbps", ways[way].name);
        json_key_digits(json, name, gbps(sweep, size, (enum way)way), DIGITS);
    }
    json_end(json, '}');
}

static void put_sweep_json(FILE *stream, const struct sweep *sweep) {
    struct json json = json_to(stream);
    json_begin(&json, '{');
    json_key_text(&json, "op", wf_op_name(sweep->asked->op));
    json_key_text(&json, "type", wf_type_name(sweep->asked->type));
    json_key_text(&json, "device", ladder_gpu_name(sweep->gpu));
    json_key(&json, "rung");
    json_format(&json, "%02d", sweep->rung.number);
    json_key_begin(&json, "sizes", '[');
    for (size_t i = 0; i < sweep->size_count; i++) put_size_json(&json, sweep, &sweep->sizes[i]);
    json_end(&json, ']');
    json_key_unsigned(&json, "gpu_wins_from", first_won(sweep, WAY_GPU));
    json_key_unsigned(&json, "gpu_with_copy_wins_from", first_won(sweep, WAY_GPU_WITH_COPY));
    json_end(&json, '}');
    fputc('\n', stream);
}

static int print_sweep(const struct sweep *sweep) {
    struct page page;
    page_open(&page);
    if (page.stream) (sweep->asked->settings->json ? put_sweep_json : put_sweep)(page.stream, sweep);
    return page_print(&page);
}

/* ---- the command --------------------------------------------------------------------------------- */

static int open_sweep(struct sweep *sweep) {
    const struct ladder_request *asked = sweep->asked;
    simt_message message;
    sweep->rung = asked->rung;
    if (!asked->settings->rung && !ladder_rung_find("14", &sweep->rung)) return fail("rung 14 is not built in");
    struct ladder_variant variant = ladder_request_variant(asked, &sweep->rung);
    if (ladder_gpu_open(asked->settings->device, &sweep->gpu, &message)) return fail("%s", message.text);
    if (!ladder_gpu_takes(sweep->gpu, &sweep->rung))
        return fail("%s needs compute capability %s or later", sweep->rung.id, sweep->rung.target);
    if (ladder_gpu_load(sweep->gpu, &variant, LADDER_GPU_COMPILED, &sweep->kernel, &message))
        return fail("%s", message.text);
    return wf_handle_create("cpu", &sweep->cpu) ? fail_memory() : STATUS_OK;
}

static int sweep_sizes(struct sweep *sweep) {
    uint64_t last = sweep->asked->n > 0 ? (uint64_t)sweep->asked->n : greatest_n;
    int status = STATUS_OK;
    for (uint64_t n = least_n < last ? least_n : last; n <= last && !status; n *= 2)
        status = sweep_size(sweep, n);
    return status ? status : print_sweep(sweep);
}

int run_sweep(const struct ladder_request *asked) {
    struct sweep sweep = {.asked = asked};
    int status = open_sweep(&sweep);
    if (!status) status = sweep_sizes(&sweep);
    ladder_gpu_unload(sweep.kernel);
    ladder_gpu_close(sweep.gpu);
    wf_handle_destroy(sweep.cpu);
    return status;
}
