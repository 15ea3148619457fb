#include "inspect_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "numerals.h"
#include "printed.h"

double report_count(const struct inspection_report *report, const char *name) {
    return simt_report_counter_value(report->counts, name, 0);
}

struct colours {
    const char *bad, *good, *hint, *plain;
};

static struct colours colours(bool has_colour) {
    if (!has_colour) return (struct colours){"", "", "", ""};
    return (struct colours){"\033[1;31m", "\033[1;32m", "\033[1;33m", "\033[0m"};
}

static void put_extent(FILE *stream, const char *name, const uint32_t extent[3]) {
    fprintf(stream, "  %s %" PRIu32 ",%" PRIu32 ",%" PRIu32, name, extent[0], extent[1], extent[2]);
}

void put_schedule(FILE *stream, const simt_launch *launch) {
    static const char *const names[] = {[SIMT_LOCKSTEP] = "lockstep", [SIMT_SPLIT] = "split"};
    if (launch->schedule == SIMT_RANDOM)
        fprintf(stream, "random:%" PRIu64, launch->seed);
    else
        fputs(names[launch->schedule], stream);
}

static void put_counts(FILE *stream, const struct inspection_report *report) {
    for (const struct report_main_count *count = report_main_counts; count->name; count++) {
        char text[32];
        double value = report_count(report, count->name);
        snprintf(text, sizeof text, value == floor(value) ? "%.0f" : "%.4f", value);
        numerals_group(text, sizeof text);
        fprintf(stream, "  %-20s%14s  %s\n", count->name, text, count->legend);
    }
    double approximate = report_count(report, "approximate");
    if (approximate > 0)
        fprintf(stream, "  %-20s%14.0f  instructions whose last bits may differ on a GPU\n",
                "approximate", approximate);
}

/* The line, if the source is still there. */
static void put_source_line(FILE *stream, const struct sources *sources, const char *file, uint32_t number) {
    for (size_t i = 0; i < sources->count; i++) {
        if (strcmp(sources->items[i].file, file)) continue;
        size_t length;
        const char *line = source_line(&sources->items[i], number, &length);
        if (!line) continue;
        fprintf(stream, "%8" PRIu32 " | ", number);
        put_lines(stream, line, length);
        fputc('\n', stream);
    }
}

static void put_finding(FILE *stream, const struct inspection_report *report, size_t index,
                        const struct colours *colours) {
    const simt_finding *finding = simt_report_finding(report->counts, index);
    const uint32_t threads = simt_report_finding_detail(report->counts, index)->threads;
    fprintf(stream, "\n%s%s%s at ", colours->bad, simt_finding_kind_name(finding->kind), colours->plain);
    put_name(stream, finding->file, strlen(finding->file));
    fprintf(stream,
            ":%" PRIu32 ", block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "), thread (%" PRIu32
            ",%" PRIu32 ",%" PRIu32 ")",
            finding->line, finding->block[0], finding->block[1],
            finding->block[2], finding->thread[0], finding->thread[1], finding->thread[2]);
    if (finding->address) fprintf(stream, ", address 0x%" PRIx64, finding->address);
    if (threads > 1) fprintf(stream, "; %" PRIu32 " threads of a block", threads);
    char times[NUMERAL_NBYTES];
    if (finding->count > 1) fprintf(stream, ", %s times", numeral(times, finding->count));
    char text[sizeof finding->message + 384];
    finding_message(report, finding, text, sizeof text);
    fputs("\n    ", stream);
    put_name(stream, text, strlen(text));
    fputc('\n', stream);
    bool is_one_line = !finding->has_other || (finding->line == finding->other_line &&
                                               !strcmp(finding->file, finding->other_file));
    bool is_other_first = finding->other_line < finding->line;
    if (!is_one_line && is_other_first)
        put_source_line(stream, &report->sources, finding->other_file, finding->other_line);
    put_source_line(stream, &report->sources, finding->file, finding->line);
    if (!is_one_line && !is_other_first)
        put_source_line(stream, &report->sources, finding->other_file, finding->other_line);
}

static void put_advice(FILE *stream, const struct inspection_report *report, const struct advice *advice,
                       const struct colours *colours) {
    fprintf(stream, "\n%sadvice%s: %s at ", colours->hint, colours->plain, advice->kind);
    put_name(stream, advice->file, strlen(advice->file));
    fprintf(stream, ":%" PRIu32 "\n    %s\n    cure: ", advice->line, advice->message);
    put_name(stream, advice->cure, strlen(advice->cure));
    fputc('\n', stream);
    put_source_line(stream, &report->sources, advice->file, advice->line);
}

static void put_values(FILE *stream, const struct inspection_report *report, const struct report_values *values) {
    const struct report_buffer *buffer = &report->buffers[values->argument];
    if (buffer->name) put_name(stream, buffer->name, strlen(buffer->name));
    else fprintf(stream, "argument %zu", values->argument);
    char first[NUMERAL_NBYTES], of[NUMERAL_NBYTES];
    fprintf(stream, ", the first %s of %s: %s\n", numeral(first, values->count), numeral(of, buffer->count), values->text);
}

static void put_result(FILE *stream, const struct inspection_report *report, const struct report_values *values,
                       const struct colours *colours) {
    if (!values->wrong_count) return;
    char text[320];
    wrong_message(report, values, text, sizeof text);
    fprintf(stream, "\n%swrong result%s: %s\n", colours->bad, colours->plain, text);
}

void put_report(FILE *stream, const struct inspection_report *report, bool has_colour) {
    const struct colours colour = colours(has_colour);
    const size_t count = simt_report_finding_count(report->counts);
    fwrite(report->printed, 1, report->printed_nbytes, stream);
    if (report->printed_nbytes && report->printed[report->printed_nbytes - 1] != '\n') fputc('\n', stream);
    put_name(stream, report->kernel, strlen(report->kernel));
    fputs("  ", stream);
    put_name(stream, report->path, strlen(report->path));
    fputc('\n', stream);
    put_extent(stream, "grid", report->launch->grid);
    put_extent(stream, "block", report->launch->block);
    fputs("  schedule ", stream);
    put_schedule(stream, report->launch);
    fputc('\n', stream);
    put_counts(stream, report);
    for (size_t i = 0; i < report->value_count; i++) put_result(stream, report, &report->values[i], &colour);
    for (size_t i = 0; i < count; i++)
        put_finding(stream, report, i, &colour);
    for (size_t i = 0; i < report->advice_count; i++) put_advice(stream, report, &report->advice[i], &colour);
    if (report->value_count) fputc('\n', stream);
    for (size_t i = 0; i < report->value_count; i++) put_values(stream, report, &report->values[i]);
    if (count == 0 && !report->is_stopped && report_is_wrong(report))
        fprintf(stream, "\n%sthe result is wrong%s, with no findings", colour.bad, colour.plain);
    else if (count == 0 && !report->is_stopped)
        fprintf(stream, "\n%sno findings%s%s", colour.good, report_is_checked(report) ? ", and the result is as expected" : "",
                colour.plain);
    else
        fprintf(stream, "\n%s%zu finding%s%s", colour.bad, count, count == 1 ? "" : "s", colour.plain);
    if (report->advice_count)
        fprintf(stream, ", %zu piece%s of advice", report->advice_count, report->advice_count == 1 ? "" : "s");
    fputc('\n', stream);
    if (report->is_stopped) fputs("The launch was stopped here; the counts are up to this point.\n", stream);
}
