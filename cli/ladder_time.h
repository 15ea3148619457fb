/* Timing on a GPU in rounds: everyone takes a sample in each, so that whatever changes meanwhile changes for
 * all. */
#ifndef CLI_LADDER_TIME_H
#define CLI_LADDER_TIME_H

#include <stdbool.h>
#include <stddef.h>

#include "ladder/gpu.h"

enum { LADDER_SAMPLES = 15 };

struct candidate {
    struct ladder_gpu_candidate *timed; /* NULL: takes no part */
    bool is_slow;                       /* one repetition makes a sample */
    double samples[LADDER_SAMPLES];
    size_t sample_count;
    double spent; /* microseconds */
};

/* Takes the samples; those who are slow take fewer. */
simt_error take_samples(struct candidate *candidates, size_t count, simt_message *message);

/* The median of the samples; NaN if there are none. */
double median_sample(const struct candidate *candidate);

/* The kernels that only read, in several grids, of which the best is the ceiling. */
enum { LADDER_READERS = 4 };
simt_error enter_readers(struct ladder_gpu *gpu, struct candidate readers[LADDER_READERS],
                         simt_message *message);
double best_median(const struct candidate *candidates, size_t count);

void leave_all(struct candidate *candidates, size_t count);

#endif
