/* What the record of a program says, for people and for programs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strsignal */
#endif
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gpus.h"
#include "lines.h"
#include "names.h"
#include "private.h"
#include "report/advice.h"
#include "report/arguments.h"
#include "report/code_host.h"
#include "report/inspect_source.h"
#include "report/json.h"
#include "report/kernel_name.h"
#include "report/kernel_source.h"
#include "report/numerals.h"
#include "report/printed.h"

static const char *const gpu_names[] = {
#define NAME(word, name, ...) name,
    PROGRAM_GPUS(NAME)
#undef NAME
};

/* ---- reading the record, which the program may have written into -------------------------------- */

static uint32_t kernel_count(const struct record *record) { return least(record->kernel_count, RECORD_KERNELS); }

static uint32_t finding_count(const struct record *record) { return least(record->finding_count, RECORD_FINDINGS); }

/* A text of the record that is sure to end. */
static void get_text(char text[RECORD_NAME], const char from[RECORD_NAME]) {
    snprintf(text, RECORD_NAME, "%.*s", RECORD_NAME - 1, from);
}

static uint32_t advice_count(const struct record *record) { return least(record->advice_count, RECORD_ADVICE); }

static const char *advice_kind(const struct record_advice *advice) {
    uint32_t number = 0;
    while (number < advice->kind && advice_kinds[number + 1]) number++;
    return advice_kinds[number];
}

static const char *kind_name(const struct record_finding *finding) {
    return simt_finding_kind_name((enum simt_finding_kind)least(finding->kind, SIMT_FINDING_TRAP));
}

static bool has_leaks(const struct record *record) { return record->has_ended && record->leaks > 0; }

static uint64_t count_findings(const struct record *record) {
    return finding_count(record) + record->findings_lost + has_leaks(record);
}

/* Share of the lanes that took part in instructions. */
static double utilization(const struct record_kernel *kernel) {
    enum { WARP = 32 };
    return kernel->instructions > 0 ? kernel->thread_instructions / (kernel->instructions * WARP) : 1;
}

/* ---- messages, with the argument that an address belongs to -------------------------------------- */

enum { MESSAGE_NBYTES = RECORD_NAME + 192 };

/* The text of a file that the record names, if it is the user's to show; NULL: it is not.  sources_clear in any case. */
static const char *read_source(const struct program *program, const struct names *names, const char file[RECORD_NAME],
                               struct sources *sources) {
    char shown[2 * RECORD_NAME];
    const struct places places = {program->path, "."};
    *sources = (struct sources){0};
    names_show(names, file, shown);
    return sources_add(sources, shown, &places) && sources->count ? sources->items[0].text : NULL;
}

/* What the kernel's source says of its parameters. */
static bool read_kernel(const struct program *program, const struct names *names, const struct record_finding *finding,
                        struct kernel_source *kernel) {
    char mangled[RECORD_NAME], name[RECORD_NAME];
    struct sources sources;
    get_text(mangled, finding->kernel);
    readable_name(mangled, name, sizeof name);
    const char *text = read_source(program, names, finding->place.file, &sources);
    bool is_read = text && kernel_source_read(text, name, kernel);
    sources_clear(&sources);
    return is_read;
}

/* The cure, which names the array to be padded where the source has it, and the count that it gives. */
static uint64_t get_cure(const struct program *program, const struct names *names, const struct record_advice *advice,
                         char cure[RECORD_NAME]) {
    uint64_t then = advice->then;
    struct sources sources = {0};
    get_text(cure, advice->cure);
    const char *text = advice->rows.nbytes ? read_source(program, names, advice->file, &sources) : NULL;
    if (text) advice_name_array(text, advice->line, &advice->rows, &then, cure, RECORD_NAME);
    sources_clear(&sources);
    return then;
}

/* Arrays of shared memory with the type that the source gives them. */
static void name_array(const struct program *program, const struct names *names, const struct record_finding *finding,
                       char text[MESSAGE_NBYTES]) {
    struct sources sources;
    const char *source = read_source(program, names, finding->place.file, &sources);
    if (source) kernel_source_array(source, text, MESSAGE_NBYTES);
    if (source && finding->has_other && !memcmp(finding->place.file, finding->other.file, sizeof finding->place.file))
        kernel_source_overlap(source, finding->place.line, finding->other.line, text, MESSAGE_NBYTES);
    sources_clear(&sources);
}

