/* Blocks that run on several host threads give the counts, results and findings of one thread: every rung, with
 * every observer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ladder.h"

enum { ELEMENTS = 5000, BLOCK = 64 };

static int failures;

static void fail(const struct ladder_rung *rung, const char *what) {
    fprintf(stderr, "parallel: %s: %s\n", rung->id, what);
    failures++;
}

static void compare_reports(const struct ladder_rung *rung, const simt_report *one, const simt_report *many) {
    size_t count = simt_report_count_count(one);
    if (count == 0 || simt_report_count_count(many) != count) fail(rung, "the numbers of counts differ");
    for (size_t c = 0; c < count; c++) {
        const char *name = simt_report_count_name(one, c);
        double a = simt_report_count_value(one, name, -1), b = simt_report_count_value(many, name, -2);
        if (a == b) continue;
        fprintf(stderr, "parallel: %s: %s is %g on one thread, %g on several\n", rung->id, name, a, b);
        failures++;
    }
    if (simt_report_finding_count(one) || simt_report_finding_count(many)) fail(rung, "a finding");
}

static void check_rung(const struct ladder_rung *rung, const int32_t *values) {
    simt_message message;
    simt_module *module = NULL;
    struct ladder_task task = {.variant = {.rung = rung, .op = WF_SUM, .type = WF_I32},
                               .values = values, .n = ELEMENTS, .block = BLOCK, .observers = simt_observers};
    struct ladder_outcome one, many;
    if (ladder_module(&task.variant, &module, &message)) {
        fail(rung, message.text);
        return;
    }
    task.module = module;
    task.threads = 1;
    simt_error error_of_one = ladder_run(&task, &one, &message);
    task.threads = 4;
    simt_error error_of_many = ladder_run(&task, &many, &message);
    if (error_of_one || error_of_many) fail(rung, "it was stopped");
    else if (!ladder_result_equal(&one.result, &many.result, WF_SUM)) fail(rung, "the results differ");
    if (one.launch_count == 0 || one.launch_count != many.launch_count) fail(rung, "the numbers of launches differ");
    for (size_t l = 0; l < one.launch_count && l < many.launch_count; l++)
        compare_reports(rung, one.reports[l], many.reports[l]);
    ladder_outcome_clear(&one);
    ladder_outcome_clear(&many);
    simt_module_destroy(module);
}

int main(void) {
    int32_t *values = malloc(ELEMENTS * sizeof *values);
    if (!values) return 1;
    ladder_fill(values, WF_I32, WF_SUM, ELEMENTS, LADDER_DATA_EXACT, 1);
    for (size_t r = 0; r < ladder_rung_count(); r++) {
        struct ladder_rung rung;
        if (ladder_rung_get(r, &rung)) check_rung(&rung, values);
        else failures++;
    }
    free(values);
    if (ladder_rung_count() < 16) failures++;
    printf("parallel: %d failures\n", failures);
    return failures != 0;
}
