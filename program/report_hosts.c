/* The findings and advice of a program, for hosts of code. */
#include <inttypes.h>
#include <stdio.h>

#include "recorded.h"
#include "report/code_host.h"
#include "report/kernel_name.h"
#include "report/numerals.h"

struct hosted {
    const struct program *program;
    struct names names;
};

static void give_finding(const struct hosted *hosted, const struct record_finding *finding, host_put *put, void *to) {
    char mangled[RECORD_NAME], kernel[RECORD_NAME], message[RECORD_MESSAGE_NBYTES], text[RECORD_MESSAGE_NBYTES + RECORD_NAME + 160];
    char shown[2 * RECORD_NAME], other_shown[2 * RECORD_NAME];
    const uint32_t *block = finding->place.block, *thread = finding->place.thread;
    record_get_text(mangled, finding->kernel);
    readable_name(mangled, kernel, sizeof kernel);
    record_message(hosted->program, &hosted->names, finding, message);
    if (record_has_thread(&finding->place))
        snprintf(text, sizeof text, "%s, block (%u,%u,%u), thread (%u,%u,%u): %s", kernel, block[0], block[1], block[2],
                 thread[0], thread[1], thread[2], message);
    else snprintf(text, sizeof text, "%s: %s", kernel, message);
    names_show(&hosted->names, finding->place.file, shown);
    if (!shown[0]) snprintf(shown, sizeof shown, "%s", hosted->program->path);
    names_show(&hosted->names, finding->other.file, other_shown);
    put(to, &(struct host_result){.rule = record_kind_name(finding),
                                  .message = text,
                                  .file = shown,
                                  .line = finding->place.line,
                                  .other_file = finding->has_other ? other_shown : NULL,
                                  .other_line = finding->other.line,
                                  .count = finding->count});
}

static void give_advice(const struct hosted *hosted, const struct record_advice *advice, host_put *put, void *to) {
    char message[RECORD_NAME], cure[RECORD_NAME], text[2 * RECORD_NAME + 16], shown[2 * RECORD_NAME];
    record_get_text(message, advice->message);
    record_cure(hosted->program, &hosted->names, advice, cure);
    snprintf(text, sizeof text, "%s. Cure: %s", message, cure);
    names_show(&hosted->names, advice->file, shown);
    put(to, &(struct host_result){.rule = record_advice_kind(advice),
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
    for (uint32_t i = 0; i < record_finding_count(record); i++) give_finding(hosted, &record->findings[i], put, to);
    for (uint32_t i = 0; i < record_advice_count(record); i++) give_advice(hosted, &record->advice[i], put, to);
    if (!record_has_leaks(record)) return;
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
