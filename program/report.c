/* What the record of a program says, for people. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strsignal */
#endif
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "failed_calls.h"
#include "lines.h"
#include "places.h"
#include "recorded.h"
#include "report/kernel_name.h"
#include "report/numerals.h"
#include "report/printed.h"

struct report {
    FILE *stream;
    const struct program *program;
    struct names names;
    const char *bad, *good, *hint, *plain;
};

static void put_kernel_name(FILE *stream, const char recorded[RECORD_NAME]) {
    char mangled[RECORD_NAME], name[RECORD_NAME];
    record_get_text(mangled, recorded);
    readable_name(mangled, name, sizeof name);
    put_name(stream, name, strlen(name));
}

static void put_count(FILE *stream, const char *name, double count) {
    char text[64];
    snprintf(text, sizeof text, "%.0f", count);
    numerals_group(text, sizeof text);
    fprintf(stream, "  %-24s%14s\n", name, text);
}

static void put_kernel(FILE *stream, const struct record_kernel *kernel) {
    char launches[NUMERAL_NBYTES], watched[NUMERAL_NBYTES];
    fputc('\n', stream);
    put_kernel_name(stream, kernel->name);
    fprintf(stream, "  %s launch%s", numeral(launches, kernel->launches), kernel->launches == 1 ? "" : "es");
    if (kernel->watched < kernel->launches) fprintf(stream, ", %s of them watched", numeral(watched, kernel->watched));
    if (kernel->watched)
        fprintf(stream, ", grid %u,%u,%u  block %u,%u,%u", kernel->grid[0], kernel->grid[1], kernel->grid[2],
                kernel->block[0], kernel->block[1], kernel->block[2]);
    fputc('\n', stream);
    if (!kernel->watched) return;
#define PUT(name) put_count(stream, #name, kernel->name);
    RECORD_COUNTS(PUT)
#undef PUT
    fprintf(stream, "  %-24s%14.4f\n", "utilization", record_utilization(kernel));
}

static bool put_finding(const struct report *report, const struct record_finding *finding) {
    char message[RECORD_MESSAGE_NBYTES];
    fprintf(report->stream, "\n%s%s%s in ", report->bad, record_kind_name(finding), report->plain);
    put_kernel_name(report->stream, finding->kernel);
    if (finding->place.file[0]) fputs(" at ", report->stream);
    place_put(report->stream, &report->names, &finding->place);
    if (finding->address) fprintf(report->stream, ", address 0x%" PRIx64, finding->address);
    char times[NUMERAL_NBYTES];
    if (finding->count > 1) fprintf(report->stream, ", %s times", numeral(times, finding->count));
    record_message(report->program, &report->names, finding, message);
    fputs("\n    ", report->stream);
    put_name(report->stream, message, strlen(message));
    fputc('\n', report->stream);
    return place_put_line(report->stream, report->program, &report->names, &finding->place) &&
           (!finding->has_other || place_put_line(report->stream, report->program, &report->names, &finding->other));
}

static bool put_advice(const struct report *report, const struct record_advice *advice) {
    char text[RECORD_NAME];
    struct record_place place = {.line = advice->line, .thread = {RECORD_ALL_THREADS}};
    fprintf(report->stream, "\n%sadvice%s: %s in ", report->hint, report->plain, record_advice_kind(advice));
    put_kernel_name(report->stream, advice->kernel);
    record_get_text(place.file, advice->file);
    if (place.file[0]) fputs(" at ", report->stream);
    place_put(report->stream, &report->names, &place);
    fputs("\n    ", report->stream);
    record_get_text(text, advice->message);
    put_name(report->stream, text, strlen(text));
    fputs("\n    cure: ", report->stream);
    record_cure(report->program, &report->names, advice, text);
    put_name(report->stream, text, strlen(text));
    fputc('\n', report->stream);
    return place_put_line(report->stream, report->program, &report->names, &place);
}

static void put_leaks(const struct report *report) {
    const struct record *record = report->program->record;
    if (!record_has_leaks(record)) return;
    char leaks[NUMERAL_NBYTES], nbytes[NUMERAL_NBYTES];
    fprintf(report->stream,
            "\n%sleak%s\n    %s allocation%s of device memory, %s bytes, not freed when the program ended: call cudaFree\n",
            report->bad, report->plain, numeral(leaks, record->leaks), record->leaks == 1 ? "" : "s",
            numeral(nbytes, record->leaked_nbytes));
}

