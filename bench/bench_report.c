#include "bench_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "report/json.h"

/* ---- medians ------------------------------------------------------------------------------------- */

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *sample, int count) {
    double sorted[BENCH_ROUNDS_MAX];
    memcpy(sorted, sample, (size_t)count * sizeof *sample);
    qsort(sorted, (size_t)count, sizeof *sorted, order);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

void bench_row_finish(struct bench_row *row) {
    for (int i = 0; i < row->entry_count; i++) {
        struct bench_entry *entry = &row->entry[i];
        double share[BENCH_ROUNDS_MAX];
        for (int k = 0; k < entry->rounds; k++) share[k] = row->entry[0].sample[k] / entry->sample[k];
        entry->time = median(entry->sample, entry->rounds);
        entry->share = median(share, entry->rounds);
    }
}

/* Bytes in a nanosecond are GB in a second. */
static double rate(const struct bench_row *row, const struct bench_entry *entry) {
    return (double)bench_case_nbytes(&row->what) / entry->time;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

enum { DIGITS = 9 };

static void put_result(struct json *json, const wf_value *result) {
    char text[64];
    json_key(json, "result");
    if (result->type == WF_TYPE_DEFAULT) {
        json_null(json);
        return;
    }
    wf_value_format(result, 0, text, sizeof text);
    json_text(json, text);
    json_key_text(json, "result_type", wf_type_name(result->type));
}

static void put_entry(struct json *json, const struct bench_row *row, const struct bench_entry *entry) {
    json_begin(json, '{');
    json_key_text(json, "who", entry->name);
    json_key_digits(json, "ns", entry->time, DIGITS);
    json_key_digits(json, "gbps", rate(row, entry), DIGITS);
    if (entry > row->entry) {
        json_key_digits(json, "share", entry->share, DIGITS);
        json_key_digits(json, "error", entry->error, DIGITS);
        put_result(json, &entry->result);
    }
    json_key_begin(json, "samples", '[');
    for (int i = 0; i < entry->rounds; i++) json_digits(json, entry->sample[i], DIGITS);
    json_end(json, ']');
    json_end(json, '}');
}

static void put_row(struct json *json, const struct bench_row *row) {
    const struct bench_case *what = &row->what;
    json_begin(json, '{');
    json_key_text(json, "place", what->place);
    json_key_text(json, "op", wf_op_name(what->op));
    json_key_text(json, "type", wf_type_name(what->type));
    json_key_text(json, "data", bench_data_name(what->data));
    json_key_unsigned(json, "count", (uint64_t)what->count);
    json_key_unsigned(json, "nbytes", bench_case_nbytes(what));
    json_key_unsigned(json, "threads", (uint64_t)what->threads);
    json_key(json, "ceiling");
    put_entry(json, row, &row->entry[0]);
    json_key_begin(json, "entries", '[');
    for (int i = 1; i < row->entry_count; i++) put_entry(json, row, &row->entry[i]);
    json_end(json, ']');
    json_end(json, '}');
}

static void put_peers(struct json *json, const struct bench_report *report, bool absent) {
    json_key_begin(json, absent ? "absent" : "peers", '{');
    for (int i = 0; i < report->peer_count; i++)
        if (report->peer[i].is_absent == absent)
            json_key_text(json, report->peer[i].name, report->peer[i].version);
    json_end(json, '}');
}

static void find_processor(char *name, size_t capacity) {
    char line[256];
    snprintf(name, capacity, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "model name", 10) || !strchr(line, ':')) continue;
        snprintf(name, capacity, "%s", strchr(line, ':') + 2);
        name[strcspn(name, "\n")] = '\0';
        break;
    }
    if (file) fclose(file);
}

static void put_machine(struct json *json, const struct bench_report *report) {
    char processor[256], date[32];
    struct utsname system = {0};
    time_t now = time(NULL);
    struct tm utc;
    find_processor(processor, sizeof processor);
    uname(&system);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    json_key_text(json, "warpfold", wf_version());
    json_key_text(json, "date", date);
    json_key_begin(json, "machine", '{');
    json_key_text(json, "processor", processor);
    json_key_unsigned(json, "processors", (uint64_t)report->processors);
    json_key_text(json, "device", report->device);
    json_key(json, "system");
    json_format(json, "%s %s %s", system.sysname, system.release, system.machine);
    json_end(json, '}');
}

void bench_put_json(FILE *stream, const struct bench_report *report) {
    struct json json = json_to(stream);
    json_begin(&json, '{');
    put_machine(&json, report);
    put_peers(&json, report, false);
    put_peers(&json, report, true);
    json_key_begin(&json, "rows", '[');
    for (int i = 0; i < report->row_count; i++) {
        json_break(&json);
        put_row(&json, &report->row[i]);
    }
    json_break(&json);
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', stream);
}

/* ---- a table to read ----------------------------------------------------------------------------- */

/* Right, or how far off: in units in the last place for floats. */
static void put_error(FILE *stream, const struct bench_entry *entry) {
    bool is_float = entry->result.type == WF_F32 || entry->result.type == WF_F64;
    if (entry->error == 0)
        fputs(" exact", stream);
    else
        fprintf(stream, is_float ? " %.2g ulp off" : " %.2g off", entry->error);
}

static void put_table_row(FILE *stream, const struct bench_row *row) {
    const struct bench_case *what = &row->what;
    const struct bench_entry *ceiling = &row->entry[0], *ours = &row->entry[1];
    fprintf(stream, "%-7s%-8s%-5s%-8s%11" PRId64 "%4d%13.1f%8.1f%8.1f%6.2f ", what->place,
            wf_op_name(what->op), wf_type_name(what->type), bench_data_name(what->data), what->count,
            what->threads, ours->time, rate(row, ceiling), rate(row, ours), ours->share);
    put_error(stream, ours);
    for (int i = 2; i < row->entry_count; i++) {
        fprintf(stream, "; %s %.2f", row->entry[i].name, row->entry[i].share);
        put_error(stream, &row->entry[i]);
    }
    fputc('\n', stream);
}

void bench_put_table(FILE *stream, const struct bench_report *report) {
    fprintf(stream, "%s\n", report->device);
    for (int i = 0; i < report->peer_count; i++)
        fprintf(stream, "%s: %s%s\n", report->peer[i].name, report->peer[i].is_absent ? "absent: " : "",
                report->peer[i].version);
    fputs("\nceiling: the fastest pass that only loads the array; share: of it; medians\n\n", stream);
    fprintf(stream, "%-7s%-8s%-5s%-8s%11s%4s%13s%8s%8s%6s\n", "place", "op", "type", "data", "count", "thr",
            "ns", "ceiling", "GB/s", "share");
    for (int i = 0; i < report->row_count; i++) put_table_row(stream, &report->row[i]);
}