/* "... (index 1000 of `in`, float *)", or "... (argument 0)" where the source is not there. */
static void name_index(const struct program *program, const struct names *names, const struct record_finding *finding,
                       char text[MESSAGE_NBYTES]) {
    struct kernel_source kernel;
    const size_t length = strlen(text);
    if (!finding->argument) return;
    const uint32_t number = finding->argument - 1;
    const struct kernel_parameter *parameter =
        read_kernel(program, names, finding, &kernel) && number < kernel.count ? &kernel.parameters[number] : NULL;
    const int64_t nbytes = parameter && parameter->is_pointer ? (int64_t)parameter->nbytes : 0;
    if (!nbytes) {
        snprintf(text + length, MESSAGE_NBYTES - length, " (argument %u)", number);
        return;
    }
    const int64_t index = finding->offset / nbytes - (finding->offset % nbytes < 0);
    snprintf(text + length, MESSAGE_NBYTES - length, " (index %" PRId64 " of `%s`, %s *)", index,
             parameter->name, parameter->type);
}

/* The names of arguments that the message has by their numbers. */
static void name_arguments(const struct program *program, const struct names *names, const struct record_finding *finding,
                           char text[MESSAGE_NBYTES]) {
    const char *all[KERNEL_PARAMETERS_MAX];
    struct kernel_source kernel;
    if (!read_kernel(program, names, finding, &kernel)) return;
    for (size_t i = 0; i < kernel.count; i++) all[i] = kernel.parameters[i].name;
    arguments_name(text, MESSAGE_NBYTES, all, kernel.count);
}

/* The file of the other access as the user has it, unless that is longer. */
static void show_other_file(const struct names *names, const struct record_finding *finding, char text[MESSAGE_NBYTES]) {
    char file[RECORD_NAME], shown[2 * RECORD_NAME];
    if (!finding->has_other) return;
    get_text(file, finding->other.file);
    names_show(names, finding->other.file, shown);
    const size_t length = strlen(file), shown_length = strlen(shown);
    char *at = length ? strstr(text, file) : NULL;
    if (!at || shown_length > length) return;
    memcpy(at, shown, shown_length);
    memmove(at + shown_length, at + length, strlen(at + length) + 1);
}

static void get_message(const struct program *program, const struct names *names, const struct record_finding *finding,
                        char text[MESSAGE_NBYTES]) {
    char message[RECORD_NAME];
    get_text(message, finding->message);
    snprintf(text, MESSAGE_NBYTES, "%s", message);
    if (strstr(message, " elements of ")) name_array(program, names, finding, text);
    if (strstr(message, "`argument ")) name_arguments(program, names, finding, text);
    name_index(program, names, finding, text);
    show_other_file(names, finding, text);
    numerals_group(text, MESSAGE_NBYTES);
}

/* ---- text ---------------------------------------------------------------------------------------- */

struct report {
    FILE *stream;
    const struct program *program;
    struct names names;
    const char *bad, *good, *hint, *plain;
};

static void put_kernel_name(FILE *stream, const char recorded[RECORD_NAME]) {
    char mangled[RECORD_NAME], name[RECORD_NAME];
    get_text(mangled, recorded);
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
    fprintf(stream, "  %-24s%14.4f\n", "utilization", utilization(kernel));
}

static bool has_thread(const struct record_place *place) {
    return place->line && place->thread[0] != RECORD_ALL_THREADS;
}

static void put_place(const struct report *report, const struct record_place *place) {
    char shown[2 * RECORD_NAME];
    names_show(&report->names, place->file, shown);
    put_name(report->stream, shown, strlen(shown));
    if (!place->line) return; /* of the host's code */
    fprintf(report->stream, ":%u", place->line);
    if (has_thread(place))
        fprintf(report->stream, ", block (%u,%u,%u), thread (%u,%u,%u)", place->block[0], place->block[1],
                place->block[2], place->thread[0], place->thread[1], place->thread[2]);
}

