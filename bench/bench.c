/* Verifies, then times, and says how close each comes to the read ceiling of this computer. */
#define _GNU_SOURCE /* sched_getaffinity, MAP_ANONYMOUS */

#include "bench.h"

#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench_ceiling.h"
#include "bench_exact.h"
#include "bench_peers.h"
#include "bench_report.h"

/* ---- the cases ----------------------------------------------------------------------------------- */

enum place { PLACE_MEMORY, PLACE_CACHE, PLACE_SMALL, PLACE_GIVEN };

/* The arrays' sizes: in bytes, or in elements. */
static const struct size {
    enum place place;
    const char *name;
    size_t nbytes, quick_nbytes;
    int64_t count;
} sizes[] = {
    {PLACE_MEMORY, "memory", (size_t)1 << 30, (size_t)1 << 26, 0},
    {PLACE_CACHE, "cache", (size_t)1 << 19, (size_t)1 << 19, 0},
    {PLACE_SMALL, "small", 0, 0, 4096},
    {PLACE_SMALL, "small", 0, 0, 256},
    {PLACE_SMALL, "small", 0, 0, 16},
};

static const wf_type types[] = {WF_F32, WF_F64, WF_BF16, WF_F16, WF_I32, WF_I8};

#define BIT(number) (UINT32_C(1) << (number))

enum {
    FLOATS = BIT(WF_F32) | BIT(WF_F64),
    INTEGERS = BIT(WF_I32) | BIT(WF_I8),
    ALL_TYPES = FLOATS | INTEGERS,
    ORDER_OPS = BIT(WF_MIN) | BIT(WF_MAX) | BIT(WF_ARGMIN) | BIT(WF_ARGMAX),
    FLOAT_OPS = ORDER_OPS | BIT(WF_NONZERO) | BIT(WF_SUM) | BIT(WF_MEAN) | BIT(WF_NORM1) | BIT(WF_DOT) |
                BIT(WF_NORM2) | BIT(WF_VAR) | BIT(WF_STD) | BIT(WF_STATS),
    INTEGER_OPS = BIT(WF_MIN) | BIT(WF_MAX) | BIT(WF_ARGMAX) | BIT(WF_NONZERO) | BIT(WF_SUM),
    ALL_OPS = FLOAT_OPS | BIT(WF_ANY) | BIT(WF_ALL) | BIT(WF_NORMINF)
};

/* What is measured unless the options say otherwise. */
static const struct selection {
    enum place place;
    enum bench_data data;
    unsigned types, ops;
} selections[] = {
    {PLACE_MEMORY, BENCH_UNIFORM, FLOATS, FLOAT_OPS},
    {PLACE_MEMORY, BENCH_UNIFORM, INTEGERS, INTEGER_OPS},
    {PLACE_MEMORY, BENCH_ZEROS, ALL_TYPES, BIT(WF_ANY)},
    {PLACE_MEMORY, BENCH_WIDE20, FLOATS, BIT(WF_SUM)},
    {PLACE_MEMORY, BENCH_WIDE100, FLOATS, BIT(WF_SUM)},
    {PLACE_MEMORY, BENCH_FULL, FLOATS, BIT(WF_SUM)},
    {PLACE_CACHE, BENCH_UNIFORM, FLOATS, BIT(WF_SUM) | BIT(WF_MIN) | BIT(WF_MAX) | BIT(WF_DOT) | BIT(WF_VAR)},
    {PLACE_CACHE, BENCH_UNIFORM, INTEGERS, BIT(WF_SUM) | BIT(WF_MIN) | BIT(WF_MAX)},
    {PLACE_SMALL, BENCH_UNIFORM, ALL_TYPES, BIT(WF_SUM) | BIT(WF_MIN) | BIT(WF_MAX)},
};

