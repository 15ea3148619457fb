/* Words that all reports of inspect share. */
#include <inttypes.h>
#include <string.h>

#include "arguments.h"
#include "inspect_report.h"
#include "kernel_source.h"
#include "numerals.h"

/* The buffer that the address belongs to, be it before its begin or after its end: allocations are 4 GiB apart. */
static const struct report_buffer *find_buffer(const struct inspection_report *report, uint64_t address) {
    const uint64_t reach = UINT64_C(1) << 31;
    for (size_t i = 0; i < report->buffer_count; i++) {
        const struct report_buffer *buffer = &report->buffers[i];
        if (buffer->address && address + reach - buffer->address < 2 * reach) return buffer;
    }
    return NULL;
}

static const char *source_text(const struct sources *sources, const char *file) {
    for (size_t i = 0; i < sources->count; i++)
        if (!strcmp(sources->items[i].file, file)) return sources->items[i].text;
    return NULL;
}

static bool is_of_global_memory(const simt_finding *finding) {
    return finding->address && strstr(finding->message, " global memory") != NULL;
}

/* " (index 1000 of `in`, float[1000])" */
static int64_t name_index(const struct inspection_report *report, const struct report_buffer *buffer, const simt_finding *finding,
                       char *text, size_t nbytes) {
    char name[96];
    const size_t number = (size_t)(buffer - report->buffers);
    if (buffer->name) snprintf(name, sizeof name, "`%s`", buffer->name);
    else snprintf(name, sizeof name, "argument %zu", number);
    const uint64_t all = buffer->count * buffer->element_nbytes;
    const bool is_struct = buffer->struct_nbytes != 0;
    const int64_t offset = (int64_t)(finding->address - buffer->address);
    const int64_t size = (int64_t)(is_struct ? buffer->struct_nbytes : buffer->element_nbytes);
    const int64_t index = offset / size - (offset % size < 0);
    char member[KERNEL_WORD + 16] = "";
    if (is_struct)
        kernel_source_member(source_text(&report->sources, finding->file), buffer->struct_type, (uint64_t)(offset - index * size), member,
                             sizeof member);
    snprintf(text, nbytes, " (index %" PRId64 " of %s, %s[%" PRIu64 "]%s)", index, name, is_struct ? buffer->struct_type : buffer->type,
             all / (uint64_t)size, member);
    return index;
}

static void name_arguments(const struct inspection_report *report, char *text, size_t nbytes) {
    const char *names[KERNEL_PARAMETERS_MAX];
    const size_t count = report->buffer_count < KERNEL_PARAMETERS_MAX ? report->buffer_count : KERNEL_PARAMETERS_MAX;
    for (size_t i = 0; i < count; i++) names[i] = report->buffers[i].name;
    arguments_name(text, nbytes, names, count);
}

void finding_message(const struct inspection_report *report, const simt_finding *finding, char *text, size_t nbytes) {
    const struct report_buffer *buffer =
        is_of_global_memory(finding) ? find_buffer(report, finding->address) : NULL;
    snprintf(text, nbytes, "%s", finding->message);
    const char *source = strstr(finding->message, " elements of ") ? source_text(&report->sources, finding->file) : NULL;
    if (source) kernel_source_array(source, text, nbytes);
    const bool is_one_file = finding->has_other && !strcmp(finding->file, finding->other_file);
    source = is_one_file ? source_text(&report->sources, finding->file) : NULL;
    if (source) kernel_source_overlap(source, finding->line, finding->other_line, text, nbytes);
    name_arguments(report, text, nbytes);
    const size_t length = strlen(text);
    const int64_t index = buffer ? name_index(report, buffer, finding, text + length, nbytes - length) : 0;
    const struct guard_access access = {finding->line, finding->block, finding->thread, report->launch->block, buffer ? buffer->name : NULL,
                                        guard_is_just_behind(finding->message)};
    if (buffer && finding->kind == SIMT_FINDING_BOUNDS)
        bounds_add_cure(text, nbytes, index, source_text(&report->sources, finding->file), &access);
    numerals_group(text, nbytes);
}

bool report_is_wrong(const struct inspection_report *report) {
    for (size_t i = 0; i < report->value_count; i++)
        if (report->values[i].wrong_count) return true;
    return false;
}

bool report_is_checked(const struct inspection_report *report) {
    for (size_t i = 0; i < report->value_count; i++)
        if (report->values[i].is_expected) return true;
    return false;
}

void wrong_message(const struct inspection_report *report, const struct report_values *values, char *text, size_t nbytes) {
    const char *name = report->buffers[values->argument].name;
    char which[64], share[96] = "";
    snprintf(which, sizeof which, "element %" PRIu64 " of argument %zu", values->wrong_index, values->argument);
    if (values->count > 1)
        snprintf(share, sizeof share, "; %" PRIu64 " of %" PRIu64 " %s wrong", values->wrong_count, values->count,
                 values->wrong_count == 1 ? "is" : "are");
    if (name) snprintf(which, sizeof which, "%.32s[%" PRIu64 "]", name, values->wrong_index);
    numerals_group(share, sizeof share);
    snprintf(text, nbytes, "%s is %s, and must be %s%s", which, values->is, values->must_be, share);
}

const struct report_main_count report_main_counts[] = {
    {"instructions", "executed by warps"},
    {"divergent_branches", "branches that split a warp; 0 is best"},
    {"utilization", "share of lanes that were active; 1 is best"},
    {"global_sectors", "of 32 bytes in global memory; fewer are better"},
    {"global_requests", "128-byte lines that accesses of warps touched"},
    {"coalescing", "used share of the sectors' bytes; 1 is best"},
    {"shared_wavefronts", "passes through shared memory"},
    {"bank_degree", "wavefronts of the worst access, divided by the least possible; 1 is best"},
    {"barriers", "of blocks"},
    {"atomics", "of threads"},
    {NULL, NULL},
};