/* The line itself, if the file is below the program's folder or the working one.  false: no memory. */
static bool put_line(const struct report *report, const struct record_place *place) {
    char shown[2 * RECORD_NAME];
    struct sources sources = {0};
    const struct places places = {report->program->path, "."};
    size_t length;
    names_show(&report->names, place->file, shown);
    bool is_read = sources_add(&sources, shown, &places);
    const char *line = is_read ? source_line(&sources.items[0], place->line, &length) : NULL;
    if (line) {
        fprintf(report->stream, "%8u | ", place->line);
        put_lines(report->stream, line, length);
        fputc('\n', report->stream);
    }
    sources_clear(&sources);
    return is_read;
}

static bool put_finding(const struct report *report, const struct record_finding *finding) {
    char message[MESSAGE_NBYTES];
    fprintf(report->stream, "\n%s%s%s in ", report->bad, kind_name(finding), report->plain);
    put_kernel_name(report->stream, finding->kernel);
    if (finding->place.file[0]) fputs(" at ", report->stream);
    put_place(report, &finding->place);
    if (finding->address) fprintf(report->stream, ", address 0x%" PRIx64, finding->address);
    char times[NUMERAL_NBYTES];
    if (finding->count > 1) fprintf(report->stream, ", %s times", numeral(times, finding->count));
    get_message(report->program, &report->names, finding, message);
    fputs("\n    ", report->stream);
    put_name(report->stream, message, strlen(message));
    fputc('\n', report->stream);
    return put_line(report, &finding->place) && (!finding->has_other || put_line(report, &finding->other));
}

static bool put_advice(const struct report *report, const struct record_advice *advice) {
    char text[RECORD_NAME], shown[2 * RECORD_NAME];
    struct record_place place = {.line = advice->line};
    fprintf(report->stream, "\n%sadvice%s: %s in ", report->hint, report->plain, advice_kind(advice));
    put_kernel_name(report->stream, advice->kernel);
    get_text(place.file, advice->file);
    names_show(&report->names, place.file, shown);
    fputs(" at ", report->stream);
    put_name(report->stream, shown, strlen(shown));
    fprintf(report->stream, ":%u\n    ", advice->line);
    get_text(text, advice->message);
    put_name(report->stream, text, strlen(text));
    fputs("\n    cure: ", report->stream);
    get_cure(report->program, &report->names, advice, text);
    put_name(report->stream, text, strlen(text));
    fputc('\n', report->stream);
    return put_line(report, &place);
}

static uint32_t failure_count(const struct record *record) { return least(record->failure_count, RECORD_FAILURES); }

/* How often the call failed without cudaGetLastError() having told the program. */
static uint64_t times_unasked(const struct record_failure *failure) {
    return failure->count > failure->asked ? failure->count - failure->asked : 0;
}

static void put_text(FILE *stream, const char from[RECORD_NAME]) {
    char text[RECORD_NAME];
    get_text(text, from);
    put_name(stream, text, strlen(text));
}

static void put_failure(FILE *stream, const struct record_failure *failure) {
    char times[NUMERAL_NBYTES];
    const uint64_t count = times_unasked(failure);
    fputs("    ", stream);
    put_text(stream, failure->call);
    fputs(" failed: ", stream);
    put_text(stream, failure->error);
    fputs(" (", stream);
    put_text(stream, failure->text);
    fputc(')', stream);
    if (failure->reason[0]) fputs(": ", stream);
    put_text(stream, failure->reason);
    if (count > 1) fprintf(stream, ", %s times", numeral(times, count));
    fputc('\n', stream);
}

static void put_failures(const struct report *report) {
    const struct record *record = report->program->record;
    bool is_first = true;
    for (uint32_t i = 0; i < failure_count(record); i++) {
        if (!times_unasked(&record->failures[i])) continue;
        if (is_first) fputs("\ncalls that failed, of which cudaGetLastError() has not told the program\n", report->stream);
        is_first = false;
        put_failure(report->stream, &record->failures[i]);
    }
}

static void put_leaks(const struct report *report) {
    const struct record *record = report->program->record;
    if (!has_leaks(record)) return;
    char leaks[NUMERAL_NBYTES], nbytes[NUMERAL_NBYTES];
    fprintf(report->stream,
            "\n%sleak%s\n    %s allocation%s of device memory, %s bytes, not freed when the program ended: call cudaFree\n",
            report->bad, report->plain, numeral(leaks, record->leaks), record->leaks == 1 ? "" : "s",
            numeral(nbytes, record->leaked_nbytes));
}

