/* What the record of a program says, as JSON. */
#include <signal.h>

#include "failed_calls.h"
#include "lines.h"
#include "recorded.h"
#include "report/json.h"
#include "report/kernel_name.h"

static void put_json_name(struct json *json, const char *key, const char recorded[RECORD_NAME]) {
    char mangled[RECORD_NAME], name[RECORD_NAME];
    record_get_text(mangled, recorded);
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
    json_key_number(json, "utilization", record_utilization(kernel));
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
    char message[RECORD_MESSAGE_NBYTES];
    record_message(program, names, finding, message);
    json_begin(json, '{');
    json_key_text(json, "kind", record_kind_name(finding));
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
    json_key_text(json, "kind", record_advice_kind(advice));
    put_json_name(json, "kernel", advice->kernel);
    record_get_text(text, advice->file);
    names_show(names, text, shown);
    json_key_text(json, "file", shown);
    json_key_unsigned(json, "line", advice->line);
    json_key_unsigned(json, "count", advice->count);
    json_key_unsigned(json, "least", advice->least);
    json_key_unsigned(json, "then", record_cure(program, names, advice, cure));
    record_get_text(text, advice->message);
    json_key_text(json, "message", text);
    json_key_text(json, "cure", cure);
    json_end(json, '}');
}

/* Of the segmentation fault that ended the program. */
static void put_json_fault(struct json *json, const struct program *program, const struct names *names) {
    const struct record_fault *fault = &program->record->fault;
    json_key(json, "fault");
    if (program->end.signal != SIGSEGV || !fault->has_happened) return json_null(json);
    json_begin(json, '{');
    json_key_text(json, "in", fault->is_of_call ? "a call of CUDA" : "host code");
    put_json_place(json, names, &fault->place);
    json_key_unsigned(json, "address", fault->address);
    json_end(json, '}');
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
    json_key_text(&json, "gpu", record_gpu_name(record));
    json_key_unsigned(&json, "gpus", record->settings.gpus ? record->settings.gpus : 1);
    json_key_unsigned(&json, "status", (uint64_t)program->end.status);
    json_key_unsigned(&json, "signal", (uint64_t)program->end.signal);
    put_json_fault(&json, program, &names);
    json_key_begin(&json, "kernels", '[');
    for (uint32_t i = 0; i < record_kernel_count(record); i++) put_json_kernel(&json, &record->kernels[i]);
    json_end(&json, ']');
    json_key_begin(&json, "findings", '[');
    for (uint32_t i = 0; i < record_finding_count(record); i++) put_json_finding(&json, program, &names, &record->findings[i]);
    json_end(&json, ']');
    json_key_begin(&json, "advice", '[');
    for (uint32_t i = 0; i < record_advice_count(record); i++) put_json_advice(&json, program, &names, &record->advice[i]);
    json_end(&json, ']');
    json_key_unsigned(&json, "findings_left_out", record->findings_lost);
    json_key_unsigned(&json, "leaks", record_has_leaks(record) ? record->leaks : 0);
    json_key_unsigned(&json, "leaked_bytes", record_has_leaks(record) ? record->leaked_nbytes : 0);
    json_key_unsigned(&json, "refused_launches", record->refused_launches);
    failed_calls_put_json(&json, record, &names);
    bool has_memory = names.directory != NULL;
    if (record->settings.counts_lines) has_memory = put_json_lines(&json, program, &names, is_page) && has_memory;
    json_end(&json, '}');
    fputc('\n', stream);
    names_clear(&names);
    return has_memory;
}

bool program_put_json(FILE *stream, const struct program *program) { return put_json(stream, program, false); }

bool program_put_page_data(FILE *stream, const struct program *program) { return put_json(stream, program, true); }
