/* How fast the simulator executes the ladder: millions of elements a second, by rung and by what watches.
 *
 *     bench_machine [ROUNDS]
 *
 * prints a table in markdown.  Every run is verified; what watches takes turns within each round, and each figure is
 * the median over the rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_clock.h"
#include "ladder.h"
#include "simt_observer.h"

enum { ELEMENTS = 1 << 21, ROUNDS_MAX = 99 };

static const char *const rungs[] = {"04", "06", "11", "12"};

static const struct watch {
    const char *name;
    const simt_observer *const *observers;
    uint32_t threads;
} watches[] = {
    {"nothing, 1 thread", NULL, 1},
    {"counts, 1 thread", simt_counters, 1},
    {"counts and races, 1 thread", simt_observers, 1},
    {"counts and races, all processors", simt_observers, 0},
};

enum { RUNGS = sizeof rungs / sizeof *rungs, WATCHES = sizeof watches / sizeof *watches };

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* Nanoseconds of one verified run; 0: it failed. */
static double measure(struct ladder_task *task, const struct watch *watch, const struct ladder_result *expected) {
    struct ladder_outcome outcome = {0};
    simt_message message;
    task->observers = watch->observers;
    task->threads = watch->threads;
    double begin = bench_now();
    simt_error error = ladder_run(task, &outcome, &message);
    double time = bench_now() - begin;
    bool is_right = !error && ladder_result_equal(&outcome.result, expected, task->variant.op);
    if (!is_right) fprintf(stderr, "rung %s: %s\n", task->variant.rung->id, error ? message.text : "a wrong result");
    ladder_outcome_clear(&outcome);
    return is_right ? time : 0;
}

static bool bench_rung(const char *name, const int32_t *values, int rounds) {
    double times[WATCHES][ROUNDS_MAX];
    struct ladder_rung rung;
    simt_module *module = NULL;
    simt_message message;
    if (!ladder_rung_find(name, &rung)) return false;
    struct ladder_task task = {.variant = {.rung = &rung, .op = WF_SUM, .type = WF_I32},
                               .values = values, .n = ELEMENTS, .block = 256};
    if (ladder_module(&task.variant, NULL, &module, &message)) {
        fprintf(stderr, "%s\n", message.text);
        return false;
    }
    task.module = module;
    const struct ladder_result expected = ladder_reduce(values, NULL, WF_I32, WF_SUM, ELEMENTS);
    bool is_right = true;
    for (int round = 0; round < rounds; round++)
        for (size_t w = 0; w < WATCHES; w++) {
            times[w][round] = measure(&task, &watches[w], &expected);
            is_right = is_right && times[w][round] > 0;
        }
    printf("| %s |", rung.id);
    for (size_t w = 0; w < WATCHES && is_right; w++) printf(" %.1f |", 1e3 * ELEMENTS / median(times[w], rounds));
    printf("\n");
    simt_module_destroy(module);
    return is_right;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 7;
    if (rounds < 1 || rounds > ROUNDS_MAX) rounds = 7;
    int32_t *values = malloc(ELEMENTS * sizeof *values);
    if (!values) return 1;
    ladder_fill(values, WF_I32, WF_SUM, ELEMENTS, LADDER_DATA_EXACT, 1);
    printf("Millions of elements a second; %d i32, blocks of 256 threads; %ld processors, median of %d rounds.\n\n",
           ELEMENTS, sysconf(_SC_NPROCESSORS_ONLN), rounds);
    printf("| rung |");
    for (size_t w = 0; w < WATCHES; w++) printf(" %s |", watches[w].name);
    printf("\n|---|");
    for (size_t w = 0; w < WATCHES; w++) printf("--:|");
    printf("\n");
    bool is_right = true;
    for (size_t r = 0; r < RUNGS; r++) is_right = bench_rung(rungs[r], values, rounds) && is_right;
    free(values);
    return is_right ? 0 : 1;
}