/* Whose fault it is: the program's own code, or a call of CUDA. */
static void put_signal(const struct report *report) {
    const struct record_fault *fault = &report->program->record->fault;
    const int number = report->program->end.signal;
    fprintf(report->stream, "The program was ended by signal %d (%s)", number, strsignal(number));
    if (number == SIGSEGV && fault->has_happened) {
        fputs(fault->is_of_call ? ", in a call of CUDA, at " : ", in its own host code, at ", report->stream);
        place_put(report->stream, &report->names, &fault->place);
        fprintf(report->stream, ", which used address 0x%" PRIx64 "%s", fault->address,
                fault->is_of_call ? ": a pointer that the call was given is wrong, or warpfold has a fault" : "");
    }
    fputs(".\n", report->stream);
}

static void put_end(const struct report *report) {
    const struct record *record = report->program->record;
    uint64_t count = record_count_findings(record);
    if (record->kernels_lost)
        fprintf(report->stream, "\nMore kernels ran than are listed here: the report has room for %d.\n",
                RECORD_KERNELS);
    const uint64_t refused = failed_calls_other_launches(record);
    if (refused)
        fprintf(report->stream, "\n%" PRIu64 " %slaunch%s did not run.\n", refused,
                refused < record->refused_launches ? "other " : "", refused == 1 ? "" : "es");
    if (count)
        fprintf(report->stream, "\n%s%" PRIu64 " finding%s%s", report->bad, count, count == 1 ? "" : "s",
                report->plain);
    else
        fprintf(report->stream, "\n%sno findings%s", report->good, report->plain);
    if (record_advice_count(record))
        fprintf(report->stream, ", %u piece%s of advice", record_advice_count(record), record_advice_count(record) == 1 ? "" : "s");
    fputc('\n', report->stream);
    if (report->program->end.signal) put_signal(report);
}

/* ---- kernels by what they cost ---- */

static int compare_costs(const void *a, const void *b) {
    const struct record_kernel *x = *(const struct record_kernel *const *)a, *y = *(const struct record_kernel *const *)b;
    return x->instructions > y->instructions ? -1 : x->instructions < y->instructions;
}

/* Those that executed most, with their share of all.  false: no memory. */
static bool put_slowest(FILE *stream, const struct record *record) {
    enum { MOST = 10 };
    const uint32_t count = record_kernel_count(record);
    const struct record_kernel **kernels = calloc((size_t)count + 1, sizeof *kernels);
    double all = 0;
    if (!kernels) return false;
    for (uint32_t i = 0; i < count; i++) kernels[i] = &record->kernels[i];
    for (uint32_t i = 0; i < count; i++) all += kernels[i]->instructions;
    qsort(kernels, count, sizeof *kernels, compare_costs);
    if (count > 1 && all > 0) fputs("\nslowest kernels, by warp instructions\n", stream);
    for (uint32_t i = 0; i < count && i < MOST && count > 1 && kernels[i]->instructions > 0; i++) {
        fprintf(stream, "%7.1f %%%14.0f  ", 100 * kernels[i]->instructions / all, kernels[i]->instructions);
        put_kernel_name(stream, kernels[i]->name);
        fputc('\n', stream);
    }
    free(kernels);
    return true;
}

static bool put_lines_of_sources(const struct report *report) {
    struct program_lines lines;
    if (!report->program->record->settings.counts_lines) return true;
    bool has_memory = program_lines_read(&lines, report->program, &report->names);
    if (has_memory) program_lines_put(report->stream, &lines);
    program_lines_clear(&lines);
    return has_memory;
}

static void put_gpus(FILE *stream, const struct record *record) {
    const char *name = record_gpu_name(record);
    if (record->settings.gpus > 1) fprintf(stream, "  on %u simulated devices, %s each\n", record->settings.gpus, name);
    else fprintf(stream, "  on a simulated %s\n", name);
}

bool program_put_report(FILE *stream, const struct program *program, bool has_colour) {
    struct report report = {stream, program, names_of(program), "", "", "", ""};
    const struct record *record = program->record;
    bool has_memory = report.names.directory != NULL;
    if (has_colour) report.bad = "\033[1;31m", report.good = "\033[1;32m", report.hint = "\033[1;33m", report.plain = "\033[0m";
    put_name(stream, program->path, strlen(program->path));
    put_gpus(stream, record);
    for (uint32_t i = 0; i < record_kernel_count(record); i++) put_kernel(stream, &record->kernels[i]);
    has_memory = put_slowest(stream, record) && put_lines_of_sources(&report) && has_memory;
    has_memory = failed_calls_put(stream, program, &report.names) && has_memory;
    for (uint32_t i = 0; i < record_finding_count(record); i++)
        has_memory = has_memory && put_finding(&report, &record->findings[i]);
    for (uint32_t i = 0; i < record_advice_count(record); i++)
        has_memory = has_memory && put_advice(&report, &record->advice[i]);
    put_leaks(&report);
    put_end(&report);
    names_clear(&report.names);
    return has_memory;
}
