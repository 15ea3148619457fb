/* files: several threads, each with a reader of its own, add one file after the other to accumulators, with
 * several threads each.  What they save must be, byte for byte, what one thread saves of the same elements in
 * memory; so must be quantiles, distinct values and histograms.  For a thread checker as much as for the comparison. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "warpfold.h"

enum { CALLERS = 2, THREADS_EACH = 3, COUNT = 500000, FORMATS = 2, OPS = 4 };

static const wf_op ops[OPS] = {WF_SUM, WF_STATS, WF_ARGMIN, WF_PROD};

struct saved {
    wf_error error;
    size_t nbytes;
    uint8_t bytes[WF_SAVED_NBYTES_MAX];
};

enum { QS = 3, BINS = 5 };

struct order {
    wf_error error;
    double quantile[QS];
    int64_t distinct, counts[BINS + 3];
};

struct caller {
    pthread_t thread;
    wf_handle *handle;
    const char *path[FORMATS];
    const struct saved *expected;
    const struct order *order;
    int reports;
    int failures;
};

static const wf_reader_options reading[FORMATS] = {
    {.nbytes = sizeof(wf_reader_options), .format = WF_FORMAT_RAW, .type = WF_F64},
    {.nbytes = sizeof(wf_reader_options), .format = WF_FORMAT_TEXT}};

static void save(wf_handle *handle, const wf_accumulator *accumulator, struct saved *saved) {
    if (!saved->error)
        saved->error =
            wf_accumulator_save(handle, accumulator, saved->bytes, sizeof saved->bytes, &saved->nbytes);
}

static void count_report(void *user, int64_t nbytes_done, int64_t nbytes_total) {
    struct caller *caller = user;
    caller->reports += nbytes_done <= nbytes_total;
}

static void check(struct caller *caller, int format, int op) {
    static const struct saved nothing;
    wf_reader_options options = reading[format];
    options.progress = count_report;
    options.progress_user = caller;
    wf_reader *reader = NULL;
    wf_accumulator *accumulator = NULL;
    struct saved got = nothing;
    got.error = wf_reader_open(caller->handle, &caller->path[format], 1, &options, &reader);
    const wf_reduction reduction = wf_reduction_of(ops[op]);
    if (!got.error) got.error = wf_accumulator_create(caller->handle, &reduction, WF_F64, 0, NULL, &accumulator);
    if (!got.error) got.error = wf_handle_set_threads(caller->handle, THREADS_EACH);
    if (!got.error) got.error = wf_accumulator_add_reader(caller->handle, accumulator, reader, NULL);
    save(caller->handle, accumulator, &got);
    wf_accumulator_destroy(accumulator);
    wf_reader_close(reader);
    const struct saved *expected = &caller->expected[op];
    if (!got.error && got.nbytes == expected->nbytes && !memcmp(got.bytes, expected->bytes, got.nbytes))
        return;
    caller->failures++;
    fprintf(stderr, "files: %s: %s: %s\n", caller->path[format], wf_op_name(ops[op]),
            got.error ? wf_handle_message(caller->handle) : "other bytes than the elements in memory give");
}

static const wf_quantiles quantiles = {
    .nbytes = sizeof(wf_quantiles), .q = (const double[QS]){0.1, 0.5, 0.999}, .count = QS};
static const wf_histogram histogram = {.nbytes = sizeof(wf_histogram), .edge_count = BINS + 1};

static void check_order(struct caller *caller, int format) {
    wf_reader *reader = NULL;
    wf_value values[QS] = {{.type = WF_F64}};
    struct order got = {.error = wf_reader_open(caller->handle, &caller->path[format], 1, &reading[format], &reader)};
    if (!got.error) got.error = wf_handle_set_threads(caller->handle, THREADS_EACH);
    if (!got.error) got.error = wf_quantile_reader(caller->handle, &quantiles, reader, values);
    if (!got.error) got.error = wf_count_distinct_reader(caller->handle, WF_NAN_PROPAGATE, reader, &got.distinct);
    if (!got.error) got.error = wf_count_bins_reader(caller->handle, &histogram, reader, NULL, got.counts);
    for (int i = 0; i < QS; i++) got.quantile[i] = values[i].v.f64;
    wf_reader_close(reader);
    if (!memcmp(&got, caller->order, sizeof got)) return;
    caller->failures++;
    fprintf(stderr, "files: %s: order: %s\n", caller->path[format],
            got.error ? wf_handle_message(caller->handle) : "other results than the elements in memory give");
}

static int expect_order(const double *data, struct order *order) {
    wf_handle *handle;
    if (wf_handle_create("cpu", &handle) || wf_handle_set_threads(handle, 1)) return 1;
    wf_array array = wf_array_vector(data, WF_F64, COUNT);
    const int64_t shape[] = {QS};
    const wf_output output = {.data = order->quantile, .type = WF_F64, .ndim = 1, .shape = shape};
    order->error = wf_quantile(handle, &quantiles, &array, NULL, &output);
    if (!order->error) order->error = wf_count_distinct(handle, WF_NAN_PROPAGATE, &array, &order->distinct);
    if (!order->error) order->error = wf_count_bins(handle, &histogram, &array, NULL, order->counts);
    wf_handle_destroy(handle);
    return order->error != WF_OK;
}

static void *call(void *argument) {
    struct caller *caller = argument;
    for (int format = 0; format < FORMATS; format++)
        for (int op = 0; op < OPS; op++) check(caller, format, op);
    for (int format = 0; format < FORMATS; format++) check_order(caller, format);
    return NULL;
}

static int expect(const double *data, struct saved *expected) {
    wf_handle *handle;
    if (wf_handle_create("cpu", &handle) || wf_handle_set_threads(handle, 1)) return 1;
    wf_array array = wf_array_vector(data, WF_F64, COUNT);
    int failures = 0;
    for (int op = 0; op < OPS; op++) {
        wf_accumulator *accumulator = NULL;
        const wf_reduction reduction = wf_reduction_of(ops[op]);
        expected[op].error = wf_accumulator_create(handle, &reduction, WF_F64, 0, NULL, &accumulator);
        if (!expected[op].error) expected[op].error = wf_accumulator_add(handle, accumulator, &array, NULL, NULL);
        save(handle, accumulator, &expected[op]);
        wf_accumulator_destroy(accumulator);
        failures += expected[op].error != WF_OK;
    }
    wf_handle_destroy(handle);
    return failures;
}

static double *make_data(void) {
    double *data = malloc(COUNT * sizeof *data);
    uint64_t state = 1;
    for (int i = 0; data && i < COUNT; i++) {
        state = state * 6364136223846793005 + 1442695040888963407;
        data[i] = (double)(int64_t)(state >> 20) / 16 - 0x1p39;
    }
    return data;
}

/* A new file with the data in the format; false where it cannot be. */
static int write_file(char *path, int format, const double *data) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, FILENAME_MAX, "%s/warpfold-files-XXXXXX", folder ? folder : P_tmpdir);
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    if (!file) return 0;
    if (reading[format].format == WF_FORMAT_RAW)
        fwrite(data, sizeof *data, COUNT, file);
    else
        for (int i = 0; i < COUNT; i++) fprintf(file, "%.17g\n", data[i]);
    int is_written = !ferror(file);
    return fclose(file) == 0 && is_written;
}

