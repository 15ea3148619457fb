/* A line on the terminal while long work continues: how far, how fast, how long still. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "warpfold.h"

struct progress {
    bool is_on;
    bool is_shown;
    double start_time; /* in seconds */
    double shown_time;
};

/* Nothing is ever shown if quiet, or if standard error is no terminal. */
void progress_start(struct progress *progress, bool quiet);

/* Has a reader that is opened with the options report to progress, which must outlive it. */
void progress_watch(struct progress *progress, wf_reader_options *options);

/* Wipes the line. */
void progress_end(struct progress *progress);

#endif
