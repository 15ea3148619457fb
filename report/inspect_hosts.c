#include <inttypes.h>
#include <string.h>

#include "code_host.h"
#include "inspect_report.h"

static void give_finding(const struct inspection_report *report, const simt_finding *finding, host_put *put, void *to) {
    char message[sizeof finding->message + 384], text[sizeof message + 640];
    const uint32_t *block = finding->block, *thread = finding->thread;
    finding_message(report, finding, message, sizeof message);
    snprintf(text, sizeof text,
             "%.400s, block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "), thread (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "): %s",
             report->kernel, block[0], block[1], block[2], thread[0], thread[1], thread[2], message);
    put(to, &(struct host_result){.rule = simt_finding_kind_name(finding->kind),
                                  .message = text,
                                  .file = finding->file,
                                  .line = finding->line,
                                  .other_file = finding->has_other ? finding->other_file : NULL,
                                  .other_line = finding->other_line,
                                  .count = finding->count});
}

static void give_wrong(const struct inspection_report *report, const struct report_values *values, host_put *put, void *to) {
    char message[320], text[sizeof message + 256];
    wrong_message(report, values, message, sizeof message);
    snprintf(text, sizeof text, "%.200s: %s", report->kernel, message);
    put(to, &(struct host_result){.rule = "result", .message = text, .count = values->wrong_count});
}

static void give_all(const void *from, host_put *put, void *to) {
    const struct inspection_report *report = from;
    for (size_t i = 0; i < report->value_count; i++)
        if (report->values[i].wrong_count) give_wrong(report, &report->values[i], put, to);
    for (size_t i = 0; i < simt_report_finding_count(report->counts); i++)
        give_finding(report, simt_report_finding(report->counts, i), put, to);
    for (size_t i = 0; i < report->advice_count; i++) {
        const struct advice *advice = &report->advice[i];
        char text[2 * ADVICE_TEXT + 32];
        snprintf(text, sizeof text, "%s. Cure: %s", advice->message, advice->cure);
        put(to, &(struct host_result){.rule = advice->kind,
                                      .message = text,
                                      .is_warning = true,
                                      .file = advice->file,
                                      .line = advice->line,
                                      .count = advice->count});
    }
}

void put_report_sarif(FILE *stream, const struct inspection_report *report) { put_sarif(stream, give_all, report); }

void put_report_annotations(FILE *stream, const struct inspection_report *report) {
    put_annotations(stream, give_all, report);
}