/* An axis that an option names is taken as named; the others are as in some selection. */
static bool is_wanted(const struct bench_request *filter, enum place place, enum bench_data data,
                      wf_type type, wf_op op) {
    if ((filter->op && filter->op != op) || (filter->type && filter->type != type)) return false;
    if ((filter->data >= 0 && filter->data != (int)data) || !bench_data_exists(data, type)) return false;
    if (!(ALL_OPS & BIT(op))) return false;
    for (size_t i = 0; i < sizeof selections / sizeof selections[0]; i++) {
        const struct selection *selection = &selections[i];
        if ((filter->count ? PLACE_MEMORY : place) == selection->place &&
            (filter->data >= 0 || data == selection->data) &&
            (filter->type || selection->types & BIT(type)) && (filter->op || selection->ops & BIT(op)))
            return true;
    }
    return false;
}

/* ---- the bench ----------------------------------------------------------------------------------- */

enum { PEERS_MAX = 3, CASES_MAX = 512 };

struct bench {
    wf_handle *handle;
    struct bench_pool *pool;
    void *buffer;
    size_t nbytes; /* of the buffer */
    struct bench_request filter;
    char message[512];
    struct bench_peer peer[PEERS_MAX];
    struct bench_report report;
    struct bench_tally tally; /* of what the buffer was filled with last */
    int fill_count;
    struct bench_ceiling ceiling[2]; /* of one thread, of several; chosen once for arrays of such a size */
    size_t ceiling_nbytes[2];
};

/* Who is timed in one case. */
struct contest {
    struct bench *bench;
    struct bench_row *row;
    struct bench_runner *runner[BENCH_ENTRIES_MAX];
    long calls[BENCH_ENTRIES_MAX];
};

/* ---- the first two runners: the ceiling and the library ------------------------------------------ */

static double time_ceiling(struct bench_runner *self, const struct bench_case *what, long calls,
                           wf_value *result) {
    struct bench *bench = self->state;
    result->type = WF_TYPE_DEFAULT;
    return bench_ceiling_time(&bench->ceiling[what->threads > 1], bench->pool, what->array,
                              bench_case_nbytes(what), calls);
}

static wf_reduction reduction_of(const struct bench *bench, wf_op op) {
    wf_reduction reduction = wf_reduction_of(op);
    reduction.nan = bench->filter.nan;
    return reduction;
}

static double time_stats(struct bench *bench, const struct bench_case *what, long calls, wf_value *result) {
    wf_array array = wf_array_vector(what->array, what->type, what->count);
    const wf_reduction reduction = reduction_of(bench, WF_STATS);
    wf_stats stats = {.nbytes = sizeof stats};
    wf_error error = WF_OK;
    double start = bench_now();
    for (long i = 0; i < calls && !error; i++)
        error = wf_reduce_stats(bench->handle, &reduction, &array, &stats);
    double time = (bench_now() - start) / (double)calls;
    /* Several values are one to the caller: there, or not. */
    result->v.u = !error && bench_verify_stats(&bench->tally, &stats);
    return error ? -1 : time;
}

static double time_reduce(struct bench *bench, const struct bench_case *what, long calls, wf_value *result) {
    wf_array array = wf_array_vector(what->array, what->type, what->count);
    const wf_reduction reduction = reduction_of(bench, what->op);
    wf_error error = WF_OK;
    double start = bench_now();
    for (long i = 0; i < calls && !error; i++)
        error = wf_reduce_value(bench->handle, &reduction, &array, NULL, result);
    return error ? -1 : (bench_now() - start) / (double)calls;
}

static double time_pair(struct bench *bench, const struct bench_case *what, long calls, wf_value *result) {
    wf_array a = wf_array_vector(what->array, what->type, what->count / 2);
    wf_array b = wf_array_vector(bench_case_half(what), what->type, what->count / 2);
    const wf_reduction reduction = reduction_of(bench, what->op);
    wf_error error = WF_OK;
    double start = bench_now();
    for (long i = 0; i < calls && !error; i++)
        error = wf_reduce_value(bench->handle, &reduction, &a, &b, result);
    return error ? -1 : (bench_now() - start) / (double)calls;
}