int main(void) {
    static struct saved expected[OPS];
    static struct order order;
    static struct caller callers[CALLERS];
    static char paths[FORMATS][FILENAME_MAX];
    double *data = make_data();
    int failures = !data || expect(data, expected) || expect_order(data, &order);
    for (int format = 0; format < FORMATS; format++)
        if (!failures && !write_file(paths[format], format, data)) failures = 1;
    if (failures) fprintf(stderr, "files: no files to read\n");
    for (int i = 0; i < CALLERS && !failures; i++) {
        callers[i] = (struct caller){.path = {paths[0], paths[1]}, .expected = expected, .order = &order};
        if (wf_handle_create("cpu", &callers[i].handle)) return 1;
        if (pthread_create(&callers[i].thread, NULL, call, &callers[i])) return 1;
    }
    for (int i = 0; i < CALLERS && callers[i].handle; i++) {
        pthread_join(callers[i].thread, NULL);
        wf_handle_destroy(callers[i].handle);
        failures += callers[i].failures + (callers[i].reports == 0);
    }
    for (int format = 0; format < FORMATS; format++) unlink(paths[format]);
    free(data);
    printf("%d formats x %d ops, %d callers: %d failures\n", FORMATS, OPS, CALLERS, failures);
    return failures > 0;
}