static void put_end(const struct report *report) {
    const struct record *record = report->program->record;
    uint64_t count = count_findings(record);
    if (record->kernels_lost)
        fprintf(report->stream, "\nMore kernels ran than are listed here: the report has room for %d.\n",
                RECORD_KERNELS);
    if (record->refused_launches)
        fprintf(report->stream, "\n%" PRIu64 " launch%s did not run.\n", record->refused_launches,
                record->refused_launches == 1 ? "" : "es");
    if (count)
        fprintf(report->stream, "\n%s%" PRIu64 " finding%s%s", report->bad, count, count == 1 ? "" : "s",
                report->plain);
    else
        fprintf(report->stream, "\n%sno findings%s", report->good, report->plain);
    if (advice_count(record))
        fprintf(report->stream, ", %u piece%s of advice", advice_count(record), advice_count(record) == 1 ? "" : "s");
    fputc('\n', report->stream);
    if (report->program->end.signal)
        fprintf(report->stream, "The program was ended by signal %d (%s).\n", report->program->end.signal,
                strsignal(report->program->end.signal));
}

/* ---- kernels by what they cost ---- */

static int compare_costs(const void *a, const void *b) {
    const struct record_kernel *x = *(const struct record_kernel *const *)a, *y = *(const struct record_kernel *const *)b;
    return x->instructions > y->instructions ? -1 : x->instructions < y->instructions;
}

/* Those that executed most, with their share of all.  false: no memory. */
static bool put_slowest(FILE *stream, const struct record *record) {
    enum { MOST = 10 };
    const uint32_t count = kernel_count(record);
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
    const char *name = gpu_names[least(record->settings.gpu, sizeof gpu_names / sizeof *gpu_names - 1)];
    if (record->settings.gpus > 1) fprintf(stream, "  on %u simulated devices, each a %s\n", record->settings.gpus, name);
    else fprintf(stream, "  on a simulated %s\n", name);
}