static double time_library(struct bench_runner *self, const struct bench_case *what, long calls,
                           wf_value *result) {
    struct bench *bench = self->state;
    if (wf_handle_set_threads(bench->handle, what->threads)) return -1;
    if (what->op == WF_STATS) return time_stats(bench, what, calls, result);
    return (what->op == WF_DOT ? time_pair : time_reduce)(bench, what, calls, result);
}

/* ---- one case ------------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static int fail(struct bench *bench, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(bench->message, sizeof bench->message, format, arguments);
    va_end(arguments);
    return BENCH_FAILED;
}

static int fail_verification(struct bench *bench, const struct bench_case *what, double time) {
    const char *message = wf_handle_message(bench->handle);
    return fail(bench, "bench: %s of %lld %s, data %s, %d thread%s: %s", wf_op_name(what->op),
                (long long)what->count, wf_type_name(what->type), bench_data_name(what->data), what->threads,
                what->threads > 1 ? "s" : "",
                time < 0 ? message : "the result is wrong; nothing was timed further");
}

/* One sample, if the runner can; the library's result is verified each time. */
static int take_sample(struct contest *contest, int i, long calls, double *time) {
    struct bench *bench = contest->bench;
    const struct bench_case *what = &contest->row->what;
    wf_value result = {.type = wf_op_result_type(what->op, what->type)};
    *time = contest->runner[i]->time(contest->runner[i], what, calls, &result);
    contest->row->entry[i].result = result;
    if (i != 1) return BENCH_OK;
    bool is_right = what->op == WF_STATS ? result.v.u != 0 : bench_verify(&bench->tally, what->op, &result);
    return *time >= 0 && is_right ? BENCH_OK : fail_verification(bench, what, *time);
}

/* Finds how many calls make a sample; 0 if the runner cannot do the case.  Leaves the time of one. */
static int calibrate(struct contest *contest, int i) {
    double sample_time = contest->bench->filter.is_quick ? 2e5 : 2e6, time = 0; /* in nanoseconds */
    long calls = 1;
    int status = take_sample(contest, i, calls, &time);
    while (!status && time >= 0 && time * (double)calls < sample_time / 8) {
        calls *= 8;
        status = take_sample(contest, i, calls, &time);
    }
    contest->row->entry[i].sample[0] = time;
    contest->calls[i] = time < 0 ? 0 : time > 0 && sample_time > time ? (long)(sample_time / time) : 1;
    return status;
}

/* The ceiling, the library, and the peers that can do the case. */
static int gather(struct contest *contest, struct bench_runner own[2]) {
    struct bench *bench = contest->bench;
    struct bench_row *row = contest->row;
    for (int i = -2; i < bench->report.peer_count; i++) {
        struct bench_runner *runner = i < 0 ? &own[i + 2] : &bench->peer[i].runner;
        if (i >= 0 && bench->peer[i].is_absent) continue;
        contest->runner[row->entry_count] = runner;
        int status = calibrate(contest, row->entry_count);
        if (status) return status;
        if (!contest->calls[row->entry_count]) continue;
        row->entry[row->entry_count].name = i < 0 ? runner->name : bench->peer[i].name;
        row->entry_count++;
    }
    return BENCH_OK;
}

static int rounds_of(const struct bench *bench, const struct bench_row *row, int i) {
    enum { FEW = 3, SOME = 7, MANY = 15 };
    double time = row->entry[i].sample[0]; /* as calibrated */
    bool is_slow = time > 1e8;             /* in nanoseconds: then it has had its time */
    bool is_long = bench_case_nbytes(&row->what) >= (size_t)1 << 26;
    return bench->filter.is_quick || (i > 1 && is_slow) ? FEW : is_long ? SOME : MANY;
}

