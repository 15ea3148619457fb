#include "bench_report.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

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

static void put_string(FILE *stream, const char *text) {
    fputc('"', stream);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fputc('\\', stream);
        if (iscntrl(c))
            fprintf(stream, "\\u%04x", c);
        else
            fputc(c, stream);
    }
    fputc('"', stream);
}

static void put_named_string(FILE *stream, const char *name, const char *text) {
    fprintf(stream, "\"%s\":", name);
    put_string(stream, text);
}

/* null for what JSON has no number for. */
static void put_number(FILE *stream, const char *name, double number) {
    fprintf(stream, isfinite(number) ? ",\"%s\":%.9g" : ",\"%s\":null", name, number);
}

static void put_samples(FILE *stream, const struct bench_entry *entry) {
    fputs(",\"samples\":[", stream);
    for (int i = 0; i < entry->rounds; i++) fprintf(stream, "%s%.9g", i ? "," : "", entry->sample[i]);
    fputc(']', stream);
}

static void put_result(FILE *stream, const wf_value *result) {
    char text[64];
    fputs(",\"result\":", stream);
    if (result->type == WF_TYPE_DEFAULT) {
        fputs("null", stream);
        return;
    }
    wf_value_format(result, 0, text, sizeof text);
    put_string(stream, text);
    fprintf(stream, ",\"result_type\":\"%s\"", wf_type_name(result->type));
}

static void put_entry(FILE *stream, const struct bench_row *row, const struct bench_entry *entry) {
    fputc('{', stream);
    put_named_string(stream, "who", entry->name);
    put_number(stream, "ns", entry->time);
    put_number(stream, "gbps", rate(row, entry));
    if (entry > row->entry) {
        put_number(stream, "share", entry->share);
        put_number(stream, "error", entry->error);
        put_result(stream, &entry->result);
    }
    put_samples(stream, entry);
    fputc('}', stream);
}

static void put_row(FILE *stream, const struct bench_row *row) {
    const struct bench_case *what = &row->what;
    fprintf(stream,
            "{\"place\":\"%s\",\"op\":\"%s\",\"type\":\"%s\",\"data\":\"%s\",\"count\":%" PRId64
            ",\"nbytes\":%zu,\"threads\":%d,\"ceiling\":",
            what->place, wf_op_name(what->op), wf_type_name(what->type), bench_data_name(what->data),
            what->count, bench_case_nbytes(what), what->threads);
    put_entry(stream, row, &row->entry[0]);
    fputs(",\"entries\":[", stream);
    for (int i = 1; i < row->entry_count; i++) {
        if (i > 1) fputc(',', stream);
        put_entry(stream, row, &row->entry[i]);
    }
    fputs("]}", stream);
}

static void put_peers(FILE *stream, const struct bench_report *report, bool absent) {
    fprintf(stream, ",\"%s\":{", absent ? "absent" : "peers");
    bool is_first = true;
    for (int i = 0; i < report->peer_count; i++) {
        if (report->peer[i].is_absent != absent) continue;
        if (!is_first) fputc(',', stream);
        is_first = false;
        put_string(stream, report->peer[i].name);
        fputc(':', stream);
        put_string(stream, report->peer[i].version);
    }
    fputc('}', stream);
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

static void put_machine(FILE *stream, const struct bench_report *report) {
    char processor[256], date[32];
    struct utsname system = {0};
    time_t now = time(NULL);
    struct tm utc;
    find_processor(processor, sizeof processor);
    uname(&system);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &utc));
    put_named_string(stream, "warpfold", wf_version());
    fputc(',', stream);
    put_named_string(stream, "date", date);
    fputs(",\"machine\":{", stream);
    put_named_string(stream, "processor", processor);
    fprintf(stream, ",\"processors\":%d,", report->processors);
    put_named_string(stream, "device", report->device);
    fprintf(stream, ",\"system\":\"%s %s %s\"}", system.sysname, system.release, system.machine);
}

void bench_put_json(FILE *stream, const struct bench_report *report) {
    fputc('{', stream);
    put_machine(stream, report);
    put_peers(stream, report, false);
    put_peers(stream, report, true);
    fputs(",\"rows\":[", stream);
    for (int i = 0; i < report->row_count; i++) {
        fputs(i ? ",\n" : "\n", stream);
        put_row(stream, &report->row[i]);
    }
    fputs("\n]}\n", stream);
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
