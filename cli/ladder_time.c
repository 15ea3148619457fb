#include "ladder_time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_SLOW = 3 };

static const double slow_microseconds = 2e4; /* from here on one repetition is enough for a sample */
static const double budget_microseconds =
    1e6; /* after this time, no more than SAMPLES_SLOW samples are taken */

static simt_error take_sample(struct candidate *candidate, simt_message *message) {
    double *sample = &candidate->samples[candidate->sample_count];
    simt_error error = ladder_gpu_sample(candidate->timed, candidate->is_slow, sample, message);
    candidate->spent += *sample;
    candidate->sample_count += !error;
    return error;
}

/* Not kept: it wakes up the clocks, and shows who is slow. */
static simt_error warm_up(struct candidate *candidate, simt_message *message) {
    double microseconds;
    simt_error error = ladder_gpu_sample(candidate->timed, true, &microseconds, message);
    candidate->is_slow = microseconds > slow_microseconds;
    return error;
}

static bool is_done(const struct candidate *candidate) {
    return !candidate->timed ||
           (candidate->sample_count >= SAMPLES_SLOW && candidate->spent > budget_microseconds);
}

simt_error take_samples(struct candidate *candidates, size_t count, simt_message *message) {
    simt_error error = SIMT_OK;
    for (size_t i = 0; i < count && !error; i++)
        if (candidates[i].timed) error = warm_up(&candidates[i], message);
    for (int round = 0; round < LADDER_SAMPLES; round++)
        for (size_t i = 0; i < count && !error; i++)
            if (!is_done(&candidates[i])) error = take_sample(&candidates[i], message);
    return error;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_sample(const struct candidate *candidate) {
    double sorted[LADDER_SAMPLES];
    size_t count = candidate->sample_count;
    if (!count) return NAN;
    memcpy(sorted, candidate->samples, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double best_median(const struct candidate *candidates, size_t count) {
    double best = INFINITY;
    for (size_t i = 0; i < count; i++) best = fmin(best, median_sample(&candidates[i]));
    return best;
}

simt_error enter_readers(struct ladder_gpu *gpu, struct candidate readers[LADDER_READERS],
                         simt_message *message) {
    static const uint32_t blocks_per_multiprocessor[LADDER_READERS] = {4, 8, 16, 32};
    simt_error error = SIMT_OK;
    for (int i = 0; i < LADDER_READERS && !error; i++) {
        const struct ladder_task task = {.block = 256, .grid = blocks_per_multiprocessor[i]};
        error = ladder_gpu_enter(gpu, NULL, &task, &readers[i].timed, message);
    }
    return error;
}

void leave_all(struct candidate *candidates, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ladder_gpu_leave(candidates[i].timed);
        candidates[i].timed = NULL;
    }
}