/* Each round begins with another runner, so that none always follows the same one. */
static int run_rounds(struct contest *contest) {
    struct bench_row *row = contest->row;
    for (int i = 0; i < row->entry_count; i++) row->entry[i].rounds = rounds_of(contest->bench, row, i);
    for (int turn = 0; turn < row->entry[0].rounds * row->entry_count; turn++) {
        int round = turn / row->entry_count, i = (round + turn) % row->entry_count;
        if (round >= row->entry[i].rounds) continue;
        int status = take_sample(contest, i, contest->calls[i], &row->entry[i].sample[round]);
        if (status) return status;
        if (row->entry[i].sample[round] < 0)
            return fail(contest->bench, "bench: %s gave up half way", row->entry[i].name);
    }
    return BENCH_OK;
}

static const struct bench_ceiling *choose_ceiling(struct bench *bench, const struct bench_case *what) {
    size_t nbytes = bench_case_nbytes(what);
    int i = what->threads > 1;
    if (bench->ceiling_nbytes[i] != nbytes)
        bench->ceiling[i] = bench_ceiling_choose(bench->pool, what->threads, what->array, nbytes);
    bench->ceiling_nbytes[i] = nbytes;
    return &bench->ceiling[i];
}

static int run_case(struct bench *bench, const struct bench_case *what) {
    struct bench_row *row = &bench->report.row[bench->report.row_count];
    *row = (struct bench_row){.what = *what};
    struct bench_runner own[2] = {{choose_ceiling(bench, what)->name, time_ceiling, bench},
                                  {"warpfold", time_library, bench}};
    struct contest contest = {.bench = bench, .row = row};
    if (bench->filter.is_shown)
        fprintf(stderr, "\r%s %s of %s, data %s, %d thread%s\033[K", what->place, wf_op_name(what->op),
                wf_type_name(what->type), bench_data_name(what->data), what->threads,
                what->threads > 1 ? "s" : "");
    int status = gather(&contest, own);
    if (!status) status = run_rounds(&contest);
    if (status) return status;
    for (int i = 1; i < row->entry_count; i++)
        row->entry[i].error = bench_error(&row->entry[1].result, &row->entry[i].result);
    if (what->op == WF_STATS) row->entry[1].result.type = WF_TYPE_DEFAULT;
    bench_row_finish(row);
    bench->report.row_count++;
    return BENCH_OK;
}

/* ---- all cases ----------------------------------------------------------------------------------- */

static int64_t count_of(const struct bench *bench, const struct size *size, wf_type type) {
    if (bench->filter.count) return bench->filter.count;
    if (size->count) return size->count;
    size_t nbytes = bench->filter.is_quick ? size->quick_nbytes : size->nbytes;
    return (int64_t)((nbytes < bench->nbytes ? nbytes : bench->nbytes) / wf_type_nbytes(type));
}

static int run_threads(struct bench *bench, const struct size *size, struct bench_case *what) {
    int all = bench->report.processors;
    int last = bench->filter.threads ? bench->filter.threads : size->place == PLACE_MEMORY ? all : 1;
    what->threads = bench->filter.threads ? last : 1;
    int status = run_case(bench, what);
    if (status || what->threads == last) return status;
    what->threads = last;
    return run_case(bench, what);
}

static int run_ops(struct bench *bench, const struct size *size, enum bench_data data, wf_type type) {
    struct bench_case what = {.place = bench->filter.count ? "given" : size->name,
                              .type = type,
                              .data = data,
                              .array = bench->buffer,
                              .count = count_of(bench, size, type)};
    for (int op = 1; wf_op_name((wf_op)op); op++) {
        if (!is_wanted(&bench->filter, size->place, data, type, (wf_op)op)) continue;
        if (!what.fill) {
            bench_data_fill(bench->buffer, type, data, what.count, bench->pool);
            if (!bench_tally_take(&bench->tally, bench->buffer, type, what.count, bench->filter.nan, bench->pool))
                return fail(bench, "bench: %s", wf_error_text(WF_ERROR_MEMORY));
            what.fill = ++bench->fill_count;
        }
        what.op = (wf_op)op;
        int status = run_threads(bench, size, &what);
        if (status) return status;
    }
    return BENCH_OK;
}