bool program_put_report(FILE *stream, const struct program *program, bool has_colour) {
    struct report report = {stream, program, names_of(program), "", "", "", ""};
    const struct record *record = program->record;
    bool has_memory = report.names.directory != NULL;
    if (has_colour) report.bad = "\033[1;31m", report.good = "\033[1;32m", report.hint = "\033[1;33m", report.plain = "\033[0m";
    put_name(stream, program->path, strlen(program->path));
    put_gpus(stream, record);
    for (uint32_t i = 0; i < kernel_count(record); i++) put_kernel(stream, &record->kernels[i]);
    has_memory = put_slowest(stream, record) && put_lines_of_sources(&report) && has_memory;
    put_failures(&report);
    for (uint32_t i = 0; i < finding_count(record); i++)
        has_memory = has_memory && put_finding(&report, &record->findings[i]);
    for (uint32_t i = 0; i < advice_count(record); i++)
        has_memory = has_memory && put_advice(&report, &record->advice[i]);
    put_leaks(&report);
    put_end(&report);
    names_clear(&report.names);
    return has_memory;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void put_json_name(struct json *json, const char *key, const char recorded[RECORD_NAME]) {
    char mangled[RECORD_NAME], name[RECORD_NAME];
    get_text(mangled, recorded);
    readable_name(mangled, name, sizeof name);
    json_key_text(json, key, name);
}

static void put_json_kernel(struct json *json, const struct record_kernel *kernel) {
    json_begin(json, '{');
    put_json_name(json, "kernel", kernel->name);
    json_key_unsigned(json, "launches", kernel->launches);
    json_key_unsigned(json, "watched", kernel->watched);
    json_key_list(json, "grid", kernel->grid, 3);
    json_key_list(json, "block", kernel->block, 3);
#define PUT(name) json_key_number(json, #name, kernel->name);
    RECORD_COUNTS(PUT)
#undef PUT
    json_key_number(json, "utilization", utilization(kernel));
    json_end(json, '}');
}

static void put_json_place(struct json *json, const struct names *names, const struct record_place *place) {
    char shown[2 * RECORD_NAME];
    names_show(names, place->file, shown);
    json_key_text(json, "file", shown);
    json_key_unsigned(json, "line", place->line);
    if (place->thread[0] == RECORD_ALL_THREADS) return;
    json_key_list(json, "block", place->block, 3);
    json_key_list(json, "thread", place->thread, 3);
}

static void put_json_finding(struct json *json, const struct program *program, const struct names *names,
                             const struct record_finding *finding) {
    char message[MESSAGE_NBYTES];
    get_message(program, names, finding, message);
    json_begin(json, '{');
    json_key_text(json, "kind", kind_name(finding));
    put_json_name(json, "kernel", finding->kernel);
    put_json_place(json, names, &finding->place);
    json_key_unsigned(json, "launch", finding->launch);
    json_key_unsigned(json, "address", finding->address);
    json_key_text(json, "message", message);
    json_key(json, "other");
    if (finding->has_other) {
        json_begin(json, '{');
        put_json_place(json, names, &finding->other);
        json_end(json, '}');
    } else
        json_null(json);
    json_key_unsigned(json, "count", finding->count);
    json_end(json, '}');
}

static void put_json_advice(struct json *json, const struct program *program, const struct names *names,
                            const struct record_advice *advice) {
    char text[RECORD_NAME], cure[RECORD_NAME], shown[2 * RECORD_NAME];
    json_begin(json, '{');
    json_key_text(json, "kind", advice_kind(advice));
    put_json_name(json, "kernel", advice->kernel);
    get_text(text, advice->file);
    names_show(names, text, shown);
    json_key_text(json, "file", shown);
    json_key_unsigned(json, "line", advice->line);
    json_key_unsigned(json, "count", advice->count);
    json_key_unsigned(json, "least", advice->least);
    json_key_unsigned(json, "then", get_cure(program, names, advice, cure));
    get_text(text, advice->message);
    json_key_text(json, "message", text);
    json_key_text(json, "cure", cure);
    json_end(json, '}');
}

static void put_json_failures(struct json *json, const struct record *record) {
    char text[RECORD_NAME];
    json_key_begin(json, "failed_calls", '[');
    for (uint32_t i = 0; i < failure_count(record); i++) {
        const struct record_failure *failure = &record->failures[i];
        const struct {
            const char *key, *text;
        } texts[] = {{"call", failure->call}, {"error", failure->error}, {"text", failure->text}, {"reason", failure->reason}};
        if (!times_unasked(failure)) continue;
        json_begin(json, '{');
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            get_text(text, texts[t].text);
            json_key_text(json, texts[t].key, text);
        }
        json_key_unsigned(json, "count", times_unasked(failure));
        json_end(json, '}');
    }
    json_end(json, ']');
}

static bool put_json_lines(struct json *json, const struct program *program, const struct names *names, bool is_page) {
    struct program_lines lines;
    bool has_memory = program_lines_read(&lines, program, names);
    if (has_memory) program_lines_put_json(json, &lines, is_page);
    program_lines_clear(&lines);
    return has_memory;
}

static bool put_json(FILE *stream, const struct program *program, bool is_page) {
    const struct record *record = program->record;
    struct json json = json_to(stream);
    struct names names = names_of(program);
    json_begin(&json, '{');
    json_key_text(&json, "program", program->path);
    json_key_text(&json, "gpu", gpu_names[least(record->settings.gpu, sizeof gpu_names / sizeof *gpu_names - 1)]);
    json_key_unsigned(&json, "gpus", record->settings.gpus ? record->settings.gpus : 1);
    json_key_unsigned(&json, "status", (uint64_t)program->end.status);
    json_key_unsigned(&json, "signal", (uint64_t)program->end.signal);
    json_key_begin(&json, "kernels", '[');
    for (uint32_t i = 0; i < kernel_count(record); i++) put_json_kernel(&json, &record->kernels[i]);
    json_end(&json, ']');
    json_key_begin(&json, "findings", '[');
    for (uint32_t i = 0; i < finding_count(record); i++) put_json_finding(&json, program, &names, &record->findings[i]);
    json_end(&json, ']');
    json_key_begin(&json, "advice", '[');
    for (uint32_t i = 0; i < advice_count(record); i++) put_json_advice(&json, program, &names, &record->advice[i]);
    json_end(&json, ']');
    json_key_unsigned(&json, "findings_left_out", record->findings_lost);
    json_key_unsigned(&json, "leaks", has_leaks(record) ? record->leaks : 0);
    json_key_unsigned(&json, "leaked_bytes", has_leaks(record) ? record->leaked_nbytes : 0);
    json_key_unsigned(&json, "refused_launches", record->refused_launches);
    put_json_failures(&json, record);
    bool has_memory = names.directory != NULL;
    if (record->settings.counts_lines) has_memory = put_json_lines(&json, program, &names, is_page) && has_memory;
    json_end(&json, '}');
    fputc('\n', stream);
    names_clear(&names);
    return has_memory;
}

