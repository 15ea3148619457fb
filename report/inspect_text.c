#include "inspect_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "printed.h"

/* JSON has them as fields of their own. */
const char *const report_main_counts[] = {
    "instructions", "divergent_branches", "utilization", "global_sectors", "global_requests",
    "coalescing",   "shared_wavefronts",  "bank_degree", "barriers",       "atomics",         NULL,
};

double report_count(const struct inspection_report *report, const char *name) {
    return simt_report_counter_value(report->counts, name, 0);
}

struct colours {
    const char *bad, *good, *plain;
};

static struct colours colours(bool has_colour) {
    if (!has_colour) return (struct colours){"", "", ""};
    return (struct colours){"\033[1;31m", "\033[1;32m", "\033[0m"};
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
    for (const char *const *name = report_main_counts; *name; name++) {
        char text[32];
        double value = report_count(report, *name);
        snprintf(text, sizeof text, value == floor(value) ? "%.0f" : "%.4f", value);
        fprintf(stream, "  %-20s%14s\n", *name, text);
    }
    double approximate = report_count(report, "approximate");
    if (approximate > 0)
        fprintf(stream, "  %-20s%14.0f  instructions whose last bits may differ on a GPU\n",
                "approximate", approximate);
}

/* The line that a finding is about, if the source is still there. */
static void put_source_line(FILE *stream, const struct sources *sources, const simt_finding *finding) {
    for (size_t i = 0; i < sources->count; i++) {
        if (strcmp(sources->items[i].file, finding->file)) continue;
        size_t length;
        const char *line = source_line(&sources->items[i], finding->line, &length);
        if (!line) continue;
        fprintf(stream, "%8" PRIu32 " | ", finding->line);
        put_lines(stream, line, length);
        fputc('\n', stream);
    }
}

static void put_finding(FILE *stream, const struct inspection_report *report, const simt_finding *finding,
                        const struct colours *colours) {
    fprintf(stream, "\n%s%s%s at ", colours->bad, simt_finding_kind_name(finding->kind), colours->plain);
    put_name(stream, finding->file, strlen(finding->file));
    fprintf(stream,
            ":%" PRIu32 ", block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "), thread (%" PRIu32
            ",%" PRIu32 ",%" PRIu32 ")",
            finding->line, finding->block[0], finding->block[1],
            finding->block[2], finding->thread[0], finding->thread[1], finding->thread[2]);
    if (finding->address) fprintf(stream, ", address 0x%" PRIx64, finding->address);
    if (finding->count > 1) fprintf(stream, ", %" PRIu64 " times", finding->count);
    fputs("\n    ", stream);
    put_name(stream, finding->message, strlen(finding->message));
    fputc('\n', stream);
    put_source_line(stream, &report->sources, finding);
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
    for (size_t i = 0; i < count; i++)
        put_finding(stream, report, simt_report_finding(report->counts, i), &colour);
    if (count == 0 && !report->is_stopped)
        fprintf(stream, "\n%sno findings%s\n", colour.good, colour.plain);
    else
        fprintf(stream, "\n%s%zu finding%s%s\n", colour.bad, count, count == 1 ? "" : "s", colour.plain);
    if (report->is_stopped) fputs("The launch was stopped here; the counts are up to this point.\n", stream);
}
