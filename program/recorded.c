/* Reading the record, which the program may have written into. */
#include "recorded.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gpus.h"
#include "report/advice.h"
#include "report/arguments.h"
#include "report/inspect_source.h"
#include "report/kernel_name.h"
#include "report/kernel_source.h"
#include "report/numerals.h"

static const char *const gpu_names[] = {
#define NAME(word, name, ...) name,
    PROGRAM_GPUS(NAME)
#undef NAME
};

const char *record_gpu_name(const struct record *record) {
    return gpu_names[least(record->settings.gpu, sizeof gpu_names / sizeof *gpu_names - 1)];
}

uint32_t record_kernel_count(const struct record *record) { return least(record->kernel_count, RECORD_KERNELS); }

uint32_t record_finding_count(const struct record *record) { return least(record->finding_count, RECORD_FINDINGS); }

/* A text of the record that is sure to end. */
void record_get_text(char text[RECORD_NAME], const char from[RECORD_NAME]) {
    snprintf(text, RECORD_NAME, "%.*s", RECORD_NAME - 1, from);
}

uint32_t record_advice_count(const struct record *record) { return least(record->advice_count, RECORD_ADVICE); }

const char *record_advice_kind(const struct record_advice *advice) {
    uint32_t number = 0;
    while (number < advice->kind && advice_kinds[number + 1]) number++;
    return advice_kinds[number];
}

const char *record_kind_name(const struct record_finding *finding) {
    return simt_finding_kind_name((enum simt_finding_kind)finding->kind);
}

bool record_has_leaks(const struct record *record) { return record->has_ended && record->leaks > 0; }

uint64_t record_count_findings(const struct record *record) {
    return record_finding_count(record) + record->findings_lost + record_has_leaks(record);
}

/* Share of the lanes that took part in instructions. */
double record_utilization(const struct record_kernel *kernel) {
    enum { WARP = 32 };
    return kernel->instructions > 0 ? kernel->thread_instructions / (kernel->instructions * WARP) : 1;
}

bool record_has_thread(const struct record_place *place) {
    return place->line && place->thread[0] != RECORD_ALL_THREADS;
}

/* ---- messages, with the argument that an address belongs to -------------------------------------- */

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
    record_get_text(mangled, finding->kernel);
    readable_name(mangled, name, sizeof name);
    const char *text = read_source(program, names, finding->place.file, &sources);
    bool is_read = text && kernel_source_read(text, name, kernel);
    sources_clear(&sources);
    return is_read;
}

/* The cure, which names the array to be padded where the source has it, and the count that it gives. */
uint64_t record_cure(const struct program *program, const struct names *names, const struct record_advice *advice,
                         char cure[RECORD_NAME]) {
    uint64_t then = advice->then;
    struct sources sources = {0};
    record_get_text(cure, advice->cure);
    const char *text = advice->rows.nbytes ? read_source(program, names, advice->file, &sources) : NULL;
    if (text) advice_name_array(text, advice->line, &advice->rows, &then, cure, RECORD_NAME);
    sources_clear(&sources);
    return then;
}

/* Arrays of shared memory with the type that the source gives them. */
static void name_array(const struct program *program, const struct names *names, const struct record_finding *finding,
                       char text[RECORD_MESSAGE_NBYTES]) {
    struct sources sources;
    const char *source = read_source(program, names, finding->place.file, &sources);
    if (source) kernel_source_array(source, text, RECORD_MESSAGE_NBYTES);
    if (source && finding->has_other && !finding->put && !memcmp(finding->place.file, finding->other.file, sizeof finding->place.file))
        kernel_source_overlap(source, finding->place.line, finding->other.line, text, RECORD_MESSAGE_NBYTES);
    sources_clear(&sources);
}

/* "... (index 1000 of `in`, float *)", or "... (argument 0)" where the source is not there. */
static void name_index(const struct program *program, const struct names *names, const struct record_finding *finding,
                       char text[RECORD_MESSAGE_NBYTES]) {
    struct kernel_source kernel;
    const size_t length = strlen(text);
    if (!finding->argument) return;
    const uint32_t number = finding->argument - 1;
    const struct kernel_parameter *parameter =
        read_kernel(program, names, finding, &kernel) && number < kernel.count ? &kernel.parameters[number] : NULL;
    const int64_t nbytes = parameter && parameter->is_pointer ? (int64_t)parameter->nbytes : 0;
    if (!nbytes) {
        snprintf(text + length, RECORD_MESSAGE_NBYTES - length, " (argument %u)", number);
        return;
    }
    const int64_t index = finding->offset / nbytes - (finding->offset % nbytes < 0);
    snprintf(text + length, RECORD_MESSAGE_NBYTES - length, " (index %" PRId64 " of `%s`, %s *)", index,
             parameter->name, parameter->type);
    struct sources sources;
    const char *source = read_source(program, names, finding->place.file, &sources);
    const struct guard_access access = {finding->place.line, finding->place.block, finding->place.thread, finding->block_extent, parameter->name,
                                        guard_is_just_behind(text)};
    bounds_add_cure(text, RECORD_MESSAGE_NBYTES, index, source, &access);
    sources_clear(&sources);
}

/* The names of arguments that the message has by their numbers. */
static void name_arguments(const struct program *program, const struct names *names, const struct record_finding *finding,
                           char text[RECORD_MESSAGE_NBYTES]) {
    const char *all[KERNEL_PARAMETERS_MAX];
    struct kernel_source kernel;
    if (!read_kernel(program, names, finding, &kernel)) return;
    for (size_t i = 0; i < kernel.count; i++) all[i] = kernel.parameters[i].name;
    arguments_name(text, RECORD_MESSAGE_NBYTES, all, kernel.count);
}

/* The file of the other access as the user has it, unless that is longer. */
static void show_other_file(const struct names *names, const struct record_finding *finding, char text[RECORD_MESSAGE_NBYTES]) {
    char file[RECORD_NAME], shown[2 * RECORD_NAME];
    if (!finding->has_other) return;
    record_get_text(file, finding->other.file);
    names_show(names, finding->other.file, shown);
    const size_t length = strlen(file), shown_length = strlen(shown);
    char *at = length ? strstr(text, file) : NULL;
    if (!at || shown_length > length) return;
    memcpy(at, shown, shown_length);
    memmove(at + shown_length, at + length, strlen(at + length) + 1);
}

/* What has written the part of the memory that is before the address. */
static void tell_put(const struct record_finding *finding, char text[RECORD_MESSAGE_NBYTES]) {
    const size_t length = strlen(text);
    char by[64] = "a copy or a fill";
    if (!finding->put) return;
    if (finding->other.line) snprintf(by, sizeof by, "line %" PRIu32, finding->other.line);
    snprintf(text + length, RECORD_MESSAGE_NBYTES - length,
             "; %s wrote the first %" PRIu64 " bytes of this allocation of %" PRIu64 ": a copy's length is in bytes, such as n * sizeof(float)", by,
             finding->put, finding->allocated);
}

void record_message(const struct program *program, const struct names *names, const struct record_finding *finding,
                        char text[RECORD_MESSAGE_NBYTES]) {
    char message[RECORD_NAME];
    record_get_text(message, finding->message);
    snprintf(text, RECORD_MESSAGE_NBYTES, "%s", message);
    if (strstr(message, " elements of ")) name_array(program, names, finding, text);
    if (strstr(message, "`argument ")) name_arguments(program, names, finding, text);
    tell_put(finding, text);
    name_index(program, names, finding, text);
    show_other_file(names, finding, text);
    numerals_group(text, RECORD_MESSAGE_NBYTES);
}
