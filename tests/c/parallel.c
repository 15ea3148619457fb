/* Blocks that run on several host threads give the counts, results and findings of one thread: every rung, with
 * every observer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ladder.h"
#include "simt_observer.h"

enum { ELEMENTS = 5000, BLOCK = 64 };

static int failures;

static void fail(const struct ladder_rung *rung, const char *what) {
    fprintf(stderr, "parallel: %s: %s\n", rung->id, what);
    failures++;
}

static void compare_reports(const struct ladder_rung *rung, const simt_report *one, const simt_report *many) {
    size_t count = simt_report_counter_count(one);
    if (count == 0 || simt_report_counter_count(many) != count) fail(rung, "the numbers of counts differ");
    for (size_t c = 0; c < count; c++) {
        const char *name = simt_report_counter_name(one, c);
        double a = simt_report_counter_value(one, name, -1), b = simt_report_counter_value(many, name, -2);
        if (a == b) continue;
        fprintf(stderr, "parallel: %s: %s is %g on one thread, %g on several\n", rung->id, name, a, b);
        failures++;
    }
    if (simt_report_finding_count(one) || simt_report_finding_count(many)) fail(rung, "a finding");
}

/* ---- the simulator's tally, counted again by a hook for every instruction */

struct recount {
    double instructions, active_lanes, thread_instructions;
};

static void recount_instruction(void *block, const simt_event *event) {
    struct recount *recount = block;
    recount->instructions++;
    recount->active_lanes += __builtin_popcount(event->active);
    recount->thread_instructions += __builtin_popcount(event->mask);
}

static void recount_end_block(void *launch, void *block, const simt_block_view *view) {
    (void)view;
    struct recount *total = launch, *recount = block;
    total->instructions += recount->instructions;
    total->active_lanes += recount->active_lanes;
    total->thread_instructions += recount->thread_instructions;
}

static void recount_end_launch(void *launch, simt_report *report) {
    const struct recount *total = launch;
    simt_report_add(report, "recounted instructions", total->instructions);
    simt_report_add(report, "recounted active_lanes", total->active_lanes);
    simt_report_add(report, "recounted thread_instructions", total->thread_instructions);
}

static const simt_observer recount_observer = {
    .name = "recount",
    .launch_nbytes = sizeof(struct recount),
    .block_nbytes = sizeof(struct recount),
    .instruction = recount_instruction,
    .block_end = recount_end_block,
    .launch_end = recount_end_launch,
};

static void compare_tally(const struct ladder_rung *rung, const simt_report *report) {
    static const char *const names[] = {"instructions", "active_lanes", "thread_instructions"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        char recounted[64];
        snprintf(recounted, sizeof recounted, "recounted %s", names[n]);
        if (simt_report_counter_value(report, names[n], -1) !=
            simt_report_counter_value(report, recounted, -2))
            fail(rung, names[n]);
    }
}

/* All observers of the simulator, and the one above. */
static const struct simt_observer *const *observers_and_recount(void) {
    static const struct simt_observer *observers[32];
    size_t count = 0;
    for (; simt_observers[count] && count < 30; count++) observers[count] = simt_observers[count];
    observers[count] = &recount_observer;
    return observers;
}

static void check_rung(const struct ladder_rung *rung, const int32_t *values) {
    simt_message message;
    simt_module *module = NULL;
    struct ladder_task task = {.variant = {.rung = rung, .op = WF_SUM, .type = WF_I32},
                               .values = values, .n = ELEMENTS, .block = BLOCK, .observers = observers_and_recount()};
    struct ladder_outcome one, many;
    if (ladder_module(&task.variant, NULL, &module, &message)) {
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
    for (size_t l = 0; l < one.launch_count && l < many.launch_count; l++) {
        compare_reports(rung, one.reports[l], many.reports[l]);
        compare_tally(rung, one.reports[l]);
    }
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
        if (!ladder_rung_get(r, &rung)) failures++;
        else if (!rung.is_engine) check_rung(&rung, values);
    }
    free(values);
    if (ladder_rung_count() < 16) failures++;
    printf("parallel: %d failures\n", failures);
    return failures != 0;
}