bool program_put_json(FILE *stream, const struct program *program) { return put_json(stream, program, false); }

bool program_put_page_data(FILE *stream, const struct program *program) { return put_json(stream, program, true); }

/* ---- hosts of code ------------------------------------------------------------------------------- */

struct hosted {
    const struct program *program;
    struct names names;
};

static void give_finding(const struct hosted *hosted, const struct record_finding *finding, host_put *put, void *to) {
    char mangled[RECORD_NAME], kernel[RECORD_NAME], message[MESSAGE_NBYTES], text[MESSAGE_NBYTES + RECORD_NAME + 160];
    char shown[2 * RECORD_NAME], other_shown[2 * RECORD_NAME];
    const uint32_t *block = finding->place.block, *thread = finding->place.thread;
    get_text(mangled, finding->kernel);
    readable_name(mangled, kernel, sizeof kernel);
    get_message(hosted->program, &hosted->names, finding, message);
    if (has_thread(&finding->place))
        snprintf(text, sizeof text, "%s, block (%u,%u,%u), thread (%u,%u,%u): %s", kernel, block[0], block[1], block[2],
                 thread[0], thread[1], thread[2], message);
    else snprintf(text, sizeof text, "%s: %s", kernel, message);
    names_show(&hosted->names, finding->place.file, shown);
    if (!shown[0]) snprintf(shown, sizeof shown, "%s", hosted->program->path);
    names_show(&hosted->names, finding->other.file, other_shown);
    put(to, &(struct host_result){.rule = kind_name(finding),
                                  .message = text,
                                  .file = shown,
                                  .line = finding->place.line,
                                  .other_file = finding->has_other ? other_shown : NULL,
                                  .other_line = finding->other.line,
                                  .count = finding->count});
}

static void give_advice(const struct hosted *hosted, const struct record_advice *advice, host_put *put, void *to) {
    char message[RECORD_NAME], cure[RECORD_NAME], text[2 * RECORD_NAME + 16], shown[2 * RECORD_NAME];
    get_text(message, advice->message);
    get_cure(hosted->program, &hosted->names, advice, cure);
    snprintf(text, sizeof text, "%s. Cure: %s", message, cure);
    names_show(&hosted->names, advice->file, shown);
    put(to, &(struct host_result){.rule = advice_kind(advice),
                                  .message = text,
                                  .is_warning = true,
                                  .file = shown,
                                  .line = advice->line,
                                  .count = advice->count});
}

static void give_all(const void *from, host_put *put, void *to) {
    const struct hosted *hosted = from;
    const struct record *record = hosted->program->record;
    char text[160];
    for (uint32_t i = 0; i < finding_count(record); i++) give_finding(hosted, &record->findings[i], put, to);
    for (uint32_t i = 0; i < advice_count(record); i++) give_advice(hosted, &record->advice[i], put, to);
    if (!has_leaks(record)) return;
    snprintf(text, sizeof text,
             "%" PRIu64 " allocations of device memory, %" PRIu64 " bytes, not freed when the program ended",
             record->leaks, record->leaked_nbytes);
    numerals_group(text, sizeof text);
    put(to, &(struct host_result){.rule = "leak", .message = text, .is_warning = true});
}

static bool put_hosted(FILE *stream, const struct program *program,
                       void (*write)(FILE *stream, host_give *give, const void *from)) {
    struct hosted hosted = {program, names_of(program)};
    bool has_memory = hosted.names.directory != NULL;
    write(stream, give_all, &hosted);
    names_clear(&hosted.names);
    return has_memory;
}

bool program_put_sarif(FILE *stream, const struct program *program) { return put_hosted(stream, program, put_sarif); }

bool program_put_annotations(FILE *stream, const struct program *program) {
    return put_hosted(stream, program, put_annotations);
}
