/* Timing on a GPU in rounds: everyone takes a sample in each, so that whatever changes meanwhile changes for
 * all. */
#ifndef CLI_LADDER_TIME_H
#define CLI_LADDER_TIME_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu.h"

enum { LADDER_SAMPLES = 15 };

struct entrant {
    struct ladder_gpu_contender *contender; /* NULL: takes no part */
    bool is_slow;                           /* one repetition makes a sample */
    double samples[LADDER_SAMPLES];
    size_t sample_count;
    double spent; /* microseconds */
};

/* Takes the samples; those who are slow take fewer. */
simt_error take_samples(struct entrant *entrants, size_t count, simt_message *message);

/* Of the samples; NaN of none. */
double median_sample(const struct entrant *entrant);

/* The kernels that only read, in several grids, of which the best is the ceiling. */
enum { LADDER_READERS = 4 };
simt_error enter_readers(struct ladder_gpu *gpu, struct entrant readers[LADDER_READERS],
                         simt_message *message);
double best_median(const struct entrant *entrants, size_t count);

void leave_all(struct entrant *entrants, size_t count);

#endif