static int run_all(struct bench *bench) {
    size_t size_count = bench->filter.count ? 1 : sizeof sizes / sizeof sizes[0];
    for (size_t i = 0; i < size_count; i++)
        for (int data = 0; data < BENCH_DATA_COUNT; data++)
            for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
                int status = run_ops(bench, &sizes[i], (enum bench_data)data, types[k]);
                if (status) return status;
            }
    if (bench->report.row_count == 0) return BENCH_NO_CASE;
    return BENCH_OK;
}

/* ---- before and after ---------------------------------------------------------------------------- */

static int count_processors(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* At most a quarter of the machine's memory, unless a count is given. */
static size_t buffer_nbytes(const struct bench *bench) {
    if (bench->filter.count) return (size_t)bench->filter.count * sizeof(double);
    size_t nbytes = bench->filter.is_quick ? sizes[PLACE_MEMORY].quick_nbytes : sizes[PLACE_MEMORY].nbytes;
    size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    while (nbytes > memory / 4) nbytes /= 2;
    return nbytes;
}

static bool open_buffer(struct bench *bench) {
    bench->nbytes = buffer_nbytes(bench);
    void *buffer = mmap(NULL, bench->nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED) return false;
#ifdef MADV_HUGEPAGE
    madvise(buffer, bench->nbytes,
            MADV_HUGEPAGE); /* as NumPy does: both have the pages that serve them best */
#endif
    bench->buffer = buffer;
    return true;
}

static void open_peers(struct bench *bench, const char *command) {
    struct bench_report *report = &bench->report;
    report->peer = bench->peer;
    bench_open_plain(&bench->peer[report->peer_count++]);
    bench_open_blas(&bench->peer[report->peer_count++]);
    if (command) bench_open_process(&bench->peer[report->peer_count++], command);
}

static int open_bench(struct bench *bench) {
    bench->report.processors = count_processors();
    wf_error error = wf_handle_create("cpu", &bench->handle);
    if (error) return fail(bench, "cpu: %s", wf_error_text(error));
    bench->report.device = wf_handle_device(bench->handle);
    int threads = bench->report.processors;
    bench->pool = bench_pool_create(bench->filter.threads > threads ? bench->filter.threads : threads);
    bench->report.row = calloc(CASES_MAX, sizeof *bench->report.row);
    if (!bench->pool || !bench->report.row || !open_buffer(bench))
        return fail(bench, "bench: %s", wf_error_text(WF_ERROR_MEMORY));
    open_peers(bench, bench->filter.peer);
    return BENCH_OK;
}

enum bench_status bench_run(const struct bench_request *request, struct bench **bench) {
    *bench = calloc(1, sizeof **bench);
    if (!*bench) return BENCH_FAILED;
    (*bench)->filter = *request;
    int status = open_bench(*bench);
    if (!status) status = run_all(*bench);
    if (request->is_shown) fputs("\r\033[K", stderr);
    return (enum bench_status)status;
}

void bench_close(struct bench *bench) {
    if (!bench) return;
    for (int i = 0; i < bench->report.peer_count; i++) bench->peer[i].close(&bench->peer[i]);
    if (bench->buffer) munmap(bench->buffer, bench->nbytes);
    free(bench->report.row);
    bench_pool_destroy(bench->pool);
    wf_handle_destroy(bench->handle);
    free(bench);
}

const struct bench_report *bench_result(const struct bench *bench) {
    return &bench->report;
}

const char *bench_message(const struct bench *bench) {
    return bench ? bench->message : wf_error_text(WF_ERROR_MEMORY);
}
